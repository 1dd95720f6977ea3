//! `unforget compact`.

use std::io::Write;

use unforget_engine::prompt::Until;
use unforget_engine::summarise::Urgency;

use super::prompt::{open, shape_of};
use crate::app::App;
use crate::args::CompactArgs;
use crate::failure::{Exit, Outcome};
use crate::json::{CompactJson, Worked};
use crate::text;

/// Summarises everything that is old enough and keeps the summaries.
pub(crate) fn run(app: &mut App, args: &CompactArgs) -> Outcome {
    let engine = app.open_existing()?;
    let engine = if app.settings.summariser.is_model() { engine.with_models() } else { engine };
    let found = super::resolve(&engine, &args.conversation)?;
    let (shape, _) = shape_of(app, &args.shape, &found.conversation.format);
    let mut session = open(app, &engine, &found, shape, Until::Now)?;
    let before = session.total().expected;
    let changed = session.compact()?;
    let after = session.total().expected;
    let done = session.counters();
    let urgency = if args.force { Urgency::Manual } else { Urgency::Normal };
    let worked = super::jobs::work(app, &engine, found.conversation.id, urgency)?;
    let key = &found.conversation.key.0;
    if app.out.json {
        let window = shape.policy.window;
        app.out.json(&CompactJson::new((key, window), changed, (before, after), (done, worked)))?;
        return Ok(Exit::Done);
    }
    if changed {
        writeln!(
            app.out,
            "{key}: {} → {} tokens; {} and {} made, {} found ready",
            text::count(before),
            text::count(after),
            text::plural(done.leaves, "leaf summary"),
            text::plural(done.merges, "merge"),
            text::count(done.summaries_reused),
        )?;
    } else {
        writeln!(
            app.out,
            "{key}: {} tokens, nothing old enough would be smaller as a summary",
            text::count(after)
        )?;
    }
    let Worked { ran, held } = worked.unwrap_or_default();
    super::jobs::say_ran(app, &ran, held.as_deref())?;
    Ok(Exit::Done)
}
