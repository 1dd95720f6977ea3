//! Finds the new messages in an array that a live host delivers.
//!
//! Hosts deliver the same messages again and again: the whole history after a restart, a window of it, a turn, a
//! rewritten copy. A message is recognised by its **names** (the host's id, an idempotency key, its speaker and time);
//! a message without names only by its place. A message that cannot be proven to be stored is stored: nothing is
//! refused, nothing is dropped, and equal text is never a proof.
//!
//! Planning needs the content of a few stored entries. The caller passes what it has loaded; [`plan`] answers with a
//! plan, or with the entries that it also needs.

mod exact;
mod path;
#[cfg(test)]
mod tests;
mod whole;
mod window;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::id::Seq;
use crate::mutants::{self, Bug};

pub use path::Path;

/// How the host describes the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// All of the active history, from its first message on.
    Whole,
    /// A part of the history up to now, perhaps clipped, filtered or rewritten.
    Window,
    /// The messages that a turn added.
    Turn,
    /// The active path itself, message by message: exactly what the model is to read.
    Exact,
    /// Like `Exact`, for a dry run: a changed message matches by position.
    Alike,
    /// The end of an `Exact` array: its messages behind the newest entry of the path. The host keeps the path message by
    /// message, and knows that these are new.
    Rest,
}

/// A delivered message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct DeliveredItem {
    /// Stored entries that have one of its names, ascending.
    pub named: Vec<Seq>,
    /// Whether it has a name of its own. Such a message is new unless a stored entry has that name. A place in a keyed
    /// turn is no name: the message may have arrived by another way too.
    pub has_name: bool,
    /// Has a timestamp. Hosts reassign ids, never times: without an entry of its names, it is new whatever its content.
    pub is_dated: bool,
    /// The entry with its id lacks the item's other names. Hosts reuse ids, so the content must match too.
    pub is_doubtful: bool,
    /// Stored entries with equal content, ascending. Used only for a message without a name of its own.
    pub alike: Arc<[Seq]>,
    /// Stored entries that were delivered with exactly these bytes, ascending.
    pub exact: Arc<[Seq]>,
    /// Its content, one digest per part, without the parts that hosts rewrite. `None` if its bytes are only known to
    /// equal those of the entries that it names.
    pub parts: Option<Vec<u64>>,
    /// The host does not keep it, so its place is the one in the host's array.
    pub is_volatile: bool,
    /// Written by a model.
    pub is_answer: bool,
    /// Excluded from the comparison: instructions, the host's own summary, our own output.
    pub is_excluded: bool,
}

impl DeliveredItem {
    /// Whether it has content to compare.
    fn has_words(&self) -> bool {
        self.parts.as_ref().is_some_and(|parts| !parts.is_empty())
    }
}

/// What happens with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is stored already, as this entry of the active path.
    Known(Seq),
    /// It goes on the path, after the items before it.
    Append,
    /// It may repeat this entry. It is stored and marked; prompts do not show it.
    Replay(Seq),
    /// The host's rewritten copy of this entry, or of several from this one on. Stored, not shown.
    Copy(Seq),
    /// It has a name of this entry but other content: clipped by the host, or edited. Stored, not shown.
    Changed(Seq),
    /// It was lost on the way, or is volatile. Its place is behind the previous item and before later entries of the
    /// path.
    Insert,
    /// It stands before everything that is known, and its place cannot be told. Stored, not shown.
    Misplaced,
    /// It is excluded from the comparison.
    Excluded,
}

/// Where the path continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// After its newest entry.
    Head,
    /// After this entry; everything behind it is no longer active.
    After(Seq),
    /// Nowhere: a new beginning.
    Root,
}

/// The outcome of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Nothing is new.
    UpToDate,
    /// The path grows at its end.
    Append,
    /// The history was cut back.
    Rewind,
    /// The history was cut back or edited, and continues differently.
    Branch,
    /// The host claims to send the whole history, but no message of it is on the path.
    Unreconciled,
}

