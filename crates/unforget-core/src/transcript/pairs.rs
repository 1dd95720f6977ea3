//! Which result answers which call, on every path.

use std::collections::BTreeMap;
use std::ops::Range;

use super::fact::{Customs, RecordFact};
use super::links::Links;

/// How many calls of one id are considered for a result. Limits the work.
const SAME_ID_MAX: usize = 64;

/// The fate of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallFate {
    /// It answers this call where it stands.
    Answers(usize),
    /// It answers this call from somewhere else.
    Displaced(usize),
    /// No call stands before it.
    Orphan,
    /// Its call was cut off.
    OfCutOff,
    /// Another result answers its call.
    Second,
    /// It answers this call, but a compaction separates them for good.
    Parted,
}

/// A call.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about a call")]
pub(super) struct Call<'a> {
    /// Its record.
    pub(super) record: usize,
    /// Index of its block.
    pub(super) block: usize,
    /// Its id.
    pub(super) id: &'a str,
    /// Whether it was written completely, in a complete message.
    pub(super) is_live: bool,
    /// Whether an earlier call on its path has the same id.
    pub(super) is_repeated: bool,
    /// Whether it has a result on any branch.
    pub(super) is_answered: bool,
    /// Whether the conversation continued after it.
    pub(super) is_followed: bool,
    /// Index of the last result matched to it, on any branch.
    pub(super) last_answer: usize,
}

/// A result.
#[derive(Clone, Debug)]
pub(super) struct Answer<'a> {
    /// Its record.
    pub(super) record: usize,
    /// Index of its block.
    pub(super) block: usize,
    /// The id that it names.
    pub(super) id: &'a str,
    /// Whether the host invented it.
    pub(super) is_synthetic: bool,
    /// Its fate.
    pub(super) fate: CallFate,
}

impl Answer<'_> {
    /// Whether it has to be moved to its call.
    pub(super) fn is_displaced(&self) -> bool {
        matches!(self.fate, CallFate::Displaced(_))
    }
}

/// Every call and every result, in the order in which the paths meet them.
#[derive(Debug, Default)]
pub(super) struct Pairs<'a> {
    /// The calls.
    pub(super) calls: Vec<Call<'a>>,
    /// The results.
    pub(super) answers: Vec<Answer<'a>>,
    /// Whether any record follows on any path, by record.
    pub(super) is_followed: Vec<bool>,
    /// The results of each record, as a range of `answers`.
    pub(super) of_record: Vec<Range<usize>>,
}

impl Pairs<'_> {
    /// Recounts which calls are answered, after results were given up.
    pub(super) fn count_answers(&mut self) {
        self.calls.iter_mut().for_each(|call| call.is_answered = false);
        for answer in &self.answers {
            if let CallFate::Answers(call) | CallFate::Displaced(call) = answer.fate
                && let Some(call) = self.calls.get_mut(call)
            {
                call.is_answered = true;
            }
        }
    }
}

/// The continuation after a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum After<'a> {
    /// No message other than results.
    #[default]
    Nothing,
    /// Only further fragments of this API message.
    Pieces(&'a str),
    /// A message.
    Message,
}

/// Matches calls and results.
pub(super) fn pairs<'a>(facts: &'a [RecordFact], links: &Links, customs: Customs) -> Pairs<'a> {
    let mut walk = PairWalk {
        facts,
        links,
        customs,
        pairs: Pairs {
            is_followed: vec![false; facts.len()],
            of_record: vec![0..0; facts.len()],
            ..Pairs::default()
        },
        open: BTreeMap::new(),
        waiting: BTreeMap::new(),
        answered: Vec::new(),
        candidates: Vec::new(),
        barrier: None,
        stack: Vec::new(),
    };
    let children = Children::of(links);
    for root in (0..facts.len()).filter(|record| links.before(*record).is_none() && !out(links, *record)) {
        walk.tree(root, &children);
    }
    walk.finish()
}

fn out(links: &Links, record: usize) -> bool {
    links.is_out.get(record).copied().unwrap_or(true)
}

/// First child and next sibling of each record, in file order.
struct Children {
    first: Vec<Option<usize>>,
    next: Vec<Option<usize>>,
}

