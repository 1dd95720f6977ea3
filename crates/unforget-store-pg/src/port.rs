//! The port on PostgreSQL, carried out by the neighbouring modules.

mod jobs;

use std::ops::Range;
use std::path::Path;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};
use unforget_store::backend::int;
use unforget_store::{
    Append, BlobBytes, ChunkBytes, ContextRow, Conversation, DecisionRow, DerivedNumbers, DerivedRows,
    Durability, EntryRow, Filter, FilterOf, FoundSnapshot, GenerationRow, Index, LabelRow, LaneLook,
    LaneRows, Log, Name, NamedEntry, NewConversation, Page, PinFileRow, PinRow, Problem, Purged, RaisedRow,
    Raw, Receipt, RecipeRow, Result, SaidRows, SayingRow, Scan, Scanned, Scratch, Segment, SegmentHead,
    Snapshot, StoreError, Summaries, SummaryKey, SummaryPlace, SummaryRow, TableSize, Upkeep, VerdictRow,
    WriteLatency,
};

use crate::at_once::Piece;
use crate::columns::Columns as _;
use crate::conn::Values;
use crate::pins::PinChange;
use crate::store::PgStore;
use crate::summaries::Table;
use crate::{
    append, bytes, conversations, entries, labels, lanes, paths, pins, purge, raised, recipes, said, sayings,
    scan, segments, summaries, verdicts, verify,
};

impl Log for PgStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        if let Some(found) = self.find(&new.key)? {
            return Ok(found);
        }
        self.may_write()?;
        self.read("ensure", async |conn| {
            conversations::insert(conn, self.tenant, new).await?;
            let found = conversations::find(conn, self.tenant, &new.key).await?;
            let source = "the new row is not there".into();
            Ok(found.ok_or(StoreError::Backend { operation: "ensure", source })?)
        })
    }

    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        self.read("find", async |conn| {
            let found = conversations::find(conn, self.tenant, key).await?;
            if let Some(found) = &found {
                self.look_at(conn, found.id).await?;
            }
            Ok(found)
        })
    }

    fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        self.read("conversation", async |conn| {
            self.look_at(conn, id).await?;
            conversations::get(conn, self.tenant, id).await
        })
    }

    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>> {
        self.read("conversations", async |conn| conversations::page(conn, self.tenant, page).await)
    }

    fn labels(&self, page: Page<ConversationId>) -> Result<Vec<LabelRow>> {
        self.read("labels", async |conn| labels::page(conn, self.tenant, page).await)
    }

    fn put_label(&self, id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool> {
        self.change("put_label", id, Durability::OnReturn, async |conn| {
            labels::put(conn, self.tenant, before, after).await
        })
    }

    fn generations(&self, id: ConversationId, page: Page<Generation>) -> Result<Vec<GenerationRow>> {
        self.of("generations", id, async |conn| conversations::generations(conn, self.tenant, id, page).await)
    }

    fn snapshots(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<Snapshot>> {
        self.of("snapshots", id, async |conn| conversations::snapshots(conn, self.tenant, id, page).await)
    }

    fn latest_snapshot(&self, id: ConversationId) -> Result<Option<Snapshot>> {
        self.of("latest_snapshot", id, async |conn| {
            conversations::latest_snapshot(conn, self.tenant, id).await
        })
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<FoundSnapshot>> {
        self.read("snapshot_of_path", async |conn| {
            conversations::snapshot_of_path(conn, self.tenant, path).await
        })
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        self.may_write()?;
        self.wait(append::append(&self.commits(), append))
            .map_err(|fault| fault.into_store(&self.place, "append"))
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<NamedEntry>> {
        self.of("named", id, async |conn| {
            let rows = entries::named(conn, self.tenant, id, names).await?;
            rows.iter().map(entries::read_named).collect()
        })
    }

    fn names(&self, id: ConversationId, page: Page<NamedEntry>) -> Result<Vec<NamedEntry>> {
        self.of("names", id, async |conn| {
            let rows = entries::names(conn, self.tenant, id, page).await?;
            rows.iter().map(entries::read_named).collect()
        })
    }

    fn put_names(&self, id: ConversationId, names: &[NamedEntry], _: WriteLatency) -> Result<u64> {
        // Two writers of the same names wait for each other in one order.
        let mut sorted = names.to_vec();
        sorted.sort_unstable();
        let words: Vec<&[u8]> = sorted.iter().map(|named| named.name.0.as_slice()).collect();
        let seqs: Vec<i64> = sorted.iter().map(|named| int(named.seq.0)).collect();
        let values: Values<'_> = &[&self.tenant, &int(id.0), &words, &seqs];
        let piece = Piece { sql: entries::PUT_NAMES, values };
        self.change_at_once("put_names", id, &[piece], |rows| {
            rows.iter().flatten().next().ok_or(StoreError::NoConversation { id })?.number(0)
        })
    }

    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        self.of("by_chain", id, async |conn| entries::by_chain(conn, self.tenant, id, chain).await)
    }

    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        self.of("chains", id, async |conn| {
            paths::chains(conn, self.tenant, id, generation.0, positions.clone()).await
        })
    }

    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        self.of("path", id, async |conn| paths::runs(conn, self.tenant, id, generation.0, 0..length).await)
    }

    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>> {
        self.of("rows", id, async |conn| {
            let stored = entries::stored_within(conn, self.tenant, id, seqs.clone()).await?;
            Ok(stored.into_iter().map(|stored| stored.row).collect())
        })
    }

    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>> {
        self.of("raw", id, async |conn| {
            let stored = entries::stored_within(conn, self.tenant, id, seqs.clone()).await?;
            bytes::raw(conn, self.tenant, id, &stored).await
        })
    }

    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.of("purge_plan", id, async |conn| purge::plan(conn, self.tenant, id, seqs.clone()).await)
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        let (purged, held) = self.change_held("purge", id, Durability::OnReturn, async |conn, held| {
            let filter = self.filter.as_ref();
            Ok((purge::carry_out(conn, self.tenant, id, seqs.clone(), filter).await?, held))
        })?;
        if purged.entries > 0 {
            self.purges.purged_here(id, held.purged);
        }
        Ok(purged)
    }
}

