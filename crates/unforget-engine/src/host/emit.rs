//! A request as the messages of a host.
//!
//! pi and OpenClaw get the stored bytes of every message that is sent whole: their own fields (usage, provider,
//! signatures) decide what they do with it. What we made or changed carries our mark, so that it is known
//! when it comes back. A host that speaks OpenAI Responses gets the stored bytes of its items too: see `items`.

mod items;

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use unforget_core::assemble::NO_INPUT;
use unforget_core::entry::{Entry, Part, ToolCall, ToolResult};
use unforget_core::id::Seq;
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_core::mutants::{self, Bug};
use unforget_core::pair::is_blank;
use unforget_wire::exchange::annotations;
use unforget_wire::journal::OWN;
use unforget_wire::{Dialect, Format, Target, is_sendable, pair_items, render_message};

/// A stored message: its bytes and what they say.
pub(super) type StoredMessage = (String, Arc<Entry>);

/// The messages of a request, for each of its messages.
///
/// * `form` - of the stored messages.
/// * `stored` - the message of an entry, if it is there.
pub(super) fn emit(
    request: &Request,
    target: Target,
    form: Format,
    stored: &dyn Fn(Seq) -> Option<StoredMessage>,
) -> Vec<Vec<String>> {
    let messages = without_placeholder(&request.messages);
    let emitted = messages.iter().map(|message| match (target.dialect, form) {
        _ if message.speaker == Speaker::System => vec![instructions(message, target, stored)],
        // pi takes answers one behind the other: hosts write such, as OpenClaw does by `chat.inject`.
        (Dialect::Pi, Format::Pi) if is_placeholder(message) => Vec::new(),
        (Dialect::Pi, Format::Pi) => whole_and_made(message, stored),
        (Dialect::OpenAiResponses, Format::OpenAiResponses) => items::items(message, target, stored),
        _ => split(&render_message(message, target)),
    });
    let mut emitted: Vec<Vec<String>> = emitted.collect();
    if target.dialect == Dialect::OpenAiResponses {
        pair_items(&mut emitted);
    }
    emitted
}

/// Instructions between messages: as the host sent them, unless something of them is changed.
fn instructions(message: &Message, target: Target, stored: &dyn Fn(Seq) -> Option<StoredMessage>) -> String {
    let own = match message.seqs.as_slice() {
        [seq] => stored(*seq),
        _ => None,
    };
    let is_it = |entry: &Entry| {
        let parts = || entry.parts.iter().filter(|part| !is_blank(part));
        message.blocks.len() == parts().count()
            && message.blocks.iter().zip(parts()).all(|(b, p)| is_part(b, p))
    };
    match own {
        Some((text, entry)) if target.is_own && is_it(&entry) => annotations::without(&text).into_owned(),
        _ => render_message(message, target),
    }
}

/// The request with input that it does not show: behind everything, but before the newest input.
pub(super) fn with_input(
    request: &Request,
    live: &[(Seq, StoredMessage)],
    newest: Option<&StoredMessage>,
) -> Request {
    let mut messages = without_placeholder(&request.messages).to_vec();
    if messages.last().is_none_or(|last| last.speaker != Speaker::User) {
        let (blocks, seqs) = (Vec::new(), Vec::new());
        messages.push(Message { speaker: Speaker::User, blocks, model: None, seqs });
    }
    if let Some(last) = messages.last_mut() {
        let first = newest.and_then(|(_, entry)| entry.parts.iter().find(|part| !has_blank(part)));
        let is_newest = |block: &Block| first.is_some_and(|part| is_part(block, part));
        let at = last.blocks.iter().rposition(is_newest).unwrap_or(last.blocks.len());
        let said = live.iter().flat_map(|(_, (_, entry))| &entry.parts);
        let said: Vec<_> = said.filter(|part| !has_blank(part)).cloned().map(Block::Part).collect();
        last.blocks.splice(at..at, said);
        last.seqs.extend(live.iter().map(|(seq, _)| *seq));
    }
    messages.retain(|message| !message.blocks.is_empty());
    Request { system: request.system.clone(), messages }
}

/// Whether a message only stands for missing input.
fn is_placeholder(message: &Message) -> bool {
    matches!(message.blocks.as_slice(), [Block::Ours(text)] if text == NO_INPUT)
        && !mutants::is(Bug::PlaceholderKept)
}

/// The host sends the newest input itself: nothing has to stand for it.
fn without_placeholder(messages: &[Message]) -> &[Message] {
    match messages.split_last() {
        Some((last, before)) if is_placeholder(last) => before,
        _ => messages,
    }
}

/// Messages of one request message: whole ones as stored, the rest rendered, in the order of their blocks.
fn whole_and_made(message: &Message, stored: &dyn Fn(Seq) -> Option<StoredMessage>) -> Vec<String> {
    let mut left: Vec<Option<&Block>> = message.blocks.iter().map(Some).collect();
    let mut placed: Vec<(usize, String)> = Vec::new();
    let entries: Vec<StoredMessage> = message.seqs.iter().filter_map(|seq| stored(*seq)).collect();
    // A host leaves out media that it keeps elsewhere: what is rendered has a note in their place.
    for (text, entry) in entries.iter().filter(|(_, entry)| !entry.parts.iter().any(is_elsewhere)) {
        if let Some(at) = take(&mut left, entry) {
            placed.push((at, text.clone()));
        }
    }
    let mut made: Vec<(usize, Vec<Block>)> = Vec::new();
    for (at, block) in left.iter().enumerate() {
        let Some(block) = block else { continue };
        match made.last_mut() {
            Some((first, blocks))
                if *first + blocks.len() == at && !is_ours(block) && !blocks.iter().any(is_ours) =>
            {
                blocks.push((*block).clone());
            }
            _ => made.push((at, vec![(*block).clone()])),
        }
    }
    for (at, blocks) in made {
        let time = blocks.first().map_or(0, |block| time_of(block, &entries));
        let facts = media_facts(&blocks, &entries).unwrap_or_default();
        placed.extend(render(message, blocks, time, &facts).into_iter().map(|text| (at, text)));
    }
    placed.sort_by_key(|(at, _)| *at);
    placed.into_iter().map(|(_, text)| text).collect()
}

