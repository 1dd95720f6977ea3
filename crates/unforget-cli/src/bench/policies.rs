//! `unforget bench policies`: the costs of different ways to keep a prompt small, on recorded sessions.

mod bounds;
mod keep_alive;

use std::path::Path;

use serde::Serialize;
use unforget_core::cache::{CacheLedger, Change, Known, Ratios, Served};
use unforget_core::compact::Cache;
use unforget_core::policy::Policy;
use unforget_engine::Engine;
use unforget_engine::prompt::{Cause, Shape};
use unforget_engine::replay::{Prices, ReplayOptions, Report, Spend, replay};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::Dialect;

use bounds::{BoundJson, Bounds};
use keep_alive::{KeepAliveJson, keep_alive};

use super::sessions;
use crate::app::App;
use crate::args::PoliciesArgs;
use crate::failure::{Exit, Failure, Outcome};
use crate::json::CacheJson;
use crate::text;

/// A provider's prices for input: list prices in US dollars per million tokens, and the lifetime of its cache.
struct PriceTable {
    name: &'static str,
    prices: Prices,
}

const MINUTES: u64 = 60_000;

/// List prices of input for Claude Sonnet, with both lifetimes of its cache, GPT-5 and Gemini 3 Pro.
const TABLES: [PriceTable; 4] = [
    PriceTable {
        name: "anthropic",
        prices: Prices { input: 3.0, write: 1.25, read: 0.1, cache_ttl_ms: 5 * MINUTES },
    },
    PriceTable {
        name: "anthropic-1h",
        prices: Prices { input: 3.0, write: 2.0, read: 0.1, cache_ttl_ms: 60 * MINUTES },
    },
    PriceTable {
        name: "openai",
        prices: Prices { input: 1.25, write: 1.0, read: 0.1, cache_ttl_ms: 60 * MINUTES },
    },
    PriceTable {
        name: "gemini",
        prices: Prices { input: 2.0, write: 1.0, read: 0.1, cache_ttl_ms: 60 * MINUTES },
    },
];

/// Least number of calls in a file that counts as a session.
const CALLS_MIN: usize = 2;

#[derive(Debug, Serialize)]
struct PoliciesJson {
    sessions: u64,
    /// Files without a session of two calls.
    skipped: u64,
    rows: Vec<PolicyRowJson>,
}

#[derive(Debug, Serialize)]
struct PolicyRowJson {
    window: u64,
    prices: &'static str,
    cache_ttl_ms: u64,
    policy: &'static str,
    calls: u64,
    sent: u64,
    cached: u64,
    hit_rate: f64,
    cost: f64,
    refused: u64,
    breaks: Option<u64>,
    cold_breaks: Option<u64>,
    /// Mean and greatest share of the budget that prompts used after the first break, by an estimate of the provider's
    /// count.
    use_mean: Option<f64>,
    use_peak: Option<f64>,
    /// The fate of the cache, for our prompts only.
    fates: Option<CacheJson>,
    /// The bound of prompts over the stand-in's count, by the number of the call, for our prompts only.
    bounds: Vec<BoundJson>,
    /// What keeping the cache alive through pauses would cost and save, for our prompts only.
    keep_alive: Vec<KeepAliveJson>,
}

/// Sums over sessions: one way, in one window, with one lifetime of the cache.
#[derive(Clone, Debug, Default)]
struct PolicySum {
    spend: Spend,
    calls: u64,
    breaks: Option<(u64, u64)>,
    filled: Filled,
    bounds: Bounds,
    /// Each call's facts about the cache, and the size of its previous prompt. Prices turn them into costs.
    seen: Vec<(Known<&'static str>, Served)>,
}

/// How full prompts were after the first break of their session.
#[derive(Clone, Copy, Debug, Default)]
struct Filled {
    prompts: u64,
    /// Sum of their shares of the budget.
    shares: f64,
    peak: f64,
}

impl Filled {
    fn add(&mut self, tokens: u64, budget: u64) {
        let share = tokens as f64 / budget.max(1) as f64;
        self.prompts += 1;
        self.shares += share;
        self.peak = self.peak.max(share);
    }

