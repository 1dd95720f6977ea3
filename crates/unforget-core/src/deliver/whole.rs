//! An array that is all of the active history: it may grow the path, cut it back, or edit it.

use super::{Base, Fate, Item, Plan, Walk, Why, added, appended, is_exact, lost, next_matches};
use crate::id::Seq;
use crate::zoo::{self, Bug};

impl Walk<'_> {
    pub(super) fn whole(&self) -> Plan {
        let found = self.matches(None);
        let anchors = self.anchors(&found);
        let Some(last) = anchors.iter().rposition(Option::is_some) else { return self.unknown(&found) };
        let next_match = next_matches(&anchors);
        let mut fates = Vec::with_capacity(self.items.len());
        let mut at = None;
        for (index, item) in self.items.iter().enumerate() {
            let seq = found.get(index).copied().flatten();
            if item.aside {
                fates.push(Fate::Aside);
            } else if let Some(seq) = seq {
                if self.is_edit(item, seq) {
                    return self.branch(fates, at, &found);
                }
                fates.push(self.known(item, seq));
                at = anchors.get(index).copied().flatten().or(at);
            } else if self.named(item).is_some() {
                return self.branch(fates, at, &found);
            } else if index > last {
                return self.grow(fates, at, &found);
            } else if item.is_volatile {
                fates.push(lost(at));
            } else {
                match self.gap(item, at, next_match.get(index).copied().flatten()) {
                    Some(fate) => fates.push(fate),
                    None => return self.branch(fates, at, &found),
                }
            }
        }
        match self.path.firm_after(at) {
            Some(_) if fates.contains(&Fate::Insert) => self.branch(fates, at, &found),
            Some(_) if at.is_some() && !zoo::is(Bug::CutIgnored) => {
                let is_there = |seq: &Seq| found.contains(&Some(*seq));
                self.cut(Why::Rewind, fates, at, &is_there)
            }
            _ => added(fates),
        }
    }

    /// An item without a match between two that have one. `None` if the history was edited here: certain of an
    /// item without a name, since only its place could make it known.
    fn gap(&self, item: &Item, at: Option<Seq>, anchor: Option<Seq>) -> Option<Fate> {
        if !item.has_name {
            return None;
        }
        let next = self.path.firm_after(at).filter(|next| anchor.is_none_or(|anchor| *next < anchor));
        match next {
            None => Some(lost(at)),
            Some(next) => (!item.is_dated && self.says(item, next)).then_some(Fate::Face(next)),
        }
    }

    /// Whether the host changed what an entry says, more than hosts do when they rewrite.
    fn is_edit(&self, item: &Item, seq: Seq) -> bool {
        item.has_name && !zoo::is(Bug::EditIgnored) && !is_exact(item, seq) && !self.says(item, seq)
    }

    /// Nothing of it is on the path, but input of the host's own.
    fn unknown(&self, found: &[Option<Seq>]) -> Plan {
        let firm = self.path.firm_after(None).is_some();
        let mut fates = Vec::new();
        self.rest(&mut fates, if firm { &[] } else { found });
        let is_empty = fates.iter().all(|fate| *fate == Fate::Aside);
        match (firm, is_empty) {
            (true, true) => Plan { why: Why::Rewind, base: Base::Root, fates },
            (true, false) => Plan { why: Why::Unreconciled, base: Base::Root, fates },
            (false, _) => added(fates),
        }
    }

    /// From the first item without a fate on, all go on the path behind `at`; from the first that was to be put
    /// between others, if there is one; or from the first that the array has in another order than the path: it is right.
    fn branch(&self, mut fates: Vec<Fate>, mut at: Option<Seq>, found: &[Option<Seq>]) -> Plan {
        let anchors = self.anchors(found);
        if let Some(first) = fates.iter().position(|fate| *fate == Fate::Insert) {
            fates.truncate(first);
            at = anchors.iter().take(first).flatten().next_back().copied();
        }
        while let Some(seq) = self.first_named(fates.len()).filter(|seq| at.is_some_and(|at| *seq <= at)) {
            let before = anchors.iter().take_while(|found| found.is_none_or(|found| found < seq)).count();
            fates.truncate(before);
            at = anchors.iter().take(before).flatten().next_back().copied();
        }
        self.rest(&mut fates, found);
        let is_left_out =
            |seq: &Seq| self.items.iter().all(|item| item.is_volatile || !item.named.contains(seq));
        self.cut(Why::Branch, fates, at, &|seq| is_left_out(seq) && !anchors.contains(&Some(*seq)))
    }

    /// The path is cut behind `at`; of the host's own input right behind it, what `stays` stays.
    fn cut(&self, why: Why, fates: Vec<Fate>, at: Option<Seq>, stays: &dyn Fn(&Seq) -> bool) -> Plan {
        let is_kept = |seq: &Seq| self.path.volatile.contains(seq) && stays(seq);
        let from = at;
        let at = self.path.next_few(from).take_while(is_kept).last().or(from);
        let after = |fate: Fate| match fate {
            Fate::Known(seq) | Fate::Face(seq) | Fate::Changed(seq) if at.is_none_or(|at| seq > at) => {
                Fate::Append
            }
            // Where nothing of the transcript stays, nothing comes too late.
            Fate::Misplaced if from.is_none() => Fate::Append,
            fate => fate,
        };
        Plan { why, base: at.map_or(Base::Root, Base::After), fates: fates.into_iter().map(after).collect() }
    }

    /// The rest goes on the path, but for input of the host's own that is on it.
    fn rest(&self, fates: &mut Vec<Fate>, found: &[Option<Seq>]) {
        for (index, item) in self.items.iter().enumerate().skip(fates.len()) {
            let seq = found.get(index).copied().flatten().filter(|seq| self.is_live(item, *seq));
            fates.push(seq.map_or_else(|| appended(item), |seq| self.known(item, seq)));
        }
    }

    /// The first entry of the path that an item from `from` on is.
    fn first_named(&self, from: usize) -> Option<Seq> {
        let firm = self.items.iter().skip(from).filter(|item| !item.aside && !item.is_volatile);
        firm.filter_map(|item| self.named(item)).min()
    }

    fn grow(&self, mut fates: Vec<Fate>, at: Option<Seq>, found: &[Option<Seq>]) -> Plan {
        if self.path.firm_after(at).is_some() || self.first_named(fates.len()).is_some() {
            return self.branch(fates, at, found);
        }
        self.rest(&mut fates, found);
        Plan { why: Why::Append, base: Base::Head, fates }
    }
}
