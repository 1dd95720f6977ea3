//! `unforget backup`.

use std::path::Path;

use crate::app::App;
use crate::args::BackupArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::BackupJson;
use crate::text;

/// Writes a verified copy.
pub(crate) fn run(app: &mut App, args: &BackupArgs) -> Outcome {
    if args.file.exists() {
        return Err(Failure::file(&args.file, &std::io::ErrorKind::AlreadyExists.into()));
    }
    let folder = args.file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The database would only say that it failed.
    tempfile::tempfile_in(folder).map_err(|error| Failure::file(&args.file, &error))?;
    let engine = app.read()?;
    let bar = app.progress(0, "{spinner} copying and verifying");
    bar.enable_steady_tick(std::time::Duration::from_millis(120));
    let done = engine.store().backup(&args.file);
    bar.finish_and_clear();
    done?;
    let bytes = std::fs::metadata(&args.file).map_err(|error| Failure::file(&args.file, &error))?.len();
    let path = args.file.display().to_string();
    if app.out.json {
        app.out.json(&BackupJson { path, bytes })?;
    } else {
        writeln!(app.out, "{path}: {}, verified", text::bytes(bytes))?;
    }
    Ok(Exit::Done)
}
