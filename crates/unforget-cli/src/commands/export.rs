//! `unforget export`.

mod page;

use std::fs::File;
use std::io::BufWriter;

use unforget_engine::EngineError;
use unforget_engine::trust::Exported;

use crate::app::App;
use crate::args::ExportArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::ExportJson;
use crate::text;

/// Writes the original bytes to stdout or to a new file.
pub(crate) fn run(app: &mut App, args: &ExportArgs) -> Outcome {
    if app.out.json && args.file().is_none() {
        return Err(Failure::usage(
            "stdout cannot be both the transcript and JSON",
            "name a file for the transcript with --output",
        ));
    }
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?;
    app.tell_broken(&engine);
    if args.html {
        return page::run(app, args, &engine, &found);
    }
    let (id, snapshot) = (found.conversation.id, args.snapshot.or(found.snapshot));
    let exported = match args.file() {
        None => engine.export(id, snapshot, &mut app.out.bytes()).map_err(of_stdout)?,
        Some(path) => {
            let failed = |error| Failure::file(path, &error);
            let mut file = BufWriter::new(File::create_new(path).map_err(failed)?);
            let exported = engine.export(id, snapshot, &mut file).inspect_err(|_| {
                // A part of a transcript under its name would be taken for all of it.
                std::fs::remove_file(path).ok();
            })?;
            file.into_inner().map_err(|error| failed(error.into_error()))?.sync_all().map_err(failed)?;
            exported
        }
    };
    say(app, args, &found.conversation.key.0, &exported)?;
    if exported.snapshot.is_none() && engine.is_unfinished(&found.conversation)? {
        app.out.note("its file was not read to its end: this is the part that was stored; unforget doctor says how to go on");
    }
    Ok(Exit::Done)
}

fn say(app: &mut App, args: &ExportArgs, key: &str, exported: &Exported) -> Outcome<()> {
    if let (true, Some(path)) = (app.out.json, args.file()) {
        return app.out.json(&ExportJson::new(key, exported, path.display().to_string()));
    }
    let Exported { entries, bytes, purged, .. } = *exported;
    if let Some(path) = args.file() {
        let line =
            format!("{}, {} to {}", text::plural(entries, "entry"), text::bytes(bytes), path.display());
        writeln!(app.out, "{line}")?;
    }
    if purged > 0 {
        app.out.note(format_args!("{} purged and missing", text::plural(purged, "entry")));
    }
    Ok(())
}

/// A closed pipe arrives wrapped, because the engine does not know its target.
fn of_stdout(error: EngineError) -> Failure {
    match error {
        EngineError::File { source, .. } => source.into(),
        other => other.into(),
    }
}
