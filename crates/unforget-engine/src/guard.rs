//! The guardian: finds toxic patterns in hosts' own transcript files and mends them in place.
//!
//! | module | does |
//! |---|---|
//! | `read` | a file as facts, with the place of every record |
//! | `facts`, `marks` | what each format says of its records |
//! | `inspect` | facts to findings |
//! | `plan`, `splice`, `json` | findings to edits of bytes |
//! | `repair`, `undo`, `lock`, `stamp` | edits to a file, safely |
//! | `survey` | many files at once |
//! | `pace` | when a watched file is looked at |
//!
//! The rules are in [`unforget_core::transcript`]. Repair of what is *sent* is done elsewhere, in memory; this
//! is for the file, which would otherwise break the session again with every restart.
//!
//! A file is changed by putting a new one in its place with one rename, under the host's lock, behind a
//! backup, and only if nobody touched it meanwhile. Whatever dies in between leaves the old file or the new
//! one, whole.
//!
//! Source: seed 004; F046–F052, F094; design §4 Transcript integrity.

mod error;
mod facts;
mod inspect;
mod json;
mod lock;
mod marks;
mod pace;
mod plan;
mod read;
mod repair;
mod splice;
mod stamp;
mod survey;
mod undo;

pub use error::GuardError;
pub use inspect::{Finding, Inspection, inspect};
pub use pace::Pace;
pub use plan::{Action, Edit};
pub use repair::{Outcome, Repair, Step, plan, repair, repair_with};
pub use survey::{survey, transcripts};
pub use undo::{backups, undo};
pub use unforget_core::transcript::{Problem, Severity};
