//! Imports while a daemon owns the database: files are sent to the daemon.

use std::path::{Path, PathBuf};

use serde_json::Value;
use unforget_engine::Engine;
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
        let sent = found.map_err(|error| Failure::file(&path, &error)).and_then(|()| {
            send(&reader, remote, &path, is_forced, &mut |done, total| {
                show_progress(&bar, done, total);
            })
        });
        match sent {
            Ok(Sent::Unchanged(imported)) => bar.suspend(|| sum.add(app, &path, Found::Imported(*imported))),
            Ok(Sent::Imported(imported)) => bar.suspend(|| sum.add_sent(app, &path, &imported))?,
            Err(failure) if failure.kind == "not-a-transcript" && !is_asked => {
                if app.out.json {
                    app.out.json(&SkippedJson::new(&path, &failure.message))?;
                }
                sum.pass_over(&path, failure.message);
            }
            Err(failure) => {
                sum.refuse(app, &path, &failure)?;
                if failure.kind == "daemon" {
                    // Every other file would fail in the same way.
                    let rest = text::plural((all - number - 1) as u64, "file");
                    app.out.note(format_args!("{rest} more: not sent. Run the command again"));
                    break;
                }
            }
        }
    }
    bar.finish_and_clear();
    sum.finish(app)
}

/// Sends a file, unless the database has it as it is, and tells how many of its entries are new.
pub(super) fn added(reader: &Engine, remote: &Remote, path: &Path) -> Outcome<u64> {
    Ok(match send(reader, remote, path, false, &mut |_, _| ())? {
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

/// Sends a file, unless the database has it as it is.
fn send(
    reader: &Engine,
    remote: &Remote,
    path: &Path,
    is_forced: bool,
    progress: &mut dyn FnMut(u64, u64),
) -> Outcome<Sent> {
    match reader.file_to_send(path, is_forced)? {
        FileToSend::Unchanged(imported) => Ok(Sent::Unchanged(imported)),
        FileToSend::Changed { file, name, modified_ns } => {
            remote.import(SentFile { file, name, modified_ns }, progress).map(Sent::Imported)
        }
    }
}

impl ImportSum {
    /// Adds the daemon's report of a file, and prints it.
    fn add_sent(&mut self, app: &mut App, path: &Path, imported: &Value) -> Outcome<()> {
        self.files += 1;
        self.added += number(imported, "added");
        self.bytes += number(imported, "bytes");
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
    let key = paint(app.out.palette.strong, remote::text(imported, "conversation"));
    let place = paint(app.out.palette.dim, path.display());
    Ok(writeln!(app.out, "{key}  {what}, by the daemon  {place}")?)
}
