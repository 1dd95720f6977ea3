//! `unforget jobs` and `unforget decisions`: summaries that models should write, and what was decided.

use std::io::Write;

use unforget_core::id::ConversationId;
use unforget_engine::Engine;
use unforget_engine::summarise::{Breaker, Shift, Urgency};
use unforget_store::{BreakerRow, JobRow, JobState};

use super::engine::now;
use crate::app::App;
use crate::args::{DecisionsArgs, JobsArgs};
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{DecisionsJson, JobsJson, RunJson, Worked};
use crate::text;

/// Milliseconds of an hour.
const HOUR: i64 = 3_600_000;

/// Lists jobs, after doing or dropping them if that is wanted.
pub(crate) fn run(app: &mut App, args: &JobsArgs) -> Outcome {
    let writes = args.run || args.clear;
    let engine = if writes { app.open_existing()? } else { app.read()? };
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let dropped = if args.clear { engine.store().drop_jobs(found.id, now())? } else { 0 };
    let Worked { ran, held } = if args.run {
        work(app, &engine, found.id, Urgency::Manual)?.ok_or_else(|| {
            let hint = "name one in the settings file: docs/models.md";
            Failure::usage("no model is configured that can be called from here", hint)
        })?
    } else {
        Worked::default()
    };
    let store = engine.store();
    let breakers = store.breakers()?;
    let done = JobsJson {
        conversation: found.key.0,
        jobs: store.jobs(found.id)?.into_iter().map(Into::into).collect(),
        dropped,
        hour: store.spent(found.id, now().0.div_euclid(HOUR))?.into(),
        accounts: breakers.iter().cloned().map(Into::into).collect(),
        ran,
        held,
    };
    let is_done = done.held.is_none() && done.ran.iter().all(RunJson::is_written);
    let exit = if is_done { Exit::Done } else { Exit::Problems };
    if app.out.json {
        app.out.json(&done)?;
        return Ok(exit);
    }
    if args.clear {
        writeln!(app.out, "{} dropped", text::plural(dropped, "job"))?;
    }
    say_ran(app, &done.ran, done.held.as_deref())?;
    say_jobs(app, &done)?;
    for row in &breakers {
        say_breaker(app, row)?;
    }
    Ok(exit)
}

/// What became of jobs, and why others wait, for people.
pub(super) fn say_ran(app: &mut App, ran: &[RunJson], held: Option<&str>) -> Outcome<()> {
    let written = ran.iter().filter(|one| one.is_written()).count() as u64;
    if written > 0 {
        let summaries = text::plural(written, "summary");
        writeln!(app.out, "{summaries} written by a model, shown from the next break on")?;
    }
    for one in ran.iter().filter(|one| !one.is_written()) {
        writeln!(app.out, "{} not written ({}): {}", one.name, one.ended, text::harmless(&one.why))?;
    }
    if let Some(held) = held {
        writeln!(app.out, "summaries wait: {held}")?;
    }
    Ok(())
}

fn say_jobs(app: &mut App, done: &JobsJson) -> Outcome<()> {
    if done.jobs.is_empty() {
        writeln!(app.out, "{}: no jobs", done.conversation)?;
        return Ok(());
    }
    let rows = done.jobs.iter().map(|job| {
        let entries = format!("{}-{}", job.first, job.last);
        let why = text::one_line(&text::harmless(&job.why), 60);
        vec![job.name.clone(), entries, job.state.to_owned(), job.attempts.to_string(), why]
    });
    let table = text::table(&["summary", "entries", "state", "tries", "why"], rows.collect(), &[]);
    write!(app.out, "{table}")?;
    let (calls, input) = (text::plural(done.hour.calls, "call"), text::count(done.hour.input));
    writeln!(app.out, "this hour: {calls}, {input} tokens in, {} out", text::count(done.hour.output))?;
    Ok(())
}

/// An account that may not be called, or failed last.
fn say_breaker(app: &mut App, row: &BreakerRow) -> Outcome<()> {
    let what = match row.state.parse() {
        Ok(Breaker::Closed { failures: 0 }) => return Ok(()),
        Ok(Breaker::Closed { failures }) => format!("failed {failures} times in a row"),
        Ok(Breaker::Open { until, .. }) => format!("not called until {} UTC", text::minute(until)),
        Ok(Breaker::Probing { .. }) => "tried again now".to_owned(),
        Ok(Breaker::Blocked { since }) => {
            format!("its credential was refused at {} UTC: change it, or run --run", text::minute(since))
        }
        Err(_) => format!("its state is not understood: {}", row.state),
    };
    writeln!(app.out, "{} ({}): {what}", text::harmless(&row.provider), text::harmless(&row.credential))?;
    Ok(())
}

/// Does the jobs of a conversation; `None` if no model is configured.
pub(super) fn work(
    app: &App,
    engine: &Engine,
    id: ConversationId,
    urgency: Urgency,
) -> Outcome<Option<Worked>> {
    let Some(models) = app.settings.summariser.models(engine, &process_env, None)? else { return Ok(None) };
    let reports = engine.work(id, &models, now(), Shift { limit: usize::MAX, urgency })?;
    let is_due = |job: &JobRow| matches!(job.state, JobState::Waiting { due } if due <= now());
    let has_due = engine.store().jobs(id)?.iter().any(is_due);
    let held =
        if has_due { engine.held_back(id, &models, now())?.map(|held| held.to_string()) } else { None };
    Ok(Some(Worked { ran: reports.iter().map(Into::into).collect(), held }))
}

/// Lists what was decided, newest last.
pub(crate) fn decisions(app: &mut App, args: &DecisionsArgs) -> Outcome {
    let engine = app.read()?;
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let rows = engine.store().decisions(found.id)?;
    let rows = rows.get(rows.len().saturating_sub(args.limit)..).unwrap_or_default();
    if app.out.json {
        let decisions = rows.iter().map(Into::into).collect();
        app.out.json(&DecisionsJson { conversation: found.key.0, decisions })?;
        return Ok(Exit::Done);
    }
    let lines = rows.iter().map(|row| {
        let why = text::one_line(&text::harmless(&row.why), 60);
        vec![text::minute(row.time), format!("s:{}", row.seq), row.decided.clone(), row.looked.clone(), why]
    });
    let table = text::table(&["time", "entry", "decided", "looked at", "why"], lines.collect(), &[]);
    write!(app.out, "{table}")?;
    Ok(Exit::Done)
}