impl DeliveryOutcome {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UpToDate => "up-to-date",
            Self::Append => "append",
            Self::Rewind => "rewind",
            Self::Branch => "branch",
            Self::Unreconciled => "unreconciled",
        }
    }
}

/// What to write. Planning again after carrying a plan out gives [`DeliveryOutcome::UpToDate`], unless items have neither names nor
/// a provable place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeliveryPlan {
    /// The outcome of the delivery.
    pub why: DeliveryOutcome,
    /// Where the path continues.
    pub base: Base,
    /// One per item.
    pub fates: Vec<Fate>,
}

/// Contents of stored entries, as in [`DeliveredItem::parts`]. A purged entry has no parts.
pub type StoredParts = BTreeMap<Seq, Vec<u64>>;

/// The answer of [`plan`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Planning {
    /// The contents were enough.
    Done(DeliveryPlan),
    /// The contents of these entries are needed too, ascending. None of them was passed.
    Wants(Vec<Seq>),
}

/// Plans what a delivered array changes.
///
/// * `stored` - contents of stored entries, empty at first. After [`Planning::Wants`], call again with the wanted contents
///   added. At most four calls want more: for entries that may match and for their neighbours, which hosts merge, then
///   for entries that do match and for theirs. Contents are needed only where names match but content may differ.
///
/// Cost: O(items), O(log runs) each, per call. Source: design §4 Reconcile; F034 to F040, F097 to F100.
pub fn plan(how: How, path: Path<'_>, items: &[DeliveredItem], stored: &StoredParts) -> Planning {
    let walk = Walk { path, items, stored, wanted: RefCell::default() };
    let plan = match how {
        How::Whole => walk.whole(),
        How::Window => walk.window(),
        How::Turn => walk.turn(),
        How::Exact => walk.exact().with_words_of(items),
        How::Alike => walk.exact(),
        How::Rest => added(items.iter().map(appended).collect()),
    };
    let wanted = walk.wanted.into_inner();
    if wanted.is_empty() { Planning::Done(plan) } else { Planning::Wants(wanted.into_iter().collect()) }
}

/// One attempt to plan. Where a content is missing, the attempt notes the entry and goes on with a guess, so that it finds
/// all that is missing at once; its plan is then dropped.
struct Walk<'a> {
    path: Path<'a>,
    items: &'a [DeliveredItem],
    stored: &'a StoredParts,
    /// Entries whose contents are missing.
    wanted: RefCell<BTreeSet<Seq>>,
}

/// Whether an item has the content of stored entries.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Different,
    /// A content is missing, and noted as such.
    Missing,
}

