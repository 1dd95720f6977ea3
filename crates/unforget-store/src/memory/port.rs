//! The port, method by method.

use std::collections::BTreeSet;
use std::ops::Range;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};

use super::{Appended, Held, History, MemoryStore, of_keys};
use crate::error::StoreError;
use crate::port::{
    Append, BlobBytes, ChunkBytes, ContextRow, Conversation, DecisionRow, DerivedNumbers, DerivedRows,
    EntryRow, Filter, FilterOf, FoundSnapshot, GenerationRow, Index, LabelRow, LaneLook, LaneRows, Log, Name,
    NamedEntry, NewConversation, Page, PageRow, PinFileRow, PinRow, Purged, RaisedRow, Raw, Receipt,
    RecipeRow, Result, SaidRows, SayingRow, Scan, Scanned, Segment, SegmentHead, Snapshot, Summaries,
    SummaryKey, SummaryPlace, SummaryRow, VerdictRow, WriteLatency, page_of,
};
use crate::unpack::Scratch;

impl Log for MemoryStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        if let Some(found) = self.find(&new.key)? {
            return Ok(found);
        }
        let mut inner = self.lock();
        let id = ConversationId(inner.all.len() as u64 + 1);
        let history = inner.all.entry(id.0).or_insert_with(|| History::new(id, new));
        Ok(history.head.clone())
    }

    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        Ok(self
            .lock()
            .all
            .values()
            .find(|history| history.head.key == *key)
            .map(|history| history.head.clone()))
    }

    fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        Ok(self.lock().get(id)?.head.clone())
    }

    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>> {
        Ok(page_of(self.lock().all.values().map(|history| history.head.clone()), page))
    }

    fn labels(&self, page: Page<ConversationId>) -> Result<Vec<LabelRow>> {
        let inner = self.lock();
        let said = inner.all.values().map(|history| &history.label).filter(|label| !label.is_blank());
        Ok(page_of(said.cloned(), page))
    }

    fn put_label(&self, id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool> {
        let mut inner = self.lock();
        let label = &mut inner.get_mut(id)?.label;
        let is_same = label == before;
        if is_same {
            *label = if after.is_blank() { LabelRow::blank(id) } else { after.clone() };
        }
        Ok(is_same)
    }

    fn generations(&self, id: ConversationId, page: Page<Generation>) -> Result<Vec<GenerationRow>> {
        Ok(page_of(self.lock().get(id)?.generations.iter().copied(), page))
    }

    fn snapshots(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<Snapshot>> {
        let inner = self.lock();
        inner.get(id)?;
        Ok(page_of(inner.snapshots_of(id).cloned(), page))
    }

    fn latest_snapshot(&self, id: ConversationId) -> Result<Option<Snapshot>> {
        let inner = self.lock();
        inner.get(id)?;
        Ok(inner.snapshots_of(id).last().cloned())
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<FoundSnapshot>> {
        Ok(self.lock().snapshots.iter().rev().find(|found| found.snapshot.path == path).cloned())
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        let mut inner = self.lock();
        let conversation = append.conversation;
        let Appended { receipt, snapshot } = inner.get_mut(conversation)?.append(append)?;
        if let Some(mut snapshot) = snapshot {
            snapshot.number = 1 + inner.snapshots_of(conversation).count() as u64;
            inner.snapshots.push(FoundSnapshot { conversation, snapshot });
        }
        Ok(receipt)
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<NamedEntry>> {
        Ok(self.lock().get(id)?.named(names))
    }

    fn names(&self, id: ConversationId, page: Page<NamedEntry>) -> Result<Vec<NamedEntry>> {
        Ok(page_of(self.lock().get(id)?.names.iter().copied(), page))
    }

    fn put_names(&self, id: ConversationId, names: &[NamedEntry], _: WriteLatency) -> Result<u64> {
        let mut inner = self.lock();
        let history = inner.get_mut(id)?;
        history.head.names += u64::from(!names.is_empty());
        history.names.extend(names);
        Ok(history.head.names)
    }

    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        let inner = self.lock();
        Ok(inner.get(id)?.entries.iter().find(|held| held.row.chain == chain).map(|held| held.row.clone()))
    }

    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        let inner = self.lock();
        let history = inner.get(id)?;
        let asked = (0..).zip(history.path(generation)).filter(|(position, _)| positions.contains(position));
        let entries = asked.filter_map(|(_, seq)| history.entries.get(*seq as usize));
        Ok(entries.map(|held| held.row.chain).collect())
    }

    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        let inner = self.lock();
        let path = inner.get(id)?.path(generation);
        Ok(runs(path.get(..(length.min(path.len() as u64)) as usize).unwrap_or_default()))
    }

    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>> {
        Ok(self.lock().get(id)?.slice(&seqs).iter().map(|held| held.row.clone()).collect())
    }

    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>> {
        let inner = self.lock();
        let raw = |held: &Held| Raw { seq: held.row.seq, lead: held.lead.clone(), body: held.body.clone() };
        Ok(inner.get(id)?.slice(&seqs).iter().map(raw).collect())
    }

    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        Ok(self.lock().get(id)?.plan(&seqs))
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        let mut inner = self.lock();
        let (purged, positions) = inner.get_mut(id)?.purge(&seqs);
        for FoundSnapshot { conversation, snapshot } in &mut inner.snapshots {
            let says_something = !snapshot.trailer.trim_ascii().is_empty();
            if *conversation == id && positions.contains(&snapshot.length) && says_something {
                snapshot.trailer.clear();
            }
        }
        Ok(purged)
    }
}

