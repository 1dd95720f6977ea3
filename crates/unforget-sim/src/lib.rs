//! A seeded host over the engine.
//!
//! A model host keeps its own transcript as the truth and does what hosts do: turns, pages, windows, whole arrays,
//! steered, crashed and unreported turns, everything twice, nothing at all, edits, forks, resets, restarts, and a
//! store that fails at any write. After every step all that design §5 promises and that applies is checked.
//!
//! * [`run`] - one seed; a failure is made as short as it gets and names the command that repeats it.
//! * [`step`] - what a seed stands for.
//! * [`world`] - the steps, done.
//! * [`oracle`] - what of the host's transcript the path has to be; [`want`] - and where the host's own input may be in it.
//! * [`check`] - what every prompt and every journal has to be.
//! * [`fault`] - the store that fails.
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
