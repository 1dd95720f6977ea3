//! Where the raw chain of an entry comes from, for checks that walk over entries in order of arrival.

use unforget_core::digest::Chain;
use unforget_core::id::Generation;

use crate::port::EntryRow;

/// The place of the chain that an entry continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChainBefore {
    /// It is known.
    Known(Chain),
    /// It is that of the entry at this position of the generation's path.
    At(Generation, u64),
}

impl ChainBefore {
    /// * `last` - the entry that arrived before.
    /// * `row` - the entry.
    pub fn of(last: Option<&EntryRow>, row: &EntryRow) -> Self {
        let Some(position) = row.position.0.checked_sub(1) else { return Self::Known(Chain::root()) };
        let before = last.filter(|last| {
            (last.generation, last.position.0, last.seq.0 + 1) == (row.generation, position, row.seq.0)
        });
        before.map_or(Self::At(row.generation, position), |before| Self::Known(before.chain))
    }
}

/// The kind of a problem with an entry's bytes, by its description.
pub fn bytes_kind(detail: &str) -> &'static str {
    if detail.contains("blob") || detail.contains("large part") { "blob" } else { "chunk" }
}

/// What is wrong with an entry whose bytes are not those of its chain.
pub const OTHER_BYTES: &str = "its bytes are not those that its chain was made of";

/// What is wrong with an entry whose row and path differ.
pub const OTHER_PLACE: &str = "its row and its path disagree about where it stands";