impl Index for MemoryStore {
    fn filters(&self, id: ConversationId, page: Page<FilterOf>) -> Result<Vec<Filter>> {
        let inner = self.lock();
        let history = inner.get(id)?;
        let chunks = history.chunks.iter();
        let chunks = chunks.map(|(number, chunk)| Filter {
            of: FilterOf::Chunk(*number),
            bytes: chunk.filter.clone(),
            seqs: chunk.seqs.clone(),
            holders: Vec::new(),
        });
        let blobs = history.blobs.iter().map(|(digest, blob)| Filter {
            of: FilterOf::Blob(*digest),
            bytes: blob.filter.clone(),
            seqs: 0..0,
            holders: history.holders(*digest),
        });
        Ok(page_of(chunks.chain(blobs), page))
    }

    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        let inner = self.lock();
        let history = inner.get(id)?;
        let missing = || StoreError::Missing { id, what: format!("chunk {chunk}") };
        let seqs = history.chunks.get(&chunk).ok_or_else(missing)?.seqs.clone();
        let mut found = ChunkBytes { chunk, bytes: Vec::new(), entries: Vec::new() };
        for held in history.slice(&seqs).iter().filter(|held| held.chunk == Some(chunk)) {
            found.bytes.extend_from_slice(&held.lead);
            let start = found.bytes.len();
            found.bytes.extend_from_slice(&held.closed());
            found.entries.push((held.row.seq, start..found.bytes.len()));
        }
        Ok(found)
    }

    fn scan(
        &self,
        id: ConversationId,
        chunk: u64,
        _scratch: &mut Scratch,
        scan: Scan<'_>,
    ) -> Result<Scanned> {
        let found = self.chunk(id, chunk)?;
        let (mut places, mut holed, mut next) = (Vec::new(), Vec::new(), 0);
        let inner = self.lock();
        let history = inner.get(id)?;
        for (seq, body) in &found.entries {
            places.extend([next..body.start, body.clone()]);
            next = body.end;
            let held = history.slice(&(seq.0..seq.0 + 1)).first();
            let held = held.filter(|held| !held.holes.is_empty());
            holed.extend(held.map(|one| (one.row.clone(), one.closed(), one.body.clone())));
        }
        // The callback may use the store.
        drop(inner);
        let wanted = (scan.wants)(&found.bytes, None);
        let wanted = wanted.or_else(|| (scan.wants)(&found.bytes, Some(&places))).unwrap_or(true);
        if let Some(asked) = scan.holed {
            for (row, closed, body) in &holed {
                if asked.seqs.contains(&row.seq) && (asked.wants)(row.seq, closed) {
                    (asked.each)(row, body);
                }
            }
        }
        Ok(Scanned { entries: found.entries.len() as u64, chunk: wanted.then_some(found) })
    }

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<BlobBytes> {
        let inner = self.lock();
        let history = inner.get(id)?;
        let missing = || StoreError::Missing { id, what: format!("blob {digest:?}") };
        let blob = history.blobs.get(&digest).ok_or_else(missing)?;
        Ok(BlobBytes { bytes: blob.bytes.clone(), holders: history.holders(digest) })
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        _scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        let blob = self.blob(id, digest)?;
        Ok(if wants(&blob.bytes) { blob.holders } else { Vec::new() })
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        let mut inner = self.lock();
        let history = inner.get_mut(id)?;
        history.segments.retain(|number, _| !replaces.contains(number));
        let number = history.next_segment;
        history.next_segment += 1;
        history.segments.insert(number, segment.clone());
        Ok(number)
    }

    fn segments(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>> {
        let inner = self.lock();
        let heads = inner.get(id)?.segments.iter().map(|(number, segment)| SegmentHead {
            number: *number,
            seqs: segment.seqs.clone(),
            header: segment.header.clone(),
        });
        Ok(page_of(heads, page))
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        let inner = self.lock();
        let found = inner.get(id)?.segments.get(&segment).and_then(|segment| segment.blocks.get(block));
        found
            .cloned()
            .ok_or_else(|| StoreError::Missing { id, what: format!("block {block} of segment {segment}") })
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.lock().get_mut(id)?.segments.clear();
        Ok(())
    }
}

