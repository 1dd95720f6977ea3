//! Merges neighbouring segments into one.

use super::build::Docs;
use super::read::BlockCursor;
use super::write::Writer;
use super::{Segment, SegmentError, class_length};
use crate::segment::{Posting, SegmentReader};
use crate::terms::Term;

/// Merges segments that are ascending and disjoint in their entries; `None` if there are none.
///
/// Cost: O(postings × segments). Memory: the output and one list per segment.
///
/// # Errors
/// [`SegmentError::Order`] if they overlap, [`SegmentError::Damaged`] if one breaks the format.
pub fn merge(segments: &[Segment]) -> Result<Option<Segment>, SegmentError> {
    let readers =
        segments.iter().map(|one| SegmentReader::parse(&one.header)).collect::<Result<Vec<_>, _>>()?;
    let mut docs = Docs::default();
    let mut inputs = Vec::with_capacity(segments.len());
    for (reader, segment) in readers.iter().zip(segments) {
        inputs.push(Input::new(reader, segment, docs.lengths.len() as u32)?);
        for &(first, count, number) in reader.runs() {
            let classes = reader.classes().iter().skip(number as usize);
            for (seq, &class) in (first..first + count).zip(classes) {
                docs.push(seq, class, 0)?;
            }
        }
        docs.sum = docs.sum.saturating_add(reader.length_sum());
    }
    if docs.lengths.is_empty() {
        return Ok(None);
    }
    debug_assert!(docs.lengths.iter().all(|&class| class_length(class) < u32::MAX));
    let mut writer = Writer::new(docs);
    while let Some(term) = inputs.iter().filter_map(|input| input.term).min() {
        for input in &mut inputs {
            // A list may continue in the next block under the same term.
            while input.term == Some(term) {
                for posting in &input.list {
                    writer.posting(term, posting.doc + input.base, posting.count);
                }
                input.advance()?;
            }
        }
    }
    Ok(Some(writer.finish()))
}

/// One segment being read, with its current list.
struct Input<'a> {
    reader: &'a SegmentReader,
    segment: &'a Segment,
    base: u32,
    block: usize,
    cursor: Option<BlockCursor<'a>>,
    term: Option<Term>,
    list: Vec<Posting>,
}

impl<'a> Input<'a> {
    fn new(reader: &'a SegmentReader, segment: &'a Segment, base: u32) -> Result<Self, SegmentError> {
        let mut input = Self { reader, segment, base, block: 0, cursor: None, term: None, list: Vec::new() };
        input.advance()?;
        Ok(input)
    }

    /// Moves to the next list; `term` is `None` at the end.
    fn advance(&mut self) -> Result<(), SegmentError> {
        loop {
            if let Some(cursor) = &mut self.cursor
                && let Some((term, list)) = cursor.next_list()?
            {
                let repeated = self.term == Some(term);
                let last = self.list.last().map(|posting| posting.doc);
                self.list.clear();
                cursor.read(list, &mut self.list)?;
                let ordered = self.term.is_none_or(|before| before < term)
                    || (repeated && last < self.list.first().map(|posting| posting.doc));
                if !ordered {
                    return Err(super::damaged("terms are out of order"));
                }
                self.term = Some(term);
                return Ok(());
            }
            let Some(bytes) = self.segment.blocks.get(self.block) else {
                self.term = None;
                return Ok(());
            };
            self.cursor = Some(BlockCursor::new(self.reader, self.block, bytes)?);
            self.block += 1;
        }
    }
}
