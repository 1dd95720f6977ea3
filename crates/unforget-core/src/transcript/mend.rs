//! The smallest change that mends what was found.

use std::collections::{BTreeMap, BTreeSet};

use super::Examination;
use super::cuts::Cuts;
use super::fact::{Customs, Fact, Kept, Link, Voice};
use super::links::{Links, new_name};
use super::pairs::{Fate, Pairs};
use super::problem::{Finding, Problem};

/// How far back a displaced result is brought home.
const HOME_MAX: usize = 4096;

/// How many results of one call, on different branches, are looked at.
const SAME_CALL_MAX: usize = 16;

/// What to do with one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Take it out.
    Drop,
    /// Put it behind another record, after those that were put there before.
    Move {
        /// The record that it follows from now on.
        behind: usize,
    },
    /// Take these blocks out, by index, ascending.
    CutBlocks(Vec<usize>),
    /// Give a call another id.
    RenameCall {
        /// Index of its block.
        block: usize,
        /// The id.
        to: Box<str>,
    },
    /// Let a result name another call id.
    RenameResult {
        /// Index of its block.
        block: usize,
        /// The id.
        to: Box<str>,
    },
    /// Give the record another id.
    Rename(Box<str>),
    /// Hang it on another parent; `None` makes it a root.
    Link(Option<Box<str>>),
    /// Let a compaction keep everything from here on.
    Keep(KeptTo),
}

/// Where a compaction's kept part starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptTo {
    /// At the record with this id.
    Id(Box<str>),
    /// At this record of the list of facts.
    Record(usize),
}

/// What to change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Record, change, and the problem that it mends; ascending by record. A record that goes has no
    /// other change.
    pub changes: Vec<(usize, Change, Problem)>,
}

/// Turns what was found into findings and a plan.
pub(super) fn settle(
    facts: &[Fact],
    customs: Customs,
    links: &Links,
    pairs: &Pairs<'_>,
    cuts: &Cuts,
) -> Examination {
    let mut settler = Settler {
        facts,
        customs,
        links,
        pairs,
        findings: Vec::new(),
        changes: Vec::new(),
        gone: BTreeMap::new(),
        cut: BTreeMap::new(),
        inserted: BTreeMap::new(),
        moved: BTreeSet::new(),
        detours: BTreeSet::new(),
        forks: BTreeSet::new(),
    };
    settler.of_links();
    settler.of_cuts(cuts);
    settler.of_answers();
    settler.of_calls();
    settler.of_blanks();
    settler.take_out();
    settler.bring_home();
    settler.join_again(cuts);
    settler.finish()
}

struct Settler<'a, 'b> {
    facts: &'a [Fact],
    customs: Customs,
    links: &'b Links,
    pairs: &'b Pairs<'a>,
    findings: Vec<Finding>,
    changes: Vec<(usize, Change, Problem)>,
    /// Records that go, and the problem that asks for it.
    gone: BTreeMap<usize, Problem>,
    /// Blocks to take out of each record, with the first problem that asks for it.
    cut: BTreeMap<usize, (BTreeSet<usize>, Problem)>,
    /// Records that are put behind another one.
    inserted: BTreeMap<usize, Vec<usize>>,
    moved: BTreeSet<usize>,
    /// Records that follow what was put behind their parent.
    detours: BTreeSet<usize>,
    /// Records all of whose children do.
    forks: BTreeSet<usize>,
}

impl Settler<'_, '_> {
    fn find(&mut self, problem: Problem, record: usize, name: Option<&str>, is_mended: bool) {
        self.findings.push(Finding {
            problem,
            record,
            name: name.map(Into::into),
            severity: problem.severity(self.links.is_active(record)),
            is_mended: is_mended && self.customs.is_mendable,
        });
    }

    fn change(&mut self, record: usize, change: Change, problem: Problem) {
        self.changes.push((record, change, problem));
    }

    fn drop(&mut self, record: usize, problem: Problem) {
        if self.gone.insert(record, problem).is_none() {
            self.change(record, Change::Drop, problem);
        }
    }

    fn is_gone(&self, record: usize) -> bool {
        self.gone.contains_key(&record)
    }

    fn cut(&mut self, record: usize, block: usize, problem: Problem) {
        self.cut.entry(record).or_insert_with(|| (BTreeSet::new(), problem)).0.insert(block);
    }

    fn of_links(&mut self) {
        let links = self.links;
        let id = |record: usize| self.facts.get(record).and_then(|fact| fact.id.as_deref());
        for &record in &links.copies {
            self.find(Problem::RepeatedRecord, record, id(record), true);
            self.drop(record, Problem::RepeatedRecord);
        }
        for (&record, to) in &links.renamed {
            self.find(Problem::ReusedId, record, id(record), true);
            self.change(record, Change::Rename(to.clone()), Problem::ReusedId);
        }
        for &record in links.lost.iter().filter(|record| links.copies.binary_search(record).is_err()) {
            let parent = self.facts.get(record).and_then(|fact| match &fact.link {
                Link::Id(id) => Some(&**id),
                _ => None,
            });
            self.find(Problem::LostParent, record, parent, true);
        }
        for (&record, start) in &links.kept {
            if start.is_none() {
                self.find(Problem::LostKept, record, None, false);
            }
        }
    }

