//! The port on SQLite, carried out by the neighbouring modules.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread};

use super::{
    SqliteStore, backup, bytes, conversations, entries, jobs, names, paths, pins, purge, segments, summaries,
    verify,
};
use crate::error::StoreError;
use crate::pack::Dictionary;
use crate::port::{
    Append, ChunkBytes, ContextRow, Conversation, DecisionRow, Durability, EntryRow, Filter, GenerationRow,
    Haste, Name, NewConversation, PinFileRow, PinRow, Problem, Purged, Raw, Receipt, Recipe, RecipeRow,
    Result, Scan, Scanned, Segment, SegmentHead, Snapshot, Store, SummaryKey, SummaryRow,
};
use crate::unpack::Scratch;

impl Store for SqliteStore {
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

    fn conversations(&self) -> Result<Vec<Conversation>> {
        self.read("conversations", conversations::all)
    }

    fn generations(&self, id: ConversationId) -> Result<Vec<GenerationRow>> {
        self.read("generations", |conn| {
            conversations::require(conn, id)?;
            conversations::generations(conn, id)
        })
    }

    fn snapshots(&self, id: ConversationId) -> Result<Vec<Snapshot>> {
        self.read("snapshots", |conn| {
            conversations::require(conn, id)?;
            conversations::snapshots(conn, id)
        })
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<(ConversationId, Snapshot)>> {
        self.read("snapshot_of_path", |conn| conversations::snapshot_of_path(conn, path))
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        let how = (append.durability, append.haste);
        self.writer()?.share("append", how, &self.path, move |tx| entries::append(tx, append))
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, Seq)>> {
        self.read("named", |conn| {
            conversations::require(conn, id)?;
            names::find(conn, id, names)
        })
    }

    fn put_names(&self, id: ConversationId, names: &[(Name, Seq)], haste: Haste) -> Result<()> {
        let names = names.to_vec();
        self.writer()?.share("put_names", (Durability::WithNext, haste), &self.path, move |tx| {
            conversations::require(tx, id)?;
            names::put(tx, id, &names)
        })
    }

    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        self.read("by_chain", |conn| {
            conversations::require(conn, id)?;
            entries::by_chain(conn, id, chain)
        })
    }

    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        self.read("chains", |conn| {
            conversations::require(conn, id)?;
            paths::chains(conn, id, generation.0, positions)
        })
    }

    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        self.read("path", |conn| {
            conversations::require(conn, id)?;
            paths::runs(conn, id, generation.0, 0..length)
        })
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
                    return entries::damaged(id, first, "the database is malformed there or soon after")
                        .into();
                }
                fault
            })
        })
    }

    fn filters(&self, id: ConversationId) -> Result<Vec<Filter>> {
        self.read("filters", |conn| {
            conversations::require(conn, id)?;
            bytes::filters(conn, id)
        })
    }

    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        self.read("chunk", |conn| {
            conversations::require(conn, id)?;
            bytes::chunk(conn, &self.dictionaries, id, chunk)
        })
    }

    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned> {
        self.read("scan", |conn| {
            conversations::require(conn, id)?;
            bytes::scan((conn, &self.dictionaries), (id, chunk), scratch, scan)
        })
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        self.read("scan_blob", |conn| {
            conversations::require(conn, id)?;
            bytes::scan_blob(conn, (id, digest), scratch, wants)
        })
    }

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<Seq>)> {
        self.read("blob", |conn| {
            conversations::require(conn, id)?;
            bytes::blob(conn, id, digest)
        })
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.write_derived("put_segment", |tx| segments::put(tx, id, segment, replaces))
    }

    fn segments(&self, id: ConversationId) -> Result<Vec<SegmentHead>> {
        self.read("segments", |conn| {
            conversations::require(conn, id)?;
            segments::heads(conn, id)
        })
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.read("block", |conn| {
            conversations::require(conn, id)?;
            segments::block(conn, id, segment, block)
        })
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.write("drop_segments", |tx| {
            conversations::require(tx, id)?;
            segments::drop_all(tx, id)
        })
    }

    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()> {
        self.write_derived("put_summaries", |tx| {
            conversations::require(tx, id)?;
            summaries::put(tx, summaries::Table::Summary, id, rows)?;
            context.map_or(Ok(()), |context| summaries::put_context(tx, id, context))
        })
    }

    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.read("summary", |conn| {
            conversations::require(conn, id)?;
            summaries::get(conn, summaries::Table::Summary, id, key)
        })
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        self.read("summary_before", |conn| {
            conversations::require(conn, id)?;
            summaries::before(conn, id, key, seq)
        })
    }

    fn summaries(&self, id: ConversationId) -> Result<Vec<SummaryRow>> {
        self.read("summaries", |conn| {
            conversations::require(conn, id)?;
            summaries::all(conn, id)
        })
    }

    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        self.read("context", |conn| {
            conversations::require(conn, id)?;
            summaries::context(conn, id, thread, budget)
        })
    }

    fn pins(&self, id: ConversationId) -> Result<Vec<PinRow>> {
        self.read("pins", |conn| {
            conversations::require(conn, id)?;
            pins::all(conn, id)
        })
    }

    fn pin_files(&self, id: ConversationId) -> Result<Vec<PinFileRow>> {
        self.read("pin_files", |conn| {
            conversations::require(conn, id)?;
            pins::files(conn, id)
        })
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
            pins::put(tx, id, before, after, files)
        })
    }

    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<(&DecisionRow, u64)>,
    ) -> Result<u64> {
        self.write_derived("put_recipe", |tx| {
            conversations::require(tx, id)?;
            if let Some((row, keep)) = turn {
                jobs::decide(tx, id, row, keep)?;
            }
            pins::put_recipe(tx, id, recipe, keep)
        })
    }

    fn recipes(&self, id: ConversationId) -> Result<Vec<RecipeRow>> {
        self.read("recipes", |conn| {
            conversations::require(conn, id)?;
            pins::recipes(conn, id)
        })
    }

    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        self.read("recipe_state", |conn| {
            conversations::require(conn, id)?;
            pins::recipe_state(conn, id, context)
        })
    }

    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.read("purge_plan", |conn| {
            let seqs = clamped(conversations::counters(conn, id)?.entries, seqs);
            purge::plan(conn, id, &seqs)
        })
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        purge::carry_out(self, id, seqs)
    }

    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        verify::store(self, progress)
    }

    fn backup(&self, to: &Path) -> Result<()> {
        backup::backup(self, to)
    }

    fn sizes(&self) -> Result<Vec<(String, u64)>> {
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
