//! opencode puts environment and project instructions into the instructions themselves (`system`, or a leading message of
//! that role), where they are no history. What its user messages hold beside the person's words is of one turn: files that
//! the person named, reminders of its plan mode. Read from the requests of 1.18.33.

/// How its instructions begin.
const START: &str = "You are opencode";

/// Whether instructions are of this client. None of its history is standing context.
pub(super) fn is_its(instructions: &str) -> bool {
    instructions.trim_start().starts_with(START)
}
