//! An array of the whole active history: it may extend the path, cut it back, or edit it.

use super::{
    Base, DeliveredItem, DeliveryOutcome, DeliveryPlan, Fate, Walk, added, appended, is_exact, lost,
    next_matches,
};
use crate::id::Seq;
use crate::mutants::{self, Bug};

impl Walk<'_> {
    pub(super) fn whole(&self) -> DeliveryPlan {
        let found = self.matches(None);
        let anchors = self.anchors(&found);
        let Some(last) = anchors.iter().rposition(Option::is_some) else { return self.unknown(&found) };
        let next_match = next_matches(&anchors);
        let mut fates = Vec::with_capacity(self.items.len());
        let mut at = None;
        for (index, item) in self.items.iter().enumerate() {
            let seq = found.get(index).copied().flatten();
            if item.is_excluded {
                fates.push(Fate::Excluded);
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
            Some(_) if at.is_some() && !mutants::is(Bug::CutIgnored) => {
                let is_there = |seq: &Seq| found.contains(&Some(*seq));
                self.cut(DeliveryOutcome::Rewind, fates, at, &is_there)
            }
            _ => added(fates),
        }
    }

    /// The fate of an unmatched item between two matched ones. `None` if the history was edited here. That is certain
    /// for an item without a name, since only its place could identify it.
    fn gap(&self, item: &DeliveredItem, at: Option<Seq>, anchor: Option<Seq>) -> Option<Fate> {
        if !item.has_name {
            return None;
        }
        let next = self.path.firm_after(at).filter(|next| anchor.is_none_or(|anchor| *next < anchor));
        match next {
            None => Some(lost(at)),
            Some(next) => (!item.is_dated && self.says(item, next)).then_some(Fate::Copy(next)),
        }
    }

    /// Whether the host changed an entry's content more than hosts do when they rewrite.
    fn is_edit(&self, item: &DeliveredItem, seq: Seq) -> bool {
        item.has_name && !mutants::is(Bug::EditIgnored) && !is_exact(item, seq) && !self.says(item, seq)
    }

    /// The plan for an array without a match on the path, except for the host's volatile input.
    fn unknown(&self, found: &[Option<Seq>]) -> DeliveryPlan {
        let firm = self.path.firm_after(None).is_some();
        let mut fates = Vec::new();
        self.rest(&mut fates, if firm { &[] } else { found });
        let is_empty = fates.iter().all(|fate| *fate == Fate::Excluded);
        match (firm, is_empty) {
            (true, true) => DeliveryPlan { why: DeliveryOutcome::Rewind, base: Base::Root, fates },
            (true, false) => DeliveryPlan { why: DeliveryOutcome::Unreconciled, base: Base::Root, fates },
            (false, _) => added(fates),
        }
    }

    /// Puts all items from the first one without a fate on the path behind `at`. It starts earlier if an earlier item
    /// was to be inserted, or if the array has another order than the path there: the array is right.
    fn branch(&self, mut fates: Vec<Fate>, mut at: Option<Seq>, found: &[Option<Seq>]) -> DeliveryPlan {
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
        self.cut(DeliveryOutcome::Branch, fates, at, &|seq| {
            is_left_out(seq) && !anchors.contains(&Some(*seq))
        })
    }

    /// Cuts the path behind `at`, except for the host's volatile input right behind it that `stays` keeps.
    fn cut(
        &self,
        why: DeliveryOutcome,
        fates: Vec<Fate>,
        at: Option<Seq>,
        stays: &dyn Fn(&Seq) -> bool,
    ) -> DeliveryPlan {
        let is_kept = |seq: &Seq| self.path.volatile.contains(seq) && stays(seq);
        let from = at;
        let at = self.path.next_few(from).take_while(is_kept).last().or(from);
        let after = |fate: Fate| match fate {
            Fate::Known(seq) | Fate::Copy(seq) | Fate::Changed(seq) if at.is_none_or(|at| seq > at) => {
                Fate::Append
            }
            // If nothing of the transcript stays, no item is misplaced.
            Fate::Misplaced if from.is_none() => Fate::Append,
            fate => fate,
        };
        DeliveryPlan {
            why,
            base: at.map_or(Base::Root, Base::After),
            fates: fates.into_iter().map(after).collect(),
        }
    }

    /// Appends the remaining items, except for the host's volatile input that is on the path already.
    fn rest(&self, fates: &mut Vec<Fate>, found: &[Option<Seq>]) {
        for (index, item) in self.items.iter().enumerate().skip(fates.len()) {
            let seq = found.get(index).copied().flatten().filter(|seq| self.is_live(item, *seq));
            fates.push(seq.map_or_else(|| appended(item), |seq| self.known(item, seq)));
        }
    }

    /// The first entry of the path that an item from `from` on matches.
    fn first_named(&self, from: usize) -> Option<Seq> {
        let firm = self.items.iter().skip(from).filter(|item| !item.is_excluded && !item.is_volatile);
        firm.filter_map(|item| self.named(item)).min()
    }

    fn grow(&self, mut fates: Vec<Fate>, at: Option<Seq>, found: &[Option<Seq>]) -> DeliveryPlan {
        if self.path.firm_after(at).is_some() || self.first_named(fates.len()).is_some() {
            return self.branch(fates, at, found);
        }
        self.rest(&mut fates, found);
        DeliveryPlan { why: DeliveryOutcome::Append, base: Base::Head, fates }
    }
}
