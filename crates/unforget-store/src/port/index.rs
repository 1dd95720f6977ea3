//! The part of the port for search: filters, scans of bytes, segments of the index.

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};

use super::{ChunkBytes, Filter, FilterOf, Page, Result, Scan, Scanned, Segment, SegmentHead};
use crate::unpack::Scratch;

/// A blob and its holders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlobBytes {
    /// The content.
    pub bytes: Vec<u8>,
    /// The entries that hold it, ascending, without duplicates.
    pub holders: Vec<Seq>,
}

/// Chunks and blobs for scans, and the search index.
pub trait Index {
    /// Filters of a conversation: chunks by number, then blobs by digest. An empty filter excludes nothing.
    ///
    /// # Errors
    /// [`StoreError::Damaged`](crate::StoreError::Damaged) with the entry that holds a blob but belongs to no chunk.
    fn filters(&self, id: ConversationId, page: Page<FilterOf>) -> Result<Vec<Filter>>;

    /// One chunk for a scan.
    ///
    /// # Errors
    /// `StoreError::Missing`, `StoreError::Damaged`.
    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes>;

    /// Inspects one chunk and returns its bytes on request. Much cheaper than [`Index::chunk`] if nothing is wanted.
    ///
    /// # Errors
    /// `StoreError::Missing`, `StoreError::Damaged`, both only for bytes that had to be read. `wants` and `holed` have
    /// then seen the whole chunk.
    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned>;

    /// One blob.
    ///
    /// # Errors
    /// `StoreError::Missing`, `StoreError::Damaged`.
    fn blob(&self, id: ConversationId, digest: Digest) -> Result<BlobBytes>;

    /// Inspects one blob and returns the entries that hold it, ascending, without duplicates; none if the blob is not
    /// wanted.
    ///
    /// # Errors
    /// `StoreError::Missing`, `StoreError::Damaged`.
    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>>;

    /// Adds a segment of the search index and removes the segments that it replaces; unknown numbers are ignored.
    /// Returns its number: from 0, never reused. Derived.
    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64>;

    /// Heads of segments, by number. A segment replaced between two pages leaves its replacement on a later page, so
    /// that a walk misses no entry, but may meet an entry twice.
    fn segments(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>>;

    /// One block of a segment.
    ///
    /// # Errors
    /// `StoreError::Missing`.
    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>>;

    /// Drops the search index of a conversation; it is derived.
    fn drop_segments(&self, id: ConversationId) -> Result<()>;
}
