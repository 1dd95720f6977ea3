//! A store with injected failures: before or after a write takes effect, with an error or a panic.

mod jobs;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread};
use unforget_store::{
    Append, ChunkBytes, ContextRow, Conversation, DecisionRow, Dictionary, EntryRow, Filter, GenerationRow,
    Haste, Name, NewConversation, PinFileRow, PinRow, Problem, Purged, Raw, Receipt, Recipe, RecipeRow, Scan,
    Scanned, Scratch, Segment, SegmentHead, Snapshot, Store, StoreError, SummaryKey, SummaryRow,
};

type Result<T> = std::result::Result<T, StoreError>;

/// The payload of a simulated process death. Thrown without the panic hook, so that nothing is printed.
pub struct Died;

/// How a write fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// An error, without writing.
    ErrorBefore,
    /// An error, after writing.
    ErrorAfter,
    /// The process dies without writing.
    DieBefore,
    /// The process dies after writing.
    DieAfter,
}

impl Mode {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ErrorBefore, Self::ErrorAfter, Self::DieBefore, Self::DieAfter];
}

/// A store over another one.
pub struct FaultStore {
    inner: Arc<dyn Store>,
    /// Number of writes until the failing one; 0 for none.
    left: AtomicU64,
    mode: AtomicU8,
    hits: AtomicU64,
}

impl FaultStore {
    /// A store that passes everything on to `inner`.
    pub fn new(inner: Arc<dyn Store>) -> Self {
        Self { inner, left: AtomicU64::new(0), mode: AtomicU8::new(0), hits: AtomicU64::new(0) }
    }

    /// Lets the `nth` write from now on fail, counted from 1.
    pub fn arm(&self, nth: u64, mode: Mode) {
        self.mode.store(Mode::ALL.iter().position(|one| *one == mode).unwrap_or(0) as u8, Ordering::SeqCst);
        self.left.store(nth, Ordering::SeqCst);
    }

    /// Cancels the failure. Returns whether a write has failed since arming.
    pub fn disarm(&self) -> bool {
        self.left.store(0, Ordering::SeqCst);
        self.hits.swap(0, Ordering::SeqCst) > 0
    }

    /// Whether a failure is pending.
    pub fn is_armed(&self) -> bool {
        self.left.load(Ordering::SeqCst) > 0
    }

    fn write<T>(&self, operation: &'static str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let left = self.left.load(Ordering::SeqCst);
        self.left.store(left.saturating_sub(1), Ordering::SeqCst);
        if left != 1 {
            return act();
        }
        self.hits.fetch_add(1, Ordering::SeqCst);
        let failed = || StoreError::Backend { operation, source: "injected".into() };
        match Mode::ALL.get(usize::from(self.mode.load(Ordering::SeqCst))) {
            Some(Mode::ErrorBefore) => Err(failed()),
            Some(Mode::ErrorAfter) => act().and_then(|_| Err(failed())),
            Some(Mode::DieBefore) => std::panic::resume_unwind(Box::new(Died)),
            _ => {
                let _done = act();
                std::panic::resume_unwind(Box::new(Died))
            }
        }
    }
}

impl Store for FaultStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        self.write("ensure", || self.inner.ensure(new))
    }
    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        self.inner.find(key)
    }
    fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        self.inner.conversation(id)
    }
    fn conversations(&self) -> Result<Vec<Conversation>> {
        self.inner.conversations()
    }
    fn generations(&self, id: ConversationId) -> Result<Vec<GenerationRow>> {
        self.inner.generations(id)
    }
    fn snapshots(&self, id: ConversationId) -> Result<Vec<Snapshot>> {
        self.inner.snapshots(id)
    }
    fn snapshot_of_path(&self, path: &str) -> Result<Option<(ConversationId, Snapshot)>> {
        self.inner.snapshot_of_path(path)
    }
    fn append(&self, append: Append) -> Result<Receipt> {
        self.write("append", || self.inner.append(append))
    }
    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, unforget_core::id::Seq)>> {
        self.inner.named(id, names)
    }
    fn put_names(
        &self,
        id: ConversationId,
        names: &[(Name, unforget_core::id::Seq)],
        haste: Haste,
    ) -> Result<()> {
        self.write("put_names", || self.inner.put_names(id, names, haste))
    }
    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        self.inner.by_chain(id, chain)
    }
    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        self.inner.chains(id, generation, positions)
    }
    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        self.inner.path(id, generation, length)
    }
    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>> {
        self.inner.rows(id, seqs)
    }
    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>> {
        self.inner.raw(id, seqs)
    }
    fn filters(&self, id: ConversationId) -> Result<Vec<Filter>> {
        self.inner.filters(id)
    }
    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        self.inner.chunk(id, chunk)
    }
    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned> {
        self.inner.scan(id, chunk, scratch, scan)
    }
    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<unforget_core::id::Seq>)> {
        self.inner.blob(id, digest)
    }
    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<unforget_core::id::Seq>> {
        self.inner.scan_blob(id, digest, scratch, wants)
    }
    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.write("put_segment", || self.inner.put_segment(id, segment, replaces))
    }
    fn segments(&self, id: ConversationId) -> Result<Vec<SegmentHead>> {
        self.inner.segments(id)
    }
    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.inner.block(id, segment, block)
    }
    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.write("drop_segments", || self.inner.drop_segments(id))
    }
    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()> {
        self.write("put_summaries", || self.inner.put_summaries(id, rows, context))
    }
    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.inner.summary(id, key)
    }
    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        self.inner.summary_before(id, key, seq)
    }
    fn summaries(&self, id: ConversationId) -> Result<Vec<SummaryRow>> {
        self.inner.summaries(id)
    }
    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        self.inner.context(id, thread, budget)
    }
    fn pins(&self, id: ConversationId) -> Result<Vec<PinRow>> {
        self.inner.pins(id)
    }
    fn pin_files(&self, id: ConversationId) -> Result<Vec<PinFileRow>> {
        self.inner.pin_files(id)
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        self.write("put_pins", || self.inner.put_pins(id, before, after, files))
    }
    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<(&DecisionRow, u64)>,
    ) -> Result<u64> {
        self.inner.put_recipe(id, recipe, keep, turn)
    }
    fn recipes(&self, id: ConversationId) -> Result<Vec<RecipeRow>> {
        self.inner.recipes(id)
    }
    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        self.inner.recipe_state(id, context)
    }
    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.inner.purge_plan(id, seqs)
    }
    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.write("purge", || self.inner.purge(id, seqs))
    }
    fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        self.inner.verify(progress)
    }
    fn backup(&self, to: &Path) -> Result<()> {
        self.inner.backup(to)
    }
    fn sizes(&self) -> Result<Vec<(String, u64)>> {
        self.inner.sizes()
    }
    fn maintain(&self) -> Result<()> {
        self.write("maintain", || self.inner.maintain())
    }
    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        self.inner.dictionary()
    }
}