impl Children {
    fn of(links: &Links) -> Self {
        let mut children =
            Self { first: vec![None; links.before.len()], next: vec![None; links.before.len()] };
        for record in (0..links.before.len()).rev().filter(|record| !out(links, *record)) {
            let Some(first) = links.before(record).and_then(|before| children.first.get_mut(before)) else {
                continue;
            };
            if let Some(next) = children.next.get_mut(record) {
                *next = *first;
            }
            *first = Some(record);
        }
        children
    }
}

/// What to undo when a record is left.
struct Frame<'a> {
    record: usize,
    barrier: Option<usize>,
    /// Ids whose newest call is removed.
    pushed: Vec<&'a str>,
    /// Ids whose newest orphan is removed.
    waiting: Vec<&'a str>,
    /// Calls, and their previous answers.
    answered: Vec<(usize, Option<usize>)>,
    after: After<'a>,
}

struct PairWalk<'a, 'b> {
    facts: &'a [RecordFact],
    links: &'b Links,
    customs: Customs,
    pairs: Pairs<'a>,
    /// Calls on the path, by id, newest last.
    open: BTreeMap<&'a str, Vec<usize>>,
    /// Results without a call on the path, by id, newest last.
    waiting: BTreeMap<&'a str, Vec<usize>>,
    /// The answer of each call on the path.
    answered: Vec<Option<usize>>,
    /// The orphan before each call that may be its result.
    candidates: Vec<Option<usize>>,
    /// The newest message on the path other than results.
    barrier: Option<usize>,
    stack: Vec<Frame<'a>>,
}

