//! Claude Code puts its context into blocks of user messages, each wrapped in `<system-reminder>`; for newer models
//! partly into messages of role `system`, without the wrapper.
//!
//! The first line of a block tells its topic. Observed in requests of 2.1.331.

use unforget_core::standing::Rank;

use super::{ContextKind, ContextPlace};

const OPEN: &str = "<system-reminder>";
const CLOSE: &str = "</system-reminder>";

/// How a later block relates to an earlier one of its topic.
#[derive(Clone, Copy)]
enum Way {
    /// It replaces the earlier one.
    Replaces,
    /// It adds to the earlier one.
    Adds,
    /// It replaces earlier blocks about the same files.
    Files,
}

/// First words of blocks, their topics, and how later blocks relate to earlier ones.
const BLOCKS: [(&str, Rank, &str, Way); 22] = [
    ("Codebase and user instructions", Rank::Instructions, "instructions", Way::Files),
    ("Instruction files were re-read", Rank::Instructions, "instructions", Way::Files),
    ("These instruction files changed", Rank::Instructions, "instructions", Way::Files),
    ("Instructions no longer present", Rank::Instructions, "instructions", Way::Files),
    ("As you answer the user's questions", Rank::Environment, "context", Way::Files),
    ("The session context", Rank::Environment, "context", Way::Adds),
    ("Attribution for git commits", Rank::Environment, "attribution", Way::Replaces),
    ("From here on, do not add attribution", Rank::Environment, "attribution", Way::Replaces),
    ("# Environment", Rank::Environment, "environment", Way::Replaces),
    ("You are powered by the model", Rank::Environment, "model", Way::Replaces),
    ("Today's date is", Rank::Environment, "date", Way::Replaces),
    ("The date has changed", Rank::Environment, "date", Way::Replaces),
    ("Available agent types", Rank::Agents, "agents", Way::Adds),
    ("New agent types", Rank::Agents, "agents", Way::Adds),
    ("The following agent types", Rank::Agents, "agents", Way::Adds),
    ("The following skills", Rank::Agents, "skills", Way::Adds),
    ("# MCP Server Instructions", Rank::Agents, "servers", Way::Adds),
    ("The following MCP servers", Rank::Agents, "servers", Way::Adds),
    ("The following deferred tools", Rank::Tools, "tools", Way::Adds),
    ("The following tools", Rank::Tools, "tools", Way::Adds),
    ("<total_tokens>", Rank::Other, "counter", Way::Replaces),
    ("Token usage:", Rank::Other, "counter", Way::Replaces),
];

/// First words of the heading of an instructions file.
const FILE: [&str; 2] = ["Contents of ", "Instructions no longer present: "];

/// Whether a text of a user message before the first answer is this client's context: other clients use the wrapper for
/// reminders of one turn too.
pub(super) fn is_its(text: &str) -> bool {
    inside(text).and_then(known).is_some()
}

/// Substring of the JSON of every message with such a block.
pub(super) const MARK: &str = "system-reminder";

/// Classifies a text, if it is standing context. Before the first answer all blocks are; later ones only if their topic
/// is known: others, such as a note about a changed file, are part of the history.
pub(super) fn kind(text: &str, place: ContextPlace) -> Option<ContextKind> {
    let said = if place.is_instruction { text.trim() } else { inside(text)? };
    let Some((start, rank, topic, way)) = known(said) else {
        return place.is_opening.then(|| ContextKind::adds(Rank::Other, "other"));
    };
    Some(match way {
        Way::Adds => ContextKind::adds(rank, topic),
        Way::Replaces => ContextKind::replaces(rank, topic),
        Way::Files => {
            let files: Vec<String> = said.lines().filter_map(file).collect();
            match (files.is_empty(), topic) {
                (false, _) => ContextKind::covering(Rank::Instructions, "instructions", files),
                (true, "context") => ContextKind::replaces(rank, topic),
                (true, _) => ContextKind::covering(rank, topic, [start.to_owned()]),
            }
        }
    })
}

/// The row of the table for these first words.
fn known(said: &str) -> Option<(&'static str, Rank, &'static str, Way)> {
    BLOCKS.into_iter().find(|(start, ..)| said.starts_with(start))
}

/// The text inside a block of this client.
fn inside(text: &str) -> Option<&str> {
    Some(text.trim().strip_prefix(OPEN)?.strip_suffix(CLOSE)?.trim())
}

/// The file in a heading of the form `Contents of PATH (what it is):`.
fn file(line: &str) -> Option<String> {
    let name = FILE.into_iter().find_map(|start| line.strip_prefix(start))?;
    let end = name.find(" (").unwrap_or(name.len());
    Some(name.get(..end)?.trim_end_matches(':').to_owned())
}
