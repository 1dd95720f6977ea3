//! pi and OpenClaw session JSONL, versions 1 to 3.
//!
//! **Model-visible:** `message` entries of all roles, `custom_message`; a `bashExecution` as the command and its
//! output; neither `bashExecution` nor `custom` messages with `excludeFromContext`.
//!
//! **The host's summaries:** `compaction` and messages of role `compactionSummary`; `branch_summary`, with the author
//! `branch`, since it stands for entries of an abandoned branch.
//!
//! **Noise:** the header, `custom`, `label`, `session_info`, `model_change`, `thinking_level_change`, `leaf`, `reset`.
//! There are no second copies. Unknown types are opaque.
//!
//! Entries of versions 2 and 3 form a tree by `id` and `parentId`. Version 1 has no ids; there the reader names an
//! entry by its index among all records, as pi does (`#0` is the header).
//!
//! A call is cut off if its message was stopped, or if `partialJson` (`partialArgs`) is incomplete JSON: `arguments`
//! then holds the part received so far, which looks valid.

use unforget_core::entry::{Entry, HostParent, Media, Origin, Part, Role, Status, ToolCall, ToolResult};

use crate::format::{Head, Identity};
use crate::json::{self, Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    head.records
        .iter()
        .any(|record| is_header(*record) || is_message_line(*record) || is_bare_message(*record))
}

fn is_header(record: Object<'_>) -> bool {
    record.is("type", "session") && record.get("id").is_some_and(Value::is_str) && record.has("timestamp")
}

fn is_message_line(record: Object<'_>) -> bool {
    record.is("type", "message") && record.obj("message").is_some_and(|message| message.str("role").is_some())
}

/// Whether a record is a message without its line, as `pi` prints in its JSON mode.
fn is_bare_message(record: Object<'_>) -> bool {
    !record.has("type")
        && ((record.is("role", "assistant") && record.has("api") && record.has("stopReason"))
            || (record.is("role", "toolResult") && record.has("toolCallId")))
}

/// The id in the header, and the newest name among the first records.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let header = head.records.iter().find(|record| is_header(**record));
    let names = head.records.iter().filter(|record| record.is("type", "session_info"));
    Identity {
        session: header.and_then(|header| header.string("id")),
        parent: None,
        title: names.filter_map(|record| record.string("name")).rfind(|name| !name.trim().is_empty()),
    }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type");
    let mut entry = match kind.as_deref() {
        Some("message") => record.obj("message").map_or_else(|| Entry::bare(Origin::Opaque), message),
        Some("compaction") => summary(record, Origin::HostSummary),
        Some("branch_summary") => {
            Entry { author: Some("branch".to_owned()), ..summary(record, Origin::HostSummary) }
        }
        Some("custom_message") => injected(record),
        Some(
            "session"
            | "custom"
            | "label"
            | "session_info"
            | "model_change"
            | "thinking_level_change"
            | "leaf"
            | "reset",
        ) => Entry::bare(Origin::Bookkeeping),
        None if record.has("role") => message(record),
        _ => Entry::bare(Origin::Opaque),
    };
    entry.time = record.time("timestamp").or(entry.time);
    if kind.as_deref() != Some("session") {
        entry.host_id = record.string("id");
        entry.parent = match record.get("parentId") {
            Some(parent) if parent.is_null() => HostParent::Root,
            Some(parent) => parent.str().map_or(HostParent::Previous, |id| HostParent::Id(id.into_owned())),
            None => HostParent::Previous,
        };
    }
    entry
}

fn message(message: Object<'_>) -> Entry {
    let mut entry = match message.str("role").as_deref() {
        Some("user") => with_attachments(spoken(message, Role::User, Origin::Human), message),
        Some("assistant") => assistant(message),
        Some("toolResult") => tool_result(message),
        Some("bashExecution") => bash_execution(message),
        Some("hookMessage" | "custom") => injected(message),
        Some("branchSummary") => summary(message, Origin::Injected),
        Some("compactionSummary") => summary(message, Origin::HostSummary),
        Some("system" | "developer") => spoken(message, Role::System, Origin::Injected),
        _ => Entry::bare(Origin::Opaque),
    };
    entry.time = message.time("timestamp");
    entry.author = message.string("author");
    entry
}

fn spoken(message: Object<'_>, role: Role, origin: Origin) -> Entry {
    Entry { role, parts: content(message), ..Entry::bare(origin) }
}

