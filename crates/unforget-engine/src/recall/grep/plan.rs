//! What a search by any byte has to read.

use std::collections::{BTreeMap, HashMap};

use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_recall::filter;
use unforget_recall::grep::Pattern;
use unforget_recall::parts::{self, Touch};
use unforget_store::{Filter, FilterOf};

/// Something to read.
pub(super) enum Task {
    /// A chunk.
    Chunk {
        /// Its number.
        number: u64,
        /// A clause that it does not hold: then it is only read if a part of one of these entries does, or an end
        /// of it.
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
    /// For each clause, the most that one of the parts may hold of it.
    pub(super) touched: Vec<Touch>,
    pub(super) blobs: Vec<Digest>,
}

/// What has to be read, newest first; blobs in front, because which entries they belong to is known only
/// once they are read.
///
/// A match may begin in the text of a large part and end outside of it. Then it holds the quote at the part's
/// edge, and chunks are judged together with their parts: see [`group`].
pub(super) fn fitting(filters: &[Filter], pattern: &Pattern) -> Vec<Task> {
    let fits = |filter: &&Filter| filter::matches(&filter.bytes, pattern.need());
    let (mut blobs, mut chunks) = (Vec::new(), Vec::new());
    for filter in filters.iter().rev() {
        match filter.of {
            FilterOf::Chunk(number) => chunks.push((number, filter)),
            FilterOf::Blob(digest) => blobs.push((digest, filter)),
        }
    }
    if !pattern.holds_quote() {
        let blobs =
            blobs.into_iter().filter(|(_, filter)| fits(filter)).map(|(digest, _)| Task::Blob(digest));
        let chunks = chunks.into_iter().filter(|(_, filter)| fits(filter));
        return blobs.chain(chunks.map(|(number, _)| Task::chunk(number))).collect();
    }
    let mut parts: HashMap<u64, Vec<Part<'_>>> = HashMap::new();
    for (digest, filter) in blobs {
        for (chunk, seq) in &filter.holders {
            parts.entry(*chunk).or_default().push(Part { seq: *seq, digest, filter: &filter.bytes });
        }
    }
    let grouped = |(number, filter): (u64, &Filter)| match parts.get(&number) {
        Some(parts) => group((number, &filter.bytes), parts, pattern.need().clauses()),
        None => fits(&filter).then_some(Task::chunk(number)),
    };
    chunks.into_iter().filter_map(grouped).collect()
}

/// A blob as part of an entry.
struct Part<'a> {
    seq: Seq,
    digest: Digest,
    filter: &'a [u8],
}

/// How to look for matches that may be part in a chunk, part in blobs of its entries; `None` if there are none.
///
/// A match is in one entry and holds a literal of each clause: in the entry's text in the chunk, or in one of its
/// parts, or across the edge of one.
///
/// * `chunk` - its number and filter.
fn group(chunk: (u64, &[u8]), parts: &[Part<'_>], clauses: &[Vec<Vec<u8>>]) -> Option<Task> {
    let (number, around) = chunk;
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
