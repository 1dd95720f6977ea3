//! Plans the reads of a grep.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};
use unforget_recall::filter;
use unforget_recall::grep::Pattern;
use unforget_recall::parts::{self, Touch};
use unforget_store::{Filter, FilterOf, StoreError};

/// A chunk or blob to read.
pub(super) enum Task {
    /// A chunk.
    Chunk {
        /// Its number.
        number: u64,
        /// A clause that the chunk does not contain. The chunk is then read only if a large part of one of its
        /// `holders` contains the clause or a fragment of it at an end.
        missing: Option<usize>,
        /// Entries that may have to be read with their large parts, ascending.
        holders: Vec<Holder>,
    },
    /// A blob.
    Blob(Digest),
}

impl Task {
    /// A chunk without the large parts of its entries.
    fn chunk(number: u64) -> Self {
        Self::Chunk { number, missing: None, holders: Vec::new() }
    }
}

/// An entry with large parts.
pub(super) struct Holder {
    pub(super) seq: Seq,
    /// For each clause, the best possible contribution of any large part.
    pub(super) touched: Vec<Touch>,
    pub(super) blobs: Vec<Digest>,
}

/// The chunks and blobs to read, newest first. Blobs come first, because the entries of a blob are known only after it
/// was read.
///
/// A match may begin in the text of a large part and end outside of it. Such a match contains the quote at the edge of
/// the part, and chunks are then judged together with their large parts: see [`group`].
///
/// # Errors
/// [`StoreError::Damaged`] for an entry with large parts that no chunk covers.
pub(super) fn fitting(
    id: ConversationId,
    filters: &[Filter],
    pattern: &Pattern,
) -> Result<Vec<Task>, StoreError> {
    let fits = |filter: &&Filter| filter::matches(&filter.bytes, pattern.need());
    let (mut blobs, mut chunks) = (Vec::new(), Vec::new());
    for filter in filters.iter().rev() {
        match filter.of {
            FilterOf::Chunk(number) => chunks.push((number, filter)),
            FilterOf::Blob(digest) => blobs.push((digest, filter)),
        }
    }
    // Blobs come by digest. A blob is as old as its first holder.
    blobs.sort_by_key(|(_, filter)| Reverse(filter.holders.first().copied()));
    if !pattern.holds_quote() {
        let blobs =
            blobs.into_iter().filter(|(_, filter)| fits(filter)).map(|(digest, _)| Task::Blob(digest));
        let chunks = chunks.into_iter().filter(|(_, filter)| fits(filter));
        return Ok(blobs.chain(chunks.map(|(number, _)| Task::chunk(number))).collect());
    }
    let mut parts: HashMap<u64, Vec<BlobPart<'_>>> = HashMap::new();
    for (digest, filter) in blobs {
        for seq in &filter.holders {
            // Newest chunk first.
            let at = chunks.partition_point(|(_, chunk)| chunk.seqs.start > seq.0);
            let Some((chunk, _)) = chunks.get(at).filter(|(_, chunk)| chunk.seqs.contains(&seq.0)) else {
                return Err(StoreError::Damaged { id, seq: *seq, detail: "its chunk is missing".to_owned() });
            };
            parts.entry(*chunk).or_default().push(BlobPart { seq: *seq, digest, filter: &filter.bytes });
        }
    }
    let grouped = |(number, filter): (u64, &Filter)| match parts.get(&number) {
        Some(parts) => group(number, &filter.bytes, parts, pattern.need().clauses()),
        None => fits(&filter).then_some(Task::chunk(number)),
    };
    Ok(chunks.into_iter().filter_map(grouped).collect())
}

/// A blob as part of an entry.
struct BlobPart<'a> {
    seq: Seq,
    digest: Digest,
    filter: &'a [u8],
}

/// Plans the search for matches that may lie partly in a chunk and partly in blobs of its entries; `None` if there are
/// none.
///
/// A match lies in one entry and contains a literal of each clause: in the entry's text in the chunk, in one of its
/// large parts, or across the edge of one.
///
/// * `number` - number of the chunk.
/// * `around` - its filter.
fn group(number: u64, around: &[u8], parts: &[BlobPart<'_>], clauses: &[Vec<Vec<u8>>]) -> Option<Task> {
    let held: Vec<bool> = clauses.iter().map(|clause| filter::holds(around, clause)).collect();
    let mut holders: BTreeMap<Seq, Holder> = BTreeMap::new();
    for part in parts {
        let new =
            || Holder { seq: part.seq, touched: vec![Touch::Nothing; clauses.len()], blobs: Vec::new() };
        let holder = holders.entry(part.seq).or_insert_with(new);
        holder.blobs.push(part.digest);
        for (touched, clause) in holder.touched.iter_mut().zip(clauses) {
            *touched = (*touched).max(parts::touch(around, part.filter, clause));
        }
    }
    let may_match = |holder: &Holder| {
        holder.touched.iter().zip(&held).all(|(touched, held)| *held || *touched > Touch::Nothing)
    };
    let holders: Vec<Holder> = holders.into_values().filter(may_match).collect();
    let missing = held.iter().position(|held| !held);
    (missing.is_none() || !holders.is_empty()).then_some(Task::Chunk { number, missing, holders })
}
