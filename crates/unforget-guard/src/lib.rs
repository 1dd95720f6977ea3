//! The guardian: finds toxic patterns in the transcript files of hosts and mends the files in place.
//!
//! | module | does |
//! |---|---|
//! | `read` | reads a file into facts, with the position of every record |
//! | `facts`, `marks` | translate the records of each format into facts |
//! | `inspect` | turns facts into findings |
//! | `plan`, `splice`, `json` | turn findings into edits of bytes |
//! | `repair`, `undo`, `lock`, `in_place`, `stamp` | apply edits to a file safely |
//! | `survey` | inspects many files at once |
//! | `pace` | decides when a watched file is inspected |
//! | `put_back` | writes a file that its host lost to its place again |
//! | `walk` | the files at and below a path |
//!
//! The rules are in [`unforget_core::transcript`]. Repair of the *prompt* happens elsewhere, in memory. Without repair
//! of the file the damage would break the session again at every restart.
//!
//! A repair replaces a file by one rename, under the lock of the host, behind a backup, and only if nobody touched the
//! file in the meantime. A crash at any moment leaves either the old file or the new file, whole.
//!
//! Source: seed 004; F046–F052, F094; design §4 Transcript integrity.

mod error;
mod facts;
mod in_place;
mod inspect;
mod json;
mod lock;
mod marks;
mod pace;
mod plan;
mod put_back;
mod read;
mod repair;
mod splice;
mod stamp;
mod survey;
mod undo;
mod walk;

pub use error::GuardError;
pub use inspect::{Finding, Inspection, inspect};
pub use pace::Pace;
pub use plan::{Action, Edit};
pub use put_back::{PlaceState, PutBack, PutBackError, put_back};
pub use repair::{Outcome, Repair, Step, plan, repair, repair_with};
pub use survey::{survey, transcripts};
pub use undo::{backups, undo};
pub use unforget_core::transcript::{Problem, Severity};
pub use walk::{open_now, walk};
