//! A script from a file: the files that a coding agent reads in each turn, and the model's answers.
//!
//! The plan is JSON:
//!
//! ```json
//! {"turns": [{"rounds": [["a.log", "b.log"], ["c.log"]], "answer": "…"}],
//!  "tools": [{"name": "Bash", "arguments": {"command": "cat {path}"}}],
//!  "compaction": ["Summarise the conversation"], "summary": "…"}
//! ```
//!
//! A message with `Question 3:` begins turn 3. Its rounds are calls of the first suitable tool that the client offers,
//! one call per file. The place within a turn is kept here and not read from the request: an engine between the client
//! and this provider may shorten the request. One plan is for one conversation. A request with one of the texts of
//! `compaction` in its newest message gets the summary, and a request without tools gets a title.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::scripts::{history, is_aside, offered, wants_object};
use super::{Deed, Say, Script, Spent};

/// The script of a plan in a file.
///
/// # Errors
/// If the file is unreadable or no JSON.
pub fn load(path: &Path) -> io::Result<Script> {
    let plan: Value = serde_json::from_slice(&std::fs::read(path)?)?;
    let state = Mutex::new(State::default());
    Ok(Arc::new(move |request, _| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let cached_share = state.cached_share(request);
        let mut say = state.next(&plan, request);
        let said =
            say.deeds.iter().map(|deed| deed.arguments.to_string().len()).sum::<usize>() + say.text.len();
        say.spent = Some(Spent { cached_share, output: 20 + said as u64 / 4 });
        say
    }))
}

/// The state of the conversation.
#[derive(Default)]
struct State {
    turn: Option<usize>,
    round: usize,
    /// The newest prompts, as text in the order of a provider's cache.
    prompts: Vec<String>,
}

/// A provider's cache holds more than one conversation: the main one and its side requests.
const PROMPTS: usize = 4;

impl State {
    fn next(&mut self, plan: &Value, request: &Value) -> Say {
        let newest = history(request).iter().rev().find(|item| !is_aside(item));
        let newest = newest.map(Value::to_string).unwrap_or_default();
        let mut marks = plan["compaction"].as_array().into_iter().flatten().filter_map(Value::as_str);
        if marks.any(|mark| newest.contains(mark)) {
            return Say::text(plan["summary"].as_str().unwrap_or("Nothing happened yet."));
        }
        let offered = offered(request);
        let known = plan["tools"].as_array().into_iter().flatten();
        let tool = known.into_iter().find(|tool| offered.iter().any(|name| tool["name"] == **name));
        let Some(tool) = tool.filter(|_| !wants_object(request)) else {
            return Say::text(json!({"title": "Reading files", "isNewTopic": true}).to_string());
        };
        let asked = question(&newest);
        if asked.is_some() && asked != self.turn {
            (self.turn, self.round) = (asked, 0);
        }
        let turn = &plan["turns"][self.turn.unwrap_or(0)];
        let files = turn["rounds"][self.round].as_array();
        self.round += 1;
        match files {
            None => {
                Say::text(turn["answer"].as_str().unwrap_or("There is nothing in this turn of the plan."))
            }
            Some(files) => {
                let paths = files.iter().filter_map(Value::as_str);
                let deeds = paths.map(|path| Deed {
                    name: tool["name"].as_str().unwrap_or_default().to_owned(),
                    arguments: filled(&tool["arguments"], path),
                });
                let text = turn["says"][self.round - 1].as_str().unwrap_or("I read on.").to_owned();
                Say { text, deeds: deeds.collect(), ..Say::default() }
            }
        }
    }

    /// The share of a prompt that equals the beginning of one of the newest prompts.
    fn cached_share(&mut self, request: &Value) -> f64 {
        let prompt = prompt(request);
        let common = |other: &String| {
            other
                .bytes()
                .zip(prompt.bytes())
                .position(|(one, two)| one != two)
                .unwrap_or(other.len().min(prompt.len()))
        };
        let common = self.prompts.iter().map(common).max().unwrap_or(0);
        let share = common as f64 / prompt.len().max(1) as f64;
        if self.prompts.len() == PROMPTS {
            self.prompts.remove(0);
        }
        self.prompts.push(prompt);
        share
    }
}

/// The number in `Question 3:`.
fn question(text: &str) -> Option<usize> {
    text.rsplit("Question ").find_map(|rest| rest.split_once(':')?.0.parse().ok())
}

/// A template with a path in place of `{path}`, in every string.
fn filled(template: &Value, path: &str) -> Value {
    match template {
        Value::String(text) => Value::String(text.replace("{path}", path)),
        Value::Object(fields) => {
            Value::Object(fields.iter().map(|(name, value)| (name.clone(), filled(value, path))).collect())
        }
        other => other.clone(),
    }
}

/// The parts of a request that a model reads, in the order of a provider's cache, without cache marks.
fn prompt(request: &Value) -> String {
    let mut text = String::new();
    for key in ["tools", "system", "instructions", "messages", "input"] {
        let Some(part) = request.get(key) else { continue };
        let mut part = part.clone();
        without_marks(&mut part);
        // A list is written without its end, so that a longer list begins with it.
        match part {
            Value::Array(items) => items.iter().for_each(|item| {
                text.push_str(&item.to_string());
                text.push('\n');
            }),
            other => text.push_str(&other.to_string()),
        }
    }
    text
}

fn without_marks(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(without_marks),
        Value::Object(fields) => {
            fields.shift_remove("cache_control");
            fields.values_mut().for_each(without_marks);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn plan() -> Value {
        json!({"turns": [{"rounds": [["/w/a"], ["/w/b", "/w/c"]], "answer": "Done 0."}, {"rounds": [], "answer": "Done 1."}],
               "tools": [{"name": "Read", "arguments": {"file": "{path}"}}, {"name": "Bash", "arguments": {"command": "cat {path}"}}],
               "compaction": ["Summarise all"], "summary": "What was done."})
    }

    fn asked(text: &str) -> Value {
        json!({"tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": text}]})
    }

    #[test]
    fn a_conversation_follows_the_plan() {
        let (plan, mut state) = (plan(), State::default());
        let table = [
            (
                json!({"messages": [{"role": "user", "content": "Question 0: name it"}]}),
                "",
                0,
                "no tools: a title",
            ),
            (asked("Question 0: read"), "I read on.", 1, "the first round"),
            (asked("a result"), "I read on.", 2, "the second round, two files"),
            (asked("Summarise all"), "What was done.", 0, "a compaction in the middle of a turn"),
            (asked("What was done."), "Done 0.", 0, "the turn goes on behind it"),
            (asked("Question 1: next"), "Done 1.", 0, "a turn without files"),
        ];
        for (request, text, deeds, why) in table {
            let say = state.next(&plan, &request);
            assert_eq!(say.deeds.len(), deeds, "{why}");
            assert!(text.is_empty() || say.text == text, "{why}: {}", say.text);
        }
    }

    #[test]
    fn calls_name_the_tool_that_is_offered() {
        let say = State::default().next(&plan(), &asked("Question 0: read"));
        assert_eq!(say.deeds[0].name, "Bash");
        assert_eq!(say.deeds[0].arguments, json!({"command": "cat /w/a"}));
    }

    #[test]
    fn a_moved_cache_mark_is_no_other_prompt() {
        let mut state = State::default();
        let mark = json!({"type": "ephemeral"});
        let one = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a", "cache_control": mark}]}]});
        let two = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b"}]});
        assert!(state.cached_share(&one) < f64::EPSILON);
        assert!(state.cached_share(&two) > 0.4);
    }
}