/// Adds the attachments that OpenClaw notes beside a message whose own blocks do not show them. The transcript has facts
/// of them, no bytes.
///
/// Source: OpenClaw 2026.9.6, `__openclaw.media`.
fn with_attachments(mut entry: Entry, message: Object<'_>) -> Entry {
    let facts = message.obj("__openclaw").and_then(|own| own.get("media"));
    if !entry.parts.iter().any(|part| matches!(part, Part::Media(_))) {
        entry.parts.extend(facts.into_iter().flat_map(Value::items).filter_map(Value::obj).map(attachment));
    }
    entry
}

fn attachment(fact: Object<'_>) -> Part {
    let side = |key| fact.i64(key).and_then(|side| u32::try_from(side).ok());
    Part::Media(Media {
        mime: fact.string("contentType").or_else(|| fact.string("kind")).unwrap_or_default(),
        size: side("width").zip(side("height")),
        raw: fact.raw_text().into(),
    })
}

/// The addition of an extension: the model sees it as user input unless it is excluded.
fn injected(message: Object<'_>) -> Entry {
    let is_excluded = message.bool("excludeFromContext") == Some(true);
    spoken(message, Role::User, if is_excluded { Origin::Bookkeeping } else { Origin::Injected })
}

fn summary(record: Object<'_>, origin: Origin) -> Entry {
    let parts = record.string("summary").map(Part::Text).into_iter().collect();
    Entry { role: Role::User, parts, ..Entry::bare(origin) }
}

fn assistant(message: Object<'_>) -> Entry {
    let status = match message.str("stopReason").as_deref() {
        Some("aborted") => Status::Aborted,
        Some("error") => Status::Error,
        _ => Status::Complete,
    };
    let model = message.string("model");
    Entry { status, model, ..spoken(message, Role::Assistant, Origin::Model) }
}

fn tool_result(message: Object<'_>) -> Entry {
    let details = message.obj("details");
    let result = ToolResult {
        call_id: message.string("toolCallId").unwrap_or_default(),
        name: message.string("toolName").unwrap_or_default(),
        content: content(message),
        is_error: message.bool("isError").unwrap_or(false),
        exit_code: details.and_then(|details| details.i64("exitCode")),
    };
    Entry { role: Role::Tool, parts: vec![Part::ToolResult(result)], ..Entry::bare(Origin::Tool) }
}

/// A command that the person ran: the model sees it as user input unless it is excluded.
fn bash_execution(message: Object<'_>) -> Entry {
    let origin =
        if message.bool("excludeFromContext") == Some(true) { Origin::Bookkeeping } else { Origin::Tool };
    let end = match message.i64("exitCode") {
        _ if message.bool("cancelled") == Some(true) => "\n[cancelled]".to_owned(),
        Some(code) if code != 0 => format!("\n[exit code {code}]"),
        _ => String::new(),
    };
    let text = |key| message.str(key).unwrap_or_default();
    let text = format!("$ {}\n{}{end}", text("command"), text("output"));
    Entry { role: Role::User, parts: vec![Part::Text(text)], ..Entry::bare(origin) }
}

/// `content`: a string, or blocks.
fn content(message: Object<'_>) -> Vec<Part> {
    let Some(content) = message.get("content") else { return Vec::new() };
    match content.str() {
        Some(text) => vec![Part::Text(text.into_owned())],
        None => content.items().map(part).collect(),
    }
}

fn part(block: Value<'_>) -> Part {
    let known = block.obj().and_then(|object| match object.str("type").as_deref() {
        Some("text") => object.string("text").map(Part::Text),
        Some("thinking") => Some(Part::Thinking {
            text: object.string("thinking").unwrap_or_default(),
            signature: object.string("thinkingSignature"),
            raw: Some(block.raw().into()),
        }),
        Some("toolCall") => Some(Part::ToolCall(tool_call(object))),
        Some("image") => Some(Part::Media(Media {
            mime: object.string("mimeType").unwrap_or_default(),
            size: None,
            raw: block.raw().into(),
        })),
        _ => None,
    });
    known.unwrap_or_else(|| Part::Opaque {
        kind: block.obj().and_then(|object| object.string("type")).unwrap_or_default(),
        raw: block.raw().into(),
    })
}

fn tool_call(block: Object<'_>) -> ToolCall {
    let given = block.get("arguments");
    let arguments = match given.and_then(Value::str) {
        Some(text) => text.into_owned(),
        None => given.map_or("{}", Value::raw).to_owned(),
    };
    let is_whole = |key| block.str(key).is_none_or(|partial| json::is_value(&partial));
    ToolCall {
        id: block.string("id").unwrap_or_default(),
        name: block.string("name").unwrap_or_default(),
        complete: is_whole("partialJson")
            && is_whole("partialArgs")
            && (!given.is_some_and(Value::is_str) || json::is_value(&arguments)),
        arguments,
        raw: Some(block.raw_text().into()),
    }
}
