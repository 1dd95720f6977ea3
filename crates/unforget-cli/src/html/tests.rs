//! Tests of the page, on an invented report.

use unforget_core::admit::Rung;
use unforget_core::tokens::Tokens;
use unforget_engine::prompt::{Broken, Region};
use unforget_engine::replay::{Breaks, FactRecall, Prices, Spend};

use super::*;

fn spend(sent: u64, share: f64, cost: f64, refused: u64) -> Spend {
    let cached = (sent as f64 * share) as u64;
    Spend { sent, cached, cost, refused, largest: 26_500, ..Spend::default() }
}

/// A report of this many calls with growing prompts and occasional breaks.
pub(crate) fn report(calls: u64) -> Report {
    let broken = |cause| Broken { cause, region: Region::Tail, rebilled: 9_000, hit: 400 };
    let call = |index: u64| {
        let phase = index % 60;
        let prompt = 9_000 + phase * 250 + index % 7 * 90;
        Call {
            index,
            record: index * 2,
            turn: 1 + index / 8,
            time: None,
            prompt: Tokens { expected: prompt, upper: prompt * 11 / 10 },
            bound: prompt,
            counted: None,
            summaries: Tokens::exact((index / 60 * 900).min(5_000)),
            reused: if phase == 0 { 400 } else { prompt - 300 },
            cached: if phase == 0 { 400 } else { prompt - 300 },
            idle_ms: Some(1_000),
            broken: match (index, phase) {
                (0, _) => Some(broken(Cause::First)),
                (_, 0) => Some(broken(Cause::Compaction)),
                _ => None,
            },
            rung: Rung::Assembled,
            everything: index * 520 + 4_000,
            sliding: (index * 520 + 4_000).min(26_500 + index % 13 * 100),
            sliding_reused: 2_000,
            commit_us: 300 + index % 11 * 20,
            prompt_us: 900 + phase * 10 + if phase == 0 { 6_000 } else { 0 },
            summariser_us: if phase == 0 { 5_000 } else { 0 },
            render_us: 100,
        }
    };
    let calls: Vec<_> = (0..calls).map(call).collect();
    Report {
        path: "examples/<odd> \"name\".jsonl".to_owned(),
        format: "pi".to_owned(),
        conversation: "pi:0b7e".to_owned(),
        model: None,
        dialect: "anthropic",
        ruler: "class-estimate",
        window: 32_000,
        reserve: 4_000,
        budget: 28_000,
        entries: 640,
        bytes: 1_135_686,
        visible: 486,
        turns: 40,
        overflow_at: Some(47).filter(|_| calls.len() > 47),
        calls,
        rejected: Vec::new(),
        too_large: Vec::new(),
        without_request: Vec::new(),
        unproved: Vec::new(),
        breaks: vec![Breaks { cause: Cause::Compaction, count: 5, cold: 2, rebilled: 61_000 }],
        summaries: (21, 5),
        prices: Prices { input: 3.0, write: 1.25, read: 0.1, cache_ttl_ms: 300_000 },
        ours: spend(4_800_000, 0.93, 2.41, 0),
        everything: spend(26_000_000, 0.98, 9.02, 250),
        sliding: spend(7_900_000, 0.09, 26.4, 0),
        summarise_all: spend(5_900_000, 0.83, 4.4, 0),
        peer: spend(6_100_000, 0.71, 6.2, 0),
        facts: FactRecall { asked: 40, in_prompt: 19, in_five: 36, in_budget: 38 },
        warnings: 2,
        validated: true,
        elapsed_ms: 1_840,
    }
}

#[test]
fn the_page_is_whole_and_needs_no_network() {
    let page = page(&report(310));
    assert!(!page.contains("{{"), "a mark was not filled in");
    assert!(page.contains("&lt;odd&gt;") && !page.contains("<odd>"), "names are escaped");
    assert!(!page.contains("examples/"), "no folder of the machine stands in a page that is shared");
    for from_outside in ["http://", "https://", "src=", "@import", "url("] {
        let found = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!found.contains(from_outside), "{from_outside}");
    }
    assert_eq!(page.matches("<svg").count(), 4, "every chart is there without scripts");
}

#[test]
fn long_sessions_make_small_pages() {
    let page = page(&report(200_000));
    assert!(page.len() < 1_000_000, "{} bytes", page.len());
}

#[test]
fn breaks_are_never_thinned_out() {
    let report = report(POINTS_MAX as u64 * 5);
    let all = report.calls.iter().filter(|call| is_break(call)).count();
    assert_eq!(points(&report.calls).into_iter().filter(|call| is_break(call)).count(), all);
}

#[test]
fn a_report_without_calls_is_a_page() {
    assert!(page(&report(0)).contains("no model call"));
}

#[test]
fn data_cannot_end_its_script() {
    let report = report(3);
    let points = points(&report.calls);
    assert!(!data(&report, &points).contains("</"));
}
