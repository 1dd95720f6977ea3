//! Recall: brings stored entries back. `search` finds words, `grep` any bytes; `describe` and `expand` take a name.
//!
//! Every answer carries receipts: the entry, its position in the file, its time, and the amount of data searched. An
//! answer without results states the searched range and why nothing matched.

mod answer;
mod asked;
mod clues;
mod copies;
mod expand;
mod folded_hits;
mod grep;
mod handoff;
mod name;
mod outlined;
mod pack;
mod search;
mod turns;
mod verdict;

use crate::entry_text as text;
pub use crate::summary_name::summary_name;
pub use answer::{AnswerLine, Answered, Ended, Evidence, Grant, Named, Question, Reader};
pub use asked::AskedTurn;
pub use clues::{CLUES_SHOWN, Clue, ClueKind, Clues};
pub use copies::EntryCopy;
pub(crate) use expand::left;
pub use expand::{Description, EntryPage, Item, VERBATIM};
pub use grep::{GrepAnswer, GrepMatch, GrepQuery};
pub use handoff::{HANDOFF_TOKENS, HANDOFF_TOKENS_MIN, Handoff, LastWords};
pub use name::Address;
pub use outlined::SpanOutline;
pub use pack::{PACK_TOKENS, PACK_TOKENS_MIN, Pack, PackKind, PackLine, PackQuery};
pub use search::{Hit, HitCopy, SearchAnswer, SearchQuery};
pub(crate) use text::text;
pub use turns::{PageStart, TurnEntry, TurnPage, TurnRange};
pub(crate) use verdict::VerdictCache;
pub use verdict::{NewVerdict, RecordedVerdict};
