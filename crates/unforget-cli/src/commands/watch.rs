//! `unforget watch`.

mod metrics;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant, SystemTime};

use notify::{RecursiveMode, Watcher};
use unforget_core::digest::Digest;
use unforget_guard::{GuardError, Inspection, Pace, Severity};
use unforget_wire::ReadError;

use super::changes::{Notified, hear};
use super::log_line::{Level, line};
use super::only::{self, OnlyOne};
use crate::app::App;
use crate::args::WatchArgs;
use crate::failure::{Exit, Failure, Outcome};

use metrics::Metrics;

/// Least time between two repairs of one file.
const APART: Duration = Duration::from_mins(10);

/// Interval of walking the folders, in case a notification was lost or there are none.
const WALK: Duration = Duration::from_mins(5);

/// Longest interval between two writes of the metrics, as a sign of life.
const BEAT: Duration = Duration::from_mins(1);

/// Watches folders until ended, or inspects everything once.
pub(crate) fn run(app: &mut App, args: &WatchArgs) -> Outcome {
    let mut folders = Vec::new();
    for folder in &args.folders {
        folders.push(fs::canonicalize(folder).map_err(|error| Failure::file(folder, &error))?);
    }
    folders.sort();
    folders.dedup();
    let _only = only_one(app, &folders)?;
    let quiet_for = Duration::from_secs(args.quiet_for);
    let mut watch = Watch {
        app,
        folders,
        repair: args.repair,
        metrics: Metrics::default(),
        metrics_path: args.metrics.clone(),
        pace: Pace::new(quiet_for, APART),
        seen: HashMap::new(),
        start: Instant::now(),
        worst: Exit::Done,
    };
    if args.once {
        watch.once(quiet_for)?;
        return Ok(watch.worst);
    }
    watch.go_on()?;
    Ok(Exit::Done)
}

/// The lock that makes this the only watch of these folders.
fn only_one(app: &App, folders: &[PathBuf]) -> Outcome<fs::File> {
    let names: Vec<u8> =
        folders.iter().flat_map(|folder| folder.as_os_str().as_encoded_bytes()).copied().collect();
    let digest = Digest::of(&names).hex();
    only::lock(app, OnlyOne::Watch(digest.get(..16).unwrap_or_default()), "these folders are watched already")
}

struct Watch<'a> {
    app: &'a mut App,
    folders: Vec<PathBuf>,
    repair: bool,
    metrics: Metrics,
    metrics_path: Option<PathBuf>,
    pace: Pace,
    /// Length and time of every file at the last look.
    seen: HashMap<PathBuf, (u64, Option<SystemTime>)>,
    start: Instant,
    worst: Exit,
}

