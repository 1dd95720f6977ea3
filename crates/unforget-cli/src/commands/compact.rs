//! `unforget compact`.

use unforget_engine::Engine;
use unforget_engine::summarise::{Cancel, Urgency};
use unforget_server::work::Work;

use super::prompt::{open_whole, shape_of};
use crate::app::{App, show_progress};
use crate::args::CompactArgs;
use crate::config::process_env;
use crate::failure::{Exit, Outcome};
use crate::json::CompactJson;
use crate::remote::{self, Remote, Writer, encoded};
use crate::text;

/// Summarises everything that is old enough and stores the summaries.
pub(crate) fn run(app: &mut App, args: &CompactArgs) -> Outcome {
    let done = match app.writer(App::open_existing)? {
        Writer::Here(engine) => here(app, &engine, args)?,
        Writer::There(remote) => there(app, &remote, args)?,
    };
    if app.out.json {
        app.out.json(&done)?;
        return Ok(Exit::Done);
    }
    let key = &done.conversation;
    if done.changed {
        writeln!(
            app.out,
            "{key}: {} → {} tokens; {} and {} made, {} found ready",
            text::count(done.before),
            text::count(done.after),
            text::plural(done.leaves, "leaf summary"),
            text::plural(done.merges, "merge"),
            text::count(done.reused),
        )?;
    } else {
        let after = text::count(done.after);
        writeln!(app.out, "{key}: {after} tokens, nothing old enough would be smaller as a summary")?;
    }
    super::jobs::say_ran(app, done.ran.as_deref().unwrap_or_default(), done.held.as_deref())?;
    Ok(Exit::Done)
}

fn here(app: &App, engine: &Engine, args: &CompactArgs) -> Outcome<CompactJson> {
    engine.want_models(app.settings.summariser.is_model());
    let found = super::resolve(engine, &args.conversation)?;
    let (shape, _) = shape_of(app, &args.shape, &found.conversation.format);
    let models = app.settings.summariser.models(engine, &process_env, None)?;
    let session = open_whole(app, engine, &found, shape)?;
    let urgency = if args.force { Urgency::Manual } else { Urgency::Normal };
    let (cancel, bar) = (Cancel::default(), super::jobs::bar(app));
    let work = Work {
        engine,
        models: models.as_ref(),
        cancel: &cancel,
        progress: &|done, total| show_progress(&bar, done, total),
    };
    let done = work.compact(&found.conversation, session, urgency, || ());
    bar.finish_and_clear();
    Ok(done?)
}

/// Compacts through the daemon that owns the database.
fn there(app: &App, remote: &Remote, args: &CompactArgs) -> Outcome<CompactJson> {
    let settings = app.shape(&args.shape);
    let mut place = format!(
        "conversations/{}/compact?force={}&window={}",
        encoded(&args.conversation),
        args.force,
        settings.window.value
    );
    let named = [
        ("model", settings.model.value),
        ("dialect", settings.dialect.value.map(|dialect| dialect.0.name().to_owned())),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            place.extend(["&", name, "=", &encoded(&value)]);
        }
    }
    remote::shaped(remote.work(&place, &super::jobs::bar(app))?)
}
