//! OpenAI Chat: choice 0, and its calls by index.

use super::{Dialect, Edit, JoinStep, Object, Value, edited, is_function, is_ours, quoted, set, with_object};
use crate::edit::cut_fields;
use crate::exchange::answer::chat::{delta, ends, says_again};

#[derive(Default)]
pub(super) struct JoinedChoice {
    /// Calls of the current answer.
    calls: Vec<JoinedCall>,
    /// The client's index of the next call.
    next: usize,
    /// The id of the first answer.
    id: Option<String>,
    /// Text of earlier answers that the client has; for whole answers, the text itself.
    before: String,
    /// Whether the current answer has text.
    has_text: bool,
    is_ending: bool,
    /// Tokens of the earlier answers.
    output: i64,
}

struct JoinedCall {
    index: Option<i64>,
    id: String,
    name: String,
    fate: Fate,
    /// Pieces received while the owner of the call was unknown.
    waiting: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Unknown,
    Ours,
    /// A call of the client, with this index.
    Shown(usize),
}

/// Separates the texts of two answers.
const GAP: &str = "\n\n";

impl JoinedChoice {
    pub(super) fn event(&mut self, name: &str, chunk: Object<'_>, data: &str, step: &mut JoinStep<'_>) {
        if chunk.get("error").is_some_and(|error| !error.is_null()) {
            *step.is_over = true;
            return step.write(name, data);
        }
        let mut edits = Vec::new();
        self.name(chunk, &mut edits);
        let choice = chunk.items("choices").filter_map(Value::obj);
        let Some(choice) = choice.into_iter().find(|choice| choice.i64("index").unwrap_or_default() == 0)
        else {
            let data = edited(data, &edits);
            return if self.is_ending { step.hold(name, data) } else { step.write(name, &data) };
        };
        let (key, delta) = delta(choice).unzip();
        let key = key.unwrap_or("delta");
        let says = delta.is_some_and(|delta| self.delta(delta, step, &mut edits));
        if !ends(choice) {
            if says {
                step.write(name, &edited(data, &edits));
            }
            return;
        }
        self.is_ending = true;
        if says {
            // The text is for the client, whatever happens to the end.
            let mut words = edits.clone();
            set(choice, "finish_reason", "null", &mut words);
            step.write(name, &edited(data, &words));
        }
        let left = self.left();
        if !left.is_empty() {
            let mut calls = Vec::new();
            self.name(chunk, &mut calls);
            set(choice, "finish_reason", "null", &mut calls);
            set(choice, key, &format!(r#"{{"tool_calls":[{}]}}"#, left.join(",")), &mut calls);
            step.write(name, &edited(data, &calls));
        }
        let mut end = Vec::new();
        self.name(chunk, &mut end);
        set(choice, key, "{}", &mut end);
        step.hold(name, edited(data, &end));
    }

    /// Gives later answers the id of the first.
    fn name(&mut self, chunk: Object<'_>, edits: &mut Vec<Edit>) {
        let Some(id) = chunk.string("id").filter(|id| !id.is_empty()) else { return };
        match &self.id {
            None => self.id = Some(id),
            Some(first) if *first != id => set(chunk, "id", &quoted(first), edits),
            Some(_) => {}
        }
    }

    /// Selects the client's part of a delta. Returns whether there is any.
    fn delta(&mut self, delta: Object<'_>, step: &JoinStep<'_>, edits: &mut Vec<Edit>) -> bool {
        let is_later = step.before > 0;
        let (mut says, mut hides) = (false, false);
        for (key, value) in delta.fields() {
            match &*key {
                "role" => says |= !is_later,
                "tool_calls" => {
                    let kept = self.entries(value, step);
                    hides = kept.is_empty() && value.is_array();
                    says |= !kept.is_empty();
                    if !kept.is_empty() {
                        edits.push(Edit { range: value.range(), text: format!("[{}]", kept.join(",")) });
                    }
                }
                "content" => {
                    let text = value.str().unwrap_or_default();
                    says |= !text.is_empty();
                    if is_later && !text.is_empty() && !self.has_text && !self.before.is_empty() {
                        edits.push(Edit { range: value.range(), text: quoted(&format!("{GAP}{text}")) });
                    }
                    self.has_text |= !text.is_empty();
                }
                _ => says |= !value.is_null() && value.str().is_none_or(|text| !text.is_empty()),
            }
        }
        cut_fields(delta, &|key| (is_later && key == "role") || (hides && key == "tool_calls"), edits);
        says || !(is_later || hides)
    }

    /// Pieces of calls: the client's, with its index.
    fn entries(&mut self, list: Value<'_>, step: &JoinStep<'_>) -> Vec<String> {
        let mut kept = Vec::new();
        for entry in list.items().filter_map(Value::obj) {
            let at = self.place(entry);
            let (next, is_ending) = (self.next, self.is_ending);
            let Some(call) = self.calls.get_mut(at) else { continue };
            let inner = entry.obj("function").or_else(|| entry.obj("custom"));
            let name = inner.and_then(|inner| inner.str("name")).unwrap_or_default();
            // The announced end is withheld, so a piece behind it would reach the client before it.
            let has_name = is_ending && !call.name.is_empty();
            if !has_name && !says_again(&call.name, &name) {
                call.name.push_str(&name);
            }
            if call.fate == Fate::Unknown {
                let may_be = is_function(Dialect::OpenAiChat, entry)
                    && step.ours.iter().any(|own| own.starts_with(&call.name));
                call.fate = match may_be {
                    true if step.is_ours(&call.name) => Fate::Ours,
                    true => Fate::Unknown,
                    false => Fate::Shown(next),
                };
            }
            call.waiting.push(entry.raw_text().to_owned());
            match call.fate {
                Fate::Unknown => {}
                Fate::Ours => call.waiting.clear(),
                Fate::Shown(index) => {
                    self.next = self.next.max(index + 1);
                    kept.extend(call.waiting.drain(..).map(|piece| shown(&piece, index, has_name)));
                }
            }
        }
        kept
    }

    /// Releases pieces of calls whose name ended while it could still become one of ours: they are the client's.
    fn left(&mut self) -> Vec<String> {
        let mut left = Vec::new();
        let is_left = |call: &&mut JoinedCall| call.fate == Fate::Unknown && !call.name.is_empty();
        for call in self.calls.iter_mut().filter(is_left) {
            call.fate = Fate::Shown(self.next);
            left.extend(call.waiting.drain(..).map(|piece| shown(&piece, self.next, false)));
            self.next += 1;
        }
        left
    }

    /// The call that a piece belongs to, as in [`super::super::Answer`].
    fn place(&mut self, entry: Object<'_>) -> usize {
        let (index, id) = (entry.i64("index"), entry.str("id").unwrap_or_default());
        let is_it = |call: &JoinedCall| {
            index.is_none_or(|_| call.index == index)
                && (id.is_empty() || call.id.is_empty() || call.id == id)
        };
        if let Some(at) = self.calls.iter().rposition(is_it) {
            if let Some(call) = self.calls.get_mut(at).filter(|call| call.id.is_empty()) {
                call.id.push_str(&id);
            }
            return at;
        }
        let (id, name) = (id.into_owned(), String::new());
        self.calls.push(JoinedCall { index, id, name, fate: Fate::Unknown, waiting: Vec::new() });
        self.calls.len() - 1
    }

    pub(super) fn leave(&mut self, held: Object<'_>, _: &[String]) {
        if let Some(message) = message(held)
            && let Some(text) = message.str("content").filter(|text| !text.is_empty())
        {
            let gap = if self.before.is_empty() { "" } else { GAP };
            self.before.extend([gap, &text]);
        }
        self.output = self.output.saturating_add(output(held));
    }

    pub(super) fn go_on(&mut self) {
        if self.has_text {
            self.before.push_str(GAP);
        }
        self.calls.clear();
        (self.has_text, self.is_ending) = (false, false);
    }

    pub(super) fn last(
        &mut self,
        held: Object<'_>,
        is_streamed: bool,
        ours: &[String],
        edits: &mut Vec<Edit>,
    ) {
        let mut has_calls = self.next > 0;
        if let Some(message) = message(held).filter(|_| !is_streamed) {
            let kept: Vec<&str> =
                message.items("tool_calls").filter(|call| !is_own(*call, ours)).map(Value::raw).collect();
            has_calls = !kept.is_empty();
            if message.items("tool_calls").count() > kept.len() {
                if kept.is_empty() {
                    cut_fields(message, &|key| key == "tool_calls", edits);
                } else {
                    set(message, "tool_calls", &format!("[{}]", kept.join(",")), edits);
                }
            }
            if !self.before.is_empty() {
                let text = message.str("content").unwrap_or_default();
                let gap = if text.is_empty() { "" } else { GAP };
                set(message, "content", &quoted(&format!("{}{gap}{text}", self.before)), edits);
            }
        }
        for choice in held.items("choices").filter_map(Value::obj) {
            if choice.is("finish_reason", "tool_calls") && !has_calls {
                set(choice, "finish_reason", &quoted("stop"), edits);
            }
        }
        if let Some(usage) = held.obj("usage").filter(|_| self.output > 0) {
            let all = self.output.saturating_add(output(held));
            set(usage, "completion_tokens", &all.to_string(), edits);
            let sum = usage.i64("prompt_tokens").unwrap_or_default().saturating_add(all);
            set(usage, "total_tokens", &sum.to_string(), edits);
        }
    }
}

/// The message of choice 0 of a whole answer.
fn message(body: Object<'_>) -> Option<Object<'_>> {
    body.items("choices").filter_map(Value::obj).find_map(|choice| choice.obj("message"))
}

fn is_own(call: Value<'_>, ours: &[String]) -> bool {
    let call = call.obj().filter(|call| is_function(Dialect::OpenAiChat, *call));
    let name = call.and_then(|call| call.obj("function")).and_then(|function| function.string("name"));
    name.is_some_and(|name| is_ours(ours, &name))
}

fn output(held: Object<'_>) -> i64 {
    held.obj("usage").and_then(|usage| usage.i64("completion_tokens")).unwrap_or_default()
}

/// A piece of a call with the client's index, and without the name where the call already has it.
fn shown(piece: &str, index: usize, has_name: bool) -> String {
    let edits = with_object(piece, |entry| {
        let mut edits = Vec::new();
        set(entry, "index", &index.to_string(), &mut edits);
        if let Some(inner) = entry.obj("function").or_else(|| entry.obj("custom")).filter(|_| has_name) {
            set(inner, "name", r#""""#, &mut edits);
        }
        edits
    });
    edited(piece, &edits.unwrap_or_default())
}
