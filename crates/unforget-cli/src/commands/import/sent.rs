//! Imports while a daemon owns the database: files are sent to the daemon.

use std::path::{Path, PathBuf};

use serde_json::Value;
use unforget_engine::EngineError;
use unforget_engine::import::{FileToSend, Found, Imported, passed_over};
use unforget_guard::walk;

use super::{BAR, ImportSum};
use crate::app::{App, show_progress};
use crate::failure::{Failure, Outcome};
use crate::json::SkippedJson;
use crate::output::paint;
use crate::remote::{self, Remote, SentFile, number};
use crate::text;

/// Sends files, and the files in folders, unless the database has them as they are.
pub(super) fn run(app: &mut App, remote: &Remote, paths: &[PathBuf], is_forced: bool) -> Outcome {
    let mut files = Vec::new();
    for path in paths {
        walk(path, &mut |found, file| {
            files.push(FoundFile { found, path: file.to_owned(), is_asked: file == path });
        });
    }
    let reader = app.read()?;
    let bar = app.progress(0, BAR);
    let mut sum = ImportSum::default();
    let all = files.len();
    for (number, FoundFile { found, path, is_asked }) in files.into_iter().enumerate() {
        if let Some(why) = passed_over(&path).filter(|_| !is_asked && found.is_ok()) {
            if app.out.json {
                app.out.json(&SkippedJson::new(&path, why))?;
            }
            sum.pass_over(&path, why.to_owned());
            continue;
        }
        bar.set_message(path.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let mut outcome = Ok(Next::GoOn);
        let mut tell = |path: &Path, sent: Outcome<Sent>| {
            if matches!(outcome, Ok(Next::GoOn)) {
                outcome = bar.suspend(|| sum.tell(app, path, is_asked, sent));
            }
        };
        match found {
            Err(error) => tell(&path, Err(Failure::file(&path, &error))),
            Ok(()) => reader.any_to_send(&path, is_forced, &mut |path, found| {
                let sent = send(remote, found, &mut |done, total| show_progress(&bar, done, total));
                tell(path, sent);
            }),
        }
        if matches!(outcome?, Next::Stop) {
            // Every other file would fail in the same way.
            let rest = text::plural((all - number) as u64, "file");
            app.out.note(format_args!("{rest} not sent: run the command again"));
            break;
        }
    }
    bar.finish_and_clear();
    sum.finish(app)
}

/// Sends a file, unless the database has it as it is, and tells how many of its entries are new.
pub(super) fn added(remote: &Remote, found: Result<FileToSend, EngineError>) -> Outcome<u64> {
    Ok(match send(remote, found, &mut |_, _| ())? {
        Sent::Unchanged(_) => 0,
        Sent::Imported(imported) => number(&imported, "added"),
    })
}

/// A file of the given paths.
struct FoundFile {
    found: std::io::Result<()>,
    path: PathBuf,
    /// Whether a person named it.
    is_asked: bool,
}

/// The fate of a file.
enum Sent {
    /// It was not sent.
    Unchanged(Box<Imported>),
    /// The daemon's report.
    Imported(Value),
}

/// Whether further files are sent.
enum Next {
    GoOn,
    Stop,
}

/// Sends a file, unless the database has it as it is.
fn send(
    remote: &Remote,
    found: Result<FileToSend, EngineError>,
    progress: &mut dyn FnMut(u64, u64),
) -> Outcome<Sent> {
    match found? {
        FileToSend::Unchanged(imported) => Ok(Sent::Unchanged(imported)),
        FileToSend::Changed { file, name, modified_ns } => {
            remote.import(SentFile { file, name, modified_ns }, progress).map(Sent::Imported)
        }
    }
}

impl ImportSum {
    /// Adds the fate of a file, and prints it.
    fn tell(&mut self, app: &mut App, path: &Path, is_asked: bool, sent: Outcome<Sent>) -> Outcome<Next> {
        match sent {
            Ok(Sent::Unchanged(imported)) => self.add(app, path, Found::Imported(*imported)),
            Ok(Sent::Imported(imported)) => self.add_sent(app, path, &imported)?,
            Err(failure) if failure.kind == "not-a-transcript" && !is_asked => {
                if app.out.json {
                    app.out.json(&SkippedJson::new(path, &failure.message))?;
                }
                self.pass_over(path, failure.message);
            }
            Err(mut failure) => {
                // The daemon knows a file by what it was sent.
                let name = path.display().to_string();
                if !failure.message.contains(&name) {
                    failure.message = format!("{name}: {}", failure.message);
                }
                self.refuse(app, path, &failure)?;
                if failure.kind == "daemon" {
                    return Ok(Next::Stop);
                }
            }
        }
        Ok(Next::GoOn)
    }

    /// Adds the daemon's report of a file, and prints it.
    fn add_sent(&mut self, app: &mut App, path: &Path, imported: &Value) -> Outcome<()> {
        self.files += 1;
        self.added += number(imported, "added");
        self.bytes += number(imported, "bytes");
        self.warnings += number(imported, "warnings_total");
        say(app, path, imported)
    }
}

/// Prints the daemon's result for a file, as a local import would print it.
fn say(app: &mut App, path: &Path, imported: &Value) -> Outcome<()> {
    if app.out.json {
        return app.out.json(imported);
    }
    let entries = text::plural(number(imported, "entries"), "entry");
    let what = match number(imported, "added") {
        0 => format!("nothing new in {entries}"),
        added => format!("{} new of {entries}", text::count(added)),
    };
    let key = paint(app.out.palette.strong, text::key(remote::text(imported, "conversation")));
    let place = paint(app.out.palette.dim, text::harmless(&path.display().to_string()));
    writeln!(app.out, "{key}  {what}, by the daemon  {place}")?;
    let warnings = remote::field(imported, "warnings");
    let warnings = warnings.as_array().map(Vec::as_slice).unwrap_or_default();
    let told = warnings.iter().map(|one| (number(one, "line"), remote::text(one, "what")));
    super::warn(app, path, told, number(imported, "warnings_total"));
    Ok(())
}
