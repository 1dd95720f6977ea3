//! A group as messages: a call and its result are sent together or left out together.
//!
//! Results follow the fate of their call: an aborted or failed message loses its calls and their results, and a cut-off
//! call is not a call. A live call without a result gets one marked synthetic result; a real result always beats a
//! synthetic one. Whatever is not sent is returned with the reason. A second run on the result changes nothing.

use crate::entry::{Entry, Part, Role, Status, ToolCall, ToolResult};
use crate::group::{Group, Kind};
use crate::id::Seq;
use crate::message::{Block, Message, Speaker};
use crate::mutants::{self, Bug};

/// How much of a group is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Everything, reasoning included.
    Full,
    /// Everything but reasoning.
    Settled,
    /// Without reasoning, and with replacements for large parts.
    Stubbed,
}

/// Why a part of a group is not sent. It stays stored, and recall finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OmissionReason {
    /// The message was aborted or failed before its calls were run.
    CutOff,
    /// The result's call is not sent.
    NoCall,
    /// Another result of the same call is sent.
    SecondResult,
    /// Recorded instructions that would leave no room for the conversation.
    LongSystem,
    /// Nothing in the entry is acceptable to a provider: no text, or only whitespace.
    Blank,
}

impl OmissionReason {
    /// Name for reports, in kebab-case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CutOff => "cut-off",
            Self::NoCall => "no-call",
            Self::SecondResult => "second-result",
            Self::LongSystem => "long-system",
            Self::Blank => "blank",
        }
    }
}

/// A group as messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paired {
    /// In order, with calls and results adjacent. Empty if no part of the group can be sent.
    pub messages: Vec<Message>,
    /// Entries that are sent only in part or not at all, ascending per reason.
    pub omitted: Vec<(Seq, OmissionReason)>,
}

/// The replacement text for a tool result, or `None` to send the result whole.
pub type Replace<'a> = dyn Fn(Seq, &ToolResult, Option<&ToolCall>) -> Option<String> + 'a;

/// Text of a synthetic result.
pub const NO_RESULT: &str = "[no result of this call was recorded]";

/// Turns a group into messages.
///
/// * `replace` - called for every result. See [`Replace`].
///
/// Cost: O(size of the group). Source: design §4 Assemble; F046, F047, F048.
pub fn messages(group: &Group, detail: Detail, replace: &Replace<'_>) -> Paired {
    match group.kind {
        Kind::Input => input(group),
        Kind::Orphan => orphan(group),
        Kind::Exchange => exchange(group, detail, replace),
    }
}

fn input(group: &Group) -> Paired {
    let mut paired = Paired::default();
    for item in &group.items {
        let blocks: Vec<_> = item.entry.parts.iter().filter(|part| !is_blank(part)).map(block).collect();
        let is_words = item.entry.parts.iter().all(|part| matches!(part, Part::Text(_)));
        let is_system = item.entry.role == Role::System && is_words;
        let speaker = if is_system { Speaker::System } else { Speaker::User };
        paired.push(speaker, blocks, None, vec![item.seq]);
    }
    paired
}

fn orphan(group: &Group) -> Paired {
    let mut paired = Paired::default();
    for item in &group.items {
        paired.omitted.push((item.seq, OmissionReason::NoCall));
        let mut rest = beside_results(&item.entry);
        if mutants::is(Bug::OrphanKept) {
            rest.extend(item.entry.results().cloned().map(Block::Result));
        }
        if !rest.is_empty() {
            paired.push(Speaker::User, rest, None, vec![item.seq]);
        }
    }
    paired
}

fn exchange(group: &Group, detail: Detail, replace: &Replace<'_>) -> Paired {
    let mut paired = Paired::default();
    let (mut said, mut said_by, mut model) = (Vec::new(), Vec::new(), None);
    let mut calls = Vec::new();
    for item in group.items.iter().filter(|item| item.entry.role == Role::Assistant) {
        let blocks = assistant_blocks(&item.entry, detail, &mut calls);
        if blocks.is_empty() {
            paired.omitted.push((item.seq, OmissionReason::Blank));
        } else {
            said_by.push(item.seq);
        }
        if item.entry.status != Status::Complete || item.entry.parts.iter().any(is_cut_off) {
            paired.omitted.push((item.seq, OmissionReason::CutOff));
        }
        said.extend(blocks);
        model = model.or_else(|| item.entry.model.clone());
    }
    if said.iter().all(is_thinking) {
        said.clear();
        paired.omitted.extend(said_by.drain(..).map(|seq| (seq, OmissionReason::Blank)));
    }
    let (answers, answered_by) = answers(group, &calls, replace, &mut paired.omitted);
    if !said.is_empty() {
        paired.push(Speaker::Assistant, said, model, said_by);
    }
    if !answers.is_empty() {
        paired.push(Speaker::User, answers, None, answered_by);
    }
    paired
}

impl Paired {
    fn push(&mut self, speaker: Speaker, blocks: Vec<Block>, model: Option<String>, seqs: Vec<Seq>) {
        if blocks.is_empty() {
            self.omitted.extend(seqs.into_iter().map(|seq| (seq, OmissionReason::Blank)));
        } else {
            self.messages.push(Message { speaker, blocks, model, seqs });
        }
    }
}

