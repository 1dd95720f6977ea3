//! Reads a segment, one block at a time.

use std::cmp::Ordering;
use std::ops::Range;

use super::bits::BitReader;
use super::{DOCS_MAX, Gaps, SKIP_MIN, SegmentError, VERSION, class_length, damaged, doc_bits};
use crate::terms::Term;
use crate::varint;

/// One document of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Posting {
    /// Number of the document: here within the segment, in a [`crate::source::PostingSource`] over all segments.
    pub doc: u32,
    /// Number of the term's occurrences in it, at least 1.
    pub count: u32,
}

/// A parsed header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentReader {
    /// (first seq, count, number of the first doc), ascending.
    runs: Vec<(u64, u64, u32)>,
    lengths: Vec<u8>,
    sum: u64,
    terms: u64,
    firsts: Vec<Term>,
}

impl SegmentReader {
    /// Parses and checks a header. Cost: O(header) in time and memory.
    ///
    /// # Errors
    /// [`SegmentError::Version`] or [`SegmentError::Damaged`].
    pub fn parse(header: &[u8]) -> Result<Self, SegmentError> {
        let (&found, mut rest) = header.split_first().ok_or(damaged("the header is empty"))?;
        if found != VERSION {
            return Err(SegmentError::Version { found });
        }
        let mut number = |rule| varint::take(&mut rest).ok_or(damaged(rule));
        let docs = number("count of documents")?;
        let first = number("first entry")?;
        let sum = number("sum of lengths")?;
        let terms = number("count of terms")?;
        if docs == 0 || docs > DOCS_MAX {
            return Err(damaged("count of documents is out of range"));
        }
        let (mut runs, mut next, mut told) = (Vec::new(), first, 0);
        while told < docs {
            let count = number("length of a run")?;
            let gap = number("gap before a run")?;
            let start = next.checked_add(gap).ok_or(damaged("an entry number is too large"))?;
            next = start.checked_add(count).ok_or(damaged("an entry number is too large"))?;
            if count == 0 || count > docs - told {
                return Err(damaged("runs do not add up to the documents"));
            }
            runs.push((start, count, told as u32));
            told += count;
        }
        let (lengths, after) = rest.split_at_checked(docs as usize).ok_or(damaged("lengths are cut off"))?;
        let mut rest = after;
        let blocks = varint::take(&mut rest).ok_or(damaged("count of blocks"))?;
        if blocks > rest.len() as u64 {
            return Err(damaged("first terms are cut off"));
        }
        let mut firsts = Vec::with_capacity(blocks as usize);
        let mut last = 0;
        for _ in 0..blocks {
            let delta = varint::take(&mut rest).ok_or(damaged("first term of a block"))?;
            last = add_term(last, delta)?;
            firsts.push(Term(last));
        }
        if !rest.is_empty() {
            return Err(damaged("bytes after the header"));
        }
        Ok(Self { runs, lengths: lengths.to_vec(), sum, terms, firsts })
    }

    /// Number of documents.
    pub fn docs(&self) -> u32 {
        self.lengths.len() as u32
    }

    /// Number of distinct terms.
    pub fn terms(&self) -> u64 {
        self.terms
    }

    /// Number of blocks.
    pub fn blocks(&self) -> usize {
        self.firsts.len()
    }

    /// Sum of the lengths of all documents, in words.
    pub fn length_sum(&self) -> u64 {
        self.sum
    }

    /// From the first entry to one past the last.
    pub fn seqs(&self) -> Range<u64> {
        let start = self.runs.first().map_or(0, |run| run.0);
        start..self.runs.last().map_or(0, |run| run.0 + run.1)
    }

    /// The entry of a document; `None` if there is no such document.
    pub fn seq(&self, doc: u32) -> Option<u64> {
        let at = self.runs.partition_point(|run| run.2 <= doc).checked_sub(1)?;
        let &(first, count, number) = self.runs.get(at)?;
        let offset = u64::from(doc - number);
        (offset < count).then_some(first + offset)
    }

    /// The document of an entry; `None` if the segment lacks it.
    pub fn doc(&self, seq: u64) -> Option<u32> {
        let at = self.runs.partition_point(|run| run.0 <= seq).checked_sub(1)?;
        let &(first, count, number) = self.runs.get(at)?;
        (seq - first < count).then(|| number + (seq - first) as u32)
    }

    /// Length of a document in words, rounded down by up to an eighth; 0 if there is none.
    pub fn length(&self, doc: u32) -> u32 {
        self.lengths.get(doc as usize).map_or(0, |&class| class_length(class))
    }

    /// Lengths as classes, by document.
    pub(super) fn classes(&self) -> &[u8] {
        &self.lengths
    }

    /// Runs of (first seq, count, number of the first doc).
    pub(super) fn runs(&self) -> &[(u64, u64, u32)] {
        &self.runs
    }

    /// The blocks that may hold the list of `term`: none, one, or several if the list is long.
    pub fn blocks_for(&self, term: Term) -> Range<usize> {
        let end = self.firsts.partition_point(|&first| first <= term);
        let start = self.firsts.partition_point(|&first| first < term).saturating_sub(1);
        start..end.max(start)
    }

