//! The port on SQLite, carried out by the neighbouring modules.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};

use super::acknowledged::Remembered;
use super::bytes::ChunkAt;
use super::pins::PinChange;
use super::summaries::Table;
use super::writer::WriteMode;
use super::{
    SqliteStore, backup, bytes, conversations, entries, jobs, labels, names, paths, pins, purge, raised,
    said, sayings, segments, summaries, verdicts, verify,
};
use crate::error::StoreError;
use crate::pack::Dictionary;
use crate::port::{
    Append, BlobBytes, BrokenRows, ChunkBytes, ContextRow, Conversation, DecisionRow, DerivedNumbers,
    DerivedRows, Durability, EntryRow, Filter, FilterOf, FoundSnapshot, GenerationRow, Index, LabelRow,
    LaneLook, LaneRows, Log, LostEntries, Name, NamedEntry, NewConversation, Page, PinFileRow, PinRow,
    Problem, Purged, RaisedRow, Raw, Receipt, RecipeRow, Result, SaidRows, SayingRow, Scan, Scanned, Segment,
    SegmentHead, Snapshot, Summaries, SummaryKey, SummaryPlace, SummaryRow, TableSize, Upkeep, VerdictRow,
    WriteLatency,
};
use crate::stored::damaged;
use crate::unpack::Scratch;

impl Log for SqliteStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        if let Some(found) = self.find(&new.key)? {
            return Ok(found);
        }
        self.write_derived("ensure", |tx| {
            if conversations::find(tx, &new.key)?.is_none() {
                conversations::insert(tx, new)?;
            }
            Ok(())
        })?;
        self.note_change();
        let missing =
            || StoreError::Backend { operation: "ensure", source: "the new row is not there".into() };
        self.find(&new.key)?.ok_or_else(missing)
    }

    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        self.read("find", |conn| conversations::find(conn, key))
    }

    fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        self.read("conversation", |conn| conversations::get(conn, id))
    }

    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>> {
        self.read("conversations", |conn| conversations::page(conn, &self.seals, page))
    }

    fn labels(&self, page: Page<ConversationId>) -> Result<Vec<LabelRow>> {
        self.read("labels", |conn| labels::page(conn, &self.seals, page))
    }

    fn put_label(&self, id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool> {
        self.write("put_label", |tx| {
            conversations::require(tx, id)?;
            labels::put(tx, &self.seals, before, after)
        })
    }

    fn generations(&self, id: ConversationId, page: Page<Generation>) -> Result<Vec<GenerationRow>> {
        self.desk("generations", id, |conn| conversations::generations(conn, id, page))
    }

    fn snapshots(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<Snapshot>> {
        self.desk("snapshots", id, |conn| conversations::snapshots(conn, id, page))
    }

    fn latest_snapshot(&self, id: ConversationId) -> Result<Option<Snapshot>> {
        self.desk("latest_snapshot", id, |conn| conversations::latest_snapshot(conn, id))
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<FoundSnapshot>> {
        self.read("snapshot_of_path", |conn| conversations::snapshot_of_path(conn, path))
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        let mode = WriteMode { durability: append.durability, latency: append.latency };
        let writer = self.writer()?;
        let (acknowledged, id) = (writer.acknowledged(), append.conversation);
        let receipt = writer.share("append", mode, &self.path, move |tx| {
            let added = append.packed.len() as u64;
            let receipt = entries::append(tx, append)?;
            acknowledged.note(id, receipt.first_seq.0 + added, added);
            Ok(receipt)
        })?;
        self.note_change();
        Ok(receipt)
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<NamedEntry>> {
        self.desk("named", id, |conn| names::find(conn, &self.seals, id, names))
    }

    fn names(&self, id: ConversationId, page: Page<NamedEntry>) -> Result<Vec<NamedEntry>> {
        self.desk("names", id, |conn| names::page(conn, &self.seals, id, page))
    }

    fn put_names(&self, id: ConversationId, names: &[NamedEntry], latency: WriteLatency) -> Result<u64> {
        let names = names.to_vec();
        let mode = WriteMode { durability: Durability::WithNext, latency };
        self.writer()?.share("put_names", mode, &self.path, move |tx| {
            let count = conversations::count_names(tx, id, !names.is_empty())?;
            names::put(tx, id, &names)?;
            Ok(count)
        })
    }

    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        self.desk("by_chain", id, |conn| entries::by_chain(conn, id, chain))
    }

    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        self.desk("chains", id, |conn| paths::chains(conn, id, generation.0, positions))
    }

    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        self.desk("path", id, |conn| paths::runs(conn, id, generation.0, 0..length))
    }

    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>> {
        self.read("rows", |conn| {
            let seqs = clamped(conversations::counters(conn, id)?.entries, seqs);
            Ok(entries::stored(conn, id, seqs)?.into_iter().map(|stored| stored.row).collect())
        })
    }

    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>> {
        self.read("raw", |conn| {
            let seqs = clamped(conversations::counters(conn, id)?.entries, seqs);
            let first = seqs.start;
            bytes::raw(conn, &self.dictionaries, id, seqs).map_err(|fault| {
                if fault.is_corrupt() {
                    return damaged(id, first, "the database is malformed there or soon after").into();
                }
                fault
            })
        })
    }

    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.read("purge_plan", |conn| {
            let seqs = clamped(conversations::counters(conn, id)?.entries, seqs);
            purge::plan(conn, id, &seqs)
        })
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        let purged = purge::carry_out(self, id, seqs)?;
        self.note_change();
        Ok(purged)
    }
}