/// The time of the entry that a block is of; of the first if that cannot be told. What joins the message later
/// changes nothing.
fn time_of(block: &Block, entries: &[StoredMessage]) -> i64 {
    let is_of = |entry: &Entry| match block {
        Block::Result(sent) => entry.results().any(|result| result.call_id == sent.call_id),
        _ => false,
    };
    let own = entries.iter().find(|(_, entry)| is_of(entry));
    // A result that nobody recorded has no time, whatever joins its message.
    let own = if matches!(block, Block::Result(_)) { own } else { own.or(entries.first()) };
    own.and_then(|(_, entry)| entry.time).map_or(0, |time| time.0)
}

/// Takes the blocks of an entry if all of them are there as they are; gives the place of the first.
fn take(left: &mut [Option<&Block>], entry: &Entry) -> Option<usize> {
    if entry.parts.iter().any(has_blank) {
        // Providers refuse empty texts: what is rendered has something visible in their place.
        return None;
    }
    let mut places = Vec::new();
    for part in &entry.parts {
        let is_it = |at: &usize| {
            !places.contains(at) && left.get(*at).copied().flatten().is_some_and(|block| is_part(block, part))
        };
        match (0..left.len()).find(is_it) {
            Some(at) => places.push(at),
            None => return None,
        }
    }
    for at in &places {
        if let Some(slot) = left.get_mut(*at) {
            *slot = None;
        }
    }
    places.into_iter().min()
}

fn is_part(block: &Block, part: &Part) -> bool {
    match (block, part) {
        (Block::Part(sent), part) => sent == part,
        (Block::Call(sent), Part::ToolCall(call)) => sent == call && !has_streamed_part(call),
        // Where the form does not repeat the name, it was taken from the call.
        (Block::Result(sent), Part::ToolResult(result)) => {
            sent == result
                || (result.name.is_empty()
                    && *sent == ToolResult { name: sent.name.clone(), ..result.clone() })
        }
        _ => false,
    }
}

/// Whether a part is an empty text, or a result with one.
fn has_blank(part: &Part) -> bool {
    match part {
        Part::ToolResult(result) => result.content.is_empty() || result.content.iter().any(is_blank),
        part => is_blank(part),
    }
}

/// Whether a part is a medium of which the message has no bytes.
fn is_elsewhere(part: &Part) -> bool {
    matches!(part, Part::Media(media) if !is_sendable(media, Dialect::Pi))
}

/// Whether the host left what had arrived of the arguments beside the arguments: some providers refuse that.
fn has_streamed_part(call: &ToolCall) -> bool {
    let fields: Option<HashMap<&str, &RawValue>> =
        call.raw.as_deref().and_then(|raw| serde_json::from_str(raw).ok());
    fields.is_some_and(|fields| ["partialJson", "partialArgs"].iter().any(|key| fields.contains_key(key)))
}

const fn is_ours(block: &Block) -> bool {
    matches!(block, Block::Ours(_))
}

/// OpenClaw's facts of the media that it keeps elsewhere, as a field of the message: with them it loads the newest ones.
fn media_facts(blocks: &[Block], entries: &[StoredMessage]) -> Option<String> {
    let is_of = |entry: &Entry| {
        let mut elsewhere = entry.parts.iter().filter(|part| is_elsewhere(part));
        elsewhere.any(|part| blocks.iter().any(|block| is_part(block, part)))
    };
    let (text, _) = entries.iter().find(|(_, entry)| is_of(entry))?;
    let fields: HashMap<&str, &RawValue> = serde_json::from_str(text).ok()?;
    let facts = fields.get("__openclaw")?;
    Some(format!(r#""__openclaw":{},"#, facts.get()))
}

/// Blocks that are not a whole stored message, with our mark.
///
/// * `more` - fields of the message, each with a comma behind it.
fn render(message: &Message, blocks: Vec<Block>, time: i64, more: &str) -> Vec<String> {
    if let [Block::Ours(text)] = blocks.as_slice() {
        let text = serde_json::Value::from(text.as_str());
        return vec![format!(
            r#"{{"role":"custom","customType":"{OWN}","content":{text},"display":false,"timestamp":{time}}}"#
        )];
    }
    let part = Message { blocks, ..message.clone() };
    let mark = |text: String| {
        let text = text.strip_suffix(r#""timestamp":0}"#).map(str::to_owned).unwrap_or(text);
        format!(r#"{text}{more}"details":{{"{OWN}":true}},"timestamp":{time}}}"#)
    };
    split(&render_message(&part, Dialect::Pi)).into_iter().map(mark).collect()
}

/// Message objects that stand one behind the other, with commas between them.
fn split(text: &str) -> Vec<String> {
    let array = format!("[{text}]");
    let parts: Vec<&RawValue> = serde_json::from_str(&array).unwrap_or_default();
    parts.into_iter().map(|part| part.get().to_owned()).collect()
}
