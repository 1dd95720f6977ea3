//! Cursor sessions: the rows of its database, with one record for each bubble.
//!
//! ```text
//! {"cursor":"session","row":{"key":"composerData:…","value":{"composerId":"…","name":"…","createdAt":…,…}}}
//! {"cursor":"message","row":{"key":"bubbleId:…:…","value":{"type":1,"bubbleId":"…","text":"…"}}}
//! {"cursor":"message","row":{"key":"…","value":{"type":2,"toolFormerData":{"toolCallId":"…","name":"…","rawArgs":"…","result":"…"}}}}
//! ```
//!
//! A bubble of type 1 is the person's, one of type 2 the model's: thinking, text, and a call followed by its result.
//!
//! Source: the code of others that read it. The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::rows;
use crate::format::{Head, Identity};
use crate::json::{Object, Value, is_value};

pub(crate) const HOST: &str = "cursor";

/// Beginning of the key of a session.
const COMPOSER: &str = "composerData:";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let row = head.records.iter().find_map(|record| rows::row(*record, HOST, "session"));
    let key = row.and_then(|row| row.string("key"));
    let session = key.and_then(|key| key.strip_prefix(COMPOSER).map(str::to_owned));
    let title = row.and_then(|row| row.obj("value")?.string("name"));
    Identity { session, parent: None, title: title.filter(|name| !name.is_empty()) }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(row) = rows::row(record, HOST, "message") else { return rows::mark(record) };
    let key = row.string("key").unwrap_or_default();
    let mut entry = row.obj("value").map_or_else(|| Entry::bare(Origin::Opaque), bubble);
    entry.host_id = key.rsplit(':').next().map(str::to_owned);
    entry
}

fn bubble(bubble: Object<'_>) -> Entry {
    let (role, origin) = match bubble.i64("type") {
        Some(1) => (Role::User, Origin::Human),
        Some(2) => (Role::Assistant, Origin::Model),
        _ => return Entry::bare(Origin::Opaque),
    };
    let mut entry = Entry { role, time: bubble.time("createdAt"), ..Entry::bare(origin) };
    let model = bubble.obj("modelInfo").and_then(|model| model.string("modelName"));
    entry.model = model.filter(|_| role == Role::Assistant);
    if let Some(thought) = bubble.obj("thinking") {
        entry.parts.push(Part::Thinking {
            text: thought.string("text").unwrap_or_default(),
            signature: thought.string("signature").filter(|proof| !proof.is_empty()),
            raw: Some(thought.raw_text().into()),
        });
    }
    entry.parts.extend(bubble.string("text").filter(|text| !text.is_empty()).map(Part::Text));
    for image in bubble.items("images") {
        entry.parts.push(Part::Media(Media { mime: String::new(), size: None, raw: image.raw().into() }));
    }
    if let Some(used) = bubble.obj("toolFormerData") {
        tool(used, &mut entry.parts);
    }
    if entry.parts.is_empty() {
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
    }
    entry
}

/// A call, and its result if it ended.
fn tool(used: Object<'_>, parts: &mut Vec<Part>) {
    let text = |key: &str| used.string(key).filter(|text| !text.is_empty());
    let id = text("toolCallId").unwrap_or_default();
    let name = text("name").unwrap_or_default();
    if name.is_empty() && id.is_empty() {
        return;
    }
    let arguments = text("rawArgs").or_else(|| text("params")).unwrap_or_else(|| "{}".to_owned());
    parts.push(Part::ToolCall(ToolCall {
        id: id.clone(),
        name: name.clone(),
        complete: is_value(&arguments),
        arguments,
        raw: Some(used.raw_text().into()),
    }));
    let status = used.str("status").unwrap_or_default();
    let result = match used.get("result") {
        Some(result) if result.is_str() => text("result"),
        Some(result) if !result.is_null() => Some(Value::raw(result).to_owned()),
        _ => None,
    };
    let error = text("error").filter(|_| result.is_none());
    let is_error = error.is_some() || status == "error";
    if let Some(output) = result.or(error) {
        let content = vec![Part::Text(output)];
        parts.push(Part::ToolResult(ToolResult { call_id: id, name, content, is_error, exit_code: None }));
    }
}
