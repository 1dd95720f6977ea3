//! `unforget jobs` and `unforget decisions`: summaries that models should write, and decisions.

use indicatif::ProgressBar;
use unforget_core::id::ConversationId;
use unforget_engine::Engine;
use unforget_engine::summarise::{Breaker, Cancel, Urgency};
use unforget_server::failed::Failed;
use unforget_server::work::Work;

use super::engine::now;
use crate::app::{App, show_progress};
use crate::args::{DecisionsArgs, JobsArgs};
use crate::config::process_env;
use crate::failure::{Exit, Outcome};
use crate::json::{AccountJson, DecisionsJson, JobsJson, RunJson, Worked};
use crate::remote::{self, Remote, Writer, encoded};
use crate::text;

/// Lists jobs, after doing or dropping them on request.
pub(crate) fn run(app: &mut App, args: &JobsArgs) -> Outcome {
    let writes = args.run || args.clear;
    let writer = if writes { app.writer(App::open_existing)? } else { Writer::Here(app.read()?) };
    let done = match &writer {
        Writer::Here(engine) => here(app, engine, args)?,
        Writer::There(remote) => there(app, remote, args)?,
    };
    let is_done = done.held.is_none() && done.ran.iter().all(RunJson::is_written);
    let exit = if is_done { Exit::Done } else { Exit::Problems };
    if app.out.json {
        app.out.json(&done)?;
        return Ok(exit);
    }
    if args.clear {
        writeln!(app.out, "{} dropped", text::plural(done.dropped, "job"))?;
    }
    say_ran(app, &done.ran, done.held.as_deref())?;
    say_jobs(app, &done)?;
    for account in &done.accounts {
        say_breaker(app, account)?;
    }
    Ok(exit)
}

fn here(app: &App, engine: &Engine, args: &JobsArgs) -> Outcome<JobsJson> {
    let found = super::resolve(engine, &args.conversation)?.conversation;
    let dropped = if args.clear { engine.store().drop_jobs(found.id, now())? } else { 0 };
    let worked = if args.run { work(app, engine, found.id)? } else { Worked::default() };
    Ok(Work::list(engine, &found, dropped, worked)?)
}

/// Handles jobs through the daemon that owns the database.
fn there(app: &App, remote: &Remote, args: &JobsArgs) -> Outcome<JobsJson> {
    let place = format!("conversations/{}/jobs", encoded(&args.conversation));
    if args.clear {
        return remote::shaped(remote.call("DELETE", &place, None)?);
    }
    remote::shaped(remote.work(&format!("{place}/run"), &bar(app))?)
}

/// A progress bar over jobs.
pub(super) fn bar(app: &App) -> ProgressBar {
    let bar = app.progress(0, "{msg:24!} {bar:24.cyan} {human_pos} of {human_len} summaries");
    bar.set_message("asking models");
    bar
}

/// Prints the outcomes of jobs, and why others wait, for people.
pub(super) fn say_ran(app: &mut App, ran: &[RunJson], held: Option<&str>) -> Outcome<()> {
    let written = ran.iter().filter(|one| one.is_written()).count() as u64;
    if written > 0 {
        let summaries = text::plural(written, "summary");
        writeln!(app.out, "{summaries} written by a model, shown from the next break on")?;
    }
    // A model that is away fails many summaries for one reason.
    let mut told: Vec<(&RunJson, u64)> = Vec::new();
    for one in ran.iter().filter(|one| !one.is_written()) {
        match told.iter_mut().find(|(first, _)| first.ended == one.ended && first.why == one.why) {
            Some((_, more)) => *more += 1,
            None => told.push((one, 0)),
        }
    }
    for (one, more) in told {
        let others = if more == 0 { String::new() } else { format!(" and {} more", text::count(more)) };
        writeln!(app.out, "{}{others} not written ({}): {}", one.name, one.ended, text::harmless(&one.why))?;
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
        vec![job.name.clone(), entries, job.state.to_string(), job.attempts.to_string(), why]
    });
    let table = text::table(&["summary", "entries", "state", "tries", "why"], rows.collect(), &[]);
    write!(app.out, "{table}")?;
    let (calls, input) = (text::plural(done.hour.calls, "call"), text::count(done.hour.input));
    writeln!(app.out, "this hour: {calls}, {input} tokens in, {} out", text::count(done.hour.output))?;
    Ok(())
}

/// Prints an account that may not be called, or whose last call failed.
fn say_breaker(app: &mut App, row: &AccountJson) -> Outcome<()> {
    let what = match row.state.parse() {
        Ok(Breaker::Closed { failures: 0 }) => return Ok(()),
        Ok(Breaker::Closed { failures }) => format!("failed {failures} times in a row"),
        Ok(Breaker::Open { until, .. }) => format!("not called until {} UTC", text::minute(until)),
        Ok(Breaker::Probing { .. }) => "tried again now".to_owned(),
        Ok(Breaker::Blocked { since }) => {
            format!("its credential was refused at {} UTC: change it, or run --run", text::minute(since))
        }
        Err(_) => format!("unknown state: {}", row.state),
    };
    writeln!(app.out, "{} ({}): {what}", text::harmless(&row.provider), text::harmless(&row.credential))?;
    Ok(())
}

/// Does the jobs of a conversation.
fn work(app: &App, engine: &Engine, id: ConversationId) -> Outcome<Worked> {
    let models = app.settings.summariser.models(engine, &process_env, None)?;
    let (cancel, bar) = (Cancel::default(), bar(app));
    let progress = |done, total| show_progress(&bar, done, total);
    let work = Work { engine, models: models.as_ref(), cancel: &cancel, progress: &progress };
    let worked = work.jobs(id, Urgency::Manual);
    bar.finish_and_clear();
    Ok(worked?.ok_or_else(Failed::no_model)?)
}

/// Lists decisions, newest last.
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
    if rows.is_empty() {
        app.out.note("no decision of a model is stored for this conversation");
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
