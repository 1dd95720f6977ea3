//! `unforget sync`: one set of sessions on several machines.

mod intake;
mod machine;

use std::path::Path;

use serde::Serialize;
use unforget_core::id::ConversationKey;
use unforget_engine::{Engine, causes};
use unforget_sync::{LocalHistory, PutReport, SyncError, SyncEvent, SyncFolder, TakeReport, take};

use super::passphrase::passphrase;
use crate::app::App;
use crate::args::SyncArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::remote::Writer;
use crate::text::{self, bytes, plural};
use intake::WriterIntake;

/// The output of `sync`.
#[derive(Debug, Serialize)]
struct SyncJson<'a> {
    place: &'a str,
    /// What came to this machine.
    taken: TakeReport,
    /// What went to the folder; null for another machine.
    put: Option<PutJson>,
    /// What the other machine took; null for a folder.
    given: Option<TakeReport>,
    /// What was passed over.
    left: Vec<LeftJson>,
    /// Files of the folder that are not what their names say.
    damaged: Vec<String>,
    /// Whether titles, tags, verdicts and put-back entries of the other machine stay there, since its program is older than they are.
    peer_is_old: bool,
    /// Lanes of the gateway and of live hosts, which stay on this machine.
    lanes: u64,
    dry_run: bool,
}

#[derive(Debug, Serialize)]
struct PutJson {
    conversations: u64,
    bytes: u64,
    /// Conversations of which purged text was removed from the folder.
    purged: u64,
    /// What people said: titles, stars, tags, verdicts, put-back entries.
    sayings: u64,
}

#[derive(Debug, Serialize)]
struct LeftJson {
    conversation: String,
    why: String,
    /// Whether its missing records were purged: nothing of it is to come, and nothing is to be done.
    purged: bool,
}

/// What a step told, for people and for JSON.
#[derive(Default)]
struct ToldEvents {
    lines: Vec<String>,
    left: Vec<LeftJson>,
    /// The other machine's program is older than sayings.
    is_peer_old: bool,
}

impl ToldEvents {
    fn hear(&mut self, event: &SyncEvent<'_>) {
        let shown = |key: &ConversationKey| text::key(&key.0);
        match event {
            SyncEvent::Taken { key, added } => {
                self.lines.push(format!("{}  {} new", shown(key), plural(*added, "entry")));
            }
            SyncEvent::Waiting { key, records } => {
                self.lines.push(format!("{}  waits, {} in all", shown(key), plural(*records, "entry")));
            }
            SyncEvent::PurgedElsewhere { key, entries, is_done } => {
                let entries = plural(*entries, "entry");
                self.lines.push(if *is_done {
                    format!("{}  {entries} purged, as on another machine", shown(key))
                } else {
                    format!("{}  {entries} were purged on another machine: --purges does it here", shown(key))
                });
            }
            SyncEvent::Said { key, added } => {
                let what = plural(*added, "saying");
                self.lines.push(format!("{}  {what} of people", shown(key)));
            }
            SyncEvent::NoSayings => self.is_peer_old = true,
            SyncEvent::Left { key, why } => {
                let (purged, why) = (matches!(why, SyncError::Purged { .. }), causes(why));
                self.lines.push(format!("{}  passed over: {why}", shown(key)));
                self.left.push(LeftJson { conversation: key.0.clone(), why, purged });
            }
        }
    }
}

/// Copies new entries from the place to this machine, and from this machine to the place.
pub(crate) fn run(app: &mut App, args: &SyncArgs) -> Outcome {
    let Some(place) = args.place.as_deref() else { return machine::serve(app, args) };
    match host(place)? {
        Some(host) => machine::run(app, args, host),
        None => with_folder(app, args, place),
    }
}

/// Whether a place reads as an address: `ssh://…`, `boat:/share`. One letter before the colon is a drive of Windows.
fn is_address(place: &str) -> bool {
    let first = place.split(['/', '\\']).next().unwrap_or_default();
    first.find(':').is_some_and(|at| at > 1) && !Path::new(place).exists()
}

