//! `unforget keep`: every session of this machine in the database, and what its agent will delete before.

mod status;

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher};
use unforget_engine::discover::{HostFolders, WatchedFolder};
use unforget_guard::Pace;

use super::changes::{Notified, hear};
use super::import;
use super::log_line::{Level, line};
use super::only::{self, OnlyOne};
use crate::app::App;
use crate::args::KeepArgs;
use crate::config::host_folders;
use crate::failure::{Exit, Failure, Outcome};

/// Interval of looking for files, in case a notification was lost or a folder is new.
const WALK: Duration = Duration::from_mins(5);

/// Interval of looking for files where the system tells nothing.
const POLL: Duration = Duration::from_secs(30);

/// Longest wait of a file that is written to without end.
const LONGEST: Duration = Duration::from_mins(1);

/// Interval of looking at what an agent will delete.
const WARN: Duration = Duration::from_hours(6);

/// Shows what is kept, or keeps until ended.
pub(crate) fn run(app: &mut App, args: &KeepArgs) -> Outcome {
    let folders = host_folders().ok_or_else(|| {
        Failure::usage("there is no home folder to look in", "set HOME to the folder of a user")
    })?;
    if !args.foreground {
        return status::run(app, &folders);
    }
    let _only = only::lock(app, OnlyOne::Keep, "another unforget keep has this database")?;
    let (tell, told) = mpsc::channel();
    let mut keeper = Keeper {
        app,
        folders,
        told,
        watcher: Subscriptions::new(tell),
        pace: Pace::new(Duration::from_secs(args.quiet_for), Duration::ZERO).at_most(LONGEST),
        seen: HashMap::new(),
        start: Instant::now(),
    };
    keeper.go_on()?;
    Ok(Exit::Done)
}

/// The folders of which the system tells changes.
struct Subscriptions {
    /// `None` if the system has no notifications, or no more of them.
    watcher: Option<notify::RecommendedWatcher>,
    folders: BTreeSet<WatchedFolder>,
    /// Why there are none.
    trouble: Option<String>,
}

impl Subscriptions {
    fn new(tell: Sender<Notified>) -> Self {
        let made = notify::recommended_watcher(move |event| {
            // Nobody receives any more when this process ends.
            tell.send(event).ok();
        });
        let trouble = made.as_ref().err().map(ToString::to_string);
        Self { watcher: made.ok(), folders: BTreeSet::new(), trouble }
    }

    /// Subscribes to folders that are new. A deleted folder is forgotten; a folder that is made again is new.
    fn follow(&mut self, folders: Vec<WatchedFolder>) {
        let now: BTreeSet<WatchedFolder> = folders.into_iter().collect();
        let Some(watcher) = &mut self.watcher else { return };
        for gone in self.folders.difference(&now) {
            // A folder that is gone has no subscription any more.
            watcher.unwatch(&gone.path).ok();
        }
        for new in now.difference(&self.folders) {
            let how = if new.is_deep { RecursiveMode::Recursive } else { RecursiveMode::NonRecursive };
            if let Err(error) = watcher.watch(&new.path, how) {
                self.trouble = Some(format!("{}: {error}", new.path.display()));
                self.watcher = None;
                return;
            }
        }
        self.folders = now;
    }
}

/// Size and time of a file.
type FileState = (u64, Option<SystemTime>);

struct Keeper<'a> {
    app: &'a mut App,
    folders: HostFolders,
    told: Receiver<Notified>,
    watcher: Subscriptions,
    pace: Pace,
    /// Every transcript at the last look.
    seen: HashMap<PathBuf, FileState>,
    start: Instant,
}

impl Keeper<'_> {
    fn go_on(&mut self) -> Outcome<()> {
        self.look(Duration::ZERO);
        if let Some(why) = self.watcher.trouble.take() {
            self.say(Level::Warn, "no-notifications", &[("why", why)])?;
        }
        let files = self.seen.len().to_string();
        self.say(Level::Info, "keeping", &[("files", files)])?;
        // What was written while nobody kept it waits no longer.
        let all = self.pace.due(Duration::MAX);
        self.take_in(&all, self.start.elapsed())?;
        self.warn()?;
        let (mut looked, mut warned) = (self.start.elapsed(), self.start.elapsed());
        loop {
            let interval = if self.watcher.watcher.is_some() { WALK } else { POLL };
            let now = self.start.elapsed();
            let look_in = (looked + interval).saturating_sub(now);
            let wait = self.pace.next(now).map_or(look_in, |next| next.min(look_in));
            let mut changed = Vec::new();
            hear(&self.told, wait, &mut |path| changed.extend(self.folders.transcript_of(path)));
            let now = self.start.elapsed();
            for path in &changed {
                self.pace.changed(path, now);
            }
            if now.saturating_sub(looked) >= interval {
                self.look(now);
                looked = now;
            }
            let due = self.pace.due(now);
            self.take_in(&due, now)?;
            if now.saturating_sub(warned) >= WARN {
                self.warn()?;
                warned = now;
            }
        }
    }

    /// Finds files that changed since the last look, and folders that are new.
    fn look(&mut self, now: Duration) {
        self.watcher.follow(self.folders.watched_folders());
        let mut seen = HashMap::new();
        for found in self.folders.discover().transcripts {
            let state = (found.bytes, found.modified);
            if self.seen.get(&found.path) != Some(&state) {
                self.pace.changed(&found.path, now);
            }
            seen.insert(found.path, state);
        }
        self.seen = seen;
    }

    /// Imports files. What could not be imported because the database is busy or full waits for its next turn.
    fn take_in(&mut self, files: &[PathBuf], now: Duration) -> Outcome<()> {
        if files.is_empty() {
            return Ok(());
        }
        let mut done = Vec::new();
        let opened = import::quietly(self.app, files, &mut |path, added| done.push((path.to_owned(), added)));
        if let Err(failure) = opened {
            for path in files {
                self.pace.changed(path, now);
            }
            return self.say(Level::Warn, "not-kept", &[("why", failure.message)]);
        }
        for (path, added) in done {
            let place = ("path", path.display().to_string());
            match added {
                Ok(Some(0) | None) => {}
                Ok(Some(added)) => self.say(Level::Info, "kept", &[place, ("entries", added.to_string())])?,
                Err(_) if !path.exists() && is_file(&path) => {}
                Err(failure) => {
                    if failure.exit == Exit::Store {
                        self.pace.changed(&path, now);
                    }
                    self.say(Level::Warn, "not-kept", &[place, ("why", failure.message)])?;
                }
            }
        }
        Ok(())
    }

    /// Says what an agent will delete although it is not kept.
    fn warn(&mut self) -> Outcome<()> {
        for risk in status::risks(self.app, &self.folders)? {
            let fields = [
                ("path", risk.path.display().to_string()),
                ("host", risk.host.to_owned()),
                ("deleted", risk.deleted.clone().unwrap_or_default()),
            ];
            self.say(Level::Warn, "at-risk", &fields)?;
        }
        Ok(())
    }

    fn say(&mut self, level: Level, event: &'static str, fields: &[(&'static str, String)]) -> Outcome<()> {
        if level == Level::Info && self.app.out.quiet {
            return Ok(());
        }
        line(&mut self.app.out, level, event, fields)
    }
}

/// Whether a path names a file, and not a session in a database.
fn is_file(path: &Path) -> bool {
    !path.to_string_lossy().contains(".db#")
}
