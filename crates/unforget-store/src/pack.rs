//! Packs entries into compressed chunks and blobs. Pure computation, so it runs on any thread, before the store is
//! asked to write.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use unforget_core::digest::Digest;
use zstd::bulk::Compressor;
use zstd::dict::{DecoderDictionary, EncoderDictionary};
use zstd::zstd_safe::CParameter;

use crate::entry::{EntryRow, NewEntry};
use crate::spare::Spare;

/// Most raw bytes of a chunk, unless a single entry is larger.
pub const CHUNK_BYTES: usize = 512 * 1024;

/// Chunks below this many raw bytes are compressed with the store's dictionary, if there is one.
pub const SMALL_CHUNK_BYTES: usize = 16 * 1024;

/// For chunks of this size, higher levels cost much time for little space.
const LEVEL: i32 = 6;

/// Packs entries. See [`Packer`].
///
/// * `filter` - makes the filter for the uncompressed bytes of a chunk or blob.
/// * `dictionary` - the result of [`crate::Upkeep::dictionary`].
pub fn pack(
    entries: Vec<NewEntry>,
    filter: &dyn Fn(&[u8]) -> Vec<u8>,
    dictionary: Option<&Dictionary>,
) -> Packed {
    let mut packer = Packer::new(filter, dictionary);
    for entry in entries {
        packer.push(entry);
    }
    packer.finish()
}

/// A packed batch: entries compressed into chunks, ready to be written.
#[derive(Debug, Default)]
pub struct Packed {
    /// The entries without their bytes, and the places of these.
    pub(crate) entries: Vec<PackedEntry>,
    /// Compressed chunks in order.
    pub(crate) chunks: Vec<PackedChunk>,
    /// Large parts, without duplicates.
    pub(crate) blobs: Vec<PackedBlob>,
    /// Raw bytes of all entries.
    pub(crate) raw_bytes: u64,
}

impl Packed {
    /// An empty batch that counts bytes: those of purged entries, which nobody has any more.
    pub fn of_purged(raw_bytes: u64) -> Self {
        Self { raw_bytes, ..Self::default() }
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Bytes of leads and bodies as received.
    pub fn raw_bytes(&self) -> u64 {
        self.raw_bytes
    }

    /// Bytes after compression, filters included: the size of the batch in memory and on disk.
    pub fn packed_bytes(&self) -> u64 {
        let chunks: usize = self.chunks.iter().map(|chunk| chunk.data.len() + chunk.filter.len()).sum();
        let blobs: usize = self.blobs.iter().map(|blob| blob.data.len() + blob.filter.len()).sum();
        (chunks + blobs) as u64
    }

    /// The entries, chunks and blobs, for the store that writes them.
    pub fn into_parts(self) -> PackedParts {
        let Self { entries, chunks, blobs, .. } = self;
        PackedParts { entries, chunks, blobs }
    }

    /// Appends the entries of `later`, so that parts packed on several threads go into one append.
    pub fn extend(&mut self, mut later: Self) {
        let shift = self.chunks.len();
        for chunk in later.entries.iter_mut().filter_map(|entry| entry.chunk.as_mut()) {
            *chunk += shift;
        }
        self.entries.append(&mut later.entries);
        self.chunks.append(&mut later.chunks);
        self.blobs.append(&mut later.blobs);
        self.raw_bytes += later.raw_bytes;
    }
}

/// A [`Packed`] batch, taken apart.
#[derive(Debug)]
pub struct PackedParts {
    /// The entries without their bytes, and the places of these.
    pub entries: Vec<PackedEntry>,
    /// Compressed chunks in order.
    pub chunks: Vec<PackedChunk>,
    /// Large parts, without duplicates.
    pub blobs: Vec<PackedBlob>,
}

/// One entry of a [`Packed`] batch.
#[derive(Debug)]
pub struct PackedEntry {
    /// The facts.
    pub row: EntryRow,
    /// Index into `chunks`; `None` for a tombstone.
    pub chunk: Option<usize>,
    /// Offset of the lead in the uncompressed chunk.
    pub offset: u64,
    /// Length of the lead.
    pub lead_len: u64,
    /// Length of the body in the chunk, without the bytes stored in blobs.
    pub body_len: u64,
    /// Holes in the body: offset in the body as received, and the blob. Ascending.
    pub holes: Vec<(u64, Digest)>,
}

impl PackedEntry {
    /// An entry without bytes: a purge took them.
    fn tombstone(row: EntryRow) -> Self {
        Self { row, chunk: None, offset: 0, lead_len: 0, body_len: 0, holes: Vec::new() }
    }
}

/// The chunks of a batch: the seqs that each spans, tombstones between its entries included.
///
/// * `first_seq` - of the batch's first entry.
/// * `chunks` - their number.
pub fn chunk_spans(entries: &[PackedEntry], first_seq: u64, chunks: usize) -> Vec<Range<u64>> {
    let mut spans = vec![first_seq..first_seq; chunks];
    let mut is_seen = vec![false; chunks];
    for (entry, seq) in entries.iter().zip(first_seq..) {
        let Some(chunk) = entry.chunk else { continue };
        if let (Some(span), Some(seen)) = (spans.get_mut(chunk), is_seen.get_mut(chunk)) {
            *span = if *seen { span.start..seq + 1 } else { seq..seq + 1 };
            *seen = true;
        }
    }
    spans
}

/// One chunk of a [`Packed`] batch.
#[derive(Debug)]
pub struct PackedChunk {
    /// Uncompressed bytes.
    pub raw_len: u64,
    /// Number of the dictionary that it was compressed with.
    pub dictionary: Option<u32>,
    /// The zstd frame.
    pub data: Vec<u8>,
    /// Its filter; may be empty.
    pub filter: Vec<u8>,
}

/// One blob of a [`Packed`] batch.
#[derive(Debug)]
pub struct PackedBlob {
    /// Of the uncompressed bytes.
    pub digest: Digest,
    /// Uncompressed bytes.
    pub raw_len: u64,
    /// The zstd frame.
    pub data: Vec<u8>,
    /// Its filter; may be empty.
    pub filter: Vec<u8>,
}

/// Packs entries one by one.
///
/// Consecutive entries share a chunk of at most [`CHUNK_BYTES`]; a larger entry has its own. Large ranges become blobs,
/// one per digest and packer. Ranges that are empty, out of bounds or overlap an earlier one stay in the chunk.
///
/// Memory: one open chunk and its compressed form, besides the result.
pub struct Packer<'a> {
    filter: &'a dyn Fn(&[u8]) -> Vec<u8>,
    encoder: Encoder<'a>,
    open: Vec<u8>,
    seen: BTreeSet<Digest>,
    packed: Packed,
}

