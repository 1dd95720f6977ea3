//! `unforget import`.

mod sent;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use indicatif::ProgressBar;
use unforget_core::id::ConversationKey;
use unforget_engine::import::{Found, Imported, Progress};
use unforget_engine::{Engine, EngineError};
use unicode_width::UnicodeWidthStr as _;

use crate::app::App;
use crate::args::ImportArgs;
use crate::columns::cut_front;
use crate::config::host_folders;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{FailedJson, ImportedJson, SkippedJson};
use crate::output::{agrees, how_to_agree, paint, remark};
use crate::remote::{Writer, on_interrupt};
use crate::text;

/// Bytes done, rate and estimated end; for files of unknown length see the spinner in `app`.
const BAR: &str = "{msg:24!} {bar:24.cyan} {decimal_bytes:>10} of {decimal_total_bytes:<10} {decimal_bytes_per_sec:>12}  {eta} left";

/// Most reasons for which files were passed over that are told.
const REASONS: usize = 5;

/// The results over all files.
#[derive(Debug, Default)]
struct ImportSum {
    files: u64,
    skipped: u64,
    /// Files that were passed over, by the reason: how many, and the first one.
    passed_over: BTreeMap<String, (u64, PathBuf)>,
    /// The worst exit code of the failures.
    worst: Option<Exit>,
    added: u64,
    bytes: u64,
    warnings: u64,
    /// Conversations with new entries.
    grown: Vec<ConversationKey>,
    /// The first failure of stdout.
    output: Option<Failure>,
}

/// Imports files and folders, or discovered histories.
pub(crate) fn run(app: &mut App, args: &ImportArgs) -> Outcome {
    if !args.discover && args.paths.is_empty() {
        let hint = "find the histories of all known agents: unforget import --discover";
        return Err(Failure::usage("no file or folder is named", hint));
    }
    if args.detach {
        return detached(app);
    }
    let paths = if args.discover { discover(app, args)? } else { args.paths.clone() };
    if paths.is_empty() {
        return Ok(Exit::Done);
    }
    let engine = match app.writer(App::open)? {
        Writer::Here(engine) => engine,
        Writer::There(remote) => return sent::run(app, &remote, &paths, args.force),
    };
    let bar = app.progress(0, BAR);
    let place = Arc::new(Mutex::new(String::new()));
    if !app.out.quiet {
        tell_interrupt(&place, bar.clone());
    }
    let is_first = RefCell::new(true);
    let mut progress = |at: Progress<'_>| {
        if is_first.replace(false) || bar.length() != Some(at.total) {
            bar.set_length(at.total);
            bar.set_message(at.path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        }
        bar.set_position(at.bytes);
        *place.lock().unwrap_or_else(PoisonError::into_inner) = place_of(&at);
    };
    let mut sum = ImportSum::default();
    engine.import_paths(&paths, args.force, &mut progress, &mut |path, found| {
        bar.suspend(|| sum.add(app, path, found));
        bar.reset();
    });
    bar.finish_and_clear();
    // A store that failed, because it is full for instance, would fail again and be reported twice.
    if sum.worst != Some(Exit::Store) {
        engine.store().maintain()?;
        if app.out.quiet {
            // For hooks: nobody waits for a quiet import, and the next session asks.
            for key in &sum.grown {
                engine.keep_memory(key)?;
            }
        }
    }
    sum.finish(app)
}

/// Where an import is, for a person.
fn place_of(at: &Progress<'_>) -> String {
    let read = text::bytes(at.bytes);
    let of = if at.total > 0 { format!(" of {}", text::bytes(at.total)) } else { String::new() };
    format!(" in {}, {read}{of} read", text::path(at.path))
}

/// Tells of a Ctrl-C what was kept, and how to go on. Every batch is stored in one transaction, so the process may end at once.
///
/// * `place` - where the import is.
fn tell_interrupt(place: &Arc<Mutex<String>>, bar: ProgressBar) {
    let place = Arc::clone(place);
    on_interrupt(move || {
        bar.finish_and_clear();
        let place = place.lock().unwrap_or_else(PoisonError::into_inner);
        remark(format_args!(
            "interrupted{place}: what was stored until then is kept, and the same command goes on from there"
        ));
    });
}

