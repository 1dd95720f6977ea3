//! Decisions of a session for people: a row per turn, and one per break.

use unforget_core::admit::Rung;
use unforget_core::compact::{Break, Context, Pressure};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::policy::Policy;
use unforget_core::tokens::Tokens;
use unforget_store::DecisionRow;

use super::{Prompt, Session};

/// The facts of a decision.
pub(super) struct DecidedOn {
    /// Newest entry.
    seq: Seq,
    time: Timestamp,
    total: Tokens,
    policy: Policy,
}

impl DecidedOn {
    fn row(&self, decided: &str, why: String) -> DecisionRow {
        let (total, policy) = (self.total, &self.policy);
        DecisionRow {
            number: 0,
            seq: self.seq,
            time: self.time,
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

/// The row of a break.
///
/// * `rewritten` - number of shown summaries by models.
pub(super) fn of_break(plan: &Break, rewritten: usize, on: &DecidedOn) -> DecisionRow {
    let why = format!(
        "{} groups covered, {} summaries shown, {rewritten} of them by a model",
        plan.groups,
        plan.context.roots.len()
    );
    on.row("break", why)
}

/// The row of a break that shows the summaries of all of the history in place of provisional ones.
///
/// * `before` - number of summaries shown before.
pub(super) fn of_whole(before: usize, context: &Context, on: &DecidedOn) -> DecisionRow {
    let why = format!(
        "all of the history was read in the background: {} summaries in place of {before}, some of which were provisional",
        context.roots.len()
    );
    on.row("break", why)
}

impl Session {
    /// The decision about the turn of a new prompt, once per turn. `None` if the turn has a row already, or a break left
    /// one.
    ///
    /// Cost: O(groups since the turn began).
    pub(crate) fn note_turn(&mut self, prompt: &Prompt) -> Option<DecisionRow> {
        let input = self.window.turn_input().or(self.cover.context().carried);
        let work = self.account.note_turn(input);
        if !work.is_to_note {
            return None;
        }
        let decided = match (prompt.admitted.certificate().rung, work.summaries) {
            (Rung::Assembled, 0) => "as-it-is",
            (Rung::Assembled, _) => "prepare",
            (rung, _) => rung.name(),
        };
        let pressure = match self.pressure() {
            Pressure::Calm => "calm",
            Pressure::Soft => "soft",
            Pressure::Hard => "hard",
        };
        let why = format!("pressure {pressure}; {} summaries made for the next break", work.summaries);
        Some(self.decided_on().row(decided, why))
    }

    pub(super) fn decided_on(&self) -> DecidedOn {
        DecidedOn {
            seq: self.window.head().unwrap_or_default(),
            time: self.source.stamp(self.window.newest_time()),
            total: self.total(),
            policy: *self.source.policy(),
        }
    }
}
