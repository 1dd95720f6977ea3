//! What pi-ai's types do not allow, and what its providers would refuse after it converted the messages.

use serde_json::Value;

use super::{Found, Pairs, blank, field, list};

pub(super) const RULES: [&str; 27] = [
    "json",
    "shape",
    "not-empty",
    "instructions",
    "role",
    "first-user",
    "last-not-assistant",
    "content-shape",
    "content-not-empty",
    "text-not-blank",
    "block-type",
    "call-shape",
    "call-id",
    "call-id-unique",
    "tool-name",
    "arguments",
    "call-answered",
    "result-orphan",
    "result-once",
    "result-content",
    "result-fields",
    "assistant-fields",
    "dead-call",
    "thinking-signature",
    "image-shape",
    "image-type",
    "image-size",
];

const IMAGE_BYTES_MAX: usize = 5 * 1024 * 1024;

pub(super) fn check(body: &Value, found: &mut Found) {
    if let Some(prompt) = body.get("systemPrompt") {
        let good = prompt.as_str().is_some_and(|text| !blank(text));
        found.want(good, "instructions", "/systemPrompt", "system prompt is no text or blank");
    }
    let messages = list(body, "messages", found);
    let mut pairs = Pairs::default();
    let mut dead = std::collections::BTreeSet::new();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("/messages/{index}");
        let role = field(message, "role").unwrap_or_default();
        if role != "toolResult" {
            pairs.close(&place, found);
        }
        match role {
            "user" => content(message, role, &place, found),
            "assistant" => {
                assistant_fields(message, &place, found);
                content(message, role, &place, found);
                let stopped = matches!(field(message, "stopReason"), Some("aborted" | "error"));
                for (id, place) in calls(message, &place, found) {
                    if stopped {
                        dead.insert(id);
                    } else {
                        pairs.call(id, &place, found);
                    }
                }
            }
            "toolResult" => {
                result_fields(message, &place, found);
                content(message, role, &place, found);
                let id = field(message, "toolCallId").unwrap_or_default();
                if dead.contains(id) && !pairs.open.contains(id) {
                    found.add("dead-call", &place, "result of a call that was cut off");
                } else {
                    pairs.result(id, &place, found);
                }
            }
            _ => found.add("role", &place, format!("role {role:?} is not known")),
        }
        found.want(index > 0 || role == "user", "first-user", &place, "first message is not the user's");
    }
    pairs.close("/messages", found);
    let last = messages.last().and_then(|message| field(message, "role"));
    found.want(
        last != Some("assistant"),
        "last-not-assistant",
        "/messages",
        "last message is the assistant's",
    );
}

fn assistant_fields(message: &Value, place: &str, found: &mut Found) {
    for key in ["api", "provider", "model"] {
        found.want(
            field(message, key).is_some(),
            "assistant-fields",
            place,
            "api, provider or model is missing",
        );
    }
    let usage = message.get("usage").unwrap_or(&Value::Null);
    let counted = ["input", "output", "cacheRead", "cacheWrite"]
        .iter()
        .all(|key| usage.get(key).is_some_and(Value::is_number));
    found.want(counted, "assistant-fields", place, "usage is missing or not whole");
    let reason =
        matches!(field(message, "stopReason"), Some("stop" | "length" | "toolUse" | "error" | "aborted"));
    found.want(reason, "assistant-fields", place, "stopReason is not known");
    found.want(
        message.get("timestamp").is_some_and(Value::is_number),
        "assistant-fields",
        place,
        "no timestamp",
    );
}

fn result_fields(message: &Value, place: &str, found: &mut Found) {
    let good = field(message, "toolCallId").is_some_and(|id| !id.is_empty())
        && field(message, "toolName").is_some()
        && message.get("isError").is_some_and(Value::is_boolean)
        && message.get("timestamp").is_some_and(Value::is_number);
    found.want(good, "result-fields", place, "toolCallId, toolName, isError or timestamp is missing");
}

fn content(message: &Value, role: &str, place: &str, found: &mut Found) {
    let place = format!("{place}/content");
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::String(_)) if role == "user" => return found.text(message.get("content"), &place),
        _ => return found.add("content-shape", &place, "content is no list"),
    };
    found.want(!blocks.is_empty(), "content-not-empty", &place, "content is empty");
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}/{index}");
        match (role, field(block, "type").unwrap_or_default()) {
            (_, "text") => found.text(block.get("text"), &place),
            ("user" | "toolResult", "image") => {
                let (label, data) = (field(block, "mimeType"), field(block, "data"));
                found.image(label.unwrap_or_default(), data.unwrap_or_default(), IMAGE_BYTES_MAX, &place);
            }
            ("assistant", "thinking") => {
                let proof = block.get("thinkingSignature").is_none_or(Value::is_string);
                let good = field(block, "thinking").is_some() && proof;
                found.want(
                    good,
                    "thinking-signature",
                    &place,
                    "thinking is no text, or its signature is none",
                );
            }
            ("assistant", "toolCall") => {
                let whole = field(block, "id").is_some() && block.get("arguments").is_some();
                found.want(whole, "call-shape", &place, "call has no id or no arguments");
                let object = block.get("arguments").is_none_or(Value::is_object);
                found.want(object, "arguments", &place, "arguments are no object");
                let named = field(block, "name").is_some_and(|name| !name.is_empty());
                found.want(named, "tool-name", &place, "call has no tool name");
            }
            // Blocks of newer hosts: pi's converters pass over them in assistant messages only.
            ("assistant", kind) if !kind.is_empty() && kind != "image" => {}
            ("toolResult", kind) => found.add(
                "result-content",
                &place,
                format!("a block of type {kind:?} is refused in a result"),
            ),
            (_, kind) => found.add("block-type", &place, format!("a block of type {kind:?} is refused here")),
        }
    }
}

/// Ids of the calls of a message and their places.
fn calls<'a>(message: &'a Value, place: &str, found: &mut Found) -> Vec<(&'a str, String)> {
    let blocks = message.get("content").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut ids = Vec::new();
    for (index, block) in blocks.iter().enumerate() {
        if field(block, "type") == Some("toolCall") {
            let place = format!("{place}/content/{index}");
            let id = field(block, "id").unwrap_or_default();
            found.want(!id.is_empty(), "call-id", &place, "call id is empty");
            ids.push((id, place));
        }
    }
    ids
}
