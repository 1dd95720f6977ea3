//! What Anthropic Messages refuses.

use serde_json::Value;

use super::{Found, Pairs, blank, field, list};

pub(super) const RULES: [&str; 29] = [
    "json",
    "shape",
    "not-empty",
    "instructions",
    "role",
    "extra-field",
    "first-user",
    "last-not-assistant",
    "alternate",
    "content-shape",
    "content-not-empty",
    "text-not-blank",
    "block-type",
    "call-id",
    "call-id-unique",
    "tool-name",
    "arguments",
    "call-answered",
    "result-orphan",
    "result-once",
    "results-first",
    "result-content",
    "thinking-signature",
    "thinking-not-last",
    "cache-control",
    "server-tool-pair",
    "image-shape",
    "image-type",
    "image-size",
];

const IMAGE_BYTES_MAX: usize = 5 * 1024 * 1024;

pub(super) fn check(body: &Value, found: &mut Found) {
    let mut marks = 0;
    system(body, &mut marks, found);
    let messages = list(body, "messages", found);
    let mut pairs = Pairs::default();
    let mut before = "";
    for (index, message) in messages.iter().enumerate() {
        let place = format!("/messages/{index}");
        let role = field(message, "role").unwrap_or_default();
        fields(message, &["role", "content"], &place, found);
        found.want(
            role == "user" || role == "assistant",
            "role",
            &place,
            "role is neither user nor assistant",
        );
        found.want(index > 0 || role == "user", "first-user", &place, "first message is not the user's");
        found.want(role != before, "alternate", &place, "two messages in a row have one role");
        before = role;
        if role == "assistant" {
            pairs.close(&place, found);
        }
        content(message, role, &place, &mut pairs, found);
        if role == "user" {
            pairs.close(&place, found);
        }
        marks += message.get("content").map_or(0, count_marks);
    }
    pairs.close("/messages", found);
    found.want(before != "assistant", "last-not-assistant", "/messages", "last message is the assistant's");
    found.want(marks <= 4, "cache-control", "", "more than 4 cache_control marks");
}

fn system(body: &Value, marks: &mut usize, found: &mut Found) {
    match body.get("system") {
        None => {}
        Some(Value::String(text)) => {
            found.want(!blank(text), "instructions", "/system", "system text is blank");
        }
        Some(Value::Array(blocks)) => {
            for (index, block) in blocks.iter().enumerate() {
                let good = field(block, "type") == Some("text")
                    && field(block, "text").is_some_and(|text| !blank(text));
                found.want(
                    good,
                    "instructions",
                    &format!("/system/{index}"),
                    "system block is no text or blank",
                );
                *marks += count_marks(block);
            }
        }
        Some(_) => found.add("instructions", "/system", "system is neither text nor a list"),
    }
}

fn content<'a>(message: &'a Value, role: &str, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    let place = format!("{place}/content");
    let blocks = match message.get("content") {
        Some(Value::Array(blocks)) => blocks,
        other => return found.text(other, &place),
    };
    found.want(!blocks.is_empty(), "content-not-empty", &place, "content is empty");
    let mut servers = Pairs::default();
    let mut results_over = false;
    for (index, each) in blocks.iter().enumerate() {
        let place = format!("{place}/{index}");
        let kind = field(each, "type").unwrap_or_default();
        if kind == "tool_result" {
            found.want(!results_over, "results-first", &place, "result stands behind another block");
        } else {
            results_over = true;
        }
        match (role, kind) {
            ("assistant", "server_tool_use" | "mcp_tool_use") => {
                servers.seen.insert(field(each, "id").unwrap_or_default());
                servers.open.insert(field(each, "id").unwrap_or_default());
            }
            ("assistant", kind) if kind.ends_with("_tool_result") => {
                let known = servers.open.remove(field(each, "tool_use_id").unwrap_or_default());
                found.want(known, "server-tool-pair", &place, "result of a provider's tool without its call");
            }
            ("assistant", "tool_use") => call(each, &place, pairs, found),
            ("assistant", "thinking" | "redacted_thinking") => {
                thinking(each, kind, &place, found);
                found.want(index + 1 < blocks.len(), "thinking-not-last", &place, "message ends in thinking");
            }
            ("user", "tool_result") => result(each, &place, pairs, found),
            ("user", "image") => image(each, &place, found),
            ("user", "document" | "search_result" | "container_upload") => {}
            (_, "text") => {
                fields(each, &["type", "text", "cache_control", "citations"], &place, found);
                found.text(each.get("text"), &place);
            }
            _ => found.add("block-type", &place, format!("a block of type {kind:?} is refused here")),
        }
    }
    found.want(
        servers.open.is_empty(),
        "server-tool-pair",
        &place,
        "call of a provider's tool without its result",
    );
}

