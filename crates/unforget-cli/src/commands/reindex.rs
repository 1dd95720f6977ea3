//! `unforget reindex`.

use std::io::Write;

use crate::app::App;
use crate::args::ReindexArgs;
use crate::failure::{Exit, Outcome};
use crate::json::ReindexJson;
use crate::text;

/// Builds the search index again, of one conversation or of all.
pub(crate) fn run(app: &mut App, args: &ReindexArgs) -> Outcome {
    let engine = app.open_existing()?;
    let all = match &args.conversation {
        Some(name) => vec![super::resolve(&engine, name)?.conversation],
        None => engine.store().conversations()?,
    };
    let bar =
        app.progress(all.len() as u64, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len}  {eta} left");
    bar.set_message("indexing");
    for conversation in &all {
        engine.reindex(conversation.id)?;
        bar.inc(1);
    }
    bar.finish_and_clear();
    let done = ReindexJson {
        conversations: all.len() as u64,
        entries: all.iter().map(|conversation| conversation.entries).sum(),
    };
    if app.out.json {
        app.out.json(&done)?;
    } else {
        let (conversations, entries) =
            (text::plural(done.conversations, "conversation"), text::plural(done.entries, "entry"));
        writeln!(app.out, "{conversations}, {entries} indexed")?;
    }
    Ok(Exit::Done)
}
