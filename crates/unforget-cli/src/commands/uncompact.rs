//! `unforget uncompact`: entries that a compaction took out of the prompt stand in it again.

use serde_json::json;
use unforget_core::id::Seq;
use unforget_engine::prompt::ThreadRef;
use unforget_engine::{Engine, NewRaised, RaisedWeight};
use unforget_store::{Conversation, RaisedRow};

use super::engine::now;
use crate::app::App;
use crate::args::UncompactArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::RaisedSpansJson;
use crate::remote::{Writer, encoded};
use crate::text;

/// Who decides if the environment does not tell who runs the command.
const NOBODY: &str = "command line";

/// Puts entries back, takes them away again, or lists them.
pub(crate) fn run(app: &mut App, args: &UncompactArgs) -> Outcome {
    if args.list {
        let engine = app.read()?;
        let found = super::resolve(&engine, &args.conversation)?.conversation;
        return say(app, &engine, &found);
    }
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    if let Some(number) = args.undo {
        match &writer {
            Writer::Here(engine) => engine.lower(found.id, number, now())?,
            Writer::There(remote) => {
                remote.call("DELETE", &format!("{}/{number}", place(&found)), None)?;
            }
        }
        return say(app, &engine, &found);
    }
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let author = args.author.clone().or(user).unwrap_or_else(|| NOBODY.to_owned());
    for (first, last) in spans(app, &engine, args)? {
        match &writer {
            Writer::Here(engine) => {
                engine.raise(found.id, &NewRaised { first, last, author: &author }, now())?;
            }
            Writer::There(remote) => {
                let body = json!({ "entries": format!("{first}-{last}"), "author": author });
                remote.call("POST", &place(&found), Some(&body))?;
            }
        }
    }
    say(app, &engine, &found)
}

/// The spans that the arguments name.
fn spans(app: &App, engine: &Engine, args: &UncompactArgs) -> Outcome<Vec<(Seq, Seq)>> {
    let found = super::resolve(engine, &args.conversation)?;
    let Some(number) = args.broke else {
        let named = args.entries.iter().map(|name| engine.span_of(found.conversation.id, name));
        return Ok(named.collect::<Result<_, _>>()?);
    };
    let (shape, _) = super::prompt::shape_of(app, &args.shape, &found.conversation.format);
    let of = ThreadRef { conversation: found.conversation.id, thread: found.thread };
    let breaks = engine.spans_of_breaks(of, shape)?;
    let span = breaks.by_break.get(&number).copied();
    let span = span.ok_or_else(|| {
        let of = if breaks.are_played {
            let (window, dialect) = (text::count(shape.policy.window), shape.dialect.name());
            format!("in calls played for a window of {window} tokens and {dialect}")
        } else {
            "in the prompts that were sent".to_owned()
        };
        let known: Vec<String> = breaks.by_break.keys().map(ToString::to_string).collect();
        let hint = match known.as_slice() {
            [] if breaks.are_played => {
                "nothing left them; --window, --model and --dialect play others".to_owned()
            }
            [] => "no prompt of this conversation broke: nothing left it".to_owned(),
            known => format!("breaks at which entries left: {}", known.join(", ")),
        };
        Failure::usage(format!("no entries are known to have left at break {number} {of}"), hint)
    });
    Ok(vec![span?])
}

/// Where the daemon has the raised spans of a conversation.
fn place(found: &Conversation) -> String {
    format!("conversations/{}/raised", encoded(&found.key.0))
}

fn say(app: &mut App, engine: &Engine, found: &Conversation) -> Outcome {
    let rows = engine.raised_with_weights(found.id)?;
    if app.out.json {
        app.out.json(&RaisedSpansJson::new(&found.key.0, &rows))?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        app.out.note("nothing was put back");
        return Ok(Exit::Done);
    }
    let heads = ["number", "entries", "count", "tokens", "state", "by", "since"];
    write!(app.out, "{}", text::table(&heads, rows.iter().map(row).collect(), &[0, 2, 3]))?;
    if rows.iter().any(|(row, _)| row.is_standing()) {
        app.out.note("what stands is in every prompt from the next one on, where summaries cover it and as far as it has room");
    }
    Ok(Exit::Done)
}

fn row((row, weight): &(RaisedRow, RaisedWeight)) -> Vec<String> {
    let (first, last) = row.span;
    vec![
        row.number.to_string(),
        if first == last { format!("s:{first}") } else { format!("s:{first}-{last}") },
        text::count(weight.entries),
        text::count(weight.tokens),
        if row.is_standing() { "stands" } else { "taken away" }.to_owned(),
        text::one_line(&text::harmless(&row.author), 40),
        text::minute(row.made),
    ]
}
