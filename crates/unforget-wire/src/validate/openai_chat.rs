//! What OpenAI Chat Completions, and servers that speak it, refuse.

use serde_json::Value;

use super::{Found, Pairs, blank, field, list};

pub(super) const RULES: [&str; 24] = [
    "json",
    "shape",
    "not-empty",
    "instructions",
    "role",
    "system-first",
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
    "image-shape",
    "image-type",
    "image-size",
];

pub(super) fn check(body: &Value, found: &mut Found) {
    let messages = list(body, "messages", found);
    let mut pairs = Pairs::default();
    let mut started = false;
    for (index, message) in messages.iter().enumerate() {
        let place = format!("/messages/{index}");
        let role = field(message, "role").unwrap_or_default();
        if role != "tool" {
            pairs.close(&place, found);
        }
        match role {
            "system" | "developer" => {
                found.want(!started, "system-first", &place, "system message behind another");
                instructions(message, &place, found);
                continue;
            }
            "user" => content(message, &["text", "image_url", "input_audio", "file"], &place, found),
            "assistant" => assistant(message, &place, &mut pairs, found),
            "tool" => tool(message, &place, &mut pairs, found),
            _ => found.add("role", &place, format!("role {role:?} is not known")),
        }
        found.want(started || role == "user", "first-user", &place, "first message is not the user's");
        started = true;
    }
    pairs.close("/messages", found);
    let last = messages.last().and_then(|message| field(message, "role"));
    found.want(
        last != Some("assistant"),
        "last-not-assistant",
        "/messages",
        "last message is the assistant's",
    );
    if !messages.is_empty() && !started {
        found.add("first-user", "/messages", "no message of the user");
    }
}

fn instructions(message: &Value, place: &str, found: &mut Found) {
    let good = match message.get("content") {
        Some(Value::String(text)) => !blank(text),
        Some(Value::Array(parts)) => {
            !parts.is_empty() && parts.iter().all(|part| field(part, "text").is_some_and(|text| !blank(text)))
        }
        _ => false,
    };
    found.want(good, "instructions", place, "system message has no text");
}

fn assistant<'a>(message: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    let calls = message.get("tool_calls");
    if !(calls.is_some() && message.get("content").is_none_or(Value::is_null)) {
        content(message, &["text", "refusal"], place, found);
    }
    let Some(calls) = calls else { return };
    let list = calls.as_array().map(Vec::as_slice).unwrap_or_default();
    found.want(!list.is_empty(), "call-shape", place, "tool_calls is no list or empty");
    for (index, call) in list.iter().enumerate() {
        let place = format!("{place}/tool_calls/{index}");
        found.want(
            field(call, "type") == Some("function"),
            "call-shape",
            &place,
            "call is not of type function",
        );
        let Some(function) = call.get("function") else {
            found.add("call-shape", &place, "call has no function");
            continue;
        };
        let id = field(call, "id").unwrap_or_default();
        found.call_id(id, 40, &place);
        found.tool_name(field(function, "name"), &place);
        found.arguments(function.get("arguments"), &place);
        pairs.call(id, &place, found);
    }
}

fn tool<'a>(message: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    let id = field(message, "tool_call_id").unwrap_or_default();
    found.call_id(id, 40, place);
    pairs.result(id, place, found);
    match message.get("content") {
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) => {
            let texts =
                parts.iter().all(|part| field(part, "type") == Some("text") && field(part, "text").is_some());
            found.want(texts && !parts.is_empty(), "result-content", place, "a tool message holds text only");
        }
        _ => found.add("result-content", place, "a tool message needs content"),
    }
}

fn content(message: &Value, known: &[&str], place: &str, found: &mut Found) {
    let place = format!("{place}/content");
    let parts = match message.get("content") {
        None | Some(Value::Null) => return found.add("content-not-empty", &place, "message has no content"),
        Some(Value::Array(parts)) => parts,
        other => return found.text(other, &place),
    };
    found.want(!parts.is_empty(), "content-not-empty", &place, "content is empty");
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}/{index}");
        match field(part, "type").unwrap_or_default() {
            kind if !known.contains(&kind) => {
                found.add("block-type", &place, format!("a part of type {kind:?} is refused here"));
            }
            "text" => found.text(part.get("text"), &place),
            "image_url" => {
                found.image_url(part.get("image_url").and_then(|image| field(image, "url")), &place);
            }
            _ => {}
        }
    }
}
