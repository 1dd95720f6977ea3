//! OpenAI Responses items: a JSON array, or one item per message of a live host.
//!
//! | item | entry |
//! |---|---|
//! | `message` of `developer`, `system` (or no type and such a role) | system, injected |
//! | `message` of `user` | user; injected if Codex wrote it, else human |
//! | `message` of `assistant` | assistant |
//! | `reasoning` | assistant: thinking, the item kept whole for its encrypted content |
//! | `function_call`, `custom_tool_call`, `local_shell_call` and other calls with a `call_id` | assistant: a call |
//! | `web_search_call` and other calls without one | assistant: opaque |
//! | `…_output` with a `call_id` | tool |
//! | other types: `item_reference`, `compaction`, unknown ones | assistant: opaque; `…_response` user |
//! | no type and no role | bookkeeping |
//!
//! Neighbouring items of the assistant are one answer. The call of a finished item is whole: its arguments are kept
//! unchanged even if they are no JSON. The input of a custom tool is plain text and becomes `{"input": text}`. An `id`
//! is the provider's name of an item in its own store; it does not name the entry.

use std::borrow::Cow;

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Layout, codex, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format: an array of items, at least one of which is no Chat message.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    head.layout == Layout::Array
        && head.records.iter().all(|record| is_own_item(record) || is_message(record))
        && head.records.iter().any(is_own_item)
}

/// Whether a record is a message.
fn is_message(record: &Object<'_>) -> bool {
    (record.get("type").is_none() || record.is("type", "message")) && record.has("role")
}

/// Whether a record is an item that only Responses has.
fn is_own_item(record: &Object<'_>) -> bool {
    let kind = record.str("type").unwrap_or_default();
    kind == "reasoning"
        || kind == "item_reference"
        || ((kind.ends_with("_call") || kind.ends_with("_call_output"))
            && (record.has("call_id") || record.has("id")))
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let mut entry = item(record);
    let kind = record.string("type").filter(|kind| kind != "message");
    if let Some(kind) = kind.filter(|_| entry.origin == Origin::Bookkeeping) {
        let is_answer = kind.ends_with("_response");
        entry.role = if is_answer { Role::User } else { Role::Assistant };
        entry.origin = if is_answer { Origin::Injected } else { Origin::Model };
        entry.parts.push(Part::Opaque { kind, raw: record.raw_text().into() });
    }
    // An answer consists of several items, none of which names it.
    entry.message_id = (entry.role == Role::Assistant).then(String::new);
    // Codex itself uses this form.
    codex::own(&mut entry);
    entry
}

/// Decodes one item; bookkeeping for an unknown type.
pub(crate) fn item(item: Object<'_>) -> Entry {
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
    entry
}

fn reasoning(item: Object<'_>) -> Part {
    let mut lines = Vec::new();
    for key in ["summary", "content"] {
        lines.extend(item.items(key).filter_map(|line| line.obj()?.string("text")));
    }
    Part::Thinking { text: lines.join("\n\n"), signature: None, raw: Some(item.raw_text().into()) }
}

/// A call of any kind.
pub(crate) fn call(item: Object<'_>, kind: &str) -> ToolCall {
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

/// A string's content, or any other value unchanged.
fn text_of(value: Value<'_>) -> String {
    value.str().map_or_else(|| value.raw().to_owned(), Cow::into_owned)
}

fn output(item: Object<'_>) -> ToolResult {
    let value = item.get("output").or_else(|| item.get("tools"));
    let wrapped = value.and_then(Value::obj).filter(|wrapped| wrapped.has("content"));
    let mut content = Vec::new();
    match (value, wrapped) {
        (_, Some(wrapped)) => openai_chat::content(wrapped.get("content"), &mut content),
        (Some(list), None) if item.has("tools") => content.push(Part::Text(list.raw().to_owned())),
        (other, None) => content = openai_chat::inside(other),
    }
    for part in &mut content {
        // A shell's output is a list of objects without a type.
        if let Part::Opaque { kind, raw } = part
            && kind.is_empty()
        {
            *part = Part::Text(raw.to_string());
        }
    }
    ToolResult {
        call_id: item.string("call_id").unwrap_or_default(),
        name: item.string("name").unwrap_or_default(),
        content,
        is_error: wrapped.and_then(|wrapped| wrapped.bool("success")) == Some(false),
        exit_code: None,
    }
}
