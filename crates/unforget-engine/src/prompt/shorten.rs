//! Shortened messages for the lower rungs of admission. Each names the entries that hold the rest.

use unforget_core::entry::{Part, ToolCall, ToolResult};
use unforget_core::ladder::PartCaps;
use unforget_core::message::{Block, Message, Speaker};
use unforget_core::policy::{BYTES_PER_TOKEN_MIN, EXCERPT_MIN};
use unforget_text::excerpt;

use super::Shape;
use super::pieces::{handle, text_bytes, without_media};

/// Shortens the parts above their caps. If texts are capped, reasoning, unknown blocks and media are left out.
pub(super) fn shorten(message: &Message, caps: PartCaps, shape: &Shape) -> Message {
    let at = match (message.seqs.first(), message.seqs.last()) {
        (Some(first), Some(last)) => handle(*first, *last),
        _ => String::from("s:?"),
    };
    let mut short = if caps.text.is_some() { without_media(message) } else { message.clone() };
    let mut blocks = Vec::with_capacity(short.blocks.len());
    for block in std::mem::take(&mut short.blocks) {
        match block {
            Block::Result(result) => blocks.push(Block::Result(short_result(result, caps, &at, shape))),
            Block::Call(call) => blocks.push(Block::Call(short_call(call, caps, &at, shape))),
            Block::Part(Part::Text(text)) => {
                blocks.push(Block::Part(Part::Text(short_text(text, caps.text, &at, shape))));
            }
            Block::Part(Part::Thinking { .. } | Part::Opaque { .. }) if caps.text.is_some() => {}
            other => blocks.push(other),
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::Ours(format!("[stored: expand {at}]")));
    }
    short.blocks = blocks;
    short
}

/// One user message in place of several: an excerpt of their text, or only their name if `cap` is too small.
///
/// The last resort for messages with too many blocks to shorten each.
pub(super) fn collapse(messages: &[Message], cap: u64, shape: &Shape) -> Vec<Message> {
    let seqs: Vec<_> = messages.iter().flat_map(|message| message.seqs.iter().copied()).collect();
    let (Some(first), Some(last)) = (seqs.iter().min(), seqs.iter().max()) else { return Vec::new() };
    let at = handle(*first, *last);
    let words =
        if cap < EXCERPT_MIN { String::new() } else { excerpt(&words(messages), cap, &shape.ruler, &at) };
    let text = format!("[shortened to fit, stored whole: expand {at}]\n{words}");
    let blocks = vec![Block::Ours(text.trim_end().to_owned())];
    vec![Message { speaker: Speaker::User, blocks, model: None, seqs }]
}

/// All text of messages.
fn words(messages: &[Message]) -> String {
    let mut text = String::new();
    for block in messages.iter().flat_map(|message| &message.blocks) {
        match block {
            Block::Part(Part::Text(part)) | Block::Ours(part) => text.push_str(part),
            Block::Call(call) => {
                text.push_str(&call.name);
                text.push(' ');
                text.push_str(&call.arguments);
            }
            Block::Result(result) => {
                for part in &result.content {
                    if let Part::Text(part) = part {
                        text.push_str(part);
                    }
                }
            }
            Block::Part(_) => continue,
        }
        text.push('\n');
    }
    text
}

fn short_text(text: String, cap: Option<u64>, at: &str, shape: &Shape) -> String {
    match cap {
        Some(cap) if text.len() as u64 > cap * BYTES_PER_TOKEN_MIN => excerpt(&text, cap, &shape.ruler, at),
        _ => text,
    }
}

fn short_result(mut result: ToolResult, caps: PartCaps, at: &str, shape: &Shape) -> ToolResult {
    let Some(cap) = caps.result else { return result };
    if text_bytes(&result.content) as u64 <= cap * BYTES_PER_TOKEN_MIN {
        return result;
    }
    let mut text = String::new();
    for part in &result.content {
        match part {
            Part::Text(part) => text.push_str(part),
            Part::Opaque { raw, .. } => text.push_str(raw),
            _ => {}
        }
    }
    result.content.retain(|part| matches!(part, Part::Media(_)));
    result.content.insert(0, Part::Text(excerpt(&text, cap, &shape.ruler, at)));
    result
}

fn short_call(mut call: ToolCall, caps: PartCaps, at: &str, shape: &Shape) -> ToolCall {
    let Some(cap) = caps.arguments else { return call };
    if call.arguments.len() as u64 <= cap * BYTES_PER_TOKEN_MIN {
        return call;
    }
    let text = excerpt(&call.arguments, cap, &shape.ruler, at);
    call.arguments = serde_json::json!({ "excerpt": text }).to_string();
    call.raw = None;
    call
}
