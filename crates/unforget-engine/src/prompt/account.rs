//! The account of a session: the last prompt, the events since then, and the numbers of its work.

use unforget_core::compact::Cache;
use unforget_core::id::Seq;
use unforget_core::policy::Policy;
use unforget_core::prefix::{self, Cause, KnownChange, PrefixChange, SentPiece};
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;

use super::counts::{PromptCounts, PromptWeight, StoredCount};

/// Work of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Breaks.
    pub breaks: u64,
    /// Leaf summaries made.
    pub leaves: u64,
    /// Merges made.
    pub merges: u64,
    /// Summaries found in the store.
    pub summaries_reused: u64,
    /// Time in the summariser, in microseconds.
    pub summariser_us: u64,
}

impl Counters {
    /// Number of summaries made or found.
    const fn summaries(&self) -> u64 {
        self.leaves + self.merges + self.summaries_reused
    }
}

/// The work since the last turn that was noted.
#[derive(Clone, Copy, Debug)]
pub(super) struct TurnWork {
    /// Whether the turn is new and its decision is not recorded by a break.
    pub(super) is_to_note: bool,
    /// Number of summaries made or found.
    pub(super) summaries: u64,
}

/// The turn that was noted last.
#[derive(Clone, Copy, Debug, Default)]
struct NotedTurn {
    /// Its first input.
    input: Option<Seq>,
    counters: Counters,
}

/// The account of a session.
#[derive(Default)]
pub(super) struct Account {
    /// Pieces of the last prompt, in order.
    sent: Vec<SentPiece>,
    /// Event that changed the prompt since then.
    cause: Option<Cause>,
    counters: Counters,
    counts: PromptCounts,
    noted: NotedTurn,
    /// Whole sizes of the groups that were summarised since they were last asked for.
    passed: Vec<u64>,
}

impl Account {
    /// Before the first prompt.
    pub(super) fn new() -> Self {
        Self { cause: Some(Cause::First), ..Self::default() }
    }

    /// Moves the account into a session that starts again.
    pub(super) fn again(&mut self) -> Self {
        let sent = std::mem::take(&mut self.sent);
        Self { sent, counters: self.counters, counts: self.counts, noted: self.noted, ..Self::new() }
    }

    pub(super) const fn counters(&self) -> Counters {
        self.counters
    }

    pub(super) const fn counts(&self) -> &PromptCounts {
        &self.counts
    }

    /// Adds finished work.
    pub(super) const fn add(&mut self, work: Counters) {
        self.counters.breaks += work.breaks;
        self.counters.leaves += work.leaves;
        self.counters.merges += work.merges;
        self.counters.summaries_reused += work.summaries_reused;
        self.counters.summariser_us += work.summariser_us;
    }

    /// See [`PromptCounts::restore`].
    pub(super) fn restore_count(&mut self, stored: &StoredCount, present: u64) {
        self.counts.restore(stored, present);
    }

    /// See [`PromptCounts::set_beside`].
    pub(super) const fn set_beside(&mut self, beside: Tokens) {
        self.counts.set_beside(beside);
    }

    /// See [`PromptCounts::learn`].
    pub(super) fn learn(&mut self, reported: Reported) {
        self.counts.learn(reported);
    }

    /// The provider counted a prompt of this session.
    pub(super) fn reported(&mut self, weight: &PromptWeight, counted: u64) {
        self.counts.take(weight, counted);
    }

    /// The policy in tokens of our bound.
    pub(super) fn scaled(&self, policy: &Policy) -> Policy {
        self.counts.scaled(policy)
    }

    /// A compaction or a step back changes the beginning of the prompt. Replaces an earlier event.
    pub(super) fn breaks(&mut self, cause: Cause) {
        self.cause = Some(cause);
        self.counts.broke();
    }

    /// Another event changes the beginning of the prompt. An earlier event remains the cause.
    pub(super) fn changes(&mut self, cause: Cause) {
        self.cause = self.cause.or(Some(cause));
        self.counts.broke();
    }

    /// A session that started again continues from an earlier entry.
    pub(super) const fn rewound(&mut self) {
        self.cause = Some(Cause::Rewind);
    }

    /// Whether the beginning of the next prompt changes anyway, so that pinned files are read again.
    pub(super) fn reads_files(&self) -> bool {
        self.cause.is_some_and(Cause::reads_files)
    }

    /// Keeps the whole sizes of summarised groups.
    pub(super) fn note_passed(&mut self, passed: Vec<u64>) {
        self.passed.extend(passed);
    }

    pub(super) fn take_passed(&mut self) -> Vec<u64> {
        std::mem::take(&mut self.passed)
    }

    /// Compares a new prompt with the last one, and keeps the new one.
    ///
    /// * `is_shortened` - whether it is shortened, or leaves out images or documents.
    pub(super) fn take_sent(
        &mut self,
        now: Vec<SentPiece>,
        is_shortened: bool,
        cache: Cache,
    ) -> PrefixChange {
        let known = KnownChange { cause: self.cause.take(), is_shortened };
        let change = prefix::compare(&self.sent, &now, known, cache);
        self.sent = now;
        change
    }

    /// Number of blocks of the last prompt's first message that change only at breaks.
    pub(super) fn leading_blocks(&self) -> usize {
        prefix::leading_blocks(&self.sent)
    }

    /// See [`PromptCounts::weight`].
    pub(super) const fn weight(&self, prompt: Tokens, view: Tokens, print: u64) -> PromptWeight {
        self.counts.weight(prompt, view, print)
    }

    /// Notes the turn of a prompt.
    ///
    /// * `input` - the first input of the turn.
    pub(super) fn note_turn(&mut self, input: Option<Seq>) -> TurnWork {
        let before = std::mem::replace(&mut self.noted, NotedTurn { input, counters: self.counters });
        let has_broken = before.counters.breaks < self.counters.breaks;
        let is_known = input == before.input && input.is_some();
        TurnWork {
            is_to_note: !has_broken && !is_known,
            summaries: self.counters.summaries() - before.counters.summaries(),
        }
    }
}
