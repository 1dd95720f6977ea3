//! `unforget handoff`: a document with which another agent goes on.

use std::fs::File;
use std::io::Write as _;

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
        let failed = |error| Failure::file(path, &error);
        File::create_new(path).and_then(|mut file| file.write_all(markdown.as_bytes())).map_err(failed)?;
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
