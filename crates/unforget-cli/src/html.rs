//! The replay report as one self-contained page: no network, light and dark, readable without scripts.
//!
//! Every chart is SVG drawn here; the script only adds a cursor that shows the figures of one call.

mod charts;
mod svg;
mod tables;

use std::borrow::Cow;
use std::path::Path;

use serde_json::json;
use unforget_engine::prompt::Cause;
use unforget_engine::replay::{Call, Report};

use crate::text::{count, percent, plural, short};
pub(crate) use svg::escape;

const TEMPLATE: &str = include_str!("html/report.html");
const CSS: &str = include_str!("html/report.css");
const JS: &str = include_str!("html/report.js");

/// Most points of a chart; with more calls, each point is the largest of several.
const POINTS_MAX: usize = 1_000;

/// The name of the transcript's file, without its folder: pages are shared.
fn file_name(report: &Report) -> Cow<'_, str> {
    let name = Path::new(&report.path).file_name();
    name.map_or(report.path.as_str().into(), |name| name.to_string_lossy())
}

/// The page of a report.
pub(crate) fn page(report: &Report) -> String {
    let points = points(&report.calls);
    let filled = [
        ("{{css}}", CSS.to_owned()),
        ("{{js}}", JS.to_owned()),
        ("{{name}}", escape(&file_name(report))),
        ("{{facts}}", facts(report)),
        ("{{headline}}", headline(report)),
        ("{{tiles}}", tables::tiles(report)),
        ("{{prompts}}", charts::prompts(report, &points)),
        ("{{reuse}}", charts::reuse(report, &points)),
        ("{{cost}}", charts::costs(report)),
        ("{{times}}", charts::times(&points)),
        ("{{ways}}", tables::ways(report)),
        ("{{breaks}}", tables::breaks(report)),
        ("{{checks}}", tables::checks(report)),
        ("{{recall}}", tables::recall(report)),
        ("{{notes}}", tables::notes(report)),
        ("{{data}}", data(report, &points)),
    ];
    // One pass over the template, so that inserted text is never treated as a template.
    let mut page = String::with_capacity(TEMPLATE.len() + CSS.len() + JS.len() + 200_000);
    let mut rest = TEMPLATE;
    while let Some(at) = rest.find("{{") {
        let (before, from) = rest.split_at(at);
        page.push_str(before);
        let known = filled.iter().find(|(mark, _)| from.starts_with(mark));
        let (text, length) = known.map_or(("{{", 2), |(mark, text)| (text.as_str(), mark.len()));
        page.push_str(text);
        rest = from.get(length..).unwrap_or_default();
    }
    page + rest
}

/// The calls to draw: all of them, or the largest prompt of each run of calls; breaks always stay.
fn points(calls: &[Call]) -> Vec<&Call> {
    if calls.len() <= POINTS_MAX {
        return calls.iter().collect();
    }
    let run = calls.len().div_ceil(POINTS_MAX);
    let key = |call: &&Call| (is_break(call), call.prompt.expected);
    calls.chunks(run).filter_map(|calls| calls.iter().max_by_key(key)).collect()
}

fn is_break(call: &Call) -> bool {
    call.broken.is_some_and(|broken| broken.cause != Cause::First)
}

fn facts(report: &Report) -> String {
    let model = report.model.as_deref().unwrap_or("any model of this dialect");
    let facts = [
        report.format.clone(),
        plural(report.entries, "record"),
        plural(report.turns, "turn"),
        plural(report.calls.len() as u64, "model call"),
        format!("window {}", count(report.window)),
        format!("{} for {model}", report.dialect),
        format!("tokens by {}", report.ruler),
    ];
    facts.map(|fact| format!("<span>{}</span>", escape(&fact))).concat()
}

/// The main result, in two sentences.
fn headline(report: &Report) -> String {
    let calls = report.calls.len() as u64;
    if calls == 0 {
        return "There is no model call in this transcript.".to_owned();
    }
    let failed = report.too_large.len() as u64;
    let ours = match failed {
        0 => format!(
            "Every one of <b>{}</b> fits the window of {}.",
            plural(calls, "prompt"),
            short(report.window)
        ),
        n => format!(
            "<b>{} of {}</b> could not be made to fit the window of {}.",
            count(n),
            plural(calls + n, "prompt"),
            short(report.window)
        ),
    };
    let peak = report.calls.iter().map(|call| call.everything).max().unwrap_or(0);
    let theirs = match report.overflow_at {
        Some(at) => format!(
            "Sending everything would have been refused from call <b>{}</b> on and needed {} tokens in the end.",
            at + 1,
            short(peak)
        ),
        None => format!("Sending everything would have fitted too, with {} tokens in the end.", short(peak)),
    };
    let (ours_cost, sliding) = (report.ours.cost, report.sliding.cost);
    let cost = if sliding > ours_cost && ours_cost > 0.0 {
        format!(
            " A sliding window would cost <b>{:.1}×</b> as much: it breaks the prompt cache and forgets.",
            sliding / ours_cost
        )
    } else {
        format!(" {} of the input came from the prompt cache.", percent(report.ours.hit_rate()))
    };
    format!("{ours} {theirs}{cost}")
}

/// The figures behind the cursor.
fn data(report: &Report, points: &[&Call]) -> String {
    let calls: Vec<_> = points
        .iter()
        .map(|call| {
            json!([
                call.index + 1,
                call.turn,
                call.prompt.expected,
                call.everything,
                call.sliding,
                call.reused,
                call.summaries.expected,
                call.broken.map(|broken| broken.cause.name()),
                call.commit_us + call.prompt_us,
                call.rung.name(),
            ])
        })
        .collect();
    // A script element ends at the first "</", wherever it stands.
    json!({ "window": report.window, "calls": calls }).to_string().replace("</", "<\\/")
}

#[cfg(test)]
mod tests;