impl Index for SqliteStore {
    fn filters(&self, id: ConversationId, page: Page<FilterOf>) -> Result<Vec<Filter>> {
        self.desk("filters", id, |conn| bytes::filters(conn, &self.seals, id, page))
    }

    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        self.desk("chunk", id, |conn| bytes::chunk(conn, &self.dictionaries, ChunkAt { id, number: chunk }))
    }

    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned> {
        self.desk("scan", id, |conn| {
            bytes::scan(conn, &self.dictionaries, ChunkAt { id, number: chunk }, scratch, scan)
        })
    }

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<BlobBytes> {
        self.desk("blob", id, |conn| bytes::blob(conn, id, digest))
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        self.desk("scan_blob", id, |conn| bytes::scan_blob(conn, id, digest, scratch, wants))
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.write_derived("put_segment", |tx| segments::put(tx, id, segment, replaces))
    }

    fn segments(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>> {
        self.desk("segments", id, |conn| segments::heads(conn, &self.seals, id, page))
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.desk("block", id, |conn| segments::block(conn, &self.seals, id, segment, block))
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.write("drop_segments", |tx| {
            conversations::require(tx, id)?;
            segments::drop_all(tx, id)
        })
    }
}

impl Summaries for SqliteStore {
    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers> {
        self.write_derived("put_derived", |tx| {
            conversations::require(tx, id)?;
            summaries::put(tx, Table::Summary, id, rows.summaries)?;
            for context in rows.contexts {
                summaries::put_context(tx, id, context)?;
            }
            Ok(DerivedNumbers {
                recipe: rows.recipe.map(|recipe| pins::put_recipe(tx, id, recipe)).transpose()?,
                decision: rows.decision.map(|decision| jobs::decide(tx, id, decision)).transpose()?,
            })
        })
    }

