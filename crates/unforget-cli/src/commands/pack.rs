//! `unforget pack`: cited evidence within a budget, for another agent.

use unforget_engine::recall::PackQuery;

use super::confined;
use super::engine::now;
use crate::app::App;
use crate::args::PackArgs;
use crate::failure::{Exit, Outcome};
use crate::json::PackJson;

/// Prints what is known of a question as Markdown: statements, rows and passages, each with its receipt.
pub(crate) fn run(app: &mut App, args: &PackArgs) -> Outcome {
    let engine = app.open_or_read()?;
    let wanted = PackQuery {
        text: args.query.join(" "),
        conversation: confined(&engine, args.conversation.as_deref())?,
        budget_tokens: args.budget,
        is_project: args.place.project.is_some(),
        now: Some(now()),
    };
    let pack = args.place.filter()?.confine(engine.clone())?.pack(&wanted)?;
    app.tell_broken(&engine);
    let shown = PackJson::new(&wanted.text, &pack);
    if app.out.json {
        app.out.json(&shown)?;
        return Ok(Exit::Done);
    }
    write!(app.out, "{}", crate::text::harmless(&shown.markdown()))?;
    Ok(Exit::Done)
}
