//! OpenAI Responses: items by output index, each first announced, then filled by deltas, then done.

use std::collections::BTreeMap;

use super::merge::{Fields, Room};
use super::{AnswerFacts, Usage, count};
use crate::exchange::quoted;
use crate::json::{Object, Tape, Value};

/// The output items.
#[derive(Debug, Default)]
pub(super) struct Items {
    by_index: BTreeMap<i64, Item>,
}

/// An item.
#[derive(Debug, Default)]
struct Item {
    /// The finished item, unchanged; before that, the announced one.
    json: String,
    is_done: bool,
    /// `arguments` or `input`, received so far.
    argument: Option<(&'static str, String)>,
    /// Parts by list and index: `content` and `summary`.
    parts: BTreeMap<(&'static str, i64), Part>,
}

/// A text inside an item.
#[derive(Debug)]
struct Part {
    kind: &'static str,
    key: &'static str,
    text: String,
}

/// The target of each delta: list, its index field, type and key of the part.
const DELTAS: [(&str, &str, &str, &str, &str); 4] = [
    ("response.output_text.delta", "content", "content_index", "output_text", "text"),
    ("response.refusal.delta", "content", "content_index", "refusal", "refusal"),
    ("response.reasoning_text.delta", "content", "content_index", "reasoning_text", "text"),
    ("response.reasoning_summary_text.delta", "summary", "summary_index", "summary_text", "text"),
];

impl Items {
    pub(super) fn event(&mut self, name: &str, event: Object<'_>, facts: &mut AnswerFacts) {
        match name {
            "response.output_item.added" | "response.output_item.done" => {
                if let (Some(index), Some(item)) = (event.i64("output_index"), event.obj("item")) {
                    self.announced(index, item, name.ends_with("done"), &mut facts.room);
                }
            }
            "response.function_call_arguments.delta" => self.argument("arguments", event, &mut facts.room),
            "response.custom_tool_call_input.delta" => self.argument("input", event, &mut facts.room),
            name if event.has("delta") => self.delta(name, event, &mut facts.room),
            _ => {
                if let Some(response) = event.obj("response") {
                    self.response(response, facts);
                }
            }
        }
    }

    /// Takes a whole response: a body, or the one at the start or end of a stream.
    pub(super) fn response(&mut self, response: Object<'_>, facts: &mut AnswerFacts) {
        facts.named(response);
        facts.usage = response.obj("usage").map(used).or(facts.usage);
        facts.choices = 1;
        for (index, item) in response.items("output").enumerate() {
            if let Some(item) = item.obj() {
                self.announced(index as i64, item, true, &mut facts.room);
            }
        }
        let status = response.str("status").unwrap_or_default();
        match &*status {
            "completed" => facts.stopped(Some(status.into_owned())),
            "incomplete" => {
                let reason = response.obj("incomplete_details").and_then(|details| details.string("reason"));
                facts.stop.clone_from(&reason);
                facts.cut = reason.or_else(|| Some(status.into_owned()));
            }
            "cancelled" => facts.cut = Some(status.into_owned()),
            "failed" => {
                let error = response.get("error").filter(|error| !error.is_null());
                let error = error.map_or_else(|| quoted("failed"), |error| error.raw().to_owned());
                facts.error.get_or_insert(error);
            }
            _ => {}
        }
    }

    /// Takes an announced or finished item. A finished item never changes again.
    fn announced(&mut self, index: i64, json: Object<'_>, is_done: bool, room: &mut Room) {
        let Some(item) = self.item(index, room) else { return };
        if !item.is_done && (is_done || item.json.is_empty()) {
            item.json = room.copy(json.raw_text());
            item.is_done = is_done;
        }
    }

    fn item(&mut self, index: i64, room: &mut Room) -> Option<&mut Item> {
        if !self.by_index.contains_key(&index) && !room.takes_block() {
            return None;
        }
        Some(self.by_index.entry(index).or_default())
    }

    fn argument(&mut self, key: &'static str, event: Object<'_>, room: &mut Room) {
        let Some(item) = event.i64("output_index").and_then(|index| self.item(index, room)) else { return };
        let (_, text) = item.argument.get_or_insert_with(|| (key, String::new()));
        room.add(text, &event.str("delta").unwrap_or_default());
    }

    fn delta(&mut self, name: &str, event: Object<'_>, room: &mut Room) {
        let Some((_, list, place, kind, key)) = DELTAS.into_iter().find(|known| known.0 == name) else {
            return;
        };
        let Some(item) = event.i64("output_index").and_then(|index| self.item(index, room)) else { return };
        let at = (list, event.i64(place).unwrap_or_default());
        if !item.parts.contains_key(&at) && !room.takes_block() {
            return;
        }
        let part = item.parts.entry(at).or_insert(Part { kind, key, text: String::new() });
        room.add(&mut part.text, &event.str("delta").unwrap_or_default());
    }

    /// The items in order. An unfinished item has the content received so far, and a status that says so.
    pub(super) fn items(self) -> Vec<String> {
        self.by_index.into_values().map(Item::json).filter(|json| !json.is_empty()).collect()
    }
}

impl Item {
    fn json(self) -> String {
        if self.is_done {
            return self.json;
        }
        let mut tape = Tape::default();
        tape.read(self.json.as_bytes()).ok();
        let mut fields = Fields::default();
        let Some(start) = tape.value(&self.json).and_then(Value::obj) else { return self.unannounced() };
        for list in ["content", "summary"] {
            let parts = self.list(list);
            if !parts.is_empty() {
                fields.set(list, format!("[{}]", parts.join(",")));
            }
        }
        if let Some((key, text)) = &self.argument {
            let first = start.str(key).unwrap_or_default();
            fields.set(key, quoted(&format!("{first}{text}")));
        }
        if start.has("status") {
            fields.set("status", quoted("incomplete"));
        }
        fields.over(&self.json)
    }

    /// Text without its item is still an answer; a call without its name is nothing.
    fn unannounced(&self) -> String {
        let parts = self.list("content");
        if parts.is_empty() {
            return String::new();
        }
        let parts = parts.join(",");
        format!(r#"{{"type":"message","role":"assistant","status":"incomplete","content":[{parts}]}}"#)
    }

    fn list(&self, list: &str) -> Vec<String> {
        let own = self.parts.iter().filter(|((known, _), _)| *known == list);
        own.map(|(_, part)| format!(r#"{{"type":"{}","{}":{}}}"#, part.kind, part.key, quoted(&part.text)))
            .collect()
    }
}

/// Tokens of OpenAI's `usage`: cached and written input are included in the input.
fn used(usage: Object<'_>) -> Usage {
    let details = usage.obj("input_tokens_details");
    let get = |object, key| count(object, key).unwrap_or_default();
    Usage {
        input: get(Some(usage), "input_tokens"),
        cached: get(details, "cached_tokens"),
        cache_written: get(details, "cache_write_tokens"),
        output: get(Some(usage), "output_tokens"),
    }
}
