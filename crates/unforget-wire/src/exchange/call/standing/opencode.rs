//! opencode puts environment and project instructions into the instructions (`system`, or a leading message of that
//! role), outside the history. Beside the person's text, its user messages hold content for a single turn: files that
//! the person named, reminders of its plan mode. Observed in requests of 1.18.33.

/// First words of its instructions.
const START: &str = "You are opencode";

/// Whether instructions are this client's. None of its history is standing context.
pub(super) fn is_its(instructions: &str) -> bool {
    instructions.trim_start().starts_with(START)
}
