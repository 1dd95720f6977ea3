//! OpenHands events: `{id, timestamp, source, action | observation, args | content, cause}`, and the
//! output lines of its evaluation.
//!
//! | record | entry |
//! |---|---|
//! | action `message` of the user | user, human |
//! | action `message`, `finish`, `think` of the agent | assistant, text |
//! | action `system` | system, injected |
//! | any other action of the agent | assistant: its thought and one call |
//! | observation of the agent's action | tool: the result; `tool_call_metadata` or else `cause` names the call |
//! | observations `recall` and `error` without a call, actions and output of the user's own commands | user, injected |
//! | observations `null`, `agent_state_changed`, actions `change_agent_state`, `recall` | bookkeeping |
//! | action `condensation` | the host's own summary |
//! | anything else | bookkeeping |
//!
//! In evaluation output each line is a document whose `history` holds the events. Those of 2024 are flat: no `source`,
//! `args`, `id` or `cause`. There, a message is the agent's if it waits for a response, and an action is matched to its
//! observation by the command or code that both repeat.

use unforget_core::digest::Digest;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    !head.records.is_empty() && head.records.iter().all(is_event)
}

/// Whether a record is an action or an observation of OpenHands.
fn is_event(record: &Object<'_>) -> bool {
    let words = ["source", "args", "thought", "content", "command", "code"];
    record.has("action") != record.has("observation") && words.iter().any(|key| record.has(key))
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.string("sid"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let mut entry = Entry::bare(Origin::Bookkeeping);
    entry.time = record.time("timestamp");
    entry.host_id =
        record.get("id").map(|id| id.str().map_or_else(|| id.raw().to_owned(), std::borrow::Cow::into_owned));
    if let Some(kind) = record.str("observation") {
        observation(record, &kind, &mut entry);
    } else if let Some(kind) = record.str("action") {
        action(record, &kind, &mut entry);
    }
    entry
}

fn mark(entry: &mut Entry, role: Role, origin: Origin) {
    entry.role = role;
    entry.origin = origin;
}

fn action(record: Object<'_>, kind: &str, entry: &mut Entry) {
    let args = record.obj("args").unwrap_or(record);
    let by_user = if is_flat(record) {
        kind == "message" && record.bool("wait_for_response") != Some(true)
    } else {
        record.is("source", "user") || record.is("source", "environment")
    };
    match (kind, by_user) {
        ("message", true) => {
            mark(entry, Role::User, Origin::Human);
            message(args, entry);
        }
        ("system", _) => {
            mark(entry, Role::System, Origin::Injected);
            message(args, entry);
        }
        (
            "change_agent_state"
            | "recall"
            | "null"
            | "send_pr"
            | "pause"
            | "resume"
            | "stop"
            | "condensation_request",
            _,
        ) => {}
        ("condensation", _) => {
            mark(entry, Role::User, Origin::HostSummary);
            openai_chat::content(args.get("summary"), &mut entry.parts);
        }
        ("message" | "finish" | "think", false) => {
            mark(entry, Role::Assistant, Origin::Model);
            from_response(record, entry);
            message(args, entry);
        }
        (_, true) => {
            mark(entry, Role::User, Origin::Injected);
            let shown = args.get("command").or_else(|| args.get("content")).or_else(|| record.get("message"));
            openai_chat::content(shown, &mut entry.parts);
        }
        (_, false) => {
            mark(entry, Role::Assistant, Origin::Model);
            from_response(record, entry);
            openai_chat::content(args.get("thought"), &mut entry.parts);
            entry.parts.push(Part::ToolCall(call(record, args, kind)));
        }
    }
}

/// The text of a message: its content or, for the last one, the final thought.
fn message(args: Object<'_>, entry: &mut Entry) {
    for key in ["content", "thought", "final_thought"] {
        if args.str(key).is_some_and(|text| !text.is_empty()) {
            openai_chat::content(args.get(key), &mut entry.parts);
            break;
        }
    }
    for url in args.items("image_urls").filter(|url| url.is_str()) {
        let mime = url.str().and_then(|url| Some(url.strip_prefix("data:")?.split(';').next()?.to_owned()));
        let raw = format!(r#"{{"type":"image_url","image_url":{{"url":{}}}}}"#, url.raw());
        entry.parts.push(Part::Media(unforget_core::entry::Media {
            mime: mime.unwrap_or_default(),
            size: None,
            raw: raw.into(),
        }));
    }
}

/// The model's response to which the event belongs.
fn from_response(record: Object<'_>, entry: &mut Entry) {
    let response = record.obj("tool_call_metadata").and_then(|meta| meta.obj("model_response"));
    entry.message_id = response.and_then(|response| response.string("id"));
    entry.model = response.and_then(|response| response.string("model"));
}

fn call(record: Object<'_>, args: Object<'_>, kind: &str) -> ToolCall {
    let meta = record.obj("tool_call_metadata");
    let id = meta.and_then(|meta| meta.string("tool_call_id")).unwrap_or_else(|| event_id(record, "id"));
    // The response has the call in the model's own words; `args` are the host's version.
    let choice = meta
        .and_then(|meta| meta.obj("model_response")?.items("choices").find_map(Value::obj)?.obj("message"));
    let asked = choice.into_iter().flat_map(openai_chat::calls).find_map(|part| match part {
        Part::ToolCall(call) if call.id == id => Some(call),
        _ => None,
    });
    asked.unwrap_or_else(|| ToolCall {
        id,
        name: meta.and_then(|meta| meta.string("function_name")).unwrap_or_else(|| kind.to_owned()),
        arguments: args.raw_text().to_owned(),
        complete: true,
        raw: None,
    })
}

/// Whether the event is from 2024, with the fields of `args` on the record itself.
fn is_flat(record: Object<'_>) -> bool {
    !record.has("source") && !record.has("args")
}

/// The name that links an action without a call id to its observation.
///
/// * `key` - the field with the action's number: `id` of the action, `cause` of the observation.
fn event_id(record: Object<'_>, key: &str) -> String {
    if let Some(id) = record.get(key) {
        return format!("event-{}", id.raw().trim_matches('"'));
    }
    let done = record
        .raw("command")
        .or_else(|| record.raw("code"))
        .or_else(|| record.raw("path"))
        .unwrap_or_default();
    let hex = Digest::of(done.as_bytes()).hex();
    format!("did-{}", hex.get(..16).unwrap_or_default())
}

fn observation(record: Object<'_>, kind: &str, entry: &mut Entry) {
    if matches!(kind, "null" | "agent_state_changed" | "agent_condensation" | "think") {
        return;
    }
    let meta = record.obj("tool_call_metadata");
    let by_agent = meta.is_some() || is_flat(record) || (record.has("cause") && !record.is("source", "user"));
    if !by_agent || matches!(kind, "recall") {
        mark(entry, Role::User, Origin::Injected);
        openai_chat::content(record.get("content"), &mut entry.parts);
        return;
    }
    mark(entry, Role::Tool, Origin::Tool);
    let extras = record.obj("extras");
    let exit_code =
        extras.and_then(|extras| extras.obj("metadata")).or(extras).unwrap_or(record).i64("exit_code");
    entry.parts.push(Part::ToolResult(ToolResult {
        call_id: meta
            .and_then(|meta| meta.string("tool_call_id"))
            .unwrap_or_else(|| event_id(record, "cause")),
        name: meta.and_then(|meta| meta.string("function_name")).unwrap_or_else(|| kind.to_owned()),
        content: openai_chat::inside(record.get("content")),
        is_error: kind == "error",
        exit_code,
    }));
}
