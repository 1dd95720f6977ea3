//! Posting segments: the search index of a range of entries, immutable, in a few large blocks.
//!
//! Layout, integers as LEB128:
//!
//! ```text
//! header  version(1 byte) · docs · first seq · sum of lengths · terms
//!         · runs: (docs in the run, gap of seqs before it)*, until all docs are told
//!         · one length class byte per doc
//!         · blocks · for each block its first term, as delta
//! block   number of lists (u16, little endian), then bits, low ones first; each list:
//!         [term - term before - 1, rice; not for the first list] ·
//!         1 · doc, if it is one doc that has the term once, else
//!         0 · docs, gamma · width of counts, 2 bits[· width of gaps, 5 bits, if there are several docs]
//!           [· bits of what follows, 16 bits, if there are at least 32 docs]
//!           · doc · count - 1, rice · (doc - doc before - 1, rice · count - 1, rice)*
//! ```
//!
//! Docs are numbered from 0 within the segment, ascending by seq; a single doc takes as many bits as the last doc's
//! number needs. A long list comes in several parts under one term, one to a block. The width of term gaps follows
//! their running mean (`Gaps`). Most terms are in one doc; they take about four bytes. Nothing here is ever trusted:
//! reading returns a [`SegmentError`] for bytes that break a rule.

mod bits;
mod build;
mod merge;
mod read;
mod write;

pub use build::SegmentBuilder;
pub use merge::merge;
pub use read::{Posting, SegmentReader};

use std::ops::Range;

/// First byte of every header.
const VERSION: u8 = 2;

/// Largest block in bytes; most blocks are nearly as large. A row with such a block fills one page of the store.
const BLOCK_BYTES: usize = 8120;

/// From this number of documents on a list states its length, so that it can be skipped unread.
const SKIP_MIN: usize = 32;

/// The largest doc count of one segment.
const DOCS_MAX: u64 = u32::MAX as u64;

/// A finished segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The entries covered: from the first to one past the last.
    pub seqs: Range<u64>,
    /// The part that a reader keeps in memory: about one byte per entry and four per block.
    pub header: Vec<u8>,
    /// The blocks, a little below 8 KiB each.
    pub blocks: Vec<Vec<u8>>,
}

impl Segment {
    /// Total size in bytes.
    pub fn bytes(&self) -> usize {
        self.header.len() + self.blocks.iter().map(Vec::len).sum::<usize>()
    }
}

/// Why a segment could not be built or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SegmentError {
    /// A document came out of order, or the segments to merge overlap. Nothing was added.
    #[error("entry {seq} does not come after entry {last}")]
    Order {
        /// The entry that was added.
        seq: u64,
        /// The last entry before it.
        last: u64,
    },
    /// No more documents fit. Finish the segment and start another one; nothing was added.
    #[error("the segment is full")]
    Full,
    /// The header was written by another version of this library. Rebuild the index.
    #[error("search index version {found} is not {VERSION}")]
    Version {
        /// The version found.
        found: u8,
    },
    /// The bytes break a rule of the format. The index is derived: rebuild it.
    #[error("search index is damaged: {rule}")]
    Damaged {
        /// The broken rule.
        rule: &'static str,
    },
}

/// Abbreviates [`SegmentError::Damaged`].
fn damaged(rule: &'static str) -> SegmentError {
    SegmentError::Damaged { rule }
}

/// Number of bits of a document's number in a segment of this many documents.
fn doc_bits(docs: u64) -> u32 {
    64 - docs.saturating_sub(1).leading_zeros()
}

/// Running mean of the gaps between the terms of a block, which determines the width of the next gap.
#[derive(Clone, Copy, Debug)]
struct Gaps {
    /// Sixteen times the mean.
    mean: u64,
}

impl Gaps {
    fn new() -> Self {
        Self { mean: 16 << 13 }
    }

    /// The width for a rice code: log2 of 0.69 of the mean.
    fn width(self) -> u32 {
        ((self.mean * 11) >> 8).max(1).ilog2().min(31)
    }

    fn learn(&mut self, gap: u32) {
        self.mean = self.mean - self.mean / 16 + u64::from(gap);
    }
}

/// One byte for a length: exact below 16, then 8 steps per doubling.
fn length_class(length: u32) -> u8 {
    if length < 16 {
        return length as u8;
    }
    let exponent = length.ilog2();
    let mantissa = (length >> (exponent - 3)) & 7;
    (16 + (exponent - 4) * 8 + mantissa) as u8
}

/// The least length of a class.
fn class_length(class: u8) -> u32 {
    if class < 16 {
        return u32::from(class);
    }
    let exponent = (u32::from(class) - 16) / 8 + 4;
    let mantissa = (u32::from(class) - 16) % 8;
    (8 + mantissa).checked_shl(exponent - 3).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