/// The host in a place; `None` for a folder.
fn host(place: &str) -> Outcome<Option<&str>> {
    if is_address(place) {
        let hint =
            "a place is user@host for a machine, or a folder; write ./ before a folder with such a name";
        return Err(Failure::usage(format!("{place} is an address, which sync does not know"), hint));
    }
    let is_word = !place.contains(['/', '\\']) && !Path::new(place).exists();
    let is_host = is_word && place.contains('@');
    if is_word && !is_host {
        let hint = format!("write ./{place} for a new folder here, user@{place} for a machine");
        return Err(Failure::usage(format!("{place} is neither a folder nor user@host"), hint));
    }
    if is_host && place.starts_with('-') {
        return Err(Failure::usage(format!("{place} is no host"), "name it as user@host"));
    }
    Ok(is_host.then_some(place))
}

fn with_folder(app: &mut App, args: &SyncArgs, place: &str) -> Outcome {
    if args.ssh.is_some() || args.program.is_some() {
        return Err(Failure::usage(
            "--ssh and --program are for another machine",
            "leave them out, or name user@host",
        ));
    }
    let passphrase = args.encrypt.as_deref().map(|path| passphrase(app, path)).transpose()?;
    let mut folder =
        SyncFolder::open(Path::new(place), passphrase.as_deref(), args.dry_run).map_err(failed)?;
    let mut heard = ToldEvents::default();
    let mut hear = |event: SyncEvent<'_>| heard.hear(&event);
    let here = HereEnd::open(app, args.dry_run)?;
    let mut intake = here.intake();
    let into = intake.as_mut().map(|intake| intake as _);
    let taken = take(&here.reader(app)?, &mut folder, into, args.purges, &mut hear).map_err(failed)?;
    // Only a reader that is opened now sees the new entries.
    let reader = here.reader(app)?;
    let mut local = LocalHistory::new(&reader);
    let put = folder.put(&mut local, &mut hear).map_err(failed)?;
    let damaged = folder.damaged().iter().map(|path| path.display().to_string()).collect();
    let PutReport { conversations, bytes, purged, sayings, .. } = put;
    let put = Some(PutJson { conversations, bytes, purged, sayings });
    let lanes = local.lanes().map_err(failed)?;
    let ToldEvents { lines, left, is_peer_old: peer_is_old } = heard;
    let dry_run = args.dry_run;
    let done = SyncJson { place, taken, put, given: None, left, damaged, peer_is_old, lanes, dry_run };
    say(app, &done, &lines)
}

/// This machine's end: its database, which a trial only reads.
enum HereEnd {
    Written(Writer),
    Read(Engine),
}

impl HereEnd {
    fn open(app: &App, is_trial: bool) -> Outcome<Self> {
        if !is_trial {
            return app.writer(App::open).map(Self::Written);
        }
        // Before the first import there is nothing to read.
        let is_there = app.settings.db.value.may_exist();
        Ok(Self::Read(if is_there { app.read()? } else { Engine::in_memory() }))
    }

    fn intake(&self) -> Option<WriterIntake<'_>> {
        match self {
            Self::Written(writer) => Some(WriterIntake(writer)),
            Self::Read(_) => None,
        }
    }

    /// What is stored by now.
    fn reader(&self, app: &App) -> Outcome<Engine> {
        match self {
            Self::Written(writer) => writer.reader(app),
            Self::Read(engine) => Ok(engine.clone()),
        }
    }
}

