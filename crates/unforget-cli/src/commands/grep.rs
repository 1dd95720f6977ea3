//! `unforget grep`.

use unforget_engine::recall::{GrepAnswer, GrepMatch, GrepQuery};

use super::{confined, role_of, time_of};
use crate::app::App;
use crate::args::GrepArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{GrepJson, id_of};
use crate::output::paint;
use crate::text;

/// Finds a regular expression in every stored byte.
pub(crate) fn run(app: &mut App, args: &GrepArgs) -> Outcome {
    let engine = app.read()?;
    let wanted = GrepQuery {
        pattern: args.regex.clone(),
        is_literal: args.fixed,
        conversation: confined(&engine, args.conversation.as_deref())?,
        role: args.role.map(role_of),
        since: time_of(args.since.as_deref())?,
        until: time_of(args.until.as_deref())?,
        limit: Some(args.limit),
        ignore_case: args.ignore_case,
        ..GrepQuery::default()
    };
    let answer = engine.grep(&wanted)?;
    if app.out.json {
        app.out.json(&GrepJson::from(&answer))?;
        return Ok(Exit::Done);
    }
    for found in &answer.matches {
        show(app, found)?;
    }
    looked_at(app, &answer);
    Ok(Exit::Done)
}

/// One line per match, the match in colour.
fn show(app: &mut App, found: &GrepMatch) -> Outcome<()> {
    let p = app.out.palette;
    let part = |text: Option<&str>| text::harmless(text.unwrap_or_default()).replace(['\n', '\t'], " ");
    let before = part(found.snippet.get(..found.shown.start));
    let matched = part(found.snippet.get(found.shown.clone()));
    let after = part(found.snippet.get(found.shown.end..));
    let id = id_of(&found.conversation.0, found.seq.0);
    Ok(writeln!(app.out, "{}  {before}{}{after}", paint(p.ours, id), paint(p.bad, matched))?)
}

fn looked_at(app: &App, answer: &GrepAnswer) {
    let p = app.out.notes;
    let line = format!(
        "{}; {} searched of {}, {} of {} read",
        text::plural(answer.matches.len() as u64, "match"),
        text::count(answer.entries_searched),
        text::plural(answer.entries_total, "entry"),
        text::count(answer.chunks_scanned),
        text::plural(answer.chunks_total, "chunk"),
    );
    app.out.note(paint(p.dim, line));
    if answer.stopped_at_limit {
        app.out.note("there may be more: raise --limit to see them");
    }
    if answer.stopped_at_deadline {
        app.out.note(paint(
            p.bad,
            "time ran out before everything was read: name a conversation or a longer pattern",
        ));
    }
}
