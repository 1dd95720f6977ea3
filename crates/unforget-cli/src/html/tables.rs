//! Tiles, tables and lists.

use std::fmt::Write;

use unforget_engine::prompt::Cause;
use unforget_engine::replay::{Call, Report, Spend, quantile};

use super::file_name;
use super::svg::escape;
use crate::text::{COMPACTS, bytes, count, micros, percent, plural, short};

/// The few figures that matter most.
pub(super) fn tiles(report: &Report) -> String {
    let calls = &report.calls;
    let bound = report.ours.largest_bound.unwrap_or(0);
    let fill = percent(bound as f64 / report.budget.max(1) as f64);
    let engine = |call: &Call| call.commit_us + call.prompt_us.saturating_sub(call.summariser_us);
    let at = |permille| micros(quantile(calls.iter().map(engine), permille));
    let saved = 1.0 - report.ours.cost / report.everything.cost.max(1e-9);
    let facts = report.facts;
    let found =
        if facts.asked == 0 { "–".to_owned() } else { percent(facts.in_five as f64 / facts.asked as f64) };
    let tiles = [
        (
            "largest prompt",
            short(report.ours.largest),
            format!("estimated; bound {}, {fill} of the budget", short(bound)),
        ),
        (
            "from the prompt cache",
            percent(report.ours.hit_rate()),
            format!("sliding window: {}", percent(report.sliding.hit_rate())),
        ),
        (
            "input cost",
            format!("${:.2}", report.ours.cost),
            format!("{} less than everything", percent(saved.max(0.0))),
        ),
        ("time per call", at(500), format!("{} at p99, without summaries", at(990))),
        ("facts found again", found, format!("{} asked, in the first five results", facts.asked)),
    ];
    let tile = |(name, value, note): &(&str, String, String)| {
        format!("<div class=\"tile\"><dt>{name}</dt><dd>{}</dd><p>{}</p></div>", escape(value), escape(note))
    };
    tiles.iter().map(tile).collect()
}

/// The ways side by side.
pub(super) fn ways(report: &Report) -> String {
    let rows: [(&str, &str, &Spend); 5] = [
        ("ours", "Unforget", &report.ours),
        ("sliding", "sliding window", &report.sliding),
        ("", "one summary of everything, by a model", &report.summarise_all),
        ("", "as lossless-claw compacts, by a model", &report.peer),
        ("everything", "everything", &report.everything),
    ];
    let mut text = String::new();
    for (class, name, spend) in rows {
        let refused = if spend.refused == 0 { "none".to_owned() } else { count(spend.refused) };
        let bound = spend.largest_bound.map(|bound| format!(" (bound {})", count(bound))).unwrap_or_default();
        let never = if spend.compactions == Some(0) { " (never compacts here)" } else { "" };
        write!(
            text,
            "<tr><th scope=\"row\"><i class=\"{class}\"></i>{name}{never}</th><td>{}{bound}</td><td>{}</td><td>{}</td><td>{}</td><td>${:.2}</td><td>{refused}</td></tr>",
            count(spend.largest),
            count(spend.sent),
            count(spend.cached),
            percent(spend.hit_rate()),
            spend.cost
        )
        .ok();
    }
    text
}

/// Breaks by cause.
pub(super) fn breaks(report: &Report) -> String {
    let mut text = String::new();
    for breaks in report.breaks.iter().filter(|breaks| breaks.cause != Cause::First) {
        let why = match breaks.cause {
            Cause::First => "the first prompt",
            Cause::Compaction => "summaries or stubs took the place of older entries",
            Cause::Ladder => "the prompt did not fit as assembled, or the one before it did not",
            Cause::LateEntry => "a result came late and went into an earlier group",
            Cause::Rewind => "the person went back and on differently",
            Cause::Pins => "rules were pinned or taken back",
            Cause::Raised => "a person put entries back, or took them away again",
            Cause::Verdict => "a statement of a summary was rejected, or no longer is",
            Cause::LiveInput => "live input beside a summary moved behind what came since",
        };
        write!(
            text,
            "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"why\">{why}</td></tr>",
            breaks.cause.name(),
            count(breaks.count),
            count(breaks.rebilled)
        )
        .ok();
    }
    if text.is_empty() {
        text.push_str("<tr><td colspan=\"4\" class=\"why\">none: the prompt only grew at its end</td></tr>");
    }
    text
}

/// Checks of every prompt.
pub(super) fn checks(report: &Report) -> String {
    let table = [
        ("fits the window by its upper bound", report.too_large.len(), true),
        ("passes the strict validator of the dialect", report.rejected.len(), report.validated),
        ("holds the newest message of a person", report.without_request.len(), true),
        ("represents every entry exactly once", report.unproved.len(), true),
    ];
    let mut text = String::new();
    for (what, failed, checked) in table {
        let (class, mark, note) = match (failed, checked) {
            (_, false) => ("skipped", "–", "not checked".to_owned()),
            (0, true) => ("good", "✓", "every prompt".to_owned()),
            (n, true) => ("bad", "✗", format!("not {}", plural(n as u64, "prompt"))),
        };
        write!(text, "<li class=\"{class}\"><b>{mark}</b><span>{note} {what}</span></li>").ok();
    }
    text
}

/// Facts that left the context, and where they were found.
pub(super) fn recall(report: &Report) -> String {
    let facts = report.facts;
    if facts.asked == 0 {
        return "<p class=\"why\">Nothing left the context, so there was nothing to ask for.</p>".to_owned();
    }
    let rows = [
        ("still in the last prompt", facts.in_prompt),
        ("among the first five results of a search", facts.in_five),
        ("within 2,000 tokens of results", facts.in_budget),
    ];
    let row = |(name, found): &(&str, u64)| {
        let share = *found as f64 / facts.asked as f64;
        format!(
            "<div class=\"meter\"><span>{name}</span><div role=\"meter\" aria-valuemin=\"0\" aria-valuemax=\"{}\" aria-valuenow=\"{found}\" aria-label=\"{name}\"><i style=\"width:{:.1}%\"></i></div><b>{found} of {}</b></div>",
            facts.asked,
            share * 100.0,
            facts.asked
        )
    };
    rows.iter().map(row).collect()
}

/// How the figures were obtained.
pub(super) fn notes(report: &Report) -> String {
    let prices = report.prices;
    let notes = [
        format!(
            "Transcript: {}, {}, {}.",
            file_name(report),
            bytes(report.bytes),
            plural(report.entries, "record")
        ),
        format!(
            "Budget: window {} less {} for the answer. Tokens are expected values by {}; admission uses the upper bound.",
            count(report.window),
            count(report.reserve),
            report.ruler
        ),
        format!(
            "Costs: input only, ${} per million tokens, × {} when written to the cache, × {} when read from it. \
             The cache is simulated: the longest beginning that equals the prompt before. \
             Everything is priced as if it fitted.",
            prices.input, prices.write, prices.read
        ),
        format!("Other ways: {COMPACTS}."),
        format!(
            "{} and {} made without a language model.",
            plural(report.summaries.0, "leaf summary"),
            plural(report.summaries.1, "merge")
        ),
        format!(
            "Irregularities in the transcript: {}. The replay took {}.",
            count(report.warnings),
            micros(report.elapsed_ms * 1_000)
        ),
    ];
    notes.map(|note| format!("<li>{}</li>", escape(&note))).concat()
}
