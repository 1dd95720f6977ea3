//! The charts.

use std::fmt::Write;

use unforget_engine::replay::{Call, Report, Spend};

use super::is_break;
use super::svg::{Plot, escape};
use crate::text::{count, micros, percent, short};

/// Number of windows above which values are cut off, so that the rest stays visible.
const CLIP: f64 = 2.25;

/// Prompt tokens per call against the window, for the three ways.
pub(super) fn prompts(report: &Report, points: &[&Call]) -> String {
    let window = report.window as f64;
    let values = |of: fn(&Call) -> u64| points.iter().map(|call| of(call) as f64).collect::<Vec<_>>();
    let ours = values(|call| call.prompt.expected);
    let summaries = values(|call| call.summaries.expected);
    let everything = values(|call| call.everything);
    let sliding = values(|call| call.sliding);
    let highest = everything.iter().chain(&ours).chain(&sliding).fold(window, |a, b| a.max(*b));
    let plot = Plot { top: 30.0, ..Plot::new(400.0, points.len(), (highest * 1.05).min(window * CLIP)) };
    let zero = vec![0.0; points.len()];
    let mut body = plot.y_axis(|value| short(value.round() as u64));
    body += &plot.x_axis(&numbers(points));
    body += &plot.steps("ours", &zero, &ours);
    body += &plot.steps("summaries", &zero, &summaries);
    body += &plot.edge("ours", &ours);
    body += &plot.line("sliding", &sliding);
    body += &plot.line("everything", &everything);
    body += &limit(&plot, window, &format!("window {}", short(report.window)));
    body += &breaks(&plot, points);
    body += &end_labels(
        &plot,
        &[
            ("ours", "Unforget", &ours),
            ("sliding", "sliding", &sliding),
            ("everything", "everything", &everything),
        ],
    );
    if let Some(at) = everything.iter().position(|value| *value > plot.max) {
        body += &leaves(&plot, at, &everything);
    }
    body += &overflow(&plot, report, points);
    let title = format!("Prompt tokens per model call; window {}", count(report.window));
    plot.picture("prompts", &title, &body)
}

/// Tokens reused from the previous prompt and new tokens, stacked.
pub(super) fn reuse(report: &Report, points: &[&Call]) -> String {
    let total: Vec<_> = points.iter().map(|call| call.prompt.expected as f64).collect();
    let reused: Vec<_> = points.iter().map(|call| call.reused.min(call.prompt.expected) as f64).collect();
    let max = total.iter().fold(1.0f64, |a, b| a.max(*b)) * 1.08;
    let plot = Plot::new(230.0, points.len(), max);
    let zero = vec![0.0; points.len()];
    let body = plot.y_axis(|value| short(value.round() as u64))
        + &plot.x_axis(&numbers(points))
        + &plot.steps("reused", &zero, &reused)
        + &plot.steps("fresh", &reused, &total)
        + &breaks(&plot, points);
    let share = percent(report.ours.hit_rate());
    plot.picture("reuse", &format!("Reused and new tokens per call; {share} of all were reused"), &body)
}

/// Time per call in the engine, in milliseconds.
pub(super) fn times(points: &[&Call]) -> String {
    let store: Vec<_> = points.iter().map(|call| call.commit_us as f64 / 1e3).collect();
    let engine = |call: &&Call| call.commit_us + call.prompt_us.saturating_sub(call.summariser_us);
    let prompt: Vec<_> = points.iter().map(|call| engine(call) as f64 / 1e3).collect();
    let whole: Vec<_> = points.iter().map(|call| (call.commit_us + call.prompt_us) as f64 / 1e3).collect();
    let max = whole.iter().fold(0.01f64, |a, b| a.max(*b)) * 1.08;
    let plot = Plot::new(200.0, points.len(), max);
    let zero = vec![0.0; points.len()];
    let body = plot.y_axis(|ms| micros((ms * 1e3).round() as u64))
        + &plot.x_axis(&numbers(points))
        + &plot.steps("store", &zero, &store)
        + &plot.steps("prompt", &store, &prompt)
        + &plot.steps("summariser", &prompt, &whole);
    plot.picture("times", "Time per call: storing, making the prompt, summarising", &body)
}

