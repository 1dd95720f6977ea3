//! A session as a new one that an agent resumes: small, or for another agent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;
use unforget_core::digest::Digest;
use unforget_core::entry::Origin;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::message::{Block, Message, Speaker};
use unforget_core::pair::OmissionReason;
use unforget_engine::Engine;
use unforget_engine::discover::{HostFolders, SessionFile};
use unforget_engine::prompt::{SaidThread, Shape, ThreadCuts, ThreadRef};
use unforget_engine::trust::Resolved;
use unforget_guard::{PlaceState, PutBackError, put_back};
use unforget_store::{Conversation, read_all};
use unforget_wire::{
    Format, NotCarried, ResumableTranscript, ResumingHost, SaidMessage, SessionParts, resumable,
};

use super::super::prompt::open_whole;
use super::opencode;
use crate::app::{App, show_progress};
use crate::args::GiveBackArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::recognised::{RecognisedConversation, one};
use crate::text::{bytes, count, plural, quoted};

/// Conversations of sub-agents, which stand in files of their own.
const SUB_AGENTS: &str =
    "conversations of sub-agents: only the answers that they gave are part of the session";

/// Entries of other branches, and what was taken back.
const BESIDE: &str = "entries beside the path that the agent was on: other branches, and what was taken back";

/// How a session is carried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SessionForm {
    /// Every message, verbatim.
    Whole,
    /// Summaries, and the newest messages verbatim.
    Small,
}

impl SessionForm {
    const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole",
            Self::Small => "small",
        }
    }
}

/// The output of `give-back --small` and `--to`.
#[derive(Debug, Serialize)]
struct ResumableJson {
    conversation: String,
    /// The agent that resumes it.
    host: &'static str,
    /// `whole`, or `small`: summaries, and the newest messages.
    form: &'static str,
    /// The agent's id of the new session.
    session: String,
    path: String,
    /// `written`, `missing` (not written yet), `kept` (it was there) or `other` (something else is there).
    state: &'static str,
    /// Whether the agent took the file in; null for agents that read it where it is, and if nothing is written.
    imported: Option<bool>,
    /// Why the agent did not take it in; null if it did.
    import_error: Option<String>,
    messages: u64,
    tokens: u64,
    bytes: u64,
    not_carried: Vec<NotCarriedJson>,
    /// The folder in which the agent resumes it.
    folder: String,
    /// The command that resumes it.
    resume: Vec<String>,
}

/// Something that the agent cannot take.
#[derive(Debug, Serialize)]
struct NotCarriedJson {
    what: &'static str,
    count: u64,
}

/// A session on its way.
struct MadeTranscript {
    one: RecognisedConversation,
    host: ResumingHost,
    form: SessionForm,
    messages: u64,
    tokens: u64,
    folder: String,
    transcript: ResumableTranscript,
}

/// A session at its place.
struct PlacedTranscript {
    made: MadeTranscript,
    path: PathBuf,
    state: PlaceState,
    /// Whether the agent took the file in, or why not; `None` if nobody asked it to.
    imported: Option<Result<(), String>>,
}

/// Writes a session for an agent.
pub(super) fn run(app: &mut App, args: &GiveBackArgs, name: &str, folders: &HostFolders) -> Outcome {
    let made = app.open_or_read_for(|engine| make(app, engine, args, name))?;
    let path = place(app, &made, folders)?;
    let text = made.transcript.text.as_bytes();
    let back = put_back(&path, args.dry_run, |out| out.write_all(text)).map_err(|error| match error {
        PutBackError::Place(error) | PutBackError::Content(error) => Failure::file(&path, &error),
    })?;
    let is_there = matches!(back.state, PlaceState::Written | PlaceState::Kept);
    let is_taken = made.host == ResumingHost::Opencode && is_there && !args.dry_run;
    let imported = is_taken.then(|| opencode::take_in(&path, &made.folder));
    let placed = PlacedTranscript { made, path, state: back.state, imported };
    say(app, args, &placed)?;
    let is_done = placed.state != PlaceState::Other && !matches!(placed.imported, Some(Err(_)));
    Ok(if is_done { Exit::Done } else { Exit::Problems })
}

