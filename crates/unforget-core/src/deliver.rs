//! What is new in an array of messages that a live host delivers.
//!
//! Hosts deliver the same messages again and again: the whole history after a restart, a window of it,
//! a turn, a rewritten copy. A message is known by its **names** (the host's id, an idempotency key, its
//! speaker and time); one without names is known only by where it stands. What cannot be proven to be
//! stored is stored: nothing is refused, nothing is dropped, and no equal text is taken for a proof.

mod exact;
mod path;
#[cfg(test)]
mod tests;
mod whole;
mod window;

use std::sync::Arc;

use crate::id::Seq;
use crate::zoo::{self, Bug};

pub use path::Path;

/// What the host says of the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is all of the active history, from its first message on.
    Whole,
    /// It is some of the history up to now, perhaps clipped, filtered or rewritten.
    Window,
    /// It is what a turn added.
    Turn,
    /// It is the active path itself, message by message: what the model shall read.
    Exact,
    /// The same, to see whether it is this history at all: messages with other words stand for those that they stand between.
    Alike,
}

/// A delivered message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "facts that do not depend on each other")]
pub struct Item {
    /// Stored entries that have one of its names, ascending.
    pub named: Vec<Seq>,
    /// Whether it has a name of its own: then it is new unless a stored entry has that name. A place in a keyed turn
    /// is none: the same message may have come by another way.
    pub has_name: bool,
    /// It has a time. Hosts give ids anew, times not: if no entry has its names, it is new, whatever it says.
    pub is_dated: bool,
    /// Its id is that of an entry that does not have its other names: hosts give ids anew. Then an entry is it only if
    /// it says the same.
    pub is_doubtful: bool,
    /// Stored entries that say the same, ascending. Looked at only if it has no name of its own.
    pub alike: Arc<[Seq]>,
    /// Stored entries that were delivered with exactly its bytes, ascending.
    pub exact: Arc<[Seq]>,
    /// What it says, one digest per part, without what hosts rewrite; `None` if it is only known that
    /// its bytes are those of the entries that it names.
    pub parts: Option<Vec<u64>>,
    /// The host does not keep it: then it belongs where the host's array has it.
    pub is_volatile: bool,
    /// A model said it.
    pub is_answer: bool,
    /// Takes no part in the comparison: instructions, the host's own summary, our own output.
    pub aside: bool,
}

/// What to do with an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is stored, as this entry of the active path.
    Known(Seq),
    /// It goes on the path, after those before it.
    Append,
    /// It may be this entry once more. It is stored and marked; a prompt does not show it.
    Replay(Seq),
    /// It is the host's rewritten copy of this entry, or of some from it on. Stored, not shown.
    Face(Seq),
    /// It has a name of this entry and says something else: clipped by the host, or edited. Stored, not shown.
    Changed(Seq),
    /// It was lost on the way, or is volatile: it belongs behind the item before it, and before entries of the path.
    Insert,
    /// It stands before all that is known, and nothing tells where it belongs. Stored, not shown.
    Misplaced,
    /// It takes no part.
    Aside,
}

/// Where the path goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// After its newest entry.
    Head,
    /// After this entry: what comes behind it is not active any more.
    After(Seq),
    /// Nowhere: a new beginning.
    Root,
}

/// What a delivery was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Nothing is new.
    UpToDate,
    /// The path grows at its end.
    Append,
    /// The history was cut back.
    Rewind,
    /// The history was cut back or edited, and goes on differently.
    Branch,
    /// The host says that this is the whole history, and none of it is on the path.
    Unreconciled,
}

impl Why {
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

/// What to write. Carrying a plan out and planning again gives [`Why::UpToDate`], unless items have
/// neither names nor a provable place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// What the delivery was.
    pub why: Why,
    /// Where the path goes on.
    pub base: Base,
    /// One per item.
    pub fates: Vec<Fate>,
}

/// Decides what a delivered array means.
///
/// * `parts` - what a stored entry says, as [`Item::parts`] has it; asked only where names agree and
///   words may not.
///
/// Cost: O(items), O(log runs) each. Source: design §4 Reconcile; F034 to F040, F097 to F100.
pub fn plan(how: How, path: Path<'_>, items: &[Item], parts: &dyn Fn(Seq) -> Vec<u64>) -> Plan {
    let walk = Walk { path, items, parts };
    match how {
        How::Whole => walk.whole(),
        How::Window => walk.window(),
        How::Turn => walk.turn(),
        How::Exact => walk.exact().with_words_of(items),
        How::Alike => walk.exact(),
    }
}

struct Walk<'a> {
    path: Path<'a>,
    items: &'a [Item],
    parts: &'a dyn Fn(Seq) -> Vec<u64>,
}

