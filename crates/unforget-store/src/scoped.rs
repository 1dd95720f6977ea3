//! A view of a store that is restricted to some of its conversations.

mod jobs;

use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread};

use crate::error::StoreError;
use crate::pack::Dictionary;
use crate::port::{
    Append, ChunkBytes, ContextRow, Conversation, DecisionRow, EntryRow, Filter, GenerationRow, Haste, Name,
    NewConversation, PinFileRow, PinRow, Problem, Purged, Raw, Receipt, Recipe, RecipeRow, Result, Scan,
    Scanned, Segment, SegmentHead, Snapshot, Store, SummaryKey, SummaryRow,
};
use crate::unpack::Scratch;

/// A store with some conversations of another one. The holder of a view cannot learn of further conversations: they are
/// not listed and not found, and requesting one by number fails as for a missing one. Operations on the whole store (a
/// backup, its sizes) are refused.
///
/// The set never grows; a view of a view has the intersection.
pub struct ScopedStore {
    inner: Arc<dyn Store>,
    only: BTreeSet<ConversationId>,
}

impl ScopedStore {
    /// * `only` - the visible conversations; those that `inner` lacks are missing here too.
    pub fn new(inner: Arc<dyn Store>, only: BTreeSet<ConversationId>) -> Self {
        Self { inner, only }
    }

    /// The inner store, for a conversation of this view.
    fn of(&self, id: ConversationId) -> Result<&dyn Store> {
        if self.only.contains(&id) { Ok(self.inner.as_ref()) } else { Err(StoreError::NoConversation { id }) }
    }
}

fn refused<T>(operation: &'static str) -> Result<T> {
    Err(StoreError::OutOfScope { operation })
}

impl std::fmt::Debug for ScopedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ScopedStore").field("only", &self.only).finish_non_exhaustive()
    }
}

