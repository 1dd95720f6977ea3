//! `unforget bench needles`: which content of recorded sessions is still at hand after some breaks.

mod look;
mod model;
mod play;

use serde::Serialize;
use unforget_bench::ProbeKind;

use super::sessions;
use crate::app::App;
use crate::args::NeedlesArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::text;
use look::{Found, Tally};
use play::{CHECKPOINTS, play};

pub(super) use look::says;
pub(super) use model::SummaryWriter;
pub(super) use play::models;

#[derive(Debug, Serialize)]
struct NeedlesJson {
    window: u64,
    seed: u64,
    sessions: u64,
    skipped: u64,
    writers: Vec<WriterJson>,
}

#[derive(Debug, Serialize)]
struct WriterJson {
    writer: &'static str,
    rows: Vec<NeedleRowJson>,
    pins: PinsJson,
    identifiers: IdentifiersJson,
    /// Number of entries by how often they were compressed again after their leaf.
    depth: Vec<DepthJson>,
    /// Entries compressed more often than log₄ of the leaves. Always 0, unless we have a defect.
    too_deep: u64,
    jobs: Vec<JobsJson>,
    /// The first few needles that are not at hand.
    missed: Vec<String>,
}

#[derive(Debug, Serialize)]
struct NeedleRowJson {
    breaks: u64,
    kind: &'static str,
    /// The speaker: `said` by people and models, `output` of tools, or `all`.
    from: &'static str,
    needles: u64,
    verbatim: f64,
    reachable: f64,
    asked: u64,
    found: f64,
    any: f64,
}

#[derive(Debug, Serialize)]
struct PinsJson {
    wanted: u64,
    present: u64,
}

#[derive(Debug, Serialize)]
struct IdentifiersJson {
    shown: u64,
    invented: u64,
    examples: Vec<String>,
}

#[derive(Debug, Serialize)]
struct DepthJson {
    level: u8,
    entries: u64,
}

#[derive(Debug, Serialize)]
struct JobsJson {
    ended: &'static str,
    why: String,
    jobs: u64,
}

/// Plays sessions with each writer of summaries and reports the remaining content.
pub(crate) fn run(app: &mut App, args: &NeedlesArgs) -> Outcome {
    let files = sessions::files(&args.files)?;
    let mut tallies = SummaryWriter::ALL.map(|writer| (writer, Tally::default()));
    let (mut sessions, mut skipped) = (0, 0);
    let bar = app.progress(files.len() as u64, "{msg} {bar:24.cyan} {pos} of {len}  {eta} left");
    for path in &files {
        bar.inc(1);
        bar.set_message(sessions::short(path));
        let mut is_session = false;
        for (writer, tally) in &mut tallies {
            is_session = play(path, args.window, args.seed, *writer, tally)?;
            if !is_session {
                break;
            }
        }
        if is_session { sessions += 1 } else { skipped += 1 }
    }
    bar.finish_and_clear();
    if sessions == 0 {
        let what = format!("none of {} is a session with a break", text::plural(files.len() as u64, "file"));
        return Err(Failure::input("no-session", what, "name long transcripts, or a smaller --window"));
    }
    let writers = tallies.iter().map(|(writer, tally)| WriterJson::new(*writer, tally)).collect();
    let json = NeedlesJson { window: args.window, seed: args.seed, sessions, skipped, writers };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    let is_sound = |writer: &WriterJson| {
        writer.pins.present == writer.pins.wanted && writer.identifiers.invented == 0 && writer.too_deep == 0
    };
    Ok(if json.writers.iter().all(is_sound) { Exit::Done } else { Exit::Problems })
}

