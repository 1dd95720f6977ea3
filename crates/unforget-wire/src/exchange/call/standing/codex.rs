//! Codex puts its context into separate items of role `user` and `developer`. The first line of a part, or the tag
//! around it, tells its topic. Observed in requests of 0.169.0.

use unforget_core::standing::Rank;

use super::{ContextKind, ContextPlace};

/// First words of project instructions; the folder follows.
const AGENTS: &str = "# AGENTS.md instructions";

/// Tags around texts of role `user`.
const OF_USER: [(&str, Rank, &str); 2] = [
    ("user_instructions", Rank::Instructions, "instructions"),
    ("environment_context", Rank::Environment, "environment"),
];

/// Tags around texts of role `developer`. A later text replaces an earlier one of its tag.
const OF_DEVELOPER: [(&str, Rank, &str); 8] = [
    ("permissions instructions", Rank::Environment, "permissions"),
    ("collaboration_mode", Rank::Environment, "collaboration"),
    ("multi_agent_mode", Rank::Environment, "agents-mode"),
    ("multi_agent_role", Rank::Environment, "agents-role"),
    ("personality_spec", Rank::Environment, "personality"),
    ("skills_instructions", Rank::Agents, "skills"),
    ("apps_instructions", Rank::Agents, "apps"),
    ("plugins_instructions", Rank::Agents, "plugins"),
];

/// Substrings: the JSON of every message with such a text contains at least one.
pub(super) const MARKS: [&str; 3] = ["AGENTS.md", "environment_context", "instructions"];

/// Whether a text of a user message before the first answer is this client's context.
pub(super) fn is_its(text: &str) -> bool {
    kind(text, ContextPlace { is_opening: true, is_instruction: false }).is_some()
}

/// Classifies a text, if it is standing context.
pub(super) fn kind(text: &str, place: ContextPlace) -> Option<ContextKind> {
    let text = text.trim();
    if !place.is_instruction && text.starts_with(AGENTS) {
        let folder = text.lines().next().unwrap_or_default();
        return Some(ContextKind::covering(Rank::Instructions, "instructions", [folder.to_owned()]));
    }
    let tags = if place.is_instruction { OF_DEVELOPER.as_slice() } else { OF_USER.as_slice() };
    let is_in = |tag: &str| {
        let inner = text.strip_prefix('<').and_then(|text| text.strip_prefix(tag));
        let inner = inner.and_then(|text| text.strip_prefix('>')?.strip_suffix('>'));
        inner.and_then(|text| text.strip_suffix(tag)).is_some_and(|text| text.ends_with("</"))
    };
    let (_, rank, topic) = *tags.iter().find(|(tag, ..)| is_in(tag))?;
    Some(match topic {
        // A later one may contain only the changes.
        "environment" => ContextKind::covering(rank, topic, text.lines().filter_map(field)),
        _ => ContextKind::replaces(rank, topic),
    })
}

/// The tag at the start of a line.
fn field(line: &str) -> Option<String> {
    let inner = line.trim_start().strip_prefix('<')?;
    let end = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    inner.get(..end).filter(|name| !name.is_empty()).map(str::to_owned)
}