/// The session as the agent's transcript.
fn make(app: &App, engine: &Engine, args: &GiveBackArgs, name: &str) -> Outcome<MadeTranscript> {
    let found = super::super::resolve(engine, name)?;
    let one = one(engine, found.conversation.clone())?;
    let own = Format::by_name(&one.stored.format).and_then(ResumingHost::of_format);
    let host = args.to.map(|to| to.0).or(own).ok_or_else(|| no_host(&one))?;
    let window = args.window.unwrap_or(app.settings.window.value);
    let shape = Shape::new(window, None, host.target().dialect);
    let (form, mut thread) = thread(app, engine, &found, &ThreadChoice { is_small: args.small, shape })?;
    if thread.said.is_empty() {
        let what = format!("{} has no message that an agent could go on with", one.name);
        return Err(Failure::usage(what, format!("unforget show {} --all shows what it holds", one.name)));
    }
    let (messages, tokens) = (thread.said.len() as u64, thread.tokens);
    let summary = thread.summary.take().map(|text| format!("{}\n\n{text}", whereabouts(&one)));
    if summary.is_none() && !thread.cuts.is_empty() {
        thread.said.insert(0, note(whereabouts(&one)));
    }
    let folder = folder(app, &one)?;
    let parts = SessionParts {
        seed: Digest::of(format!("{} {}", one.stored.key, host.name()).as_bytes()),
        folder: &folder,
        title: one.facts.title().map_or("", |title| title.text),
        undated: undated(engine, &one)?,
        summary: summary.as_deref(),
        said: &thread.said,
    };
    let mut transcript = resumable(&parts, host).map_err(|error| {
        let hint = "nothing was written; unforget handoff makes a document for any agent";
        Failure::input("file", error.to_string(), hint)
    })?;
    let beside = one.stored.entries.saturating_sub(one.stored.length);
    let counts = [(SUB_AGENTS, sub_agents(engine, &one)?), (BESIDE, beside)];
    let lost = counts.into_iter().chain(cuts(thread.cuts)).filter(|(_, count)| *count > 0);
    transcript.not_carried.extend(lost.map(|(what, count)| NotCarried { what, count }));
    transcript.not_carried.extend(omissions(&thread.omitted));
    Ok(MadeTranscript { one, host, form, messages, tokens, folder, transcript })
}

/// What is cut for room.
const fn cuts(cuts: ThreadCuts) -> [(&'static str, u64); 3] {
    [
        ("parts that are shortened: each names the entry of the whole", cuts.shortened),
        ("reasoning and unknown blocks of older turns", cuts.dropped),
        ("entries for which one line stands, for want of room", cuts.elided),
    ]
}

/// A text of ours in front of the messages.
fn note(text: String) -> SaidMessage {
    let message =
        Message { speaker: Speaker::User, blocks: vec![Block::Ours(text)], model: None, seqs: Vec::new() };
    SaidMessage { message, origin: Origin::Injected, time: None }
}

/// When a session was written that tells no times: when its newest file was, else 1970.
fn undated(engine: &Engine, one: &RecognisedConversation) -> Outcome<Timestamp> {
    if let Some((first, _)) = one.stored.time {
        return Ok(first);
    }
    let snapshots = read_all(|page| engine.store().snapshots(one.stored.id, page))?;
    let modified = snapshots.last().map(|snapshot| snapshot.modified_ns / 1_000_000);
    Ok(Timestamp(modified.and_then(|time| i64::try_from(time).ok()).unwrap_or_default()))
}

/// Entries that no provider takes, by the reason.
fn omissions(omitted: &[(Seq, OmissionReason)]) -> impl Iterator<Item = NotCarried> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    for (_, reason) in omitted {
        let what = match reason {
            OmissionReason::CutOff => "messages that were cut off: their calls were never run",
            OmissionReason::NoCall => "results without a call",
            OmissionReason::SecondResult => "further results of a call",
            OmissionReason::LongSystem => "instructions that leave no room",
            OmissionReason::Blank => "entries without words, such as reasoning in an entry of its own",
        };
        *counts.entry(what).or_default() += 1;
    }
    counts.into_iter().map(|(what, count)| NotCarried { what, count })
}

fn no_host(one: &RecognisedConversation) -> Failure {
    let names: Vec<_> = ResumingHost::ALL.iter().map(|host| host.name()).collect();
    let what = format!("{} resumes no session that it did not write itself", one.host());
    Failure::usage(what, format!("name another agent with --to: {}", names.join(", ")))
}

/// What is wanted of a thread.
struct ThreadChoice {
    /// Whether everything that is old enough is summarised.
    is_small: bool,
    shape: Shape,
}

/// The messages: all of them if they fit the agent's window with room to go on.
fn thread(
    app: &App,
    engine: &Engine,
    found: &Resolved,
    choice: &ThreadChoice,
) -> Outcome<(SessionForm, SaidThread)> {
    let shape = choice.shape;
    if !choice.is_small {
        let lane = ThreadRef { conversation: found.conversation.id, thread: found.thread };
        let bar = app.progress(0, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} entries  {eta} left");
        bar.set_message("reading the history");
        let whole = engine.said(lane, shape, &mut |done, total| show_progress(&bar, done, total));
        bar.finish_and_clear();
        let whole = whole?;
        if shape.policy.leaves_room(whole.tokens) {
            return Ok((SessionForm::Whole, whole));
        }
    }
    let mut session = open_whole(app, engine, found, shape)?;
    if choice.is_small {
        session.compact()?;
    }
    Ok((SessionForm::Small, session.divided()?))
}