fn assistant_blocks(entry: &Entry, detail: Detail, calls: &mut Vec<ToolCall>) -> Vec<Block> {
    let complete = entry.status == Status::Complete;
    let mut blocks = Vec::new();
    for part in &entry.parts {
        match part {
            Part::ToolResult(_) => {}
            Part::ToolCall(call) => {
                if complete && call.complete || mutants::is(Bug::PartialKept) {
                    calls.push(call.clone());
                    blocks.push(Block::Call(call.clone()));
                }
            }
            Part::Thinking { .. } => {
                if complete && detail == Detail::Full {
                    blocks.push(block(part));
                }
            }
            Part::Opaque { .. } => {
                if complete {
                    blocks.push(block(part));
                }
            }
            Part::Text(_) | Part::Media(_) => {
                if !is_blank(part) {
                    blocks.push(block(part));
                }
            }
        }
    }
    // Reasoning alone is not a message: the provider wants text or a call after it. In an answer of unnamed fragments
    // another fragment supplies that.
    if blocks.iter().all(is_thinking) && !entry.is_nameless_piece() {
        blocks.clear();
    }
    blocks
}

const fn is_thinking(block: &Block) -> bool {
    matches!(block, Block::Part(Part::Thinking { .. }))
}

/// The results of `calls` in their order, then any other content of the result entries.
fn answers(
    group: &Group,
    calls: &[ToolCall],
    replace: &Replace<'_>,
    omitted: &mut Vec<(Seq, OmissionReason)>,
) -> (Vec<Block>, Vec<Seq>) {
    let mut slots: Vec<Option<Block>> = vec![None; calls.len()];
    let (mut rest, mut seqs) = (Vec::new(), Vec::new());
    for item in &group.items {
        for result in item.entry.results() {
            let open = |(at, call): &(usize, &ToolCall)| {
                call.id == result.call_id && slots.get(*at).is_some_and(Option::is_none)
            };
            let Some((at, call)) = calls.iter().enumerate().find(open) else {
                if mutants::is(Bug::OrphanKept) {
                    rest.push(Block::Result(result.clone()));
                }
                let known = calls.iter().any(|call| call.id == result.call_id);
                omitted.push((
                    item.seq,
                    if known { OmissionReason::SecondResult } else { OmissionReason::NoCall },
                ));
                continue;
            };
            let mut sent = result.clone();
            // Some hosts omit the name, and some providers reject any name but the call's.
            sent.name.clone_from(&call.name);
            if let Some(text) = replace(item.seq, result, Some(call)) {
                sent.content = vec![Part::Text(text)];
            }
            if let Some(slot) = slots.get_mut(at) {
                *slot = Some(Block::Result(sent));
            }
        }
        if item.entry.role != Role::Assistant {
            seqs.push(item.seq);
            rest.extend(beside_results(&item.entry));
        }
    }
    let filled = slots.into_iter().zip(calls).map(|(slot, call)| {
        slot.filter(|_| !mutants::is(Bug::SyntheticBeatsReal)).unwrap_or_else(|| no_result(call))
    });
    let mut blocks: Vec<_> = filled.collect();
    blocks.extend(rest);
    (blocks, seqs)
}

fn no_result(call: &ToolCall) -> Block {
    Block::Result(ToolResult {
        call_id: call.id.clone(),
        name: call.name.clone(),
        content: vec![Part::Text(NO_RESULT.to_owned())],
        is_error: true,
        exit_code: None,
    })
}

fn beside_results(entry: &Entry) -> Vec<Block> {
    let sent = |part: &&Part| !matches!(part, Part::ToolResult(_)) && !is_blank(part);
    entry.parts.iter().filter(sent).map(block).collect()
}

fn block(part: &Part) -> Block {
    Block::Part(part.clone())
}

fn is_cut_off(part: &Part) -> bool {
    matches!(part, Part::ToolCall(call) if !call.complete)
}

/// Whether a part is a text without visible characters. The strictest providers reject such a text.
///
/// Source: F059.
pub fn is_blank(part: &Part) -> bool {
    matches!(part, Part::Text(text) if text.chars().all(is_invisible))
}

