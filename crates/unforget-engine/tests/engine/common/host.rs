//! Messages of a pi host in the form of its transcript, and their delivery.

use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Delivered, Host, LaneKey, Page, Turn};
use unforget_wire::Format;

/// The form of these messages.
pub(crate) const PI: Format = Format::Pi;

/// A host on an empty store in memory. Its clock stands still.
pub(crate) fn host() -> Host {
    Host::new(Engine::in_memory(), || Timestamp(7))
}

/// The lane of an agent.
pub(crate) fn lane(name: &str) -> LaneKey {
    LaneKey(format!("agent:{name}"))
}

/// A person's message.
pub(crate) fn user(text: &str, time: i64) -> String {
    json!({ "role": "user", "content": text, "timestamp": time }).to_string()
}

/// A model's last message of a turn.
pub(crate) fn answer(text: &str, time: i64) -> String {
    assistant(&json!({ "type": "text", "text": text }), "stop", time)
}

/// A model's message with one call.
pub(crate) fn call(id: &str, time: i64) -> String {
    assistant(&json!({ "type": "toolCall", "id": id, "name": "read", "arguments": {} }), "toolUse", time)
}

fn assistant(block: &Value, stop: &str, time: i64) -> String {
    json!({ "role": "assistant", "content": [block], "api": "a", "provider": "p", "model": "m", "usage": usage(),
        "stopReason": stop, "timestamp": time })
    .to_string()
}

/// A provider's count of tokens.
pub(crate) fn usage() -> Value {
    json!({ "input": 1, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 2,
        "cost": { "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0 } })
}

/// The result of a call.
pub(crate) fn result(id: &str, text: &str, time: i64) -> String {
    json!({ "role": "toolResult", "toolCallId": id, "toolName": "read", "content": [{ "type": "text", "text": text }],
        "isError": false, "timestamp": time })
    .to_string()
}

/// Messages for delivery, without further statements about them.
pub(crate) fn delivered(messages: &[String]) -> Vec<Delivered> {
    messages.iter().map(|message| Delivered::new(message.as_str())).collect()
}

/// A turn of these messages.
pub(crate) fn turn(key: &str, messages: &[String]) -> Turn {
    Turn { key: key.into(), messages: delivered(messages) }
}

/// A page of these messages.
pub(crate) fn page(messages: &[String], cursor: &str) -> Page {
    Page { messages: delivered(messages), cursor: Some(cursor.into()), is_reset: false }
}
