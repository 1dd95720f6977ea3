//! The report as text: the replayed session, the chart, the figures.

use std::fmt::Write;

use unforget_engine::replay::{Call, Report, Spend, quantile};

use crate::chart::{self, Chart, ChartSize};
use crate::output::{Palette, paint};
use crate::text::{COMPACTS, count, micros, percent, plural, short, table};

/// Rows of the chart.
const ROWS: usize = 16;

/// The whole report.
///
/// * `width` - columns.
pub(super) fn text(report: &Report, palette: Palette, width: usize) -> String {
    let mut text = head(report, palette);
    if report.calls.is_empty() {
        text.push_str("\nThere is no model call in it.\n");
        return text;
    }
    text.push('\n');
    text.push_str(&chart::draw(
        &Chart::of(report),
        palette,
        ChartSize { columns: width.min(140), rows: ROWS },
    ));
    text.push('\n');
    text.push_str(&ways(report, palette));
    text.push('\n');
    text.push_str(&details(report, palette));
    text.push_str(&checks(report, palette));
    text
}

fn head(report: &Report, palette: Palette) -> String {
    let title = format!("{}  {}", paint(palette.strong, "Replay of"), paint(palette.strong, &report.path));
    let model = report.model.as_deref().unwrap_or(report.dialect);
    let facts = format!(
        "{}: {}, {}, {} · for {model}, window {} (budget {}), tokens by {}",
        report.format,
        plural(report.entries, "record"),
        plural(report.turns, "turn"),
        plural(report.calls.len() as u64, "model call"),
        short(report.window),
        short(report.budget),
        report.ruler,
    );
    format!("{title}\n{}\n", paint(palette.dim, facts))
}

/// The ways to send prompts, side by side.
fn ways(report: &Report, palette: Palette) -> String {
    let row = |name: &str, spend: &Spend| {
        let never = if spend.compactions == Some(0) { ", never compacts here" } else { "" };
        vec![
            format!("{name}{never}"),
            match spend.largest_bound {
                Some(bound) => format!("{} (bound {})", short(spend.largest), short(bound)),
                None => short(spend.largest),
            },
            short(spend.sent),
            percent(spend.hit_rate()),
            format!("${:.2}", spend.cost),
            match spend.refused {
                0 => "none".to_owned(),
                refused => format!("{} of {}", count(refused), report.calls.len()),
            },
        ]
    };
    let rows = vec![
        row("Unforget", &report.ours),
        row("everything", &report.everything),
        row("sliding window", &report.sliding),
        row("one summary", &report.summarise_all),
        row("peer", &report.peer),
    ];
    let head = ["", "largest prompt", "tokens sent", "from cache", "cost", "refused calls"];
    let lines = table(&head, rows, &[1, 2, 3, 4, 5]);
    let styles = [palette.dim, palette.ours, palette.everything, palette.sliding, palette.dim, palette.dim];
    let mut text: String = lines.lines().zip(styles).map(|(line, style)| paint(style, line) + "\n").collect();
    if [report.summarise_all, report.peer].iter().any(|spend| spend.compactions == Some(0)) {
        writeln!(text, "{}", paint(palette.dim, COMPACTS)).ok();
    }
    text
}

fn details(report: &Report, palette: Palette) -> String {
    let mut text = String::new();
    let mut line = |name: &str, what: String| {
        writeln!(text, "{} {what}", paint(palette.strong, format!("{name:<10}"))).ok();
    };
    if let Some(at) = report.overflow_at {
        let share = percent((report.calls.len() as u64 - at) as f64 / report.calls.len() as f64);
        line(
            "overflow",
            format!("sending everything no longer fits from call {} on: {share} of the calls", at + 1),
        );
    }
    let breaks: Vec<_> = report
        .breaks
        .iter()
        .filter(|breaks| breaks.cause != unforget_engine::prompt::Cause::First)
        .map(|b| {
            let cold =
                if b.cold > 0 { format!(", {} of them with a cold cache", b.cold) } else { String::new() };
            format!("{} × {} ({} tokens billed again{cold})", b.count, b.cause.name(), short(b.rebilled))
        })
        .collect();
    line(
        "breaks",
        if breaks.is_empty() { "none: the prompt only grew".to_owned() } else { breaks.join(", ") },
    );
    line(
        "summaries",
        format!("{}, {}", plural(report.summaries.0, "leaf summary"), plural(report.summaries.1, "merge")),
    );
    let facts = report.facts;
    if facts.asked > 0 {
        line(
            "recall",
            format!(
                "{} left the context: {} still in the prompt, {} in the first five results, {} in 2,000 tokens",
                plural(facts.asked, "fact"),
                facts.in_prompt,
                facts.in_five,
                facts.in_budget
            ),
        );
    }
    let time = |of: fn(&Call) -> u64| {
        let at = |permille| micros(quantile(report.calls.iter().map(of), permille));
        format!("{} ({} at p99)", at(500), at(990))
    };
    line(
        "time",
        format!(
            "per call: store {}, prompt {}, render {}; {} in all",
            time(|call| call.commit_us),
            time(|call| call.prompt_us),
            time(|call| call.render_us),
            micros(report.elapsed_ms * 1_000)
        ),
    );
    text
}

/// Checks of every prompt, and their results.
fn checks(report: &Report, palette: Palette) -> String {
    let calls = report.calls.len() as u64 + report.too_large.len() as u64;
    let table = [
        ("fits the window", report.too_large.len(), true),
        ("is valid for the provider", report.rejected.len(), report.validated),
        ("holds the newest request of a person", report.without_request.len(), true),
        ("covers every entry exactly once", report.unproved.len(), true),
    ];
    let mut text = paint(palette.strong, format!("{:<10}", "checks"));
    let mut first = true;
    for (what, failed, checked) in table {
        let mark = match (failed, checked) {
            (_, false) => paint(palette.dim, format!("– {what}: not checked")),
            (0, true) => format!("{} every prompt {what}", paint(palette.good, "✓")),
            (failed, true) => {
                paint(palette.bad, format!("✗ {failed} of {calls} prompts: not one that {what}"))
            }
        };
        let indent = if first { " " } else { "           " };
        writeln!(text, "{indent}{mark}").ok();
        first = false;
    }
    for rejected in report.rejected.iter().take(3) {
        for violation in rejected.violations.iter().take(3) {
            writeln!(text, "             call {}: {}", rejected.call + 1, crate::json::violation(violation))
                .ok();
        }
    }
    for large in report.too_large.iter().take(3) {
        let (needs, budget) = (count(large.needs), count(large.budget));
        writeln!(text, "             call {}: needs {needs}, there are {budget}", large.call + 1).ok();
    }
    text
}
