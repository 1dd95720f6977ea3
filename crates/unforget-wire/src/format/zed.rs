//! Threads of Zed's agent: the rows of its database, with one record for each message of a thread.
//!
//! ```text
//! {"zed":"session","row":{"id":"…","summary":"…","folder_paths":"/srv/x","thread":{"title":"…","model":{…},…}}}
//! {"zed":"message","row":{"key":0,"value":{"User":{"id":"…","content":[{"Text":"…"}]}}}}
//! {"zed":"message","row":{"key":1,"value":{"Agent":{"content":[{"ToolUse":{…}}],"tool_results":{"ID":{…}}}}}}
//! ```
//!
//! A result stands behind the call that it answers, in the same entry. Older threads name the `role` of a message and have
//! `segments`, `tool_uses` and `tool_results`.
//!
//! Source: Zed, `crates/agent/src/db.rs` (commit 0642ec7e), versions 0.3.0 and earlier. The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Origin, Part, ToolCall, ToolResult};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

pub(crate) const HOST: &str = "zed";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let columns = IdentityColumns { session: "id", parent: "parent_id", title: "summary" };
    rows::identity(head, HOST, &columns)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(row) = rows::row(record, HOST, "message") else { return rows::mark(record) };
    let mut entry = row.obj("value").map_or_else(|| Entry::bare(Origin::Bookkeeping), message);
    entry.host_id = rows::numbered(row, "key");
    entry
}

fn message(value: Object<'_>) -> Entry {
    let (role, said) = match (value.obj("User"), value.obj("Agent")) {
        (Some(said), _) => ("user", said),
        (None, Some(said)) => ("assistant", said),
        (None, None) => return older(value),
    };
    let mut entry = rows::speaker(role).unwrap_or_else(|| Entry::bare(Origin::Opaque));
    let results = said.obj("tool_results");
    for block in said.items("content").filter_map(Value::obj) {
        let Some((kind, inside)) =
            block.members().next().and_then(|(kind, value)| Some((kind.str()?, value)))
        else {
            continue;
        };
        entry.parts.extend(part(&kind, block, inside));
        let id = inside.obj().and_then(|call| call.string("id")).filter(|_| kind == "ToolUse");
        let result = id.and_then(|id| results?.obj(&id));
        entry.parts.extend(result.map(self::result));
    }
    if entry.parts.is_empty() {
        entry.origin = Origin::Bookkeeping;
    }
    entry
}

fn part(kind: &str, block: Object<'_>, inside: Value<'_>) -> Option<Part> {
    let text = || inside.str().map(std::borrow::Cow::into_owned);
    let raw = || Box::from(block.raw_text());
    Some(match (kind, inside.obj()) {
        ("Text", _) => Part::Text(text().filter(|text| !text.is_empty())?),
        ("Mention", Some(mention)) => Part::Text(mention.string("content").filter(|text| !text.is_empty())?),
        ("Image", Some(image)) => rows::media(image, "", "source"),
        ("Thinking", Some(thought)) => Part::Thinking {
            text: thought.string("text").unwrap_or_default(),
            signature: thought.string("signature").filter(|proof| !proof.is_empty()),
            raw: Some(raw()),
        },
        ("RedactedThinking", _) => Part::Thinking { text: String::new(), signature: None, raw: Some(raw()) },
        ("ToolUse", Some(call)) => self::call(call),
        _ => Part::Opaque { kind: kind.to_owned(), raw: raw() },
    })
}

fn call(call: Object<'_>) -> Part {
    Part::ToolCall(ToolCall {
        id: call.string("id").unwrap_or_default(),
        name: call.string("name").unwrap_or_default(),
        arguments: call.raw("input").unwrap_or("{}").to_owned(),
        complete: call.bool("is_input_complete").unwrap_or(true),
        raw: Some(call.raw_text().into()),
    })
}

fn result(result: Object<'_>) -> Part {
    let block = |value: Value<'_>| {
        let block = value.obj()?;
        let (kind, inside) = block.members().next()?;
        part(&kind.str()?, block, inside)
    };
    let content = match result.get("content") {
        Some(list) if list.is_array() => list.items().filter_map(block).collect(),
        Some(one) => match one.str() {
            Some(text) => vec![Part::Text(text.into_owned())],
            None => block(one).into_iter().collect(),
        },
        None => Vec::new(),
    };
    Part::ToolResult(ToolResult {
        call_id: result.string("tool_use_id").unwrap_or_default(),
        name: result.string("tool_name").unwrap_or_default(),
        content,
        is_error: result.bool("is_error").unwrap_or_default(),
        exit_code: None,
    })
}

/// A message of a thread before version 0.3.0.
fn older(message: Object<'_>) -> Entry {
    let role = message.str("role").unwrap_or_default();
    let Some(mut entry) = rows::speaker(&role) else { return Entry::bare(Origin::Bookkeeping) };
    for segment in message.items("segments").filter_map(Value::obj) {
        let text = segment.string("text").unwrap_or_default();
        match segment.str("type").as_deref() {
            Some("text") if text.is_empty() => {}
            Some("text") => entry.parts.push(Part::Text(text)),
            _ => entry.parts.push(Part::Thinking {
                text,
                signature: segment.string("signature"),
                raw: Some(segment.raw_text().into()),
            }),
        }
    }
    if entry.parts.is_empty() {
        openai_chat::content(message.get("context"), &mut entry.parts);
    }
    let results: Vec<Object<'_>> = message.items("tool_results").filter_map(Value::obj).collect();
    for used in message.items("tool_uses").filter_map(Value::obj) {
        entry.parts.push(call(used));
        let id = used.string("id").unwrap_or_default();
        let own = results.iter().filter(|result| result.is("tool_use_id", &id));
        entry.parts.extend(own.map(|found| result(*found)));
    }
    if entry.parts.is_empty() {
        entry.origin = Origin::Bookkeeping;
    }
    entry
}
