//! An array of a part of the history up to now: it never cuts the path.

use std::collections::{BTreeMap, BTreeSet};

use super::{Base, DeliveryPlan, Fate, Walk, added, lost, next_matches};
use crate::id::Seq;
use crate::mutants::{self, Bug};

impl Walk<'_> {
    pub(super) fn window(&self) -> DeliveryPlan {
        let mut found = self.matches(None);
        let named = self.items.iter().any(|item| item.has_name && !item.is_excluded);
        let overlap = if named { 0 } else { self.overlap(&mut found) };
        let anchors = self.anchors(&found);
        let anchor = anchors.iter().rposition(Option::is_some);
        let next_match = next_matches(&anchors);
        let mut at = None;
        let mut fates = Vec::with_capacity(self.items.len());
        for (index, item) in self.items.iter().enumerate() {
            let seq = found.get(index).copied().flatten();
            fates.push(match seq {
                _ if item.is_excluded => Fate::Excluded,
                Some(seq) if index < overlap => Fate::Replay(seq),
                Some(seq) => self.known(item, seq),
                // Out of order, or repeated within the array.
                None if self.named(item).is_some() => self.known_elsewhere(item),
                None if anchor.is_some_and(|anchor| index < anchor) => {
                    let later = next_match.get(index).copied().flatten();
                    let next =
                        self.path.firm_after(at).filter(|next| later.is_none_or(|later| *next < later));
                    let may_be = !item.is_dated && item.parts.is_some();
                    let says = |next: &Seq| may_be && self.says(item, *next);
                    next.filter(says).map_or_else(|| lost(at), Fate::Copy)
                }
                None => Fate::Append,
            });
            at = anchors.get(index).copied().flatten().or(at);
        }
        let plan = added(fates);
        let base = at.filter(|_| mutants::is(Bug::WindowRewinds)).map_or(plan.base, Base::After);
        DeliveryPlan { base, ..plan }
    }

    /// Matches the longest start of the items that may equal the newest entries of the path, all without names. This is
    /// no proof: the same words may have been said again. Returns the number of matched items.
    fn overlap(&self, found: &mut Vec<Option<Seq>>) -> usize {
        let open: Vec<usize> = (0..self.items.len()).filter(|at| !self.is_excluded(*at)).collect();
        let mut tail = self.path.tail(open.len());
        let classes = self.classes(&tail);
        tail.retain(|seq| classes.contains_key(seq) || !self.path.is_loose(*seq));
        let word = |at: &usize| self.items.get(*at).and_then(|item| item.alike.last()).copied();
        // Items of one class share a list of entries; the last entry identifies the list.
        let items: Vec<Option<Seq>> = open.iter().map(word).collect();
        let stored: Vec<Option<Seq>> = tail.iter().map(|seq| classes.get(seq).copied()).collect();
        let length = suffix_prefix(&stored, &items);
        *found = vec![None; self.items.len()];
        for (at, seq) in open.iter().zip(tail.iter().skip(tail.len() - length)).take(length) {
            if let Some(slot) = found.get_mut(*at) {
                *slot = Some(*seq);
            }
        }
        open.get(length.wrapping_sub(1)).map_or(0, |last| last + 1)
    }

    fn is_excluded(&self, at: usize) -> bool {
        self.items.get(at).is_none_or(|item| item.is_excluded)
    }

    /// The class of each entry of the tail that any item may match.
    fn classes(&self, tail: &[Seq]) -> BTreeMap<Seq, Seq> {
        let mut classes = BTreeMap::new();
        let Some(first) = tail.first() else { return classes };
        let mut done = BTreeSet::new();
        for item in self.items.iter().filter(|item| !item.is_excluded) {
            let Some(class) = item.alike.last() else { continue };
            if done.insert(*class) {
                let from = item.alike.partition_point(|seq| seq < first);
                classes.extend(item.alike.iter().skip(from).map(|seq| (*seq, *class)));
            }
        }
        classes
    }
}

/// Length of the longest suffix of `text` that is a prefix of `pattern`. `None` equals nothing.
///
/// Source: Knuth, Morris, Pratt 1977. O(text + pattern).
fn suffix_prefix(text: &[Option<Seq>], pattern: &[Option<Seq>]) -> usize {
    let is_same = |a: Option<&Option<Seq>>, b: Option<&Option<Seq>>| matches!((a, b), (Some(Some(a)), Some(Some(b))) if a == b);
    let mut fail = vec![0; pattern.len()];
    let mut length = 0;
    for at in 1..pattern.len() {
        while length > 0 && !is_same(pattern.get(at), pattern.get(length)) {
            length = fail.get(length - 1).copied().unwrap_or_default();
        }
        length += usize::from(is_same(pattern.get(at), pattern.get(length)));
        if let Some(slot) = fail.get_mut(at) {
            *slot = length;
        }
    }
    length = 0;
    for word in text {
        while length > 0 && (length == pattern.len() || !is_same(Some(word), pattern.get(length))) {
            length = fail.get(length - 1).copied().unwrap_or_default();
        }
        length += usize::from(is_same(Some(word), pattern.get(length)));
    }
    length
}
