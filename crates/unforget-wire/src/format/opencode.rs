//! opencode sessions: the rows of its SQLite store, one record per line, or the document that `opencode export` prints.
//!
//! ```text
//! {"opencode":"session","row":{"id":"ses_…","directory":"/srv/x","title":"…",…}}
//! {"opencode":"message","row":{"id":"msg_…","session_id":"ses_…","data":{…}},"parts":[{"id":"prt_…","data":{…}}]}
//! {"opencode":"gone","id":"msg_…"}
//! {"opencode":"rewind","to":"msg_…"}
//! {"info":{"id":"msg_…","role":"user",…},"parts":[{"type":"text",…}]}
//! ```
//!
//! | record | entry |
//! |---|---|
//! | `message` of role `user` | user, human; injected if all its text is `synthetic` |
//! | `message` of role `assistant` | assistant: reasoning, text, then each call followed by its result, which share a part |
//! | `message` of an assistant that is a `summary` | host summary |
//! | `session`, `gone`, `rewind`, a message without words | bookkeeping |
//!
//! A row that changed is written again whole, and the later record replaces the earlier one. `rewind` takes back the message
//! with that id and all behind it; `gone` says that the host deleted a row.
//!
//! Source: opencode 1.18.33 (its database, `packages/opencode/src/session`). The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, Status, ToolCall, ToolResult};

use crate::format::{Head, Identity};
use crate::json::{Object, Value};

/// Parts that tell of the host's own work and hold nothing for a model.
const BOOKKEEPING: [&str; 8] =
    ["step-start", "step-finish", "snapshot", "patch", "agent", "subtask", "retry", "compaction"];

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_ours = |record: &Object<'_>| record.has("opencode");
    let is_exported = |record: &Object<'_>| {
        let info = record.obj("info");
        info.is_some_and(|info| info.has("sessionID") && info.has("role")) && record.get("parts").is_some()
    };
    head.records.first().is_some_and(|record| is_ours(record) || is_exported(record))
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let row = head.records.iter().find(|record| record.is("opencode", "session"));
    if let Some(row) = row.and_then(|record| record.obj("row")) {
        let text = |key| row.string(key).filter(|text| !text.is_empty());
        return Identity { session: text("id"), parent: text("parent_id"), title: text("title") };
    }
    let info = head.header.and_then(|header| header.obj("info"));
    let text = |key| info.and_then(|info| info.string(key)).filter(|text| !text.is_empty());
    let of_message = || head.records.first()?.obj("info")?.string("sessionID");
    Identity { session: text("id").or_else(of_message), parent: text("parentID"), title: text("title") }
}

/// What a message says of itself, and its parts.
pub(crate) struct Said<'a> {
    pub(crate) id: Option<String>,
    pub(crate) data: Object<'a>,
    parts: Vec<Object<'a>>,
}

impl<'a> Said<'a> {
    /// Reads a record. `None` if it is no message.
    pub(crate) fn read(record: Object<'a>) -> Option<Self> {
        if let Some(info) = record.obj("info") {
            let parts = record.items("parts").filter_map(Value::obj).collect();
            return Some(Self { id: info.string("id"), data: info, parts });
        }
        let row = record.obj("row").filter(|_| record.is("opencode", "message"))?;
        let parts = record.items("parts").filter_map(Value::obj).filter_map(|part| part.obj("data"));
        Some(Self { id: row.string("id"), data: row.obj("data")?, parts: parts.collect() })
    }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(said) = Said::read(record) else {
        let row = record.obj("row");
        let id = record.string("id").or_else(|| row.and_then(|row| row.string("id")));
        return Entry { host_id: id, ..Entry::bare(Origin::Bookkeeping) };
    };
    let (role, origin) = match said.data.str("role").as_deref() {
        Some("user") => (Role::User, Origin::Human),
        Some("assistant") if said.data.bool("summary") == Some(true) => (Role::User, Origin::HostSummary),
        Some("assistant") => (Role::Assistant, Origin::Model),
        _ => (Role::None, Origin::Bookkeeping),
    };
    let mut entry = Entry { role, ..Entry::bare(origin) };
    entry.host_id = said.id.filter(|id| !id.is_empty());
    entry.time = said.data.obj("time").and_then(|time| time.time("created"));
    entry.model = said.data.string("modelID");
    said.parts.iter().for_each(|part| add(*part, &mut entry.parts));
    let is_text = |part: &&Object<'_>| part.is("type", "text");
    let texts = said.parts.iter().filter(is_text);
    if role == Role::User && origin == Origin::Human && !entry.parts.is_empty() {
        let is_injected = texts.clone().count() > 0 && texts.clone().all(is_synthetic);
        entry.origin = if is_injected { Origin::Injected } else { Origin::Human };
    }
    failed(said.data, &mut entry);
    if entry.parts.is_empty() {
        // Such as the request for a compaction.
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
    }
    entry
}

