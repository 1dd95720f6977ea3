//! `unforget usage`: tokens and cost of models, as transcripts record them.

use std::collections::{BTreeMap, BTreeSet};

use jiff::tz::TimeZone;
use serde::Serialize;
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_engine::Engine;
use unforget_engine::usage::StoredCall;
use unforget_server::price::PriceList;
use unforget_server::when::system_zone;
use unforget_wire::TokenUsage;

use crate::app::App;
use crate::args::{UsageArgs, UsageGroup};
use crate::failure::{Exit, Outcome};
use crate::output::paint;
use crate::text;

/// Columns of the longest bar.
const BAR: usize = 20;

/// Columns of a row's name.
const NAME: usize = 40;

/// The calls of a row.
#[derive(Clone, Debug, Default)]
struct UsageSum {
    calls: u64,
    tokens: TokenUsage,
    /// Dollars, of the calls that have a price.
    cost: f64,
    /// Calls of models without a price.
    unpriced: u64,
}

/// A row, with `--json`.
#[derive(Debug, Serialize)]
struct UsageRowJson {
    name: String,
    calls: u64,
    input: u64,
    cache_read: u64,
    cache_write: u64,
    output: u64,
    dollars: f64,
    unpriced_calls: u64,
}

/// The report, with `--json`.
#[derive(Debug, Serialize)]
struct UsageJson {
    by: String,
    rows: Vec<UsageRowJson>,
    total: UsageRowJson,
    /// Models without a price.
    unpriced: Vec<String>,
    /// Month of the prices.
    prices: String,
    /// Where the prices were read.
    source: String,
}

/// Counts recorded calls.
pub(crate) fn run(app: &mut App, args: &UsageArgs) -> Outcome {
    let (since, until) = (super::time_of(args.since.as_deref())?, super::time_of(args.until.as_deref())?);
    let prices = PriceList::current();
    let zone = system_zone();
    let mut rows: BTreeMap<String, UsageSum> = BTreeMap::new();
    let mut unpriced: BTreeMap<String, u64> = BTreeMap::new();
    app.read()?.recorded_calls(since, &mut |stored| {
        let time = stored.call.time;
        let is_wanted = since.is_none_or(|since| time.is_some_and(|time| time >= since))
            && until.is_none_or(|until| time.is_some_and(|time| time < until));
        if !is_wanted {
            return;
        }
        let model = stored.call.model.as_deref().unwrap_or("unknown");
        let cost = stored.call.cost.or_else(|| prices.cost(model, &stored.call.tokens));
        if cost.is_none() {
            *unpriced.entry(model.to_owned()).or_default() += 1;
        }
        rows.entry(name(&stored, args.by, &zone)).or_default().add(&stored.call.tokens, cost);
    })?;
    let mut rows: Vec<_> = rows.into_iter().collect();
    if args.by != UsageGroup::Day {
        rows.sort_by(|(_, a), (_, b)| {
            b.cost.total_cmp(&a.cost).then(b.tokens.total().cmp(&a.tokens.total()))
        });
    }
    if app.out.json {
        app.out.json(&json(args.by, &rows, unpriced.into_keys().collect(), prices))?;
        return Ok(Exit::Done);
    }
    say(app, args.by, &rows)?;
    if !unpriced.is_empty() {
        let one = |(model, calls): (&String, &u64)| {
            format!("{} ({})", text::harmless(model), text::plural(*calls, "call"))
        };
        let all = unpriced.iter().map(one).collect::<Vec<_>>().join(", ");
        app.out.note(format_args!("no price is known for {all}"));
    }
    app.out
        .note(format_args!("prices of {}, where the host records no cost: {}", prices.date, prices.source));
    Ok(Exit::Done)
}

/// The models and the cost of a conversation, as its transcript records them.
#[derive(Clone, Debug, Default)]
pub(super) struct RecordedUse {
    /// Names of the models.
    pub(super) models: BTreeSet<String>,
    sum: UsageSum,
}

impl RecordedUse {
    /// The cost for a person: `$1.20`, with a plus if calls without a price come on top.
    pub(super) fn shown(&self) -> String {
        self.sum.dollars()
    }

    /// Dollars of the calls that have a price.
    pub(super) const fn dollars(&self) -> f64 {
        self.sum.cost
    }
}

