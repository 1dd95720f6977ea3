//! `unforget hook`: what an agent is told at a moment of its session, for the hooks of agent hosts.
//!
//! A hook must never stop its host: whatever happens, the exit code is 0, and a hint is printed only if there is one.

use std::io::Read as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::ledger::{Called, Deed, Fact};
use unforget_text::{HintMoment, HintSession, facts, hint};

use super::memory::{ProjectSession, sessions_at};
use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::recognised::PlaceFilter;
use crate::text;

/// Most bytes of a hook's input that are read: a call may carry a whole file.
const INPUT_BYTES: u64 = 4 << 20;

/// Most new entries of a session that are folded while the host waits.
const BEHIND_MAX: u64 = 200;

/// What a host says on standard input, as far as it is used. Names are those of Claude Code.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct HookInput {
    hook_event_name: String,
    session_id: String,
    cwd: String,
    tool_name: String,
    tool_input: Value,
    tool_response: Value,
    error: Value,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookOutput<'a> {
    hook_specific_output: HookSpecificOutput<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct HookSpecificOutput<'a> {
    hook_event_name: &'a str,
    additional_context: &'a str,
}

/// Reads a host's event and prints a hint, if there is one.
pub(crate) fn run(app: &mut App) -> Outcome {
    match told(app) {
        Ok(Some(Told { event, text })) => {
            let output = HookSpecificOutput { hook_event_name: &event, additional_context: &text };
            app.out.json(&HookOutput { hook_specific_output: output })?;
        }
        Ok(None) => {}
        Err(failure) => app.out.note(format_args!("no hint: {}", failure.message)),
    }
    Ok(Exit::Done)
}

/// A hint and the event that it answers.
struct Told {
    event: String,
    text: String,
}

fn told(app: &App) -> Outcome<Option<Told>> {
    let mut bytes = Vec::new();
    let input = match std::io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut bytes) {
        Ok(_) => serde_json::from_slice::<HookInput>(&bytes).unwrap_or_default(),
        Err(_) => return Ok(None),
    };
    let Some(asked) = AskedMoment::of(&input) else { return Ok(None) };
    let engine = app.read()?;
    let folder = if input.cwd.is_empty() { ".".to_owned() } else { input.cwd.clone() };
    let place = PlaceFilter::of_project(&folder)?;
    let sessions = sessions_at(&engine, &place, BEHIND_MAX)?;
    let is_own = |one: &ProjectSession| {
        one.recognised.stored.key.0.split([':', '/']).any(|part| !part.is_empty() && part == input.session_id)
    };
    let sessions: Vec<ProjectSession> = sessions.into_iter().filter(|one| !is_own(one)).collect();
    let unread = sessions.iter().filter(|one| one.left.behind > 0).count() as u64;
    if unread > 0 {
        let what = text::plural(unread, "session");
        app.out.note(format_args!("{what} of this project not read to the end: unforget memory reads them"));
    }
    let project = sessions.first().map(|one| one.recognised.project()).unwrap_or_default();
    let left: Vec<HintSession> = sessions
        .into_iter()
        .map(|one| HintSession { name: one.recognised.name, items: one.left.items })
        .collect();
    let told = hint(asked.moment(), &project, &left);
    Ok(told.map(|text| Told { event: input.hook_event_name, text }))
}

/// A moment at which something may be told, with its own words.
#[derive(Debug, PartialEq, Eq)]
enum AskedMoment {
    Start,
    Before { what: String, file: Option<String> },
    Failure { what: String, error: String },
}

impl AskedMoment {
    /// The moment of a host's event; `None` for an event at which nothing is told.
    fn of(input: &HookInput) -> Option<Self> {
        match input.hook_event_name.as_str() {
            "SessionStart" => Some(Self::Start),
            "PreToolUse" => {
                let called = called(input)?;
                let file = called.deeds.iter().find_map(|deed| match deed {
                    Deed::Wrote { path, .. } => Some(path.clone()),
                    _ => None,
                });
                Some(Self::Before { what: called.what, file })
            }
            "PostToolUse" | "PostToolUseFailure" => {
                let error = error_of(input)?;
                Some(Self::Failure { what: called(input)?.what, error })
            }
            _ => None,
        }
    }

    fn moment(&self) -> HintMoment<'_> {
        match self {
            Self::Start => HintMoment::SessionStart,
            Self::Before { what, file } => HintMoment::BeforeCall { what, file: file.as_deref() },
            Self::Failure { what, error } => HintMoment::AfterFailure { what, error },
        }
    }
}

/// The call as the ledger reads it.
fn called(input: &HookInput) -> Option<Called> {
    let call = ToolCall {
        id: "hook".to_owned(),
        name: input.tool_name.clone(),
        arguments: input.tool_input.to_string(),
        complete: true,
        raw: None,
    };
    let entry =
        Entry { role: Role::Assistant, parts: vec![Part::ToolCall(call)], ..Entry::bare(Origin::Model) };
    facts(&entry).into_iter().find_map(|fact| match fact {
        Fact::Called(called) => Some(called),
        Fact::Answered(_) => None,
    })
}

/// What a call reported, if it failed.
fn error_of(input: &HookInput) -> Option<String> {
    let response = &input.tool_response;
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let stderr = response.get("stderr").map(text).filter(|text| !text.trim().is_empty());
    let said =
        if input.error.is_null() { stderr.unwrap_or_else(|| text(response)) } else { text(&input.error) };
    let is_error = !input.error.is_null() || response.get("is_error").and_then(Value::as_bool) == Some(true);
    let result = ToolResult {
        call_id: "hook".to_owned(),
        name: input.tool_name.clone(),
        content: vec![Part::Text(said)],
        is_error: true,
        exit_code: None,
    };
    let entry =
        Entry { role: Role::Tool, parts: vec![Part::ToolResult(result)], ..Entry::bare(Origin::Tool) };
    let answered = facts(&entry).into_iter().find_map(|fact| match fact {
        Fact::Answered(answered) => answered.error,
        Fact::Called(_) => None,
    });
    answered.filter(|_| is_error || input.hook_event_name == "PostToolUseFailure")
}