impl Walk<'_> {
    /// The entry of the path behind `at` that matches this item.
    fn find(&self, item: &DeliveredItem, at: Option<Seq>) -> Option<Seq> {
        let is_behind = |seq: &Seq| at.is_none_or(|at| *seq > at);
        let from = item.named.partition_point(|seq| !is_behind(seq));
        let named = item.named.iter().skip(from).copied().find(|seq| self.is_it(item, *seq));
        if item.has_name || named.is_some() {
            return named.filter(|_| !mutants::is(Bug::NamesIgnored));
        }
        if mutants::is(Bug::WordsAsProof) {
            return item.alike.iter().copied().find(|seq| self.path.holds(*seq));
        }
        self.path.next_few(at).find(|next| item.alike.binary_search(next).is_ok())
    }

    /// An entry anywhere on the path that has a name of this item.
    fn named(&self, item: &DeliveredItem) -> Option<Seq> {
        item.named.iter().copied().find(|seq| self.is_it(item, *seq))
    }

    /// Whether an entry that has a name of the item matches it.
    fn is_it(&self, item: &DeliveredItem, seq: Seq) -> bool {
        // While contents are missing nothing matches, so that the search visits every candidate.
        self.path.holds(seq)
            && (!item.is_doubtful || is_exact(item, seq) || self.compare(item, seq) == Comparison::Equal)
    }

    /// Whether an item is the host's volatile input and its entry on the path is too. Arrays move such input around and
    /// then leave it out, so it says nothing about the places of other messages.
    fn is_live(&self, item: &DeliveredItem, seq: Seq) -> bool {
        item.is_volatile && self.path.volatile.contains(&seq)
    }

    /// Matches all items, in order.
    ///
    /// * `at` - the entry behind which the first item without a name must stand.
    fn matches(&self, at: Option<Seq>) -> Vec<Option<Seq>> {
        for item in self.items.iter().filter(|item| item.is_doubtful && !item.is_excluded) {
            // Which candidates are compared must not depend on the outcome for other items.
            item.named.iter().for_each(|seq| _ = self.is_it(item, *seq));
        }
        let (mut at, mut live) = (at, at);
        let mut matches = Vec::with_capacity(self.items.len());
        for item in self.items {
            if item.is_excluded {
                matches.push(None);
                continue;
            }
            let is_placed = item.has_name || !item.named.is_empty();
            let found = self.find(item, if is_placed { at } else { at.max(live) });
            let found = found.or_else(|| self.named(item).filter(|seq| self.is_live(item, *seq)));
            match found {
                Some(seq) if self.is_live(item, seq) => live = live.max(found),
                _ => at = found.or(at),
            }
            matches.push(found);
        }
        matches
    }

    /// The matches that tell the places of other messages.
    fn anchors(&self, found: &[Option<Seq>]) -> Vec<Option<Seq>> {
        let anchor =
            |(item, seq): (&DeliveredItem, &Option<Seq>)| seq.filter(|seq| !self.is_live(item, *seq));
        self.items.iter().zip(found).map(anchor).collect()
    }

    /// Whether an item has the content of an entry, or of the entry and those behind it: hosts merge neighbours. While
    /// contents are missing the answer is yes, so that the attempt goes on to the last item.
    fn says(&self, item: &DeliveredItem, seq: Seq) -> bool {
        self.compare(item, seq) != Comparison::Different
    }

    fn compare(&self, item: &DeliveredItem, seq: Seq) -> Comparison {
        let Some(said) = &item.parts else { return Comparison::Equal };
        let mut rest = said.as_slice();
        let mut at = Some(seq);
        while let Some(next) = at {
            let Some(stored) = self.stored.get(&next) else {
                // The first entry is often all that is needed; behind it, each entry takes one part at least.
                self.want(next, if next == seq { 1 } else { rest.len() });
                return Comparison::Missing;
            };
            match rest.strip_prefix(stored.as_slice()) {
                Some([]) => return Comparison::Equal,
                Some(more) if !stored.is_empty() => rest = more,
                _ => return Comparison::Different,
            }
            at = self.path.firm_after(Some(next));
        }
        Comparison::Different
    }

    /// Notes that the contents of this entry and all later entries are missing.
    fn want(&self, seq: Seq, count: usize) {
        let behind = std::iter::successors(Some(seq), |seq| self.path.firm_after(Some(*seq)));
        let missing = behind.take(count).filter(|seq| !self.stored.contains_key(seq));
        self.wanted.borrow_mut().extend(missing);
    }

    /// Whether an item has the content of exactly this entry. While that is missing the answer is yes.
    fn is_same(&self, item: &DeliveredItem, seq: Seq) -> bool {
        let Some(said) = item.parts.as_ref().filter(|_| !is_exact(item, seq)) else { return true };
        let stored = self.stored.get(&seq);
        if stored.is_none() {
            self.want(seq, 1);
        }
        stored.is_none_or(|stored| stored == said)
    }

    fn known(&self, item: &DeliveredItem, seq: Seq) -> Fate {
        match self.is_same(item, seq) {
            true => Fate::Known(seq),
            false if mutants::is(Bug::CopyShown) => Fate::Append,
            false if self.says(item, seq) => Fate::Copy(seq),
            false => Fate::Changed(seq),
        }
    }

    /// The fate of an item whose only possible entry on the path stands before the place where it was looked for.
    fn known_elsewhere(&self, item: &DeliveredItem) -> Fate {
        self.named(item).map_or(Fate::Append, |seq| self.known(item, seq))
    }

    /// Whether the content of any of these items is stored in its entry. Compares all of them: each may miss a content.
    fn is_any_said<'a>(&self, matched: impl Iterator<Item = (&'a DeliveredItem, Seq)>) -> bool {
        let fates = matched.map(|(item, seq)| self.known(item, seq));
        fates.filter(|fate| matches!(fate, Fate::Known(_) | Fate::Copy(_))).count() > 0
    }

    fn turn(&self) -> DeliveryPlan {
        let restart = self.matches(None);
        let last = restart.iter().flatten().next_back().copied();
        let length: u64 = self.path.runs.iter().map(|run| run.end - run.start).sum();
        let firm = length.saturating_sub(self.path.volatile.len() as u64);
        let matched = || self.items.iter().zip(&restart).filter_map(|(item, seq)| Some((item, (*seq)?)));
        // Everything stored and then more: a restart. For items without names a restart is likely but not certain; for
        // a single message it is neither. Items with the times of older messages but none of their content come from a
        // clock that stands still.
        let is_restart =
            firm > 1 && last.is_some() && self.path.firm_after(last).is_none() && self.is_any_said(matched());
        let found = if is_restart { restart } else { self.matches(self.path.committed) };
        let compared = self.items.iter().filter(|item| !item.is_excluded);
        let is_again = self.is_any_said(compared.filter_map(|item| Some((item, self.named(item)?))));
        let fate = |(item, seq): (&DeliveredItem, Option<Seq>)| match seq {
            _ if item.is_excluded => Fate::Excluded,
            Some(seq) if is_restart && !item.named.contains(&seq) => Fate::Replay(seq),
            Some(seq) => self.known(item, seq),
            None => match self.known_elsewhere(item) {
                Fate::Changed(_) if item.is_dated && !is_again => Fate::Append,
                fate => fate,
            },
        };
        added(self.items.iter().zip(found).map(fate).collect())
    }
}

