//! Reconnects the remaining records.

use std::collections::BTreeSet;

use super::{HOME_MAX, KeptTo, RecordChange, Settler};
use crate::transcript::cuts::RecordCuts;
use crate::transcript::fact::{Kept, Link, Voice};
use crate::transcript::problem::Problem;

impl Settler<'_, '_> {
    /// Re-parents the surviving records.
    pub(super) fn join_again(&mut self, cuts: &RecordCuts) {
        let parents = self.parents();
        for (record, fact) in self.facts.iter().enumerate() {
            let is_foreign =
                self.links.foreign.binary_search(&record).is_ok() && !self.moved.contains(&record);
            if self.is_gone(record) || fact.voice == Voice::Outside || is_foreign {
                continue;
            }
            let now = match &fact.link {
                Link::Previous => continue,
                Link::Root => None,
                Link::Id(id) => Some(&**id),
                Link::Missing => Some(""),
            };
            let to = self.named(parents.get(record).copied().flatten(), &parents);
            if to.as_deref() != now {
                let problem = self.why(record);
                self.change(record, RecordChange::Link(to), problem);
            }
        }
        let facts = self.facts;
        let id = |record: &usize| facts.get(*record).and_then(|fact| fact.id.as_deref());
        let moved: BTreeSet<&str> = self.moved.iter().filter_map(id).collect();
        for (&compaction, start) in &self.links.kept {
            let kept = facts.get(compaction).and_then(|fact| fact.kept.as_ref());
            match (start, kept) {
                _ if self.is_gone(compaction) => {}
                (Some(start), _) => {
                    self.keep(compaction, cuts.starts.get(&compaction).copied().unwrap_or(*start), &parents);
                }
                // The named record was not on the compaction's path but would be now. The compaction still keeps
                // nothing.
                (None, Some(Kept::Id(name))) if moved.contains(&**name) => {
                    if let Some(own) = self.named(Some(compaction), &parents) {
                        let change = RecordChange::Keep(KeptTo::Id(own));
                        self.changes.push((compaction, change, Problem::DisplacedResult));
                    }
                }
                (None, _) => {}
            }
        }
    }

    /// The final parent of each record.
    fn parents(&self) -> Vec<Option<usize>> {
        let is_off = |record: usize| self.is_gone(record) || self.moved.contains(&record);
        let mut over: Vec<Option<usize>> = Vec::with_capacity(self.facts.len());
        for (record, up) in self.links.up.iter().enumerate() {
            let over_it = match up {
                Some(up) if is_off(*up) => over.get(*up).copied().flatten(),
                up => *up,
            };
            let inserted = over_it.and_then(|up| self.inserted.get(&up)?.last().copied());
            let is_detour =
                self.detours.contains(&record) || over_it.is_some_and(|up| self.forks.contains(&up));
            let over_it = inserted.filter(|last| is_detour && *last != record).or(over_it);
            over.push(over_it);
        }
        for (&behind, inserted) in &self.inserted {
            let mut up = behind;
            for &record in inserted {
                if let Some(parent) = over.get_mut(record) {
                    *parent = Some(up);
                }
                up = record;
            }
        }
        over
    }

    /// The id of a record, or of its nearest ancestor with an id.
    fn named(&self, mut record: Option<usize>, parents: &[Option<usize>]) -> Option<Box<str>> {
        for _ in 0..HOME_MAX {
            let at = record?;
            if let Some(to) = self.links.renamed.get(&at) {
                return Some(to.clone());
            }
            if let Some(id) = self.facts.get(at).and_then(|fact| fact.id.clone()) {
                return Some(id);
            }
            record = parents.get(at).copied().flatten();
        }
        None
    }

    /// The problem for which a record is hung on another parent.
    fn why(&self, record: usize) -> Problem {
        let mut up = self.links.up.get(record).copied().flatten();
        if self.links.lost.binary_search(&record).is_ok() {
            return Problem::LostParent;
        }
        if self.moved.contains(&record) || self.detours.contains(&record) {
            return Problem::DisplacedResult;
        }
        while let Some(at) = up {
            if self.links.renamed.contains_key(&at) {
                return Problem::ReusedId;
            }
            if let Some(problem) = self.gone.get(&at) {
                return *problem;
            }
            if !self.moved.contains(&at) {
                break;
            }
            up = self.links.up.get(at).copied().flatten();
        }
        Problem::DisplacedResult
    }

    /// Lets a compaction start at `start`, if it starts elsewhere or that record is gone.
    fn keep(&mut self, compaction: usize, start: usize, parents: &[Option<usize>]) {
        let Some(kept) = self.facts.get(compaction).and_then(|fact| fact.kept.as_ref()) else { return };
        let mut to = start;
        if self.is_gone(start) || self.moved.contains(&start) {
            // The first remaining record behind it. A moved result belongs to its call and does not count.
            to = compaction;
            let mut here = parents.get(compaction).copied().flatten();
            while let Some(record) = here.filter(|record| *record > start || self.moved.contains(record)) {
                if !self.moved.contains(&record) {
                    to = record;
                }
                here = parents.get(record).copied().flatten();
            }
        }
        let problem = if start == to {
            Problem::SplitPair
        } else {
            self.gone.get(&start).copied().unwrap_or(Problem::DisplacedResult)
        };
        match kept {
            Kept::Record(_) => self.change(compaction, RecordChange::Keep(KeptTo::Record(to)), problem),
            Kept::Id(now) => {
                let name = self.named(Some(to), parents);
                if let Some(name) = name.filter(|name| name != now) {
                    self.change(compaction, RecordChange::Keep(KeptTo::Id(name)), problem);
                }
            }
            Kept::Nothing | Kept::Lost => {}
        }
    }
}
