//! `unforget handoff`: a document with which another agent goes on.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::Path;

use super::resume::named_or_newest;
use crate::app::App;
use crate::args::HandoffArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::HandoffJson;
use crate::text::harmless;

/// Writes the document.
pub(crate) fn run(app: &mut App, args: &HandoffArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let found = named_or_newest(&engine, args.conversation.as_deref())?;
    let handoff = engine.handoff(&found.stored, args.budget)?;
    app.tell_broken(&engine);
    let shown = HandoffJson::new(&found, &handoff);
    let markdown = harmless(&shown.markdown());
    if let Some(path) = &args.output {
        write_new(path, &markdown).map_err(|error| Failure::file(path, &error))?;
    }
    if app.out.json {
        app.out.json(&shown)?;
    } else if let Some(path) = &args.output {
        writeln!(app.out, "handoff of {} to {}", found.name, path.display())?;
    } else {
        write!(app.out, "{markdown}")?;
    }
    Ok(Exit::Done)
}

/// Writes a new file as a whole, or leaves none.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create_new(path)?;
    file.write_all(text.as_bytes()).inspect_err(|_| drop(fs::remove_file(path)))
}
