//! Claude Code JSONL.
//!
//! **Model-visible:** `user` and `assistant` lines; of the attachments, input that was queued while the
//! model worked (`queued_command`) and context that a hook adds (`hook_additional_context`). One API message
//! comes as several lines, one per block: they share `message.id`.
//!
//! **Role user, but no person's words:** tool results, `isMeta` lines (caveats, skills, hook feedback), lines whose
//! `origin.kind` is not `human`. Slash commands and interrupts are the person's. The task of a sub-agent counts as a
//! person's words, with the author `parent agent`: it is the subject of the conversation.
//!
//! **The host's summary:** `isCompactSummary`.
//!
//! **Second copies:** `progress` (embeds whole sub-agent messages), and the field `toolUseResult`, which is not read
//! except for an exit code.
//!
//! **Noise:** all other types; `assistant` lines of model `<synthetic>` (API errors and placeholders, neither written
//! nor seen by the model); lines for the screen only (`isVisibleInTranscriptOnly`). Unknown types are opaque.
//!
//! File order is the order. `parentUuid` is not followed: nearly all forks in it are false, and walking it loses a
//! quarter of the tool results. It only serves to find the root of an inline sidechain (`isSidechain` in a main file),
//! which becomes a lane of its own.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, Status, ToolCall, ToolResult};

use crate::format::{Head, Identity};
use crate::json::{self, Object, Value};

/// Types of lines without content for the model.
const NOISE: [&str; 14] = [
    "system",
    "summary",
    "file-history-snapshot",
    "queue-operation",
    "attachment",
    "permission-mode",
    "last-prompt",
    "custom-title",
    "agent-name",
    "agent-setting",
    "ai-title",
    "mode",
    "pr-link",
    "worktree-state",
];

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    head.records.iter().any(|record| {
        let kind = record.str("type");
        let is_spoken = matches!(kind.as_deref(), Some("user" | "assistant"));
        let is_noise = kind.is_some_and(|kind| NOISE.contains(&kind.as_ref()) || kind == "progress");
        (is_spoken && record.obj("message").is_some_and(|message| message.has("content")))
            || (is_noise && (record.has("sessionId") || record.has("leafUuid") || record.has("messageId")))
    })
}

/// Session id of the first line that has one. A file with lines of only one sub-agent is that sub-agent's conversation,
/// with the session as its parent.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.string("sessionId"));
    let mut lines = head.records.iter().filter(|record| record.has("isSidechain")).peekable();
    let agent = lines.peek().and_then(|record| agent_id(**record));
    let is_agent = agent.is_some()
        && lines.all(|record| record.bool("isSidechain") == Some(true) && agent_id(*record) == agent);
    let title = ["customTitle", "agentName", "aiTitle", "summary"].into_iter().find_map(|key| {
        head.records.iter().rev().filter(|record| !record.has("uuid")).find_map(|record| record.string(key))
    });
    match (session, agent) {
        (Some(session), Some(agent)) if is_agent => {
            Identity { session: Some(format!("{session}/agent-{agent}")), parent: Some(session), title }
        }
        (session, _) => Identity { session, parent: None, title },
    }
}

/// The sub-agent that wrote a line, without the prefix `agent-`.
pub(crate) fn agent_id(record: Object<'_>) -> Option<String> {
    let id = record.str("agentId")?;
    let id = id.strip_prefix("agent-").unwrap_or(&id);
    (!id.is_empty()).then(|| id.to_owned())
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let mut entry = match (kind.as_ref(), record.obj("message")) {
        ("user", Some(message)) => user(record, message),
        ("assistant", Some(message)) => assistant(record, message),
        ("progress", _) => Entry::bare(Origin::Copy),
        ("attachment", _) => attachment(record),
        (kind, _) if NOISE.contains(&kind) => Entry::bare(Origin::Bookkeeping),
        _ => Entry::bare(Origin::Opaque),
    };
    entry.host_id = record.string("uuid");
    entry.time = record.time("timestamp");
    if entry.author.is_none() {
        entry.author = record.string("agentName");
    }
    entry
}

fn user(record: Object<'_>, message: Object<'_>) -> Entry {
    let mut parts = content(message);
    let mut results = parts.iter_mut().filter_map(|part| match part {
        Part::ToolResult(result) => Some(result),
        _ => None,
    });
    if let (Some(result), None) = (results.next(), results.next()) {
        // The copy belongs to a single result.
        result.exit_code = record.obj("toolUseResult").and_then(|copy| copy.i64("exitCode"));
    }
    let has_result = parts.iter().any(|part| matches!(part, Part::ToolResult(_)));
    let is_set = |key| record.bool(key) == Some(true);
    let is_foreign =
        record.obj("origin").and_then(|origin| origin.str("kind")).is_some_and(|kind| kind != "human");
    let (role, origin) = match () {
        () if is_set("isCompactSummary") => (Role::User, Origin::HostSummary),
        () if is_set("isVisibleInTranscriptOnly") => (Role::User, Origin::Bookkeeping),
        () if has_result => (Role::Tool, Origin::Tool),
        () if is_set("isMeta") || is_foreign => (Role::User, Origin::Injected),
        () => (Role::User, Origin::Human),
    };
    let is_task = origin == Origin::Human && is_set("isSidechain");
    let author = is_task.then(|| "parent agent".to_owned());
    Entry { role, parts, author, ..Entry::bare(origin) }
}

