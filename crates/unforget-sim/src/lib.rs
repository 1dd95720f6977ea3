//! A seeded host over the engine.
//!
//! A simulated host keeps its own transcript as the truth and behaves like real hosts: turns, pages, windows, whole
//! arrays, steered, crashed and unreported turns, repetitions, omissions, edits, forks, resets, restarts, and a store
//! that fails at any write. After every step, all applicable promises of design §5 are checked.
//!
//! * [`run`] - runs one seed; a failure is minimised and comes with the command that repeats it.
//! * [`step`] - the history behind a seed.
//! * [`world`] - carries the steps out.
//! * [`oracle`] - the required path for the host's transcript; [`want`] - and the allowed places of volatile input.
//! * [`check`] - the properties of every prompt and every journal.
//! * [`fault`] - the failing store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a simulator: what must not happen ends it"
)]

pub mod check;
pub mod fault;
pub mod oracle;
mod run;
pub mod step;
pub mod want;
pub mod words;
pub mod world;

pub use run::{Failure, all_broken, broken, run, seeds};
