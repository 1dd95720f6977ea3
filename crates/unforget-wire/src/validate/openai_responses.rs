//! The rules of OpenAI Responses without any state stored at the provider.

use std::collections::BTreeSet;

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, Who, walk};
use super::{blank, field, items};

/// Items of the provider's own tools, and references to other items.
const ALONE: [&str; 10] = [
    "additional_tools",
    "file_search_call",
    "image_generation_call",
    "code_interpreter_call",
    "mcp_call",
    "mcp_list_tools",
    "mcp_approval_request",
    "mcp_approval_response",
    "item_reference",
    "compaction",
];

/// Facts about the items so far.
#[derive(Default)]
struct InputItems<'a> {
    pairs: Pairs<'a>,
    /// Ids of the provider's store.
    ids: BTreeSet<&'a str>,
    /// Call ids of custom tools, whose outputs have a type of their own.
    custom: BTreeSet<&'a str>,
    /// Whether the current answer has reasoning.
    reasoned: bool,
}

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    match body.get("instructions") {
        None | Some(Value::Null) => {}
        Some(text) => found.instructions(text.as_str(), "/instructions"),
    }
    let mut known = InputItems::default();
    walk(body, "input", found, |turn, found| {
        let who = match turn.role {
            "" => Who::Other,
            "assistant" => Who::Model,
            "system" | "developer" => Who::System,
            _ => Who::User,
        };
        // An answer may come later than the next item, but not behind the next text.
        if matches!(who, Who::User | Who::System) {
            known.pairs.close(turn.place, found);
            known.reasoned = false;
        }
        match field(turn.value, "type").unwrap_or("message") {
            "message" => message(turn, &mut known, found),
            "function_call" => call(turn, &mut known, found),
            "custom_tool_call" => custom_call(turn, &mut known, found),
            "local_shell_call" => shell_call(turn, &mut known, found),
            "function_call_output" | "custom_tool_call_output" => output(turn, &mut known, found),
            "web_search_call" => item_id(turn, "ws", &mut known, found),
            kind if ALONE.contains(&kind) => {}
            "reasoning" => reasoning(turn, &mut known, found),
            kind => found.add("block-type", turn.place, format!("an item of type {kind:?} is refused here")),
        }
        who
    });
    known.pairs.close("/input", found);
}

fn message<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    found.fields(turn.value, &["type", "id", "role", "content", "status", "phase"], turn.place);
    let kinds: &[&str] = match turn.role {
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
        "assistant" => &["output_text", "refusal"],
        role => return found.add("role", turn.place, format!("role {role:?} is not known")),
    };
    item_id(turn, "msg", known, found);
    let place = format!("{}/content", turn.place);
    let parts = match turn.value.get("content") {
        Some(Value::Array(parts)) => parts,
        other => return found.text(other, &place),
    };
    found.want(!parts.is_empty(), "content-not-empty", &place, "content is empty");
    for (index, part) in parts.iter().enumerate() {
        let place = format!("{place}/{index}");
        match field(part, "type").unwrap_or_default() {
            kind if !kinds.contains(&kind) => {
                found.add("block-type", &place, format!("a part of type {kind:?} is refused here"));
            }
            "input_text" | "output_text" => found.text(part.get("text"), &place),
            "input_image" if field(part, "file_id").is_none() => {
                found.image_url(field(part, "image_url"), &place);
            }
            _ => {}
        }
    }
}

fn call<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    let (item, place) = (turn.value, turn.place);
    found.fields(item, &["type", "id", "call_id", "name", "arguments", "status", "namespace"], place);
    item_id(turn, "fc", known, found);
    let Some(id) = field(item, "call_id") else {
        return found.add("call-shape", place, "call has no call_id");
    };
    found.call_id(id, 64, place);
    found.tool_name(field(item, "name"), place);
    found.arguments(item.get("arguments"), place);
    known.pairs.call(id, place, found);
}

fn custom_call<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    let (item, place) = (turn.value, turn.place);
    found.fields(item, &["type", "id", "call_id", "name", "input", "status", "namespace"], place);
    item_id(turn, "ctc", known, found);
    let (Some(id), true) = (field(item, "call_id"), field(item, "input").is_some()) else {
        return found.add("call-shape", place, "call of a custom tool has no call_id or no input");
    };
    found.call_id(id, 64, place);
    found.tool_name(field(item, "name"), place);
    known.pairs.call(id, place, found);
    known.custom.insert(id);
}

fn shell_call<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    let (item, place) = (turn.value, turn.place);
    found.fields(item, &["type", "id", "call_id", "action", "status"], place);
    item_id(turn, "lsh", known, found);
    let (Some(id), true) = (field(item, "call_id"), item.get("action").is_some_and(Value::is_object)) else {
        return found.add("call-shape", place, "call of the shell has no call_id or no action");
    };
    found.call_id(id, 64, place);
    known.pairs.call(id, place, found);
}

fn output<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    let (item, place) = (turn.value, turn.place);
    found.fields(item, &["type", "id", "call_id", "output", "status"], place);
    let id = field(item, "call_id").unwrap_or_default();
    let is_custom = field(item, "type") == Some("custom_tool_call_output");
    let is_same = known.custom.contains(id) == is_custom;
    found.want(is_same, "result-orphan", place, "output is of another type than its call");
    found.call_id(id, 64, place);
    known.pairs.result(id, place, found);
    known.reasoned = false;
    match item.get("output") {
        Some(Value::String(text)) => found.text_size(text, place),
        Some(Value::Array(_)) => {}
        _ => found.add("result-content", place, "output is neither text nor a list"),
    }
    for (index, part) in items(item, "output").iter().enumerate() {
        let place = format!("{place}/output/{index}");
        match field(part, "type").unwrap_or_default() {
            "input_text" => found.text(part.get("text"), &place),
            "input_image" => found.image_url(field(part, "image_url"), &place),
            "input_file" => {}
            kind => {
                let what = format!("a part of type {kind:?} is refused in an output");
                found.add("result-content", &place, what);
            }
        }
    }
}

fn reasoning<'a>(turn: &Turn<'a, '_>, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    known.reasoned = true;
    item_id(turn, "rs", known, found);
    let whole = field(turn.value, "encrypted_content").is_some_and(|content| !blank(content));
    found.want(whole, "thinking-signature", turn.place, "reasoning has no encrypted content");
    let listed = turn.value.get("summary").is_some_and(Value::is_array);
    found.want(listed, "reasoning-summary", turn.place, "reasoning has no list summary");
    let led_to = turn.next.is_some_and(|next| {
        field(next, "role") == Some("assistant")
            || field(next, "type").is_some_and(|kind| kind.ends_with("_call") || kind == "reasoning")
    });
    found.want(led_to, "thinking-alone", turn.place, "reasoning is not followed by what it led to");
}

/// Checks an id of the provider's store: of the right type, unique, and not without the reasoning that it implies.
fn item_id<'a>(turn: &Turn<'a, '_>, prefix: &str, known: &mut InputItems<'a>, found: &mut FoundViolations) {
    let Some(id) = turn.value.get("id") else { return };
    let id = id.as_str().unwrap_or_default();
    let good = id.starts_with(prefix);
    found.want(good, "item-id", turn.place, "id of the item has not the prefix of its type");
    found.want(known.ids.insert(id), "item-id-unique", turn.place, "id of the item is used twice");
    let alone = !known.reasoned && matches!(turn.role, "" | "assistant");
    found.want(!alone, "item-id-alone", turn.place, "id of an item whose reasoning is not sent");
}
