//! The port without a disk: plain maps, slow and evidently correct.

mod jobs;
mod port;
mod raised;
mod sayings;
mod upkeep;
mod verdicts;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Generation, Position, Seq, Thread};
use unforget_core::pin::PinState;

use crate::error::StoreError;
use crate::pack::{Packed, PackedEntry};
use crate::port::{
    Append, ContextRow, Conversation, EntryRow, FoundSnapshot, GenerationRow, GrantRow, LabelRow, Name,
    NamedEntry, NewConversation, NewRecipe, PinFileRow, PinRow, Purged, Receipt, RecipeRow, Result, SaidRows,
    Segment, Snapshot, SummaryKey, SummaryRow, Target, kept_content,
};
use crate::unpack::decode;

/// A store that lives as long as the value. For tests, and for replays that leave nothing behind.
#[derive(Default)]
pub struct MemoryStore {
    inner: Mutex<Inner>,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore").field("conversations", &self.lock().all.len()).finish()
    }
}

#[derive(Default)]
struct Inner {
    /// Histories by id, from 1.
    all: BTreeMap<u64, History>,
    /// In order of arrival.
    snapshots: Vec<FoundSnapshot>,
    /// Breaker states by provider and credential.
    breakers: BTreeMap<(String, String), String>,
    grants: Vec<GrantRow>,
}

/// The data of one conversation.
struct History {
    head: Conversation,
    label: LabelRow,
    generations: Vec<GenerationRow>,
    /// Seqs of each generation's whole path.
    paths: Vec<Vec<u64>>,
    entries: Vec<Held>,
    chunks: BTreeMap<u64, HeldChunk>,
    next_chunk: u64,
    blobs: BTreeMap<Digest, HeldBlob>,
    segments: BTreeMap<u64, Segment>,
    next_segment: u64,
    summaries: BTreeMap<SummaryKey, SummaryRow>,
    contexts: BTreeMap<(Thread, u64), ContextRow>,
    names: BTreeSet<NamedEntry>,
    desk: jobs::Desk,
    pins: Vec<PinRow>,
    pin_files: Vec<PinFileRow>,
    verdicts: verdicts::HeldVerdicts,
    raised: raised::HeldRaised,
    sayings: sayings::HeldSayings,
    recipes: Vec<HeldRecipe>,
}

struct Held {
    row: EntryRow,
    lead: Vec<u8>,
    body: Vec<u8>,
    chunk: Option<u64>,
    /// Ranges of the body that are stored as blobs.
    holes: Vec<(Range<usize>, Digest)>,
}

impl Held {
    /// The body without its large parts.
    fn closed(&self) -> Vec<u8> {
        let mut closed = Vec::new();
        let mut from = 0;
        for (range, _) in &self.holes {
            closed.extend_from_slice(self.body.get(from..range.start).unwrap_or_default());
            from = range.end;
        }
        closed.extend_from_slice(self.body.get(from..).unwrap_or_default());
        closed
    }
}

struct HeldChunk {
    seqs: Range<u64>,
    filter: Vec<u8>,
}

struct HeldBlob {
    bytes: Vec<u8>,
    filter: Vec<u8>,
}

struct HeldRecipe {
    row: RecipeRow,
    /// Its context.
    state: Vec<u8>,
}

/// A completed append; the snapshot has no number yet.
struct Appended {
    receipt: Receipt,
    snapshot: Option<Snapshot>,
}

impl Inner {
    fn get(&self, id: ConversationId) -> Result<&History> {
        self.all.get(&id.0).ok_or(StoreError::NoConversation { id })
    }

    /// Snapshots of a conversation, by number.
    fn snapshots_of(&self, id: ConversationId) -> impl DoubleEndedIterator<Item = &Snapshot> {
        self.snapshots.iter().filter(move |found| found.conversation == id).map(|found| &found.snapshot)
    }

    fn desks(&self) -> impl Iterator<Item = (ConversationId, &jobs::Desk)> {
        self.all.values().map(|history| (history.head.id, &history.desk))
    }

    fn get_mut(&mut self, id: ConversationId) -> Result<&mut History> {
        self.all.get_mut(&id.0).ok_or(StoreError::NoConversation { id })
    }
}

