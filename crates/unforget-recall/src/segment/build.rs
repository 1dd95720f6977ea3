//! Building a segment.

use super::{BLOCK_BYTES, DOCS_MAX, Segment, SegmentError, VERSION, length_class};
use crate::fields::DocTerms;
use crate::terms::{TERM_BITS, Term};
use crate::varint;

/// Bits of a packed posting for the doc, and for the count, which stops at its largest value.
const DOC_BITS: u32 = 20;
const COUNT_BITS: u32 = 4;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
const _: () = assert!(TERM_BITS + DOC_BITS + COUNT_BITS == 64);

/// Collects documents into a segment. Memory is 8 bytes per distinct word of a document.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    docs: Docs,
    /// term ‖ doc ‖ count, so that sorting the numbers sorts the postings.
    postings: Vec<u64>,
}

impl SegmentBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the entry `seq`, which must be above all before it. Seqs may have gaps.
    ///
    /// # Errors
    /// [`SegmentError::Order`], or [`SegmentError::Full`] at 2^20 documents.
    pub fn add(&mut self, seq: u64, doc: &DocTerms) -> Result<(), SegmentError> {
        let number = self.docs.lengths.len() as u64;
        if number >= 1 << DOC_BITS {
            return Err(SegmentError::Full);
        }
        self.docs.push(seq, length_class(doc.length()), u64::from(doc.length()))?;
        let base = number << COUNT_BITS;
        self.postings.extend(doc.terms().iter().map(|&(term, count)| {
            (term.0 << (DOC_BITS + COUNT_BITS)) | base | u64::from(count.min(COUNT_MAX))
        }));
        Ok(())
    }

    /// Moves all documents of `later` behind these. Cost: O(postings of `later`).
    ///
    /// # Errors
    /// [`SegmentError::Order`] if an entry of `later` does not come after these, [`SegmentError::Full`] at
    /// 2^20 documents. Nothing was added.
    pub fn absorb(&mut self, mut later: Self) -> Result<(), SegmentError> {
        let base = self.docs.lengths.len() as u64;
        if base + later.docs.lengths.len() as u64 > 1 << DOC_BITS {
            return Err(SegmentError::Full);
        }
        let (last, first) = (self.docs.runs.last(), later.docs.runs.first());
        if let (Some(&(start, count)), Some(&(seq, _))) = (last, first)
            && start + count > seq
        {
            return Err(SegmentError::Order { seq, last: start + count - 1 });
        }
        let shift = base << COUNT_BITS;
        // Doubling would take twice the memory; growing a large block in place is cheap.
        self.postings.reserve_exact(later.postings.len());
        self.postings.extend(later.postings.iter().map(|posting| posting + shift));
        for (start, count) in later.docs.runs.drain(..) {
            match self.docs.runs.last_mut() {
                Some((first, before)) if *first + *before == start => *before += count,
                _ => self.docs.runs.push((start, count)),
            }
        }
        self.docs.lengths.append(&mut later.docs.lengths);
        self.docs.sum = self.docs.sum.saturating_add(later.docs.sum);
        Ok(())
    }

    /// Number of documents added.
    pub fn docs(&self) -> u64 {
        self.docs.lengths.len() as u64
    }

    /// Bytes in use; flush at about 24 MiB. [`SegmentBuilder::finish`] needs as much again at most.
    pub fn memory_bytes(&self) -> usize {
        self.postings.len() * 8 + self.docs.lengths.len() + self.docs.runs.len() * 24
    }

    /// Sorts and packs. `None` if nothing was added. Cost: O(postings).
    pub fn finish(self) -> Option<Segment> {
        if self.docs.lengths.is_empty() {
            return None;
        }
        let mut writer = Writer::new(self.docs);
        for packed in sorted_by_term(self.postings) {
            let term = Term(packed >> (DOC_BITS + COUNT_BITS));
            let doc = (packed >> COUNT_BITS) as u32 & ((1 << DOC_BITS) - 1);
            writer.posting(term, doc, packed as u32 & COUNT_MAX);
        }
        Some(writer.finish())
    }
}

