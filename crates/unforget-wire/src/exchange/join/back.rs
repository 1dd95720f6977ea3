//! Writes an answer with calls of ours, and their results, for the next request.

use std::borrow::Cow;

use unforget_core::entry::{Part, ToolCall};

use super::{Outcome, quoted};
use crate::json::{is_value, trim};
use crate::render::whole_item;
use crate::{Dialect, Format, Target, decode};

/// Messages or items: the model's output unchanged, its calls in the form that providers accept, then the results.
pub(super) fn messages(
    said: &[String],
    ours: &[ToolCall],
    outcomes: &[Outcome],
    target: Target,
) -> Vec<String> {
    let calls: Vec<Sent<'_>> = ours.iter().enumerate().map(|(at, call)| Sent::of(call, at, target)).collect();
    let pairs = || calls.iter().zip(outcomes);
    match target.dialect {
        Dialect::Anthropic => {
            let results: Vec<String> = pairs().map(|(call, outcome)| call.result(outcome)).collect();
            let results = format!(r#"{{"role":"user","content":[{}]}}"#, results.join(","));
            vec![anthropic(said, &calls), results]
        }
        Dialect::OpenAiResponses => {
            let mut items: Vec<String> = said.iter().filter_map(|item| around(item, target)).collect();
            items.extend(calls.iter().map(Sent::item));
            items.extend(pairs().map(|(call, outcome)| call.output(outcome)));
            items
        }
        _ => {
            let mut all = vec![chat(said, &calls, target)];
            all.extend(pairs().map(|(call, outcome)| call.tool(outcome)));
            all
        }
    }
}

/// A call in sendable form: with an id, and with an object as arguments.
struct Sent<'a> {
    id: Cow<'a, str>,
    name: &'a str,
    arguments: &'a str,
}

impl<'a> Sent<'a> {
    fn of(call: &'a ToolCall, at: usize, target: Target) -> Self {
        let is_object = call.complete && is_value(&call.arguments) && trim(&call.arguments).starts_with('{');
        let id = match call.id.as_str() {
            "" => Cow::Owned(format!("unforget{at}")),
            id => Cow::Borrowed(id),
        };
        let id = match target.call_id(&id) {
            Cow::Borrowed(_) => id.clone(),
            Cow::Owned(legal) => Cow::Owned(legal),
        };
        Self { id, name: &call.name, arguments: if is_object { &call.arguments } else { "{}" } }
    }

    fn block(&self) -> String {
        let (id, name, input) = (quoted(&self.id), quoted(self.name), self.arguments);
        format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
    }

    fn result(&self, outcome: &Outcome) -> String {
        let (id, text) = (quoted(&self.id), quoted(&outcome.text));
        let error = if outcome.is_error { r#","is_error":true"# } else { "" };
        format!(r#"{{"type":"tool_result","tool_use_id":{id},"content":{text}{error}}}"#)
    }

    fn entry(&self) -> String {
        let (id, name, arguments) = (quoted(&self.id), quoted(self.name), quoted(self.arguments));
        format!(r#"{{"id":{id},"type":"function","function":{{"name":{name},"arguments":{arguments}}}}}"#)
    }

    fn tool(&self, outcome: &Outcome) -> String {
        let (id, text) = (quoted(&self.id), quoted(&outcome.text));
        format!(r#"{{"role":"tool","tool_call_id":{id},"content":{text}}}"#)
    }

    fn item(&self) -> String {
        let (id, name, arguments) = (quoted(&self.id), quoted(self.name), quoted(self.arguments));
        format!(r#"{{"type":"function_call","call_id":{id},"name":{name},"arguments":{arguments}}}"#)
    }

    fn output(&self, outcome: &Outcome) -> String {
        let (id, text) = (quoted(&self.id), quoted(&outcome.text));
        format!(r#"{{"type":"function_call_output","call_id":{id},"output":{text}}}"#)
    }
}

fn anthropic(said: &[String], calls: &[Sent<'_>]) -> String {
    let mut blocks = Vec::new();
    for part in said.iter().flat_map(|message| decode(Format::AnthropicMessages, message.as_bytes()).parts) {
        match part {
            Part::Text(text) if !text.trim().is_empty() => {
                blocks.push(format!(r#"{{"type":"text","text":{}}}"#, quoted(&text)));
            }
            Part::Thinking { signature: Some(_), raw: Some(raw), .. } | Part::Opaque { raw, .. } => {
                blocks.push(raw.into_string());
            }
            Part::Thinking { raw: Some(raw), .. } if raw.contains("redacted_thinking") => {
                blocks.push(raw.into_string());
            }
            _ => {}
        }
    }
    blocks.extend(calls.iter().map(Sent::block));
    format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","))
}

fn chat(said: &[String], calls: &[Sent<'_>], target: Target) -> String {
    let (mut text, mut thought) = (String::new(), String::new());
    for part in said.iter().flat_map(|message| decode(Format::OpenAiChat, message.as_bytes()).parts) {
        match part {
            Part::Text(part) => text.push_str(&part),
            Part::Thinking { text: part, .. } => thought.push_str(&part),
            _ => {}
        }
    }
    let content = if text.trim().is_empty() { "null".to_owned() } else { quoted(&text) };
    let wants = target.family.is_some_and(crate::Family::replays_reasoning);
    let reasoning = match wants {
        true if thought.is_empty() => format!(r#","reasoning_content":{}"#, quoted(crate::PLACEHOLDER)),
        true => format!(r#","reasoning_content":{}"#, quoted(&thought)),
        false => String::new(),
    };
    let calls: Vec<String> = calls.iter().map(Sent::entry).collect();
    format!(r#"{{"role":"assistant","content":{content}{reasoning},"tool_calls":[{}]}}"#, calls.join(","))
}

/// An item of the answer other than calls.
fn around(item: &str, target: Target) -> Option<String> {
    let entry = decode(Format::OpenAiResponses, item.as_bytes());
    let is_call = entry.parts.iter().any(|part| matches!(part, Part::ToolCall(_)));
    let is_blank = entry.parts.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty()));
    if is_call || is_blank { None } else { whole_item(item, &entry, target, None) }
}