/// The rows with these keys, ordered by key.
fn of_keys<'a>(keys: &[SummaryKey], of: impl Fn(&SummaryKey) -> Option<&'a SummaryRow>) -> Vec<SummaryRow> {
    keys.iter().collect::<BTreeSet<_>>().into_iter().filter_map(of).cloned().collect()
}

impl History {
    fn new(id: ConversationId, new: &NewConversation) -> Self {
        let head = Conversation {
            id,
            key: new.key.clone(),
            format: new.format.clone(),
            title: new.title.clone(),
            parent: new.parent.clone(),
            revision: 0,
            names: 0,
            entries: 0,
            current: Generation(0),
            length: 0,
            tokens: 0,
            raw_bytes: 0,
            time: None,
        };
        Self {
            label: LabelRow::blank(head.id),
            head,
            generations: Vec::new(),
            paths: Vec::new(),
            entries: Vec::new(),
            chunks: BTreeMap::new(),
            next_chunk: 0,
            blobs: BTreeMap::new(),
            segments: BTreeMap::new(),
            next_segment: 0,
            summaries: BTreeMap::new(),
            contexts: BTreeMap::new(),
            names: BTreeSet::new(),
            desk: jobs::Desk::default(),
            pins: Vec::new(),
            pin_files: Vec::new(),
            verdicts: verdicts::HeldVerdicts::default(),
            raised: raised::HeldRaised::default(),
            sayings: sayings::HeldSayings::default(),
            recipes: Vec::new(),
        }
    }

    /// What people said.
    fn said(&self) -> SaidRows {
        SaidRows {
            pins: self.pins.clone(),
            files: self.pin_files.clone(),
            verdicts: self.verdicts.rows.clone(),
            raised: self.raised.rows.clone(),
        }
    }

    /// Adds a recipe, and drops older ones. Returns its number.
    fn put_recipe(&mut self, NewRecipe { row: recipe, keep }: NewRecipe<'_>) -> u64 {
        let last = self.recipes.last().map_or(0, |recipe| recipe.row.number);
        let number = recipe.number.max(last + 1);
        let row = RecipeRow { number, context: recipe.context, body: recipe.body.clone() };
        self.recipes.push(HeldRecipe { row, state: recipe.state.clone() });
        let excess = (self.recipes.len() as u64).saturating_sub(keep.max(1));
        self.recipes.drain(..excess as usize);
        number
    }

    fn slice(&self, seqs: &Range<u64>) -> &[Held] {
        let end = seqs.end.min(self.head.entries);
        self.entries.get(seqs.start.min(end) as usize..end as usize).unwrap_or_default()
    }

    /// The entries under names, each once, by name, then seq.
    fn named(&self, names: &[Name]) -> Vec<NamedEntry> {
        let wanted: BTreeSet<&Name> = names.iter().collect();
        let of = |name: &Name| {
            let [first, last] = [0, u64::MAX].map(|seq| NamedEntry { name: *name, seq: Seq(seq) });
            self.names.range(first..=last).copied()
        };
        wanted.into_iter().flat_map(of).collect()
    }

    fn path(&self, generation: Generation) -> &[u64] {
        self.paths.get(generation.0 as usize).map(Vec::as_slice).unwrap_or_default()
    }

    /// The target generation of an append, and the length of its path. Changes nothing.
    fn landing(&self, target: Target) -> Result<(Generation, u64)> {
        let length =
            |generation: Generation| self.paths.get(generation.0 as usize).map(|path| path.len() as u64);
        let (generation, asked, fits) = match target {
            Target::Extend(generation, asked) => (generation, asked, length(generation) == Some(asked)),
            Target::Open { parent: None, .. } => return Ok((Generation(self.paths.len() as u64), 0)),
            Target::Open { parent: Some((parent, Position(fork))), .. } => {
                let fits = length(parent).is_some_and(|length| fork <= length);
                (parent, fork, fits)
            }
        };
        match target {
            _ if !fits => {
                let found = length(generation).unwrap_or(0);
                Err(StoreError::Moved { generation, expected: asked, found })
            }
            Target::Extend(..) => Ok((generation, asked)),
            Target::Open { .. } => Ok((Generation(self.paths.len() as u64), asked)),
        }
    }

