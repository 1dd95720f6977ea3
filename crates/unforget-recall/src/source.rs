//! Sources of postings: memory, stored segments, or both.

use std::collections::HashMap;

use crate::fields::DocTerms;
use crate::segment::{Posting, SegmentError, SegmentReader};
use crate::terms::Term;

/// Documents numbered from 0, ascending by entry, and the lists of their terms.
pub trait PostingSource {
    /// Error of a read.
    type Error;

    /// Number of documents.
    fn docs(&self) -> u32;

    /// Sum of the lengths of all documents, in words.
    fn length_sum(&self) -> u64;

    /// Length of a document in words; 0 if there is none.
    fn length(&self, doc: u32) -> u32;

    /// The entry of a document; `None` if there is no such document.
    fn seq(&self, doc: u32) -> Option<u64>;

    /// Appends the whole list of a term to `out`, ascending by document.
    ///
    /// # Errors
    /// The source's read error; never an empty list in place of an error.
    fn postings(&mut self, term: Term, out: &mut Vec<Posting>) -> Result<(), Self::Error>;
}

/// An index in memory, for small histories and for the entries after the last segment.
#[derive(Debug, Default)]
pub struct MemoryIndex {
    lists: HashMap<Term, Vec<Posting>>,
    docs: Vec<(u64, u32)>,
    sum: u64,
}

impl MemoryIndex {
    /// An empty index.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an entry, which must come after all earlier ones.
    ///
    /// # Errors
    /// [`SegmentError::Order`] or [`SegmentError::Full`]; nothing was added.
    pub fn add(&mut self, seq: u64, doc: &DocTerms) -> Result<(), SegmentError> {
        if let Some(&(last, _)) = self.docs.last().filter(|(last, _)| *last >= seq) {
            return Err(SegmentError::Order { seq, last });
        }
        let number = u32::try_from(self.docs.len()).map_err(|_| SegmentError::Full)?;
        for &(term, count) in doc.terms() {
            self.lists.entry(term).or_default().push(Posting { doc: number, count });
        }
        self.docs.push((seq, doc.length()));
        self.sum += u64::from(doc.length());
        Ok(())
    }
}

impl PostingSource for MemoryIndex {
    type Error = std::convert::Infallible;

    fn docs(&self) -> u32 {
        self.docs.len() as u32
    }

    fn length_sum(&self) -> u64 {
        self.sum
    }

    fn length(&self, doc: u32) -> u32 {
        self.docs.get(doc as usize).map_or(0, |doc| doc.1)
    }

    fn seq(&self, doc: u32) -> Option<u64> {
        self.docs.get(doc as usize).map(|doc| doc.0)
    }

    fn postings(&mut self, term: Term, out: &mut Vec<Posting>) -> Result<(), Self::Error> {
        out.extend_from_slice(self.lists.get(&term).map_or(&[], Vec::as_slice));
        Ok(())
    }
}

/// Segments with blocks fetched on demand, then a tail in memory.
///
/// `F` fetches a block by the index of its segment in the given list and its number in that segment.
#[derive(Debug)]
pub struct SegmentIndex<F> {
    /// Readers with the number of their first document.
    segments: Vec<(SegmentReader, u32)>,
    tail: MemoryIndex,
    /// Number of the tail's first document.
    tail_base: u32,
    sum: u64,
    fetch: F,
}

impl<F, B, E> SegmentIndex<F>
where
    F: FnMut(usize, usize) -> Result<B, E>,
    B: AsRef<[u8]>,
    E: From<SegmentError>,
{
    /// An index over `segments` and `tail`, which must be ascending and disjoint in their entries.
    ///
    /// # Errors
    /// [`SegmentError::Order`] if they overlap, [`SegmentError::Full`] above 2^32 documents.
    pub fn new(segments: Vec<SegmentReader>, tail: MemoryIndex, fetch: F) -> Result<Self, SegmentError> {
        let (mut base, mut next, mut sum) = (0_u32, 0, tail.sum);
        let mut numbered = Vec::with_capacity(segments.len());
        for reader in segments {
            let seqs = reader.seqs();
            if seqs.start < next {
                return Err(SegmentError::Order { seq: seqs.start, last: next - 1 });
            }
            next = seqs.end;
            sum = sum.saturating_add(reader.length_sum());
            let docs = reader.docs();
            numbered.push((reader, base));
            base = base.checked_add(docs).ok_or(SegmentError::Full)?;
        }
        if let Some(&(seq, _)) = tail.docs.first().filter(|(seq, _)| *seq < next) {
            return Err(SegmentError::Order { seq, last: next - 1 });
        }
        base.checked_add(tail.docs()).ok_or(SegmentError::Full)?;
        Ok(Self { segments: numbered, tail, tail_base: base, sum, fetch })
    }

    fn segment_of(&self, doc: u32) -> Option<&(SegmentReader, u32)> {
        let at = self.segments.partition_point(|(_, base)| *base <= doc).checked_sub(1)?;
        self.segments.get(at)
    }
}

impl<F, B, E> PostingSource for SegmentIndex<F>
where
    F: FnMut(usize, usize) -> Result<B, E>,
    B: AsRef<[u8]>,
    E: From<SegmentError>,
{
    type Error = E;

    fn docs(&self) -> u32 {
        self.tail_base + self.tail.docs()
    }

    fn length_sum(&self) -> u64 {
        self.sum
    }

    fn length(&self, doc: u32) -> u32 {
        match doc.checked_sub(self.tail_base) {
            Some(doc) => self.tail.length(doc),
            None => self.segment_of(doc).map_or(0, |(reader, base)| reader.length(doc - base)),
        }
    }

    fn seq(&self, doc: u32) -> Option<u64> {
        match doc.checked_sub(self.tail_base) {
            Some(doc) => self.tail.seq(doc),
            None => self.segment_of(doc).and_then(|(reader, base)| reader.seq(doc - base)),
        }
    }

    fn postings(&mut self, term: Term, out: &mut Vec<Posting>) -> Result<(), E> {
        for (index, (reader, base)) in self.segments.iter().enumerate() {
            let start = out.len();
            for block in reader.blocks_for(term) {
                let bytes = (self.fetch)(index, block)?;
                reader.postings(term, block, bytes.as_ref(), out)?;
            }
            out.iter_mut().skip(start).for_each(|posting| posting.doc += base);
        }
        let start = out.len();
        let Ok(()) = self.tail.postings(term, out);
        out.iter_mut().skip(start).for_each(|posting| posting.doc += self.tail_base);
        Ok(())
    }
}
