//! Generated workloads: agent sessions of any length with the sizes and shapes of real ones.
//!
//! Depends on nothing of ours, so that both the product's `bench` commands and the tests use it.
//!
//! * [`write_workload`] - a whole pi v3 transcript.
//! * [`Session`] - a pi v3 transcript, turn by turn.
//! * [`probes`] - contents of a real text that a later question can ask for.
//! * [`Random`] - the seeded generator behind both.

mod line;
mod probe;
mod random;
mod session;
mod words;

pub use probe::{Probe, ProbeKind, Voice, identifiers, probes};
pub use random::Random;
pub use session::{Needle, Session, Workload, write_workload};
