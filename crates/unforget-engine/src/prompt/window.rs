//! The entries behind the summaries: in groups, in the forms in which they are sent, and with their sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::thread;

use unforget_core::compact::{self, Context, Sizes, end_of};
use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::group::{Group, Item, Kind, Placed};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::ledger::{self, Fact};
use unforget_core::tokens::Tokens;

use super::Shape;
use super::cover::Cover;
use super::pieces::{self, GroupPieces};
use super::prefetch::{Prefetched, WeighedGroup};
use super::stored_context::Superseded;
use super::tally::Tally;
use crate::view::{Shown, View};

/// Fewer groups than this are prepared by a single thread.
const GROUPS_PER_THREAD_MIN: usize = 8;

/// A person asked something behind the summaries.
#[derive(Clone, Debug)]
pub(super) struct AskedSince {
    /// The request, if it is the only one and the first entry there.
    pub(super) opening: Option<Item>,
}

impl AskedSince {
    /// Whether two stand for equal requests.
    pub(super) fn is_same(one: Option<&Self>, other: Option<&Self>) -> bool {
        let place = |asked: &Self| asked.opening.as_ref().map(|item| item.seq);
        one.map(place) == other.map(place)
    }
}

/// The next entry of a path.
pub(super) struct PathEntry {
    pub(super) seq: Seq,
    pub(super) entry: Arc<Entry>,
    /// Its expected tokens as the store counts them, the same for every model.
    pub(super) source: u64,
    /// Facts of its calls and results.
    pub(super) facts: Vec<Fact>,
}

impl PathEntry {
    pub(super) fn new(seq: Seq, entry: &Arc<Entry>, source: u64) -> Self {
        let facts = if crate::ledger::counts(entry) { unforget_text::facts(entry) } else { Vec::new() };
        Self { seq, entry: Arc::clone(entry), source, facts }
    }
}

/// The groups behind the summaries.
pub(super) struct Window {
    view: View,
    /// Forms of the groups; fewer than the groups while some wait to be prepared.
    pieces: Vec<GroupPieces>,
    sizes: Vec<Sizes>,
    /// Their sums.
    tally: Tally,
    /// First group that changed since it was prepared.
    stale: usize,
    /// Groups weighed before they are played.
    prefetched: Prefetched,
    /// Source tokens of each entry.
    sources: BTreeMap<Seq, u64>,
    /// Facts of each entry for the ledger.
    facts: BTreeMap<Seq, Vec<Fact>>,
    /// Parents of recent entries, to follow a transcript that is a tree.
    parents: BTreeMap<Seq, Option<Seq>>,
    /// Host's time of the newest answer.
    answered: Option<Timestamp>,
    /// Host's time of the newest entry.
    newest: Option<Timestamp>,
}

impl Window {
    /// The beginning of a thread.
    pub(super) fn new() -> Self {
        Self {
            view: View::new(),
            pieces: Vec::new(),
            sizes: Vec::new(),
            tally: Tally::default(),
            stale: 0,
            prefetched: Prefetched::default(),
            sources: BTreeMap::new(),
            facts: BTreeMap::new(),
            parents: BTreeMap::new(),
            answered: None,
            newest: None,
        }
    }

    /// The window behind a stored context. The caller adds the entries behind the context next.
    ///
    /// * `system` - recorded instructions.
    pub(super) fn behind(context: &Context, system: Vec<(Seq, String)>) -> Self {
        let view = View { system, head: end_of(context), ..View::behind(context) };
        Self { view, ..Self::new() }
    }

    pub(super) fn groups(&self) -> &[Group] {
        &self.view.groups
    }

    pub(super) fn sizes(&self) -> &[Sizes] {
        &self.sizes
    }

    pub(super) fn pieces(&self) -> &[GroupPieces] {
        &self.pieces
    }

    /// Newest entry of the path, visible or not.
    pub(super) const fn head(&self) -> Option<Seq> {
        self.view.head
    }

    pub(super) const fn set_head(&mut self, head: Option<Seq>) {
        self.view.head = head;
    }

    /// Number of visible entries, including the summarised ones.
    pub(super) const fn visible(&self) -> u64 {
        self.view.visible
    }

