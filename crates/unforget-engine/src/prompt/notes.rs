//! What was decided, and why: a row per turn, and one per break.

use unforget_core::compact::{Break, Pressure};
use unforget_core::group::{Group, Kind};
use unforget_core::id::Seq;
use unforget_store::{DecisionRow, NewDecision};

use super::{Counters, Prompt, Session};
use crate::error::EngineError;
use crate::summarise::DECISIONS_KEPT;

/// What was noted last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Noted {
    /// The input that the turn began with.
    turn: Option<Seq>,
    counters: Counters,
}

impl Session {
    /// The decision about the turn that a prompt was just made for, once per turn; `None` if there is one already, or
    /// a break left its own row.
    ///
    /// Cost: O(groups since the turn began).
    pub(crate) fn note_turn(&mut self, prompt: &Prompt) -> Option<DecisionRow> {
        let input = self.view.groups.iter().rev().find(|group| group.kind == Kind::Input);
        let turn = input.map(Group::first_seq).or(self.context.carried);
        let before = std::mem::replace(&mut self.noted, Noted { turn, counters: self.counters });
        let has_broken = before.counters.breaks < self.counters.breaks;
        if has_broken || (turn == before.turn && turn.is_some()) {
            return None;
        }
        let rung = prompt.admitted.certificate().rung;
        let is_whole = rung == unforget_core::admit::Rung::Assembled;
        let made = |counters: Counters| counters.leaves + counters.merges + counters.summaries_reused;
        let ahead = made(self.counters) - made(before.counters);
        let decided = match (is_whole, ahead) {
            (false, _) => rung.name(),
            (true, 0) => "as-it-is",
            (true, _) => "prepare",
        };
        let pressure = match self.pressure() {
            Pressure::Calm => "calm",
            Pressure::Soft => "soft",
            Pressure::Hard => "hard",
        };
        let why = format!("pressure {pressure}; {ahead} summaries made for the next break");
        Some(self.decision(decided, why))
    }

    /// Records a break: what was looked at, what it shows now, and how much of it no model has written yet.
    pub(super) fn note_break(&self, plan: &Break) -> Result<(), EngineError> {
        let roots = plan.context.roots.len();
        let why = format!(
            "{} groups covered, {roots} summaries shown, {} of them by a model",
            plan.groups,
            self.rewritten.len()
        );
        let row = &self.decision("break", why);
        self.engine.store().decide(self.conversation, NewDecision { row, keep: DECISIONS_KEPT })?;
        Ok(())
    }

    fn decision(&self, decided: &str, why: String) -> DecisionRow {
        let (total, policy) = (self.total(), &self.shape.policy);
        DecisionRow {
            number: 0,
            seq: self.view.head.unwrap_or_default(),
            time: self.stamp(),
            looked: format!(
                "{} of {} tokens (at most {}), soft from {}, hard from {}",
                total.expected,
                policy.budget(),
                total.upper,
                policy.share(policy.soft_permille),
                policy.share(policy.hard_permille)
            ),
            decided: decided.to_owned(),
            why,
        }
    }
}