impl Index for PgStore {
    fn filters(&self, id: ConversationId, page: Page<FilterOf>) -> Result<Vec<Filter>> {
        self.of("filters", id, async |conn| scan::filters(conn, self.tenant, id, page).await)
    }

    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        let mut wants = |_: &[u8], _: Option<&[Range<usize>]>| Some(true);
        let all = Scan { wants: &mut wants, holed: None };
        let scanned = self.scan(id, chunk, &mut Scratch::default(), all)?;
        scanned.chunk.ok_or_else(|| StoreError::Missing { id, what: format!("chunk {chunk}") })
    }

    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned> {
        self.scanned(id, chunk, scratch, scan)
    }

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<BlobBytes> {
        let mut scratch = Scratch::default();
        let holders = self.scanned_blob(id, digest, &mut scratch, &mut |_| true)?;
        Ok(BlobBytes { bytes: scratch.bytes, holders })
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        self.scanned_blob(id, digest, scratch, wants)
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.change_derived("put_segment", id, Durability::WithNext, async |conn| {
            segments::put(conn, self.tenant, id, segment, replaces).await
        })
    }

    fn segments(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>> {
        self.of("segments", id, async |conn| segments::heads(conn, self.tenant, id, page).await)
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.of("block", id, async |conn| segments::block(conn, self.tenant, id, segment, block).await)
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.change("drop_segments", id, Durability::OnReturn, async |conn| {
            segments::drop_all(conn, self.tenant, id).await
        })
    }
}

impl Summaries for PgStore {
    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers> {
        self.add_derived(id, rows)
    }