    /// Recorded instructions, in order.
    pub(super) fn instructions(&self) -> &[(Seq, String)] {
        &self.view.system
    }

    /// Host's time of the newest entry.
    pub(super) const fn newest_time(&self) -> Option<Timestamp> {
        self.newest
    }

    /// Milliseconds from the newest answer to the newest entry, by the times of the history: a session that is opened
    /// again breaks where this one did. Clocks of hosts go back; then no time passed.
    pub(super) fn idle_ms(&self) -> Option<u64> {
        Some(u64::try_from(self.newest?.0.saturating_sub(self.answered?.0)).unwrap_or(0))
    }

    /// Whether an entry with this parent leaves the path: its parent is older than the newest visible entry.
    pub(super) fn leaves_path(&self, parent: Option<Seq>) -> bool {
        self.view.shown.is_some_and(|shown| parent.is_none_or(|parent| parent < shown))
    }

    /// Records the parent of the next entry.
    pub(super) fn note_parent(&mut self, seq: Seq, parent: Option<Seq>) {
        self.parents.insert(seq, parent);
    }

    /// Adds the next entry of the path.
    pub(super) fn push(&mut self, new: PathEntry) -> Shown {
        let PathEntry { seq, entry, source, facts } = new;
        if !facts.is_empty() {
            self.facts.insert(seq, facts);
        }
        let shown = self.view.push(seq, &entry);
        if shown != Shown::Hidden && entry.time.is_some() {
            self.newest = entry.time;
            if entry.role == Role::Assistant {
                self.answered = entry.time;
            }
        }
        if let Shown::Group(placed) = shown {
            self.sources.insert(seq, source);
            self.stale = self.stale.min(changed_group(placed, &self.view));
        }
        shown
    }

    /// Replaces the groups weighed ahead.
    pub(super) fn prefetch(&mut self, groups: Vec<WeighedGroup>) {
        self.prefetched.refill(groups);
    }

    /// Prepares the groups that are new or changed, in the forms in which the context sends them.
    pub(super) fn prepare(&mut self, cover: &Cover, shape: &Shape) {
        let from = self.stale.min(self.pieces.len());
        self.pieces.truncate(from);
        self.sizes.truncate(from);
        self.tally.truncate(from);
        for (group, end) in self.view.groups.iter().zip(&self.view.ends).skip(from) {
            let weighed = self.prefetched.take(group);
            let mut pieces = weighed.unwrap_or_else(|| GroupPieces::new(group, shape));
            make(group, &mut pieces, cover, shape);
            let source = source_of(&self.sources, group);
            let sizes = pieces::sizes(group, &pieces, pieces::GroupEnd { source, end: *end }, shape);
            self.tally.push(cover.context(), &sizes, &pieces);
            self.sizes.push(sizes);
            self.pieces.push(pieces);
        }
        self.stale = self.view.groups.len();
    }

    /// Prepares all groups again after a break.
    ///
    /// * `alone` - whether to leave the other processor alone: while a history is played it reads ahead.
    pub(super) fn refresh(&mut self, cover: &Cover, shape: &Shape, alone: bool) {
        let groups = self.view.groups.iter().zip(&mut self.pieces);
        // Neighbours are alike, so that every other group is half of the work.
        let (even, odd): (Vec<_>, Vec<_>) = groups.enumerate().partition(|(index, _)| index % 2 == 0);
        let make_half = |half: Vec<(usize, (&Group, &mut GroupPieces))>| {
            for (_, (group, pieces)) in half {
                make(group, pieces, cover, shape);
            }
        };
        if alone || odd.len() < GROUPS_PER_THREAD_MIN {
            make_half(even);
            make_half(odd);
        } else {
            thread::scope(|scope| {
                scope.spawn(|| make_half(odd));
                make_half(even);
            });
        }
        self.sizes.clear();
        for ((group, end), pieces) in self.view.groups.iter().zip(&self.view.ends).zip(&self.pieces) {
            let source = source_of(&self.sources, group);
            self.sizes.push(pieces::sizes(group, pieces, pieces::GroupEnd { source, end: *end }, shape));
        }
        self.tally = Tally::of(cover.context(), &self.sizes, &self.pieces);
    }

