//! Messages of Pydantic AI as `all_messages_json` writes them: an array of requests and responses.
//!
//! | record | entry |
//! |---|---|
//! | `request` with a `user-prompt` | user, human; instructions in the same request are opaque beside it |
//! | `request` of nothing but `tool-return` and `retry-prompt` | tool; a `retry-prompt` without a call is injected |
//! | `request` of nothing but `system-prompt` | system, injected |
//! | `response` | assistant: `text`, `thinking`, `tool-call`, `file` |
//!
//! Seen: pydantic-ai 2.68.0.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, openai_chat, rows};
use crate::json::{Object, Value, is_value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_part = |part: Value<'_>| part.obj().is_some_and(|part| part.has("part_kind"));
    let is_message = |record: &Object<'_>| {
        (record.is("kind", "request") || record.is("kind", "response"))
            && record.get("parts").is_some_and(|parts| parts.is_array() && parts.items().all(is_part))
    };
    !head.records.is_empty() && head.records.iter().all(is_message)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let id = head.records.first().and_then(|record| record.string("conversation_id"));
    Identity { session: id.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let parts: Vec<Object<'_>> = record.items("parts").filter_map(Value::obj).collect();
    let is_all = |kind: &str| !parts.is_empty() && parts.iter().all(|part| part.is("part_kind", kind));
    let is_prompted = parts.iter().any(|part| part.is("part_kind", "user-prompt"));
    let (role, origin) = match record.str("kind").as_deref() {
        Some("response") => (Role::Assistant, Origin::Model),
        Some("request") if is_prompted => (Role::User, Origin::Human),
        Some("request") if is_all("system-prompt") => (Role::System, Origin::Injected),
        Some("request") => (Role::User, Origin::Injected),
        _ => (Role::None, Origin::Bookkeeping),
    };
    let mut entry = Entry { role, time: record.time("timestamp"), ..Entry::bare(origin) };
    entry.model = record.string("model_name");
    for part in &parts {
        add(*part, role, &mut entry.parts);
    }
    if entry.origin == Origin::Injected {
        openai_chat::by_results(&mut entry);
    }
    if entry.parts.is_empty() {
        entry.origin = Origin::Bookkeeping;
    }
    entry
}

fn add(part: Object<'_>, role: Role, parts: &mut Vec<Part>) {
    let kind = part.string("part_kind").unwrap_or_default();
    let raw = || Box::from(part.raw_text());
    match kind.as_str() {
        "text" => openai_chat::content(part.get("content"), parts),
        "system-prompt" if role == Role::System => openai_chat::content(part.get("content"), parts),
        "user-prompt" => prompt(part.get("content"), parts),
        "thinking" => parts.push(Part::Thinking {
            text: part.string("content").unwrap_or_default(),
            signature: part.string("signature").filter(|proof| !proof.is_empty()),
            raw: Some(raw()),
        }),
        "tool-call" => parts.push(call(part)),
        "tool-return" => parts.push(result(part)),
        "retry-prompt" if part.has("tool_name") => parts.push(result(part)),
        "retry-prompt" => parts.push(Part::Text(text_of(part.get("content")))),
        "file" => parts.extend(part.obj("content").map(|file| rows::media(file, "media_type", "data"))),
        _ => parts.push(Part::Opaque { kind, raw: raw() }),
    }
}

/// A person's text, or a list of texts and files.
fn prompt(content: Option<Value<'_>>, parts: &mut Vec<Part>) {
    let Some(content) = content.filter(|content| content.is_array()) else {
        return openai_chat::content(content, parts);
    };
    for item in content.items() {
        match (item.str(), item.obj()) {
            (Some(text), _) => parts.push(Part::Text(text.into_owned())),
            (None, Some(file)) if file.is("kind", "binary") => {
                parts.push(rows::media(file, "media_type", "data"));
            }
            (None, object) => {
                let kind = object.and_then(|object| object.string("kind")).unwrap_or_default();
                parts.push(Part::Opaque { kind, raw: item.raw().into() });
            }
        }
    }
}

fn call(part: Object<'_>) -> Part {
    let given = part.get("args");
    let text = given.and_then(Value::str).map(std::borrow::Cow::into_owned);
    let is_whole = text.as_ref().is_none_or(|text| text.is_empty() || is_value(text));
    let arguments = text.or_else(|| given.map(|value| value.raw().to_owned())).unwrap_or_default();
    let arguments = if arguments.is_empty() || arguments == "null" { "{}".to_owned() } else { arguments };
    Part::ToolCall(ToolCall {
        id: part.string("tool_call_id").unwrap_or_default(),
        name: part.string("tool_name").unwrap_or_default(),
        arguments,
        complete: is_whole,
        raw: Some(part.raw_text().into()),
    })
}

fn result(part: Object<'_>) -> Part {
    let is_error = part.is("part_kind", "retry-prompt") || part.is("outcome", "failed");
    Part::ToolResult(ToolResult {
        call_id: part.string("tool_call_id").unwrap_or_default(),
        name: part.string("tool_name").unwrap_or_default(),
        content: vec![Part::Text(text_of(part.get("content")))],
        is_error,
        exit_code: None,
    })
}

/// A text as it is, any other value as JSON.
fn text_of(value: Option<Value<'_>>) -> String {
    let Some(value) = value else { return String::new() };
    value.str().map_or_else(|| value.raw().to_owned(), std::borrow::Cow::into_owned)
}
