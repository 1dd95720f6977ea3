//! The first page of a long span: an outline of its entries.

use unforget_core::entry::Entry;
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::tokens::Ruler as _;
use unforget_store::EntryRow;
use unforget_text::{Outline, OutlineEntry, OutlineLine, outline};
use unforget_wire::{Format, decode};

use super::expand::{EntryPage, VERBATIM};
use super::name::Address;
use crate::rows::stored_raw;
use crate::{Engine, EngineError};

/// Most bytes of records that are read for an outline: some 4 million tokens.
const READ_BYTES: u64 = 16 << 20;

/// Smallest page with an outline, in tokens: a smaller one would name too few entries.
const PAGE_MIN: u64 = 256;

/// What each entry of a long span says, within a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanOutline {
    /// In the order of the conversation; an entry without words has none.
    pub lines: Vec<OutlineLine>,
    /// Number of entries that were read for it, counted from the first. Fewer than all only for a span of more than
    /// 16 MiB.
    pub entries: u64,
    /// Number of the entries read that have words and no line, for want of room.
    pub left_out: u64,
}

/// The entries of a span as far as they were read.
struct ReadSpan {
    entries: Vec<ReadEntry>,
    /// Number of rows read, those without content included.
    rows: u64,
}

/// An entry as it was read.
struct ReadEntry {
    seq: Seq,
    entry: Entry,
}

impl Engine {
    /// The page that outlines a span; `None` for a single entry, and for entries that fit a page.
    ///
    /// * `rows` - the entries of the address.
    /// * `budget` - tokens of the page.
    ///
    /// Cost: O(bytes of the span), at most 16 MiB.
    pub(super) fn outlined(
        &self,
        address: &Address,
        rows: &[EntryRow],
        budget: u64,
    ) -> Result<Option<EntryPage>, EngineError> {
        let tokens: u64 = rows.iter().map(|row| row.tokens.expected).sum();
        if rows.len() < 2 || tokens <= budget || budget < PAGE_MIN {
            return Ok(None);
        }
        let (id, told) = match address {
            Address::Entries { conversation, .. } => (*conversation, String::new()),
            Address::Summary { conversation, row } => (*conversation, self.body(*conversation, row)?),
        };
        let read = self.read_span(id, rows)?;
        let outlined = read.entries.iter().map(|one| OutlineEntry { seq: one.seq, entry: &one.entry });
        let outlined: Vec<OutlineEntry<'_>> = outlined.collect();
        let Outline { lines, left_out } = outline(&outlined, &told, budget);
        let tokens = lines.iter().map(|line| ClassEstimate.count(&line.text).expected).sum();
        Ok((!lines.is_empty()).then(|| EntryPage {
            outline: Some(SpanOutline { lines, entries: read.rows, left_out }),
            items: Vec::new(),
            tokens,
            next: Some(VERBATIM.to_owned()),
            entries: rows.len() as u64,
        }))
    }

    /// The entries of a span that have content, until 16 MiB were read, and the number of entries read.
    fn read_span(&self, id: ConversationId, rows: &[EntryRow]) -> Result<ReadSpan, EngineError> {
        let format = self.store().conversation(id)?.format;
        let format = Format::by_name(&format).unwrap_or(Format::Unknown);
        let mut span = ReadSpan { entries: Vec::new(), rows: 0 };
        let mut left = READ_BYTES;
        for row in rows {
            let Some(rest) = left.checked_sub(row.bytes.end.saturating_sub(row.bytes.start)) else { break };
            left = rest;
            span.rows += 1;
            if let Some(raw) = stored_raw(self.store(), id, row.seq)? {
                span.entries.push(ReadEntry { seq: row.seq, entry: decode(format, &raw.body) });
            }
        }
        Ok(span)
    }
}
