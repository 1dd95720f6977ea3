//! JSON of an unknown format.
//!
//! Nothing in it is model-visible: a guess at the speaker could put a stranger's words into a prompt. Every record is
//! kept, can be exported, and is found by `grep`.

use unforget_core::entry::{Entry, Origin};

use crate::json::Object;

/// An opaque entry with the record's own time, where it has one under a usual name.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let time = ["timestamp", "time", "ts"].into_iter().find_map(|key| record.time(key));
    Entry { time, ..Entry::bare(Origin::Opaque) }
}
