//! Anthropic: blocks by index.

use std::collections::BTreeMap;

use super::{Dialect, Edit, JoinStep, Object, edited, is_function, is_ours, quoted, set, with_object};

#[derive(Default)]
pub(super) struct JoinedBlocks {
    /// The client's index of each block of the current answer; `None` for our blocks.
    shown: BTreeMap<i64, Option<i64>>,
    next: i64,
    /// Whether the current answer has calls for the client.
    has_calls: bool,
    /// Blocks of earlier whole answers, unchanged.
    before: Vec<String>,
    /// Tokens of the earlier answers.
    output: i64,
}

impl JoinedBlocks {
    pub(super) fn event(&mut self, name: &str, event: Object<'_>, data: &str, step: &mut JoinStep<'_>) {
        let kind = event.str("type").filter(|kind| !kind.is_empty());
        match kind.as_deref().unwrap_or(name) {
            "message_start" if step.before > 0 => {}
            "message_start" => self.begin(name, event, data, step),
            "content_block_start" => {
                let block = event.obj("content_block");
                let is_own = block.is_some_and(|block| is_own(block, step.ours));
                self.has_calls |= block.is_some_and(is_call) && !is_own;
                let Some(index) = event.i64("index") else { return };
                let shown = (!is_own).then(|| self.take());
                self.shown.insert(index, shown);
                self.pass(name, event, data, step);
            }
            "content_block_delta" | "content_block_stop" => self.pass(name, event, data, step),
            "message_delta" => step.hold(name, data.to_owned()),
            "message_stop" => {
                step.hold(name, data.to_owned());
                *step.is_over = true;
            }
            other => {
                *step.is_over |= other == "error";
                step.write(name, data);
            }
        }
    }

    /// Begins a message, which may have blocks already.
    fn begin(&mut self, name: &str, event: Object<'_>, data: &str, step: &mut JoinStep<'_>) {
        let mut edits = Vec::new();
        if let Some(message) = event.obj("message") {
            for (index, block) in message.items("content").enumerate() {
                let is_own = block.obj().is_some_and(|block| is_own(block, step.ours));
                self.has_calls |= block.obj().is_some_and(is_call) && !is_own;
                let shown = (!is_own).then(|| self.take());
                self.shown.insert(index as i64, shown);
            }
            if self.shown.values().any(Option::is_none) {
                set(message, "content", &format!("[{}]", kept(message, step.ours).join(",")), &mut edits);
            }
        }
        step.write(name, &edited(data, &edits));
    }

    fn take(&mut self) -> i64 {
        self.next += 1;
        self.next - 1
    }

    fn pass(&mut self, name: &str, event: Object<'_>, data: &str, step: &mut JoinStep<'_>) {
        let Some(index) = event.i64("index") else { return };
        if !self.shown.contains_key(&index) {
            let next = self.take();
            self.shown.insert(index, Some(next));
        }
        if let Some(Some(shown)) = self.shown.get(&index) {
            let mut edits = Vec::new();
            set(event, "index", &shown.to_string(), &mut edits);
            step.write(name, &edited(data, &edits));
        }
    }

    /// Handles a withheld event or a whole answer that the client does not get.
    pub(super) fn leave(&mut self, held: Object<'_>, ours: &[String]) {
        self.before.extend(kept(held, ours));
        self.output = self.output.saturating_add(output(held));
    }

    pub(super) fn go_on(&mut self) {
        self.shown.clear();
        self.has_calls = false;
    }

    pub(super) fn last(
        &mut self,
        held: Object<'_>,
        is_streamed: bool,
        ours: &[String],
        edits: &mut Vec<Edit>,
    ) {
        if !is_streamed {
            let blocks = kept(held, ours);
            self.has_calls = blocks.iter().any(|block| with_object(block, is_call).unwrap_or_default());
            let all: Vec<&str> = self.before.iter().chain(&blocks).map(String::as_str).collect();
            set(held, "content", &format!("[{}]", all.join(",")), edits);
        }
        let delta = held.obj("delta").unwrap_or(held);
        if delta.is("stop_reason", "tool_use") && !self.has_calls {
            set(delta, "stop_reason", &quoted("end_turn"), edits);
        }
        if let Some(usage) = held.obj("usage").filter(|_| self.output > 0) {
            set(usage, "output_tokens", &self.output.saturating_add(output(held)).to_string(), edits);
        }
    }
}

/// Tokens of an answer, from its end.
fn output(held: Object<'_>) -> i64 {
    held.obj("usage").and_then(|usage| usage.i64("output_tokens")).unwrap_or_default()
}

fn is_call(block: Object<'_>) -> bool {
    is_function(Dialect::Anthropic, block)
}

fn is_own(block: Object<'_>, ours: &[String]) -> bool {
    is_call(block) && block.str("name").is_some_and(|name| is_ours(ours, &name))
}

/// The blocks of a whole answer without ours, unchanged.
fn kept(body: Object<'_>, ours: &[String]) -> Vec<String> {
    let blocks = body.items("content").filter(|block| !block.obj().is_some_and(|block| is_own(block, ours)));
    blocks.map(|block| block.raw().to_owned()).collect()
}
