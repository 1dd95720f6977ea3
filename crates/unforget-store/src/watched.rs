//! A store that reports its changes.

use std::ops::Range;
use std::sync::Arc;

use unforget_core::id::{ConversationId, Timestamp};

use crate::port::{
    Append, Conversation, DerivedNumbers, DerivedRows, JobEnd, JobRow, LabelRow, Lease, NewConversation,
    NewJob, PinFileRow, PinRow, Purged, RaisedRow, Receipt, Result, Store, StoreLayer, SummaryRow,
};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// The conversation is new.
    Opened,
    /// Entries were added.
    Entries,
    /// Summaries were made or rewritten: the prompt was compacted, or will be shown differently.
    Summaries,
    /// Pins.
    Pins,
    /// Entries were put back, or taken away again.
    Raised,
    /// A person gave a conversation another title, star or tag.
    Label,
    /// A prompt was made.
    Prompt,
    /// Jobs for models changed.
    Jobs,
    /// Entries were purged.
    Purged,
}

impl Change {
    /// All kinds.
    const ALL: [Self; 9] = [
        Self::Opened,
        Self::Entries,
        Self::Summaries,
        Self::Pins,
        Self::Raised,
        Self::Label,
        Self::Prompt,
        Self::Jobs,
        Self::Purged,
    ];

    /// The kind with a [name](Change::name).
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// For scripts, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Opened => "conversation",
            Self::Entries => "entries",
            Self::Summaries => "compaction",
            Self::Pins => "pins",
            Self::Raised => "raised",
            Self::Label => "label",
            Self::Prompt => "prompt",
            Self::Jobs => "jobs",
            Self::Purged => "purge",
        }
    }
}

/// The callback for each change. It is called after the change is durable, on the thread that made it. It must be quick
/// and may not use the store.
pub type ChangeCallback = Arc<dyn Fn(ConversationId, Change) + Send + Sync>;

/// Another store with a callback for changes. Failed operations are not reported, nor is invisible derived data
/// (segments of the index, states of prompts).
pub struct WatchedStore {
    inner: Arc<dyn Store>,
    on_change: ChangeCallback,
}

impl WatchedStore {
    /// * `on_change` - the callback.
    pub fn new(inner: Arc<dyn Store>, on_change: ChangeCallback) -> Self {
        Self { inner, on_change }
    }

    fn tell(&self, id: ConversationId, change: Change) {
        (self.on_change)(id, change);
    }

    /// Reports an operation, if it succeeded.
    fn told<T>(&self, id: ConversationId, change: Change, done: Result<T>) -> Result<T> {
        if done.is_ok() {
            self.tell(id, change);
        }
        done
    }
}

impl std::fmt::Debug for WatchedStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WatchedStore").finish_non_exhaustive()
    }
}

impl StoreLayer for WatchedStore {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn ensure(&self, new: &NewConversation) -> Result<Conversation> {
        let is_new = self.inner.find(&new.key)?.is_none();
        let made = self.inner.ensure(new)?;
        if is_new {
            self.tell(made.id, Change::Opened);
        }
        Ok(made)
    }

    fn append(&self, append: Append) -> Result<Receipt> {
        let id = append.conversation;
        self.told(id, Change::Entries, self.inner.append(append))
    }

    fn purge(&self, id: ConversationId, seqs: Range<u64>) -> Result<Purged> {
        self.told(id, Change::Purged, self.inner.purge(id, seqs))
    }

    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers> {
        let numbers = self.inner.put_derived(id, rows)?;
        if !rows.summaries.is_empty() {
            self.tell(id, Change::Summaries);
        }
        if rows.recipe.is_some() {
            self.tell(id, Change::Prompt);
        }
        Ok(numbers)
    }

    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()> {
        self.told(id, Change::Pins, self.inner.put_pins(id, before, after, files))
    }

    fn put_raised(&self, id: ConversationId, raised: &RaisedRow) -> Result<u64> {
        self.told(id, Change::Raised, self.inner.put_raised(id, raised))
    }

    fn withdraw_raised(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool> {
        self.told(id, Change::Raised, self.inner.withdraw_raised(id, number, now))
    }

    fn put_label(&self, id: ConversationId, before: &LabelRow, after: &LabelRow) -> Result<bool> {
        let is_put = self.inner.put_label(id, before, after)?;
        if is_put {
            self.tell(id, Change::Label);
        }
        Ok(is_put)
    }

    fn put_jobs(&self, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Result<u64> {
        let added = self.inner.put_jobs(id, jobs, now)?;
        if added > 0 {
            self.tell(id, Change::Jobs);
        }
        Ok(added)
    }

    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        let taken = self.inner.take_job(id, now, until, all)?;
        if taken.is_some() {
            self.tell(id, Change::Jobs);
        }
        Ok(taken)
    }

    fn end_job(&self, id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Result<bool> {
        self.told(id, Change::Jobs, self.inner.end_job(id, lease, end, now))
    }

    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.told(id, Change::Jobs, self.inner.drop_jobs(id, now))
    }

    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.told(id, Change::Jobs, self.inner.put_rewrites(id, rows, now))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::sync::Mutex;

    use unforget_core::id::ConversationKey;

    use super::*;
    use crate::MemoryStore;

    #[test]
    fn only_what_was_done_is_told() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&seen);
        let store: &dyn Store = &WatchedStore::new(
            Arc::new(MemoryStore::new()),
            Arc::new(move |id, change| told.lock().unwrap().push((id, change))),
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
        assert_eq!(*seen.lock().unwrap(), [(id, Change::Opened), (id, Change::Purged)]);
    }
}
