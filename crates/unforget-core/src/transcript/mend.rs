//! The smallest change that mends the findings.

mod join;

use std::collections::{BTreeMap, BTreeSet};

use super::Examination;
use super::cuts::RecordCuts;
use super::fact::{Customs, Link, RecordFact, Voice};
use super::links::{Links, new_name};
use super::pairs::{CallFate, Pairs};
use super::problem::{Finding, Problem};

/// How far back a displaced result may be moved to its call, in records.
const HOME_MAX: usize = 4096;

/// How many results of one call, on different branches, are considered.
const SAME_CALL_MAX: usize = 16;

/// What to do with one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordChange {
    /// Remove it.
    Drop,
    /// Put it behind another record, after the records put there before.
    Move {
        /// The record that it now follows.
        behind: usize,
    },
    /// Remove these blocks, by index, ascending.
    CutBlocks(Vec<usize>),
    /// Give a call another id.
    RenameCall {
        /// Index of its block.
        block: usize,
        /// The new id.
        to: Box<str>,
    },
    /// Let a result name another call.
    RenameResult {
        /// Index of its block.
        block: usize,
        /// The new id of the call.
        to: Box<str>,
    },
    /// Give the record another id.
    Rename(Box<str>),
    /// Hang it on another parent; `None` makes it a root.
    Link(Option<Box<str>>),
    /// Let a compaction keep everything from this record on.
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

/// The changes to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MendPlan {
    /// Record, change, and the problem that it mends, ascending by record. A removed record has no other change.
    pub changes: Vec<(usize, RecordChange, Problem)>,
}

/// Turns the collected problems into findings and a plan.
pub(super) fn settle(
    facts: &[RecordFact],
    customs: Customs,
    links: &Links,
    pairs: &Pairs<'_>,
    cuts: &RecordCuts,
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
    facts: &'a [RecordFact],
    customs: Customs,
    links: &'b Links,
    pairs: &'b Pairs<'a>,
    findings: Vec<Finding>,
    changes: Vec<(usize, RecordChange, Problem)>,
    /// Removed records, with the problem that demands it.
    gone: BTreeMap<usize, Problem>,
    /// Blocks to remove from each record, with the first problem that demands it.
    cut: BTreeMap<usize, (BTreeSet<usize>, Problem)>,
    /// Records put behind another one.
    inserted: BTreeMap<usize, Vec<usize>>,
    moved: BTreeSet<usize>,
    /// Records that follow a record put behind their parent.
    detours: BTreeSet<usize>,
    /// Records all of whose children are detours.
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

    fn change(&mut self, record: usize, change: RecordChange, problem: Problem) {
        self.changes.push((record, change, problem));
    }

    fn drop(&mut self, record: usize, problem: Problem) {
        if self.gone.insert(record, problem).is_none() {
            self.change(record, RecordChange::Drop, problem);
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
            self.change(record, RecordChange::Rename(to.clone()), Problem::ReusedId);
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

    fn of_cuts(&mut self, cuts: &RecordCuts) {
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
                CallFate::Answers(_) => {
                    if answer.is_synthetic {
                        self.find(Problem::SyntheticResult, answer.record, Some(answer.id), false);
                    }
                    continue;
                }
                CallFate::Displaced(_) => continue,
                CallFate::Parted => {
                    self.cut(answer.record, answer.block, Problem::SplitPair);
                    continue;
                }
                CallFate::Orphan => Problem::OrphanResult,
                CallFate::OfCutOff => Problem::ResultOfCutOff,
                CallFate::Second => Problem::SecondResult,
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
                let change = RecordChange::RenameCall { block: call.block, to: to.clone() };
                self.change(call.record, change, problem);
                renamed.insert(at, to);
            } else if is_mended {
                self.cut(call.record, call.block, problem);
            }
        }
        for answer in &pairs.answers {
            let (CallFate::Answers(call) | CallFate::Displaced(call)) = answer.fate else { continue };
            if let Some(to) = renamed.get(&call) {
                let change = RecordChange::RenameResult { block: answer.block, to: to.clone() };
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

    /// Removes blocks, and records that would be left without content.
    fn take_out(&mut self) {
        for (record, (blocks, problem)) in std::mem::take(&mut self.cut) {
            let Some(fact) = self.facts.get(record) else { continue };
            let calls = fact.calls.iter().filter(|call| !blocks.contains(&call.block)).count();
            let results = fact.results.iter().filter(|result| !blocks.contains(&result.block)).count();
            if fact.has_words || calls + results > 0 {
                self.change(record, RecordChange::CutBlocks(blocks.into_iter().collect()), problem);
            } else {
                self.drop(record, problem);
            }
        }
    }

    /// Moves displaced results to their calls. Runs after all removals are known: the records between matter.
    fn bring_home(&mut self) {
        let pairs = self.pairs;
        // Where two branches have a result of one call, the real one is moved.
        let mut displaced: Vec<_> = pairs.answers.iter().filter(|answer| answer.is_displaced()).collect();
        displaced.sort_by_key(|answer| answer.is_synthetic);
        let mut home = BTreeSet::new();
        for answer in displaced {
            let CallFate::Displaced(call) = answer.fate else { continue };
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
                    self.change(answer.record, RecordChange::Move { behind }, problem);
                }
                None => {}
            }
        }
        // Inserted lines are in file order, and parents stand before their children.
        self.inserted.values_mut().for_each(|inserted| inserted.sort_unstable());
    }

    /// Whether a branch that starts here has a result of a call in its place.
    fn is_answered_below(&self, below: usize, call: usize) -> bool {
        let home = self.pairs.calls.get(call).map_or(0, |call| call.record);
        let last = self.pairs.calls.get(call).map_or(0, |call| call.last_answer);
        let answers = self.pairs.answers.get(..=last).unwrap_or_default().iter().rev().take(HOME_MAX);
        let in_place =
            answers.filter(|answer| answer.record > home && answer.fate == CallFate::Answers(call));
        in_place.take(SAME_CALL_MAX).any(|answer| {
            let mut here = Some(answer.record);
            for _ in 0..HOME_MAX {
                let Some(record) = here.filter(|record| *record > below) else { break };
                here = self.links.before(record);
            }
            here == Some(below)
        })
    }

    /// The record behind which a result belongs, and the record that must follow it there. `None` if the result must
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
        let is_displaced = |record| self.pairs_of(record).any(|fate| matches!(fate, CallFate::Displaced(_)));
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
                && self.pairs_of(*record).all(|fate| matches!(fate, CallFate::Answers(_)))
        };
        let mut behind = home;
        while let Some(result) = path.pop_if(|below| is_result(below)) {
            behind = result;
        }
        Some((behind, path.last().copied()))
    }

    fn pairs_of(&self, record: usize) -> impl Iterator<Item = CallFate> {
        let range = self.pairs.of_record.get(record).cloned().unwrap_or_default();
        self.pairs.answers.get(range).unwrap_or_default().iter().map(|answer| answer.fate)
    }

    fn finish(mut self) -> Examination {
        let gone = std::mem::take(&mut self.gone);
        self.changes
            .retain(|(record, change, _)| !gone.contains_key(record) || *change == RecordChange::Drop);
        self.changes.sort_by_key(|(record, ..)| *record);
        self.findings.sort_by_key(|finding| (finding.record, finding.problem));
        if !self.customs.is_mendable {
            self.changes.clear();
        }
        Examination { findings: self.findings, plan: MendPlan { changes: self.changes } }
    }
}
