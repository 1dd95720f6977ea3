//! Continue sessions: one JSON object with `history`, whose elements hold an OpenAI-like message each.
//!
//! | record | entry |
//! |---|---|
//! | element with a `message` | the message; calls are named `toolCalls`, the id of an answered call `toolCallId` |
//! | `toolCallStates` of an assistant's element | each call is followed by its result, which has no message of its own |
//!
//! What was put beside a message (`contextItems`) is not repeated: the host writes it into the message. Seen: `cn` 1.5.47.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, Layout, openai_chat};
use crate::json::{Object, Value, is_value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_item = |record: &Object<'_>| record.obj("message").is_some_and(|message| message.has("role"));
    head.layout == Layout::Under("history")
        && head.header.is_some_and(|header| header.has("sessionId"))
        && head.records.iter().all(is_item)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let text = |key: &str| head.header.and_then(|header| header.string(key)).filter(|text| !text.is_empty());
    Identity { session: text("sessionId"), parent: None, title: text("title") }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(message) = record.obj("message") else { return Entry::bare(Origin::Bookkeeping) };
    let role = message.str("role").unwrap_or_default();
    let (role, origin) = match &*role {
        "system" => (Role::System, Origin::Injected),
        "user" => (Role::User, Origin::Human),
        "assistant" | "thinking" => (Role::Assistant, Origin::Model),
        "tool" => (Role::Tool, Origin::Tool),
        _ => return Entry::bare(Origin::Bookkeeping),
    };
    let mut entry = Entry { role, ..Entry::bare(origin) };
    entry.host_id = message.string("id").filter(|id| !id.is_empty());
    let mut parts = Vec::new();
    openai_chat::content(message.get("content"), &mut parts);
    if message.is("role", "thinking") {
        for part in &mut parts {
            if let Part::Text(text) = part {
                let (text, signature) = (std::mem::take(text), message.string("signature"));
                *part = Part::Thinking { text, signature, raw: None };
            }
        }
    }
    if role == Role::Tool {
        let content = std::mem::take(&mut parts);
        parts.push(Part::ToolResult(ToolResult {
            call_id: message.string("toolCallId").unwrap_or_default(),
            name: String::new(),
            content,
            is_error: false,
            exit_code: None,
        }));
    }
    for called in message.items("toolCalls").filter_map(Value::obj) {
        parts.push(call(called));
        let id = called.str("id").unwrap_or_default();
        let states = record.items("toolCallStates").filter_map(Value::obj);
        parts.extend(states.filter(|state| state.is("toolCallId", &id)).filter_map(result));
    }
    entry.parts = parts;
    entry
}

/// The result inside the state of a call, once it ended.
fn result(state: Object<'_>) -> Option<Part> {
    let status = state.str("status").unwrap_or_default();
    let is_over = matches!(&*status, "done" | "errored" | "canceled");
    let mut content = Vec::new();
    for item in state.items("output").filter_map(Value::obj) {
        content.extend(item.string("content").map(Part::Text));
    }
    (is_over || !content.is_empty()).then(|| {
        Part::ToolResult(ToolResult {
            call_id: state.string("toolCallId").unwrap_or_default(),
            name: String::new(),
            content,
            is_error: matches!(&*status, "errored" | "canceled"),
            exit_code: None,
        })
    })
}

fn call(call: Object<'_>) -> Part {
    let function = call.obj("function");
    let text = |key: &str| function.and_then(|function| function.string(key)).unwrap_or_default();
    let arguments = text("arguments");
    Part::ToolCall(ToolCall {
        id: call.string("id").unwrap_or_default(),
        name: text("name"),
        complete: arguments.is_empty() || is_value(&arguments),
        arguments: if arguments.is_empty() { "{}".to_owned() } else { arguments },
        raw: Some(call.raw_text().into()),
    })
}
