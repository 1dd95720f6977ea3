//! A strict acceptor per dialect, offline: rejects what the provider rejects. Written from the providers'
//! rules and from reported rejections, not from the renderer.
//!
//! Where providers of one dialect differ, the strictest rule known is taken. Rules that need more than
//! `{system, messages}` (tool definitions, thinking switched on, window) are not here.
//!
//! | rule | says | source |
//! |---|---|---|
//! | `json` | strict JSON, no lone surrogates, nesting below 128 | F062 |
//! | `shape` | an object with the dialect's list of messages | all provider docs |
//! | `not-empty` | at least one message | all provider docs |
//! | `instructions` | system text has the dialect's form and is not blank | provider docs, F059 |
//! | `role` | only roles of the dialect | provider docs |
//! | `extra-field` | Anthropic: no fields that it does not know | Anthropic "Extra inputs are not permitted" |
//! | `system-first` | Chat: system messages come before all others | F061 (vLLM, Qwen templates) |
//! | `first-user` | the first message is the user's | F060 |
//! | `last-not-assistant` | the last message is not the assistant's | F060 (prefill refused) |
//! | `alternate` | Anthropic: roles alternate | F061 (Bedrock, Vertex) |
//! | `content-shape` | content is a string or a list of objects, as the role allows | provider docs |
//! | `content-not-empty` | content holds something | F059 |
//! | `text-not-blank` | text has something to see | F059 |
//! | `block-type` | block types of the dialect, where they are allowed | F050, provider docs |
//! | `call-shape` | a call has its fields, of the right types | provider docs |
//! | `call-id` | charset and length of call ids | F063 |
//! | `call-id-unique` | no call id twice | F049 |
//! | `tool-name` | charset and length of tool names | F063, provider docs |
//! | `arguments` | `input` is an object; `arguments` is a string that holds one | provider docs |
//! | `call-answered` | each call is answered where the dialect wants it | F047 |
//! | `result-orphan` | each result has its call where the dialect wants it | F046, F047 |
//! | `result-once` | no call is answered twice | F049 |
//! | `results-first` | Anthropic: results come before other blocks | F061 |
//! | `result-content` | what a result may hold | provider docs, F066 |
//! | `thinking-signature` | reasoning carries its proof | F053, F055 |
//! | `thinking-not-last` | Anthropic: an assistant message does not end in thinking | Anthropic "final block cannot be thinking" |
//! | `thinking-alone` | Responses: reasoning is followed by what it led to | F058 |
//! | `item-id` | Responses: ids of items have the prefix of their type | F058 |
//! | `cache-control` | Anthropic: at most 4, none on thinking | F065 |
//! | `server-tool-pair` | Anthropic: a tool run at the provider has call, then result, in one message | F050 |
//! | `image-shape` | an image has bytes or an address, in base64 without line breaks | provider docs |
//! | `image-type` | png, jpeg, gif or webp, and the label is true | F064, Anthropic "does not match the provided media type" |
//! | `image-size` | base64 at most 5 MB (Anthropic), 20 MB (OpenAI) | F064 |
//! | `assistant-fields` | pi: api, provider, model, usage, stopReason, timestamp | pi-ai types |
//! | `result-fields` | pi: toolCallId, toolName, content, isError, timestamp | pi-ai types |
//! | `dead-call` | pi: calls of an aborted or failed message have no results | F046 |

mod anthropic;
mod openai_chat;
mod openai_responses;
mod pi;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::dialect::Dialect;

/// A rule that a request breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Name of the rule, from the table of this module.
    pub rule: &'static str,
    /// JSON pointer (RFC 6901) to the place.
    pub place: String,
    /// What is wrong, for a person: lower case, no full stop.
    pub what: String,
}

/// Names of all rules of a dialect; each has a fixture that it accepts and one that it rejects.
pub const fn rules(dialect: Dialect) -> &'static [&'static str] {
    match dialect {
        Dialect::Anthropic => &anthropic::RULES,
        Dialect::OpenAiChat => &openai_chat::RULES,
        Dialect::OpenAiResponses => &openai_responses::RULES,
        Dialect::Pi => &pi::RULES,
    }
}

/// Whether the provider takes `body`: the text that [`crate::render()`] makes, or a client's.
///
/// # Errors
/// Every violation found, in the order of the body; only `json` alone ends the search.
///
/// Cost: O(bytes), one parse.
pub fn validate(body: &str, dialect: Dialect) -> Result<(), Vec<Violation>> {
    let mut found = Found::default();
    match serde_json::from_str::<Value>(body) {
        Err(error) => found.add("json", String::new(), error.to_string()),
        Ok(body) => match dialect {
            Dialect::Anthropic => anthropic::check(&body, &mut found),
            Dialect::OpenAiChat => openai_chat::check(&body, &mut found),
            Dialect::OpenAiResponses => openai_responses::check(&body, &mut found),
            Dialect::Pi => pi::check(&body, &mut found),
        },
    }
    if found.0.is_empty() { Ok(()) } else { Err(found.0) }
}

