//! pi puts environment and project instructions into the instructions themselves (`system`, or a leading message of that
//! role), where they are no history. Its user messages hold the person's words and what extensions say at that place. Read
//! from the requests of 0.73.1.

/// What its instructions say of themselves in their first line.
const NAME: &str = "operating inside pi, a coding agent harness";

/// Whether instructions are of this client. None of its history is standing context.
pub(super) fn is_its(instructions: &str) -> bool {
    instructions.lines().next().is_some_and(|line| line.contains(NAME))
}