impl Walk<'_> {
    /// The entry of the path behind `at` that this item is.
    fn find(&self, item: &Item, at: Option<Seq>) -> Option<Seq> {
        let is_behind = |seq: &Seq| at.is_none_or(|at| *seq > at);
        let from = item.named.partition_point(|seq| !is_behind(seq));
        let named = item.named.iter().skip(from).copied().find(|seq| self.is_it(item, *seq));
        if item.has_name || named.is_some() {
            return named.filter(|_| !zoo::is(Bug::NamesIgnored));
        }
        if zoo::is(Bug::WordsAsProof) {
            return item.alike.iter().copied().find(|seq| self.path.holds(*seq));
        }
        self.path.next_few(at).find(|next| item.alike.binary_search(next).is_ok())
    }

    /// An entry of the path that has a name of this item, wherever it stands.
    fn named(&self, item: &Item) -> Option<Seq> {
        item.named.iter().copied().find(|seq| self.is_it(item, *seq))
    }

    /// Whether an entry that has a name of the item is it.
    fn is_it(&self, item: &Item, seq: Seq) -> bool {
        self.path.holds(seq) && (!item.is_doubtful || is_exact(item, seq) || self.says(item, seq))
    }

    /// Whether an item is input of the host's own that the path has as such. Arrays put it now here, now there, and then
    /// nowhere: it says nothing about where messages of the transcript belong.
    fn is_live(&self, item: &Item, seq: Seq) -> bool {
        item.is_volatile && self.path.volatile.contains(&seq)
    }

    /// Matches every item, in order.
    ///
    /// * `at` - the entry behind which the first one without a name has to be.
    fn matches(&self, at: Option<Seq>) -> Vec<Option<Seq>> {
        let (mut at, mut live) = (at, at);
        let find = |item: &Item| {
            if item.aside {
                return None;
            }
            let is_placed = item.has_name || !item.named.is_empty();
            let found = self.find(item, if is_placed { at } else { at.max(live) });
            let found = found.or_else(|| self.named(item).filter(|seq| self.is_live(item, *seq)));
            match found {
                Some(seq) if self.is_live(item, seq) => live = live.max(found),
                _ => at = found.or(at),
            }
            found
        };
        self.items.iter().map(find).collect()
    }

    /// Matches that tell where messages of the transcript belong.
    fn anchors(&self, found: &[Option<Seq>]) -> Vec<Option<Seq>> {
        let anchor = |(item, seq): (&Item, &Option<Seq>)| seq.filter(|seq| !self.is_live(item, *seq));
        self.items.iter().zip(found).map(anchor).collect()
    }

    /// Whether an item says what an entry says, or what it and those after it say: hosts merge neighbours.
    fn says(&self, item: &Item, seq: Seq) -> bool {
        let Some(said) = &item.parts else { return true };
        let mut rest = said.as_slice();
        let mut at = Some(seq);
        while let Some(seq) = at {
            let stored = (self.parts)(seq);
            match rest.strip_prefix(stored.as_slice()) {
                Some([]) => return true,
                Some(more) if !stored.is_empty() => rest = more,
                _ => return false,
            }
            at = self.path.firm_after(Some(seq));
        }
        false
    }

    fn known(&self, item: &Item, seq: Seq) -> Fate {
        let same = is_exact(item, seq) || item.parts.as_ref().is_none_or(|said| *said == (self.parts)(seq));
        match same {
            true => Fate::Known(seq),
            false if zoo::is(Bug::FaceShown) => Fate::Append,
            false if self.says(item, seq) => Fate::Face(seq),
            false => Fate::Changed(seq),
        }
    }

    /// An item that is on the path, if at all, before the entry behind which it was looked for.
    fn known_elsewhere(&self, item: &Item) -> Fate {
        self.named(item).map_or(Fate::Append, |seq| self.known(item, seq))
    }

    fn turn(&self) -> Plan {
        let restart = self.matches(None);
        let last = restart.iter().flatten().next_back().copied();
        let length: u64 = self.path.runs.iter().map(|run| run.end - run.start).sum();
        let firm = length.saturating_sub(self.path.volatile.len() as u64);
        let is_said = |fate| matches!(fate, Fate::Known(_) | Fate::Face(_));
        let mut matched = self.items.iter().zip(&restart).filter_map(|(item, seq)| Some((item, (*seq)?)));
        // All that is stored, then more: a restart. Without names that is likely, not certain; of one message, neither. What
        // has the times of older messages and says nothing of what they say comes from a clock that stands still.
        let is_restart = firm > 1
            && last.is_some()
            && self.path.firm_after(last).is_none()
            && matched.any(|(item, seq)| is_said(self.known(item, seq)));
        let found = if is_restart { restart } else { self.matches(self.path.committed) };
        let is_again = self.items.iter().any(|item| !item.aside && is_said(self.known_elsewhere(item)));
        let fate = |(item, seq): (&Item, Option<Seq>)| match seq {
            _ if item.aside => Fate::Aside,
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

/// Whether an item is an entry byte for byte: then nobody has to look at its words.
fn is_exact(item: &Item, seq: Seq) -> bool {
    item.exact.binary_search(&seq).is_ok()
}

/// Of each item, the entry that the next item behind it is which is one.
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

/// The fate of an item between others that are stored, or before them.
const fn lost(at: Option<Seq>) -> Fate {
    if at.is_some() { Fate::Insert } else { Fate::Misplaced }
}

impl Plan {
    /// The same for an array that the model shall read as it is: the path is the array from the first message on that has
    /// other words now. What has no words, such as sealed reasoning, is told by where it stands.
    fn with_words_of(mut self, items: &[Item]) -> Self {
        let is_other = |(fate, item): (&Fate, &Item)| {
            let has_words = item.parts.as_ref().is_some_and(|parts| !parts.is_empty());
            matches!(fate, Fate::Changed(_)) && has_words
        };
        let Some(at) = self.fates.iter().zip(items).position(is_other) else { return self };
        let last = self.fates.iter().take(at).rev().find_map(|fate| match fate {
            Fate::Known(seq) | Fate::Face(seq) | Fate::Changed(seq) => Some(*seq),
            _ => None,
        });
        self.fates.truncate(at);
        self.fates.extend(items.iter().skip(at).map(appended));
        Self { why: Why::Branch, base: last.map_or(Base::Root, Base::After), fates: self.fates }
    }
}

fn appended(item: &Item) -> Fate {
    if item.aside { Fate::Aside } else { Fate::Append }
}

fn added(fates: Vec<Fate>) -> Plan {
    let is_new = fates.iter().any(|fate| matches!(fate, Fate::Append | Fate::Insert));
    Plan { why: if is_new { Why::Append } else { Why::UpToDate }, base: Base::Head, fates }
}