/// Violations found so far.
#[derive(Default)]
struct Found(Vec<Violation>);

impl Found {
    fn add(&mut self, rule: &'static str, place: impl Into<String>, what: impl Into<String>) {
        self.0.push(Violation { rule, place: place.into(), what: what.into() });
    }

    /// Reports unless `holds`.
    fn want(&mut self, holds: bool, rule: &'static str, place: &str, what: &str) {
        if !holds {
            self.add(rule, place, what);
        }
    }

    /// Text that a provider refuses when there is nothing in it.
    fn text(&mut self, value: Option<&Value>, place: &str) {
        match value.and_then(Value::as_str) {
            None => self.add("content-shape", place, "text is missing or no string"),
            Some(text) if blank(text) => self.add("text-not-blank", place, "text is empty or white space"),
            Some(_) => {}
        }
    }

    /// An id of a call: known charset, known length.
    fn call_id(&mut self, id: &str, longest: usize, place: &str) {
        let legal = !id.is_empty() && id.len() <= longest && id.chars().all(name_char);
        self.want(legal, "call-id", place, "call id has a character or length that the provider refuses");
    }

    /// A tool's name.
    fn tool_name(&mut self, name: Option<&str>, place: &str) {
        let legal = name.is_some_and(|name| (1..=64).contains(&name.len()) && name.chars().all(name_char));
        self.want(legal, "tool-name", place, "tool name has a character or length that the provider refuses");
    }

    /// A string that holds a JSON object.
    fn arguments(&mut self, value: Option<&Value>, place: &str) {
        let object = value
            .and_then(Value::as_str)
            .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()));
        self.want(object, "arguments", place, "arguments are no string that holds a json object");
    }

    /// The bytes of an image: base64, of a type that is taken and that the label tells, not too large.
    fn image(&mut self, label: &str, data: &str, bytes_max: usize, place: &str) {
        let start: &str = data.get(..16).unwrap_or(data);
        let real = match start {
            start if start.starts_with("iVBORw0KGgo") => "image/png",
            start if start.starts_with("/9j/") => "image/jpeg",
            start if start.starts_with("R0lGOD") => "image/gif",
            start if start.starts_with("UklGR") => "image/webp",
            _ => "",
        };
        let pad = data.bytes().rev().take_while(|byte| *byte == b'=').count();
        let body = data.as_bytes().get(..data.len() - pad).unwrap_or_default();
        let base64 = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
        let whole = !body.is_empty() && pad < 3 && data.len().is_multiple_of(4) && body.iter().all(base64);
        self.want(whole, "image-shape", place, "image data is no base64");
        self.want(
            !real.is_empty() && real == label,
            "image-type",
            place,
            "image type is refused or not what the label says",
        );
        self.want(data.len() <= bytes_max, "image-size", place, "image is too large");
    }

    /// An image address as OpenAI takes it: `data:` with base64, or http.
    fn image_url(&mut self, url: Option<&str>, place: &str) {
        let Some(url) = url else {
            return self.add("image-shape", place, "image has no address");
        };
        if let Some((label, data)) = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,")) {
            return self.image(label, data, 20 * 1024 * 1024, place);
        }
        let web = url.starts_with("https://") || url.starts_with("http://");
        self.want(web, "image-shape", place, "image address is neither data: with base64 nor http");
    }
}

/// Calls and their results over a request.
#[derive(Default)]
struct Pairs<'a> {
    seen: BTreeSet<&'a str>,
    open: BTreeSet<&'a str>,
}

impl<'a> Pairs<'a> {
    fn call(&mut self, id: &'a str, place: &str, found: &mut Found) {
        found.want(self.seen.insert(id), "call-id-unique", place, "call id is used twice");
        self.open.insert(id);
    }

    fn result(&mut self, id: &'a str, place: &str, found: &mut Found) {
        if self.open.remove(id) {
            return;
        }
        if self.seen.contains(id) {
            found.add("result-once", place, "call is answered again, or too late");
        } else {
            found.add("result-orphan", place, "result has no call before it");
        }
    }

    /// No call may stay open beyond this place.
    fn close(&mut self, place: &str, found: &mut Found) {
        for id in std::mem::take(&mut self.open) {
            found.add("call-answered", place, format!("call {id} has no result where the provider wants it"));
        }
    }
}

/// The list of messages, reported if it is missing or empty.
fn list<'a>(body: &'a Value, key: &str, found: &mut Found) -> &'a [Value] {
    let Some(list) = body.get(key).and_then(Value::as_array) else {
        found.add("shape", String::new(), format!("no list {key}"));
        return &[];
    };
    if list.is_empty() {
        found.add("not-empty", format!("/{key}"), "no messages");
    }
    list
}

fn field<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

fn blank(text: &str) -> bool {
    let seen = |c: &char| {
        !c.is_whitespace()
            && !['\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}', '\u{180e}'].contains(c)
    };
    text.chars().find(seen).is_none()
}

fn name_char(c: char) -> bool {
    matches!(c, 'a'..='z' | 'A'..='Z' | '0'..='9' | '_' | '-')
}
