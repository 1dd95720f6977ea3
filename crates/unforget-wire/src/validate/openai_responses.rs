//! What OpenAI Responses refuses, without anything stored at the provider.

use serde_json::Value;

use super::{Found, Pairs, blank, field, list};

pub(super) const RULES: [&str; 26] = [
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
    "thinking-signature",
    "thinking-alone",
    "item-id",
    "image-shape",
    "image-type",
    "image-size",
];

pub(super) fn check(body: &Value, found: &mut Found) {
    match body.get("instructions") {
        None | Some(Value::Null) => {}
        Some(Value::String(text)) => {
            found.want(!blank(text), "instructions", "/instructions", "instructions are blank");
        }
        Some(_) => found.add("instructions", "/instructions", "instructions are no string"),
    }
    let items = list(body, "input", found);
    let mut pairs = Pairs::default();
    for (index, item) in items.iter().enumerate() {
        let place = format!("/input/{index}");
        let next = items.get(index + 1);
        match field(item, "type").unwrap_or("message") {
            "message" => message(item, &place, found),
            "function_call" => call(item, &place, &mut pairs, found),
            "function_call_output" => output(item, &place, &mut pairs, found),
            "reasoning" => reasoning(item, next, &place, found),
            kind => found.add("block-type", &place, format!("an item of type {kind:?} is refused here")),
        }
        let user = field(item, "role").is_some_and(|role| role != "assistant");
        found.want(index > 0 || user, "first-user", &place, "first item is not the user's");
        // An answer may come later than the next item, but not behind the next words.
        if field(item, "role").is_some() && user {
            pairs.close(&place, found);
        }
    }
    pairs.close("/input", found);
    let last = items.last().and_then(|item| field(item, "role"));
    found.want(last != Some("assistant"), "last-not-assistant", "/input", "last item is the assistant's");
}

fn message(item: &Value, place: &str, found: &mut Found) {
    item_id(item, "msg", place, found);
    let known: &[&str] = match field(item, "role").unwrap_or_default() {
        "user" | "system" | "developer" => &["input_text", "input_image", "input_file"],
        "assistant" => &["output_text", "refusal"],
        role => return found.add("role", place, format!("role {role:?} is not known")),
    };
    let place = format!("{place}/content");
    let parts = match item.get("content") {
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
            "input_text" | "output_text" => found.text(part.get("text"), &place),
            "input_image" if field(part, "file_id").is_none() => {
                found.image_url(field(part, "image_url"), &place);
            }
            _ => {}
        }
    }
}

fn call<'a>(item: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    item_id(item, "fc", place, found);
    let Some(id) = field(item, "call_id") else {
        return found.add("call-shape", place, "call has no call_id");
    };
    found.call_id(id, 64, place);
    found.tool_name(field(item, "name"), place);
    found.arguments(item.get("arguments"), place);
    pairs.call(id, place, found);
}

fn output<'a>(item: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    let id = field(item, "call_id").unwrap_or_default();
    found.call_id(id, 64, place);
    pairs.result(id, place, found);
    match item.get("output") {
        Some(Value::String(_)) => {}
        Some(Value::Array(parts)) => {
            for (index, part) in parts.iter().enumerate() {
                let place = format!("{place}/output/{index}");
                match field(part, "type").unwrap_or_default() {
                    "input_text" => found.text(part.get("text"), &place),
                    "input_image" => found.image_url(field(part, "image_url"), &place),
                    "input_file" => {}
                    kind => found.add(
                        "result-content",
                        &place,
                        format!("a part of type {kind:?} is refused in an output"),
                    ),
                }
            }
        }
        _ => found.add("result-content", place, "output is neither text nor a list"),
    }
}

fn reasoning(item: &Value, next: Option<&Value>, place: &str, found: &mut Found) {
    item_id(item, "rs", place, found);
    let whole = field(item, "encrypted_content").is_some_and(|content| !blank(content));
    found.want(whole, "thinking-signature", place, "reasoning has no encrypted content");
    let led_to = next.is_some_and(|next| {
        field(next, "role") == Some("assistant")
            || matches!(field(next, "type"), Some("function_call" | "reasoning"))
    });
    found.want(led_to, "thinking-alone", place, "reasoning is not followed by what it led to");
}

/// Expected an ID that begins with …
fn item_id(item: &Value, prefix: &str, place: &str, found: &mut Found) {
    let good = item.get("id").is_none_or(|id| id.as_str().is_some_and(|id| id.starts_with(prefix)));
    found.want(good, "item-id", place, "id of the item has not the prefix of its type");
}
