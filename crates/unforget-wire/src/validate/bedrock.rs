//! The rules of Amazon Bedrock Converse.

use serde_json::Value;

use super::found::FoundViolations;
use super::pairs::Pairs;
use super::walk::{Turn, dialogue};
use super::{blank, field, items};

/// Kinds of blocks, and the role of the message that may hold them; empty for any.
const KINDS: [(&str, &str); 11] = [
    ("text", ""),
    ("cachePoint", ""),
    ("guardContent", ""),
    ("image", "user"),
    ("document", "user"),
    ("video", "user"),
    ("toolResult", "user"),
    ("searchResult", "user"),
    ("toolUse", "assistant"),
    ("reasoningContent", "assistant"),
    ("citationsContent", "assistant"),
];

/// Counts over the whole body.
#[derive(Default)]
struct Counts {
    marks: usize,
    documents: usize,
}

pub(super) fn check(body: &Value, found: &mut FoundViolations) {
    let mut counts = Counts::default();
    for (index, block) in items(body, "system").iter().enumerate() {
        if block.get("cachePoint").is_some() {
            mark(block, "/system", &mut counts, found);
        } else if block.get("guardContent").is_none() {
            found.instructions(field(block, "text"), &format!("/system/{index}"));
        }
    }
    let listed = body.get("system").is_none_or(Value::is_array);
    found.want(listed, "instructions", "/system", "system is no list");
    dialogue(body, found, None, |turn, pairs, found| content(turn, pairs, &mut counts, found));
    let tools = body.get("toolConfig").map(|config| items(config, "tools")).unwrap_or_default();
    counts.marks += tools.iter().filter(|tool| tool.get("cachePoint").is_some()).count();
    found.want(counts.marks <= 4, "cache-control", "", "more than 4 cache points");
    found.want(counts.documents <= 5, "document-count", "", "more than 5 documents");
    starts_with_thinking(body, found);
}

fn content<'a>(turn: &Turn<'a, '_>, pairs: &mut Pairs<'a>, counts: &mut Counts, found: &mut FoundViolations) {
    let place = format!("{}/content", turn.place);
    let Some(blocks) = turn.value.get("content").and_then(Value::as_array) else {
        return found.add("content-shape", &place, "content is no list");
    };
    found.want(!blocks.is_empty(), "content-not-empty", &place, "content is empty");
    let words = blocks.iter().any(|block| block.get("text").is_some());
    let (mut results_over, mut called) = (false, false);
    for (index, block) in blocks.iter().enumerate() {
        let place = format!("{place}/{index}");
        let mut kinds = KINDS.iter().filter(|(kind, _)| block.get(kind).is_some());
        let (kind, role) = kinds.next().copied().unwrap_or_default();
        let one = kinds.next().is_none();
        found.want(one, "block-one-kind", &place, "block holds more than one kind of content");
        let here = role.is_empty() || role == turn.role;
        found.want(here, "block-role", &place, "block is refused in a message of this role");
        if kind == "toolResult" {
            found.want(!results_over, "results-first", &place, "result stands behind another block");
        }
        results_over |= kind != "toolResult";
        found.want(!(called && kind == "text"), "calls-last", &place, "text stands behind a call");
        called |= kind == "toolUse";
        let inner = block.get(kind).unwrap_or(&Value::Null);
        match kind {
            "" => found.add("block-type", &place, "block holds nothing that is known"),
            "text" => found.text(Some(inner), &place),
            "image" => image(inner, &place, found),
            "document" => {
                found.want(words, "document-text", &place, "a document without text beside it");
                document(inner, &place, counts, found);
            }
            "toolUse" => call(inner, &place, pairs, found),
            "toolResult" => result(inner, &place, pairs, found),
            "cachePoint" => mark(block, &place, counts, found),
            "reasoningContent" => {
                thinking(inner, &place, found);
                let last = index + 1 == blocks.len();
                found.want(!last, "thinking-not-last", &place, "message ends in reasoning");
            }
            _ => {}
        }
    }
}

