//! Histories on several machines, without a server.
//!
//! A history travels as its **tips**: the ends of its paths, named by the head of their raw chain. A machine takes the tips that
//! it does not know from a [`HistorySource`], and every record is checked against the chain before it is stored. Paths only grow
//! and forks stand beside each other, so that two machines never overwrite each other, in whatever order they meet.
//!
//! What people say of histories (titles, stars, tags, verdicts, entries put back) travels behind them as **sayings**: records that are
//! named by their digest and never changed. [`unforget_core::saying`] has the rules by which they are merged.
//!
//! ```text
//! LocalHistory ─▶ SyncFolder::put ─▶ folder ─▶ SyncFolder  (HistorySource) ─▶ take ─▶ TranscriptIntake ─▶ import
//! LocalHistory ─▶ serve_history   ─▶ pipe   ─▶ PipeHistory (HistorySource) ─▶ take ─▶ TranscriptIntake ─▶ import
//! ```
//!
//! | module | holds |
//! |---|---|
//! | `tip` | tips, their parts, and the source of both |
//! | `record_frames` | records of a part as bytes, and their chain |
//! | `local` | the histories of this machine as a source |
//! | `take` | what this machine does not have, into its database |
//! | `folder`, `folder_seal` | a folder that machines share, or a mounted drive; its encryption |
//! | `pipe` | another machine at the end of a pipe, such as ssh |

mod error;
mod folder;
mod folder_seal;
mod local;
mod pipe;
mod record_frames;
mod take;
mod tip;

pub use error::SyncError;
pub use folder::{PutReport, SyncFolder};
pub use local::LocalHistory;
pub use pipe::{PeerSkills, PipeHistory, ServedHistory, serve_history};
pub use take::{EngineIntake, IncomingTranscript, SyncEvent, TakeReport, TranscriptIntake, take};
pub use tip::{HistorySource, KnownSayings, PurgedEntry, SentSaying, TipLayout, TipPart, TranscriptTip};
