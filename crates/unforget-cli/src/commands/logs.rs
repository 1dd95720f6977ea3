//! `unforget logs`: the log of the daemon that `unforget run` started.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;

use crate::app::App;
use crate::args::LogsArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;

/// Interval between looks for new lines.
const LOOK: Duration = Duration::from_millis(200);

/// The log, with `--json`.
#[derive(Serialize)]
struct LogJson {
    path: String,
    lines: Vec<String>,
}

/// Shows the log.
pub(crate) fn run(app: &mut App, args: &LogsArgs) -> Outcome {
    let path = place(&app.settings.db.value.local_path()?);
    let mut file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::input(
            "file",
            format!("there is no log at {}", path.display()),
            "unforget run starts a daemon with a log; unforget serve logs to its own terminal",
        ),
        _ => Failure::file(&path, &error),
    })?;
    let written = read(&mut file)?;
    if app.out.json {
        let lines = written.lines().map(str::to_owned).collect();
        app.out.json(&LogJson { path: path.display().to_string(), lines })?;
        return Ok(Exit::Done);
    }
    show(app, &written)?;
    if args.follow { follow(app, &mut file) } else { Ok(Exit::Done) }
}

/// Shows what the daemon writes from now on, until the reader or a person ends it.
fn follow(app: &mut App, file: &mut File) -> Outcome {
    loop {
        std::thread::sleep(LOOK);
        let more = read(file)?;
        show(app, &more)?;
    }
}

/// The log of a database's daemon.
pub(crate) fn place(db: &Path) -> PathBuf {
    let mut path = db.as_os_str().to_owned();
    path.push(".daemon.log");
    path.into()
}

/// Reads what is new. A daemon that starts may have begun a long log anew.
fn read(file: &mut File) -> io::Result<String> {
    if file.metadata()?.len() < file.stream_position()? {
        file.rewind()?;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn show(app: &mut App, written: &str) -> Outcome<()> {
    for line in written.lines() {
        writeln!(app.out, "{}", text::harmless(line))?;
    }
    Ok(app.out.flush()?)
}
