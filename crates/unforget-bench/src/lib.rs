//! Generated workloads: agent sessions of any length with the sizes and shapes of real ones.
//!
//! Depends on nothing of ours, so that both the product's `bench` commands and the tests use it.
//!
//! * [`write_workload`] - a whole pi v3 transcript.
//! * [`Session`] - the same, turn by turn.
//! * [`Random`] - the seeded generator behind both.

mod line;
mod random;
mod session;
mod words;

pub use random::Random;
pub use session::{Needle, Session, Workload, write_workload};