    fn append(&mut self, append: Append) -> Result<Appended> {
        if append.entries != self.head.entries {
            let (id, expected, found) = (self.head.id, append.entries, self.head.entries);
            return Err(StoreError::Overtaken { id, expected, found });
        }
        let (generation, before) = self.landing(append.target)?;
        let length = before + append.packed.len() as u64;
        let mut snapshot = append.snapshot;
        if let Some(snapshot) = &mut snapshot {
            if snapshot.length > length {
                return Err(StoreError::Moved { generation, expected: snapshot.length, found: length });
            }
            snapshot.generation = generation;
        }
        let unpacked = unpack(&append.packed)?;
        // Nothing can fail from here on.
        if let Target::Open { parent, opened_by } = append.target {
            let shared = parent.and_then(|(parent, fork)| self.path(parent).get(..fork.0 as usize));
            let path = shared.unwrap_or_default().to_vec();
            self.generations.push(GenerationRow { number: generation, parent, opened_by, length: before });
            self.paths.push(path);
        }
        let first_seq = Seq(self.head.entries);
        self.add(generation, append.packed, unpacked);
        if let Some(row) = self.generations.get_mut(generation.0 as usize) {
            row.length = length;
        }
        if self.head.current == generation {
            self.head.length = length;
        }
        if let Some(snapshot) = &snapshot {
            self.head.current = generation;
            self.head.length = snapshot.length;
        }
        self.names.extend(append.names);
        for context in append.contexts {
            self.contexts.insert((context.thread, context.budget), context);
        }
        self.head.revision += 1;
        let receipt = Receipt { generation, first_seq, revision: self.head.revision };
        Ok(Appended { receipt, snapshot })
    }

    fn add(&mut self, generation: Generation, packed: Packed, unpacked: Unpacked) {
        let first_chunk = self.next_chunk;
        self.head.raw_bytes += packed.raw_bytes;
        for chunk in packed.chunks {
            let chunk = HeldChunk { seqs: 0..0, filter: chunk.filter };
            self.chunks.insert(self.next_chunk, chunk);
            self.next_chunk += 1;
        }
        for (blob, bytes) in packed.blobs.into_iter().zip(unpacked.blobs) {
            self.blobs.entry(blob.digest).or_insert(HeldBlob { bytes, filter: blob.filter });
        }
        for entry in packed.entries {
            let chunk = entry.chunk.and_then(|chunk| unpacked.chunks.get(chunk));
            let chunk = chunk.map(Vec::as_slice).unwrap_or_default();
            self.add_entry(generation, entry, first_chunk, chunk);
        }
    }

    /// * `chunk` - uncompressed bytes of the entry's chunk.
    fn add_entry(&mut self, generation: Generation, entry: PackedEntry, first_chunk: u64, chunk: &[u8]) {
        let number = entry.chunk.map(|chunk| first_chunk + chunk as u64);
        let seq = self.head.entries;
        let (from, middle) = (entry.offset as usize, (entry.offset + entry.lead_len) as usize);
        let lead = chunk.get(from..middle).unwrap_or_default().to_vec();
        let mut body = chunk.get(middle..middle + entry.body_len as usize).unwrap_or_default().to_vec();
        let mut holes = Vec::new();
        for (at, digest) in entry.holes {
            let bytes = self.blobs.get(&digest).map(|blob| blob.bytes.clone());
            let bytes = bytes.unwrap_or_default();
            let at = at as usize;
            holes.push((at..at + bytes.len(), digest));
            body.splice(at..at, bytes);
        }
        let mut row = entry.row;
        row.content = kept_content(row.content);
        let path = self.paths.get_mut(generation.0 as usize);
        let position = path.map_or(0, |path| {
            path.push(seq);
            path.len() as u64 - 1
        });
        (row.seq, row.generation, row.position) = (Seq(seq), generation, Position(position));
        self.head.tokens += row.tokens.expected;
        if let Some(time) = row.time {
            let (first, last) = self.head.time.unwrap_or((time, time));
            self.head.time = Some((first.min(time), last.max(time)));
        }
        if let Some(held) = number.and_then(|number| self.chunks.get_mut(&number)) {
            held.seqs = if held.seqs.is_empty() { seq..seq + 1 } else { held.seqs.start..seq + 1 };
        }
        self.entries.push(Held { row, lead, body, chunk: number, holes });
        self.head.entries += 1;
    }

