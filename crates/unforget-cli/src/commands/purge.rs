//! `unforget purge`.

use std::ops::RangeInclusive;

use unforget_core::pin::PinId;
use unforget_store::Purged;

use crate::app::App;
use crate::args::PurgeArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::PurgedJson;
use crate::output::{how_to_agree, paint};
use crate::remote::Writer;
use crate::text;

/// The word that a person types as confirmation.
const WORD: &str = "purge";

/// Reports the extent, asks, and purges.
pub(crate) fn run(app: &mut App, args: &PurgeArgs) -> Outcome {
    let writer = app.writer(App::open_existing)?;
    let engine = writer.reader(app)?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let (first, end) = match args.entries {
        Some(range) => (range.first, (range.last + 1).min(found.entries)),
        None => (0, found.entries),
    };
    if first >= end {
        let entries = text::plural(found.entries, "entry");
        let message = format!("{} has {entries}, and none in this range", text::key(&found.key.0));
        return Err(Failure::usage(message, "unforget stats CONVERSATION --entries A-B lists entries"));
    }
    let plan = engine.purge_plan(&found, first..end)?;
    let pins = engine.pins_repeating(found.id, first..end)?;
    if !app.out.json {
        say(app, &found.key.0, first..=end - 1, &plan)?;
        warn(app, &found.key.0, &pins)?;
        app.out.finish()?;
    }
    if !args.yes && !super::types(&format!("This cannot be undone. Type {WORD} to do it:"), WORD) {
        return Err(Failure::usage("nothing was purged", how_to_agree(WORD)));
    }
    let done = match &writer {
        Writer::Here(engine) => engine.purge(&found, first..end)?,
        Writer::There(remote) => {
            remote.purge(&found.key.0, first, end)?;
            plan
        }
    };
    if app.out.json {
        app.out.json(&PurgedJson::new(&found.key.0, first..=end - 1, true, &done, &pins))?;
    } else {
        writeln!(app.out, "removed; the chain still verifies around the gap")?;
        if app.settings.db.value.file().is_none() {
            app.out.note(
                "the server's files keep the removed bytes until it uses their room again; its archived log, standbys and \
                 backups keep them until they expire",
            );
        }
    }
    Ok(Exit::Done)
}

/// Names the pins that repeat words of the entries: they are a person's own words, so they stay.
fn warn(app: &mut App, key: &str, pins: &[PinId]) -> Outcome<()> {
    let Some(first) = pins.first() else { return Ok(()) };
    let names = pins.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let verb = if pins.len() == 1 { "repeats" } else { "repeat" };
    writeln!(app.out, "Not removed: {names}, which {verb} words of these entries.")?;
    writeln!(app.out, "  `unforget unpin {key} {}` takes that pin out of later prompts", first.0)?;
    Ok(())
}

fn say(app: &mut App, key: &str, span: RangeInclusive<u64>, plan: &Purged) -> Outcome<()> {
    let strong = app.out.palette.strong;
    writeln!(
        app.out,
        "{} entries {} to {}. To be removed for good:",
        paint(strong, text::key(key)),
        span.start(),
        span.end()
    )?;
    writeln!(app.out, "  {}, {}", text::plural(plan.entries, "entry"), text::bytes(plan.bytes))?;
    writeln!(app.out, "  {}, held by nothing else", text::plural(plan.blobs, "large part"))?;
    writeln!(app.out, "  {} over them", text::plural(plan.summaries, "summary"))?;
    Ok(())
}