/// Starts this command again in the background, without `--detach`.
fn detached(app: &App) -> Outcome {
    let failed = |error: std::io::Error| {
        Failure::usage(format!("the import cannot go on in the background: {error}"), "leave out --detach")
    };
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command.args(std::env::args_os().skip(1).filter(|argument| argument != "--detach"));
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(super::run::log(&app.settings.db.value.local_path()?)?);
    // A group of its own: a host that ends its hooks with itself does not end the import.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map_err(failed)?;
    Ok(Exit::Done)
}

/// Imports files without a word, and tells for each how many entries are new; `None` for a file that is no transcript.
///
/// # Errors
/// If the database can be opened neither here nor through a daemon.
pub(super) fn quietly(
    app: &App,
    paths: &[PathBuf],
    each: &mut dyn FnMut(&Path, Outcome<Option<u64>>),
) -> Outcome<()> {
    let writer = app.writer(App::open)?;
    let reader = app.read()?;
    for path in paths {
        let mut tell = |path: &Path, added: Outcome<u64>| match added {
            Err(failure) if failure.kind == "not-a-transcript" => each(path, Ok(None)),
            added => each(path, added.map(Some)),
        };
        match &writer {
            Writer::Here(engine) => engine.import_any(path, false, &mut |_| (), &mut |path, outcome| {
                tell(path, kept(engine, outcome));
            }),
            Writer::There(remote) => reader.any_to_send(path, false, &mut |path, found| {
                tell(path, sent::added(remote, found));
            }),
        }
    }
    Ok(())
}

/// Number of new entries of an import, after what sessions left in the project is brought up to date.
fn kept(engine: &Engine, outcome: Result<Imported, EngineError>) -> Outcome<u64> {
    let done = outcome?;
    if done.added > 0 {
        engine.keep_memory(&done.conversation)?;
    }
    Ok(done.added)
}

impl ImportSum {
    fn add(&mut self, app: &mut App, path: &Path, found: Found) {
        let shown = match found {
            Found::Imported(imported) => {
                self.files += 1;
                self.added += imported.added;
                self.grown.extend((imported.added > 0).then(|| imported.conversation.clone()));
                self.bytes += imported.bytes;
                self.warnings += imported.warnings.count;
                if app.out.json { app.out.json(&ImportedJson::from(&imported)) } else { say(app, &imported) }
            }
            Found::Skipped(why) => {
                let shown = if app.out.json { app.out.json(&SkippedJson::new(path, &why)) } else { Ok(()) };
                self.pass_over(path, why);
                shown
            }
            Found::Failed(error) => self.fail(app, path, error),
        };
        self.output = self.output.take().or(shown.err());
    }

    /// Counts a file of a folder that is no transcript.
    fn pass_over(&mut self, path: &Path, why: String) {
        self.skipped += 1;
        self.passed_over.entry(why).or_insert_with(|| (0, path.to_owned())).0 += 1;
    }

    fn fail(&mut self, app: &mut App, path: &Path, error: EngineError) -> Outcome<()> {
        self.refuse(app, path, &Failure::from(error))
    }

    fn refuse(&mut self, app: &mut App, path: &Path, failure: &Failure) -> Outcome<()> {
        app.out.complain(failure);
        self.worst = Some(self.worst.map_or(failure.exit, |worst| worst.max(failure.exit)));
        if app.out.json { app.out.json(&FailedJson::new(path, failure)) } else { Ok(()) }
    }

    fn finish(self, app: &mut App) -> Outcome {
        if let Some(failure) = self.output {
            return Err(failure);
        }
        if !app.out.json && self.files == 0 && self.worst.is_none() {
            app.out.note("no transcript was found there");
        } else if !app.out.json && self.files + self.skipped > 1 {
            let skipped = match self.skipped {
                0 => String::new(),
                n => format!(", {n} passed over"),
            };
            let line = format!(
                "{}{skipped}: {} new, {} read",
                text::plural(self.files, "file"),
                text::plural(self.added, "entry"),
                text::bytes(self.bytes),
            );
            writeln!(app.out, "{}", paint(app.out.palette.strong, line))?;
        }
        for (why, (count, first)) in self.passed_over.iter().take(REASONS) {
            let others =
                if *count > 1 { format!(" and {} more", text::count(count - 1)) } else { String::new() };
            app.out.note(format_args!("passed over: {}{others}: {why}", text::path(first)));
        }
        if self.added > 0 && !app.out.json {
            app.out.note("next: unforget list shows them, unforget search WORDS finds what was said");
        }
        Ok(self.worst.unwrap_or(Exit::Done))
    }
}

