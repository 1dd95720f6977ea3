//! Joins the pieces of a prompt into one request.
//!
//! Layout, most stable first: system | summaries | carried message | tail | volatile input. Neighbouring messages of
//! one speaker become one message, so that roles alternate for every provider. Repeated call ids are renamed by their
//! order, alike in the call and in its result. The request depends on the pieces alone: adding pieces at the end leaves
//! the beginning unchanged.

mod between;

use std::collections::{BTreeMap, BTreeSet};

use crate::message::{Block, Message, Request, Speaker};
use crate::mutants::{self, Bug};

pub use between::place;

/// Stands first when the history begins with the model: providers want a user message first.
pub const NO_BEGINNING: &str = "[the conversation is recorded from here on]";

/// Stands last when there is nothing for the model to answer.
pub const NO_INPUT: &str = "[no new input]";

/// Joins messages in order into a request.
///
/// * `system` - instructions of the host, in order.
/// * `messages` - oldest first. Blocks of one message stay together. Instructions between messages stay in their
///   places: see [`place`].
///
/// Cost: O(bytes).
pub fn assemble<'a>(system: &[String], messages: impl IntoIterator<Item = &'a Message>) -> Request {
    let mut joined: Vec<Message> = Vec::new();
    let mut ids = CallIds::default();
    for message in messages {
        let is_first = joined.iter().all(|before| before.speaker == Speaker::System);
        if message.speaker == Speaker::Assistant && is_first {
            joined.push(ours(NO_BEGINNING));
        }
        let renamed = ids.apply(message);
        match joined.last_mut() {
            Some(last) if last.speaker == message.speaker && may_join(last, &renamed) => {
                last.blocks.extend(renamed.blocks);
                last.seqs.extend(renamed.seqs);
            }
            Some(last) if last.speaker == message.speaker && message.speaker == Speaker::Assistant => {
                joined.push(ours(NO_INPUT));
                joined.push(renamed);
            }
            _ => joined.push(renamed),
        }
    }
    let said = joined.iter().rfind(|message| message.speaker != Speaker::System);
    if said.is_none_or(|last| last.speaker == Speaker::Assistant) {
        joined.push(ours(NO_INPUT));
    }
    Request { system: system.to_vec(), messages: joined }
}

/// Messages with call ids that are unique among them, renamed as [`assemble`] renames them.
///
/// Cost: O(bytes).
pub fn with_unique_ids<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Vec<Message> {
    let mut ids = CallIds::default();
    messages.into_iter().map(|message| ids.apply(message)).collect()
}

/// A user message of our own.
pub fn ours(text: &str) -> Message {
    Message {
        speaker: Speaker::User,
        blocks: vec![Block::Ours(text.to_owned())],
        model: None,
        seqs: Vec::new(),
    }
}

/// Whether two neighbouring messages become one. User messages join unless a result would end up behind text. Assistant
/// messages never join: signed blocks belong to exactly one answer of the provider.
fn may_join(last: &Message, next: &Message) -> bool {
    last.speaker == Speaker::User && !next.blocks.iter().any(|block| matches!(block, Block::Result(_)))
}

/// Names of calls that are unique within one request.
#[derive(Default)]
struct CallIds {
    used: BTreeSet<String>,
    /// The ids that the request uses for the calls of the newest assistant message, by received id, in order.
    open: BTreeMap<String, Vec<String>>,
}

impl CallIds {
    fn apply(&mut self, message: &Message) -> Message {
        let mut message = message.clone();
        if message.speaker == Speaker::Assistant {
            self.open.clear();
        }
        for block in &mut message.blocks {
            match block {
                Block::Call(call) => {
                    let id = self.unique(&call.id);
                    self.open.entry(std::mem::replace(&mut call.id, id.clone())).or_default().push(id);
                }
                Block::Result(result) => {
                    if let Some(ids) = self.open.get_mut(&result.call_id)
                        && !ids.is_empty()
                    {
                        result.call_id = ids.remove(0);
                    }
                }
                Block::Part(_) | Block::Ours(_) => {}
            }
        }
        message
    }