fn call<'a>(block: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    fields(block, &["type", "id", "name", "input", "cache_control", "caller"], place, found);
    let id = field(block, "id").unwrap_or_default();
    found.call_id(id, 64, place);
    found.tool_name(field(block, "name"), place);
    found.want(block.get("input").is_some_and(Value::is_object), "arguments", place, "input is no object");
    pairs.call(id, place, found);
}

fn result<'a>(block: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut Found) {
    fields(block, &["type", "tool_use_id", "content", "is_error", "cache_control"], place, found);
    let id = field(block, "tool_use_id").unwrap_or_default();
    found.call_id(id, 64, place);
    pairs.result(id, place, found);
    let flag = block.get("is_error").is_none_or(Value::is_boolean);
    found.want(flag, "result-content", place, "is_error is no boolean");
    let inner = match block.get("content") {
        None | Some(Value::String(_)) => return,
        Some(Value::Array(inner)) => inner,
        Some(_) => {
            return found.add("result-content", place, "content of a result is neither text nor a list");
        }
    };
    for (index, each) in inner.iter().enumerate() {
        let place = format!("{place}/content/{index}");
        match field(each, "type").unwrap_or_default() {
            "text" => found.text(each.get("text"), &place),
            "image" => image(each, &place, found),
            "document" | "search_result" | "tool_reference" => {}
            kind => found.add(
                "result-content",
                &place,
                format!("a block of type {kind:?} is refused in a result"),
            ),
        }
    }
}

fn thinking(block: &Value, kind: &str, place: &str, found: &mut Found) {
    let proof = if kind == "thinking" { "signature" } else { "data" };
    let signed = field(block, proof).is_some_and(|proof| !blank(proof));
    let readable = kind != "thinking" || field(block, "thinking").is_some();
    found.want(signed && readable, "thinking-signature", place, "thinking has no signature");
    let fields_known: &[&str] =
        if kind == "thinking" { &["type", "thinking", "signature"] } else { &["type", "data"] };
    if block.get("cache_control").is_some() {
        found.add("cache-control", place, "cache_control on thinking");
    } else {
        fields(block, fields_known, place, found);
    }
}

fn image(block: &Value, place: &str, found: &mut Found) {
    let source = block.get("source").unwrap_or(&Value::Null);
    match field(source, "type").unwrap_or_default() {
        "base64" => {
            let (label, data) = (field(source, "media_type"), field(source, "data"));
            found.image(label.unwrap_or_default(), data.unwrap_or_default(), IMAGE_BYTES_MAX, place);
        }
        "url" => {
            let secure = field(source, "url").is_some_and(|url| url.starts_with("https://"));
            found.want(secure, "image-shape", place, "address of an image is not https");
        }
        "file" => {
            found.want(field(source, "file_id").is_some(), "image-shape", place, "image has no file id");
        }
        _ => found.add("image-shape", place, "image has no source"),
    }
}

/// Anthropic refuses fields that it does not know.
fn fields(value: &Value, known: &[&str], place: &str, found: &mut Found) {
    let Some(members) = value.as_object() else {
        return found.add("content-shape", place, "not an object");
    };
    for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
        found.add("extra-field", place, format!("field {key:?} is not known"));
    }
}

/// Marks on blocks and inside results; not in the input of calls, which is the tool's business.
fn count_marks(value: &Value) -> usize {
    match value {
        Value::Array(blocks) => blocks.iter().map(count_marks).sum(),
        Value::Object(block) => {
            usize::from(block.contains_key("cache_control")) + block.get("content").map_or(0, count_marks)
        }
        _ => 0,
    }
}