/// Tells the agent where the whole is.
fn whereabouts(one: &RecognisedConversation) -> String {
    format!(
        "[This is a shortened form of {}, which Unforget keeps word for word. In a shell, `unforget expand e:{}:12` \
         prints its entry 12 (s:12 below), `unforget expand sum:…` the entries of a summary, and `unforget search WORDS` \
         finds what was said.]",
        one.stored.key, one.name
    )
}

/// The folder of the session, if it is on this machine; else the current one. A relative one is not the transcript's to choose.
fn folder(app: &App, one: &RecognisedConversation) -> Outcome<String> {
    if let Some(folder) = one.facts.folder.as_ref().filter(|folder| is_folder(Path::new(folder))) {
        return Ok(folder.clone());
    }
    let here = std::env::current_dir().map_err(|error| Failure::file(Path::new("."), &error))?;
    if let Some(gone) = &one.facts.folder {
        app.out.note(format_args!("{gone} is no folder here: the session is for {}", here.display()));
    }
    Ok(here.display().to_string())
}

fn is_folder(path: &Path) -> bool {
    path.is_absolute() && path.is_dir()
}

fn sub_agents(engine: &Engine, one: &RecognisedConversation) -> Outcome<u64> {
    let is_below = |stored: &Conversation| stored.parent.as_ref() == Some(&one.stored.key);
    Ok(engine.recognised(&is_below)?.len() as u64)
}

/// The file in which the agent looks for the session; for opencode, which keeps a database, a file of ours.
fn place(app: &App, made: &MadeTranscript, folders: &HostFolders) -> Outcome<PathBuf> {
    let transcript = &made.transcript;
    let file = SessionFile {
        format: made.host.format().name(),
        session: &transcript.session,
        folder: &made.folder,
        begun: Some(transcript.begun),
    };
    if made.host == ResumingHost::Opencode {
        let data =
            app.settings.db.value.file_for("give-back --to opencode")?.parent().unwrap_or(Path::new("."));
        return Ok(data.join("given-back").join(format!("{}.json", transcript.session)));
    }
    file.place(folders).ok_or_else(|| {
        let what = format!("nothing tells where {} looks for a session", made.host.name());
        Failure::usage(what, "unforget handoff writes a document for any agent")
    })
}

/// The command with which the agent resumes the session.
fn command_of(placed: &PlacedTranscript) -> Vec<String> {
    let session = &placed.made.transcript.session;
    let path = placed.path.display().to_string();
    let words = match placed.made.host {
        ResumingHost::ClaudeCode => ["claude", "--resume", session],
        ResumingHost::Codex => ["codex", "resume", session],
        ResumingHost::Opencode => ["opencode", "--session", session],
        ResumingHost::Pi => ["pi", "--session", &path],
    };
    words.map(str::to_owned).to_vec()
}

fn say(app: &mut App, args: &GiveBackArgs, placed: &PlacedTranscript) -> Outcome<()> {
    let MadeTranscript { one, host, form, messages, tokens, folder, transcript } = &placed.made;
    let resume = command_of(placed);
    if app.out.json {
        let not_carried = transcript.not_carried.iter();
        return app.out.json(&ResumableJson {
            conversation: one.stored.key.0.clone(),
            host: host.name(),
            form: form.name(),
            session: transcript.session.clone(),
            path: placed.path.display().to_string(),
            state: placed.state.name(),
            imported: placed.imported.as_ref().map(Result::is_ok),
            import_error: placed.imported.clone().and_then(Result::err),
            messages: *messages,
            tokens: *tokens,
            bytes: transcript.text.len() as u64,
            not_carried: not_carried
                .map(|lost| NotCarriedJson { what: lost.what, count: lost.count })
                .collect(),
            folder: folder.clone(),
            resume,
        });
    }
    let size = format!(
        "{}, {}, {} tokens, {}",
        form.name(),
        plural(*messages, "message"),
        count(*tokens),
        bytes(transcript.text.len() as u64)
    );
    let state = super::state_words(placed.state);
    writeln!(app.out, "{} ({size}) {state}: {}", one.name, placed.path.display())?;
    for lost in &transcript.not_carried {
        app.out.note(format_args!("not carried, {}: {}", plural(lost.count, "time"), lost.what));
    }
    if let Some(Err(why)) = &placed.imported {
        let path = quoted(&placed.path.display().to_string());
        app.out.note(format_args!(
            "opencode did not take it in: {why}; run: cd {} && opencode import {path}",
            quoted(folder)
        ));
    }
    if placed.state == PlaceState::Other {
        let path = quoted(&placed.path.display().to_string());
        app.out.note(format_args!(
            "somebody changed what was written there; move it away to write it again: mv {path} {path}.old"
        ));
    }
    if !args.dry_run && placed.state != PlaceState::Other {
        let words: Vec<_> = resume.iter().map(|word| quoted(word)).collect();
        app.out.note(format_args!("go on with it: cd {} && {}", quoted(folder), words.join(" ")));
    }
    Ok(())
}
