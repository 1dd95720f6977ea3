//! Anthropic: `message_start`, blocks by index with deltas, `message_delta`, `message_stop`.

use std::collections::BTreeMap;

use super::merge::{Fields, Room, Texts};
use super::{AnswerFacts, Usage, count};
use crate::exchange::quoted;
use crate::json::{Object, Tape, Value, is_space, is_value};

/// The blocks of a message.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    by_index: BTreeMap<i64, Block>,
    usage: Counted,
}

/// A block.
#[derive(Debug, Default)]
struct Block {
    /// The block in its `content_block_start`; empty if a delta came first.
    start: String,
    /// Type of an unannounced block.
    kind: &'static str,
    texts: Texts,
    /// Arguments received so far.
    partial_json: String,
    citations: Vec<String>,
}

/// The latest value of each count.
#[derive(Debug, Default)]
struct Counted {
    input: Option<u64>,
    cached: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
}

impl Blocks {
    pub(super) fn event(&mut self, name: &str, event: Object<'_>, facts: &mut AnswerFacts) {
        match name {
            "message_start" => {
                if let Some(message) = event.obj("message") {
                    facts.named(message);
                    self.count(message.obj("usage"), facts);
                    self.content(message, &mut facts.room);
                }
            }
            "content_block_start" => {
                let room = &mut facts.room;
                if let (Some(block), Some(content)) = (self.block(event, room), event.obj("content_block"))
                    && block.start.is_empty()
                {
                    block.start = room.copy(content.raw_text());
                }
            }
            "content_block_delta" => {
                let room = &mut facts.room;
                if let (Some(block), Some(delta)) = (self.block(event, room), event.obj("delta")) {
                    block.delta(delta, room);
                }
            }
            "message_delta" => {
                facts.stopped(event.obj("delta").and_then(|delta| delta.string("stop_reason")));
                self.count(event.obj("usage"), facts);
            }
            "message_stop" => facts.is_done = true,
            _ => {}
        }
    }

    pub(super) fn whole(&mut self, body: Object<'_>, facts: &mut AnswerFacts) {
        facts.named(body);
        self.count(body.obj("usage"), facts);
        facts.stopped(body.string("stop_reason"));
        facts.is_done |= body.is("type", "message");
        self.content(body, &mut facts.room);
    }

    /// Takes the blocks that a message already has at its start.
    fn content(&mut self, message: Object<'_>, room: &mut Room) {
        for (index, block) in message.items("content").enumerate() {
            if self.by_index.contains_key(&(index as i64)) || !room.takes_block() {
                continue;
            }
            let start = room.copy(block.raw());
            self.by_index.insert(index as i64, Block { start, ..Block::default() });
        }
    }

    fn block(&mut self, event: Object<'_>, room: &mut Room) -> Option<&mut Block> {
        let index = event.i64("index")?;
        if !self.by_index.contains_key(&index) && !room.takes_block() {
            return None;
        }
        Some(self.by_index.entry(index).or_default())
    }

    /// Takes counts. They cover the whole message so far, so the latest value of each is valid.
    fn count(&mut self, usage: Option<Object<'_>>, facts: &mut AnswerFacts) {
        if usage.is_none() {
            return;
        }
        let counted = &mut self.usage;
        for (slot, key) in [
            (&mut counted.input, "input_tokens"),
            (&mut counted.cached, "cache_read_input_tokens"),
            (&mut counted.written, "cache_creation_input_tokens"),
            (&mut counted.output, "output_tokens"),
        ] {
            *slot = count(usage, key).or(*slot);
        }
        let (cached, cache_written) =
            (counted.cached.unwrap_or_default(), counted.written.unwrap_or_default());
        let input = counted.input.unwrap_or_default().saturating_add(cached).saturating_add(cache_written);
        facts.usage =
            Some(Usage { input, cached, cache_written, output: counted.output.unwrap_or_default() });
    }

    /// The message; `None` without blocks.
    pub(super) fn message(self) -> Option<String> {
        let blocks: Vec<String> = self.by_index.into_values().filter_map(Block::json).collect();
        (!blocks.is_empty()).then(|| format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(",")))
    }
}

impl Block {
    fn delta(&mut self, delta: Object<'_>, room: &mut Room) {
        let kind = delta.str("type").unwrap_or_default();
        match &*kind {
            "input_json_delta" => {
                self.kind = "tool_use";
                room.add(&mut self.partial_json, &delta.str("partial_json").unwrap_or_default());
            }
            "citations_delta" if room.takes_block() => {
                self.citations.extend(delta.raw("citation").map(|citation| room.copy(citation)));
            }
            kind => {
                match kind {
                    "text_delta" => self.kind = "text",
                    "thinking_delta" | "signature_delta" => self.kind = "thinking",
                    _ => {}
                }
                // Only `content_block_start` has type, id and name.
                let texts = delta.fields().filter(|(key, _)| !matches!(&**key, "type" | "id" | "name"));
                for (key, text) in texts.filter_map(|(key, value)| Some((key, value.str()?))) {
                    self.texts.add(&key, &text, room);
                }
            }
        }
    }

    /// The block as it is sent back; `None` if its type is unknown.
    fn json(self) -> Option<String> {
        let is_bare = self.texts.is_empty() && self.partial_json.is_empty() && self.citations.is_empty();
        if is_bare {
            return Some(self.start).filter(|start| !start.is_empty());
        }
        let mut tape = Tape::default();
        tape.read(self.start.as_bytes()).ok();
        let start = tape.value(&self.start).and_then(Value::obj);
        let mut fields = Fields::default();
        if start.is_none() {
            if self.kind.is_empty() {
                return None;
            }
            fields.set("type", quoted(self.kind));
        }
        for (name, text) in self.texts.iter() {
            let first = start.and_then(|start| start.str(name)).unwrap_or_default();
            fields.set(name, quoted(&format!("{first}{text}")));
        }
        if !self.citations.is_empty() {
            let first = start.into_iter().flat_map(|start| start.items("citations")).map(Value::raw);
            let all: Vec<&str> = first.chain(self.citations.iter().map(String::as_str)).collect();
            fields.set("citations", format!("[{}]", all.join(",")));
        }
        if is_value(&self.partial_json) {
            fields.set("input", compact(&self.partial_json));
        } else if !self.partial_json.is_empty() {
            fields.set("input", "{}".to_owned());
            fields.set("partial_json", quoted(&self.partial_json));
        }
        Some(fields.over(&self.start))
    }
}

/// JSON without space between its tokens, as clients write parsed JSON.
fn compact(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let (mut is_inside, mut is_escaped) = (false, false);
    for c in json.chars() {
        if is_inside || !u8::try_from(c).is_ok_and(is_space) {
            out.push(c);
        }
        if c == '"' && !is_escaped {
            is_inside = !is_inside;
        }
        is_escaped = is_inside && c == '\\' && !is_escaped;
    }
    out
}