impl Summaries for MemoryStore {
    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers> {
        let mut inner = self.lock();
        let history = inner.get_mut(id)?;
        for row in rows.summaries {
            history.summaries.entry(row.key).or_insert_with(|| row.clone());
        }
        for context in rows.contexts {
            history.contexts.insert((context.thread, context.budget), context.clone());
        }
        Ok(DerivedNumbers {
            recipe: rows.recipe.map(|recipe| history.put_recipe(recipe)),
            decision: rows.decision.map(|decision| history.desk.decide(decision)),
        })
    }

    fn summaries_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        let inner = self.lock();
        let all = &inner.get(id)?.summaries;
        Ok(of_keys(keys, |key| all.get(key)))
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        let inner = self.lock();
        let beside = |other: &&SummaryRow| {
            let other = (other.key.thread, other.key.grain, other.key.level, other.span.1 < seq);
            other == (key.thread, key.grain, key.level, true)
        };
        let rows = inner.get(id)?.summaries.values().filter(beside);
        Ok(rows.max_by_key(|row| (row.span.1, std::cmp::Reverse(row.key.end))).cloned())
    }

    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>> {
        let mut rows: Vec<SummaryRow> = self.lock().get(id)?.summaries.values().cloned().collect();
        rows.sort_by_key(PageRow::page_key);
        Ok(page_of(rows.into_iter(), page))
    }

    fn count_summaries(&self, id: ConversationId) -> Result<u64> {
        Ok(self.lock().get(id)?.summaries.len() as u64)
    }

    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        Ok(self.lock().get(id)?.contexts.get(&(thread, budget)).cloned())
    }

    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>> {
        let store = self.lock();
        let rows = |look: &LaneLook<'_>| {
            let history = store.get(look.conversation)?;
            Ok(LaneRows {
                conversation: history.head.clone(),
                context: history.contexts.get(&(look.thread, look.budget)).cloned(),
                named: history.named(look.names),
                said: look.reads_said.then(|| history.said()),
            })
        };
        looks.iter().map(rows).collect()
    }

    fn contexts(&self, id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>> {
        let store = self.lock();
        let of = store.get(id)?.contexts.range((thread, 0)..=(thread, u64::MAX));
        Ok(page_of(of.map(|(_, context)| context.clone()), page))
    }

    fn context_threads(&self, id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>> {
        let store = self.lock();
        let threads: BTreeSet<Thread> = store.get(id)?.contexts.keys().map(|(thread, _)| *thread).collect();
        Ok(page_of(threads.into_iter(), page))
    }

    fn said(&self, id: ConversationId) -> Result<SaidRows> {
        Ok(self.lock().get(id)?.said())
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        let mut inner = self.lock();
        let history = inner.get_mut(id)?;
        if history.pins != before {
            return Err(StoreError::PinsMoved { id });
        }
        history.pins = after.to_vec();
        history.pins.sort_by_key(|row| row.pin.id);
        history.pin_files.retain(|row| files.iter().all(|file| file.file.place != row.file.place));
        history.pin_files.extend_from_slice(files);
        history.pin_files.sort_by_key(|row| row.file.place);
        Ok(())
    }

    fn put_verdict(&self, id: ConversationId, verdict: &VerdictRow) -> Result<u64> {
        Ok(self.lock().get_mut(id)?.verdicts.put(verdict))
    }

    fn withdraw_verdict(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        Ok(self.lock().get_mut(id)?.verdicts.withdraw(number, now))
    }

    fn put_raised(&self, id: ConversationId, raised: &RaisedRow) -> Result<u64> {
        Ok(self.lock().get_mut(id)?.raised.put(raised))
    }

    fn withdraw_raised(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        Ok(self.lock().get_mut(id)?.raised.withdraw(number, now))
    }

    fn sayings(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SayingRow>> {
        Ok(page_of(self.lock().get(id)?.sayings.rows.iter().cloned(), page))
    }

    fn put_sayings(&self, id: ConversationId, sayings: &[SayingRow]) -> Result<u64> {
        Ok(self.lock().get_mut(id)?.sayings.put(sayings))
    }

    fn recipes(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>> {
        Ok(page_of(self.lock().get(id)?.recipes.iter().map(|recipe| recipe.row.clone()), page))
    }

    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        let inner = self.lock();
        let found = inner.get(id)?.recipes.iter().find(|recipe| recipe.row.context == *context);
        Ok(found.map(|recipe| recipe.state.clone()))
    }

    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        self.desk(id, |desk| desk.decisions.clone())
    }
}

/// Neighbouring numbers as runs.
fn runs(seqs: &[u64]) -> Vec<Range<u64>> {
    let mut all: Vec<Range<u64>> = Vec::new();
    for seq in seqs {
        match all.last_mut() {
            Some(last) if last.end == *seq => last.end += 1,
            _ => all.push(*seq..*seq + 1),
        }
    }
    all
}
