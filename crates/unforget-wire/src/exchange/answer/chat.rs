//! OpenAI Chat: chunks with deltas of choices. Only the first of several choices is kept.

use super::merge::{Fields, Room, Texts};
use super::{AnswerFacts, Usage, count};
use crate::exchange::quoted;
use crate::json::{Object, Value};

/// Choice 0.
#[derive(Debug, Default)]
pub(super) struct Choice {
    /// The message of a whole answer, unchanged.
    whole: Option<String>,
    /// `content`, `refusal`, `reasoning_content` and other text fields.
    texts: Texts,
    /// The latest JSON value of each other field, unchanged.
    others: Vec<(String, String)>,
    /// Items of lists that arrive in pieces (`reasoning_details`, `annotations`).
    lists: Vec<(String, String)>,
    calls: Vec<StreamedCall>,
    /// The call of the legacy form.
    function: Texts,
    has_delta: bool,
}

/// A call.
#[derive(Debug, Default)]
struct StreamedCall {
    index: i64,
    id: String,
    /// The name of its inner object: `function` or `custom`.
    inner: &'static str,
    texts: Texts,
    /// Whether its name is complete: the answer has announced its end.
    has_name: bool,
    /// The latest value of each other field of the call.
    others: Vec<(String, String)>,
}

impl Choice {
    pub(super) fn chunk(&mut self, chunk: Object<'_>, facts: &mut AnswerFacts) {
        top(chunk, facts);
        let mut first = None;
        for choice in chunk.items("choices").filter_map(Value::obj) {
            if first_of(choice, facts) {
                first.get_or_insert(choice);
            }
        }
        let Some(choice) = first else { return };
        if let Some((_, delta)) = delta(choice) {
            self.delta(delta, &mut facts.room);
        }
        if ends(choice) {
            self.calls.iter_mut().for_each(StreamedCall::seal);
        }
        facts.stopped(choice.string("finish_reason"));
    }

    pub(super) fn whole(&mut self, body: Object<'_>, facts: &mut AnswerFacts) {
        top(body, facts);
        for choice in body.items("choices").filter_map(Value::obj) {
            if first_of(choice, facts) {
                self.whole = choice.raw("message").map(|message| facts.room.copy(message));
                facts.stopped(choice.string("finish_reason"));
                facts.is_done |= self.whole.is_some();
            }
        }
    }

    fn delta(&mut self, delta: Object<'_>, room: &mut Room) {
        self.has_delta = true;
        for (key, value) in delta.fields() {
            match &*key {
                "role" => {}
                "tool_calls" => {
                    for call in value.items().filter_map(Value::obj) {
                        self.call(call, room);
                    }
                }
                "function_call" => {
                    for (key, text) in value.obj().into_iter().flat_map(Object::fields) {
                        self.function.add(&key, &text.str().unwrap_or_default(), room);
                    }
                }
                key if value.is_array() => add_items(&mut self.lists, key, value, room),
                key => match value.str() {
                    Some(text) => self.texts.add(key, &text, room),
                    None if value.is_null() => {}
                    None => set(&mut self.others, key, value.raw(), room),
                },
            }
        }
    }

    fn call(&mut self, delta: Object<'_>, room: &mut Room) {
        let id = delta.str("id").unwrap_or_default();
        let Some(at) = self.place(delta.i64("index"), &id, room) else { return };
        let Some(call) = self.calls.get_mut(at) else { return };
        if call.id.is_empty() {
            room.add(&mut call.id, &id);
        }
        for (key, value) in delta.fields() {
            match (&*key, value.obj()) {
                ("index" | "id" | "type", _) => {}
                ("function" | "custom", Some(inner)) => {
                    call.inner = if key == "custom" { "custom" } else { "function" };
                    let texts = inner.fields().filter_map(|(key, value)| Some((key, value.str()?)));
                    for (key, text) in texts {
                        let known = call.texts.get("name").unwrap_or_default();
                        let is_again = key == "name" && (call.has_name || says_again(known, &text));
                        call.texts.add(&key, if is_again { "" } else { &text }, room);
                    }
                }
                (key, _) if !value.is_null() => set(&mut call.others, key, value.raw(), room),
                _ => {}
            }
        }
    }