fn assistant(record: Object<'_>, message: Object<'_>) -> Entry {
    let is_error = record.bool("isApiErrorMessage") == Some(true);
    let is_synthetic = is_error || message.is("model", "<synthetic>");
    Entry {
        role: Role::Assistant,
        status: if is_error { Status::Error } else { Status::Complete },
        message_id: message.string("id"),
        model: message.string("model"),
        parts: content(message),
        ..Entry::bare(if is_synthetic { Origin::Bookkeeping } else { Origin::Model })
    }
}

fn attachment(record: Object<'_>) -> Entry {
    let attachment = record.obj("attachment");
    let kind = attachment.and_then(|attachment| attachment.str("type")).unwrap_or_default();
    let (origin, field) = match kind.as_ref() {
        "queued_command" => (Origin::Human, "prompt"),
        "hook_additional_context" => (Origin::Injected, "content"),
        _ => return Entry::bare(Origin::Bookkeeping),
    };
    let is_prompt =
        attachment.and_then(|attachment| attachment.str("commandMode")).is_none_or(|mode| mode == "prompt");
    let origin = if origin == Origin::Human && !is_prompt { Origin::Injected } else { origin };
    let parts = attachment
        .and_then(|attachment| attachment.get(field))
        .map(|content| blocks(content, plain_part))
        .unwrap_or_default();
    Entry { role: Role::User, parts, ..Entry::bare(origin) }
}

fn content(message: Object<'_>) -> Vec<Part> {
    message.get("content").map(|content| blocks(content, part)).unwrap_or_default()
}

/// A string, or an array of strings and blocks.
fn blocks(content: Value<'_>, part: fn(Value<'_>) -> Part) -> Vec<Part> {
    match content.str() {
        Some(text) => vec![Part::Text(text.into_owned())],
        None => content.items().map(part).collect(),
    }
}

fn part(block: Value<'_>) -> Part {
    let raw = || Some(block.raw().into());
    let known = block.obj().and_then(|object| match object.str("type").as_deref() {
        Some("thinking") => Some(Part::Thinking {
            text: object.string("thinking").unwrap_or_default(),
            signature: object.string("signature"),
            raw: raw(),
        }),
        Some("redacted_thinking") => {
            Some(Part::Thinking { text: String::new(), signature: object.string("data"), raw: raw() })
        }
        Some("tool_use") => Some(Part::ToolCall(tool_call(object))),
        Some("tool_result") => Some(Part::ToolResult(ToolResult {
            call_id: object.string("tool_use_id").unwrap_or_default(),
            name: String::new(),
            content: object.get("content").map(|content| blocks(content, plain_part)).unwrap_or_default(),
            is_error: object.bool("is_error").unwrap_or(false),
            exit_code: None,
        })),
        _ => None,
    });
    known.unwrap_or_else(|| plain_part(block))
}

/// A block that may stand in a message and in a result: calls inside a result would not be calls.
fn plain_part(block: Value<'_>) -> Part {
    if let Some(text) = block.str() {
        return Part::Text(text.into_owned());
    }
    let object = block.obj();
    let kind = object.and_then(|object| object.str("type")).unwrap_or_default();
    let text = object.filter(|_| kind == "text").and_then(|object| object.string("text"));
    if let Some(text) = text {
        return Part::Text(text);
    }
    if matches!(kind.as_ref(), "image" | "document") {
        let source = object.and_then(|object| object.obj("source"));
        let mime = source.and_then(|source| source.string("media_type")).unwrap_or_default();
        return Part::Media(Media { mime, size: None, raw: block.raw().into() });
    }
    Part::Opaque { kind: kind.into_owned(), raw: block.raw().into() }
}

fn tool_call(block: Object<'_>) -> ToolCall {
    let given = block.get("input");
    let arguments = match given.and_then(Value::str) {
        Some(text) => text.into_owned(),
        None => given.map_or("{}", Value::raw).to_owned(),
    };
    ToolCall {
        id: block.string("id").unwrap_or_default(),
        name: block.string("name").unwrap_or_default(),
        complete: !given.is_some_and(Value::is_str) || json::is_value(&arguments),
        arguments,
        raw: Some(block.raw_text().into()),
    }
}
