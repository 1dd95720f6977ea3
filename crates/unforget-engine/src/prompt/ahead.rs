//! Reads and weighs a stored history on a second thread while the first one plays it.
//!
//! Only work whose result depends on nothing but the entries is done ahead: decoding them, and rendering and
//! weighing whole groups. What is played stays a function of the history: a group that turns out to be another
//! one where it is played is weighed again there.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use unforget_core::entry::Entry;
use unforget_core::group::{Group, Item, Kind, Placed};
use unforget_core::id::{Seq, Thread};
use unforget_core::ledger::Fact;
use unforget_store::{Conversation, EntryRow, Store};
use unforget_text::facts;
use unforget_wire::{Format, decode};

use super::Shape;
use super::pieces::GroupPieces;
use crate::error::EngineError;
use crate::ledger;
use crate::view::{Answers, Shown, View};

/// Entries decoded at once while a history is read; bounds memory.
pub(super) const RUN: u64 = 512;

/// Groups that wait for late results; older ones are weighed where they are played.
const GROUPS_MAX: usize = 64;

/// Entries with what was weighed of them.
pub(super) struct Ahead {
    /// How many seqs were read.
    pub(super) count: u64,
    /// Those of the lane, in order, with what their calls and results tell.
    pub(super) entries: Vec<(EntryRow, Arc<Entry>, Vec<Fact>)>,
    /// Groups that ended among them or changed.
    pub(super) groups: Vec<(Members, GroupPieces)>,
}

/// What makes a group the same as another one: the very same entries.
pub(super) struct Members {
    kind: Kind,
    unanswered: usize,
    items: Vec<Item>,
}

impl Members {
    fn of(group: &Group) -> Self {
        Self { kind: group.kind, unanswered: group.unanswered, items: group.items.clone() }
    }

    fn are(&self, group: &Group) -> bool {
        let same = |(a, b): (&Item, &Item)| a.seq == b.seq && Arc::ptr_eq(&a.entry, &b.entry);
        self.kind == group.kind
            && self.unanswered == group.unanswered
            && self.items.len() == group.items.len()
            && self.items.iter().zip(&group.items).all(same)
    }
}

/// Weighed groups that are not played yet, by first entry.
#[derive(Default)]
pub(super) struct Weighed(BTreeMap<Seq, (Members, GroupPieces)>);

impl Weighed {
    /// Replaces what is left by what was weighed of the next entries.
    pub(super) fn refill(&mut self, groups: Vec<(Members, GroupPieces)>) {
        let first = |members: &Members| members.items.first().map(|item| item.seq).unwrap_or_default();
        self.0 = groups.into_iter().map(|(members, pieces)| (first(&members), (members, pieces))).collect();
    }

    /// The full form of a group, if it was weighed as it is.
    pub(super) fn take(&mut self, group: &Group) -> Option<GroupPieces> {
        let first = group.items.first()?.seq;
        let (members, _) = self.0.get(&first)?;
        if !members.are(group) {
            return None;
        }
        self.0.remove(&first).map(|(_, pieces)| pieces)
    }
}

/// What is read ahead.
pub(super) struct Scout {
    shape: Shape,
    thread: Thread,
    view: View,
    answers: Answers,
    /// First group that changed since it was weighed.
    stale: usize,
}

impl Scout {
    /// At the start of a lane.
    pub(super) fn new(thread: Thread, shape: Shape) -> Self {
        Self { shape, thread, view: View::new(), answers: Answers::default(), stale: 0 }
    }

    /// Reads and weighs the next entries: the groups that stand whenever a model is called, as the player does.
    pub(super) fn run(
        &mut self,
        store: &dyn Store,
        stored: &Conversation,
        seqs: Range<u64>,
    ) -> Result<Ahead, EngineError> {
        let count = seqs.end - seqs.start;
        let mut entries = decoded(store, stored, seqs)?;
        entries.retain(|(row, _)| row.thread == self.thread);
        let mut groups = Vec::new();
        for (row, entry) in &entries {
            if self.answers.is_call(entry) {
                self.weigh(&mut groups);
            }
            if let Shown::Group(placed) = self.view.push(row.seq, entry) {
                let last = self.view.groups.len().saturating_sub(1);
                let at = if let Placed::Earlier(at) | Placed::Rewrote(at) = placed { at } else { last };
                self.stale = self.stale.min(at);
            }
        }
        let told = |(row, entry): (EntryRow, Arc<Entry>)| {
            let facts = if ledger::counts(&entry) { facts(&entry) } else { Vec::new() };
            (row, entry, facts)
        };
        Ok(Ahead { count, entries: entries.into_iter().map(told).collect(), groups })
    }

    fn weigh(&mut self, groups: &mut Vec<(Members, GroupPieces)>) {
        let fresh = self.view.groups.iter().skip(self.stale);
        groups.extend(fresh.map(|group| (Members::of(group), GroupPieces::new(group, &self.shape))));
        if self.view.groups.len() > 2 * GROUPS_MAX {
            self.view.drop_groups(self.view.groups.len() - GROUPS_MAX);
        }
        self.stale = self.view.groups.len();
    }
}

/// Rows and entries of a range of seqs.
pub(crate) fn decoded(
    store: &dyn Store,
    stored: &Conversation,
    seqs: Range<u64>,
) -> Result<Vec<(EntryRow, Arc<Entry>)>, EngineError> {
    let rows = store.rows(stored.id, seqs.clone())?;
    let raw = store.raw(stored.id, seqs)?;
    let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
    let pairs = rows.into_iter().zip(raw).filter(|(row, _)| !row.purged);
    Ok(pairs.map(|(row, raw)| (row, Arc::new(decode(format, &raw.body)))).collect())
}
