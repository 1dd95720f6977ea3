//! OpenAI Chat messages: a JSON array, an object with `messages`, or one message per line.
//!
//! | record | entry |
//! |---|---|
//! | role `system`, `developer` | system, injected |
//! | role `user` | user, human; `name` is the author |
//! | role `assistant` | assistant; `tool_calls` and the older `function_call` are calls, `refusal` is text, `reasoning_content` is unsigned thinking |
//! | role `tool`, `function` | tool; a `function` message answers the call `function:NAME` |
//! | no role | bookkeeping |
//!
//! `content` is a string, a list of parts, or `null` beside calls. Parts of the other message formats (Responses,
//! Anthropic) are understood too: real files mix them, and a plain-text conversation looks alike in all three.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity};
use crate::json::{Object, Value, is_value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    !head.records.is_empty() && head.records.iter().all(is_message)
}

/// Whether a record is a message of Chat Completions.
fn is_message(record: &Object<'_>) -> bool {
    let role = record.str("role").unwrap_or_default();
    let known = matches!(&*role, "system" | "developer" | "user" | "assistant" | "tool" | "function");
    known && (record.get("content").is_some() || record.has("tool_calls") || record.has("function_call"))
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let text = |key: &str| head.header.and_then(|header| header.string(key)).filter(|text| !text.is_empty());
    Identity {
        session: text("session_id").or_else(|| text("conversation_id")).or_else(|| text("id")),
        parent: None,
        title: text("title"),
    }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let role = record.str("role").unwrap_or_default();
    let (role, origin) = match &*role {
        "system" | "developer" => (Role::System, Origin::Injected),
        "user" => (Role::User, Origin::Human),
        "assistant" => (Role::Assistant, Origin::Model),
        "tool" | "function" => (Role::Tool, Origin::Tool),
        _ => return Entry { time: time(record), ..Entry::bare(Origin::Bookkeeping) },
    };
    let mut entry = Entry { role, time: time(record), ..Entry::bare(origin) };
    entry.host_id = record.string("id").filter(|id| !id.is_empty());
    entry.model = record.string("model");
    match role {
        Role::Tool => entry.parts.push(Part::ToolResult(tool_message(record))),
        Role::Assistant => assistant(record, &mut entry.parts),
        _ => {
            entry.author = record.string("name");
            content(record.get("content"), &mut entry.parts);
        }
    }
    by_results(&mut entry);
    entry
}

/// Turns a user's entry into a tool's, if it holds nothing but results.
pub(crate) fn by_results(entry: &mut Entry) {
    let only_results = entry.parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
    if entry.role == Role::User && !entry.parts.is_empty() && only_results {
        entry.role = Role::Tool;
        entry.origin = Origin::Tool;
    }
}

/// The parts of a `content` field: text, a list of parts, or nothing.
pub(crate) fn content(value: Option<Value<'_>>, parts: &mut Vec<Part>) {
    let Some(value) = value else { return };
    if let Some(text) = value.str() {
        if !text.is_empty() {
            parts.push(Part::Text(text.into_owned()));
        }
    } else if value.obj().is_some() {
        parts.push(part(value));
    } else {
        parts.extend(value.items().map(part));
    }
}

/// One part of a list, of any of the message formats.
fn part(value: Value<'_>) -> Part {
    if let Some(text) = value.str() {
        return Part::Text(text.into_owned());
    }
    let raw = || Box::from(value.raw());
    let Some(block) = value.obj() else {
        return Part::Opaque { kind: String::new(), raw: raw() };
    };
    let kind = block.str("type").unwrap_or_default();
    let text = match &*kind {
        "text" | "input_text" | "output_text" | "summary_text" => block.string("text"),
        "refusal" => block.string("refusal"),
        _ => None,
    };
    if let Some(text) = text {
        return Part::Text(text);
    }
    match &*kind {
        "image" | "image_url" | "input_image" | "input_audio" | "file" | "input_file" | "document"
        | "audio" => Part::Media(Media { mime: mime(block, &kind), size: None, raw: raw() }),
        "thinking" | "redacted_thinking" => Part::Thinking {
            text: block.string("thinking").unwrap_or_default(),
            signature: block.string("signature"),
            raw: Some(raw()),
        },
        "tool_use" => Part::ToolCall(ToolCall {
            id: block.string("id").unwrap_or_default(),
            name: block.string("name").unwrap_or_default(),
            arguments: block.raw("input").unwrap_or("{}").to_owned(),
            // Our own mark of a call cut off during streaming.
            complete: !block.has("partial_json"),
            raw: Some(raw()),
        }),
        "tool_result" => Part::ToolResult(ToolResult {
            call_id: block.string("tool_use_id").unwrap_or_default(),
            name: String::new(),
            content: inside(block.get("content")),
            is_error: block.bool("is_error").unwrap_or_default(),
            exit_code: None,
        }),
        _ => Part::Opaque { kind: kind.into_owned(), raw: raw() },
    }
}