impl Store for ScopedStore {
    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        self.find(&new.key)?.map_or_else(|| refused("ensure"), Ok)
    }

    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        Ok(self.inner.find(key)?.filter(|found| self.only.contains(&found.id)))
    }

    fn conversation(&self, id: ConversationId) -> Result<Conversation> {
        self.of(id)?.conversation(id)
    }

    fn conversations(&self) -> Result<Vec<Conversation>> {
        let mut all = self.inner.conversations()?;
        all.retain(|one| self.only.contains(&one.id));
        Ok(all)
    }

    fn generations(&self, id: ConversationId) -> Result<Vec<GenerationRow>> {
        self.of(id)?.generations(id)
    }

    fn snapshots(&self, id: ConversationId) -> Result<Vec<Snapshot>> {
        self.of(id)?.snapshots(id)
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<(ConversationId, Snapshot)>> {
        Ok(self.inner.snapshot_of_path(path)?.filter(|(id, _)| self.only.contains(id)))
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        self.of(append.conversation)?.append(append)
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> Result<Vec<(Name, Seq)>> {
        self.of(id)?.named(id, names)
    }

    fn put_names(&self, id: ConversationId, names: &[(Name, Seq)], haste: Haste) -> Result<()> {
        self.of(id)?.put_names(id, names, haste)
    }

    fn by_chain(&self, id: ConversationId, chain: Chain) -> Result<Option<EntryRow>> {
        self.of(id)?.by_chain(id, chain)
    }

    fn chains(
        &self,
        id: ConversationId,
        generation: Generation,
        positions: Range<u64>,
    ) -> Result<Vec<Chain>> {
        self.of(id)?.chains(id, generation, positions)
    }

    fn path(&self, id: ConversationId, generation: Generation, length: u64) -> Result<Vec<Range<u64>>> {
        self.of(id)?.path(id, generation, length)
    }

    fn rows(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<EntryRow>> {
        self.of(id)?.rows(id, seqs)
    }

    fn raw(&self, id: ConversationId, seqs: Range<u64>) -> Result<Vec<Raw>> {
        self.of(id)?.raw(id, seqs)
    }

    fn filters(&self, id: ConversationId) -> Result<Vec<Filter>> {
        self.of(id)?.filters(id)
    }

    fn chunk(&self, id: ConversationId, chunk: u64) -> Result<ChunkBytes> {
        self.of(id)?.chunk(id, chunk)
    }

    fn scan(&self, id: ConversationId, chunk: u64, scratch: &mut Scratch, scan: Scan<'_>) -> Result<Scanned> {
        self.of(id)?.scan(id, chunk, scratch, scan)
    }

    fn blob(&self, id: ConversationId, digest: Digest) -> Result<(Vec<u8>, Vec<Seq>)> {
        self.of(id)?.blob(id, digest)
    }

    fn scan_blob(
        &self,
        id: ConversationId,
        digest: Digest,
        scratch: &mut Scratch,
        wants: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Vec<Seq>> {
        self.of(id)?.scan_blob(id, digest, scratch, wants)
    }

    fn put_segment(&self, id: ConversationId, segment: &Segment, replaces: &[u64]) -> Result<u64> {
        self.of(id)?.put_segment(id, segment, replaces)
    }

    fn segments(&self, id: ConversationId) -> Result<Vec<SegmentHead>> {
        self.of(id)?.segments(id)
    }

    fn block(&self, id: ConversationId, segment: u64, block: usize) -> Result<Vec<u8>> {
        self.of(id)?.block(id, segment, block)
    }

    fn drop_segments(&self, id: ConversationId) -> Result<()> {
        self.of(id)?.drop_segments(id)
    }

    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()> {
        self.of(id)?.put_summaries(id, rows, context)
    }

    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.of(id)?.summary(id, key)
    }

    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>> {
        self.of(id)?.summary_before(id, key, seq)
    }

    fn summaries(&self, id: ConversationId) -> Result<Vec<SummaryRow>> {
        self.of(id)?.summaries(id)
    }

    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>> {
        self.of(id)?.context(id, thread, budget)
    }

    fn pins(&self, id: ConversationId) -> Result<Vec<PinRow>> {
        self.of(id)?.pins(id)
    }

    fn pin_files(&self, id: ConversationId) -> Result<Vec<PinFileRow>> {
        self.of(id)?.pin_files(id)
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        self.of(id)?.put_pins(id, before, after, files)
    }

    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<(&DecisionRow, u64)>,
    ) -> Result<u64> {
        self.of(id)?.put_recipe(id, recipe, keep, turn)
    }

    fn recipes(&self, id: ConversationId) -> Result<Vec<RecipeRow>> {
        self.of(id)?.recipes(id)
    }

    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>> {
        self.of(id)?.recipe_state(id, context)
    }

    fn purge_plan(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.of(id)?.purge_plan(id, seqs)
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.of(id)?.purge(id, seqs)
    }

    fn verify(&self, _: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        refused("verify")
    }

    fn backup(&self, _: &Path) -> Result<()> {
        refused("backup")
    }

    fn sizes(&self) -> Result<Vec<(String, u64)>> {
        refused("sizes")
    }

    fn maintain(&self) -> Result<()> {
        refused("maintain")
    }

    fn dictionary(&self) -> Option<Arc<Dictionary>> {
        self.inner.dictionary()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::MemoryStore;
    use crate::port::Jobs as _;

    fn with(keys: &[&str]) -> (Arc<dyn Store>, Vec<ConversationId>) {
        let store = MemoryStore::new();
        let make = |key: &&str| {
            let key = ConversationKey((*key).to_owned());
            store
                .ensure(&NewConversation { key, format: "pi".to_owned(), title: None, parent: None })
                .unwrap()
                .id
        };
        let ids = keys.iter().map(make).collect();
        (Arc::new(store), ids)
    }

    #[test]
    fn others_are_not_there() {
        let (store, ids) = with(&["a", "b", "c"]);
        let view = ScopedStore::new(Arc::clone(&store), [ids[0], ids[2]].into());
        let keys: Vec<_> = view.conversations().unwrap().into_iter().map(|one| one.key.0).collect();
        assert_eq!(keys, ["a", "c"]);
        assert!(view.find(&ConversationKey("b".to_owned())).unwrap().is_none());
        // Word for word the error for a number that does not exist.
        let nobody = ConversationId(99);
        let told = view.conversation(ids[1]).unwrap_err().to_string();
        assert_eq!(
            told.replace(&ids[1].to_string(), "99"),
            store.conversation(nobody).unwrap_err().to_string()
        );
        let missing = |result: Result<()>| matches!(result, Err(StoreError::NoConversation { .. }));
        assert!(missing(view.rows(ids[1], 0..9).map(drop)) && missing(view.raw(ids[1], 0..9).map(drop)));
        assert!(missing(view.summaries(ids[1]).map(drop)) && missing(view.decisions(ids[1]).map(drop)));
        assert!(view.rows(ids[0], 0..9).is_ok());
        let whole = |result: Result<()>| matches!(result, Err(StoreError::OutOfScope { .. }));
        assert!(
            whole(view.sizes().map(drop)) && whole(view.maintain()) && whole(view.backup(Path::new("x")))
        );
        let narrower = ScopedStore::new(Arc::new(view), [ids[1], ids[2]].into());
        assert_eq!(narrower.conversations().unwrap().len(), 1, "what both have");
    }
}
