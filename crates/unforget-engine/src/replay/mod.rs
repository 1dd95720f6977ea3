//! Drives a recorded session through the whole engine as a live host would, and reports.

mod compare;
mod counter;
mod facts;
mod policies;
mod report;
mod run;

pub use report::*;
pub use run::{ReplayOptions, replay};
