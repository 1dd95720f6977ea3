//! The turn that a host has begun and not yet ended.

use unforget_core::id::Seq;

/// The open turn of a lane. Without one, the key is `None` and no entry belongs to it.
#[derive(Default)]
pub(super) struct OpenTurn {
    key: Option<String>,
    /// Tokens that the first call of the turn had for its messages.
    budget: Option<u64>,
    /// Entries of the turn, ascending: arrays may leave them out.
    entries: Vec<Seq>,
    /// The newest entry of the path when the last turn ended.
    committed: Option<Seq>,
}

impl OpenTurn {
    /// The host's key of the turn.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Entries that arrays may leave out, ascending.
    pub(super) fn entries(&self) -> &[Seq] {
        &self.entries
    }

    /// The newest entry of the path when the last turn ended.
    pub(super) const fn committed(&self) -> Option<Seq> {
        self.committed
    }

    /// Opens a turn.
    pub(super) fn begin(&mut self, key: &str) {
        self.key = Some(key.to_owned());
    }

    /// Ends the turn; its budget goes with it. Its entries stay until [`OpenTurn::release`].
    pub(super) fn end(&mut self, head: Option<Seq>) {
        (self.key, self.budget) = (None, None);
        self.commit(head);
    }

    /// From now on arrays have to contain the entries of the turn.
    pub(super) fn release(&mut self) {
        self.entries.clear();
    }

    /// The whole path, up to `head`, counts as committed.
    pub(super) const fn commit(&mut self, head: Option<Seq>) {
        self.committed = head;
    }

    /// An entry belongs to the turn.
    pub(super) fn add(&mut self, seq: Seq) {
        self.entries.push(seq);
    }

    /// The path was cut: entries from `end` on are gone from it.
    pub(super) fn cut(&mut self, end: Seq) {
        self.entries.retain(|seq| *seq < end);
    }

    /// The budget of a call: no more than the first call of the turn had.
    pub(super) fn bound(&mut self, budget: u64, is_first: bool) -> u64 {
        let first = match self.budget {
            Some(first) if !is_first => first,
            _ => *self.budget.insert(budget),
        };
        budget.min(first)
    }
}
