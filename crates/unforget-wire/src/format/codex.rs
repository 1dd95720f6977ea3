//! Codex rollouts: `{"timestamp", "type", "payload"}` per line; before October 2025 bare items.
//!
//! | record | entry |
//! |---|---|
//! | `response_item` (or a bare item) | the canonical history, see below |
//! | `event_msg` | copy: the same for the screen |
//! | `compacted` | the host's own summary if it has words, else bookkeeping; `replacement_history` repeats earlier items |
//! | `session_meta`, `turn_context`, `record_type: state`, anything else | bookkeeping |
//!
//! | item | entry |
//! |---|---|
//! | `message` of `developer`, `system` | system, injected |
//! | `message` of `user` | user; injected if Codex wrote it (see [`FRAGMENTS`]), else human |
//! | `message` of `assistant` | assistant |
//! | `reasoning` | assistant: thinking, the item kept whole for its encrypted content |
//! | `function_call`, `custom_tool_call`, `local_shell_call` and other calls with a `call_id` | assistant: a call |
//! | `web_search_call` and other calls without one | assistant: opaque |
//! | `…_output` with a `call_id` | tool |
//!
//! A call that Codex recorded was whole: its arguments are kept as they are even where they are no JSON. The
//! input of a custom tool is plain text and becomes `{"input": text}`.

use std::borrow::Cow;

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

/// Starts and ends of the texts that Codex itself writes as user items. It recognises its own texts by
/// these (`contextual_user_message.rs`); the record has no other mark.
const FRAGMENTS: [(&str, &str); 9] = [
    ("<environment_context>", "</environment_context>"),
    ("# AGENTS.md instructions for ", "</INSTRUCTIONS>"),
    ("<user_instructions>", "</user_instructions>"),
    ("<skill>", "</skill>"),
    ("<user_shell_command>", "</user_shell_command>"),
    ("<turn_aborted>", "</turn_aborted>"),
    ("<subagent_notification>", "</subagent_notification>"),
    ("<codex_internal_context ", "</codex_internal_context>"),
    ("<ENVIRONMENT_CONTEXT>", "</ENVIRONMENT_CONTEXT>"),
];

/// Whether a transcript with this head is of this format.
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

/// What the head says of the conversation.
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

/// What one record says.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let mut entry = match (&*kind, record.obj("payload")) {
        ("response_item", Some(payload)) => item(payload),
        ("event_msg", _) => Entry::bare(Origin::Copy),
        ("compacted", Some(payload)) => compacted(payload),
        (_, Some(_)) => Entry::bare(Origin::Bookkeeping),
        (_, None) => item(record),
    };
    entry.time = record.time("timestamp");
    entry
}

/// The words with which Codex went on after it compacted by itself.
fn compacted(payload: Object<'_>) -> Entry {
    let mut entry = Entry::bare(Origin::Bookkeeping);
    openai_chat::content(payload.get("message"), &mut entry.parts);
    if !entry.parts.is_empty() {
        entry.role = Role::User;
        entry.origin = Origin::HostSummary;
    }
    entry
}

fn item(item: Object<'_>) -> Entry {
    let kind = item.str("type").unwrap_or_default();
    let mut entry = Entry::bare(Origin::Bookkeeping);
    let (role, part) = match &*kind {
        "message" | "" if item.has("role") => return message(item),
        "reasoning" => (Role::Assistant, reasoning(item)),
        kind if kind.ends_with("_call") && item.has("call_id") => {
            (Role::Assistant, Part::ToolCall(call(item, kind)))
        }
        kind if kind.ends_with("_call") => {
            (Role::Assistant, Part::Opaque { kind: kind.to_owned(), raw: item.raw_text().into() })
        }
        kind if kind.ends_with("_output") && item.has("call_id") => {
            (Role::Tool, Part::ToolResult(output(item)))
        }
        _ => return entry,
    };
    entry.role = role;
    entry.origin = if role == Role::Tool { Origin::Tool } else { Origin::Model };
    entry.parts.push(part);
    entry
}

