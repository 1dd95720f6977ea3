//! Goose sessions: the rows of its database, or the lines of the files that it wrote before.
//!
//! ```text
//! {"goose":"session","row":{"id":"20260301_1","name":"…","working_dir":"/srv/x",…}}
//! {"goose":"message","row":{"id":7,"role":"assistant","content_json":[{"type":"toolRequest",…}],…}}
//! {"working_dir":"/srv/x","description":"…","message_count":2,…}
//! {"role":"user","created":1772442000,"content":[{"type":"text","text":"…"}]}
//! ```
//!
//! | record | entry |
//! |---|---|
//! | message of role `user` | user, human; injected if its `metadata` hides it from the person; tool if it holds only results |
//! | message of role `assistant` | assistant |
//! | message that `metadata` hides from the model and the person | bookkeeping |
//!
//! Source: Goose at schema 5 (commit 05132966, `conversation/message.rs`; `session/legacy.rs` for the files). The lines of rows are
//! ours: see `rows`.

use unforget_core::entry::{Entry, Media, Origin, Part, ToolCall, ToolResult};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

pub(crate) const HOST: &str = "goose";

/// Parts that tell of the host's own work and hold nothing for a model.
const BOOKKEEPING: [&str; 6] = [
    "toolConfirmationRequest",
    "actionRequired",
    "systemNotification",
    "conversationCompacted",
    "summarizationRequested",
    "contextLengthExceeded",
];

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_message = |record: &Object<'_>| {
        record.has("role")
            && record.get("created").is_some_and(|time| time.i64().is_some())
            && record.get("content").is_some_and(Value::is_array)
    };
    let is_header =
        |record: &Object<'_>| record.has("working_dir") && record.has("message_count") && !record.has("role");
    let is_file = || match head.records.split_first() {
        Some((first, rest)) => (is_header(first) || is_message(first)) && rest.iter().all(is_message),
        None => false,
    };
    rows::is_of(head, HOST) || is_file()
}

/// The conversation's identity according to the head. A file is named by its name alone.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let columns = IdentityColumns { session: "id", parent: "", title: "name" };
    rows::identity(head, HOST, &columns)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let is_line = !record.has(HOST) && record.has("role");
    let message = if is_line { Some(record) } else { rows::row(record, HOST, "message") };
    let Some(message) = message else { return rows::mark(record) };
    let role = message.str("role").unwrap_or_default();
    let Some(mut entry) = rows::speaker(&role) else { return rows::mark(record) };
    let (content, meta, time) = if is_line {
        ("content", "metadata", "created")
    } else {
        ("content_json", "metadata_json", "created_timestamp")
    };
    entry.host_id = message.string("id").or_else(|| rows::numbered(message, "id"));
    entry.time = message.time(time);
    entry.parts = message.items(content).filter_map(Value::obj).filter_map(part).collect();
    openai_chat::by_results(&mut entry);
    let is_hidden = |from: &str| message.obj(meta).is_some_and(|meta| meta.bool(from) == Some(false));
    if entry.parts.is_empty() || (is_hidden("agentVisible") && is_hidden("userVisible")) {
        entry.origin = Origin::Bookkeeping;
    } else if entry.origin == Origin::Human && is_hidden("userVisible") {
        entry.origin = Origin::Injected;
    }
    entry
}

fn part(block: Object<'_>) -> Option<Part> {
    let kind = block.string("type").unwrap_or_default();
    let raw = || Box::from(block.raw_text());
    Some(match kind.as_str() {
        "text" => Part::Text(block.string("text").filter(|text| !text.is_empty())?),
        "image" => {
            Part::Media(Media { mime: block.string("mimeType").unwrap_or_default(), size: None, raw: raw() })
        }
        "thinking" | "redactedThinking" => Part::Thinking {
            text: block.string("thinking").unwrap_or_default(),
            signature: block.string("signature").filter(|proof| !proof.is_empty()),
            raw: Some(raw()),
        },
        "toolRequest" | "frontendToolRequest" => call(block),
        "toolResponse" => result(block),
        own if BOOKKEEPING.contains(&own) => return None,
        _ => Part::Opaque { kind, raw: raw() },
    })
}

/// A call. One that the host could not read has an error in place of a value.
fn call(block: Object<'_>) -> Part {
    let outcome = block.obj("toolCall");
    let value = outcome.and_then(|outcome| outcome.obj("value"));
    Part::ToolCall(ToolCall {
        id: block.string("id").unwrap_or_default(),
        name: value.and_then(|value| value.string("name")).unwrap_or_default(),
        arguments: value.and_then(|value| value.raw("arguments")).unwrap_or("{}").to_owned(),
        complete: value.is_some(),
        raw: Some(block.raw_text().into()),
    })
}

/// A result: the content, or the result of an MCP tool that holds it, or an error.
fn result(block: Object<'_>) -> Part {
    let outcome = block.obj("toolResult");
    let value = outcome.and_then(|outcome| outcome.get("value"));
    let inside = value.and_then(Value::obj);
    let content = inside.map_or(value, |inside| inside.get("content"));
    let mut parts = openai_chat::inside(content);
    let error = outcome.and_then(|outcome| outcome.string("error"));
    let is_error = error.is_some() || inside.and_then(|inside| inside.bool("isError")) == Some(true);
    parts.extend(error.map(Part::Text));
    Part::ToolResult(ToolResult {
        call_id: block.string("id").unwrap_or_default(),
        name: String::new(),
        content: parts,
        is_error,
        exit_code: None,
    })
}
