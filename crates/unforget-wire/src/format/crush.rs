//! Crush sessions: the rows of a project's database.
//!
//! ```text
//! {"crush":"session","row":{"id":"…","parent_session_id":null,"title":"…",…}}
//! {"crush":"message","row":{"id":"…","role":"assistant","parts":[{"type":"text","data":{"text":"…"}}],…}}
//! ```
//!
//! | part | of the entry |
//! |---|---|
//! | `text`; `hidden` in a user's message | text; a message of nothing else is injected |
//! | `reasoning` | thinking |
//! | `tool_call`, `tool_result` | call, result |
//! | `image_url`, `binary` | media |
//! | `shell_command` | text: the command and what it printed |
//! | `finish` | the status; a reason without an answer is kept as bookkeeping |
//!
//! Source: Crush 0.90.0 (commit 37f36e93, `internal/message`). The lines are ours: see `rows`.

use unforget_core::entry::{Entry, Media, Origin, Part, Role, Status, ToolCall, ToolResult};

use crate::format::rows::{self, IdentityColumns};
use crate::format::{Head, Identity};
use crate::json::{Object, Value, is_value};

pub(crate) const HOST: &str = "crush";

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let columns = IdentityColumns { session: "id", parent: "parent_session_id", title: "title" };
    rows::identity(head, HOST, &columns)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let Some(row) = rows::row(record, HOST, "message") else { return rows::mark(record) };
    let role = row.str("role").unwrap_or_default();
    let mut entry = rows::speaker(&role).unwrap_or_else(|| Entry::bare(Origin::Bookkeeping));
    if row.i64("is_summary_message") == Some(1) {
        (entry.role, entry.origin) = (Role::User, Origin::HostSummary);
    }
    entry.host_id = row.string("id");
    entry.time = row.time("created_at");
    entry.model = row.string("model").filter(|model| !model.is_empty());
    let parts: Vec<Object<'_>> = row.items("parts").filter_map(Value::obj).collect();
    for part in &parts {
        let kind = part.str("type").unwrap_or_default();
        match part.obj("data") {
            Some(data) if kind == "finish" => finish(data, &mut entry),
            Some(data) => entry.parts.extend(self::part(&kind, *part, data)),
            None => entry.parts.push(opaque(&kind, *part)),
        }
    }
    let is_text = |part: &&Object<'_>| part.is("type", "text");
    let is_hidden = |part: &Object<'_>| part.obj("data").and_then(|data| data.bool("hidden")) == Some(true);
    let mut texts = parts.iter().filter(is_text).peekable();
    if entry.origin == Origin::Human && texts.peek().is_some() && texts.all(is_hidden) {
        entry.origin = Origin::Injected;
    }
    if entry.parts.is_empty() {
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
    }
    entry
}

/// How a message ended. An error without an answer is the host's own note.
fn finish(data: Object<'_>, entry: &mut Entry) {
    entry.status = match data.str("reason").as_deref() {
        Some("canceled") => Status::Aborted,
        Some("error") => Status::Error,
        _ => return,
    };
    if entry.parts.is_empty()
        && let Some(words) = data.string("message").filter(|words| !words.is_empty())
    {
        (entry.role, entry.origin) = (Role::None, Origin::Bookkeeping);
        entry.parts.push(Part::Text(words));
    }
}

fn part(kind: &str, part: Object<'_>, data: Object<'_>) -> Option<Part> {
    Some(match kind {
        "text" => Part::Text(data.string("text").filter(|text| !text.is_empty())?),
        "reasoning" => Part::Thinking {
            text: data.string("thinking").unwrap_or_default(),
            signature: data.string("signature").filter(|proof| !proof.is_empty()),
            raw: Some(part.raw_text().into()),
        },
        "image_url" => Part::Media(Media { mime: String::new(), size: None, raw: part.raw_text().into() }),
        "binary" => rows::media(data, "MIMEType", "Data"),
        "tool_call" => call(part, data),
        "tool_result" => result(data),
        "shell_command" => {
            let text = |key| data.str(key).unwrap_or_default();
            let code = data.i64("exit_code").unwrap_or_default();
            Part::Text(format!("$ {}\n{}\n[exit code {code}]", text("command"), text("output")))
        }
        _ => opaque(kind, part),
    })
}

fn opaque(kind: &str, part: Object<'_>) -> Part {
    Part::Opaque { kind: kind.to_owned(), raw: part.raw_text().into() }
}

fn call(part: Object<'_>, data: Object<'_>) -> Part {
    let arguments = data.string("input").unwrap_or_default();
    Part::ToolCall(ToolCall {
        id: data.string("id").unwrap_or_default(),
        name: data.string("name").unwrap_or_default(),
        complete: arguments.is_empty() || is_value(&arguments),
        arguments: if arguments.is_empty() { "{}".to_owned() } else { arguments },
        raw: Some(part.raw_text().into()),
    })
}

fn result(data: Object<'_>) -> Part {
    let mut content = vec![Part::Text(data.string("content").unwrap_or_default())];
    if data.str("data").is_some_and(|bytes| !bytes.is_empty()) {
        content.push(rows::media(data, "mime_type", "data"));
    }
    Part::ToolResult(ToolResult {
        call_id: data.string("tool_call_id").unwrap_or_default(),
        name: data.string("name").unwrap_or_default(),
        content,
        is_error: data.bool("is_error").unwrap_or_default(),
        exit_code: None,
    })
}