    fn holders(&self, digest: Digest) -> Vec<Seq> {
        let holds = |held: &&Held| held.holes.iter().any(|(_, hole)| *hole == digest);
        self.entries.iter().filter(holds).map(|held| held.row.seq).collect()
    }

    fn plan(&self, seqs: &Range<u64>) -> Purged {
        let going: Vec<&Held> = self.slice(seqs).iter().filter(|held| !held.row.purged).collect();
        let digests: BTreeSet<Digest> =
            going.iter().flat_map(|held| &held.holes).map(|(_, digest)| *digest).collect();
        let only_here = |digest: &&Digest| self.holders(**digest).iter().all(|seq| seqs.contains(&seq.0));
        let end = seqs.end.min(self.head.entries);
        let over = |row: &&SummaryRow| seqs.start < end && row.span.0.0 < end && row.span.1.0 >= seqs.start;
        Purged {
            entries: going.len() as u64,
            bytes: going.iter().map(|held| (held.lead.len() + held.body.len()) as u64).sum(),
            blobs: digests.iter().filter(only_here).count() as u64,
            summaries: self.summaries.values().filter(over).count() as u64,
        }
    }

    fn purge(&mut self, seqs: &Range<u64>) -> (Purged, BTreeSet<u64>) {
        let plan = self.plan(seqs);
        let seqs = seqs.start..seqs.end.min(self.head.entries);
        let mut positions = BTreeSet::new();
        if seqs.is_empty() {
            return (plan, positions);
        }
        let mut touched = BTreeSet::new();
        for held in self.entries.iter_mut().filter(|held| seqs.contains(&held.row.seq.0)) {
            positions.insert(held.row.position.0);
            touched.extend(held.chunk.take());
            held.lead.clear();
            held.body.clear();
            held.holes.clear();
            held.row.purged = true;
        }
        for chunk in touched {
            let left = self.entries.iter().any(|held| held.chunk == Some(chunk));
            match self.chunks.get_mut(&chunk) {
                Some(kept) if left => kept.filter.clear(),
                _ => drop(self.chunks.remove(&chunk)),
            }
        }
        let used: BTreeSet<Digest> =
            self.entries.iter().flat_map(|held| &held.holes).map(|(_, digest)| *digest).collect();
        self.blobs.retain(|digest, _| used.contains(digest));
        self.summaries.retain(|_, row| row.span.0.0 >= seqs.end || row.span.1.0 < seqs.start);
        self.segments.retain(|_, segment| segment.seqs.start >= seqs.end || segment.seqs.end <= seqs.start);
        self.desk.purge(&seqs);
        self.contexts.clear();
        self.recipes.clear();
        self.verdicts.purge(&seqs);
        self.raised.purge(&seqs);
        self.sayings.purge(&seqs);
        let gone = |row: &&mut PinRow| row.pin.source.is_some_and(|seq| seqs.contains(&seq.0));
        for row in self.pins.iter_mut().filter(gone) {
            PinRow::PURGED.clone_into(&mut row.pin.text);
            if row.pin.state == PinState::Active {
                row.pin.state = PinState::Retired;
            }
        }
        self.names.retain(|named| !seqs.contains(&named.seq.0));
        if plan.entries > 0 {
            self.head.revision += 1;
        }
        (plan, positions)
    }
}

/// Uncompressed chunks and blobs of a batch, in its order.
struct Unpacked {
    chunks: Vec<Vec<u8>>,
    blobs: Vec<Vec<u8>>,
}

fn unpack(packed: &Packed) -> Result<Unpacked> {
    let failed = |detail: String| StoreError::Backend { operation: "append", source: detail.into() };
    let chunks = packed.chunks.iter().map(|chunk| decode(&chunk.data, chunk.raw_len, None).map_err(failed));
    let blobs = packed.blobs.iter().map(|blob| decode(&blob.data, blob.raw_len, None).map_err(failed));
    Ok(Unpacked { chunks: chunks.collect::<Result<_>>()?, blobs: blobs.collect::<Result<_>>()? })
}