/// Prints the result.
fn say(app: &mut App, done: &SyncJson<'_>, lines: &[String]) -> Outcome {
    let is_whole = |taken: &TakeReport| taken.left == taken.left_purged && taken.kept == 0;
    let is_whole = done.left.iter().all(|left| left.purged)
        && done.damaged.is_empty()
        && is_whole(&done.taken)
        && done.given.as_ref().is_none_or(is_whole);
    let exit = if is_whole { Exit::Done } else { Exit::Problems };
    if app.out.json {
        app.out.json(done)?;
        return Ok(exit);
    }
    for line in lines {
        writeln!(app.out, "{line}")?;
    }
    for path in &done.damaged {
        writeln!(
            app.out,
            "{path}  damaged: remove it, and the machine that has its session writes it again"
        )?;
    }
    let SyncJson { place, taken, put, given, lanes, dry_run, .. } = done;
    let would = if *dry_run { "would come" } else { "came" };
    let (sessions, entries) =
        if *dry_run { (taken.waiting, None) } else { (taken.grown, Some(taken.entries)) };
    let entries = entries.map_or_else(String::new, |entries| format!(", {}", plural(entries, "entry")));
    writeln!(
        app.out,
        "{would} from {place}: {} of {}{entries}",
        sessions,
        plural(taken.conversations, "conversation")
    )?;
    if taken.sayings + taken.sayings_waiting > 0 {
        let sayings = plural(taken.sayings + taken.sayings_waiting, "saying");
        writeln!(
            app.out,
            "{would} from {place}: {sayings} of people (titles, stars, tags, verdicts, put-back entries)"
        )?;
    }
    if let Some(PutJson { conversations, bytes: size, purged, sayings }) = put {
        let would = if *dry_run { "would go" } else { "went" };
        let what = plural(*conversations, "conversation");
        writeln!(app.out, "{would} to {place}: {what}, {}", bytes(*size))?;
        if *sayings > 0 {
            writeln!(app.out, "{would} to {place}: {} of people", plural(*sayings, "saying"))?;
        }
        if *purged > 0 {
            writeln!(app.out, "purged text removed from {place}: {}", plural(*purged, "conversation"))?;
        }
    }
    if let Some(given) = given {
        if *dry_run {
            writeln!(app.out, "would go to {place}: {}", plural(given.waiting, "conversation"))?;
        } else {
            let what = plural(given.grown, "conversation");
            writeln!(app.out, "went to {place}: {what}, {}", plural(given.entries, "entry"))?;
        }
    }
    if done.peer_is_old {
        app.out.note(format_args!(
            "the program of {place} is older than this one: titles, tags, verdicts and put-back entries stay where they are until it is updated"
        ));
    }
    if *lanes > 0 {
        app.out.note(format_args!(
            "{} of the gateway and of live hosts: not copied to other machines",
            plural(*lanes, "lane")
        ));
    }
    Ok(exit)
}

/// A failed step, with the advised next one.
fn failed(error: SyncError) -> Failure {
    let message = causes(&error);
    match error {
        SyncError::Engine(error) => error.into(),
        SyncError::File { path, source } => Failure::file(&path, &source),
        SyncError::OtherFolder { .. } => {
            Failure::usage(message, "name a new or an empty folder, or one that `unforget sync` made")
        }
        SyncError::NoParent { .. } => {
            Failure::usage(message, "mount the drive or make the folder first, if the place is right")
        }
        SyncError::NewerFolder { .. } => Failure::input("newer", message, "update this program"),
        SyncError::Passphrase { .. } => {
            Failure::usage(message, "--encrypt FILE takes the passphrase of an encrypted folder from FILE")
        }
        SyncError::Pipe { .. } => Failure::input(
            "other-machine",
            message,
            "see that `ssh HOST unforget --version` answers; --program says how it is called there",
        ),
        SyncError::Damaged { .. } | SyncError::Purged { .. } => {
            Failure::input("damaged", message, "run it again")
        }
        SyncError::Intake { .. } | SyncError::NoRandom => Failure::input("sync", message, "run it again"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_table() {
        let table = [
            ("ann@boat", Some("ann@boat"), "another machine"),
            ("/mnt/share", None, "a folder"),
            ("./share", None, "a new folder here"),
            (".", None, "a folder that is there"),
            ("./a@b", None, "a folder with a sign of hosts"),
        ];
        for (place, want, why) in table {
            assert_eq!(host(place).unwrap(), want, "{why}");
        }
        let refused = [
            ("-oProxyCommand=x@y", "an option of ssh"),
            ("boat", "a folder or a machine"),
            ("ssh://", "an address without a host"),
            ("ssh://ann@boat/share", "an address"),
            ("s3://bucket", "an address"),
            ("ann@boat:", "a host and a colon"),
            ("ann@boat:/share", "a folder of a machine"),
        ];
        for (place, why) in refused {
            assert!(host(place).is_err(), "{why}: {place}");
        }
        assert_eq!(host("C:/share").unwrap(), None, "a drive");
        assert_eq!(host("./ssh:").unwrap(), None, "a folder that is named so on purpose");
    }
}
