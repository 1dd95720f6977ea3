//! `unforget reject`: what was found is wrong, or holds no more.

use serde_json::json;
use unforget_engine::recall::{Address, NewVerdict};
use unforget_store::{Conversation, VerdictRow};

use super::engine::now;
use crate::app::App;
use crate::args::RejectArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{VerdictsJson, id_of};
use crate::remote::{Writer, encoded};
use crate::text;

/// Columns of a reason.
const WHY_WIDTH: usize = 100;

/// Author of a verdict if the environment does not tell who runs the command.
const NOBODY: &str = "command line";

/// Records a verdict, takes one back, or lists them.
pub(crate) fn run(app: &mut App, args: &RejectArgs) -> Outcome {
    if args.list {
        let engine = app.read()?;
        let found = super::resolve(&engine, &args.name)?.conversation;
        let rows = engine.verdicts(found.id)?;
        return say(app, &found, &rows);
    }
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    if let Some(number) = args.undo {
        let found = super::resolve(&engine, &args.name)?.conversation;
        match &writer {
            Writer::Here(engine) => engine.withdraw_verdict(found.id, number, now())?,
            Writer::There(remote) => {
                remote.call("DELETE", &format!("{}/{number}", place(&found)), None)?;
            }
        }
        let rows = engine.verdicts(found.id)?;
        return say(app, &found, &rows);
    }
    let id = match engine.address(None, &args.name)? {
        Address::Summary { conversation, .. } | Address::Entries { conversation, .. } => conversation,
    };
    let found = engine.store().conversation(id)?;
    let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
    let author = args.author.clone().or(user).unwrap_or_else(|| NOBODY.to_owned());
    let why = args.why.as_deref().unwrap_or_default();
    match &writer {
        Writer::Here(engine) => {
            let (line, instead) = (args.line.as_deref(), args.instead.as_deref());
            let new = NewVerdict { line, why, instead, author: &author };
            engine.reject_named(Some(id), &args.name, &new, now())?;
        }
        Writer::There(remote) => {
            let body = json!({
                "entry": args.name, "line": args.line, "why": why, "instead": args.instead, "author": author,
            });
            remote.call("POST", &place(&found), Some(&body))?;
        }
    }
    let rows = engine.verdicts(id)?;
    say(app, &found, &rows)
}

/// Where the daemon has the verdicts of a conversation.
fn place(found: &Conversation) -> String {
    format!("conversations/{}/verdicts", encoded(&found.key.0))
}

fn say(app: &mut App, found: &Conversation, rows: &[VerdictRow]) -> Outcome {
    if app.out.json {
        app.out.json(&VerdictsJson::new(&found.key.0, rows))?;
        return Ok(Exit::Done);
    }
    let table = rows.iter().map(|row| {
        let state = if row.is_standing() { "stands" } else { "taken back" };
        let line = row.line.as_deref().map(|line| format!("\u{201c}{line}\u{201d}: ")).unwrap_or_default();
        let instead = row.instead.as_deref().map(|name| format!(" (instead {name})")).unwrap_or_default();
        let why = text::one_line(&format!("{line}{}{instead}", row.why), WHY_WIDTH);
        let made = text::minute(row.made);
        vec![
            row.number.to_string(),
            id_of(&found.key.0, row.seq.0),
            state.to_owned(),
            row.author.clone(),
            made,
            why,
        ]
    });
    let heads = ["verdict", "entry", "state", "by", "since", "why"];
    write!(app.out, "{}", text::table(&heads, table.collect(), &[0]))?;
    Ok(Exit::Done)
}