    /// Appends to `out` the part of the list of `term` in block number `block`, whose bytes are `bytes`.
    ///
    /// Calling it for each block of [`SegmentReader::blocks_for`] gives the whole list, ascending.
    ///
    /// # Errors
    /// [`SegmentError::Damaged`]; `out` then holds the postings read so far.
    pub fn postings(
        &self,
        term: Term,
        block: usize,
        bytes: &[u8],
        out: &mut Vec<Posting>,
    ) -> Result<(), SegmentError> {
        let mut cursor = BlockCursor::new(self, block, bytes)?;
        while let Some((found, list)) = cursor.next_list()? {
            match found.cmp(&term) {
                Ordering::Less => cursor.skip(list)?,
                // A long list may come in several parts.
                Ordering::Equal => cursor.read(list, out)?,
                Ordering::Greater => return Ok(()),
            }
        }
        Ok(())
    }
}

/// `last + delta`, if that is a valid term.
fn add_term(last: u32, delta: u64) -> Result<u32, SegmentError> {
    u32::try_from(u64::from(last).saturating_add(delta)).map_err(|_| damaged("a term is out of range"))
}

/// Walks over the lists of one block.
pub(super) struct BlockCursor<'a> {
    bits: BitReader<'a>,
    /// Number of remaining lists.
    lists: u16,
    term: u32,
    is_first: bool,
    gaps: Gaps,
    docs: u32,
    doc_bits: u32,
}

/// An unread list.
#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    /// One document with one occurrence of the term.
    One(u32),
    /// This many postings, with the width of their gaps and of their counts.
    Many(u32, u32, u32),
}

impl<'a> BlockCursor<'a> {
    pub(super) fn new(reader: &SegmentReader, block: usize, bytes: &'a [u8]) -> Result<Self, SegmentError> {
        let first = reader.firsts.get(block).ok_or(damaged("no such block"))?;
        let (&lists, bits) = bytes.split_first_chunk().ok_or(damaged("a block has no count of lists"))?;
        Ok(Self {
            bits: BitReader::new(bits),
            lists: u16::from_le_bytes(lists),
            term: first.0,
            is_first: true,
            gaps: Gaps::new(),
            docs: reader.docs(),
            doc_bits: doc_bits(u64::from(reader.docs())),
        })
    }

    /// The next term and its list, which must be read or skipped before the next call.
    #[inline]
    pub(super) fn next_list(&mut self) -> Result<Option<(Term, List)>, SegmentError> {
        let Some(left) = self.lists.checked_sub(1) else { return Ok(None) };
        self.lists = left;
        if !std::mem::replace(&mut self.is_first, false) {
            let gap = self.bits.rice(self.gaps.width()).ok_or(damaged("a term is cut off"))?;
            self.gaps.learn(gap);
            self.term = add_term(self.term, u64::from(gap) + 1)?;
        }
        let list = self.head().ok_or(damaged("the head of a list is cut off"))?;
        match list {
            List::One(doc) if doc >= self.docs => Err(damaged("a document is out of range")),
            // Every posting takes at least one bit.
            List::Many(count, ..) if count > self.docs || count as usize > self.bits.left() => {
                Err(damaged("the length of a list is out of range"))
            }
            list => Ok(Some((Term(self.term), list))),
        }
    }

    #[inline]
    fn head(&mut self) -> Option<List> {
        if self.bits.take(1)? == 1 {
            return self.bits.take(self.doc_bits).map(List::One);
        }
        let count = self.bits.gamma()?;
        let counts = self.bits.take(2)?;
        let gaps = if count > 1 { self.bits.take(5)? } else { 0 };
        Some(List::Many(count, gaps, counts))
    }

    /// Reads a list onto `out`.
    pub(super) fn read(&mut self, list: List, out: &mut Vec<Posting>) -> Result<(), SegmentError> {
        match list {
            List::One(doc) => out.push(Posting { doc, count: 1 }),
            List::Many(count, ..) => {
                out.reserve(count as usize);
                self.each(list, |posting| out.push(posting))?;
            }
        }
        Ok(())
    }

    /// Skips a list.
    #[inline]
    pub(super) fn skip(&mut self, list: List) -> Result<(), SegmentError> {
        if let List::Many(count, ..) = list
            && count as usize >= SKIP_MIN
        {
            let mut bits = self.bits;
            let len = bits.take(16).and_then(|len| bits.skip(len));
            self.bits = bits;
            return len.ok_or(damaged("a list is cut off"));
        }
        self.each(list, |_| ())
    }

    /// Decodes the postings of a list with several of them.
    #[inline]
    fn each(&mut self, list: List, mut each: impl FnMut(Posting)) -> Result<(), SegmentError> {
        let List::Many(count, gaps, counts) = list else { return Ok(()) };
        let cut = || damaged("a posting is cut off");
        if count as usize >= SKIP_MIN {
            self.bits.take(16).ok_or_else(cut)?;
        }
        let mut doc = u64::from(self.bits.take(self.doc_bits).ok_or_else(cut)?);
        for index in 0..count {
            if index > 0 {
                doc += u64::from(self.bits.rice(gaps).ok_or_else(cut)?) + 1;
            }
            if doc >= u64::from(self.docs) {
                return Err(damaged("a document is out of range"));
            }
            let more = self.bits.rice(counts).ok_or_else(cut)?;
            each(Posting { doc: doc as u32, count: more.saturating_add(1) });
        }
        Ok(())
    }
}