impl WriterJson {
    fn new(writer: SummaryWriter, tally: &Tally) -> Self {
        let mut rows = Vec::new();
        for (at, breaks) in CHECKPOINTS.into_iter().enumerate() {
            let sum = |kind: Option<ProbeKind>, of_tools: Option<bool>| {
                let mut sum = Found::default();
                for ((checkpoint, of, tools), found) in &tally.found {
                    let is_it = *checkpoint == at
                        && kind.is_none_or(|kind| kind == *of)
                        && of_tools.is_none_or(|of_tools| of_tools == *tools);
                    if is_it {
                        sum.add(found);
                    }
                }
                sum
            };
            for kind in ProbeKind::ALL {
                rows.push(NeedleRowJson::new(breaks, kind.name(), "said", sum(Some(kind), Some(false))));
                rows.push(NeedleRowJson::new(breaks, kind.name(), "output", sum(Some(kind), Some(true))));
            }
            rows.push(NeedleRowJson::new(breaks, "all", "said", sum(None, Some(false))));
            rows.push(NeedleRowJson::new(breaks, "all", "all", sum(None, None)));
        }
        rows.retain(|row| row.needles > 0);
        Self {
            writer: writer.name(),
            rows,
            pins: PinsJson { wanted: tally.pins.0, present: tally.pins.1 },
            identifiers: IdentifiersJson {
                shown: tally.shown.0,
                invented: tally.shown.1,
                examples: tally.invented.clone(),
            },
            depth: tally
                .depth
                .iter()
                .map(|(level, entries)| DepthJson { level: *level, entries: *entries })
                .collect(),
            too_deep: tally.too_deep,
            jobs: tally
                .jobs
                .iter()
                .map(|((ended, why), jobs)| JobsJson { ended, why: why.clone(), jobs: *jobs })
                .collect(),
            missed: tally.missed.clone(),
        }
    }
}

impl NeedleRowJson {
    fn new(breaks: u64, kind: &'static str, from: &'static str, found: Found) -> Self {
        let share = |some: u64, all: u64| if all == 0 { 0.0 } else { some as f64 / all as f64 };
        Self {
            breaks,
            kind,
            from,
            needles: found.drawn,
            verbatim: share(found.verbatim, found.drawn),
            reachable: share(found.reachable, found.drawn),
            asked: found.asked,
            found: share(found.hit, found.asked),
            any: share(found.any, found.drawn),
        }
    }
}

fn say(app: &mut App, json: &NeedlesJson) -> Outcome<()> {
    let sessions = text::plural(json.sessions, "session");
    writeln!(
        app.out,
        "{sessions} at {}; {} skipped without a break",
        text::short(json.window),
        json.skipped
    )?;
    for writer in &json.writers {
        writeln!(app.out, "\n{}", writer.writer)?;
        let row = |row: &NeedleRowJson| {
            let shares = [row.verbatim, row.reachable, row.found, row.any].map(text::percent);
            let [verbatim, reachable, found, any] = shares;
            vec![
                row.breaks.to_string(),
                row.kind.to_owned(),
                row.from.to_owned(),
                row.needles.to_string(),
                verbatim,
                reachable,
                found,
                any,
            ]
        };
        let head = ["breaks", "kind", "from", "needles", "in prompt", "one expand", "search", "any"];
        let rows = writer.rows.iter().map(row).collect();
        write!(app.out, "{}", text::table(&head, rows, &[0, 3, 4, 5, 6, 7]))?;
        let PinsJson { wanted, present } = writer.pins;
        writeln!(app.out, "pins: {present} of {wanted} in their prompts")?;
        let IdentifiersJson { shown, invented, examples } = &writer.identifiers;
        writeln!(app.out, "identifiers in summaries: {shown}, of them {invented} in none of their sources")?;
        for example in examples {
            writeln!(app.out, "  {example}")?;
        }
        let depth = writer.depth.iter().map(|depth| format!("{} at level {}", depth.entries, depth.level));
        let depth = depth.collect::<Vec<_>>().join(", ");
        writeln!(app.out, "entries by compressions after the leaf: {depth}; {} too often", writer.too_deep)?;
        let jobs = writer.jobs.iter().map(|jobs| {
            let why = if jobs.why.is_empty() { String::new() } else { format!(" ({})", jobs.why) };
            format!("{} {}{why}", jobs.jobs, jobs.ended)
        });
        let jobs = jobs.collect::<Vec<_>>().join(", ");
        if !jobs.is_empty() {
            writeln!(app.out, "summaries by the model: {jobs}")?;
        }
    }
    Ok(())
}
