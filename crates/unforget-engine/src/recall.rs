//! Recall: brings anything back. `search` by words, `grep` by any byte, `describe` and `expand` by name.
//!
//! Every answer carries receipts: which entry, where in the file, when, how much was looked at. An answer
//! without results says what was searched and why that was not enough.

mod answer;
mod expand;
mod faces;
mod grep;
mod name;
mod search;
mod text;

pub use answer::{Answered, Ended, Evidence, Grant, Named, Question, Reader};
pub use expand::{Description, Item, Page};
pub use faces::Face;
pub use grep::{GrepAnswer, GrepMatch, GrepQuery};
pub use name::{Address, summary_name};
pub use search::{Hit, SearchAnswer, SearchQuery};
