//! Gemini CLI sessions: one JSON object with `messages`, or (since 2026) JSON lines.
//!
//! | record | entry |
//! |---|---|
//! | `user` | user, human |
//! | `gemini` | assistant: thoughts, text, then each call followed by its result, which share a record here |
//! | `user` with nothing but `functionResponse` | copy: the results are in the calls |
//! | `info`, `warning`, `error` | bookkeeping: shown to the person only |
//! | header line, `{"$set":…}`, `{"$rewindTo":…}` and other patches | bookkeeping |
//!
//! In JSON lines, a changed message is written again whole, with the same `id`, and the later record replaces the
//! earlier one. `$rewindTo` takes back the message with that id and all behind it, or all messages if the id is
//! unknown. A single record shows neither: `follow` determines the next message's predecessor.

use std::borrow::Cow;

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, Layout, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    // A file written by other tools may name its session only behind the messages.
    let is_document = head.layout == Layout::Under("messages") && !head.records.is_empty();
    head.header.as_ref().is_some_and(is_header)
        || head.records.first().is_some_and(is_header)
        || head.records.iter().any(|record| is_message(record) && record.is("type", "gemini"))
        || (is_document && head.records.iter().all(is_message))
}

/// Whether a record is a message of Gemini CLI.
fn is_message(record: &Object<'_>) -> bool {
    let kind = record.str("type").unwrap_or_default();
    matches!(&*kind, "user" | "gemini" | "info" | "warning" | "error")
        && record.has("id")
        && record.has("timestamp")
        && record.get("content").is_some()
        && !record.has("message")
}

/// Whether a record opens a session of Gemini CLI.
fn is_header(record: &Object<'_>) -> bool {
    record.has("sessionId")
        && (record.has("projectHash") || (record.has("startTime") && record.has("lastUpdated")))
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let header = head.header.or_else(|| head.records.first().copied());
    let text = |key: &str| header.and_then(|header| header.string(key)).filter(|text| !text.is_empty());
    Identity { session: text("sessionId"), parent: None, title: text("summary") }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let kind = record.str("type").unwrap_or_default();
    let (role, origin) = match &*kind {
        "user" => (Role::User, Origin::Human),
        "gemini" => (Role::Assistant, Origin::Model),
        _ => (Role::None, Origin::Bookkeeping),
    };
    let mut entry = Entry { role, time: record.time("timestamp"), ..Entry::bare(origin) };
    entry.host_id = record.string("id").filter(|id| !id.is_empty());
    entry.model = record.string("model");
    if role == Role::None {
        return entry;
    }
    entry.parts.extend(record.items("thoughts").filter_map(thought));
    match record.get("content") {
        Some(content) if content.is_array() => entry.parts.extend(content.items().map(part)),
        other => openai_chat::content(other, &mut entry.parts),
    }
    let is_answer = |part: &Part| matches!(part, Part::Opaque { kind, .. } if kind == "functionResponse");
    if role == Role::User && !entry.parts.is_empty() && entry.parts.iter().all(is_answer) {
        entry.origin = Origin::Copy;
    }
    let message = entry.host_id.clone().unwrap_or_default();
    for (index, call) in record.items("toolCalls").filter_map(Value::obj).enumerate() {
        let id =
            call.string("id").filter(|id| !id.is_empty()).unwrap_or_else(|| format!("{message}-{index}"));
        let result = result(call, &id);
        entry.parts.push(Part::ToolCall(ToolCall {
            id,
            name: call.string("name").unwrap_or_default(),
            arguments: call.raw("args").unwrap_or("{}").to_owned(),
            complete: true,
            raw: Some(call.raw_text().into()),
        }));
        entry.parts.extend(result.map(Part::ToolResult));
    }
    entry
}

fn thought(value: Value<'_>) -> Option<Part> {
    let thought = value.obj()?;
    let lines = [thought.string("subject"), thought.string("description")];
    let lines: Vec<String> = lines.into_iter().flatten().filter(|line| !line.is_empty()).collect();
    Some(Part::Thinking { text: lines.join("\n"), signature: None, raw: Some(value.raw().into()) })
}

/// A part of a message: Gemini's own parts are told apart by their key, not by a type.
pub(crate) fn part(value: Value<'_>) -> Part {
    let own = value.obj().filter(|part| !part.has("type"));
    if let Some(text) = value.str().map(Cow::into_owned).or_else(|| own?.string("text")) {
        return Part::Text(text);
    }
    if let Some(media) = own.and_then(|part| part.obj("inlineData").or_else(|| part.obj("fileData"))) {
        let mime = media.string("mimeType").unwrap_or_default();
        return Part::Media(unforget_core::entry::Media { mime, size: None, raw: value.raw().into() });
    }
    let kind = value.obj().and_then(|part| part.fields().next().map(|(key, _)| key.into_owned()));
    Part::Opaque { kind: kind.unwrap_or_default(), raw: value.raw().into() }
}

/// The result inside a call, if it ran.
fn result(call: Object<'_>, id: &str) -> Option<ToolResult> {
    let mut content = Vec::new();
    match call.get("result") {
        Some(result) if result.is_array() => content.extend(result.items().map(answer)),
        Some(result) if !result.is_null() => openai_chat::content(Some(result), &mut content),
        _ => content.push(Part::Text(call.string("resultDisplay")?)),
    }
    let status = call.str("status").unwrap_or_default();
    Some(ToolResult {
        call_id: id.to_owned(),
        name: call.string("name").unwrap_or_default(),
        content,
        is_error: matches!(&*status, "error" | "cancelled"),
        exit_code: None,
    })
}

/// One element of a result: the tool's output without its wrapper.
pub(crate) fn answer(value: Value<'_>) -> Part {
    let Some(response) = value.obj().and_then(|part| part.obj("functionResponse")) else {
        return part(value);
    };
    let Some(body) = response.get("response") else {
        return Part::Text(String::new());
    };
    let words = body.obj().and_then(|body| body.string("output").or_else(|| body.string("error")));
    Part::Text(words.or_else(|| body.str().map(Cow::into_owned)).unwrap_or_else(|| body.raw().to_owned()))
}