/// Prints one line per file, and its first warnings.
fn say(app: &mut App, imported: &Imported) -> Outcome<()> {
    let palette = app.out.palette;
    let what = match (imported.added, imported.skipped_unchanged) {
        (_, true) => "unchanged".to_owned(),
        (0, _) => format!("nothing new in {}", text::plural(imported.entries, "entry")),
        (added, _) => format!("{} new of {}", text::count(added), text::plural(imported.entries, "entry")),
    };
    let plan = match imported.plan.name() {
        "first-sight" | "append" | "up-to-date" | "trailer" => String::new(),
        other => format!(" ({other})"),
    };
    let (key, path) = (text::key(&imported.conversation.0), text::path(&imported.path));
    let what = format!("{what}{plan}");
    match app.out.columns() {
        // A file has one line. The end of a path differs between neighbouring files, so the start is cut.
        Some(columns) if key.width() + what.width() + path.width() + 4 > columns => {
            let path = cut_front(&path, columns.saturating_sub(what.width() + 2));
            writeln!(app.out, "{what}  {}", paint(palette.dim, path))?;
        }
        _ => {
            let (key, path) = (paint(palette.strong, key), paint(palette.dim, path));
            writeln!(app.out, "{key}  {what}  {path}")?;
        }
    }
    let warnings = imported.warnings.first.iter().map(|one| (one.place.line, one.what.as_str()));
    warn(app, &imported.path, warnings, imported.warnings.count);
    Ok(())
}

/// Tells the first irregularities of a file, by lines.
///
/// * `total` - the number of all.
fn warn<'a>(app: &App, path: &Path, warnings: impl Iterator<Item = (u64, &'a str)>, total: u64) {
    for (line, what) in warnings.take(WARNINGS_SHOWN as usize) {
        // The line of the file may go elsewhere.
        let path = text::path(path);
        app.out.note(format_args!("  {path}, line {line}: {}", text::harmless(what)));
    }
    if total > WARNINGS_SHOWN {
        let more = text::plural(total - WARNINGS_SHOWN, "such line");
        app.out.note(format_args!("  and {more} more; --json lists them"));
    }
}

/// Most irregularities told of a file.
const WARNINGS_SHOWN: u64 = 3;

/// Finds the histories of known hosts, shows them and asks.
fn discover(app: &mut App, args: &ImportArgs) -> Outcome<Vec<PathBuf>> {
    let folders = host_folders().ok_or_else(|| {
        Failure::usage("there is no home folder to look in", "name files or folders instead of --discover")
    })?;
    let found = folders.discover();
    for path in &found.unreadable {
        app.out.note(format_args!("cannot be read: {}", text::path(path)));
    }
    let mut hosts: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for transcript in &found.transcripts {
        let host = hosts.entry(transcript.host).or_default();
        *host = (host.0 + 1, host.1 + transcript.bytes);
    }
    if hosts.is_empty() {
        app.out.note("no history of a known agent was found in the usual places; docs/formats.md lists them");
        return Ok(Vec::new());
    }
    let row = |(host, (files, bytes)): (&&str, &(u64, u64))| {
        vec![(*host).to_owned(), text::plural(*files, "file"), text::bytes(*bytes)]
    };
    app.out.note(text::table(&["", "", ""], hosts.iter().map(row).collect(), &[1, 2]).trim_end());
    let files = text::plural(found.transcripts.len() as u64, "file");
    let question = format!("Import {files} into {}? [y/N]", app.settings.db.value);
    if !args.yes && !agrees(&question) {
        return Err(Failure::usage("nothing was imported", how_to_agree("y")));
    }
    Ok(found.transcripts.into_iter().map(|transcript| transcript.path).collect())
}
