//! pi puts environment and project instructions into the instructions (`system`, or a leading message of that role),
//! outside the history. Its user messages hold the person's text and additions of extensions at that place. Observed in
//! requests of 0.73.1.

/// Its self-description in the first line of its instructions.
const NAME: &str = "operating inside pi, a coding agent harness";

/// Whether instructions are this client's. None of its history is standing context.
pub(super) fn is_its(instructions: &str) -> bool {
    instructions.lines().next().is_some_and(|line| line.contains(NAME))
}
