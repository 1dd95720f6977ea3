//! Decisions of the engine about a conversation, kept for people.

use unforget_store::{DecisionRow, NewDecision};

/// Number of decisions kept per conversation.
const DECISIONS_KEPT: u64 = 500;

/// A decision to store. The store drops the oldest decisions beyond [`DECISIONS_KEPT`].
pub(crate) const fn kept(row: &DecisionRow) -> NewDecision<'_> {
    NewDecision { row, keep: DECISIONS_KEPT }
}
