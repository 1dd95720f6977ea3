//! Compactions that separate a result from its call.

use std::collections::BTreeMap;

use super::fact::RecordFact;
use super::links::Links;
use super::pairs::{CallFate, Pairs};

/// How many more records a compaction may keep to hold a pair together. Beyond that the result is removed.
const BACK_MAX: u32 = 256;

/// Compactions that separate pairs.
#[derive(Debug, Default)]
pub(super) struct RecordCuts {
    /// Compactions that must keep everything from an earlier record on, with that record.
    pub(super) starts: BTreeMap<usize, usize>,
    /// Results separated from their call, with the compaction.
    pub(super) parted: Vec<(usize, usize)>,
}

/// Finds the compactions. Results that cannot be rejoined with their call are given up in `pairs`.
pub(super) fn cuts(facts: &[RecordFact], links: &Links, pairs: &mut Pairs<'_>) -> RecordCuts {
    if links.kept.is_empty() {
        return RecordCuts::default();
    }
    let mut by_record: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut later: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let governing = governing(facts.len(), links);
    for (at, answer) in pairs.answers.iter().enumerate() {
        by_record.entry(answer.record).or_default().push(at);
        if let Some(compaction) = governing.get(answer.record).copied().flatten() {
            later.entry(compaction).or_default().push(at);
        }
    }
    let mut joiner = Joiner { by_record, links, pairs, found: RecordCuts::default() };
    let mut budget = facts.len() * 16 + 65_536;
    for (&compaction, start) in &links.kept {
        let start = start.unwrap_or(compaction);
        let mut asked = later.remove(&compaction).unwrap_or_default();
        let mut here = links.before(compaction);
        while let Some(record) = here.filter(|record| *record >= start && budget > 0) {
            budget -= 1;
            joiner.ask(record, &mut asked);
            here = links.before(record);
        }
        joiner.join(compaction, start, asked);
    }
    let found = joiner.found;
    pairs.count_answers();
    found
}

/// For each record, the compaction that decides which earlier records are sent with it.
fn governing(length: usize, links: &Links) -> Vec<Option<usize>> {
    let mut governing: Vec<Option<usize>> = Vec::with_capacity(length);
    for record in 0..length {
        let by = links.before(record).and_then(|before| {
            if links.kept.contains_key(&before) {
                Some(before)
            } else {
                governing.get(before).copied().flatten()
            }
        });
        governing.push(by);
    }
    governing
}

struct Joiner<'a, 'b> {
    by_record: BTreeMap<usize, Vec<usize>>,
    links: &'b Links,
    pairs: &'b mut Pairs<'a>,
    found: RecordCuts,
}

impl Joiner<'_, '_> {
    fn ask(&self, record: usize, asked: &mut Vec<usize>) {
        asked.extend(self.by_record.get(&record).into_iter().flatten());
    }

    /// Moves the start of a compaction's kept part back until it holds whole pairs, by at most [`BACK_MAX`] records.
    fn join(&mut self, compaction: usize, start: usize, mut asked: Vec<usize>) {
        let depth = |record| self.links.depth(record);
        let lowest = depth(start).saturating_sub(BACK_MAX);
        let mut from = start;
        while let Some(result) = asked.pop() {
            let Some(answer) = self.pairs.answers.get_mut(result) else { continue };
            let (CallFate::Answers(call) | CallFate::Displaced(call)) = answer.fate else { continue };
            let Some(call) = self.pairs.calls.get(call) else { continue };
            let home = call.record;
            if depth(home) >= depth(start) {
                continue;
            }
            self.found.parted.push((result, compaction));
            if depth(home) < lowest || start == compaction {
                answer.fate = CallFate::Parted;
                continue;
            }
            while let Some(record) = self.links.before(from).filter(|record| *record >= home) {
                self.ask(record, &mut asked);
                from = record;
            }
        }
        if from != start {
            self.found.starts.insert(compaction, from);
        }
    }
}
