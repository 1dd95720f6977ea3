//! A replay: `{…, "calls": […], "totals": {…}}`.

use serde::Serialize;
use unforget_engine::replay::{Call, Report, Spend, quantile};

use unforget_server::json::iso;

/// The results of a replay.
#[derive(Debug, Serialize)]
pub(crate) struct ReportJson<'a> {
    path: &'a str,
    format: &'a str,
    conversation: &'a str,
    model: Option<&'a str>,
    dialect: &'static str,
    ruler: &'static str,
    window: u64,
    reserve: u64,
    budget: u64,
    entries: u64,
    bytes: u64,
    visible: u64,
    turns: u64,
    calls: Vec<CallJson>,
    totals: TotalsJson,
}

/// One model call.
#[derive(Debug, Serialize)]
struct CallJson {
    index: u64,
    seq: u64,
    turn: u64,
    time: Option<String>,
    prompt: u64,
    prompt_upper: u64,
    summaries: u64,
    reused: u64,
    cached: u64,
    idle_ms: Option<u64>,
    broken: Option<&'static str>,
    broken_at: Option<&'static str>,
    rebilled: Option<u64>,
    rung: &'static str,
    everything: u64,
    sliding: u64,
    sliding_reused: u64,
    commit_us: u64,
    prompt_us: u64,
    summariser_us: u64,
    render_us: u64,
}

impl From<&Call> for CallJson {
    fn from(call: &Call) -> Self {
        Self {
            index: call.index,
            seq: call.record,
            turn: call.turn,
            time: call.time.and_then(iso),
            prompt: call.prompt.expected,
            prompt_upper: call.prompt.upper,
            summaries: call.summaries.expected,
            reused: call.reused,
            cached: call.cached,
            idle_ms: call.idle_ms,
            broken: call.broken.map(|broken| broken.cause.name()),
            broken_at: call.broken.map(|broken| broken.region.name()),
            rebilled: call.broken.map(|broken| broken.rebilled),
            rung: call.rung.name(),
            everything: call.everything,
            sliding: call.sliding,
            sliding_reused: call.sliding_reused,
            commit_us: call.commit_us,
            prompt_us: call.prompt_us,
            summariser_us: call.summariser_us,
            render_us: call.render_us,
        }
    }
}

#[derive(Debug, Serialize)]
struct TotalsJson {
    calls: u64,
    overflow_at: Option<u64>,
    ours: SpendJson,
    everything: SpendJson,
    sliding: SpendJson,
    summarise_all: SpendJson,
    peer: SpendJson,
    prices: PricesJson,
    breaks: Vec<BreaksJson>,
    summaries: SummariesJson,
    facts: FactsJson,
    times: TimesJson,
    validated: bool,
    rejected: Vec<RejectedJson>,
    too_large: Vec<TooLargeJson>,
    without_request: Vec<u64>,
    unproved: Vec<u64>,
    warnings: u64,
    elapsed_ms: u64,
}

#[derive(Debug, Serialize)]
struct SpendJson {
    sent: u64,
    cached: u64,
    hit_rate: f64,
    cost: f64,
    refused: u64,
    largest: u64,
    largest_bound: Option<u64>,
    compactions: Option<u64>,
}

impl From<Spend> for SpendJson {
    fn from(spend: Spend) -> Self {
        let Spend { sent, cached, cost, refused, largest, largest_bound, compactions } = spend;
        Self { sent, cached, hit_rate: spend.hit_rate(), cost, refused, largest, largest_bound, compactions }
    }
}

#[derive(Debug, Serialize)]
struct PricesJson {
    input_per_million: f64,
    write_factor: f64,
    read_factor: f64,
    cache_ttl_ms: u64,
}

#[derive(Debug, Serialize)]
struct BreaksJson {
    cause: &'static str,
    count: u64,
    cold: u64,
    rebilled: u64,
}

