//! Anthropic messages: a JSON array, an object with `messages`, or one message per line.
//!
//! | record | entry |
//! |---|---|
//! | role `user` | user, human; tool if it holds nothing but `tool_result` |
//! | role `assistant` | assistant; `id` and `model` where it is a whole response |
//! | role `system` | system, injected |
//! | no role | bookkeeping |
//!
//! Blocks of unknown types (server tools, search results) stay opaque, byte for byte.
//! The blocks themselves are read by [`super::openai_chat::content`], which knows both families.

use unforget_core::entry::{Entry, Origin, Role};

use crate::format::{Head, Identity, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format: all records are messages, and one property is only Anthropic's:
/// a `system` field beside them, a whole response, or a block of its own type.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    !head.records.is_empty()
        && head.records.iter().all(is_message)
        && (head.header.is_some_and(|header| header.has("system")) || head.records.iter().any(is_own_message))
}

/// Whether a record has a block that only the Messages API has.
fn has_own_block(record: &Object<'_>) -> bool {
    record.items("content").filter_map(Value::obj).any(|block| {
        let kind = block.str("type").unwrap_or_default();
        matches!(&*kind, "tool_use" | "tool_result" | "thinking" | "redacted_thinking" | "server_tool_use")
            || block.has("source")
            || block.has("cache_control")
    })
}

/// Whether only the Messages API has such a record.
fn is_own_message(record: &Object<'_>) -> bool {
    has_own_block(record) || (record.is("type", "message") && record.has("stop_reason"))
}

/// Whether a record is a message of the Messages API, or looks like one.
fn is_message(record: &Object<'_>) -> bool {
    (record.is("role", "user") || record.is("role", "assistant"))
        && record.get("content").is_some_and(|content| content.is_str() || content.is_array())
        && !record.has("tool_calls")
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    openai_chat::identity(head)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let role = record.str("role").unwrap_or_default();
    let (role, origin) = match &*role {
        "system" => (Role::System, Origin::Injected),
        "user" => (Role::User, Origin::Human),
        "assistant" => (Role::Assistant, Origin::Model),
        _ => return Entry { time: record.time("timestamp"), ..Entry::bare(Origin::Bookkeeping) },
    };
    let mut entry = Entry { role, time: record.time("timestamp"), ..Entry::bare(origin) };
    entry.host_id = record.string("id").filter(|id| !id.is_empty());
    entry.model = record.string("model");
    openai_chat::content(record.get("content"), &mut entry.parts);
    openai_chat::by_results(&mut entry);
    entry
}
