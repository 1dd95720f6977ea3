//! The active path of a lane.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::id::Seq;

/// The active path, oldest entry first.
#[derive(Clone, Copy, Debug)]
pub struct Path<'a> {
    /// Its entries as ascending runs.
    pub runs: &'a [Range<u64>],
    /// The host's volatile input on the path, which arrays leave out.
    pub volatile: &'a BTreeSet<Seq>,
    /// Entries of the open turn, ascending: arrays may leave them out until the turn ends.
    pub open: &'a [Seq],
    /// The newest entry at the last commit of a turn.
    pub committed: Option<Seq>,
}

impl Path<'_> {
    /// The newest entry.
    pub fn last(&self) -> Option<Seq> {
        self.runs.last().map(|run| Seq(run.end - 1))
    }

    /// Whether an entry is on the path. O(log runs).
    pub fn holds(&self, seq: Seq) -> bool {
        let at = self.runs.partition_point(|run| run.end <= seq.0);
        self.runs.get(at).is_some_and(|run| run.contains(&seq.0))
    }

    /// Whether an array may leave an entry out.
    pub fn is_loose(&self, seq: Seq) -> bool {
        self.volatile.contains(&seq) || self.open.binary_search(&seq).is_ok()
    }

    /// The first entry after `seq`, or of the whole path.
    pub(super) fn after(&self, seq: Option<Seq>) -> Option<Seq> {
        let from = seq.map_or(0, |seq| seq.0 + 1);
        let at = self.runs.partition_point(|run| run.end <= from);
        self.runs.get(at).map(|run| Seq(run.start.max(from)))
    }

    /// The first entry after `seq` that arrays may not leave out, or the first such entry of the path.
    pub(super) fn firm_after(&self, seq: Option<Seq>) -> Option<Seq> {
        let mut next = self.after(seq);
        while let Some(at) = next.filter(|at| self.is_loose(*at)) {
            next = self.after(Some(at));
        }
        next
    }

    /// The entries behind `at`, up to the first that arrays may not leave out.
    pub(super) fn next_few(&self, at: Option<Seq>) -> impl Iterator<Item = Seq> {
        let mut next = self.after(at);
        std::iter::from_fn(move || {
            let seq = next?;
            next = if self.is_loose(seq) { self.after(Some(seq)) } else { None };
            Some(seq)
        })
    }

    /// The newest entries, back to the `count`th that arrays may not leave out, oldest first.
    pub(super) fn tail(&self, count: usize) -> Vec<Seq> {
        let mut left = count;
        let seqs = self.runs.iter().rev().flat_map(|run| run.clone().rev().map(Seq));
        let mut tail: Vec<Seq> = seqs
            .take_while(|seq| {
                let is_firm = !self.is_loose(*seq);
                let is_in = left > 0;
                left -= usize::from(is_firm && is_in);
                is_in
            })
            .collect();
        tail.reverse();
        tail
    }
}