impl<'a> Packer<'a> {
    /// An empty packer. For the arguments see [`pack`].
    pub fn new(filter: &'a dyn Fn(&[u8]) -> Vec<u8>, dictionary: Option<&'a Dictionary>) -> Self {
        let encoder = Encoder::new(dictionary);
        Self { filter, encoder, open: Vec::new(), seen: BTreeSet::new(), packed: Packed::default() }
    }

    /// Adds one entry. Of a purged one, the bytes are ignored: it becomes a tombstone, and its bytes are not counted.
    pub fn push(&mut self, entry: NewEntry) {
        let NewEntry { lead, body, large, row } = entry;
        if row.purged {
            self.packed.entries.push(PackedEntry::tombstone(row));
            return;
        }
        let large = usable_ranges(&large, body.len());
        let cut: usize = large.iter().map(Range::len).sum();
        let body_len = body.len() - cut;
        if !self.open.is_empty() && self.open.len() + lead.len() + body_len > CHUNK_BYTES {
            self.close_chunk();
        }
        let offset = self.open.len() as u64;
        self.open.extend_from_slice(&lead);
        let holes = self.cut_holes(&body, &large);
        self.packed.raw_bytes += (lead.len() + body.len()) as u64;
        self.packed.entries.push(PackedEntry {
            row,
            chunk: Some(self.packed.chunks.len()),
            offset,
            lead_len: lead.len() as u64,
            body_len: body_len as u64,
            holes,
        });
        if self.open.len() >= CHUNK_BYTES {
            self.close_chunk();
        }
    }

    /// Raw bytes pushed so far.
    pub fn raw_bytes(&self) -> u64 {
        self.packed.raw_bytes
    }

    /// Compresses the open chunk and returns the batch.
    pub fn finish(mut self) -> Packed {
        let last = self.packed.entries.iter().rev().find_map(|entry| entry.chunk);
        if last == Some(self.packed.chunks.len()) {
            self.close_chunk();
        }
        self.packed
    }

    fn close_chunk(&mut self) {
        let (data, dictionary) = self.encoder.encode(&self.open);
        let filter = (self.filter)(&self.open);
        self.packed.chunks.push(PackedChunk { raw_len: self.open.len() as u64, dictionary, data, filter });
        // One giant entry must not keep its capacity for the rest of the import.
        if self.open.capacity() > 2 * CHUNK_BYTES {
            self.open = Vec::with_capacity(CHUNK_BYTES);
        }
        self.open.clear();
    }

