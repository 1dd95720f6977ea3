//! The rules of Gemini's `generateContent`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, Who, walk};
use super::{blank, field, items};

/// Google's documented substitute for a signature.
pub(super) const UNSIGNED: &str = "skip_thought_signature_validator";

/// Fields of which a part has exactly one.
const KINDS: [&str; 7] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
];

/// Calls so far: their pairs, and the names that responses must repeat.
#[derive(Default)]
struct Calls<'a> {
    pairs: Pairs<'a>,
    names: BTreeMap<&'a str, &'a str>,
}

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    if let Some(system) = body.get("systemInstruction") {
        let parts = items(system, "parts");
        found.want(!parts.is_empty(), "instructions", "/systemInstruction", "instructions have no parts");
        for part in parts {
            found.instructions(field(part, "text"), "/systemInstruction");
        }
    }
    let turn_start = current_turn(items(body, "contents"));
    let mut calls = Calls::default();
    let mut index = 0;
    walk(body, "contents", found, |turn, found| {
        found.fields(turn.value, &["role", "parts"], turn.place);
        turn.alternates(found);
        let who = match turn.role {
            "user" => Who::User,
            "model" => Who::Model,
            _ => Who::Other,
        };
        found.want(who != Who::Other, "role", turn.place, "role is neither user nor model");
        if who == Who::Model {
            calls.pairs.close(turn.place, found);
        }
        content(turn, &mut calls, found);
        if who == Who::Model && index > turn_start {
            signed(turn, found);
        }
        if who == Who::User {
            calls.pairs.close(turn.place, found);
        }
        index += 1;
        who
    });
    calls.pairs.close("/contents", found);
}

/// Index of the start of the current turn: the user's last content that is more than responses.
fn current_turn(contents: &[Value]) -> usize {
    contents.iter().rposition(is_question).unwrap_or_default()
}

/// Whether a content is of the user and more than results.
fn is_question(content: &Value) -> bool {
    field(content, "role") == Some("user")
        && items(content, "parts").iter().any(|part| part.get("functionResponse").is_none())
}

/// Checks that the first call of each step of the current turn is signed.
fn signed(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    let first = items(turn.value, "parts").iter().find(|part| part.get("functionCall").is_some());
    let good =
        first.is_none_or(|part| field(part, "thoughtSignature").is_some_and(|signature| !blank(signature)));
    found.want(good, "call-signature", turn.place, "the first call of the step has no thoughtSignature");
}

fn content<'a>(turn: &Turn<'a, '_>, calls: &mut Calls<'a>, found: &mut FoundViolations) {
    let place = format!("{}/parts", turn.place);
    let Some(parts) = turn.value.get("parts").and_then(Value::as_array) else {
        return found.add("content-shape", &place, "content has no list parts");
    };
    found.want(!parts.is_empty(), "content-not-empty", &place, "content has no parts");
    let mut results_over = false;
    let mut code_open = false;
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}/{index}");
        let mut kinds = KINDS.iter().filter(|kind| part.get(**kind).is_some());
        let kind = kinds.next().copied().unwrap_or_default();
        found.want(
            kinds.next().is_none(),
            "block-one-kind",
            &place,
            "part holds more than one kind of content",
        );
        if kind == "functionResponse" {
            found.want(!results_over, "results-first", &place, "response stands behind another part");
        }
        results_over |= kind != "functionResponse";
        signature(part, &place, found);
        // Code and its outcome must be neighbours.
        let after_code = std::mem::replace(&mut code_open, kind == "executableCode");
        let good = after_code == (kind == "codeExecutionResult");
        found.want(good, "server-tool-pair", &place, "code without its outcome, or the reverse");
        match kind {
            "" => found.add("block-type", &place, "part holds nothing that is known"),
            // The last part of a stream may hold only the signature.
            "text" if part.get("thoughtSignature").is_some() && part.get("text") == Some(&"".into()) => {}
            "text" => found.text(part.get("text"), &place),
            "functionCall" => call(part, turn.role, &place, calls, found),
            "functionResponse" => response(part, turn.role, &place, calls, found),
            "inlineData" => image(part, &place, found),
            _ => {}
        }
    }
    found.want(!code_open, "server-tool-pair", &place, "code without its outcome");
}

fn signature(part: &Value, place: &str, found: &mut FoundViolations) {
    let Some(signature) = part.get("thoughtSignature") else { return };
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_' | b'=');
    let good = signature
        .as_str()
        .is_some_and(|text| !text.is_empty() && text.len().is_multiple_of(4) && text.bytes().all(legal));
    found.want(good, "thinking-signature", place, "thoughtSignature is no base64");
}

fn call<'a>(part: &'a Value, role: &str, place: &str, calls: &mut Calls<'a>, found: &mut FoundViolations) {
    found.want(role == "model", "block-role", place, "a call outside the model's content");
    let call = part.get("functionCall").unwrap_or(&Value::Null);
    let known = call.is_object() && call.get("args").is_some();
    found.want(known, "call-shape", place, "call is no object or has no args");
    found.fields(call, &["id", "name", "args"], place);
    let object = call.get("args").is_none_or(Value::is_object);
    found.want(object, "arguments", place, "args are no object");
    found.tool_name(field(call, "name"), place);
    let id = field(call, "id").unwrap_or_default();
    found.call_id(id, 64, place);
    calls.names.insert(id, field(call, "name").unwrap_or_default());
    calls.pairs.call(id, place, found);
}

fn response<'a>(
    part: &'a Value,
    role: &str,
    place: &str,
    calls: &mut Calls<'a>,
    found: &mut FoundViolations,
) {
    found.want(role == "user", "block-role", place, "a response outside the user's content");
    let response = part.get("functionResponse").unwrap_or(&Value::Null);
    found.fields(response, &["id", "name", "response", "parts", "willContinue", "scheduling"], place);
    let object = response.get("response").is_some_and(Value::is_object);
    found.want(object, "result-content", place, "response is no object");
    let id = field(response, "id").unwrap_or_default();
    let same = calls.names.get(id).is_none_or(|name| field(response, "name") == Some(name));
    found.want(same, "result-name", place, "response has another name than its call");
    calls.pairs.result(id, place, found);
}

fn image(part: &Value, place: &str, found: &mut FoundViolations) {
    let data = part.get("inlineData").unwrap_or(&Value::Null);
    found.fields(data, &["mimeType", "data", "displayName"], place);
    let label = field(data, "mimeType").unwrap_or_default();
    if label.is_empty() || label.starts_with("image/") {
        found.image(label, field(data, "data").unwrap_or_default(), place);
    }
}