impl Watch<'_> {
    fn once(&mut self, quiet_for: Duration) -> Outcome<()> {
        self.walk(Duration::ZERO)?;
        let is_quiet = |path: &Path| {
            let modified = fs::metadata(path).and_then(|facts| facts.modified());
            modified.ok().and_then(|time| time.elapsed().ok()).is_none_or(|age| age >= quiet_for)
        };
        let files: Vec<PathBuf> = self.seen.keys().cloned().collect();
        let mut files: Vec<_> = files.into_iter().filter(|path| is_quiet(path)).collect();
        files.sort();
        self.look(&files, Duration::ZERO)
    }

    fn go_on(&mut self) -> Outcome<()> {
        let (tell, notified) = mpsc::channel::<Notified>();
        let watcher = self.listen(tell)?;
        self.walk(self.start.elapsed())?;
        let mut walked = self.start.elapsed();
        self.say(Level::Info, "watching", &[("files", self.seen.len().to_string())])?;
        loop {
            let now = self.start.elapsed();
            let next = self.pace.next(now).unwrap_or(BEAT).min(BEAT);
            let mut changed = Vec::new();
            hear(&notified, next, &mut |path| {
                changed.extend(is_transcript(path).then(|| path.to_path_buf()));
            });
            let now = self.start.elapsed();
            for path in &changed {
                self.pace.changed(path, now);
            }
            if now.saturating_sub(walked) >= WALK || watcher.is_none() {
                self.walk(now)?;
                walked = now;
            }
            let due = self.pace.due(now);
            self.look(&due, now)?;
        }
    }

    /// Subscribes to changes. `None` if the system has no notifications; then folders are walked.
    fn listen(&mut self, tell: mpsc::Sender<Notified>) -> Outcome<Option<notify::RecommendedWatcher>> {
        let made = notify::recommended_watcher(move |event| {
            // Nobody receives any more when the watch ends.
            tell.send(event).ok();
        });
        let mut watcher = match made {
            Ok(watcher) => watcher,
            Err(error) => {
                self.say(Level::Warn, "no-notifications", &[("why", error.to_string())])?;
                return Ok(None);
            }
        };
        for folder in &self.folders.clone() {
            if let Err(error) = watcher.watch(folder, RecursiveMode::Recursive) {
                let fields = [("path", folder.display().to_string()), ("why", error.to_string())];
                self.say(Level::Warn, "no-notifications", &fields)?;
                return Ok(None);
            }
        }
        Ok(Some(watcher))
    }

    /// Finds files that changed since the last look.
    fn walk(&mut self, now: Duration) -> Outcome<()> {
        let mut seen = HashMap::new();
        for folder in self.folders.clone() {
            let (files, unreadable) = unforget_guard::transcripts(&folder);
            for (path, error) in unreadable {
                let fields = [("path", path.display().to_string()), ("why", error.to_string())];
                self.say(Level::Warn, "unreadable", &fields)?;
            }
            for path in files {
                let Ok(facts) = fs::metadata(&path) else { continue };
                let state = (facts.len(), facts.modified().ok());
                if self.seen.get(&path) != Some(&state) {
                    self.pace.changed(&path, now);
                }
                seen.insert(path, state);
            }
        }
        self.metrics.files = seen.len() as u64;
        self.seen = seen;
        Ok(())
    }

    fn look(&mut self, files: &[PathBuf], now: Duration) -> Outcome<()> {
        let mut outcomes = Vec::new();
        unforget_guard::survey(files, &mut |path, outcome| outcomes.push((path.to_path_buf(), outcome)));
        for (path, outcome) in outcomes {
            match outcome {
                Ok(inspection) => self.found(&path, &inspection, now)?,
                Err(GuardError::Read { source: ReadError::NotATranscript { .. }, .. }) => {}
                Err(_) if !path.exists() => self.metrics.forget(&path),
                Err(error) => {
                    self.metrics.failures += 1;
                    let fields = [("path", path.display().to_string()), ("why", error.to_string())];
                    self.say(Level::Warn, "not-inspected", &fields)?;
                }
            }
        }
        self.metrics.beat(self.metrics_path.as_deref())?;
        self.app.out.flush().map_err(Failure::from)
    }

    fn found(&mut self, path: &Path, inspection: &Inspection, now: Duration) -> Outcome<()> {
        self.metrics.inspected(path, inspection);
        let is_bad = |severity: Severity| severity >= Severity::Loss;
        let bad = inspection.findings.iter().filter(|finding| is_bad(finding.severity));
        for finding in bad.clone().take(10) {
            let fields = [
                ("path", path.display().to_string()),
                ("line", finding.line.to_string()),
                ("problem", finding.problem.name().to_owned()),
                ("severity", finding.severity.name().to_owned()),
                ("name", finding.name.clone().unwrap_or_default()),
            ];
            self.say(Level::Warn, "found", &fields)?;
        }
        let is_mendable = bad.clone().any(|finding| finding.is_mended);
        if bad.count() > 0 && !(self.repair && is_mendable && self.mend(path, now)?) {
            self.worst = self.worst.max(Exit::Problems);
        }
        Ok(())
    }

    /// Mends a file unless it was mended recently. Returns whether it was mended now.
    fn mend(&mut self, path: &Path, now: Duration) -> Outcome<bool> {
        if !self.pace.may_mend(path, now) {
            self.pace.changed(path, now);
            self.say(Level::Info, "deferred", &[("path", path.display().to_string())])?;
            return Ok(false);
        }
        match unforget_guard::repair(path) {
            Ok(repair) => {
                self.metrics.repairs += 1;
                let backup = match &repair.outcome {
                    unforget_guard::Outcome::Mended { backup, .. } => backup.display().to_string(),
                    _ => String::new(),
                };
                let fields = [
                    ("path", path.display().to_string()),
                    ("changes", repair.actions.len().to_string()),
                    ("backup", backup),
                ];
                self.say(Level::Info, "mended", &fields)?;
                if let Ok(after) = unforget_guard::inspect(path) {
                    self.metrics.inspected(path, &after);
                }
                Ok(true)
            }
            Err(error) => {
                self.metrics.refused += 1;
                self.pace.changed(path, now);
                let fields = [("path", path.display().to_string()), ("why", error.to_string())];
                self.say(Level::Warn, "not-mended", &fields)?;
                Ok(false)
            }
        }
    }

    fn say(&mut self, level: Level, event: &'static str, fields: &[(&'static str, String)]) -> Outcome<()> {
        if level == Level::Info && self.app.out.quiet {
            return Ok(());
        }
        line(&mut self.app.out, level, event, fields)
    }
}

fn is_transcript(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "jsonl")
}
