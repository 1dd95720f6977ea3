//! Builds a segment.

use super::write::Writer;
use super::{DOCS_MAX, Segment, SegmentError, length_class};
use crate::fields::DocTerms;
use crate::terms::{TERM_BITS, Term};

/// Bits of a packed posting for the doc; the count has the rest and stops at its largest value.
const DOC_BITS: u32 = 20;
const COUNT_BITS: u32 = 4;
const COUNT_MAX: u32 = (1 << COUNT_BITS) - 1;
const _: () = assert!(TERM_BITS + DOC_BITS + COUNT_BITS <= 64);

/// Number of highest bits of a term that select its bucket. A bucket of a full builder fits the second-level cache.
const BUCKET_BITS: u32 = 6;

/// Collects documents into a segment. Memory is 8 bytes per distinct word of a document.
#[derive(Debug, Default)]
pub struct SegmentBuilder {
    docs: Docs,
    /// term ‖ doc ‖ count, so that sorting the numbers sorts the postings; by the highest bits of the term. Empty
    /// before the first document.
    buckets: Vec<Vec<u64>>,
    postings: usize,
}

impl SegmentBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the entry `seq`, which must come after all earlier ones. Seqs may have gaps.
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
        self.buckets.resize_with(1 << BUCKET_BITS, Vec::new);
        for &(term, count) in doc.terms() {
            let packed =
                (u64::from(term.0) << (DOC_BITS + COUNT_BITS)) | base | u64::from(count.min(COUNT_MAX));
            if let Some(bucket) = self.buckets.get_mut((term.0 >> (TERM_BITS - BUCKET_BITS)) as usize) {
                bucket.push(packed);
            }
        }
        self.postings += doc.terms().len();
        Ok(())
    }

    /// Appends all documents of `later`. Cost: O(postings of `later`).
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
        if self.buckets.is_empty() {
            self.buckets = later.buckets;
        } else {
            for (bucket, behind) in self.buckets.iter_mut().zip(later.buckets) {
                bucket.extend(behind.into_iter().map(|posting| posting + shift));
            }
        }
        self.postings += later.postings;
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

    /// Bytes in use; finish the segment at about 24 MiB. [`SegmentBuilder::finish`] needs little more than the segment.
    pub fn memory_bytes(&self) -> usize {
        self.postings * 8 + self.docs.lengths.len() + self.docs.runs.len() * 24
    }

    /// Sorts and packs. `None` if nothing was added. Cost: O(postings).
    pub fn finish(self) -> Option<Segment> {
        if self.docs.lengths.is_empty() {
            return None;
        }
        let mut writer = Writer::new(self.docs);
        let mut other = Vec::new();
        for mut bucket in self.buckets {
            sort(&mut bucket, &mut other);
            for packed in bucket {
                let term = Term((packed >> (DOC_BITS + COUNT_BITS)) as u32);
                let doc = (packed >> COUNT_BITS) as u32 & ((1 << DOC_BITS) - 1);
                writer.posting(term, doc, packed as u32 & COUNT_MAX);
            }
        }
        Some(writer.finish())
    }
}

/// Sorts the packed postings of a bucket, whose docs ascend: few by comparison, many by a stable radix sort of the bits
/// in which their terms differ.
///
/// * `other` - working memory, reused from bucket to bucket.
fn sort(postings: &mut Vec<u64>, other: &mut Vec<u64>) {
    const DIGIT_BITS: u32 = 9;
    if postings.len() < 2048 {
        postings.sort_unstable();
        return;
    }
    other.clear();
    other.resize(postings.len(), 0);
    for pass in 0..(TERM_BITS - BUCKET_BITS).div_ceil(DIGIT_BITS) {
        let shift = DOC_BITS + COUNT_BITS + pass * DIGIT_BITS;
        let digit = |packed: u64| (packed >> shift) as usize & ((1 << DIGIT_BITS) - 1);
        let mut places = [0_usize; 1 << DIGIT_BITS];
        for &packed in postings.iter() {
            places.get_mut(digit(packed)).into_iter().for_each(|count| *count += 1);
        }
        let mut sum = 0;
        for place in &mut places {
            sum += std::mem::replace(place, sum);
        }
        for &packed in postings.iter() {
            let Some(place) = places.get_mut(digit(packed)) else { continue };
            if let Some(slot) = other.get_mut(*place) {
                *slot = packed;
            }
            *place += 1;
        }
        std::mem::swap(postings, other);
    }
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
