//! The rules of pi-ai's types, and of its providers after its conversion of the messages.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, Who, walk};
use super::{field, items};

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    if let Some(prompt) = body.get("systemPrompt") {
        found.instructions(prompt.as_str(), "/systemPrompt");
    }
    let mut pairs = Pairs::default();
    let mut dead = BTreeSet::new();
    walk(body, "messages", found, |turn, found| {
        if turn.role != "toolResult" {
            pairs.close(turn.place, found);
        }
        match turn.role {
            // Hosts of pi convert their own kind of message to a user's.
            "user" | "custom" => {
                content(turn, found);
                Who::User
            }
            "assistant" => {
                assistant_fields(turn, found);
                content(turn, found);
                let stopped = matches!(field(turn.value, "stopReason"), Some("aborted" | "error"));
                for (id, place) in calls(turn, found) {
                    if stopped {
                        dead.insert(id);
                    } else {
                        pairs.call(id, &place, found);
                    }
                }
                Who::Model
            }
            "toolResult" => {
                result_fields(turn, found);
                content(turn, found);
                let id = field(turn.value, "toolCallId").unwrap_or_default();
                if dead.contains(id) && !pairs.open.contains(id) {
                    found.add("dead-call", turn.place, "result of a call that was cut off");
                } else {
                    pairs.result(id, turn.place, found);
                }
                Who::Other
            }
            role => {
                found.add("role", turn.place, format!("role {role:?} is not known"));
                Who::Other
            }
        }
    });
    pairs.close("/messages", found);
}

fn assistant_fields(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let (message, place) = (turn.value, turn.place);
    let named = ["api", "provider", "model"].iter().all(|key| field(message, key).is_some());
    found.want(named, "assistant-fields", place, "api, provider or model is missing");
    let usage = message.get("usage").unwrap_or(&Value::Null);
    let counted = ["input", "output", "cacheRead", "cacheWrite"]
        .iter()
        .all(|key| usage.get(key).is_some_and(Value::is_number));
    found.want(counted, "assistant-usage", place, "usage is missing or not whole");
    let reason =
        matches!(field(message, "stopReason"), Some("stop" | "length" | "toolUse" | "error" | "aborted"));
    found.want(reason, "stop-reason", place, "stopReason is not known");
    let timed = message.get("timestamp").is_some_and(Value::is_number);
    found.want(timed, "assistant-fields", place, "no timestamp");
}

fn result_fields(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let message = turn.value;
    let good = field(message, "toolCallId").is_some_and(|id| !id.is_empty())
        && field(message, "toolName").is_some()
        && message.get("isError").is_some_and(Value::is_boolean)
        && message.get("timestamp").is_some_and(Value::is_number);
    found.want(good, "result-fields", turn.place, "toolCallId, toolName, isError or timestamp is missing");
}

fn content(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let place = format!("{}/content", turn.place);
    let blocks = match turn.value.get("content") {
        Some(Value::Array(blocks)) => blocks,
        Some(Value::String(_)) if matches!(turn.role, "user" | "custom") => {
            return found.text(turn.value.get("content"), &place);
        }
        _ => return found.add("content-shape", &place, "content is no list"),
    };
    found.want(!blocks.is_empty(), "content-not-empty", &place, "content is empty");
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}/{index}");
        match (turn.role, field(block, "type").unwrap_or_default()) {
            (_, "text") => found.text(block.get("text"), &place),
            ("user" | "custom" | "toolResult", "image") => {
                let (label, data) = (field(block, "mimeType"), field(block, "data"));
                found.image(label.unwrap_or_default(), data.unwrap_or_default(), &place);
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
            ("assistant", "toolCall") => call(block, &place, found),
            // Blocks of newer hosts: pi's converters skip them, but only in assistant messages.
            ("assistant", kind) if !kind.is_empty() && kind != "image" => {}
            ("toolResult", kind) => {
                let what = format!("a block of type {kind:?} is refused in a result");
                found.add("result-content", &place, what);
            }
            (_, kind) => found.add("block-type", &place, format!("a block of type {kind:?} is refused here")),
        }
    }
}

fn call(block: &Value, place: &str, found: &mut FoundViolations) {
    let whole = field(block, "id").is_some() && block.get("arguments").is_some();
    found.want(whole, "call-shape", place, "call has no id or no arguments");
    let object = block.get("arguments").is_none_or(Value::is_object);
    found.want(object, "arguments", place, "arguments are no object");
    found.tool_name(field(block, "name"), place);
    let cut = ["partialJson", "partialArgs"].iter().any(|key| block.get(key).is_some());
    found.want(!cut, "partial-call", place, "call still has the part of its arguments that had arrived");
}

/// Ids of the calls of a message and their places.
fn calls<'a>(turn: &Turn<'a, '_>, found: &mut FoundViolations) -> Vec<(&'a str, String)> {
    let mut ids = Vec::new();
    for (index, block) in items(turn.value, "content").iter().enumerate() {
        if field(block, "type") == Some("toolCall") {
            let place = format!("{}/content/{index}", turn.place);
            let id = field(block, "id").unwrap_or_default();
            found.want(!id.is_empty(), "call-id", &place, "call id is empty");
            ids.push((id, place));
        }
    }
    ids
}