    fn summaries_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        self.desk("summaries_of", id, |conn| summaries::of(conn, &self.seals, Table::Summary, id, keys))
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        self.desk("summary_before", id, |conn| summaries::before(conn, &self.seals, id, key, seq))
    }

    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>> {
        self.desk("summaries", id, |conn| summaries::page(conn, &self.seals, id, page))
    }

    fn count_summaries(&self, id: ConversationId) -> Result<u64> {
        self.desk("count_summaries", id, |conn| summaries::count(conn, id))
    }

    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        self.desk("context", id, |conn| summaries::context(conn, &self.seals, id, thread, budget))
    }

    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>> {
        self.read("lane_rows", |conn| {
            let rows = |look: &LaneLook<'_>| {
                let id = look.conversation;
                Ok(LaneRows {
                    conversation: conversations::get(conn, id)?,
                    context: summaries::context(conn, &self.seals, id, look.thread, look.budget)?,
                    named: names::find(conn, &self.seals, id, look.names)?,
                    said: look.reads_said.then(|| said::all(conn, &self.seals, id)).transpose()?,
                })
            };
            looks.iter().map(rows).collect()
        })
    }

    fn contexts(&self, id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>> {
        self.desk("contexts", id, |conn| summaries::contexts(conn, &self.seals, id, thread, page))
    }

    fn context_threads(&self, id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>> {
        self.desk("context_threads", id, |conn| summaries::context_threads(conn, id, page))
    }

    fn said(&self, id: ConversationId) -> Result<SaidRows> {
        self.desk("said", id, |conn| said::all(conn, &self.seals, id))
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        self.write("put_pins", |tx| {
            conversations::require(tx, id)?;
            pins::put(tx, &self.seals, id, PinChange { before, after, files })
        })
    }

    fn put_verdict(&self, id: ConversationId, verdict: &VerdictRow) -> Result<u64> {
        self.write("put_verdict", |tx| {
            conversations::require(tx, id)?;
            verdicts::put(tx, id, verdict)
        })
    }

    fn withdraw_verdict(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        self.write("withdraw_verdict", |tx| {
            conversations::require(tx, id)?;
            verdicts::withdraw(tx, &self.seals, id, number, now)
        })
    }

    fn put_raised(&self, id: ConversationId, raised: &RaisedRow) -> Result<u64> {
        self.write("put_raised", |tx| {
            conversations::require(tx, id)?;
            raised::put(tx, id, raised)
        })
    }

    fn withdraw_raised(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        self.write("withdraw_raised", |tx| {
            conversations::require(tx, id)?;
            raised::withdraw(tx, &self.seals, id, number, now)
        })
    }

    fn sayings(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SayingRow>> {
        self.desk("sayings", id, |conn| sayings::page(conn, &self.seals, id, page))
    }

    fn put_sayings(&self, id: ConversationId, sayings: &[SayingRow]) -> Result<u64> {
        self.write("put_sayings", |tx| {
            conversations::require(tx, id)?;
            sayings::put(tx, &self.seals, id, sayings)
        })
    }

    fn recipes(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>> {
        self.desk("recipes", id, |conn| pins::recipes(conn, &self.seals, id, page))
    }

    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        self.desk("recipe_state", id, |conn| pins::recipe_state(conn, &self.seals, id, context))
    }

    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        self.desk("decisions", id, |conn| jobs::decisions(conn, &self.seals, id))
    }
}

impl Upkeep for SqliteStore {
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        verify::store(self, progress)
    }

    fn lost_entries(&self) -> Result<Vec<LostEntries>> {
        let remembered = Remembered::of(&self.path);
        self.read("lost_entries", |conn| remembered.lost(conn))
    }

    fn broken_rows(&self) -> Vec<BrokenRows> {
        self.seals.counts()
    }

    fn change_mark(&self) -> Result<Option<u64>> {
        // Another process may own the file that a reader reads.
        Ok(self.writer.is_some().then(|| self.changes.load(Ordering::Acquire)))
    }

    fn backup(&self, to: &Path) -> Result<()> {
        backup::backup(self, to)
    }

    fn sizes(&self) -> Result<Vec<TableSize>> {
        self.read("sizes", super::maintain::sizes)
    }

    fn maintain(&self) -> Result<()> {
        super::maintain::maintain(self)
    }

    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        self.dictionaries.current()
    }
}

/// The part of `seqs` with existing entries.
pub(super) fn clamped(entries: u64, seqs: Range<u64>) -> Range<u64> {
    let end = seqs.end.min(entries);
    seqs.start.min(end)..end
}
