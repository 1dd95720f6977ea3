//! The sessions on this machine: which are kept, and which their agents will delete.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use unforget_engine::Engine;
use unforget_engine::discover::{Discovered, HostFolders, Transcript};
use unforget_wire::{ReadError, Reader};

use super::super::only::{self, LockOwner, OnlyOne};
use crate::app::App;
use crate::failure::{Exit, Outcome};
use crate::output::paint;
use crate::text::{bytes, count, plural, table};

/// A session that is not kept is at risk when its agent deletes it within this time.
const SOON: Duration = Duration::from_hours(7 * 24);

/// A day, for people.
const DAY: u64 = 86_400;

/// A session that its agent will delete and that is not kept.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RiskJson {
    pub(super) path: PathBuf,
    pub(super) host: &'static str,
    /// When its agent may delete it; null if that time has passed.
    pub(super) deleted: Option<String>,
}

/// The sessions of an agent.
#[derive(Debug, Default, Serialize)]
struct HostJson {
    host: &'static str,
    files: u64,
    bytes: u64,
    /// Files whose bytes are in the database; null for databases, whose sessions are looked at one by one when they are imported.
    kept: Option<u64>,
    /// Days after which the agent deletes a session that nobody writes to; null if it deletes none.
    deleted_after_days: Option<u64>,
}

/// The output of `keep`.
#[derive(Debug, Serialize)]
struct KeepJson {
    /// Whether a process keeps sessions of this database.
    running: bool,
    /// Its number; null if none runs, or if it is not known.
    pid: Option<u32>,
    hosts: Vec<HostJson>,
    /// Files that are not kept, or not as they are now.
    not_kept: Vec<PathBuf>,
    /// Sessions that are not kept and that their agents delete within a week.
    at_risk: Vec<RiskJson>,
    /// Folders and files that cannot be read: nobody knows whether anything in them is kept.
    unreadable: Vec<PathBuf>,
}

/// What is known of the sessions on this machine.
struct Overview {
    hosts: Vec<HostJson>,
    not_kept: Vec<PathBuf>,
    at_risk: Vec<RiskJson>,
    unreadable: Vec<PathBuf>,
}

/// Shows what is kept. A session at risk is a problem.
pub(super) fn run(app: &mut App, folders: &HostFolders) -> Outcome {
    let overview = overview(app, folders)?;
    let (running, pid) = match only::owner(app, OnlyOne::Keep) {
        LockOwner::Nobody => (false, None),
        LockOwner::Process(pid) => (true, pid),
    };
    let exit = if overview.at_risk.is_empty() { Exit::Done } else { Exit::Problems };
    let Overview { hosts, not_kept, at_risk, unreadable } = overview;
    let told = KeepJson { running, pid, hosts, not_kept, at_risk, unreadable };
    if app.out.json {
        app.out.json(&told)?;
    } else {
        say(app, &told)?;
    }
    Ok(exit)
}

/// Sessions that are not kept and that their agent deletes soon.
pub(super) fn risks(app: &App, folders: &HostFolders) -> Outcome<Vec<RiskJson>> {
    Ok(overview(app, folders)?.at_risk)
}

/// Cost: one walk of the usual folders, and one look into the database per file.
fn overview(app: &App, folders: &HostFolders) -> Outcome<Overview> {
    // Without a database nothing is kept.
    let engine = app.settings.db.value.may_exist().then(|| app.read()).transpose()?;
    let mut hosts: BTreeMap<&str, HostJson> = BTreeMap::new();
    let Discovered { transcripts, unreadable } = folders.discover();
    let mut overview = Overview { hosts: Vec::new(), not_kept: Vec::new(), at_risk: Vec::new(), unreadable };
    let now = SystemTime::now();
    for found in transcripts {
        let after = folders.kept_by(found.host);
        let host = hosts.entry(found.host).or_insert_with(|| HostJson {
            host: found.host,
            deleted_after_days: after.map(|after| after.as_secs() / DAY),
            ..HostJson::default()
        });
        host.files += 1;
        host.bytes += found.bytes;
        if found.path.extension().is_some_and(|end| end == "db") {
            continue;
        }
        let kept = host.kept.get_or_insert(0);
        if is_kept(engine.as_ref(), &found) {
            *kept += 1;
            continue;
        }
        overview.at_risk.extend(after.and_then(|after| risk(&found, after, now)));
        overview.not_kept.push(found.path);
    }
    overview.hosts = hosts.into_values().collect();
    Ok(overview)
}

/// Whether a file is in the database as it is now, or is no transcript. One whose first record is being written is neither.
fn is_kept(engine: Option<&Engine>, found: &Transcript) -> bool {
    engine.is_some_and(|engine| engine.has_file(&found.path).unwrap_or(false))
        || is_no_transcript(&found.path)
}

fn is_no_transcript(path: &Path) -> bool {
    let Ok(file) = File::open(path) else { return false };
    matches!(Reader::open(BufReader::new(file)), Err(ReadError::NotATranscript { is_begun: false, .. }))
}

/// * `after` - how long its agent keeps it.
fn risk(found: &Transcript, after: Duration, now: SystemTime) -> Option<RiskJson> {
    let deleted = found.modified?.checked_add(after)?;
    let left = deleted.duration_since(now).unwrap_or_default();
    let time = (left > Duration::ZERO).then(|| jiff::Timestamp::try_from(deleted).ok()).flatten();
    (left <= SOON).then(|| RiskJson {
        path: found.path.clone(),
        host: found.host,
        deleted: time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
    })
}

fn say(app: &mut App, told: &KeepJson) -> Outcome<()> {
    let row = |host: &HostJson| {
        let kept = host.kept.map_or_else(|| "a database".to_owned(), |kept| format!("{} kept", count(kept)));
        let deleted = host.deleted_after_days.map_or_else(
            || "deletes nothing".to_owned(),
            |days| format!("deletes after {}", plural(days, "day")),
        );
        vec![host.host.to_owned(), plural(host.files, "file"), bytes(host.bytes), kept, deleted]
    };
    let rows = told.hosts.iter().map(row).collect();
    write!(app.out, "{}", table(&["", "", "", "", ""], rows, &[1, 2]))?;
    for risk in &told.at_risk {
        let when = risk.deleted.as_deref().map_or_else(|| "now".to_owned(), |time| format!("on {time}"));
        let what = format!("not kept, and {} may delete it {when}: {}", risk.host, risk.path.display());
        writeln!(app.out, "{}", paint(app.out.palette.bad, what))?;
    }
    if !told.not_kept.is_empty() {
        let files = plural(told.not_kept.len() as u64, "file");
        app.out.note(format_args!("{files} not kept as they are now: unforget import --discover keeps them"));
    }
    for path in &told.unreadable {
        app.out.note(format_args!("cannot be read, so nobody knows what of it is kept: {}", path.display()));
    }
    let runs = match (told.running, told.pid) {
        (true, Some(pid)) => format!("kept while they grow, by process {pid}"),
        (true, None) => "kept while they grow".to_owned(),
        (false, _) => "nobody keeps them while they grow: unforget setup --service".to_owned(),
    };
    app.out.note(runs);
    Ok(())
}