/// Costs of the three ways, as bars of cached and fresh input.
pub(super) fn costs(report: &Report) -> String {
    let rows: [(&str, &str, &Spend); 3] = [
        ("ours", "Unforget", &report.ours),
        ("sliding", "sliding window", &report.sliding),
        ("everything", "everything", &report.everything),
    ];
    let highest = rows.iter().map(|(_, _, spend)| spend.cost).fold(1e-9, f64::max);
    let mut body = String::new();
    let (left, full) = (116.0, 400.0);
    for (row, (class, name, spend)) in rows.into_iter().enumerate() {
        let y = 8.0 + row as f64 * 38.0;
        let wide = (spend.cost / highest * full).max(1.0);
        let cached = spend.cached as f64 * report.prices.read * report.prices.input / 1e6;
        let cached = (cached / highest * full).min(wide);
        let refused = match spend.refused {
            0 => String::new(),
            n => format!("{} of {} calls refused", count(n), report.calls.len()),
        };
        write!(
            body,
            "<text class=\"name\" x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{name}</text>\
             <rect class=\"bar {class}\" x=\"{left}\" y=\"{y}\" width=\"{wide:.1}\" height=\"24\" rx=\"3\"/>\
             <rect class=\"bar cached\" x=\"{left}\" y=\"{y}\" width=\"{cached:.1}\" height=\"24\" rx=\"3\"><title>read from the cache</title></rect>\
             <text class=\"value\" x=\"{:.1}\" y=\"{middle}\">${:.2}</text>\
             <text class=\"inside\" x=\"{:.1}\" y=\"{middle}\" text-anchor=\"end\">{refused}</text>",
            left - 10.0,
            left + wide + 8.0,
            spend.cost,
            left + wide - 8.0,
            middle = y + 17.0,
        )
        .ok();
    }
    let title = "Cost of all input, by way of sending";
    format!(
        "<svg id=\"cost\" class=\"chart bars\" viewBox=\"0 0 580 118\" role=\"img\" aria-labelledby=\"cost-t\"><title id=\"cost-t\">{title}</title>{body}</svg>"
    )
}

fn numbers(points: &[&Call]) -> Vec<u64> {
    points.iter().map(|call| call.index + 1).collect()
}

fn limit(plot: &Plot, value: f64, name: &str) -> String {
    let y = plot.y(value);
    format!(
        "<line class=\"limit\" x1=\"{}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/><text class=\"limit-name\" x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
        plot.left,
        plot.end(),
        plot.end() - 6.0,
        y - 6.0,
        escape(name)
    )
}

/// A mark under each call before which the beginning of the prompt changed.
fn breaks(plot: &Plot, points: &[&Call]) -> String {
    let mut text = String::new();
    let base = plot.height - plot.bottom;
    for (at, call) in points.iter().enumerate().filter(|(_, call)| is_break(call)) {
        let cause = call.broken.map_or("", |broken| broken.cause.name());
        let x = plot.x(at);
        write!(
            text,
            "<g class=\"break {cause}\"><title>break before call {}: {cause}; {} of {} tokens reused</title>\
             <line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{base}\"/><path d=\"M{:.1} {}l4.5 7h-9z\"/></g>",
            call.index + 1,
            count(call.reused),
            count(call.prompt.expected),
            plot.top,
            x,
            base + 1.0
        )
        .ok();
    }
    text
}

/// Names at the ends of the lines, pushed apart where they would overlap.
fn end_labels(plot: &Plot, lines: &[(&str, &str, &Vec<f64>)]) -> String {
    let mut labels: Vec<(f64, &str, &str, f64)> = lines
        .iter()
        .filter_map(|(class, name, values)| values.last().map(|last| (plot.y(*last), *class, *name, *last)))
        .collect();
    labels.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut text = String::new();
    let mut lowest = f64::NEG_INFINITY;
    // A line that leaves the plot is named there.
    for (y, class, name, value) in labels.into_iter().filter(|label| label.3 <= plot.max) {
        let y = y.max(lowest + 30.0);
        lowest = y;
        write!(
            text,
            "<text class=\"end {class}\" x=\"{}\" y=\"{:.1}\">{name}<tspan x=\"{}\" dy=\"13\">{}</tspan></text>",
            plot.end() + 8.0,
            y + 2.0,
            plot.end() + 8.0,
            short(value.round() as u64)
        )
        .ok();
    }
    text
}

/// Where the line of sending everything leaves the plot.
fn leaves(plot: &Plot, at: usize, everything: &[f64]) -> String {
    let highest = everything.iter().fold(0.0f64, |a, b| a.max(*b));
    let x = plot.x(at).min(plot.end() - 150.0);
    format!(
        "<text class=\"end everything\" x=\"{x:.1}\" y=\"{}\">↑ everything, up to {}</text>",
        plot.top - 10.0,
        short(highest.round() as u64)
    )
}

/// Shades the calls for which sending everything would not have fitted.
fn overflow(plot: &Plot, report: &Report, points: &[&Call]) -> String {
    let Some(first) = report.overflow_at else { return String::new() };
    let Some(at) = points.iter().position(|call| call.index >= first) else { return String::new() };
    let x = plot.x(at) - plot.step() / 2.0;
    let (top, height) = (plot.top, plot.height - plot.bottom - plot.top);
    let wide = plot.end() - x;
    let from = first + 1;
    let label = if wide > 330.0 {
        let (x, y) = (plot.end() - 8.0, top + 18.0);
        format!(
            "<text class=\"overflow-name\" x=\"{x}\" y=\"{y}\" text-anchor=\"end\">from call {from} on, everything is refused</text>"
        )
    } else {
        String::new()
    };
    format!(
        "<rect class=\"overflow\" x=\"{x:.1}\" y=\"{top}\" width=\"{wide:.1}\" height=\"{height:.1}\"><title>from call {from} on, everything does not fit</title></rect>{label}"
    )
}
