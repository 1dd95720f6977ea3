//! `unforget hook`: what an agent is told at a moment of its session, for the hooks of agent hosts.
//!
//! A hook must never stop its host: whatever happens, the exit code is 0, a hint is printed only if there is one, and the process
//! ends within twice [`PATIENCE`].

use std::io::{Read as _, Seek as _, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};
use unforget_core::id::ConversationKey;
use unforget_core::ledger::{Called, Deed, Fact};
use unforget_engine::Engine;
use unforget_text::{HintMoment, HintSession, UnaskedHint, facts, hint};

use super::memory::{ProjectSession, sessions_at};
use crate::app::App;
use crate::args::HookArgs;
use crate::failure::{Exit, Outcome};
use crate::recognised::PlaceFilter;
use crate::text;

/// Most bytes of a hook's input that are read: a call may carry a whole file.
const INPUT_BYTES: u64 = 4 << 20;

/// Time after which a host waits no longer, whatever keeps the hook: an input that never ends, a server that is silent.
const PATIENCE: Duration = Duration::from_secs(2);

/// Most new entries of a session that are folded while the host waits.
const BEHIND_MAX: u64 = 200;

/// Bytes at the end of the session's transcript that are looked through, so that nothing of them is repeated.
pub(crate) const LATEST_BYTES: u64 = 1 << 20;

/// What a host says on standard input, as far as it is used. Names are those of Claude Code.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct HookInput {
    pub(crate) hook_event_name: String,
    pub(crate) session_id: String,
    pub(crate) cwd: String,
    pub(crate) transcript_path: String,
    pub(crate) prompt: String,
    pub(crate) tool_name: String,
    pub(crate) tool_input: Value,
    pub(crate) tool_response: Value,
    pub(crate) error: Value,
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
pub(crate) fn run(app: &mut App, args: &HookArgs) -> Outcome {
    let is_answered = end_in_time();
    let mut bytes = Vec::new();
    let input = match std::io::stdin().lock().take(INPUT_BYTES).read_to_end(&mut bytes) {
        Ok(_) => serde_json::from_slice::<HookInput>(&bytes).unwrap_or_default(),
        Err(_) => return Ok(Exit::Done),
    };
    let Some(asked) = AskedMoment::of(&input, args.margin) else { return Ok(Exit::Done) };
    let heard =
        app.read().and_then(|engine| heard(&engine, &input, &asked, &|| latest(&input.transcript_path)));
    match heard {
        Ok(heard) => {
            if heard.unread > 0 {
                let what = text::plural(heard.unread, "session");
                app.out.note(format_args!(
                    "{what} of this project not read to the end: unforget memory reads them"
                ));
            }
            if let Some(hint) = heard.hint.filter(|_| !is_answered.swap(true, Ordering::SeqCst)) {
                let output = HookSpecificOutput {
                    hook_event_name: &input.hook_event_name,
                    additional_context: &hint.text,
                };
                app.out.json(&HookOutput { hook_specific_output: output })?;
            }
        }
        Err(failure) => app.out.note(format_args!("no hint: {}", failure.message)),
    }
    Ok(Exit::Done)
}

/// Ends the process when a host has waited long enough, unless a hint is on its way by then.
///
/// The hook only reads, so that nothing is lost. Returns the flag that a caller sets before it prints a hint.
fn end_in_time() -> Arc<AtomicBool> {
    let is_answered = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&is_answered);
    std::thread::spawn(move || {
        std::thread::sleep(PATIENCE);
        if seen.swap(true, Ordering::SeqCst) {
            // The host has as long again to read it.
            std::thread::sleep(PATIENCE);
        }
        std::process::exit(0);
    });
    is_answered
}

/// What an agent hears at an event, and what that was chosen from.
pub(crate) struct Heard {
    /// The hint, if there is one.
    pub(crate) hint: Option<UnaskedHint>,
    /// The sessions that it was chosen from, the newest first.
    pub(crate) sessions: Vec<HintSession>,
    /// Keys of their conversations.
    pub(crate) keys: Vec<ConversationKey>,
    /// Number of sessions that were not read to the end.
    unread: u64,
}

