//! `unforget label`: a title of one's own, a star, tags.

use serde_json::json;
use unforget_core::id::ConversationId;
use unforget_engine::{Engine, LabelChange};
use unforget_server::json::LabelJson;
use unforget_store::Conversation;

use super::engine::now;
use crate::app::App;
use crate::args::LabelArgs;
use crate::failure::{Exit, Outcome};
use crate::output::paint;
use crate::remote::{Remote, Writer, encoded};
use crate::text;

/// Changes the label of a conversation, and shows it.
pub(crate) fn run(app: &mut App, args: &LabelArgs) -> Outcome {
    let change = LabelChange {
        title: args.title.clone(),
        star: (args.star || args.no_star).then_some(args.star),
        tags: args.tag.clone(),
        untags: args.untag.clone(),
    };
    if change.is_empty() {
        let engine = app.read()?;
        let found = super::resolve(&engine, &args.conversation)?.conversation;
        return say(app, &engine, &found);
    }
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    put(&writer, &found, &change)?;
    say(app, &engine, &found)
}

/// Changes a label, here or through the daemon that owns the database.
pub(crate) fn put(writer: &Writer, found: &Conversation, change: &LabelChange) -> Outcome<()> {
    match writer {
        Writer::Here(engine) => put_here(engine, found.id, change),
        Writer::There(remote) => put_there(remote, found, change),
    }
}

fn put_here(engine: &Engine, id: ConversationId, change: &LabelChange) -> Outcome<()> {
    engine.change_label(id, change, now())?;
    Ok(())
}

fn put_there(remote: &Remote, found: &Conversation, change: &LabelChange) -> Outcome<()> {
    let LabelChange { title, star, tags, untags } = change;
    let body = json!({ "title": title, "starred": star, "add": tags, "remove": untags });
    remote.call("PATCH", &format!("conversations/{}/label", encoded(&found.key.0)), Some(&body))?;
    Ok(())
}

fn say(app: &mut App, engine: &Engine, found: &Conversation) -> Outcome {
    let label = engine.label(found.id)?;
    if app.out.json {
        app.out.json(&LabelJson::new(&found.key.0, &label))?;
        return Ok(Exit::Done);
    }
    let one = crate::recognised::one(engine, found.clone())?;
    let name = text::one_line(&text::harmless(&one.name), 64);
    let marks = one.marks();
    let marks = if marks.is_empty() { String::new() } else { format!("  {marks}") };
    writeln!(app.out, "{}{marks}  {}", paint(app.out.palette.ours, name), one.title())?;
    if label.is_blank() {
        app.out.note("no title of your own, no star, no tags: --title, --star and --tag give some");
    }
    Ok(Exit::Done)
}
