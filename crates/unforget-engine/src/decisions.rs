//! Decisions of the engine about a conversation, kept for people.

use unforget_store::{DecisionRow, NewDecision};

/// Number of decisions kept per conversation.
const DECISIONS_KEPT: u64 = 500;

/// A decision that takes the place of the oldest one, once there are enough of them.
pub(crate) const fn kept(row: &DecisionRow) -> NewDecision<'_> {
    NewDecision { row, keep: DECISIONS_KEPT }
}