    /// Appends the body without `large` to the open chunk. Returns the holes.
    fn cut_holes(&mut self, body: &[u8], large: &[Range<usize>]) -> Vec<(u64, Digest)> {
        let mut from = 0;
        let mut holes = Vec::with_capacity(large.len());
        for range in large {
            let part = body.get(range.clone()).unwrap_or_default();
            self.open.extend_from_slice(body.get(from..range.start).unwrap_or_default());
            from = range.end;
            let digest = Digest::of(part);
            holes.push((range.start as u64, digest));
            if self.seen.insert(digest) {
                let (data, _) = self.encoder.encode_plain(part);
                let filter = (self.filter)(part);
                self.packed.blobs.push(PackedBlob { digest, raw_len: part.len() as u64, data, filter });
            }
        }
        self.open.extend_from_slice(body.get(from..).unwrap_or_default());
        holes
    }
}

impl fmt::Debug for Packer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Packer").field("open", &self.open.len()).finish_non_exhaustive()
    }
}

/// The ranges that can be cut: not empty, within the body, behind the previous one.
fn usable_ranges(large: &[Range<usize>], body_len: usize) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut usable = Vec::with_capacity(large.len());
    for range in large {
        if range.start >= end && range.start < range.end && range.end <= body_len {
            end = range.end;
            usable.push(range.clone());
        }
    }
    usable
}

/// A trained zstd dictionary of a store. Never removed while any chunk needs it.
pub struct Dictionary {
    pub(crate) id: u32,
    encoder: EncoderDictionary<'static>,
    pub(crate) decoder: DecoderDictionary<'static>,
}

impl Dictionary {
    /// A dictionary from its bytes.
    ///
    /// * `id` - its number in the store, from 1.
    ///
    /// # Errors
    /// The error of zstd, if it rejects the bytes.
    pub(crate) fn new(id: u32, bytes: &[u8]) -> std::io::Result<Self> {
        let encoder = EncoderDictionary::try_copy(bytes, LEVEL)?;
        let decoder = DecoderDictionary::try_copy(bytes)?;
        Ok(Self { id, encoder, decoder })
    }
}

impl fmt::Debug for Dictionary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dictionary").field("id", &self.id).finish_non_exhaustive()
    }
}

/// For frames without a dictionary, with a checksum.
static PLAIN: Spare<Compressor<'static>> = Spare::new();

/// Compresses chunks, reusing zstd's working memory.
pub(crate) struct Encoder<'a> {
    plain: Option<Compressor<'static>>,
    small: Option<(u32, Compressor<'a>)>,
}

impl<'a> Encoder<'a> {
    /// * `dictionary` - for inputs below [`SMALL_CHUNK_BYTES`].
    pub(crate) fn new(dictionary: Option<&'a Dictionary>) -> Self {
        let small = dictionary.and_then(|dictionary| {
            let mut compressor = Compressor::with_prepared_dictionary(&dictionary.encoder).ok()?;
            compressor.set_parameter(CParameter::ChecksumFlag(true)).ok()?;
            Some((dictionary.id, compressor))
        });
        Self { plain: None, small }
    }

    /// Compresses, with the dictionary where that saves space. Returns the frame and the dictionary's number.
    pub(crate) fn encode(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<u32>) {
        if bytes.len() < SMALL_CHUNK_BYTES
            && let Some((id, compressor)) = &mut self.small
            && let Ok(frame) = compressor.compress(bytes)
        {
            return (frame, Some(*id));
        }
        self.encode_plain(bytes)
    }

    /// Compresses without a dictionary. The frame carries a checksum of the content.
    pub(crate) fn encode_plain(&mut self, bytes: &[u8]) -> (Vec<u8>, Option<u32>) {
        if self.plain.is_none() {
            self.plain = PLAIN.take().or_else(plain);
        }
        let frame = self.plain.as_mut().and_then(|compressor| compressor.compress(bytes).ok());
        // zstd only fails if memory runs out. An undecodable frame would be a silent loss, so the bytes are then stored
        // in a frame of raw blocks.
        (frame.unwrap_or_else(|| stored_frame(bytes)), None)
    }
}

impl Drop for Encoder<'_> {
    fn drop(&mut self) {
        PLAIN.keep(self.plain.take());
    }
}

fn plain() -> Option<Compressor<'static>> {
    let mut compressor = Compressor::new(LEVEL).ok()?;
    compressor.set_parameter(CParameter::ChecksumFlag(true)).ok()?;
    Some(compressor)
}