    /// Source tokens of a group.
    pub(super) fn source(&self, group: &Group) -> u64 {
        source_of(&self.sources, group)
    }

    /// Sizes of the groups as a break now would find them: each superseded result is one line.
    pub(super) fn planned_sizes(&self, cover: &Cover, shape: &Shape) -> Vec<Sizes> {
        let facts = self.facts.iter().map(|(seq, facts)| (*seq, facts.as_slice()));
        let found = ledger::superseded(facts).into_iter();
        // A superseded result already has the size of a line.
        let new = found.filter(|found| cover.superseded_by(found.answer, &found.call_id).is_none());
        let new: BTreeSet<_> = new.map(|found| (found.answer, found.call_id)).collect();
        let is_worthless = |seq: Seq, call: &str| new.contains(&(seq, call.to_owned()));
        let groups = self.view.groups.iter().zip(&self.sizes);
        groups.map(|(group, sizes)| pieces::without(group, *sizes, &is_worthless, shape)).collect()
    }

    /// The results that a break supersedes among those that it leaves.
    ///
    /// * `as_of` - the newest entry at the break.
    pub(super) fn superseded(&self, context: &Context, as_of: Seq) -> Superseded {
        let boundary = end_of(context);
        let behind = self.facts.iter().filter(|(seq, _)| **seq <= as_of && Some(**seq) > boundary);
        let found = ledger::superseded(behind.map(|(seq, facts)| (*seq, facts.as_slice())));
        // The open loop is sent unchanged.
        let old = found.into_iter().filter(|found| found.answer < context.settled_below);
        old.map(|found| ((found.answer, found.call_id), found.by)).collect()
    }

    /// Facts of the entries up to one, in order.
    pub(super) fn facts_until(&self, until: Seq) -> impl Iterator<Item = (Seq, &[Fact])> {
        self.facts.range(..=until).map(|(seq, facts)| (*seq, facts.as_slice()))
    }

    /// Removes the first groups after summaries replaced them. Returns their whole sizes.
    pub(super) fn drop_groups(&mut self, count: usize, context: &Context) -> Vec<u64> {
        if let Some(until) = end_of(context) {
            self.facts = self.facts.split_off(&Seq(until.0 + 1));
        }
        self.view.drop_groups(count);
        let passed = self.pieces.drain(..count.min(self.pieces.len())).map(|pieces| pieces.whole());
        let passed = passed.collect();
        self.sizes.drain(..count.min(self.sizes.len()));
        self.tally = Tally::of(context, &self.sizes, &self.pieces);
        self.stale = self.view.groups.len();
        if let Some(first) = self.view.groups.first().map(Group::first_seq) {
            self.parents = self.parents.split_off(&first);
            self.sources = self.sources.split_off(&first);
        }
        passed
    }

    /// An item among the first groups.
    pub(super) fn item(&self, seq: Seq, groups: usize) -> Option<&Item> {
        let items = self.view.groups.iter().take(groups).flat_map(|group| &group.items);
        items.into_iter().find(|item| item.seq == seq)
    }

    /// The input that the current turn began with.
    pub(super) fn turn_input(&self) -> Option<Seq> {
        self.view.groups.iter().rev().find(|group| group.kind == Kind::Input).map(Group::first_seq)
    }

    /// Whether any group up to `as_of` and from an index on is a summary of the host for the main thread.
    pub(super) fn has_host_summary(&self, from: usize, as_of: Seq) -> bool {
        let mut behind = self.view.groups.iter().skip(from).flat_map(|group| &group.items);
        behind.any(|item| {
            item.seq <= as_of && item.entry.origin == Origin::HostSummary && item.entry.author.is_none()
        })
    }

    /// The requests of a person behind the summaries, up to an entry; `None` without one.
    ///
    /// Cost: O(groups).
    pub(super) fn asked_until(&self, as_of: Seq) -> Option<AskedSince> {
        let asks = |group: &&Group| {
            let is_asked = |item: &Item| item.seq <= as_of && item.entry.origin == Origin::Human;
            group.kind == Kind::Input && group.items.iter().any(is_asked)
        };
        let mut asked = self.view.groups.iter().filter(asks);
        asked.next()?;
        // A later request is the newest one.
        let is_only = asked.next().is_none();
        let opening = self.view.groups.first().filter(|group| is_only && asks(group));
        Some(AskedSince { opening: opening.and_then(|group| group.items.first()).cloned() })
    }

