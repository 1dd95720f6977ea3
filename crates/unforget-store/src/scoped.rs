//! A view of a store that is restricted to some of its conversations.

use std::collections::BTreeSet;
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;

use unforget_core::id::{ConversationId, ConversationKey, Timestamp};

use crate::error::StoreError;
use crate::port::{
    Conversation, FoundSnapshot, GrantRow, LabelRow, LaneLook, LaneRows, NewConversation, Page, Problem,
    Result, Store, StoreLayer, TableSize,
};

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

    /// The visible conversations after the last page, by id.
    fn visible_after(&self, page: Page<ConversationId>) -> impl Iterator<Item = ConversationId> {
        let from = page.after.map_or(Bound::Unbounded, Bound::Excluded);
        self.only.range((from, Bound::Unbounded)).copied()
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

/// Data of accounts, as opposed to conversations, passes through.
impl StoreLayer for ScopedStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn of(&self, id: ConversationId) -> Result<&dyn Store> {
        if self.only.contains(&id) { Ok(self.inner()) } else { Err(StoreError::NoConversation { id }) }
    }

    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        StoreLayer::find(self, &new.key)?.map_or_else(|| refused("ensure"), Ok)
    }

    fn find(&self, key: &ConversationKey) -> Result<Option<Conversation>> {
        Ok(self.inner.find(key)?.filter(|found| self.only.contains(&found.id)))
    }

    /// O(page), whatever the inner store holds.
    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>> {
        let all = self.visible_after(page).map(|id| self.inner.conversation(id));
        let there = all.filter(|one| !matches!(one, Err(StoreError::NoConversation { .. })));
        there.take(page.limit).collect()
    }

    /// O(labels) of the inner store.
    fn labels(&self, page: Page<ConversationId>) -> Result<Vec<LabelRow>> {
        let mut labels = Vec::new();
        let mut next = page;
        while labels.len() < page.limit {
            let found = self.inner.labels(next)?;
            let last = found.last().map(|label| label.conversation).filter(|_| found.len() >= page.limit);
            labels.extend(found.into_iter().filter(|label| self.only.contains(&label.conversation)));
            let Some(last) = last else { break };
            next.after = Some(last);
        }
        labels.truncate(page.limit);
        Ok(labels)
    }

    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>> {
        for look in looks {
            self.of(look.conversation)?;
        }
        self.inner.lane_rows(looks)
    }

    fn snapshot_of_path(&self, path: &str) -> Result<Option<FoundSnapshot>> {
        Ok(self.inner.snapshot_of_path(path)?.filter(|found| self.only.contains(&found.conversation)))
    }

    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>> {
        let mut due = Vec::new();
        let mut next = page;
        while due.len() < page.limit {
            let found = self.inner.due(now, next)?;
            due.extend(found.iter().filter(|id| self.only.contains(id)));
            match found.last() {
                Some(last) if found.len() >= page.limit => next.after = Some(*last),
                _ => break,
            }
        }
        due.truncate(page.limit);
        Ok(due)
    }

    /// A grant covers one conversation or all of them; the grant of a view of several covers all, and reads within the
    /// view.
    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        if let Some(id) = grant.scope {
            self.of(id)?;
        }
        self.inner.put_grant(grant, keep)
    }

    fn grants(&self) -> Result<Vec<GrantRow>> {
        let mut grants = self.inner.grants()?;
        grants.retain(|grant| grant.scope.is_some_and(|id| self.only.contains(&id)));
        Ok(grants)
    }

    fn verify(&self, _: &mut dyn FnMut(u64, u64)) -> Result<Vec<Problem>> {
        refused("verify")
    }

    fn backup(&self, _: &Path) -> Result<()> {
        refused("backup")
    }

    fn sizes(&self) -> Result<Vec<TableSize>> {
        refused("sizes")
    }

    fn maintain(&self) -> Result<()> {
        refused("maintain")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::MemoryStore;
    use crate::port::{Log as _, read_all};

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
        let view: Arc<dyn Store> =
            Arc::new(ScopedStore::new(Arc::clone(&store), [ids[0], ids[2], ConversationId(7)].into()));
        let listed = read_all(|page| view.conversations(page)).unwrap();
        let keys: Vec<_> = listed.iter().map(|one| one.key.0.as_str()).collect();
        assert_eq!(keys, ["a", "c"]);
        let page = Page { after: Some(ids[0]), limit: 1 };
        assert_eq!(view.conversations(page).unwrap(), listed[1..], "pages skip those that are not there");
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
        assert!(
            missing(view.summaries(ids[1], Page::first(1)).map(drop))
                && missing(view.decisions(ids[1]).map(drop))
        );
        assert!(view.rows(ids[0], 0..9).is_ok());
        let whole = |result: Result<()>| matches!(result, Err(StoreError::OutOfScope { .. }));
        assert!(
            whole(view.sizes().map(drop)) && whole(view.maintain()) && whole(view.backup(Path::new("x")))
        );
        let narrower: &dyn Store = &ScopedStore::new(view, [ids[1], ids[2]].into());
        assert_eq!(narrower.conversations(Page::first(9)).unwrap().len(), 1, "what both have");
    }
}
