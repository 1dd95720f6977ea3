//! `unforget jobs`: summaries that models should write.

use std::io::Write;

use unforget_core::id::ConversationId;
use unforget_engine::Engine;
use unforget_engine::recall::summary_name;
use unforget_engine::summarise::{Ended, Report, Shift, Urgency};

use super::engine::now;
use crate::app::App;
use crate::args::JobsArgs;
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::{JobJson, JobsJson, RunJson};
use crate::text;

/// Lists jobs, after doing or dropping them if that is wanted.
pub(crate) fn run(app: &mut App, args: &JobsArgs) -> Outcome {
    let writes = args.run || args.clear;
    let engine = if writes { app.open_existing()? } else { app.read()? };
    let found = super::resolve(&engine, &args.conversation)?.conversation;
    let dropped = if args.clear { engine.store().drop_jobs(found.id, now())? } else { 0 };
    let ran = if args.run {
        work(app, &engine, found.id, Urgency::Manual)?.ok_or_else(|| {
            Failure::usage("no model is configured", "name one in the settings file, table summariser")
        })?
    } else {
        Vec::new()
    };
    let jobs = engine.store().jobs(found.id)?;
    let spent = engine.store().spent(found.id, now().0.div_euclid(3_600_000))?;
    let jobs: Vec<JobJson> = jobs
        .into_iter()
        .map(|job| JobJson {
            name: summary_name(&job.key),
            level: job.key.level,
            first: job.span.0.0,
            last: job.span.1.0,
            state: job.state.name(),
            attempts: job.attempts,
            why: job.why,
        })
        .collect();
    let done = JobsJson {
        conversation: found.key.0,
        ran: ran.iter().map(RunJson::from).collect(),
        dropped,
        calls: spent.calls,
        input: spent.input,
        output: spent.output,
        jobs,
    };
    if app.out.json {
        app.out.json(&done)?;
        return Ok(Exit::Done);
    }
    if args.clear {
        writeln!(app.out, "{} dropped", text::plural(dropped, "job"))?;
    }
    if done.jobs.is_empty() {
        writeln!(app.out, "{}: no jobs", done.conversation)?;
        return Ok(Exit::Done);
    }
    let rows = done.jobs.into_iter().map(|job| {
        vec![
            job.name,
            format!("{}-{}", job.first, job.last),
            job.state.to_owned(),
            job.attempts.to_string(),
            job.why,
        ]
    });
    write!(
        app.out,
        "{}",
        text::table(&["summary", "entries", "state", "tries", "why"], rows.collect(), &[])
    )?;
    writeln!(
        app.out,
        "this hour: {}, {} tokens in, {} out",
        text::plural(done.calls, "call"),
        text::count(done.input),
        text::count(done.output)
    )?;
    Ok(Exit::Done)
}

/// Does the jobs of a conversation; `None` if no model is configured.
pub(crate) fn work(
    app: &App,
    engine: &Engine,
    id: ConversationId,
    urgency: Urgency,
) -> Outcome<Option<Vec<Report>>> {
    let Some(models) = app.settings.summariser.models(engine, &process_env)? else { return Ok(None) };
    Ok(Some(engine.work(id, &models, now(), Shift { limit: usize::MAX, urgency })?))
}

/// How many of them are written.
pub(crate) fn written(reports: &[Report]) -> u64 {
    reports.iter().filter(|report| report.ended == Ended::Written).count() as u64
}
