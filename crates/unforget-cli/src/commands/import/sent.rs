//! Imports while a daemon owns the database: files are sent to the daemon.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;
use unforget_guard::walk;

use super::BAR;
use crate::app::App;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{FailedJson, SkippedJson};
use crate::output::paint;
use crate::remote::{self, Remote, number};
use crate::text;

/// Sends files, and the files in folders.
pub(super) fn run(app: &mut App, remote: &Remote, paths: &[PathBuf]) -> Outcome {
    let mut files = Vec::new();
    for path in paths {
        walk(path, &mut |found, file| files.push((found, file.to_owned(), file == path)));
    }
    let bar = app.progress(0, BAR);
    let mut worst = Exit::Done;
    for (found, file, is_asked) in files {
        bar.set_message(file.file_name().unwrap_or_default().to_string_lossy().into_owned());
        let sent = found.map_err(|error| Failure::file(&file, &error)).and_then(|()| {
            remote.import(&file, &mut |done, total| {
                bar.set_length(total);
                bar.set_position(done);
            })
        });
        match sent {
            Ok(imported) => bar.suspend(|| say(app, &file, &imported))?,
            Err(failure) if failure.kind == "not-a-transcript" && !is_asked => {
                if app.out.json {
                    app.out.json(&SkippedJson::new(&file, &failure.message))?;
                }
            }
            Err(failure) => {
                app.out.complain(&failure);
                if app.out.json {
                    app.out.json(&FailedJson::new(&file, &failure))?;
                }
                worst = worst.max(failure.exit);
            }
        }
    }
    bar.finish_and_clear();
    Ok(worst)
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
