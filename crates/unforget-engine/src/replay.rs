//! Drives a recorded session through the whole engine as a live host would, and reports.
//!
//! `recorded_host` is the host: it delivers the records to lanes and asks them for prompts. The rest looks on.

mod compare;
mod counter;
mod facts;
mod policies;
mod recorded_host;
mod report;
mod run;

pub use recorded_host::{RecordedEntry, RecordedHost};
pub use report::*;
pub use run::{ReplayOptions, replay};
