//! Messages of the Vercel AI SDK as programs store them (`UIMessage`): an array, an object with `messages`, or lines.
//!
//! | part | of the entry |
//! |---|---|
//! | `text`, `reasoning`, `file` | text, thinking, media |
//! | `tool-NAME`, `dynamic-tool` | a call, followed by its result once it has one |
//! | `step-start`, `data-…` | nothing: the program's own |
//! | others, such as `source-url` | opaque |
//!
//! Seen: `ai` 6.0.326, versions 5 and later have this form.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::rows::speaker;
use crate::format::{Head, Identity};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_part = |part: Value<'_>| part.obj().is_some_and(|part| part.has("type"));
    let is_message = |record: &Object<'_>| {
        let role = record.str("role").unwrap_or_default();
        matches!(&*role, "user" | "assistant" | "system")
            && record.has("id")
            && !record.has("content")
            && record.get("parts").is_some_and(|parts| parts.is_array() && parts.items().all(is_part))
    };
    !head.records.is_empty() && head.records.iter().all(is_message)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let text = |key: &str| head.header.and_then(|header| header.string(key)).filter(|text| !text.is_empty());
    Identity { session: text("chatId").or_else(|| text("id")), parent: None, title: text("title") }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let role = record.str("role").unwrap_or_default();
    let mut entry = speaker(&role).unwrap_or_else(|| Entry::bare(Origin::Bookkeeping));
    entry.host_id = record.string("id").filter(|id| !id.is_empty());
    entry.time = record.time("createdAt");
    for part in record.items("parts").filter_map(Value::obj) {
        add(part, &mut entry.parts);
    }
    if entry.parts.is_empty() {
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
    }
    entry
}

fn add(part: Object<'_>, parts: &mut Vec<Part>) {
    let kind = part.string("type").unwrap_or_default();
    let raw = || Box::from(part.raw_text());
    match kind.as_str() {
        "text" => parts.extend(part.string("text").filter(|text| !text.is_empty()).map(Part::Text)),
        "reasoning" => {
            let text = part.string("text").unwrap_or_default();
            parts.push(Part::Thinking { text, signature: signature(part), raw: Some(raw()) });
        }
        "file" => {
            let mime = part.string("mediaType").unwrap_or_default();
            parts.push(Part::Media(Media { mime, size: None, raw: raw() }));
        }
        "dynamic-tool" => tool(&part.string("toolName").unwrap_or_default(), part, parts),
        "step-start" => {}
        kind if kind.starts_with("data-") => {}
        kind => match kind.strip_prefix("tool-") {
            Some(name) => tool(name, part, parts),
            None => parts.push(Part::Opaque { kind: kind.to_owned(), raw: raw() }),
        },
    }
}

/// The provider's proof of a thought, under the name of the provider.
fn signature(part: Object<'_>) -> Option<String> {
    let metadata = part.obj("providerMetadata")?;
    metadata.fields().find_map(|(_, of)| of.obj()?.string("signature"))
}

/// A call, and its result if it ran.
fn tool(name: &str, part: Object<'_>, parts: &mut Vec<Part>) {
    let id = part.string("toolCallId").unwrap_or_default();
    let state = part.str("state").unwrap_or_default();
    parts.push(Part::ToolCall(ToolCall {
        id: id.clone(),
        name: name.to_owned(),
        arguments: part.raw("input").or_else(|| part.raw("rawInput")).unwrap_or("{}").to_owned(),
        complete: state != "input-streaming",
        raw: Some(part.raw_text().into()),
    }));
    let (key, is_error) = match &*state {
        "output-available" => ("output", false),
        "output-error" => ("errorText", true),
        _ => return,
    };
    let output = part.get(key);
    let text = output.and_then(Value::str).map(std::borrow::Cow::into_owned);
    let text = text.or_else(|| output.map(|output| output.raw().to_owned())).unwrap_or_default();
    parts.push(Part::ToolResult(ToolResult {
        call_id: id,
        name: name.to_owned(),
        content: vec![Part::Text(text)],
        is_error,
        exit_code: None,
    }));
}