    fn of_cuts(&mut self, cuts: &Cuts) {
        let parted: BTreeSet<_> =
            cuts.parted.iter().map(|&(result, compaction)| (compaction, result)).collect();
        for (compaction, result) in parted {
            let name = self.pairs.answers.get(result).map(|answer| answer.id);
            self.find(Problem::SplitPair, compaction, name, true);
        }
    }

    fn of_answers(&mut self) {
        let pairs = self.pairs;
        for answer in &pairs.answers {
            let problem = match answer.fate {
                Fate::Answers(_) => {
                    if answer.is_synthetic {
                        self.find(Problem::SyntheticResult, answer.record, Some(answer.id), false);
                    }
                    continue;
                }
                Fate::Displaced(_) => continue,
                Fate::Parted => {
                    self.cut(answer.record, answer.block, Problem::SplitPair);
                    continue;
                }
                Fate::Orphan => Problem::OrphanResult,
                Fate::OfCutOff => Problem::ResultOfCutOff,
                Fate::Second => Problem::SecondResult,
            };
            self.find(problem, answer.record, Some(answer.id), true);
            self.cut(answer.record, answer.block, problem);
        }
    }

    fn of_calls(&mut self) {
        let pairs = self.pairs;
        let mut renamed: BTreeMap<usize, Box<str>> = BTreeMap::new();
        for (at, call) in pairs.calls.iter().enumerate() {
            let problem = match (call.is_live, call.is_answered) {
                (false, _) => Problem::CutOffCall,
                (true, false) if call.is_followed => Problem::OrphanCall,
                (true, false) => Problem::RunningCall,
                (true, true) if call.is_repeated => Problem::RepeatedCallId,
                (true, true) => continue,
            };
            let is_mended = call.is_followed || problem == Problem::RepeatedCallId;
            self.find(problem, call.record, Some(call.id), is_mended);
            if problem == Problem::RepeatedCallId {
                let to: Box<str> =
                    format!("call_{}", new_name(call.id, call.record * 4096 + call.block)).into();
                let change = Change::RenameCall { block: call.block, to: to.clone() };
                self.change(call.record, change, problem);
                renamed.insert(at, to);
            } else if is_mended {
                self.cut(call.record, call.block, problem);
            }
        }
        for answer in &pairs.answers {
            let (Fate::Answers(call) | Fate::Displaced(call)) = answer.fate else { continue };
            if let Some(to) = renamed.get(&call) {
                let change = Change::RenameResult { block: answer.block, to: to.clone() };
                self.change(answer.record, change, Problem::RepeatedCallId);
            }
        }
    }

    fn of_blanks(&mut self) {
        for (record, fact) in self.facts.iter().enumerate() {
            if !fact.is_blank || !fact.is_barrier() || self.links.is_out.get(record) == Some(&true) {
                continue;
            }
            let is_followed = self.pairs.is_followed.get(record) == Some(&true);
            let is_mended = self.customs.drops_blank && is_followed;
            self.find(Problem::Blank, record, None, is_mended);
            if is_mended {
                self.drop(record, Problem::Blank);
            }
        }
    }

    /// Takes blocks out, and whole records of which nothing is left.
    fn take_out(&mut self) {
        for (record, (blocks, problem)) in std::mem::take(&mut self.cut) {
            let Some(fact) = self.facts.get(record) else { continue };
            let calls = fact.calls.iter().filter(|call| !blocks.contains(&call.block)).count();
            let results = fact.results.iter().filter(|result| !blocks.contains(&result.block)).count();
            if fact.has_words || calls + results > 0 {
                self.change(record, Change::CutBlocks(blocks.into_iter().collect()), problem);
            } else {
                self.drop(record, problem);
            }
        }
    }

    /// Brings displaced results to their calls. After everything that goes is known: what is between them counts.
    fn bring_home(&mut self) {
        let pairs = self.pairs;
        // Where two branches have a result of one call, the real one is brought home.
        let mut displaced: Vec<_> = pairs.answers.iter().filter(|answer| answer.is_displaced()).collect();
        displaced.sort_by_key(|answer| answer.is_synthetic);
        let mut home = BTreeSet::new();
        for answer in displaced {
            let Fate::Displaced(call) = answer.fate else { continue };
            let place = self.home_of(answer.record, call);
            let behind = place.map(|(behind, _)| behind);
            let below = place.and_then(|(_, below)| below);
            let has_other = below.is_some_and(|below| self.is_answered_below(below, call));
            let is_second = has_other || behind.is_some_and(|behind| !home.insert((behind, call)));
            self.detours.extend(below.filter(|_| !has_other));
            let problem = if is_second { Problem::SecondResult } else { Problem::DisplacedResult };
            self.find(problem, answer.record, Some(answer.id), behind.is_some());
            match behind {
                Some(_) if is_second => self.drop(answer.record, problem),
                Some(behind) => {
                    self.inserted.entry(behind).or_default().push(answer.record);
                    self.moved.insert(answer.record);
                    self.change(answer.record, Change::Move { behind }, problem);
                }
                None => {}
            }
        }
        // Lines are put there in file order, and parents stand before their children.
        self.inserted.values_mut().for_each(|inserted| inserted.sort_unstable());
    }