/// Whether an item equals an entry byte for byte, so that its content need not be compared.
fn is_exact(item: &DeliveredItem, seq: Seq) -> bool {
    item.exact.binary_search(&seq).is_ok()
}

/// For each item, the entry of the next matched item after it.
fn next_matches(found: &[Option<Seq>]) -> Vec<Option<Seq>> {
    let mut next = None;
    let behind = |found: &Option<Seq>| {
        let behind = next;
        next = found.or(next);
        behind
    };
    let mut all: Vec<_> = found.iter().rev().map(behind).collect();
    all.reverse();
    all
}

/// The fate of an unmatched item between matched ones, or before them.
const fn lost(at: Option<Seq>) -> Fate {
    if at.is_some() { Fate::Insert } else { Fate::Misplaced }
}

impl DeliveryPlan {
    /// Replaces the plan by a branch at the first message whose content changed, since the model reads the array as it
    /// is. Items without text, such as sealed reasoning, match by their place.
    fn with_words_of(mut self, items: &[DeliveredItem]) -> Self {
        let mut pairs = self.fates.iter().zip(items);
        let at = pairs.position(|(fate, item)| matches!(fate, Fate::Changed(_)) && item.has_words());
        let Some(at) = at else { return self };
        let last = self.fates.iter().take(at).rev().find_map(|fate| match fate {
            Fate::Known(seq) | Fate::Copy(seq) | Fate::Changed(seq) => Some(*seq),
            _ => None,
        });
        self.fates.truncate(at);
        self.fates.extend(items.iter().skip(at).map(appended));
        Self { why: DeliveryOutcome::Branch, base: last.map_or(Base::Root, Base::After), fates: self.fates }
    }
}

fn appended(item: &DeliveredItem) -> Fate {
    if item.is_excluded { Fate::Excluded } else { Fate::Append }
}

fn added(fates: Vec<Fate>) -> DeliveryPlan {
    let is_new = fates.iter().any(|fate| matches!(fate, Fate::Append | Fate::Insert));
    DeliveryPlan {
        why: if is_new { DeliveryOutcome::Append } else { DeliveryOutcome::UpToDate },
        base: Base::Head,
        fates,
    }
}
