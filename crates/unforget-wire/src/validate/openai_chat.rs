//! The rules of OpenAI Chat Completions and of compatible servers.

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, Who, walk};
use super::{blank, field, items};
use crate::target::Family;

const FIELDS: [&str; 8] =
    ["role", "content", "name", "tool_calls", "tool_call_id", "refusal", "audio", "reasoning_content"];

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    let mut pairs = Pairs::default();
    let mut started = false;
    walk(body, "messages", found, |turn, found| {
        found.fields(turn.value, &FIELDS, turn.place);
        author(turn, found);
        if turn.role != "tool" {
            pairs.close(turn.place, found);
        }
        let who = match turn.role {
            "system" | "developer" => {
                let is_strict = found.checks.target.family.is_some_and(Family::wants_system_first);
                found.want(
                    !(started && is_strict),
                    "system-first",
                    turn.place,
                    "system message behind another",
                );
                instructions(turn, found);
                Who::System
            }
            "user" => {
                content(turn, &["text", "image_url", "input_audio", "file"], found);
                after_tool(turn, found);
                Who::User
            }
            "assistant" => {
                assistant(turn, &mut pairs, found);
                Who::Model
            }
            "tool" => {
                tool(turn, &mut pairs, found);
                Who::Other
            }
            role => {
                found.add("role", turn.place, format!("role {role:?} is not known"));
                Who::Other
            }
        };
        started |= who != Who::System;
        who
    });
    pairs.close("/messages", found);
}

fn author(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let legal = |c: char| !c.is_whitespace() && !matches!(c, '<' | '>' | '|' | '\\' | '/');
    let good = turn.value.get("name").is_none_or(|name| {
        name.as_str().is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(legal))
    });
    found.want(good, "author-name", turn.place, "name has a character or length that is refused");
}

fn instructions(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    match turn.value.get("content") {
        Some(Value::Array(parts)) if !parts.is_empty() => {
            for part in parts {
                found.instructions(field(part, "text"), turn.place);
            }
        }
        content => found.instructions(content.and_then(Value::as_str), turn.place),
    }
}

/// Checks Mistral's rule: an assistant message between a result and a user.
fn after_tool(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let behind = turn.before.and_then(|before| field(before, "role")) == Some("tool");
    let wrong = behind && found.checks.target.family == Some(Family::Mistral);
    found.want(!wrong, "after-tool-mistral", turn.place, "a user stands directly behind a result");
}

fn assistant<'a>(turn: &Turn<'a, '_>, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    let (message, place) = (turn.value, turn.place);
    let calls = message.get("tool_calls");
    reasoning(turn, calls.is_some(), found);
    if !(calls.is_some() && message.get("content").is_none_or(Value::is_null)) {
        content(turn, &["text", "refusal"], found);
    }
    let Some(calls) = calls else { return };
    let list = calls.as_array().map(Vec::as_slice).unwrap_or_default();
    found.want(!list.is_empty(), "call-shape", place, "tool_calls is no list or empty");
    found.want(list.len() <= 128, "call-count", place, "more than 128 calls in one message");
    for (index, call) in list.iter().enumerate() {
        let place = format!("{place}/tool_calls/{index}");
        let is_function = field(call, "type") == Some("function");
        found.want(is_function, "call-shape", &place, "call is not of type function");
        let Some(function) = call.get("function") else {
            found.add("call-shape", &place, "call has no function");
            continue;
        };
        let id = field(call, "id").unwrap_or_default();
        call_id(id, &place, found);
        found.tool_name(field(function, "name"), &place);
        found.arguments(function.get("arguments"), &place);
        pairs.call(id, &place, found);
    }
}

/// Checks reasoning: some models require it beside their calls; all other servers refuse the field.
fn reasoning(turn: &Turn<'_, '_>, calls: bool, found: &mut FoundViolations) {
    let text = turn.value.get("reasoning_content");
    if found.checks.target.family.is_some_and(Family::replays_reasoning) {
        let there = text.and_then(Value::as_str).is_some_and(|text| !blank(text));
        found.want(there || !calls, "reasoning-replay", turn.place, "calls without their reasoning_content");
    } else {
        found.want(text.is_none(), "reasoning-foreign", turn.place, "the model takes no reasoning_content");
    }
}

fn call_id(id: &str, place: &str, found: &mut FoundViolations) {
    found.call_id(id, 40, place);
    let nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    let good = nine || found.checks.target.family != Some(Family::Mistral);
    found.want(good, "call-id-mistral", place, "call id is not nine letters and digits");
}

fn tool<'a>(turn: &Turn<'a, '_>, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    let id = field(turn.value, "tool_call_id").unwrap_or_default();
    call_id(id, turn.place, found);
    pairs.result(id, turn.place, found);
    match turn.value.get("content") {
        Some(Value::String(text)) => found.text_size(text, turn.place),
        Some(Value::Array(parts)) => {
            let texts =
                parts.iter().all(|part| field(part, "type") == Some("text") && field(part, "text").is_some());
            let good = texts && !parts.is_empty();
            found.want(good, "result-content", turn.place, "a tool message holds text only");
        }
        _ => found.add("result-content", turn.place, "a tool message needs content"),
    }
}

fn content(turn: &Turn<'_, '_>, known: &[&str], found: &mut FoundViolations) {
    let place = format!("{}/content", turn.place);
    match turn.value.get("content") {
        None | Some(Value::Null) => return found.add("content-not-empty", &place, "message has no content"),
        Some(Value::Array(parts)) => {
            found.want(!parts.is_empty(), "content-not-empty", &place, "content is empty");
        }
        other => return found.text(other, &place),
    }
    for (index, part) in items(turn.value, "content").iter().enumerate() {
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