    fn unique(&mut self, id: &str) -> String {
        let base = if id.is_empty() { "call" } else { id };
        let mut name = base.to_owned();
        let mut n = 1_u32;
        while self.used.contains(&name) && !mutants::is(Bug::SameIdsKept) {
            n += 1;
            name = format!("{base}_{n}");
        }
        self.used.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::format_push_string, reason = "tests")]

    use super::*;
    use crate::entry::{Part, ToolCall, ToolResult};

    /// `u` words of a user, `a` words of the model, `?x` a call, `!x` its result; one message per word group.
    fn message(text: &str) -> Message {
        let mut message = ours("");
        message.blocks.clear();
        for word in text.split(' ') {
            message.blocks.push(match word.split_at(1) {
                ("?", id) => Block::Call(ToolCall {
                    id: id.into(),
                    name: "t".into(),
                    arguments: "{}".into(),
                    complete: true,
                    raw: None,
                }),
                ("!", id) => Block::Result(ToolResult {
                    call_id: id.into(),
                    name: String::new(),
                    content: vec![],
                    is_error: false,
                    exit_code: None,
                }),
                _ => Block::Part(Part::Text(word.into())),
            });
            if word.starts_with(['a', '?']) {
                message.speaker = Speaker::Assistant;
            }
            if word.starts_with('s') {
                message.speaker = Speaker::System;
            }
        }
        message
    }

    fn show(request: &Request) -> String {
        let mut text = String::new();
        for message in &request.messages {
            text += match message.speaker {
                Speaker::User => " U",
                Speaker::Assistant => " A",
                Speaker::System => " S",
            };
            for block in &message.blocks {
                text += &match block {
                    Block::Call(call) => format!(" ?{}", call.id),
                    Block::Result(result) => format!(" !{}", result.call_id),
                    Block::Part(Part::Text(text)) => format!(" {text}"),
                    Block::Ours(text) if text == NO_INPUT => " -".to_owned(),
                    Block::Ours(_) => " ^".to_owned(),
                    Block::Part(_) => " .".to_owned(),
                };
            }
        }
        text.trim_start().to_owned()
    }

    #[test]
    fn assemble_table() {
        let table: &[(&[&str], &str, &str)] = &[
            (&["u1", "a1", "u2"], "U u1 A a1 U u2", "roles alternate already"),
            (&["u1", "u2"], "U u1 u2", "f061: neighbours of one speaker join"),
            (&["a1", "u1"], "U ^ A a1 U u1", "f060: a user comes first"),
            (&["u1", "a1"], "U u1 A a1 U -", "f060: a user comes last"),
            (&["u1", "a1", "a2", "u2"], "U u1 A a1 U - A a2 U u2", "two answers stay two messages"),
            (&["u1", "a1 ?x", "!x", "u2"], "U u1 A a1 ?x U !x u2", "results stand before words"),
            (
                &["u1", "?x", "!x", "?x", "!x"],
                "U u1 A ?x U !x A ?x_2 U !x_2",
                "f049: a reused id gets a name of its own",
            ),
            (&["u1", "?x ?x", "!x !x"], "U u1 A ?x ?x_2 U !x !x_2", "f049: twice in one message"),
            (&["u1", "? ?", "! !"], "U u1 A ?call ?call_2 U !call !call_2", "f049: empty ids"),
            (&[], "U -", "nothing at all"),
            (&["u1", "s1", "u2", "a1", "u3"], "U u1 S s1 U u2 A a1 U u3", "instructions join nothing"),
            (&["s1", "a1"], "S s1 U ^ A a1 U -", "instructions are no beginning"),
            (&["u1", "a1", "s1"], "U u1 A a1 S s1 U -", "and no input"),
        ];
        for (pieces, want, why) in table {
            let messages: Vec<_> = pieces.iter().map(|piece| message(piece)).collect();
            assert_eq!(show(&assemble(&[], &messages)), *want, "{why}");
            for n in 0..messages.len() {
                let shorter = assemble(&[], messages.iter().take(n)).messages;
                let whole = assemble(&[], &messages).messages;
                let stable = shorter.len().saturating_sub(1);
                assert_eq!(shorter.get(..stable), whole.get(..stable), "f075: the prefix stays: {why}");
            }
        }
    }
}
