//! `unforget describe`.

use unforget_engine::summarise::Writer;

use crate::app::App;
use crate::args::DescribeArgs;
use crate::failure::{Exit, Outcome};
use crate::json::DescriptionJson;
use crate::output::paint;
use crate::text;

/// Describes the content behind an id.
pub(crate) fn run(app: &mut App, args: &DescribeArgs) -> Outcome {
    let engine = app.read()?;
    let at_hand = super::confined(&engine, args.conversation.as_deref())?;
    let what = engine.describe(at_hand, &super::entries_of(&engine, &args.id)?)?;
    if app.out.json {
        app.out.json(&DescriptionJson::from(&what))?;
        return Ok(Exit::Done);
    }
    let p = app.out.palette;
    writeln!(app.out, "{}  {}", paint(p.strong, &what.name), what.kind)?;
    writeln!(app.out, "  in       {}, entries {} to {}", what.conversation, what.span.0, what.span.1)?;
    let roles: Vec<_> = what.roles.iter().map(|(who, count)| format!("{count} {}", who.name())).collect();
    let entries = text::plural(what.entries, "entry");
    writeln!(app.out, "  holds    {entries} ({}), {} tokens", roles.join(", "), text::count(what.tokens))?;
    if let Some((from, to)) = what.time {
        writeln!(app.out, "  time     {} to {} UTC", text::minute(from), text::minute(to))?;
    }
    if let Some(writer) = &what.writer {
        writeln!(app.out, "  by       {}", text::harmless(&written(writer)))?;
    }
    if !what.sources.is_empty() {
        writeln!(app.out, "  made of  {}", what.sources.join(", "))?;
    }
    if !what.copies.is_empty() {
        let names: Vec<_> = what.copies.iter().map(|copy| copy.name.as_str()).collect();
        writeln!(app.out, "  also     {}", text::harmless(&names.join(", ")))?;
    }
    writeln!(app.out, "\n{}", text::harmless(&what.preview))?;
    Ok(Exit::Done)
}

/// The writer of a summary, for people.
pub(super) fn written(writer: &Writer) -> String {
    match writer {
        Writer::Model(name) => format!("the model {name}; prompts show it from their next break on"),
        Writer::Deterministic => "no model; none was asked for".to_owned(),
        Writer::Fallback { state, why } if why.is_empty() => {
            format!("no model yet: a fallback, its job is {}", state.name())
        }
        Writer::Fallback { state, why } => {
            format!("no model yet: a fallback, its job is {}: {why}", state.name())
        }
    }
}