fn message(item: Object<'_>) -> Entry {
    let role = item.str("role").unwrap_or_default();
    let (role, origin) = match &*role {
        "user" => (Role::User, Origin::Human),
        "assistant" => (Role::Assistant, Origin::Model),
        "developer" | "system" => (Role::System, Origin::Injected),
        _ => return Entry::bare(Origin::Bookkeeping),
    };
    let mut entry = Entry { role, ..Entry::bare(origin) };
    openai_chat::content(item.get("content"), &mut entry.parts);
    if role == Role::User && !entry.parts.is_empty() && entry.parts.iter().all(is_fragment) {
        entry.origin = Origin::Injected;
    }
    entry
}

fn is_fragment(part: &Part) -> bool {
    let Part::Text(text) = part else { return false };
    let text = text.trim();
    FRAGMENTS.iter().any(|(start, end)| text.starts_with(start) && text.ends_with(end))
}

fn reasoning(item: Object<'_>) -> Part {
    let mut lines = Vec::new();
    for key in ["summary", "content"] {
        lines.extend(item.items(key).filter_map(|line| line.obj()?.string("text")));
    }
    Part::Thinking { text: lines.join("\n\n"), signature: None, raw: Some(item.raw_text().into()) }
}

fn call(item: Object<'_>, kind: &str) -> ToolCall {
    let arguments = match (item.get("arguments"), item.get("input"), item.get("action")) {
        (Some(arguments), ..) => text_of(arguments),
        (None, Some(input), _) => format!(r#"{{"input":{}}}"#, input.raw()),
        (None, None, Some(action)) => action.raw().to_owned(),
        (None, None, None) => "{}".to_owned(),
    };
    let cut = item.is("status", "incomplete") || item.is("status", "in_progress");
    ToolCall {
        id: item.string("call_id").unwrap_or_default(),
        name: item.string("name").unwrap_or_else(|| kind.trim_end_matches("_call").to_owned()),
        arguments,
        complete: !cut,
        raw: Some(item.raw_text().into()),
    }
}

/// A string's content, or any other value as it stands.
fn text_of(value: Value<'_>) -> String {
    value.str().map_or_else(|| value.raw().to_owned(), Cow::into_owned)
}

fn output(item: Object<'_>) -> ToolResult {
    let value = item.get("output").or_else(|| item.get("tools"));
    let wrapped = value.and_then(Value::obj);
    let mut content = Vec::new();
    match (value, wrapped) {
        (_, Some(wrapped)) => openai_chat::content(wrapped.get("content"), &mut content),
        (Some(list), None) if item.has("tools") => content.push(Part::Text(list.raw().to_owned())),
        (other, None) => content = openai_chat::inside(other),
    }
    let exit_code = match content.first() {
        Some(Part::Text(text)) => exit_code(text),
        _ => None,
    };
    ToolResult {
        call_id: item.string("call_id").unwrap_or_default(),
        name: item.string("name").unwrap_or_default(),
        content,
        is_error: wrapped.and_then(|wrapped| wrapped.bool("success")) == Some(false),
        exit_code,
    }
}

/// The exit code in the header that Codex puts before the output of a command: the lines up to `Output:`,
/// or the `metadata` behind it where the whole output is JSON (custom tools).
fn exit_code(text: &str) -> Option<i64> {
    if text.starts_with(r#"{"output":"#) {
        let tail = text.rsplit_once(r#""metadata":{"exit_code":"#)?.1;
        return tail.split([',', '}']).next()?.trim().parse().ok();
    }
    let header = text.lines().take(6).take_while(|line| *line != "Output:");
    let code = |line: &str| {
        let code =
            line.strip_prefix("Exit code: ").or_else(|| line.strip_prefix("Process exited with code "));
        code?.trim().parse().ok()
    };
    let mut seen = header.map(code);
    // The header starts with one of its own lines, else it is not a header.
    let own = ["Exit code: ", "Chunk ID: ", "Wall time: "].iter().any(|start| text.starts_with(start));
    own.then(|| seen.find_map(|code| code)).flatten()
}
