//! The rules of Anthropic Messages.

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, dialogue};
use super::{blank, field, items};

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    system(body, found);
    dialogue(body, found, Some(instructions), content);
    starts_with_thinking(body, found);
    marks(body, found);
}

fn system(body: &Value, found: &mut FoundViolations) {
    match body.get("system") {
        None => {}
        Some(Value::Array(blocks)) => {
            for (index, block) in blocks.iter().enumerate() {
                let text = field(block, "text").filter(|_| field(block, "type") == Some("text"));
                found.instructions(text, &format!("/system/{index}"));
            }
        }
        Some(text) => found.instructions(text.as_str(), "/system"),
    }
}

/// Instructions between messages, accepted by newer models: text, behind a user message, and last or before an
/// assistant message.
fn instructions(turn: &Turn<'_, '_>, found: &mut FoundViolations) {
    found.fields(turn.value, &["role", "content", "cache_control", "output_config"], turn.place);
    let before = turn.before.and_then(|before| field(before, "role"));
    found.want(before == Some("user"), "system-place", turn.place, "instructions do not stand behind a user");
    let next = turn.next.and_then(|next| field(next, "role"));
    let is_before = turn.next.is_none() || next == Some("assistant");
    found.want(is_before, "system-place", turn.place, "instructions do not stand before an assistant");
    let place = format!("{}/content", turn.place);
    match turn.value.get("content") {
        Some(Value::Array(blocks)) => {
            for (index, block) in blocks.iter().enumerate() {
                let text = field(block, "text").filter(|_| field(block, "type") == Some("text"));
                found.instructions(text, &format!("{place}/{index}"));
            }
        }
        text => found.instructions(text.and_then(Value::as_str), &place),
    }
}

fn content<'a>(turn: &Turn<'a, '_>, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    let place = format!("{}/content", turn.place);
    let blocks = match turn.value.get("content") {
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
        match (turn.role, kind) {
            ("assistant", "server_tool_use" | "mcp_tool_use") => {
                server_call(each, kind, &place, &mut servers, found);
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
                found.fields(each, &["type", "text", "cache_control", "citations"], &place);
                found.text(each.get("text"), &place);
            }
            _ => found.add("block-type", &place, format!("a block of type {kind:?} is refused here")),
        }
    }
    let whole = servers.open.is_empty();
    found.want(whole, "server-tool-pair", &place, "call of a provider's tool without its result");
}

fn server_call<'a>(
    block: &'a Value,
    kind: &str,
    place: &str,
    servers: &mut Pairs<'a>,
    found: &mut FoundViolations,
) {
    let id = field(block, "id").unwrap_or_default();
    let prefix = if kind == "mcp_tool_use" { "mcptoolu_" } else { "srvtoolu_" };
    let legal = |rest: &str| !rest.is_empty() && rest.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let good = id.strip_prefix(prefix).is_some_and(legal);
    found.want(good, "server-tool-id", place, "id of a provider's tool has another form");
    servers.open.insert(id);
}

fn call<'a>(block: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    found.fields(block, &["type", "id", "name", "input", "cache_control", "caller"], place);
    let id = field(block, "id").unwrap_or_default();
    found.call_id(id, 64, place);
    found.tool_name(field(block, "name"), place);
    found.want(block.get("input").is_some_and(Value::is_object), "arguments", place, "input is no object");
    pairs.call(id, place, found);
}