#[derive(Debug, Serialize)]
struct SummariesJson {
    leaves: u64,
    merges: u64,
}

#[derive(Debug, Serialize)]
struct FactsJson {
    asked: u64,
    in_prompt: u64,
    in_five: u64,
    in_budget: u64,
}

#[derive(Debug, Serialize)]
#[allow(clippy::struct_field_names, reason = "the unit is part of a name")]
struct TimesJson {
    commit_us: QuantilesJson,
    prompt_us: QuantilesJson,
    engine_us: QuantilesJson,
    render_us: QuantilesJson,
}

#[derive(Debug, Serialize)]
struct QuantilesJson {
    p50: u64,
    p99: u64,
    max: u64,
}

impl QuantilesJson {
    fn of(calls: &[Call], time: impl Fn(&Call) -> u64) -> Self {
        let at = |permille| quantile(calls.iter().map(&time), permille);
        Self { p50: at(500), p99: at(990), max: at(1_000) }
    }
}

#[derive(Debug, Serialize)]
struct RejectedJson {
    call: u64,
    violations: Vec<String>,
}

#[derive(Debug, Serialize)]
struct TooLargeJson {
    call: u64,
    needs: u64,
    budget: u64,
}

impl<'a> From<&'a Report> for ReportJson<'a> {
    fn from(report: &'a Report) -> Self {
        Self {
            path: &report.path,
            format: &report.format,
            conversation: &report.conversation,
            model: report.model.as_deref(),
            dialect: report.dialect,
            ruler: report.ruler,
            window: report.window,
            reserve: report.reserve,
            budget: report.budget,
            entries: report.entries,
            bytes: report.bytes,
            visible: report.visible,
            turns: report.turns,
            calls: report.calls.iter().map(CallJson::from).collect(),
            totals: report.into(),
        }
    }
}

impl From<&Report> for TotalsJson {
    fn from(report: &Report) -> Self {
        let calls = &report.calls;
        let breaks = report.breaks.iter();
        let rejected = report.rejected.iter().map(|rejected| RejectedJson {
            call: rejected.call,
            violations: rejected.violations.iter().map(super::violation).collect(),
        });
        let too_large = report.too_large.iter();
        let facts = report.facts;
        Self {
            calls: calls.len() as u64,
            overflow_at: report.overflow_at,
            ours: report.ours.into(),
            everything: report.everything.into(),
            sliding: report.sliding.into(),
            summarise_all: report.summarise_all.into(),
            peer: report.peer.into(),
            prices: PricesJson {
                input_per_million: report.prices.input,
                write_factor: report.prices.write,
                read_factor: report.prices.read,
                cache_ttl_ms: report.prices.cache_ttl_ms,
            },
            breaks: breaks
                .map(|b| BreaksJson {
                    cause: b.cause.name(),
                    count: b.count,
                    cold: b.cold,
                    rebilled: b.rebilled,
                })
                .collect(),
            summaries: SummariesJson { leaves: report.summaries.0, merges: report.summaries.1 },
            facts: FactsJson {
                asked: facts.asked,
                in_prompt: facts.in_prompt,
                in_five: facts.in_five,
                in_budget: facts.in_budget,
            },
            times: TimesJson {
                commit_us: QuantilesJson::of(calls, |call| call.commit_us),
                prompt_us: QuantilesJson::of(calls, |call| call.prompt_us),
                engine_us: QuantilesJson::of(calls, |call| call.prompt_us.saturating_sub(call.summariser_us)),
                render_us: QuantilesJson::of(calls, |call| call.render_us),
            },
            validated: report.validated,
            rejected: rejected.collect(),
            too_large: too_large
                .map(|large| TooLargeJson { call: large.call, needs: large.needs, budget: large.budget })
                .collect(),
            without_request: report.without_request.clone(),
            unproved: report.unproved.clone(),
            warnings: report.warnings,
            elapsed_ms: report.elapsed_ms,
        }
    }
}