    fn summaries_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        self.of("summaries_of", id, async |conn| {
            summaries::of(conn, self.tenant, Table::Summary, id, keys).await
        })
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        self.of("summary_before", id, async |conn| summaries::before(conn, self.tenant, id, key, seq).await)
    }

    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>> {
        self.of("summaries", id, async |conn| summaries::page(conn, self.tenant, id, page).await)
    }

    fn count_summaries(&self, id: ConversationId) -> Result<u64> {
        self.of("count_summaries", id, async |conn| summaries::count(conn, self.tenant, id).await)
    }

    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        self.of("context", id, async |conn| summaries::context(conn, self.tenant, id, thread, budget).await)
    }

    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>> {
        self.read("lane_rows", async |conn| {
            for look in looks {
                self.look_at(conn, look.conversation).await?;
            }
            lanes::rows(conn, self.tenant, looks).await
        })
    }

    fn contexts(&self, id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>> {
        self.of("contexts", id, async |conn| summaries::contexts(conn, self.tenant, id, thread, page).await)
    }

    fn context_threads(&self, id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>> {
        self.of("context_threads", id, async |conn| {
            summaries::context_threads(conn, self.tenant, id, page).await
        })
    }

    fn said(&self, id: ConversationId) -> Result<SaidRows> {
        self.of("said", id, async |conn| {
            said::prepare(conn).await?;
            said::all(conn, self.tenant, id).await
        })
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        let change = PinChange { before, after, files };
        self.change_derived("put_pins", id, Durability::OnReturn, async |conn| {
            pins::put(conn, self.tenant, id, change).await
        })
    }

    fn put_verdict(&self, id: ConversationId, verdict: &VerdictRow) -> Result<u64> {
        self.change_derived("put_verdict", id, Durability::OnReturn, async |conn| {
            verdicts::put(conn, self.tenant, id, verdict).await
        })
    }

    fn withdraw_verdict(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        self.change("withdraw_verdict", id, Durability::OnReturn, async |conn| {
            verdicts::withdraw(conn, self.tenant, id, number, now).await
        })
    }

    fn put_raised(&self, id: ConversationId, raised: &RaisedRow) -> Result<u64> {
        self.change("put_raised", id, Durability::OnReturn, async |conn| {
            raised::put(conn, self.tenant, id, raised).await
        })
    }

    fn withdraw_raised(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        self.change("withdraw_raised", id, Durability::OnReturn, async |conn| {
            raised::withdraw(conn, self.tenant, id, number, now).await
        })
    }

    fn sayings(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SayingRow>> {
        self.of("sayings", id, async |conn| sayings::page(conn, self.tenant, id, page).await)
    }

    fn put_sayings(&self, id: ConversationId, sayings: &[SayingRow]) -> Result<u64> {
        self.change("put_sayings", id, Durability::OnReturn, async |conn| {
            sayings::put(conn, self.tenant, id, sayings).await
        })
    }

    fn recipes(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>> {
        self.of("recipes", id, async |conn| recipes::page(conn, self.tenant, id, page).await)
    }

    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        self.of("recipe_state", id, async |conn| recipes::state(conn, self.tenant, id, context).await)
    }

    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>> {
        self.of("decisions", id, async |conn| recipes::decisions(conn, self.tenant, id).await)
    }
}

impl Upkeep for PgStore {
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        verify::store(self, progress)
    }

    fn change_mark(&self) -> Result<Option<u64>> {
        self.read("change_mark", async |conn| {
            // The transactions that run and the newest that ended: another text after each end.
            let rows = conn.rows("SELECT pg_current_snapshot()::text", &[]).await?;
            let Some(row) = rows.first() else { return Ok(None) };
            let Digest(digest) = Digest::of(row.at::<String>(0)?.as_bytes());
            Ok(digest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)))
        })
    }

    fn backup(&self, _: &Path) -> Result<()> {
        Err(StoreError::Unsupported {
            place: self.place.clone(),
            operation: "backup",
            why: "back the server up with pg_dump or a copy of its log",
        })
    }

    fn sizes(&self) -> Result<Vec<TableSize>> {
        self.read("sizes", async |conn| {
            let sql = "SELECT name, sum(bytes)::bigint AS total FROM (
                SELECT CASE WHEN relname IN ('chunk') THEN 'chunks' WHEN relname IN ('blob', 'hole') THEN 'blobs'
                  WHEN relname IN ('entry', 'extent', 'generation') THEN 'entries'
                  WHEN relname LIKE 'segment%' THEN 'search index' WHEN relname LIKE 'pin%' THEN 'pins'
                  WHEN relname IN ('summary', 'context', 'rewrite', 'job', 'recipe', 'recipe_context') THEN 'summaries'
                  ELSE 'other' END AS name, pg_total_relation_size(oid) AS bytes
                FROM pg_class WHERE relnamespace = 'unforget'::regnamespace AND relkind = 'r') t
                GROUP BY name ORDER BY total DESC, name";
            let mut sizes = Vec::new();
            for row in conn.rows(sql, &[]).await? {
                sizes.push(TableSize { name: row.at(0)?, bytes: row.number(1)? });
            }
            Ok(sizes)
        })
    }

    fn maintain(&self) -> Result<()> {
        // The server vacuums by itself, and no dictionary is trained yet.
        Ok(())
    }
}