fn result<'a>(block: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    found.fields(block, &["type", "tool_use_id", "content", "is_error", "cache_control"], place);
    let id = field(block, "tool_use_id").unwrap_or_default();
    found.call_id(id, 64, place);
    pairs.result(id, place, found);
    let flag = block.get("is_error").is_none_or(Value::is_boolean);
    found.want(flag, "result-flag", place, "is_error is no boolean");
    let content = block.get("content");
    let empty = content.is_none_or(|content| content == "" || *content == Value::Array(Vec::new()));
    let failed = block.get("is_error") == Some(&Value::Bool(true));
    found.want(!(failed && empty), "error-content", place, "an error says nothing");
    let listed = content.is_none_or(|content| content.is_string() || content.is_array());
    found.want(listed, "result-content", place, "content of a result is neither text nor a list");
    for (index, each) in items(block, "content").iter().enumerate() {
        let place = format!("{place}/content/{index}");
        match field(each, "type").unwrap_or_default() {
            "text" => found.text(each.get("text"), &place),
            "image" => image(each, &place, found),
            "document" | "search_result" | "tool_reference" => {}
            kind => {
                let what = format!("a block of type {kind:?} is refused in a result");
                found.add("result-content", &place, what);
            }
        }
    }
}

fn thinking(block: &Value, kind: &str, place: &str, found: &mut FoundViolations) {
    let proof = if kind == "thinking" { "signature" } else { "data" };
    let signed = field(block, proof).is_some_and(|proof| !blank(proof));
    let readable = kind != "thinking" || field(block, "thinking").is_some();
    found.want(signed && readable, "thinking-signature", place, "thinking has no signature");
    let known: &[&str] =
        if kind == "thinking" { &["type", "thinking", "signature"] } else { &["type", "data"] };
    if block.get("cache_control").is_some() {
        found.add("cache-place", place, "cache_control on thinking");
    } else {
        found.fields(block, known, place);
    }
}

/// With thinking switched on, the answer that a tool loop continues must begin with its thinking.
fn starts_with_thinking(body: &Value, found: &mut FoundViolations) {
    let thinking = body.get("thinking").and_then(|thinking| field(thinking, "type"));
    let [.., asked, last] = items(body, "messages") else { return };
    let in_loop = items(last, "content").iter().any(|block| field(block, "type") == Some("tool_result"));
    if thinking != Some("enabled") || !in_loop {
        return;
    }
    let first = items(asked, "content").first().and_then(|block| field(block, "type"));
    let good = matches!(first, Some("thinking" | "redacted_thinking"));
    found.want(good, "thinking-first", "/messages", "the answer in the open tool loop has lost its thinking");
}

fn image(block: &Value, place: &str, found: &mut FoundViolations) {
    let source = block.get("source").unwrap_or(&Value::Null);
    match field(source, "type").unwrap_or_default() {
        "base64" => {
            let (label, data) = (field(source, "media_type"), field(source, "data"));
            return found.image(label.unwrap_or_default(), data.unwrap_or_default(), place);
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
    found.image_elsewhere();
}

/// Marks for caching: in the order tools, system, messages.
fn marks(body: &Value, found: &mut FoundViolations) {
    let mut marks = Vec::new();
    collect(body.get("tools"), &mut marks);
    collect(body.get("system"), &mut marks);
    for message in items(body, "messages") {
        collect(message.get("content"), &mut marks);
    }
    found.want(marks.len() <= 4, "cache-control", "", "more than 4 cache_control marks");
    let mut short_before = false;
    for mark in marks {
        let ttl = mark.get("ttl").map(|ttl| ttl.as_str().unwrap_or_default());
        let good = field(mark, "type") == Some("ephemeral") && matches!(ttl, None | Some("5m" | "1h"));
        found.want(good, "cache-shape", "", "cache_control has another type or time");
        let late = short_before && ttl == Some("1h");
        found.want(!late, "cache-order", "", "a mark for an hour stands behind one for five minutes");
        short_before |= ttl != Some("1h");
    }
}

/// Collects marks on blocks and inside results; not in the input of calls, which belongs to the tool.
fn collect<'a>(value: Option<&'a Value>, marks: &mut Vec<&'a Value>) {
    match value {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| collect(Some(block), marks)),
        Some(Value::Object(block)) => {
            collect(block.get("content"), marks);
            marks.extend(block.get("cache_control").filter(|mark| !mark.is_null()));
        }
        _ => {}
    }
}