    /// The call that a delta belongs to. Calls are told apart by index. Another id at an index is another call, since
    /// some providers give every call the index 0 or none.
    fn place(&mut self, index: Option<i64>, id: &str, room: &mut Room) -> Option<usize> {
        let same = |call: &StreamedCall| {
            index.is_none_or(|index| call.index == index)
                && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        if let Some(at) = self.calls.iter().rposition(same) {
            return Some(at);
        }
        if !room.takes_block() {
            return None;
        }
        let index = index.unwrap_or(self.calls.len() as i64);
        self.calls.push(StreamedCall { index, inner: "function", ..StreamedCall::default() });
        Some(self.calls.len() - 1)
    }

    /// The message; `None` without content.
    pub(super) fn message(mut self) -> Option<String> {
        if self.whole.is_some() || !self.has_delta {
            return self.whole.filter(|whole| !whole.is_empty());
        }
        let mut fields = Fields::default();
        fields.set("role", quoted("assistant"));
        fields.set("content", "null".to_owned());
        for (name, text) in self.texts.iter() {
            fields.set(name, quoted(text));
        }
        for (name, items) in &self.lists {
            fields.set(name, format!("[{items}]"));
        }
        for (name, json) in self.others {
            fields.set(&name, json);
        }
        if !self.calls.is_empty() {
            self.calls.sort_by_key(|call| call.index);
            let calls: Vec<String> = self.calls.into_iter().map(StreamedCall::json).collect();
            fields.set("tool_calls", format!("[{}]", calls.join(",")));
        }
        if !self.function.is_empty() {
            fields.set("function_call", object(&self.function));
        }
        Some(fields.over("{}"))
    }
}

impl StreamedCall {
    /// Fixes the names of all calls: nothing behind the end of an answer may change them.
    fn seal(&mut self) {
        self.has_name |= self.texts.get("name").is_some_and(|name| !name.is_empty());
    }

    fn json(self) -> String {
        let mut fields = Fields::default();
        fields.set("id", quoted(&self.id));
        fields.set("type", quoted(self.inner));
        fields.set(self.inner, object(&self.texts));
        for (name, json) in self.others {
            fields.set(&name, json);
        }
        fields.over("{}")
    }
}

/// Whether a piece of a call's name is a repetition: some providers send the whole name with every piece.
pub(in crate::exchange) fn says_again(known: &str, piece: &str) -> bool {
    known == piece
}

/// The delta in a chunk's choice, and its field: some servers send whole messages.
pub(in crate::exchange) fn delta(choice: Object<'_>) -> Option<(&'static str, Object<'_>)> {
    ["delta", "message"].into_iter().find_map(|key| Some((key, choice.obj(key)?)))
}

/// Whether a chunk's choice announces the end.
pub(in crate::exchange) fn ends(choice: Object<'_>) -> bool {
    choice.get("finish_reason").is_some_and(|reason| !reason.is_null())
}

/// Takes the top-level fields of a chunk or a whole answer.
fn top(body: Object<'_>, facts: &mut AnswerFacts) {
    facts.named(body);
    // Groq uses a field of its own.
    let usage = body.obj("usage").or_else(|| body.obj("x_groq")?.obj("usage"));
    facts.usage = usage.map(used).or(facts.usage);
}

/// Texts as an object.
fn object(texts: &Texts) -> String {
    let fields: Vec<String> =
        texts.iter().map(|(name, text)| format!("{}:{}", quoted(name), quoted(text))).collect();
    format!("{{{}}}", fields.join(","))
}

/// Whether this is choice 0; counts the others.
fn first_of(choice: Object<'_>, facts: &mut AnswerFacts) -> bool {
    let index = choice.i64("index").unwrap_or_default();
    facts.choices = facts.choices.max(usize::try_from(index).unwrap_or_default().saturating_add(1));
    index == 0
}

fn add_items(lists: &mut Vec<(String, String)>, key: &str, value: Value<'_>, room: &mut Room) {
    if !lists.iter().any(|(known, _)| known == key) {
        if !room.takes_block() {
            return;
        }
        lists.push((room.copy(key), String::new()));
    }
    let Some((_, list)) = lists.iter_mut().find(|(known, _)| known == key) else { return };
    for item in value.items() {
        let comma = if list.is_empty() { "" } else { "," };
        room.add(list, &format!("{comma}{}", item.raw()));
    }
}

fn set(others: &mut Vec<(String, String)>, key: &str, json: &str, room: &mut Room) {
    if let Some((_, known)) = others.iter_mut().find(|(known, _)| known == key) {
        *known = room.copy(json);
    } else if room.takes_block() {
        others.push((room.copy(key), room.copy(json)));
    }
}

/// Tokens of OpenAI's `usage`: cached and written input are included in the input.
fn used(usage: Object<'_>) -> Usage {
    let details = usage.obj("prompt_tokens_details");
    Usage {
        input: count(Some(usage), "prompt_tokens").unwrap_or_default(),
        // DeepSeek's name for it.
        cached: count(details, "cached_tokens")
            .or_else(|| count(Some(usage), "prompt_cache_hit_tokens"))
            .unwrap_or_default(),
        cache_written: count(details, "cache_write_tokens").unwrap_or_default(),
        output: count(Some(usage), "completion_tokens").unwrap_or_default(),
    }
}
