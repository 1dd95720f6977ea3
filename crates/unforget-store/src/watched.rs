//! A store that reports its changes.

mod jobs;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread};

use crate::pack::Dictionary;
use crate::port::{
    Append, ChunkBytes, ContextRow, Conversation, DecisionRow, EntryRow, Filter, GenerationRow, Haste, Name,
    NewConversation, PinFileRow, PinRow, Problem, Purged, Raw, Receipt, Recipe, RecipeRow, Result, Scan,
    Scanned, Segment, SegmentHead, Snapshot, Store, SummaryKey, SummaryRow,
};
use crate::unpack::Scratch;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The conversation is new.
    Opened,
    /// Entries were added.
    Entries,
    /// Summaries were made or rewritten: the prompt was compacted, or will be shown differently.
    Summaries,
    /// Pins.
    Pins,
    /// A prompt was made.
    Prompt,
    /// Jobs for models changed.
    Jobs,
    /// Entries were purged.
    Purged,
}

impl What {
    /// For scripts, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "conversation",
            Self::Entries => "entries",
            Self::Summaries => "compaction",
            Self::Pins => "pins",
            Self::Prompt => "prompt",
            Self::Jobs => "jobs",
            Self::Purged => "purge",
        }
    }
}

/// The callback for each change. It is called after the change is durable, on the thread that made it. It must be quick
/// and may not use the store.
pub type Told = Arc<dyn Fn(ConversationId, What) + Send + Sync>;

/// Another store with a callback for changes. Failed operations are not reported, nor is invisible derived data
/// (segments of the index, states of prompts).
pub struct WatchedStore {
    inner: Arc<dyn Store>,
    told: Told,
}

impl WatchedStore {
    /// * `told` - the callback. See [`Told`].
    pub fn new(inner: Arc<dyn Store>, told: Told) -> Self {
        Self { inner, told }
    }

    fn tell(&self, id: ConversationId, what: What) {
        (self.told)(id, what);
    }

    /// Reports an operation, if it succeeded.
    fn told<T>(&self, id: ConversationId, what: What, done: Result<T>) -> Result<T> {
        if done.is_ok() {
            self.tell(id, what);
        }
        done
    }
}

impl std::fmt::Debug for WatchedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchedStore").finish_non_exhaustive()
    }
}

impl Store for WatchedStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        let is_new = self.inner.find(&new.key)?.is_none();
        let made = self.inner.ensure(new)?;
        if is_new {
            self.tell(made.id, What::Opened);
        }
        Ok(made)
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
        let id = append.conversation;
        self.told(id, What::Entries, self.inner.append(append))
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, Seq)>> {
        self.inner.named(id, names)
    }

    fn put_names(&self, id: ConversationId, names: &[(Name, Seq)], haste: Haste) -> Result<()> {
        self.inner.put_names(id, names, haste)
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

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<Seq>)> {
        self.inner.blob(id, digest)
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        self.inner.scan_blob(id, digest, scratch, wants)
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.inner.put_segment(id, segment, replaces)
    }

    fn segments(&self, id: ConversationId) -> Result<Vec<SegmentHead>> {
        self.inner.segments(id)
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.inner.block(id, segment, block)
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.inner.drop_segments(id)
    }

    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()> {
        self.inner.put_summaries(id, rows, context)?;
        if !rows.is_empty() {
            self.tell(id, What::Summaries);
        }
        Ok(())
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
        self.told(id, What::Pins, self.inner.put_pins(id, before, after, files))
    }

    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<(&DecisionRow, u64)>,
    ) -> Result<u64> {
        self.told(id, What::Prompt, self.inner.put_recipe(id, recipe, keep, turn))
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
        self.told(id, What::Purged, self.inner.purge(id, seqs))
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
        self.inner.maintain()
    }

    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        self.inner.dictionary()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Mutex;

    use super::*;
    use crate::MemoryStore;

    #[test]
    fn only_what_was_done_is_told() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let store = WatchedStore::new(
            Arc::new(MemoryStore::new()),
            Arc::new(move |id, what| told.lock().unwrap().push((id, what))),
        );
        let new = NewConversation {
            key: ConversationKey("a".to_owned()),
            format: "pi".to_owned(),
            title: None,
            parent: None,
        };
        let id = store.ensure(&new).unwrap().id;
        store.ensure(&new).unwrap();
        assert!(store.purge(ConversationId(99), 0..1).is_err());
        store.purge(id, 0..0).unwrap();
        assert_eq!(*seen.lock().unwrap(), [(id, What::Opened), (id, What::Purged)]);
    }
}
