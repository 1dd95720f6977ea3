//! Reads and weighs a stored history on a second thread while the first thread plays it.
//!
//! Only results that depend on nothing but the entries are computed ahead: decoded entries, and whole groups, rendered
//! and weighed. The outcome stays a function of the history: a group that differs when it is played is weighed again.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use unforget_core::group::{Group, Item, Kind};
use unforget_core::id::{Seq, Thread};
use unforget_store::{Conversation, Store};

use super::Shape;
use super::pieces::GroupPieces;
use super::window::{PathEntry, changed_group};
use crate::error::EngineError;
use crate::thread::decoded;
use crate::view::{Answers, Shown, View};

/// Number of entries decoded at once; bounds memory.
pub(super) const RUN: u64 = 512;

/// Number of groups that wait for late results. Older groups are weighed when they are played.
const GROUPS_MAX: usize = 64;

/// Entries read ahead, with their weighed groups.
pub(super) struct ReadAhead {
    /// Number of seqs read.
    pub(super) count: u64,
    /// Entries of the thread, in order.
    pub(super) entries: Vec<PathEntry>,
    /// Groups that ended among the entries or changed.
    pub(super) groups: Vec<WeighedGroup>,
}

/// A group and its forms.
pub(super) struct WeighedGroup {
    members: GroupMembers,
    pieces: GroupPieces,
}

/// Identifies a group by its entries.
struct GroupMembers {
    kind: Kind,
    unanswered: usize,
    items: Vec<Item>,
}

impl GroupMembers {
    fn of(group: &Group) -> Self {
        Self { kind: group.kind, unanswered: group.unanswered, items: group.items.clone() }
    }

    fn are(&self, group: &Group) -> bool {
        let is_same = |(a, b): (&Item, &Item)| a.seq == b.seq && Arc::ptr_eq(&a.entry, &b.entry);
        self.kind == group.kind
            && self.unanswered == group.unanswered
            && self.items.len() == group.items.len()
            && self.items.iter().zip(&group.items).all(is_same)
    }
}

/// Weighed groups that are not played yet, by first entry.
#[derive(Default)]
pub(super) struct Prefetched(BTreeMap<Seq, WeighedGroup>);

impl Prefetched {
    /// Replaces the remaining groups by the groups of the next entries.
    pub(super) fn refill(&mut self, groups: Vec<WeighedGroup>) {
        let first =
            |group: &WeighedGroup| group.members.items.first().map(|item| item.seq).unwrap_or_default();
        self.0 = groups.into_iter().map(|group| (first(&group), group)).collect();
    }

    /// The full form of a group; `None` if the group was not weighed with these entries.
    pub(super) fn take(&mut self, group: &Group) -> Option<GroupPieces> {
        let first = group.items.first()?.seq;
        let is_same = self.0.get(&first)?.members.are(group);
        if !is_same {
            return None;
        }
        self.0.remove(&first).map(|weighed| weighed.pieces)
    }
}

/// Reads a thread ahead of its player.
pub(super) struct Prefetcher {
    shape: Shape,
    thread: Thread,
    view: View,
    answers: Answers,
    /// First group that changed since it was weighed.
    stale: usize,
}

impl Prefetcher {
    /// At the beginning of a thread.
    pub(super) fn new(thread: Thread, shape: Shape) -> Self {
        Self { shape, thread, view: View::new(), answers: Answers::default(), stale: 0 }
    }

    /// Reads the next entries. Weighs the groups that exist at every model call, as the player does.
    pub(super) fn read(
        &mut self,
        store: &dyn Store,
        stored: &Conversation,
        seqs: Range<u64>,
    ) -> Result<ReadAhead, EngineError> {
        let count = seqs.end - seqs.start;
        let mut decoded = decoded(store, stored, seqs)?;
        decoded.retain(|decoded| decoded.row.thread == self.thread);
        let (mut entries, mut groups) = (Vec::with_capacity(decoded.len()), Vec::new());
        for next in &decoded {
            if self.answers.is_call(&next.entry) {
                self.weigh(&mut groups);
            }
            if let Shown::Group(placed) = self.view.push(next.row.seq, &next.entry) {
                self.stale = self.stale.min(changed_group(placed, &self.view));
            }
            entries.push(PathEntry::new(next.row.seq, &next.entry, next.row.tokens.expected));
        }
        Ok(ReadAhead { count, entries, groups })
    }

    fn weigh(&mut self, groups: &mut Vec<WeighedGroup>) {
        let fresh = self.view.groups.iter().skip(self.stale);
        groups.extend(fresh.map(|group| WeighedGroup {
            members: GroupMembers::of(group),
            pieces: GroupPieces::new(group, &self.shape),
        }));
        if self.view.groups.len() > 2 * GROUPS_MAX {
            self.view.drop_groups(self.view.groups.len() - GROUPS_MAX);
        }
        self.stale = self.view.groups.len();
    }
}
