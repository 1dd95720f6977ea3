//! OpenAI Responses: items by output index, events by sequence number.

use std::collections::BTreeMap;

use super::{Dialect, Edit, JoinStep, Object, Value, edited, is_function, is_ours, quoted, set};

#[derive(Default)]
pub(super) struct JoinedItems {
    /// The client's index of each item of the current answer; `None` for our items.
    shown: BTreeMap<i64, Option<i64>>,
    next: i64,
    sequence: i64,
    /// The id of the first answer.
    id: Option<String>,
    /// Items of earlier answers, unchanged.
    before: Vec<String>,
    /// Tokens of the earlier answers.
    output: i64,
}

impl JoinedItems {
    pub(super) fn event(&mut self, name: &str, event: Object<'_>, data: &str, step: &mut JoinStep<'_>) {
        let own = event.string("type").filter(|kind| !kind.is_empty());
        let kind = own.as_deref().unwrap_or(name);
        match kind {
            "response.created" | "response.in_progress" | "response.queued" if step.before > 0 => return,
            "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
                *step.is_over = true;
                return step.hold(name, data.to_owned());
            }
            "error" => *step.is_over = true,
            _ => {}
        }
        if let Some(response) = event.obj("response") {
            self.id = self.id.take().or_else(|| response.string("id"));
        }
        let mut edits = Vec::new();
        if let Some(response) = event.obj("response") {
            let kept = kept(response, step.ours);
            if kept.len() < response.items("output").count() {
                set(response, "output", &format!("[{}]", kept.join(",")), &mut edits);
            }
        }
        if let Some(index) = event.i64("output_index") {
            if event.obj("item").is_some_and(|item| is_own(item, step.ours)) {
                self.shown.insert(index, None);
            } else if !self.shown.contains_key(&index) {
                self.shown.insert(index, Some(self.next));
                self.next += 1;
            }
            let Some(Some(shown)) = self.shown.get(&index) else { return };
            set(event, "output_index", &shown.to_string(), &mut edits);
        }
        self.number(event, &mut edits);
        step.write(name, &edited(data, &edits));
    }

    fn number(&mut self, event: Object<'_>, edits: &mut Vec<Edit>) {
        if event.has("sequence_number") {
            set(event, "sequence_number", &self.sequence.to_string(), edits);
            self.sequence += 1;
        }
    }

    pub(super) fn leave(&mut self, held: Object<'_>, ours: &[String]) {
        let response = held.obj("response").unwrap_or(held);
        self.before.extend(kept(response, ours));
        self.id = self.id.take().or_else(|| response.string("id"));
        self.output = self.output.saturating_add(output(response));
    }

    pub(super) fn go_on(&mut self) {
        self.shown.clear();
    }

    pub(super) fn last(&mut self, held: Object<'_>, ours: &[String], edits: &mut Vec<Edit>) {
        self.number(held, edits);
        let response = held.obj("response").unwrap_or(held);
        let kept = kept(response, ours);
        let all: Vec<&str> = self.before.iter().chain(&kept).map(String::as_str).collect();
        set(response, "output", &format!("[{}]", all.join(",")), edits);
        if let Some(id) = &self.id {
            set(response, "id", &quoted(id), edits);
        }
        if let Some(usage) = response.obj("usage").filter(|_| self.output > 0) {
            let all = self.output.saturating_add(output(response));
            set(usage, "output_tokens", &all.to_string(), edits);
            let sum = usage.i64("input_tokens").unwrap_or_default().saturating_add(all);
            set(usage, "total_tokens", &sum.to_string(), edits);
        }
    }
}

fn is_own(item: Object<'_>, ours: &[String]) -> bool {
    is_function(Dialect::OpenAiResponses, item) && item.str("name").is_some_and(|name| is_ours(ours, &name))
}

/// The items of a response without ours, unchanged.
fn kept(response: Object<'_>, ours: &[String]) -> Vec<String> {
    let items = response.items("output").filter(|item| !item.obj().is_some_and(|item| is_own(item, ours)));
    items.map(|item: Value<'_>| item.raw().to_owned()).collect()
}

fn output(response: Object<'_>) -> i64 {
    response.obj("usage").and_then(|usage| usage.i64("output_tokens")).unwrap_or_default()
}