/// What every conversation used. A call that several transcripts record counts in the first one.
///
/// Cost: reads every transcript that records usage.
pub(super) fn by_conversation(engine: &Engine) -> Outcome<BTreeMap<ConversationKey, RecordedUse>> {
    let prices = PriceList::current();
    let mut uses: BTreeMap<ConversationKey, RecordedUse> = BTreeMap::new();
    engine.recorded_calls(None, &mut |stored| {
        let model = stored.call.model.as_deref().unwrap_or("unknown");
        let cost = stored.call.cost.or_else(|| prices.cost(model, &stored.call.tokens));
        let used = uses.entry(stored.conversation.clone()).or_default();
        used.models.insert(model.to_owned());
        used.sum.add(&stored.call.tokens, cost);
    })?;
    Ok(uses)
}

/// The row of a call.
fn name(stored: &StoredCall<'_>, by: UsageGroup, zone: &TimeZone) -> String {
    let known = |text: Option<&String>| text.map_or_else(|| "unknown".to_owned(), Clone::clone);
    match by {
        UsageGroup::Day => {
            stored.call.time.and_then(|time| day(time, zone)).unwrap_or_else(|| "no time".to_owned())
        }
        UsageGroup::Model => known(stored.call.model.as_ref()),
        UsageGroup::Project => known(stored.call.folder.as_ref()),
        UsageGroup::Host => stored.agent.to_owned(),
        UsageGroup::Conversation => stored.conversation.0.clone(),
    }
}

fn day(time: Timestamp, zone: &TimeZone) -> Option<String> {
    let time = jiff::Timestamp::from_millisecond(time.0).ok()?;
    Some(time.to_zoned(zone.clone()).strftime("%F").to_string())
}

impl UsageSum {
    fn add(&mut self, tokens: &TokenUsage, cost: Option<f64>) {
        self.calls += 1;
        self.tokens.add(tokens);
        self.cost += cost.unwrap_or_default();
        self.unpriced += u64::from(cost.is_none());
    }

    fn of(rows: &[(String, Self)]) -> Self {
        let mut all = Self::default();
        for (_, row) in rows {
            all.calls += row.calls;
            all.tokens.add(&row.tokens);
            all.cost += row.cost;
            all.unpriced += row.unpriced;
        }
        all
    }

    fn json(&self, name: &str) -> UsageRowJson {
        UsageRowJson {
            name: name.to_owned(),
            calls: self.calls,
            input: self.tokens.input,
            cache_read: self.tokens.cache_read,
            cache_write: self.tokens.cache_write,
            output: self.tokens.output,
            dollars: self.cost,
            unpriced_calls: self.unpriced,
        }
    }

    fn dollars(&self) -> String {
        let mark = if self.unpriced > 0 { "+" } else { "" };
        if self.unpriced == self.calls && self.calls > 0 {
            "?".to_owned()
        } else {
            format!("${:.2}{mark}", self.cost)
        }
    }
}

fn json(by: UsageGroup, rows: &[(String, UsageSum)], unpriced: Vec<String>, prices: &PriceList) -> UsageJson {
    UsageJson {
        by: format!("{by:?}").to_lowercase(),
        rows: rows.iter().map(|(name, row)| row.json(name)).collect(),
        total: UsageSum::of(rows).json("total"),
        unpriced,
        prices: prices.date.clone(),
        source: prices.source.clone(),
    }
}

fn say(app: &mut App, by: UsageGroup, rows: &[(String, UsageSum)]) -> Outcome<()> {
    if rows.is_empty() {
        app.out.note("no transcript of this time records usage: import some with unforget import --discover");
        return Ok(());
    }
    let most = rows.iter().map(|(_, row)| row.cost).fold(0.0, f64::max);
    let cells = |name: &str, row: &UsageSum, bar: String| {
        let TokenUsage { input, cache_read, cache_write, output } = row.tokens;
        let mut cells = vec![text::one_line(&text::harmless(name), NAME), text::count(row.calls)];
        cells.extend([input, cache_write, cache_read, output].map(text::short));
        cells.extend([row.dollars(), bar]);
        cells
    };
    let bar = |row: &UsageSum| paint(app.out.palette.ours, "█".repeat(length(row.cost, most)));
    let mut lines: Vec<_> = rows.iter().map(|(name, row)| cells(name, row, bar(row))).collect();
    lines.push(cells("total", &UsageSum::of(rows), String::new()));
    let title = format!("{by:?}").to_lowercase();
    let head = [title.as_str(), "calls", "input", "cache written", "cache read", "output", "cost", ""];
    write!(app.out, "{}", text::table(&head, lines, &[1, 2, 3, 4, 5, 6]))?;
    Ok(())
}

/// Columns of a bar: at least one for any cost.
fn length(cost: f64, most: f64) -> usize {
    if most <= 0.0 || cost <= 0.0 {
        return 0;
    }
    // At most BAR, so that nothing is cut off.
    ((cost / most * BAR as f64).round() as usize).clamp(1, BAR)
}