/// The parts inside a result: text, media and opaque blocks only.
pub(crate) fn inside(value: Option<Value<'_>>) -> Vec<Part> {
    let mut parts = Vec::new();
    content(value, &mut parts);
    let alone = value.filter(|value| !value.is_array());
    let raws = value.into_iter().flat_map(Value::items).chain(alone);
    for (part, raw) in parts.iter_mut().zip(raws) {
        if !matches!(part, Part::Text(_) | Part::Media(_) | Part::Opaque { .. }) {
            let kind = raw.obj().and_then(|block| block.string("type")).unwrap_or_default();
            *part = Part::Opaque { kind, raw: raw.raw().into() };
        }
    }
    parts
}

/// MIME type of a media block, empty if unspecified.
fn mime(block: Object<'_>, kind: &str) -> String {
    let source = block.obj("source");
    let said = source.and_then(|source| source.string("media_type")).or_else(|| block.string("mimeType"));
    if let Some(said) = said {
        return said;
    }
    let file = block.obj("file").unwrap_or(block);
    let address = block
        .obj("image_url")
        .and_then(|image| image.str("url"))
        .or_else(|| block.str("image_url"))
        .or_else(|| file.str("file_data"))
        .unwrap_or_default();
    if let Some(label) = address.strip_prefix("data:").and_then(|rest| rest.split([';', ',']).next()) {
        return label.to_owned();
    }
    match kind {
        "input_audio" | "audio" => {
            let form = block.obj("input_audio").and_then(|audio| audio.string("format"));
            format!("audio/{}", form.unwrap_or_else(|| "unknown".to_owned()))
        }
        "file" | "input_file" | "document" => "application/octet-stream".to_owned(),
        _ => String::new(),
    }
}

fn assistant(record: Object<'_>, parts: &mut Vec<Part>) {
    let thinking = record.string("reasoning_content").or_else(|| record.string("reasoning"));
    if let Some(text) = thinking.filter(|text| !text.is_empty()) {
        parts.push(Part::Thinking { text, signature: None, raw: None });
    }
    content(record.get("content"), parts);
    if let Some(text) = record.string("refusal").filter(|text| !text.is_empty()) {
        parts.push(Part::Text(text));
    }
    if let Some(text) = record.obj("audio").and_then(|audio| audio.string("transcript")) {
        parts.push(Part::Text(text));
    }
    parts.extend(calls(record));
    if let Some(call) = record.obj("function_call") {
        let name = call.string("name").unwrap_or_default();
        let arguments = arguments(call);
        let complete = is_value(&arguments);
        let raw = Some(call.raw_text().into());
        parts.push(Part::ToolCall(ToolCall {
            id: format!("function:{name}"),
            name,
            arguments,
            complete,
            raw,
        }));
    }
}

/// The calls of `tool_calls`.
pub(crate) fn calls(record: Object<'_>) -> impl Iterator<Item = Part> {
    record.items("tool_calls").filter_map(|value| {
        let call = value.obj()?;
        let function = call.obj("function").or_else(|| call.obj("custom")).unwrap_or(call);
        let arguments = arguments(function);
        Some(Part::ToolCall(ToolCall {
            id: call.string("id").unwrap_or_default(),
            name: function.string("name").unwrap_or_default(),
            complete: is_value(&arguments),
            arguments,
            raw: Some(value.raw().into()),
        }))
    })
}

/// Arguments as JSON text: the string's content, or the object unchanged; `{}` if missing.
fn arguments(function: Object<'_>) -> String {
    let value = function.get("arguments").or_else(|| function.get("input"));
    let text =
        value.map(|value| value.str().map_or_else(|| value.raw().to_owned(), std::borrow::Cow::into_owned));
    text.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| "{}".to_owned())
}

fn tool_message(record: Object<'_>) -> ToolResult {
    let name = record.string("name").unwrap_or_default();
    ToolResult {
        call_id: record.string("tool_call_id").unwrap_or_else(|| format!("function:{name}")),
        name,
        content: inside(record.get("content")),
        is_error: record.bool("is_error").unwrap_or_default(),
        exit_code: None,
    }
}

/// The time of a record, under the names that exporters use.
fn time(record: Object<'_>) -> Option<unforget_core::id::Timestamp> {
    record.time("timestamp").or_else(|| record.time("created_at")).or_else(|| record.time("created"))
}