/// Compresses bytes without a dictionary, as the packer does. The frame carries a checksum of the content.
pub fn compress(bytes: &[u8]) -> Vec<u8> {
    Encoder::new(None).encode_plain(bytes).0
}

/// A valid zstd frame of raw blocks: no compression, no checksum, no allocation beyond the result.
fn stored_frame(bytes: &[u8]) -> Vec<u8> {
    const BLOCK: usize = 128 * 1024;
    let mut frame = vec![0x28, 0xB5, 0x2F, 0xFD, 0b1110_0000];
    frame.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    let blocks = bytes.len().div_ceil(BLOCK).max(1);
    let mut rest = bytes;
    for number in 1..=blocks {
        let (block, after) = rest.split_at(rest.len().min(BLOCK));
        let header = ((block.len() as u32) << 3) | u32::from(number == blocks);
        frame.extend(header.to_le_bytes().iter().take(3));
        frame.extend_from_slice(block);
        rest = after;
    }
    frame
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::single_range_in_vec_init,
        reason = "tests"
    )]

    use proptest::prelude::*;
    use unforget_core::digest::Chain;

    use super::*;
    use crate::unpack::decode;

    fn packed(bodies: &[Vec<u8>]) -> Packed {
        let mut chain = Chain::root();
        let entries = bodies.iter().map(|body| crate::conformance::entry(body, &mut chain)).collect();
        pack(entries, &|bytes| vec![bytes.len() as u8], None)
    }

    #[test]
    fn chunk_borders() {
        let table = [
            (vec![], vec![], "nothing"),
            (vec![1], vec![1], "one"),
            (vec![CHUNK_BYTES], vec![1], "a full chunk"),
            (vec![CHUNK_BYTES + 1], vec![1], "one that is too large stands alone"),
            (vec![10, CHUNK_BYTES + 1, 10], vec![1, 1, 1], "between others too"),
            (vec![10, CHUNK_BYTES - 100], vec![2], "together they fit"),
            (vec![10, CHUNK_BYTES - 9], vec![1, 1], "together they do not"),
            (vec![0, 0], vec![2], "empty entries are entries"),
        ];
        for (lengths, want, why) in table {
            // Lengths that are not multiples of three have no lead.
            let bodies: Vec<Vec<u8>> = lengths.iter().map(|length| vec![b'x'; *length]).collect();
            let packed = packed(&bodies);
            let mut counts = vec![0; packed.chunks.len()];
            packed.entries.iter().for_each(|entry| counts[entry.chunk.unwrap()] += 1);
            assert_eq!(counts, want, "{why}");
        }
    }

    #[test]
    fn bad_ranges_stay_in_the_chunk() {
        let table = [
            (vec![0..4], vec![0..4], "whole"),
            (vec![2..2], vec![], "empty"),
            (vec![3..9], vec![], "beyond the end"),
            (vec![0..2, 1..3], vec![0..2], "overlapping"),
            (vec![2..3, 0..1], vec![2..3], "backwards"),
        ];
        for (large, want, why) in table {
            assert_eq!(usable_ranges(&large, 4), want, "{why}");
        }
    }

    #[test]
    fn batches_join() {
        let mut all = packed(&[vec![b'a'; 10], vec![b'b'; 10]]);
        all.extend(packed(&[vec![b'c'; 10]]));
        assert_eq!((all.len(), all.entries[2].chunk, all.chunks.len()), (3, Some(1), 2));
    }

    #[test]
    fn f093_a_giant_entry_does_not_keep_its_memory() {
        let mut packer = Packer::new(&|_| Vec::new(), None);
        packer.push(crate::conformance::entry(&vec![b'x'; 8 << 20], &mut Chain::root()));
        assert!(packer.open.capacity() <= 2 * CHUNK_BYTES);
    }

    proptest! {
        #[test]
        fn frames_go_there_and_back(bytes in prop::collection::vec(any::<u8>(), 0..5000), times in 1_usize..80) {
            let bytes = bytes.repeat(times);
            let (frame, _) = Encoder::new(None).encode(&bytes);
            prop_assert_eq!(decode(&frame, bytes.len() as u64, None).unwrap(), bytes.clone());
            prop_assert_eq!(decode(&stored_frame(&bytes), bytes.len() as u64, None).unwrap(), bytes);
        }

        #[test]
        fn hostile_frames_are_errors(bytes in prop::collection::vec(any::<u8>(), 0..200), claimed in any::<u64>()) {
            prop_assert!(decode(&bytes, claimed, None).is_err() || claimed < 1 << 20);
        }
    }
}
