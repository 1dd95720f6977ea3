//! Codex rollouts: `{"timestamp", "type", "payload"}` per line; before October 2025 bare items.
//!
//! | record | entry |
//! |---|---|
//! | `response_item` (or a bare item) | the canonical history, see below |
//! | `event_msg` | copy for the screen |
//! | `compacted` | the host's own summary if it has words, else bookkeeping; `replacement_history` repeats earlier items, but for the summary itself where `message` is empty |
//! | `session_meta`, `turn_context`, `record_type: state`, anything else | bookkeeping |
//!
//! Items are those of OpenAI Responses: see `openai_responses`. A `message` of `user` counts as injected if Codex wrote
//! it (see [`FRAGMENTS`]).

use unforget_core::entry::{Entry, Origin, Part, Role};

use crate::format::{Head, Identity, openai_chat, openai_responses};
use crate::json::{Object, Value};

/// Start and end of a text.
type Ends = (&'static str, &'static str);

/// Starts and ends of the texts that Codex itself writes as user items. Codex recognises its own texts by them
/// (`contextual_user_message.rs`); the record has no other mark.
const FRAGMENTS: [Ends; 5] = [
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<codex_internal_context ", "</codex_internal_context>"),
];

/// Those of the texts that Codex writes anew for every session: where it runs, and the project's instructions.
const STANDING: [Ends; 4] = [
    ("<environment_context>", "</environment_context>"),
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<ENVIRONMENT_CONTEXT>", "</ENVIRONMENT_CONTEXT>"),
];

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    head.records.iter().any(|record| {
        let kind = record.str("type").unwrap_or_default();
        let wrapped =
            matches!(&*kind, "session_meta" | "response_item" | "event_msg" | "turn_context" | "compacted");
        let bare = matches!(&*kind, "function_call" | "function_call_output") && record.has("call_id");
        (wrapped && record.obj("payload").is_some())
            || bare
            || record.has("record_type")
            || is_old_header(*record)
    })
}

fn is_old_header(record: Object<'_>) -> bool {
    !record.has("type") && record.has("id") && record.has("timestamp") && record.get("instructions").is_some()
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let meta = head.records.iter().find_map(|record| match record.obj("payload") {
        Some(payload) if record.is("type", "session_meta") => Some(payload),
        None if is_old_header(*record) => Some(*record),
        _ => None,
    });
    let spawned = || meta?.obj("source")?.obj("subagent")?.obj("thread_spawn")?.string("parent_thread_id");
    let title = head.records.iter().find_map(|record| record.obj("payload")?.string("thread_name"));
    Identity {
        session: meta.and_then(|meta| meta.string("id")).filter(|id| !id.is_empty()),
        parent: spawned(),
        title,
    }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let mut entry = match (&*kind, record.obj("payload")) {
        ("response_item", Some(payload)) => openai_responses::item(payload),
        ("event_msg", _) => Entry::bare(Origin::Copy),
        ("compacted", Some(payload)) => compacted(payload),
        (_, Some(_)) => Entry::bare(Origin::Bookkeeping),
        (_, None) => openai_responses::item(record),
    };
    own(&mut entry);
    // An answer consists of several items, none of which names it.
    entry.message_id = (entry.role == Role::Assistant).then(String::new);
    entry.time = record.time("timestamp");
    entry
}

/// The summary with which Codex continued after its own compaction.
fn compacted(payload: Object<'_>) -> Entry {
    let mut entry = Entry::bare(Origin::Bookkeeping);
    openai_chat::content(payload.get("message"), &mut entry.parts);
    entry.parts.retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
    if entry.parts.is_empty() {
        let items = payload.items("replacement_history").filter_map(Value::obj);
        let summaries = items.filter(|item| item.is("role", "user"));
        let summaries = summaries.map(|item| openai_responses::item(item).parts);
        entry.parts = summaries.filter(|parts| parts.iter().any(is_summary)).last().unwrap_or_default();
    }
    if !entry.parts.is_empty() {
        entry.role = Role::User;
        entry.origin = Origin::HostSummary;
    }
    entry
}

/// The words with which Codex begins a summary. It recognises its summaries by them.
///
/// Source: `templates/compact/summary_prefix.md`.
pub(crate) const SUMMARY_START: &str = "Another language model started to solve this problem";

/// Whether Codex wrote this text in a user's name before its summary.
fn is_summary(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.starts_with(SUMMARY_START))
}

/// Handles Codex's own additions to items, in rollouts and in requests: its texts in a user's name, and the header of a
/// command's output.
pub(crate) fn own(entry: &mut Entry) {
    let is_words = entry.role == Role::User && entry.origin == Origin::Human;
    if is_words && !entry.parts.is_empty() && entry.parts.iter().all(is_fragment) {
        entry.origin = Origin::Injected;
    }
    for part in &mut entry.parts {
        if let Part::ToolResult(result) = part
            && let Some(Part::Text(text)) = result.content.first()
        {
            result.exit_code = exit_code(text);
        }
    }
}

fn is_fragment(part: &Part) -> bool {
    is_between(part, &FRAGMENTS) || is_standing(part)
}

/// Whether Codex writes this text anew for every session.
pub(crate) fn is_standing(part: &Part) -> bool {
    is_between(part, &STANDING)
}

fn is_between(part: &Part, ends: &[Ends]) -> bool {
    let Part::Text(text) = part else { return false };
    let text = text.trim();
    ends.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end))
}

/// The exit code in the header that Codex puts before the output of a command: the lines up to `Output:`, or the
/// `metadata` behind it where the whole output is JSON (custom tools).
fn exit_code(text: &str) -> Option<i64> {
    if text.starts_with(r#"{"output":"#) {
        let tail = text.rsplit_once(r#""metadata":{"exit_code":"#)?.1;
        return tail.split([',', '}']).next()?.trim().parse().ok();
    }
    let header = text.lines().take(6).take_while(|line| *line != "Output:");
    let mut seen = header.map(exit_code_of_line);
    // A header starts with one of these lines; anything else is output.
    let own = ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|start| text.starts_with(start));
    own.then(|| seen.find_map(|code| code)).flatten()
}

/// The exit code that a line of a result tells.
fn exit_code_of_line(line: &str) -> Option<i64> {
    let code = line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
    code?.trim().parse().ok()
}
