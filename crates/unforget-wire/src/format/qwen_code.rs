//! Qwen Code sessions since 2026: JSON lines, a tree of records with Gemini's contents. Older ones are Gemini CLI's.
//!
//! | record | entry |
//! |---|---|
//! | `user` | user, human; injected if a `subtype` says that the host wrote it |
//! | `assistant` | assistant: thoughts, text, calls |
//! | `tool_result` | tool |
//! | `system` | bookkeeping; titles and compressions too, which the next prompt of the host is made from |
//!
//! Source: `packages/core/src/services/chatRecordingService.ts` of qwen-code.

use unforget_core::entry::{Entry, HostParent, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, Layout, gemini_cli};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format. Claude Code's messages have no `parts`.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_own = |record: &Object<'_>| {
        let has_parts = record.obj("message").is_some_and(|message| message.has("parts"));
        record.has("uuid") && record.has("sessionId") && (has_parts || record.has("systemPayload"))
    };
    head.layout == Layout::Lines && head.records.iter().any(is_own)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.string("sessionId"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let (role, origin) = match &*kind {
        "user" if is_injected(record) => (Role::User, Origin::Injected),
        "user" => (Role::User, Origin::Human),
        "assistant" => (Role::Assistant, Origin::Model),
        "tool_result" => (Role::Tool, Origin::Tool),
        _ => (Role::None, Origin::Bookkeeping),
    };
    let mut entry = Entry { role, time: record.time("timestamp"), ..Entry::bare(origin) };
    entry.host_id = record.string("uuid").filter(|id| !id.is_empty());
    entry.parent = match record.get("parentUuid") {
        Some(parent) if parent.is_null() => HostParent::Root,
        Some(parent) => parent.str().map_or(HostParent::Previous, |id| HostParent::Id(id.into_owned())),
        None => HostParent::Previous,
    };
    entry.model = record.string("model");
    if record.bool("isSidechain") == Some(true) {
        entry.thread = record.string("agentId").filter(|id| !id.is_empty());
    }
    if origin != Origin::Bookkeeping {
        let parts = record.obj("message").into_iter().flat_map(|message| message.items("parts"));
        entry.parts.extend(parts.map(part));
    }
    entry
}

/// Whether the host wrote the words: a notification, a timer, a goal.
fn is_injected(record: Object<'_>) -> bool {
    record.has("subtype") && !record.is("subtype", "mid_turn_user_message")
}

fn part(value: Value<'_>) -> Part {
    let object = value.obj();
    let of = |key: &str| object.and_then(|part| part.obj(key));
    if let Some(call) = of("functionCall") {
        return Part::ToolCall(ToolCall {
            id: call.string("id").unwrap_or_default(),
            name: call.string("name").unwrap_or_default(),
            arguments: call.raw("args").unwrap_or("{}").to_owned(),
            complete: true,
            raw: Some(value.raw().into()),
        });
    }
    if let Some(answer) = of("functionResponse") {
        let is_error = answer.obj("response").is_some_and(|response| response.has("error"));
        return Part::ToolResult(ToolResult {
            call_id: answer.string("id").unwrap_or_default(),
            name: answer.string("name").unwrap_or_default(),
            content: vec![gemini_cli::answer(value)],
            is_error,
            exit_code: None,
        });
    }
    match (object.is_some_and(|part| part.bool("thought") == Some(true)), gemini_cli::part(value)) {
        (true, Part::Text(text)) => Part::Thinking { text, signature: None, raw: Some(value.raw().into()) },
        (_, part) => part,
    }
}