impl<'a> PairWalk<'a, '_> {
    /// Visits a tree without recursion, since hostile trees are deep.
    fn tree(&mut self, root: usize, children: &Children) {
        self.enter(root);
        let mut next = children.first.get(root).copied().flatten();
        loop {
            if let Some(record) = next {
                self.enter(record);
                next = children.first.get(record).copied().flatten();
                continue;
            }
            let Some(left) = self.leave() else { return };
            if self.stack.is_empty() {
                return;
            }
            next = children.next.get(left).copied().flatten();
        }
    }

    fn enter(&mut self, record: usize) {
        let Some(fact) = self.facts.get(record) else { return };
        let frame = Frame {
            record,
            barrier: self.barrier,
            pushed: Vec::new(),
            waiting: Vec::new(),
            answered: Vec::new(),
            after: After::Nothing,
        };
        self.stack.push(frame);
        let first = self.pairs.answers.len();
        if let Some(range) = self.pairs.of_record.get_mut(record) {
            *range = first..first + fact.results.len();
        }
        for result in &fact.results {
            self.pairs.answers.push(Answer {
                record,
                block: result.block,
                id: &result.call_id,
                is_synthetic: result.is_synthetic,
                fate: CallFate::Orphan,
            });
            self.answer(self.pairs.answers.len() - 1);
        }
        for call in &fact.calls {
            let is_live = call.is_whole && fact.is_complete();
            self.call(Call {
                record,
                block: call.block,
                id: &call.id,
                is_live,
                is_repeated: false,
                is_answered: false,
                is_followed: false,
                last_answer: 0,
            });
        }
        if fact.is_barrier() {
            self.barrier = Some(record);
        }
    }

    fn call(&mut self, mut call: Call<'a>) {
        let same = self.open.entry(call.id).or_default();
        let live = |at: &&usize| self.pairs.calls.get(**at).is_some_and(|other| other.is_live);
        call.is_repeated = call.is_live && same.iter().rev().take(SAME_ID_MAX).any(|at| live(&at));
        same.push(self.pairs.calls.len());
        self.candidates.push(self.waiting.get(call.id).and_then(|waiting| waiting.last().copied()));
        self.answered.push(None);
        if let Some(frame) = self.stack.last_mut() {
            frame.pushed.push(call.id);
        }
        self.pairs.calls.push(call);
    }

    /// Matches a result with the newest call that waits for it.
    fn answer(&mut self, result: usize) {
        let Some(answer) = self.pairs.answers.get(result) else { return };
        let (id, is_synthetic) = (answer.id, answer.is_synthetic);
        let same: Vec<usize> = match self.open.get(id) {
            Some(same) => same.iter().rev().take(SAME_ID_MAX).copied().collect(),
            None => Vec::new(),
        };
        let is_live = |at: usize| self.pairs.calls.get(at).is_some_and(|call| call.is_live);
        let by = |at: usize| self.answered.get(at).copied().flatten();
        let live = || same.iter().copied().filter(|at| is_live(*at));
        let fate = if let Some(call) = live().find(|at| by(*at).is_none()) {
            self.give(call, result)
        } else if let Some(call) = live().next() {
            // A real result beats a synthetic one, in either order.
            let held = by(call).filter(|held| {
                !is_synthetic && self.pairs.answers.get(*held).is_some_and(|held| held.is_synthetic)
            });
            match held {
                Some(held) => {
                    if let Some(held) = self.pairs.answers.get_mut(held) {
                        held.fate = CallFate::Second;
                    }
                    self.give(call, result)
                }
                None => CallFate::Second,
            }
        } else if same.is_empty() {
            self.waiting.entry(id).or_default().push(result);
            if let Some(frame) = self.stack.last_mut() {
                frame.waiting.push(id);
            }
            CallFate::Orphan
        } else {
            CallFate::OfCutOff
        };
        if let Some(answer) = self.pairs.answers.get_mut(result) {
            answer.fate = fate;
        }
    }

    fn give(&mut self, call: usize, result: usize) -> CallFate {
        let Some(slot) = self.answered.get_mut(call) else { return CallFate::Orphan };
        let held = slot.replace(result);
        if let Some(frame) = self.stack.last_mut() {
            frame.answered.push((call, held));
        }
        let Some(given) = self.pairs.calls.get_mut(call) else { return CallFate::Orphan };
        given.is_answered = true;
        given.last_answer = result;
        let depth = |record| self.links.depth(record);
        let is_parted = self.barrier.is_some_and(|barrier| depth(barrier) > depth(given.record));
        if is_parted && self.customs.sends_in_place {
            CallFate::Displaced(call)
        } else {
            CallFate::Answers(call)
        }
    }

    /// Leaves the top record and undoes its effects on the path. Returns the record.
    fn leave(&mut self) -> Option<usize> {
        let frame = self.stack.pop()?;
        self.barrier = frame.barrier;
        for id in &frame.pushed {
            self.open.get_mut(id).and_then(Vec::pop);
        }
        for id in &frame.waiting {
            self.waiting.get_mut(id).and_then(Vec::pop);
        }
        for (call, held) in frame.answered.iter().rev() {
            if let Some(slot) = self.answered.get_mut(*call) {
                *slot = *held;
            }
        }
        let fact = self.facts.get(frame.record)?;
        if let Some(followed) = self.pairs.is_followed.get_mut(frame.record) {
            *followed = match frame.after {
                After::Nothing => false,
                After::Pieces(message) => fact.message.as_deref() != Some(message),
                After::Message => true,
            };
        }
        let own = match (fact.is_barrier(), fact.message.as_deref()) {
            (false, _) => After::Nothing,
            (true, Some(message)) => After::Pieces(message),
            (true, None) => After::Message,
        };
        if let Some(parent) = self.stack.last_mut() {
            parent.after = join(parent.after, join(frame.after, own));
        }
        Some(frame.record)
    }

    /// Matches the remaining results, which stand before their call.
    fn finish(mut self) -> Pairs<'a> {
        for (at, call) in self.pairs.calls.iter_mut().enumerate() {
            call.is_followed = self.pairs.is_followed.get(call.record).copied().unwrap_or_default();
            if call.is_answered || !call.is_live || !self.customs.sends_in_place {
                continue;
            }
            let candidate = self.candidates.get(at).copied().flatten();
            let waiting = candidate.and_then(|result| self.pairs.answers.get_mut(result));
            if let Some(answer) = waiting.filter(|answer| answer.fate == CallFate::Orphan) {
                answer.fate = CallFate::Displaced(at);
                call.is_answered = true;
            }
        }
        self.pairs
    }
}

fn join<'a>(one: After<'a>, other: After<'a>) -> After<'a> {
    match (one, other) {
        (After::Nothing, after) | (after, After::Nothing) => after,
        (After::Pieces(a), After::Pieces(b)) if a == b => After::Pieces(a),
        _ => After::Message,
    }
}
