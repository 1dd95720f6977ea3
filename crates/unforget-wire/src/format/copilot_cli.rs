//! Copilot CLI events: `{type, data, id, timestamp, parentId}` per line.
//!
//! | record | entry |
//! |---|---|
//! | `user.message` | user, human: `content`, the person's words; `transformedContent` repeats them between reminders |
//! | `assistant.message` | assistant: text and `toolRequests` |
//! | `tool.execution_complete` | tool: the result of a request |
//! | `tool.execution_start` | copy of the request |
//! | `system.message` | system, injected |
//! | `system.notification` | user, injected: the model sees it |
//! | everything else (`hook.*`, `permission.*`, `session.*`, `assistant.turn_*`) | bookkeeping |
//!
//! `parentId` chains all events, noise included, in file order, so it adds nothing to the order. `parentToolCallId`
//! marks a sub-agent's events and names their thread.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    !head.records.is_empty() && head.records.iter().all(is_event)
}

/// Whether a record is an event of Copilot CLI.
fn is_event(record: &Object<'_>) -> bool {
    let kind = record.str("type").unwrap_or_default();
    kind.contains('.') && record.obj("data").is_some() && record.has("id")
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.obj("data")?.string("sessionId"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let (role, origin) = match &*kind {
        "user.message" => (Role::User, Origin::Human),
        "assistant.message" => (Role::Assistant, Origin::Model),
        "tool.execution_complete" => (Role::Tool, Origin::Tool),
        "tool.execution_start" => (Role::None, Origin::Copy),
        "system.message" => (Role::System, Origin::Injected),
        "system.notification" => (Role::User, Origin::Injected),
        _ => (Role::None, Origin::Bookkeeping),
    };
    let mut entry = Entry { role, time: record.time("timestamp"), ..Entry::bare(origin) };
    entry.host_id = record.string("id").filter(|id| !id.is_empty());
    let Some(event) = record.obj("data") else { return entry };
    entry.thread = event.string("parentToolCallId").filter(|id| !id.is_empty());
    match role {
        Role::None => {}
        Role::Tool => entry.parts.push(Part::ToolResult(result(event))),
        Role::Assistant => {
            entry.model = event.string("model");
            entry.message_id = event.string("messageId");
            if let Some(text) = event.string("reasoningText").filter(|text| !text.is_empty()) {
                entry.parts.push(Part::Thinking { text, signature: None, raw: None });
            }
            openai_chat::content(event.get("content"), &mut entry.parts);
            entry.parts.extend(event.items("toolRequests").filter_map(request));
        }
        Role::System | Role::User => {
            let said = event.get("content").or_else(|| event.get("transformedContent"));
            openai_chat::content(said, &mut entry.parts);
        }
    }
    entry
}

fn request(value: Value<'_>) -> Option<Part> {
    let request = value.obj()?;
    let arguments = request.get("arguments");
    let text = arguments
        .map(|value| value.str().map_or_else(|| value.raw().to_owned(), std::borrow::Cow::into_owned));
    Some(Part::ToolCall(ToolCall {
        id: request.string("toolCallId").unwrap_or_default(),
        name: request.string("name").unwrap_or_default(),
        arguments: text.unwrap_or_else(|| "{}".to_owned()),
        complete: true,
        raw: Some(value.raw().into()),
    }))
}

fn result(event: Object<'_>) -> ToolResult {
    let result = event.get("result");
    let inner = result.and_then(Value::obj).map_or(result, |result| result.get("content"));
    let mut content = openai_chat::inside(inner);
    if let Some(text) = event.obj("error").and_then(|error| error.string("message")) {
        content.push(Part::Text(text));
    }
    ToolResult {
        call_id: event.string("toolCallId").unwrap_or_default(),
        name: event.string("toolName").unwrap_or_default(),
        content,
        is_error: event.bool("success") == Some(false),
        exit_code: None,
    }
}