    fn mean(&self) -> Option<f64> {
        (self.prompts > 0).then(|| self.shares / self.prompts as f64)
    }
}

const WAYS: [&str; 6] =
    ["unforget", "unforget-blind", "sliding-window", "summarise-everything", "peer", "everything"];

/// Replays sessions and reports the cost of each way to send prompts.
pub(crate) fn run(app: &mut App, args: &PoliciesArgs) -> Outcome {
    let files = sessions::files(&args.files)?;
    let (mut played, mut skipped) = (0, 0);
    let none = || std::array::from_fn(|_| std::array::from_fn(|_| PolicySum::default()));
    let mut sums: Vec<[[PolicySum; WAYS.len()]; 2]> = args.window.iter().map(|_| none()).collect();
    let bar = app.progress(files.len() as u64, "{msg} {bar:24.cyan} {pos} of {len}  {eta} left");
    for path in &files {
        bar.inc(1);
        bar.set_message(sessions::short(path));
        let mut is_session = false;
        for (&window, sums) in args.window.iter().zip(&mut sums) {
            is_session |= add(path, window, sums)?;
        }
        if is_session { played += 1 } else { skipped += 1 }
    }
    bar.finish_and_clear();
    if played == 0 {
        let what = format!("none of {} is a session", text::plural(files.len() as u64, "file"));
        return Err(Failure::input("no-session", what, "name transcripts, or folders of them"));
    }
    let rows = args.window.iter().zip(&sums).flat_map(|(window, sums)| rows(*window, sums)).collect();
    let json = PoliciesJson { sessions: played, skipped, rows };
    if app.out.json {
        app.out.json(&json)?;
    } else {
        say(app, &json)?;
    }
    Ok(Exit::Done)
}

/// Adds a session to the sums of a window; returns false if the file is no session.
fn add(path: &Path, window: u64, sums: &mut [[PolicySum; WAYS.len()]; 2]) -> Outcome<bool> {
    // Without regard to the cache, every break waits until the prompt is full.
    let Some(blind) = played(path, window, u64::MAX)? else { return Ok(false) };
    for (ttl, sums) in [5 * MINUTES, 60 * MINUTES].into_iter().zip(sums) {
        let Some(report) = played(path, window, ttl)? else { return Ok(false) };
        let [ours, other, sliding, all, peer, everything] = sums;
        ours.add_ours(&report, ttl);
        other.add_ours(&blind, ttl);
        sliding.add(&report.sliding, &report);
        all.add(&report.summarise_all, &report);
        peer.add(&report.peer, &report);
        everything.add(&report.everything, &report);
    }
    Ok(true)
}

/// A session in a window, with this lifetime of the cache; `None` if the file is no session.
fn played(path: &Path, window: u64, ttl: u64) -> Outcome<Option<Report>> {
    let mut shape = Shape::new(window, None, Dialect::Anthropic);
    shape.policy = Policy { cache_ttl_ms: ttl, ..shape.policy };
    // Costs follow from the tokens, which are equal for all price tables with this lifetime of the cache.
    let prices = Prices { input: 1.0, write: 1.0, read: 1.0, cache_ttl_ms: ttl };
    let options = ReplayOptions {
        shape,
        model: None,
        prices,
        provider: Some(ModelRuler::O200k),
        validate: false,
        facts: 0,
    };
    match replay(&Engine::in_memory(), path, &options, &mut |_, _, _| ()) {
        Ok(report) if report.calls.len() >= CALLS_MIN => Ok(Some(report)),
        Ok(_) | Err(unforget_engine::EngineError::Read { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

impl PolicySum {
    fn add(&mut self, spend: &Spend, report: &Report) {
        self.spend.sent += spend.sent;
        self.spend.cached += spend.cached;
        self.spend.refused += spend.refused;
        self.calls += report.calls.len() as u64;
        let compactions = spend.compactions.map(|more| self.spend.compactions.unwrap_or(0) + more);
        self.spend.compactions = compactions;
    }

    fn add_ours(&mut self, report: &Report, ttl: u64) {
        let (mut breaks, mut cold) = self.breaks.unwrap_or_default();
        let mut has_broken = false;
        let mut before = 0;
        for (number, call) in (1..).zip(&report.calls) {
            self.bounds.add(number, call.bound, call.counted.unwrap_or(0));
            let cache = Cache::after(call.idle_ms, ttl);
            let served = Served { input: call.prompt.expected, cached: cache.holds(call.reused) };
            let change = change(before, call.broken.map(|broken| broken.cause));
            self.seen.push((Known { change, before, idle_ms: call.idle_ms, ttl_ms: ttl }, served));
            before = call.prompt.expected;
            self.spend.sent += call.prompt.expected;
            self.spend.cached += cache.holds(call.reused);
            let is_break = call.broken.is_some_and(|broken| broken.cause == Cause::Compaction);
            breaks += u64::from(is_break);
            has_broken |= is_break;
            if has_broken {
                self.filled.add(call.counted.unwrap_or(call.prompt.expected), report.budget);
            }
            cold += u64::from(is_break && cache == Cache::Cold);
        }
        self.spend.refused += report.too_large.len() as u64;
        self.calls += report.calls.len() as u64;
        self.breaks = Some((breaks, cold));
    }
}

/// How a prompt relates to the previous one, by the cause of a break.
const fn change(before: u64, cause: Option<Cause>) -> Change<&'static str> {
    match cause {
        _ if before == 0 => Change::First,
        None => Change::Grew,
        Some(Cause::Rewind | Cause::LateEntry) => Change::ByClient,
        Some(cause) => Change::ByUs(cause.name()),
    }
}

/// The fate of the cache, at the prices of a table.
fn fates(seen: &[(Known<&'static str>, Served)], prices: &Prices) -> Option<CacheJson> {
    let permille = |factor: f64| (factor * 1e3).round() as u64;
    let ratios = Ratios { write_permille: permille(prices.write), read_permille: permille(prices.read) };
    let mut ledger = CacheLedger::default();
    for (known, served) in seen {
        ledger.add(known, Some(*served), ratios);
    }
    (!seen.is_empty()).then(|| (&ledger).into())
}

fn rows(window: u64, sums: &[[PolicySum; WAYS.len()]; 2]) -> Vec<PolicyRowJson> {
    let mut rows = Vec::new();
    for PriceTable { name, prices } in &TABLES {
        let [five, hour] = sums;
        let sums = if prices.cache_ttl_ms == 5 * MINUTES { five } else { hour };
        for (policy, PolicySum { spend, calls, breaks, filled, bounds, seen }) in WAYS.into_iter().zip(sums) {
            let fresh = spend.sent.saturating_sub(spend.cached) as f64;
            rows.push(PolicyRowJson {
                window,
                prices: name,
                cache_ttl_ms: prices.cache_ttl_ms,
                policy,
                calls: *calls,
                sent: spend.sent,
                cached: spend.cached,
                hit_rate: spend.hit_rate(),
                cost: (fresh * prices.write + spend.cached as f64 * prices.read) * prices.input / 1e6,
                refused: spend.refused,
                breaks: breaks.map(|(breaks, _)| breaks).or(spend.compactions),
                cold_breaks: breaks.map(|(_, cold)| cold),
                use_mean: filled.mean(),
                use_peak: filled.mean().map(|_| filled.peak),
                fates: fates(seen, prices),
                bounds: bounds.rows(),
                keep_alive: if seen.is_empty() { Vec::new() } else { keep_alive(seen, prices) },
            });
        }
    }
    rows
}

fn say(app: &mut App, json: &PoliciesJson) -> Outcome<()> {
    let sessions = text::plural(json.sessions, "session");
    writeln!(app.out, "{sessions}; {} skipped that are none", text::plural(json.skipped, "file"))?;
    let row = |row: &PolicyRowJson| {
        vec![
            text::short(row.window),
            row.prices.to_owned(),
            row.policy.to_owned(),
            text::short(row.sent),
            text::percent(row.hit_rate),
            format!("${:.2}", row.cost),
            row.refused.to_string(),
            row.breaks.map(|n| n.to_string()).unwrap_or_default(),
            row.cold_breaks.map(|n| n.to_string()).unwrap_or_default(),
            row.use_mean.map(text::percent).unwrap_or_default(),
            row.use_peak.map(text::percent).unwrap_or_default(),
        ]
    };
    let head = [
        "window",
        "prices",
        "policy",
        "sent",
        "from cache",
        "cost",
        "refused",
        "breaks",
        "cold",
        "use",
        "peak",
    ];
    let rows = json.rows.iter().map(row).collect();
    write!(app.out, "{}", text::table(&head, rows, &[0, 3, 4, 5, 6, 7, 8, 9, 10]))?;
    writeln!(
        app.out,
        "unforget-blind: the same without looking at the cache; cold: breaks when it had run out\n\
         {}: without breaks they equal everything",
        text::COMPACTS
    )?;
    say_fates(app, json)
}

/// Prints which costs of our own prompts the cache did not save.
fn say_fates(app: &mut App, json: &PoliciesJson) -> Outcome<()> {
    let ours = json.rows.iter().filter(|row| row.policy == "unforget");
    let fates = ours.flat_map(|row| row.fates.iter().map(move |cache| (row, cache)));
    let rows = fates.flat_map(|(row, cache)| {
        cache.fates.iter().map(move |one| {
            let cause = one.cause.as_ref().map(|cause| format!(": {cause}")).unwrap_or_default();
            vec![
                text::short(row.window),
                row.prices.to_owned(),
                format!("{}{cause}", one.fate),
                one.calls.to_string(),
                text::short(one.missed),
                text::percent(one.lost as f64 / cache.cost.max(1) as f64),
            ]
        })
    });
    let head = ["window", "prices", "fate", "calls", "billed anew", "of the cost"];
    writeln!(app.out)?;
    write!(app.out, "{}", text::table(&head, rows.collect(), &[0, 3, 4, 5]))?;
    say_bounds(app, json)?;
    say_keep_alive(app, json)
}

/// Prints how near bounds are to counts: once per window, since prices do not change them.
fn say_bounds(app: &mut App, json: &PoliciesJson) -> Outcome<()> {
    let (ours, prices) =
        (|row: &&PolicyRowJson| row.policy == WAYS[0], |row: &&PolicyRowJson| row.prices == TABLES[0].name);
    let rows = json.rows.iter().filter(ours).filter(prices).flat_map(|row| {
        row.bounds.iter().map(move |one| [&[text::short(row.window)], one.cells().as_slice()].concat())
    });
    let head = ["window", "calls of a session", "in all", "bound over count", "least"];
    writeln!(app.out)?;
    write!(app.out, "{}", text::table(&head, rows.collect(), &[0, 2, 3, 4]))?;
    Ok(())
}

/// Prints what keeping the cache alive would cost and save.
fn say_keep_alive(app: &mut App, json: &PoliciesJson) -> Outcome<()> {
    let ours = json.rows.iter().filter(|row| row.policy == WAYS[0]);
    let rows = ours.flat_map(|row| {
        row.keep_alive.iter().map(move |one| {
            vec![
                text::short(row.window),
                row.prices.to_owned(),
                one.most.to_string(),
                one.calls.to_string(),
                format!("${:.2}", one.cost),
                format!("${:.2}", one.saved),
            ]
        })
    });
    let head = ["window", "prices", "kept alive by, at most", "calls", "cost", "saved"];
    writeln!(app.out)?;
    write!(app.out, "{}", text::table(&head, rows.collect(), &[0, 2, 3, 4, 5]))?;
    Ok(())
}