/// Sorts packed postings, whose docs ascend, by term: a stable radix sort, 10 bits at a time.
fn sorted_by_term(mut postings: Vec<u64>) -> Vec<u64> {
    const DIGIT_BITS: u32 = 10;
    const _: () = assert!(TERM_BITS.is_multiple_of(DIGIT_BITS));
    let mut other = vec![0; postings.len()];
    for pass in 0..TERM_BITS / DIGIT_BITS {
        let shift = DOC_BITS + COUNT_BITS + pass * DIGIT_BITS;
        let digit = |packed: u64| (packed >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut places = [0_usize; 1 << DIGIT_BITS];
        for &packed in &postings {
            places.get_mut(digit(packed)).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for &packed in &postings {
            let Some(place) = places.get_mut(digit(packed)) else { continue };
            if let Some(slot) = other.get_mut(*place) {
                *slot = packed;
            }
            *place += 1;
        }
        std::mem::swap(&mut postings, &mut other);
    }
    postings
}

/// The documents of a segment: seqs as runs of (first seq, count), and length classes.
#[derive(Debug, Default)]
pub(super) struct Docs {
    pub(super) runs: Vec<(u64, u64)>,
    pub(super) lengths: Vec<u8>,
    pub(super) sum: u64,
}

impl Docs {
    /// Adds a document.
    pub(super) fn push(&mut self, seq: u64, class: u8, length: u64) -> Result<(), SegmentError> {
        if self.lengths.len() as u64 >= DOCS_MAX || seq == u64::MAX {
            return Err(SegmentError::Full);
        }
        match self.runs.last_mut() {
            Some((first, count)) if *first + *count == seq => *count += 1,
            Some((first, count)) if *first + *count > seq => {
                return Err(SegmentError::Order { seq, last: *first + *count - 1 });
            }
            _ => self.runs.push((seq, 1)),
        }
        self.lengths.push(class);
        self.sum = self.sum.saturating_add(length);
        Ok(())
    }
}

/// Writes postings that come sorted by term, then doc.
pub(super) struct Writer {
    docs: Docs,
    firsts: Vec<Term>,
    blocks: Vec<Vec<u8>>,
    block: Vec<u8>,
    /// Last term written into the open block.
    last: Term,
    terms: u64,
    /// The open list.
    term: Option<Term>,
    list: Vec<(u32, u32)>,
}

impl Writer {
    pub(super) fn new(docs: Docs) -> Self {
        Self {
            docs,
            firsts: Vec::new(),
            blocks: Vec::new(),
            block: Vec::with_capacity(BLOCK_BYTES + 64),
            last: Term(0),
            terms: 0,
            term: None,
            list: Vec::new(),
        }
    }

    pub(super) fn posting(&mut self, term: Term, doc: u32, count: u32) {
        if self.term != Some(term) {
            self.flush();
            self.term = Some(term);
            self.terms += 1;
        }
        self.list.push((doc, count));
    }

    /// Writes the open list, over as many blocks as it needs.
    fn flush(&mut self) {
        let Some(term) = self.term else { return };
        let mut rest = self.list.as_slice();
        while !rest.is_empty() {
            if self.block.len() >= BLOCK_BYTES {
                self.blocks.push(std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK_BYTES + 64)));
            }
            if self.block.is_empty() {
                self.firsts.push(term);
                self.last = term;
            }
            // A posting takes two bytes where lists are long, so this much about fills the block.
            let room = (BLOCK_BYTES - self.block.len()) / 2 + 16;
            let (part, after) = rest.split_at_checked(room).unwrap_or((rest, &[]));
            varint::put(&mut self.block, term.0 - self.last.0);
            self.last = term;
            rest = after;
            if let &[(doc, 1)] = part {
                varint::put(&mut self.block, u64::from(doc) << 1 | 1);
                continue;
            }
            varint::put(&mut self.block, (part.len() as u64) << 1);
            let mut previous = 0;
            for &(doc, count) in part {
                varint::put(&mut self.block, u64::from(doc - previous) << 1 | u64::from(count > 1));
                if count > 1 {
                    varint::put(&mut self.block, u64::from(count));
                }
                previous = doc;
            }
        }
        self.list.clear();
    }

    pub(super) fn finish(mut self) -> Segment {
        self.flush();
        if !self.block.is_empty() {
            self.blocks.push(std::mem::take(&mut self.block));
        }
        let runs = &self.docs.runs;
        let start = runs.first().map_or(0, |run| run.0);
        let end = runs.last().map_or(0, |run| run.0 + run.1);
        let mut header = vec![VERSION];
        for value in [self.docs.lengths.len() as u64, start, self.docs.sum, self.terms] {
            varint::put(&mut header, value);
        }
        let mut next = start;
        for &(first, count) in runs {
            varint::put(&mut header, count);
            varint::put(&mut header, first - next);
            next = first + count;
        }
        header.extend_from_slice(&self.docs.lengths);
        varint::put(&mut header, self.blocks.len() as u64);
        let mut last = 0;
        for first in &self.firsts {
            varint::put(&mut header, first.0 - last);
            last = first.0;
        }
        Segment { seqs: start..end, header, blocks: self.blocks }
    }
}