    /// Size of the largest summary of the host in the conversation.
    pub(super) fn host_summary_tokens(&self) -> Option<u64> {
        let is_host = |group: &Group| group.items.iter().any(|item| item.entry.origin == Origin::HostSummary);
        let groups = self.view.groups.iter().zip(&self.sizes).filter(|(group, _)| is_host(group));
        groups.map(|(_, sizes)| sizes.full.upper).max()
    }

    /// Size of everything around and between the groups: brackets, and placeholders between consecutive answers.
    pub(super) fn frame(&self) -> Tokens {
        self.tally.frame()
    }

    /// Size of the prepared groups as the context sends them.
    ///
    /// Cost: O(1) for the context for which they were prepared, O(groups) for another.
    pub(super) fn sent(&self, context: &Context) -> Tokens {
        self.tally.sent(context).unwrap_or_else(|| compact::sent_all(context, &self.sizes))
    }

    /// The running sum for a context; `None` if there is none.
    #[cfg(test)]
    pub(super) fn tally_of(&self, context: &Context) -> Option<Tokens> {
        self.tally.sent(context)
    }

    /// The entry to which a transcript goes back when it continues behind `parent`; `None` if the session does not hold
    /// that entry.
    ///
    /// Hidden entries are on the path too, so the walk ends at the first entry that is held, or outside.
    pub(super) fn rewind_point(&self, parent: Option<Seq>, boundary: Option<Seq>) -> Option<Seq> {
        let mut at = parent;
        while let Some(seq) = at {
            let is_outside =
                boundary.is_some_and(|boundary| seq <= boundary) || !self.parents.contains_key(&seq);
            if is_outside {
                return None;
            }
            if self.is_on_path(seq) {
                return Some(seq);
            }
            at = self.parents.get(&seq).copied().flatten();
        }
        None
    }

    fn is_on_path(&self, seq: Seq) -> bool {
        let mut at = self.view.head;
        while let Some(here) = at {
            if here <= seq {
                return here == seq;
            }
            at = self.parents.get(&here).copied().flatten();
        }
        false
    }

    /// Empties the window. Returns its visible entries up to `seq`, to be added again.
    pub(super) fn cut_after(&mut self, seq: Seq, context: &Context) -> Vec<PathEntry> {
        let groups = std::mem::take(&mut self.view.groups);
        let system = std::mem::take(&mut self.view.system);
        self.view = View { system, ..View::behind(context) };
        self.facts.retain(|at, _| *at <= seq);
        self.pieces.clear();
        self.sizes.clear();
        self.tally = Tally::default();
        self.stale = 0;
        let mut items: Vec<Item> = groups.into_iter().flat_map(|group| group.items).collect();
        items.sort_by_key(|item| item.seq);
        let kept = items.into_iter().filter(|item| item.seq <= seq);
        let entries = kept.map(|item| {
            let source = self.sources.get(&item.seq).copied().unwrap_or_default();
            PathEntry::new(item.seq, &item.entry, source)
        });
        entries.collect()
    }
}

/// Makes the form of a group in which the context sends it.
fn make(group: &Group, pieces: &mut GroupPieces, cover: &Cover, shape: &Shape) {
    let superseded = |answer: Seq, call: &str| cover.superseded_by(answer, call);
    pieces.make(group, cover.detail(group), &superseded, shape);
}

fn source_of(sources: &BTreeMap<Seq, u64>, group: &Group) -> u64 {
    group.items.iter().filter_map(|item| sources.get(&item.seq)).sum()
}

/// Index of the first group that a new entry changed.
pub(super) fn changed_group(placed: Placed, view: &View) -> usize {
    match placed {
        Placed::Earlier(at) | Placed::Rewrote(at) => at,
        Placed::New | Placed::Last => view.groups.len().saturating_sub(1),
    }
}
