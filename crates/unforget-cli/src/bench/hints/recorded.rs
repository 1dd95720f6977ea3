//! Recorded sessions as a host's hooks met them.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall};
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_core::ledger::{Deed, Fact, Outcome};
use unforget_text::facts;
use unforget_wire::Reader;

use crate::commands::hook::HookInput;
use crate::failure::{Failure, Outcome as Result};

/// A record of a session.
pub(in crate::bench) struct Step {
    /// What the record says. Records of side lanes say nothing.
    pub(in crate::bench) entry: Entry,
    /// Calls and results in it.
    pub(in crate::bench) facts: Vec<Fact>,
    /// The latest time so far: hosts write records out of order.
    pub(in crate::bench) time: Timestamp,
    /// Where the record begins in the file, in bytes.
    pub(in crate::bench) start: usize,
}

/// A session that was recorded.
pub(in crate::bench) struct RecordedSession {
    pub(in crate::bench) path: PathBuf,
    pub(in crate::bench) key: ConversationKey,
    /// The folder in which it began.
    pub(in crate::bench) folder: String,
    /// In the order of the file, which is the order of their seqs.
    pub(in crate::bench) steps: Vec<Step>,
    /// The file.
    text: Vec<u8>,
}

/// The event of a host's hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) enum Event {
    Start,
    Edit,
    Command,
    Failure,
    Prompt,
}

/// A moment at which a hook runs.
pub(in crate::bench) struct HookMoment {
    pub(in crate::bench) event: Event,
    /// Place of the record that follows the hook.
    pub(in crate::bench) at: usize,
    pub(in crate::bench) input: HookInput,
}

impl RecordedSession {
    /// Reads a session; `None` if the file is no transcript.
    pub(in crate::bench) fn read(path: &Path, key: ConversationKey, folder: String) -> Result<Option<Self>> {
        let text = std::fs::read(path).map_err(|error| Failure::file(path, &error))?;
        let Ok(mut reader) = Reader::open(Cursor::new(text.as_slice())) else { return Ok(None) };
        let mut steps: Vec<Step> = Vec::new();
        let mut end = 0;
        while let Ok(Some(record)) = reader.next_record() {
            let start = end + record.lead.len();
            end = start + record.body.len();
            let mut entry = record.entry;
            let before = steps.last().map_or(Timestamp(i64::MIN), |step| step.time);
            let time = entry.time.unwrap_or(before).max(before);
            if entry.thread.is_some() || !entry.origin.is_visible() {
                entry.parts.clear();
            }
            steps.push(Step { facts: facts(&entry), entry, time, start });
        }
        // Records before the first time are no older than the session.
        let first = steps.iter().map(|step| step.time).find(|time| time.0 > i64::MIN);
        for step in steps.iter_mut().take_while(|step| step.time.0 == i64::MIN) {
            step.time = first.unwrap_or(step.time);
        }
        Ok(Some(Self { path: path.to_path_buf(), key, folder, steps, text }))
    }

    /// Time of its newest record.
    pub(in crate::bench) fn end(&self) -> Timestamp {
        self.steps.last().map_or(Timestamp(i64::MIN), |step| step.time)
    }

    /// The file before a record, at most so many bytes.
    pub(in crate::bench) fn before(&self, at: usize, bytes: usize) -> String {
        let end = self.steps.get(at).map_or(self.text.len(), |step| step.start);
        let piece = self.text.get(end.saturating_sub(bytes)..end).unwrap_or_default();
        String::from_utf8_lossy(piece).into_owned()
    }

    /// The moments at which hooks run, in order.
    pub(in crate::bench) fn moments(&self) -> Vec<HookMoment> {
        let mut found = vec![HookMoment { event: Event::Start, at: 0, input: self.input("SessionStart") }];
        let mut calls: Vec<ToolCall> = Vec::new();
        for (at, step) in self.steps.iter().enumerate() {
            if step.entry.origin == Origin::Human && step.entry.role == Role::User {
                let prompt = words(&step.entry);
                // Hosts write their own notes as a person's message, in tags.
                if !prompt.trim().is_empty() && !prompt.starts_with('<') {
                    let input = HookInput { prompt, ..self.input("UserPromptSubmit") };
                    found.push(HookMoment { event: Event::Prompt, at, input });
                }
            }
            for part in &step.entry.parts {
                if let Part::ToolCall(call) = part {
                    found.extend(self.before_call(at, call));
                    calls.push(call.clone());
                }
            }
            found.extend(self.failures(at, &calls));
        }
        found
    }

    fn before_call(&self, at: usize, call: &ToolCall) -> Option<HookMoment> {
        let called = self.steps.get(at)?.facts.iter().find_map(|fact| match fact {
            Fact::Called(called) if called.id == call.id => Some(called),
            _ => None,
        })?;
        let event = called.deeds.iter().find_map(|deed| match deed {
            Deed::Wrote { .. } => Some(Event::Edit),
            Deed::Ran(_) => Some(Event::Command),
            _ => None,
        })?;
        Some(HookMoment { event, at: at + 1, input: self.of_call("PreToolUse", call) })
    }

    fn failures(&self, at: usize, calls: &[ToolCall]) -> Vec<HookMoment> {
        let Some(step) = self.steps.get(at) else { return Vec::new() };
        let failed = step.facts.iter().filter_map(|fact| match fact {
            Fact::Answered(answered) if answered.outcome == Outcome::Failed => Some(&answered.call_id),
            _ => None,
        });
        let of_call = |id: &String| {
            let call = calls.iter().rev().find(|call| call.id == *id)?;
            let result = step.entry.parts.iter().find_map(|part| match part {
                Part::ToolResult(result) if result.call_id == *id => Some(result),
                _ => None,
            })?;
            let said: Vec<&str> = result.content.iter().filter_map(text_of).collect();
            let error = Value::String(said.join("\n"));
            let input = HookInput { error, ..self.of_call("PostToolUseFailure", call) };
            Some(HookMoment { event: Event::Failure, at: at + 1, input })
        };
        failed.filter_map(of_call).collect()
    }

    fn of_call(&self, event: &str, call: &ToolCall) -> HookInput {
        HookInput {
            tool_name: call.name.clone(),
            tool_input: serde_json::from_str(&call.arguments).unwrap_or_default(),
            ..self.input(event)
        }
    }

    fn input(&self, event: &str) -> HookInput {
        HookInput {
            hook_event_name: event.to_owned(),
            session_id: self.key.0.rsplit([':', '/']).next().unwrap_or_default().to_owned(),
            cwd: self.folder.clone(),
            ..HookInput::default()
        }
    }
}

/// What a person or the model says in an entry: texts and the arguments of calls, no results.
pub(in crate::bench) fn words(entry: &Entry) -> String {
    let mut words = Vec::new();
    for part in &entry.parts {
        match part {
            Part::Text(text) => words.push(text.as_str()),
            Part::ToolCall(call) => words.push(&call.arguments),
            _ => {}
        }
    }
    words.join("\n")
}

fn text_of(part: &Part) -> Option<&str> {
    match part {
        Part::Text(text) => Some(text),
        _ => None,
    }
}