/// What an agent hears at an event.
///
/// * `latest` - the newest text of its session, of which nothing is repeated.
pub(crate) fn heard(
    engine: &Engine,
    input: &HookInput,
    asked: &AskedMoment,
    latest: &dyn Fn() -> String,
) -> Outcome<Heard> {
    let folder = if input.cwd.is_empty() { "." } else { input.cwd.as_str() };
    let place = PlaceFilter::of_project(folder)?;
    let is_own = |one: &ProjectSession| {
        one.recognised.stored.key.0.split([':', '/']).any(|part| !part.is_empty() && part == input.session_id)
    };
    let mut left = sessions_at(engine, &place, BEHIND_MAX)?;
    left.retain(|one| !is_own(one));
    let unread = left.iter().filter(|one| one.left.behind > 0).count() as u64;
    let project = left.first().map(|one| one.recognised.project()).unwrap_or_default();
    let keys = left.iter().map(|one| one.recognised.stored.key.clone()).collect();
    let sessions: Vec<HintSession> = left
        .into_iter()
        .map(|one| HintSession { name: one.recognised.name, items: one.left.items })
        .collect();
    let hint = hint(asked.moment(), &project, &sessions, latest);
    Ok(Heard { hint, sessions, keys, unread })
}

/// The end of a session's transcript, which its host names; empty if it cannot be read. Only regular files are read.
fn latest(transcript: &str) -> String {
    let read = || -> Option<Vec<u8>> {
        let meta = std::fs::metadata(transcript).ok().filter(std::fs::Metadata::is_file)?;
        let mut file = std::fs::File::open(transcript).ok()?;
        file.seek(SeekFrom::Start(meta.len().saturating_sub(LATEST_BYTES))).ok()?;
        let mut bytes = Vec::new();
        file.take(LATEST_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    };
    let bytes = if transcript.is_empty() { None } else { read() };
    String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
}

/// A moment at which something may be told, with its own words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AskedMoment {
    Start,
    Before { what: String, file: Option<String>, arguments: String, margin: f64 },
    Failure { what: String, error: String },
    Prompt { text: String, margin: f64 },
}

impl AskedMoment {
    /// The moment of a host's event; `None` for an event at which nothing is told.
    ///
    /// * `margin` - least relevance of what is told before a call and about a person's message. Without one, nothing is
    ///   told there: no margin made eight of ten hints right on recorded sessions (`bench hints`, ADR 0025).
    pub(crate) fn of(input: &HookInput, margin: Option<f64>) -> Option<Self> {
        match input.hook_event_name.as_str() {
            "SessionStart" => Some(Self::Start),
            "PreToolUse" => {
                let margin = margin?;
                let called = called(input)?;
                let file = called.deeds.iter().find_map(|deed| match deed {
                    Deed::Wrote { path, .. } => Some(path.clone()),
                    _ => None,
                });
                let arguments = input.tool_input.to_string();
                Some(Self::Before { what: called.what, file, arguments, margin })
            }
            "PostToolUse" | "PostToolUseFailure" => {
                let error = error_of(input)?;
                Some(Self::Failure { what: called(input)?.what, error })
            }
            "UserPromptSubmit" => Some(Self::Prompt { text: input.prompt.clone(), margin: margin? }),
            _ => None,
        }
    }

    fn moment(&self) -> HintMoment<'_> {
        match self {
            Self::Start => HintMoment::SessionStart,
            Self::Before { what, file, arguments, margin } => {
                HintMoment::BeforeCall { what, file: file.as_deref(), arguments, margin: *margin }
            }
            Self::Failure { what, error } => HintMoment::AfterFailure { what, error },
            Self::Prompt { text, margin } => HintMoment::Prompt { text, margin: *margin },
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
        Fact::Answered(_) | Fact::Asked => None,
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
        Fact::Called(_) | Fact::Asked => None,
    });
    answered.filter(|_| is_error || input.hook_event_name == "PostToolUseFailure")
}