    /// Whether a branch that starts here has a result of a call in its place.
    fn is_answered_below(&self, below: usize, call: usize) -> bool {
        let home = self.pairs.calls.get(call).map_or(0, |call| call.record);
        let last = self.pairs.calls.get(call).map_or(0, |call| call.last_answer);
        let answers = self.pairs.answers.get(..=last).unwrap_or_default().iter().rev().take(HOME_MAX);
        let in_place = answers.filter(|answer| answer.record > home && answer.fate == Fate::Answers(call));
        in_place.take(SAME_CALL_MAX).any(|answer| {
            let mut here = Some(answer.record);
            for _ in 0..HOME_MAX {
                let Some(record) = here.filter(|record| *record > below) else { break };
                here = self.links.before(record);
            }
            here == Some(below)
        })
    }

    /// The record behind which a result belongs, and the one that has to follow it there. `None` if it has to
    /// stay.
    fn home_of(&mut self, record: usize, call: usize) -> Option<(usize, Option<usize>)> {
        let home = self.pairs.calls.get(call)?.record;
        let fact = self.facts.get(record)?;
        if fact.results.len() != 1 || fact.has_words || fact.kept.is_some() {
            return None;
        }
        if record < home {
            self.forks.insert(home);
            return Some((home, None));
        }
        let is_displaced = |record| self.pairs_of(record).any(|fate| matches!(fate, Fate::Displaced(_)));
        let mut path = Vec::new();
        let mut here = self.links.before(record);
        for _ in 0..HOME_MAX {
            let Some(above) = here.filter(|above| *above > home) else { break };
            if !self.is_gone(above) && !is_displaced(above) {
                path.push(above);
            }
            here = self.links.before(above);
        }
        if here != Some(home) {
            return None;
        }
        let is_result = |record: &usize| {
            self.facts.get(*record).is_some_and(|fact| fact.voice == Voice::Results)
                && self.pairs_of(*record).all(|fate| matches!(fate, Fate::Answers(_)))
        };
        let mut behind = home;
        while let Some(result) = path.pop_if(|below| is_result(below)) {
            behind = result;
        }
        Some((behind, path.last().copied()))
    }

    fn pairs_of(&self, record: usize) -> impl Iterator<Item = Fate> {
        let range = self.pairs.of_record.get(record).cloned().unwrap_or_default();
        self.pairs.answers.get(range).unwrap_or_default().iter().map(|answer| answer.fate)
    }

    /// Hangs what is left on what is left.
    fn join_again(&mut self, cuts: &Cuts) {
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
                self.change(record, Change::Link(to), problem);
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
                // What it names was not on its path and would be there now: it goes on to keep nothing.
                (None, Some(Kept::Id(name))) if moved.contains(&**name) => {
                    if let Some(own) = self.named(Some(compaction), &parents) {
                        let change = Change::Keep(KeptTo::Id(own));
                        self.changes.push((compaction, change, Problem::DisplacedResult));
                    }
                }
                (None, _) => {}
            }
        }
    }

    /// The parent of each record once everything is done.
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

    /// The id of a record, or of the next one above it that has one.
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

    /// Lets a compaction start where it should, if that is elsewhere or gone.
    fn keep(&mut self, compaction: usize, start: usize, parents: &[Option<usize>]) {
        let Some(kept) = self.facts.get(compaction).and_then(|fact| fact.kept.as_ref()) else { return };
        let mut to = start;
        if self.is_gone(start) || self.moved.contains(&start) {
            // The first one behind it that is left. What was brought home belongs to its call.
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
            Kept::Record(_) => self.change(compaction, Change::Keep(KeptTo::Record(to)), problem),
            Kept::Id(now) => {
                let name = self.named(Some(to), parents);
                if let Some(name) = name.filter(|name| name != now) {
                    self.change(compaction, Change::Keep(KeptTo::Id(name)), problem);
                }
            }
            Kept::Nothing | Kept::Lost => {}
        }
    }

    fn finish(mut self) -> Examination {
        let gone = std::mem::take(&mut self.gone);
        self.changes.retain(|(record, change, _)| !gone.contains_key(record) || *change == Change::Drop);
        self.changes.sort_by_key(|(record, ..)| *record);
        self.findings.sort_by_key(|finding| (finding.record, finding.problem));
        if !self.customs.is_mendable {
            self.changes.clear();
        }
        Examination { findings: self.findings, plan: Plan { changes: self.changes } }
    }
}
