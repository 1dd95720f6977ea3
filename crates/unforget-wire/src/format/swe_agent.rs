//! SWE-agent trajectories: `{trajectory, history, info}`, or `{history}` alone.
//!
//! | record | entry |
//! |---|---|
//! | of `history`: role `system` | system, injected |
//! | of `history`: role `user` | user; human, unless the host marks it a demonstration (injected) |
//! | of `history`: role `assistant` | assistant; `thought` and `action` repeat its content |
//! | of `history`: role `tool`, or a user message with `tool_call_ids` | tool |
//! | of `trajectory` (`action`, `observation`, `response`, `state`) | copy of `history` |
//!
//! Without native tool calls the environment answers in user messages, and the file does not say which of them a person
//! wrote. No guess is made.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolResult};

use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_message =
        |record: &Object<'_>| record.has("role") && (record.has("agent") || record.has("message_type"));
    let known = |record: &Object<'_>| is_message(record) || is_step(*record);
    !head.records.is_empty() && head.records.iter().all(known)
}

/// Whether a record is a step of `trajectory`.
fn is_step(record: Object<'_>) -> bool {
    record.has("observation")
        && !record.has("role")
        && !record.has("source")
        && (record.has("response") || record.has("thought"))
}

/// No identity: the file has no session.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let title = head.header.and_then(|header| header.string("environment"));
    Identity { title: title.filter(|title| !title.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    if is_step(record) {
        return Entry::bare(Origin::Copy);
    }
    let mut entry = openai_chat::decode(record);
    entry.author = record.string("agent").filter(|agent| agent != "primary");
    if record.bool("is_demo") == Some(true) || record.is("message_type", "demonstration") {
        entry.origin = Origin::Injected;
    }
    let call_id = record.items("tool_call_ids").find_map(Value::str);
    if let Some(call_id) = call_id.filter(|_| matches!(entry.role, Role::User | Role::Tool)) {
        entry.role = Role::Tool;
        entry.origin = Origin::Tool;
        entry.parts = vec![Part::ToolResult(ToolResult {
            call_id: call_id.into_owned(),
            name: String::new(),
            content: openai_chat::inside(record.get("content")),
            is_error: false,
            exit_code: None,
        })];
    }
    entry
}