/// Whitespace by the strictest provider's definition, and invisible characters.
fn is_invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::format_push_string, reason = "tests")]

    use std::sync::Arc;

    use super::*;
    use crate::entry::Origin;
    use crate::group::{Item, push};

    fn call(id: &str, complete: bool) -> Part {
        let arguments = "{}".to_owned();
        Part::ToolCall(ToolCall { id: id.into(), name: "t".into(), arguments, complete, raw: None })
    }

    fn result(id: &str, text: &str) -> Part {
        let content = vec![Part::Text(text.into())];
        Part::ToolResult(ToolResult {
            call_id: id.into(),
            name: String::new(),
            content,
            is_error: false,
            exit_code: None,
        })
    }

    fn show(entries: Vec<(Role, Status, Vec<Part>)>) -> String {
        let mut groups = Vec::new();
        for (seq, (role, status, parts)) in entries.into_iter().enumerate() {
            let mut entry = Entry::bare(Origin::Human);
            (entry.role, entry.status, entry.parts) = (role, status, parts);
            push(&mut groups, Item { seq: Seq(seq as u64), entry: Arc::new(entry) });
        }
        let mut text = String::new();
        for group in &groups {
            let paired = messages(group, Detail::Full, &|_, _, _| None);
            for message in paired.messages {
                text += match message.speaker {
                    Speaker::User => "U[",
                    Speaker::Assistant => "A[",
                    Speaker::System => "S[",
                };
                for block in message.blocks {
                    text += &match block {
                        Block::Part(Part::Text(text)) => text,
                        Block::Part(Part::Thinking { .. }) => "think".into(),
                        Block::Call(call) => format!("?{}", call.id),
                        Block::Result(result) => match &result.content[..] {
                            [Part::Text(said)] if said == NO_RESULT => format!("!{}-", result.call_id),
                            _ => format!("!{}", result.call_id),
                        },
                        other => format!("{other:?}"),
                    };
                    text += " ";
                }
                text.truncate(text.trim_end().len());
                text += "]";
            }
            for (seq, reason) in paired.omitted {
                text += &format!(" -{seq}:{}", reason.name());
            }
        }
        text
    }

    #[test]
    fn f058_reasoning_goes_with_the_piece_that_it_led_to() {
        let think = || Part::Thinking { text: "hm".into(), signature: None, raw: None };
        let of = |id: &str, parts: Vec<Vec<Part>>| {
            let mut groups = Vec::new();
            for (seq, parts) in parts.into_iter().enumerate() {
                let mut entry = Entry::bare(Origin::Model);
                (entry.role, entry.message_id, entry.parts) = (Role::Assistant, Some(id.into()), parts);
                push(&mut groups, Item { seq: Seq(seq as u64), entry: Arc::new(entry) });
            }
            let paired = messages(&groups[0], Detail::Full, &|_, _, _| None);
            let blocks: usize = paired.messages.iter().map(|message| message.blocks.len()).sum();
            (groups.len(), blocks, paired.omitted.len())
        };
        assert_eq!(of("", vec![vec![think()], vec![Part::Text("a".into())]]), (1, 2, 0));
        assert_eq!(of("", vec![vec![think()], vec![think()]]), (1, 0, 2), "alone it is not sent");
        assert_eq!(of("m", vec![vec![think()], vec![Part::Text("a".into())]]), (1, 1, 1), "named pieces");
    }

    #[test]
    fn pairing_table() {
        use Role::{Assistant as A, Tool as T};
        use Status::{Aborted, Complete as C, Error};
        let text = |text: &str| Part::Text(text.into());
        let think = || Part::Thinking { text: "hm".into(), signature: None, raw: None };
        let table = [
            (vec![(A, C, vec![call("x", true)]), (T, C, vec![result("x", "r")])], "A[?x]U[!x]", "a pair"),
            (
                vec![(A, C, vec![text("hi"), call("x", true)])],
                "A[hi ?x]U[!x-]",
                "f047: synthetic at send time",
            ),
            (
                vec![(A, Aborted, vec![text("hi"), call("x", true)]), (T, C, vec![result("x", "r")])],
                "A[hi] -0:cut-off -1:no-call",
                "f046: results follow the fate of their call",
            ),
            (
                vec![(A, C, vec![call("x", false)]), (T, C, vec![result("x", "r")])],
                " -0:blank -0:cut-off -1:no-call",
                "f046: a partial call is not a call",
            ),
            (
                vec![(A, Error, vec![call("x", true), call("y", true)])],
                " -0:blank -0:cut-off",
                "an error message holding whole calls",
            ),
            (
                vec![
                    (A, C, vec![call("x", true)]),
                    (T, C, vec![result("x", "1")]),
                    (T, C, vec![result("x", "2")]),
                ],
                "A[?x]U[!x] -2:second-result",
                "one result per call",
            ),
            (
                vec![
                    (A, C, vec![call("x", true), call("x", true)]),
                    (T, C, vec![result("x", "1"), result("x", "2")]),
                ],
                "A[?x ?x]U[!x !x]",
                "f049: equal ids pair by position",
            ),
            (
                vec![(A, C, vec![call("x", true)]), (T, C, vec![text("also"), result("x", "r")])],
                "A[?x]U[!x also]",
                "results first, words after them",
            ),
            (vec![(T, C, vec![result("x", "r")])], " -0:no-call", "an orphan is not sent"),
            (vec![(A, C, vec![think()])], " -0:blank", "reasoning alone is no message"),
            (vec![(A, C, vec![think(), text("so")])], "A[think so]", "reasoning before words"),
            (vec![(Role::User, C, vec![text(" \u{200b}\n")])], " -0:blank", "f059: nothing but whitespace"),
            (vec![(Role::System, C, vec![text("now")])], "S[now]", "instructions between messages"),
        ];
        for (entries, want, why) in table {
            assert_eq!(show(entries), want, "{why}");
        }
    }
}
