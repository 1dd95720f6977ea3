//! `unforget resume`: back into the agent at a conversation.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;
use unforget_core::id::ConversationKey;
use unforget_engine::Engine;

use crate::app::App;
use crate::args::ResumeArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::recognised::{PlaceFilter, RecognisedConversation, everything, one};
use crate::text;

/// How an agent is put back into a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ResumeJson {
    conversation: String,
    /// Program and arguments.
    command: Vec<String>,
    folder: Option<String>,
}

/// Runs the agent, or prints the command.
pub(crate) fn run(app: &mut App, args: &ResumeArgs) -> Outcome {
    let engine = app.read()?;
    let found = named_or_newest(&engine, args.conversation.as_deref())?;
    let command = command_of(&engine, &found)?;
    let folder = found.facts.folder.clone();
    if app.out.json {
        app.out.json(&ResumeJson { conversation: found.stored.key.0, command, folder })?;
        return Ok(Exit::Done);
    }
    let words: Vec<_> = command.iter().map(|word| text::quoted(word)).collect();
    let line = words.join(" ");
    if args.print {
        let place = folder.map(|folder| format!("cd {} && ", text::quoted(&folder))).unwrap_or_default();
        writeln!(app.out, "{place}{line}")?;
        return Ok(Exit::Done);
    }
    start(app, &command, folder.as_deref(), &line)
}

/// The conversation with a name, or the newest of the project in whose folder the command runs.
pub(super) fn named_or_newest(engine: &Engine, name: Option<&str>) -> Outcome<RecognisedConversation> {
    match name {
        Some(name) => one(engine, super::resolve(engine, name)?.conversation),
        None => newest_here(engine),
    }
}

/// The newest conversation of the project in whose folder the command runs.
fn newest_here(engine: &Engine) -> Outcome<RecognisedConversation> {
    let here = PlaceFilter::of_project(".")?;
    let all = everything(engine)?.into_iter().filter(|one| one.stored.parent.is_none() && here.takes(one));
    all.max_by_key(RecognisedConversation::last).ok_or_else(|| {
        let hint = "name one: unforget list shows all conversations";
        Failure::usage("no conversation of this project is stored", hint)
    })
}

/// The host's id of a session, from its key.
pub(super) fn session_of(key: &ConversationKey) -> &str {
    key.0.split_once(':').map_or("", |(_, session)| session)
}

/// Whether the agent of a session is one that resumes sessions.
pub(super) fn is_resumed(found: &RecognisedConversation) -> bool {
    found.stored.parent.is_none() && (found.host() == "pi" || words_of(&found.stored.format, "").is_some())
}

/// The words of a command that resumes a session, for the agents that find it by its id.
fn words_of<'a>(format: &str, session: &'a str) -> Option<Vec<&'a str>> {
    Some(match format {
        "claude-code" | "claude-stream" => vec!["claude", "--resume", session],
        "codex" | "codex-exec" => vec!["codex", "resume", session],
        "gemini-cli" => vec!["gemini", "--resume", session],
        "copilot-cli" => vec!["copilot", "--resume", session],
        "opencode" => vec!["opencode", "--session", session],
        "crush" => vec!["crush", "--session", session],
        "goose" => vec!["goose", "session", "--resume", "--session-id", session],
        "hermes" => vec!["hermes", "--resume", session],
        "qwen-code" => vec!["qwen", "--resume", session],
        "amp" => vec!["amp", "threads", "continue", session],
        _ => return None,
    })
}

/// The command that resumes a session in its agent.
pub(super) fn command_of(engine: &Engine, found: &RecognisedConversation) -> Outcome<Vec<String>> {
    command_with(found, || transcript_of(engine, found))
}

/// The command that resumes a session in its agent.
///
/// * `file` - the session's file, for agents that are given a path.
pub(super) fn command_with(
    found: &RecognisedConversation,
    file: impl FnOnce() -> Outcome<PathBuf>,
) -> Outcome<Vec<String>> {
    let stored = &found.stored;
    let session = session_of(&stored.key);
    let refused = |what: String, hint: &str| Err(Failure::usage(what, hint));
    if let Some(parent) = &stored.parent {
        let hint = format!("resume the conversation that started it: unforget resume {parent}");
        return refused("an agent cannot resume a sub-agent".to_owned(), &hint);
    }
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "-_.".contains(one);
    if session.is_empty() || session.starts_with('-') || !session.chars().all(is_plain) {
        return refused(
            format!("no agent takes the session id of {}", found.name),
            "unforget open shows its transcript",
        );
    }
    if found.host() == "openclaw" {
        let what = "OpenClaw goes on with its sessions by itself".to_owned();
        return refused(what, "write to its agent, or read the session: unforget show");
    }
    if stored.format == "pi" {
        let file = file()?;
        return Ok(vec!["pi".to_owned(), "--session".to_owned(), file.display().to_string()]);
    }
    let Some(words) = words_of(&stored.format, session) else {
        let hint = "Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, opencode, Crush, Goose, Hermes, Amp and pi resume sessions";
        return refused(format!("there is no agent that resumes a conversation of {}", stored.format), hint);
    };
    Ok(words.into_iter().map(str::to_owned).collect())
}

/// The file of the newest import, which must still be there.
pub(super) fn transcript_of(engine: &Engine, found: &RecognisedConversation) -> Outcome<PathBuf> {
    let snapshot = engine.store().latest_snapshot(found.stored.id)?;
    let path = snapshot
        .map(|snapshot| PathBuf::from(snapshot.path))
        .filter(|path| path.is_absolute() && path.is_file());
    path.ok_or_else(|| {
        let hint = format!("unforget export {} -o FILE writes it again", found.name);
        Failure::usage(format!("the transcript of {} is not where it was imported from", found.name), hint)
    })
}

fn start(app: &App, command: &[String], folder: Option<&str>, line: &str) -> Outcome {
    let Some((program, arguments)) = command.split_first() else { return Ok(Exit::Done) };
    let mut child = Command::new(program);
    child.args(arguments);
    if let Some(folder) = folder.map(Path::new) {
        if !folder.is_dir() {
            let what = format!("the folder of the session is gone: {}", folder.display());
            return Err(Failure::usage(what, format!("run it elsewhere: {line}")));
        }
        child.current_dir(folder);
    }
    app.out.note(format_args!("{line}"));
    let status = child.status().map_err(|error| {
        let what = format!("{program} cannot be started: {error}");
        Failure::usage(what, format!("install {program}, or run it elsewhere: {line}"))
    })?;
    Ok(if status.success() { Exit::Done } else { Exit::Problems })
}
