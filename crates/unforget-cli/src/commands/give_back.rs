//! `unforget give-back`: sessions back where their agents resume them.

mod opencode;
mod resumable;

use std::path::{Path, PathBuf};

use serde::Serialize;
use unforget_engine::Engine;
use unforget_engine::discover::{HostFolders, SessionFile};
use unforget_engine::trust::Exported;
use unforget_guard::{PlaceState, PutBackError, put_back};
use unforget_store::{Conversation, read_all};

use super::resume::{command_with, session_of};
use crate::app::App;
use crate::args::GiveBackArgs;
use crate::config::host_folders;
use crate::failure::{Exit, Failure, Outcome};
use crate::recognised::{RecognisedConversation, everything};
use crate::text::{bytes, plural, quoted};

/// A session at its place.
#[derive(Debug, Serialize)]
struct GivenBackJson {
    conversation: String,
    path: String,
    /// `written`, `missing` (not written yet), `kept` (it was there) or `other` (something else is there).
    state: &'static str,
    entries: u64,
    bytes: u64,
    /// Purged entries, which the file lacks.
    purged: u64,
}

/// The output of `give-back`.
#[derive(Debug, Serialize)]
struct GiveBackJson {
    sessions: Vec<GivenBackJson>,
    /// The command with which the agent of the named session resumes it; null with `--lost`, and for agents that resume nothing.
    resume: Option<Vec<String>>,
    /// The folder in which that command finds the session; null if no folder is known, or there is no command.
    folder: Option<String>,
}

/// The command with which a session goes on.
struct NextStep {
    command: Vec<String>,
    folder: Option<String>,
}

/// A session and the file in which its host looks for it.
struct PlacedSession {
    one: RecognisedConversation,
    path: PathBuf,
}

/// A session, and what stands at its place.
struct ReturnedSession {
    session: PlacedSession,
    state: PlaceState,
    exported: Exported,
}

/// Puts one session back with its sub-agents, or all that are lost.
pub(crate) fn run(app: &mut App, args: &GiveBackArgs) -> Outcome {
    let folders = host_folders().ok_or_else(|| {
        let hint = "unforget export writes a session to a file of yours";
        Failure::usage("there is no home folder to write to", hint)
    })?;
    if let Some(name) = args.conversation.as_deref().filter(|_| args.small || args.to.is_some()) {
        return resumable::run(app, args, name, &folders);
    }
    let engine = app.read()?;
    let mut placed = Vec::new();
    let mut named: Option<RecognisedConversation> = None;
    let mut place = None;
    if let Some(name) = &args.conversation {
        let key = super::resolve(&engine, name)?.conversation.key;
        let belongs = |stored: &Conversation| stored.key == key || stored.parent.as_ref() == Some(&key);
        for one in engine.recognised(&belongs)? {
            let is_named = one.stored.key == key;
            match place_of(&engine, &one, &folders)? {
                Some(path) => {
                    if is_named && named.is_none() {
                        (named, place) = (Some(one.clone()), Some(path.clone()));
                    }
                    placed.push(PlacedSession { one, path });
                }
                None if is_named => return Err(no_place(&one)),
                None => app.out.note(format_args!("{} has no place of its own: it was left out", one.name)),
            }
        }
    } else {
        placed = lost(&engine, &folders)?;
    }
    let is_try = args.dry_run || (args.lost && !args.yes);
    let mut given = Vec::new();
    for session in placed {
        let write = |out: &mut dyn std::io::Write| engine.export(session.one.stored.id, None, out);
        let back = put_back(&session.path, is_try, write).map_err(|error| match error {
            PutBackError::Place(error) => Failure::file(&session.path, &error),
            PutBackError::Content(error) => error.into(),
        })?;
        given.push(ReturnedSession { session, state: back.state, exported: back.told });
    }
    // Some agents take the file's path: that of the file that was written, wherever the session was imported from.
    let next = named.zip(place).and_then(|(one, path)| {
        let is_there = given.iter().any(|back| back.session.path == path && back.state != PlaceState::Other);
        let command = command_with(&one, || Ok(path)).ok().filter(|_| is_there)?;
        Some(NextStep { command, folder: one.facts.folder })
    });
    let has_other = given.iter().any(|back| back.state == PlaceState::Other);
    say(app, args, &given, next)?;
    Ok(if has_other { Exit::Problems } else { Exit::Done })
}

