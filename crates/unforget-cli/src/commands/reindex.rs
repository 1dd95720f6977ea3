//! `unforget reindex`.

use unforget_store::read_all;

use crate::app::App;
use crate::args::ReindexArgs;
use crate::failure::{Exit, Outcome};
use crate::json::ReindexJson;
use crate::remote::{Remote, Writer, encoded, number};
use crate::text;

/// Rebuilds the search index of one conversation or of all.
pub(crate) fn run(app: &mut App, args: &ReindexArgs) -> Outcome {
    let engine = match app.writer(App::open_existing)? {
        Writer::Here(engine) => engine,
        Writer::There(remote) => return there(app, &remote, args),
    };
    let all = match &args.conversation {
        Some(name) => vec![super::resolve(&engine, name)?.conversation],
        None => read_all(|page| engine.store().conversations(page))?,
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
    say(app, &done)
}

/// Rebuilds through the daemon that owns the database.
fn there(app: &mut App, remote: &Remote, args: &ReindexArgs) -> Outcome {
    let query = args.conversation.as_ref().map(|name| format!("?conversation={}", encoded(name)));
    let task = remote.call("POST", &format!("reindex{}", query.unwrap_or_default()), None)?;
    let done = remote.wait(&task, &mut |_, _| ())?;
    let (conversations, entries) = (number(&done, "conversations"), number(&done, "entries"));
    say(app, &ReindexJson { conversations, entries })
}

fn say(app: &mut App, done: &ReindexJson) -> Outcome {
    if app.out.json {
        app.out.json(done)?;
    } else {
        let (conversations, entries) =
            (text::plural(done.conversations, "conversation"), text::plural(done.entries, "entry"));
        writeln!(app.out, "{conversations}, {entries} indexed")?;
    }
    Ok(Exit::Done)
}