fn mark(block: &Value, place: &str, counts: &mut Counts, found: &mut FoundViolations) {
    counts.marks += 1;
    let good = block.get("cachePoint").and_then(|point| field(point, "type")) == Some("default");
    found.want(good, "cache-shape", place, "cache point is not of type default");
}

fn call<'a>(call: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    let whole = field(call, "toolUseId").is_some() && call.get("input").is_some();
    found.want(whole, "call-shape", place, "call has no toolUseId or no input");
    found.fields(call, &["toolUseId", "name", "input", "type"], place);
    let object = call.get("input").is_none_or(Value::is_object);
    found.want(object, "arguments", place, "input is no object");
    found.tool_name(field(call, "name"), place);
    let id = field(call, "toolUseId").unwrap_or_default();
    found.call_id(id, 64, place);
    pairs.call(id, place, found);
}

fn result<'a>(result: &'a Value, place: &str, pairs: &mut Pairs<'a>, found: &mut FoundViolations) {
    found.fields(result, &["toolUseId", "content", "status", "type"], place);
    let id = field(result, "toolUseId").unwrap_or_default();
    found.call_id(id, 64, place);
    pairs.result(id, place, found);
    let status = result.get("status").map(|status| status.as_str().unwrap_or_default());
    let known = matches!(status, None | Some("success" | "error"));
    found.want(known, "result-flag", place, "status is neither success nor error");
    let Some(content) = result.get("content").and_then(Value::as_array) else {
        return found.add("result-content", place, "result has no list content");
    };
    let silent = status == Some("error") && content.is_empty();
    found.want(!silent, "error-content", place, "an error says nothing");
    for (index, each) in content.iter().enumerate() {
        let place = format!("{place}/content/{index}");
        let kinds = ["text", "json", "image", "document", "video", "searchResult"];
        let known = kinds.iter().filter(|kind| each.get(**kind).is_some()).count() == 1;
        found.want(known, "result-content", &place, "a block of this kind is refused in a result");
        if let Some(inner) = each.get("image") {
            image(inner, &place, found);
        }
        if let Some(text) = each.get("text") {
            found.text(Some(text), &place);
        }
    }
}

fn thinking(inner: &Value, place: &str, found: &mut FoundViolations) {
    let signed = inner.get("reasoningText").is_some_and(|text| {
        field(text, "text").is_some() && field(text, "signature").is_some_and(|signature| !blank(signature))
    });
    let redacted = field(inner, "redactedContent").is_some_and(|content| !blank(content));
    found.want(signed || redacted, "thinking-signature", place, "reasoning has no signature");
}

/// With thinking switched on, the answer that a tool loop continues must begin with its thinking.
fn starts_with_thinking(body: &Value, found: &mut FoundViolations) {
    let extra = body.get("additionalModelRequestFields").and_then(|extra| extra.get("thinking"));
    let [.., asked, last] = items(body, "messages") else { return };
    let in_loop = items(last, "content").iter().any(|block| block.get("toolResult").is_some());
    if extra.and_then(|thinking| field(thinking, "type")) != Some("enabled") || !in_loop {
        return;
    }
    let good = items(asked, "content").first().is_some_and(|block| block.get("reasoningContent").is_some());
    found.want(
        good,
        "thinking-first",
        "/messages",
        "the answer in the open tool loop has lost its reasoning",
    );
}

fn image(image: &Value, place: &str, found: &mut FoundViolations) {
    let source = image.get("source").unwrap_or(&Value::Null);
    match (field(source, "bytes"), source.get("s3Location")) {
        (Some(data), _) => {
            let label = format!("image/{}", field(image, "format").unwrap_or_default());
            found.image(&label, data, place);
        }
        (None, Some(_)) => found.image_elsewhere(),
        (None, None) => found.add("image-shape", place, "image has no source"),
    }
}

fn document(document: &Value, place: &str, counts: &mut Counts, found: &mut FoundViolations) {
    counts.documents += 1;
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '(' | ')' | '[' | ']');
    let name = field(document, "name").unwrap_or_default();
    let good = (1..=200).contains(&name.len()) && name.chars().all(legal) && !name.contains("  ");
    found.want(good, "document-name", place, "document has a name that is refused");
}