fn no_place(one: &RecognisedConversation) -> Failure {
    let what = format!("nothing tells where {} looks for the file of {}", one.host(), one.name);
    let hint = format!(
        "unforget export {} -o FILE writes it to a file, unforget handoff a document for any agent",
        one.name
    );
    Failure::usage(what, hint)
}

/// The file in which a session's host looks for it: where it was, or where its host would make it.
fn place_of(
    engine: &Engine,
    one: &RecognisedConversation,
    folders: &HostFolders,
) -> Outcome<Option<PathBuf>> {
    let stored = &one.stored;
    let file = SessionFile {
        format: &stored.format,
        session: session_of(&stored.key),
        folder: one.facts.folder.as_deref().unwrap_or_default(),
        begun: stored.time.map(|(first, _)| first),
    };
    Ok(known_place(engine, one, folders)?.or_else(|| file.place(folders)))
}

/// The newest place in a folder of its host from which a session was imported: copies elsewhere are imported too.
fn known_place(
    engine: &Engine,
    one: &RecognisedConversation,
    folders: &HostFolders,
) -> Outcome<Option<PathBuf>> {
    let snapshots = read_all(|page| engine.store().snapshots(one.stored.id, page))?;
    Ok(snapshots.iter().rev().find_map(|snapshot| folders.place_of(&snapshot.path)))
}

/// The sessions that were imported from a folder of their host and are there no more.
fn lost(engine: &Engine, folders: &HostFolders) -> Outcome<Vec<PlacedSession>> {
    let mut lost = Vec::new();
    for one in everything(engine)? {
        if let Some(path) = known_place(engine, &one, folders)?.filter(|path| !path.exists()) {
            lost.push(PlacedSession { one, path });
        }
    }
    Ok(lost)
}

fn say(app: &mut App, args: &GiveBackArgs, given: &[ReturnedSession], next: Option<NextStep>) -> Outcome<()> {
    if app.out.json {
        let session = |back: &ReturnedSession| GivenBackJson {
            conversation: back.session.one.stored.key.0.clone(),
            path: back.session.path.display().to_string(),
            state: back.state.name(),
            entries: back.exported.entries,
            bytes: back.exported.bytes,
            purged: back.exported.purged,
        };
        let sessions = given.iter().map(session).collect();
        let (resume, folder) = next.map_or((None, None), |next| (Some(next.command), next.folder));
        return app.out.json(&GiveBackJson { sessions, resume, folder });
    }
    given.iter().try_for_each(|back| say_one(app, back))?;
    let count = given.len() as u64;
    if args.lost && count == 0 {
        writeln!(app.out, "every session that was imported from a folder of its agent is there")?;
    } else if args.lost && !args.yes {
        app.out.note(format_args!(
            "{} gone from the agent's folder; --yes puts back what is gone",
            plural(count, "session")
        ));
    }
    if let Some(NextStep { command, folder }) = next.filter(|_| !args.dry_run) {
        let words: Vec<_> = command.iter().map(|word| quoted(word)).collect();
        let place = folder.as_ref().map(|folder| format!("cd {} && ", quoted(folder))).unwrap_or_default();
        app.out.note(format_args!("go on with it: {place}{}", words.join(" ")));
        if let Some(folder) = folder.filter(|folder| !Path::new(folder).is_dir()) {
            app.out.note(format_args!("there is no folder {}: the agent worked there", quoted(&folder)));
        }
    }
    Ok(())
}

/// What became of a file, for people.
const fn state_words(state: PlaceState) -> &'static str {
    match state {
        PlaceState::Written => "written",
        PlaceState::Missing => "would be written",
        PlaceState::Kept => "is there already",
        PlaceState::Other => "not written: another file is there",
    }
}

fn say_one(app: &mut App, back: &ReturnedSession) -> Outcome<()> {
    let what = state_words(back.state);
    let name = &back.session.one.name;
    let size = format!("{}, {}", plural(back.exported.entries, "entry"), bytes(back.exported.bytes));
    writeln!(app.out, "{name} ({size}) {what}: {}", back.session.path.display())?;
    if back.state == PlaceState::Other {
        app.out.note(format_args!("move that file away, or write beside it: unforget export {name} -o FILE"));
    }
    if back.exported.purged > 0 {
        app.out.note(format_args!("{} purged and missing in it", plural(back.exported.purged, "entry")));
    }
    Ok(())
}