fn is_synthetic(part: &Object<'_>) -> bool {
    part.bool("synthetic") == Some(true)
}

/// Marks a message that failed. An error without an answer is the host's own note, and its words are kept.
fn failed(data: Object<'_>, entry: &mut Entry) {
    let Some(error) = data.obj("error") else { return };
    let is_aborted = error.is("name", "MessageAbortedError");
    entry.status = if is_aborted { Status::Aborted } else { Status::Error };
    let words = error.obj("data").and_then(|data| data.string("message"));
    if entry.parts.is_empty()
        && let Some(words) = words
    {
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
        entry.parts.push(Part::Text(words));
    }
}

/// Adds what a part holds for a model.
fn add(part: Object<'_>, parts: &mut Vec<Part>) {
    let kind = part.string("type").unwrap_or_default();
    match kind.as_str() {
        "text" if part.bool("ignored") == Some(true) => {}
        "text" => parts.extend(part.string("text").filter(|text| !text.is_empty()).map(Part::Text)),
        "reasoning" => parts.push(Part::Thinking {
            text: part.string("text").unwrap_or_default(),
            signature: signature(part),
            raw: Some(part.raw_text().into()),
        }),
        "tool" => tool(part, parts),
        "file" => parts.push(Part::Media(Media {
            mime: part.string("mime").unwrap_or_default(),
            size: None,
            raw: part.raw_text().into(),
        })),
        own if BOOKKEEPING.contains(&own) => {}
        _ => parts.push(Part::Opaque { kind, raw: part.raw_text().into() }),
    }
}

/// The provider's proof of a thought, under the name of the provider.
fn signature(part: Object<'_>) -> Option<String> {
    let metadata = part.obj("metadata")?;
    metadata.fields().find_map(|(_, of)| of.obj()?.string("signature"))
}

/// A call, and its result if it ran.
fn tool(part: Object<'_>, parts: &mut Vec<Part>) {
    let id = part.string("callID").unwrap_or_default();
    let name = part.string("tool").unwrap_or_default();
    let state = part.obj("state");
    let status = state.and_then(|state| state.string("status")).unwrap_or_default();
    let result = state.and_then(|state| {
        let (key, is_error) = match status.as_str() {
            "completed" => ("output", false),
            "error" => ("error", true),
            _ => return None,
        };
        let mut content = vec![Part::Text(state.string(key).unwrap_or_default())];
        content.extend(state.items("attachments").filter_map(Value::obj).map(|file| {
            let mime = file.string("mime").unwrap_or_default();
            Part::Media(Media { mime, size: None, raw: file.raw_text().into() })
        }));
        let exit_code = state.obj("metadata").and_then(|data| data.i64("exit"));
        let is_error = is_error || exit_code.is_some_and(|code| code != 0);
        Some(ToolResult { call_id: id.clone(), name: name.clone(), content, is_error, exit_code })
    });
    parts.push(Part::ToolCall(ToolCall {
        id,
        name,
        arguments: state.and_then(|state| state.raw("input")).unwrap_or("{}").to_owned(),
        complete: status != "pending",
        raw: Some(part.raw_text().into()),
    }));
    parts.extend(result.map(Part::ToolResult));
}
