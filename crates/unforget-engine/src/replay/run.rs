//! The replay: delivers the records, and makes the prompt before every recorded model call.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use unforget_core::compact::Cache;
use unforget_core::entry::Origin;
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_core::message::Message;
use unforget_store::Snapshot;
use unforget_wire::{Reader, Record, validate};

use crate::Engine;
use crate::error::EngineError;
use crate::import::{Live, Stored};
use crate::prompt::{Broken, Prompt, Session, Shape, ThreadRef};
use crate::recall::SearchQuery;
use crate::ruler::ModelRuler;
use crate::view::Answers;

use super::compare::Alternatives;
use super::counter::Counter;
use super::facts::{Fact, Facts};
use super::{Breaks, Call, FactRecall, Prices, Rejected, Report, Spend, TooLarge};

/// Options of a replay.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// Shape of the prompts.
    pub shape: Shape,
    /// Name of the model, for the report.
    pub model: Option<String>,
    /// Prices for the costs.
    pub prices: Prices,
    /// The ruler of the stand-in for the provider, which counts every prompt; `None` for no count.
    pub provider: Option<ModelRuler>,
    /// Whether every prompt is rendered and validated.
    pub validate: bool,
    /// Number of facts to ask for at the end.
    pub facts: usize,
}

/// Maximum number of rejected prompts in a report; the first few suffice to show a defect.
const REJECTED_KEPT: usize = 20;

/// Number of results examined for a fact.
const FACT_RESULTS: usize = 50;

/// Number of entries between two updates of the search index.
const INDEX_EVERY: u64 = 1_024;

/// Replays a transcript into `engine`, which should not contain the transcript yet.
///
/// * `progress` - called with bytes read, total bytes, and the number of calls.
///
/// # Errors
/// Store and read errors. A prompt that cannot fit or would be rejected appears in the report and is not an error.
pub fn replay(
    engine: &Engine,
    path: &Path,
    options: &ReplayOptions,
    progress: &mut dyn FnMut(u64, u64, u64),
) -> Result<Report, EngineError> {
    let started = Instant::now();
    let file = File::open(path).map_err(|source| EngineError::File { path: path.into(), source })?;
    let total = file.metadata().map_or(0, |meta| meta.len());
    let failed = |source| EngineError::Read { path: path.into(), source };
    let mut reader = Reader::open(BufReader::with_capacity(1 << 18, file)).map_err(failed)?;
    let live = Live::begin(engine, reader.source())?;
    let mut run = Run::new(engine, live, options);
    let mut report = run.report(path, reader.source());
    let (mut bytes, mut waiting) = (0, Vec::new());
    while let Some(record) = reader.next_record().map_err(failed)? {
        bytes += (record.lead.len() + record.body.len()) as u64;
        report.entries += 1;
        report.warnings += u64::from(record.warning.is_some());
        if run.is_call(&record) {
            run.deliver(std::mem::take(&mut waiting), None, &mut report)?;
            run.call(&record, &mut report)?;
            progress(bytes, total, report.calls.len() as u64);
        }
        waiting.push(record);
    }
    report.bytes = bytes + reader.trailer().len() as u64;
    let snapshot = snapshot(path, report.bytes, reader.trailer());
    run.deliver(waiting, Some(snapshot), &mut report)?;
    run.finish(&mut report)?;
    report.elapsed_ms = started.elapsed().as_millis() as u64;
    Ok(report)
}

fn snapshot(path: &Path, file_bytes: u64, trailer: &[u8]) -> Snapshot {
    Snapshot {
        number: 0,
        generation: unforget_core::id::Generation(0),
        length: 0,
        trailer: trailer.to_vec(),
        file_bytes,
        path: path.display().to_string(),
        modified_ns: 0,
        time: Timestamp::default(),
    }
}

/// The state of a replay.
struct Run<'a> {
    engine: &'a Engine,
    live: Live,
    options: &'a ReplayOptions,
    /// A session per lane: inline sub-agents have prompts of their own.
    lanes: BTreeMap<Option<String>, Lane>,
    answers: BTreeMap<Option<String>, Answers>,
    facts: Facts,
    commit_us: u64,
    unindexed: u64,
}

struct Lane {
    session: Session,
    alternatives: Alternatives,
    turns: u64,
    request: Option<Seq>,
    last: Option<Prompt>,
    counter: Option<Counter>,
}

impl<'a> Run<'a> {
    fn new(engine: &'a Engine, live: Live, options: &'a ReplayOptions) -> Self {
        let (lanes, answers) = (BTreeMap::new(), BTreeMap::new());
        Self { engine, live, options, lanes, answers, facts: Facts::default(), commit_us: 0, unindexed: 0 }
    }

    /// Whether this record is an answer to a call of the model.
    fn is_call(&mut self, record: &Record) -> bool {
        self.answers.entry(record.entry.thread.clone()).or_default().is_call(&record.entry)
    }

    /// Stores delivered records and shows them to their lanes.
    fn deliver(
        &mut self,
        records: Vec<Record>,
        snapshot: Option<Snapshot>,
        report: &mut Report,
    ) -> Result<(), EngineError> {
        let threads: Vec<_> = records.iter().map(|record| record.entry.thread.clone()).collect();
        let begun = Instant::now();
        let stored = self.live.append(records, snapshot)?;
        self.commit_us = begun.elapsed().as_micros() as u64;
        self.unindexed += stored.len() as u64;
        if self.unindexed >= INDEX_EVERY {
            self.engine.maintain_index(self.live.conversation())?;
            self.unindexed = 0;
        }
        for (stored, thread) in stored.into_iter().zip(threads) {
            self.show(&stored, thread, report)?;
        }
        Ok(())
    }

    fn show(
        &mut self,
        stored: &Stored,
        thread: Option<String>,
        report: &mut Report,
    ) -> Result<(), EngineError> {
        self.facts.collect(stored.seq, &stored.entry);
        let human = stored.entry.origin == Origin::Human && !stored.entry.parts.is_empty();
        let lane = self.lane(thread, stored.thread);
        let visible = lane.session.push(stored.seq, stored.parent, &stored.entry, stored.tokens)?;
        report.visible += u64::from(visible);
        if human && visible {
            lane.turns += 1;
            lane.request = Some(stored.seq);
            report.turns += 1;
        }
        Ok(())
    }

    fn lane(&mut self, name: Option<String>, thread: Thread) -> &mut Lane {
        let (engine, conversation, shape) = (self.engine, self.live.conversation(), self.options.shape);
        let provider = self.options.provider;
        self.lanes.entry(name).or_insert_with(|| Lane {
            session: Session::new(engine, ThreadRef { conversation, thread }, shape, true),
            alternatives: Alternatives::new(),
            turns: 0,
            request: None,
            last: None,
            counter: provider.map(|ruler| Counter::new(ruler, shape.target())),
        })
    }

    /// Makes the prompt of a call and records its figures.
    fn call(&mut self, record: &Record, report: &mut Report) -> Result<(), EngineError> {
        let index = report.calls.len() as u64;
        // The lane's number is only needed if the lane begins with an answer.
        let (options, commit_us) = (self.options, self.commit_us);
        let next_seq = Seq(report.entries - 1);
        let lane = self.lane(record.entry.thread.clone(), Thread(0));
        let before = lane.session.counters();
        let begun = Instant::now();
        let prompt = match lane.session.prompt() {
            Ok(prompt) => prompt,
            Err(EngineError::Irreducible(irreducible)) => {
                let needs = irreducible.sections.total().upper;
                report.too_large.push(TooLarge { call: index, needs, budget: irreducible.budget });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let prompt_us = begun.elapsed().as_micros() as u64;
        let cache = Cache::after(prompt.idle_ms, options.prices.cache_ttl_ms);
        let compared = lane.alternatives.next(&mut lane.session, cache);
        let render_us = check(&prompt, lane.request, index, options, report);
        let certificate = prompt.admitted.certificate();
        let request = prompt.admitted.request();
        let counted = lane.counter.as_mut().map(|counter| counter.count(request));
        if let (Some(weighed), Some(counted)) = (&prompt.weighed, counted) {
            lane.session.reported(weighed, counted);
        }
        report.calls.push(Call {
            index,
            seq: next_seq,
            turn: lane.turns,
            time: record.entry.time,
            prompt: certificate.total,
            bound: certificate.bound,
            counted,
            summaries: certificate.sections.summaries,
            reused: prompt.reused,
            cached: cache.holds(prompt.reused),
            idle_ms: prompt.idle_ms,
            broken: prompt.broken,
            rung: certificate.rung,
            everything: compared.everything,
            sliding: compared.sliding,
            sliding_reused: compared.sliding_reused,
            commit_us,
            prompt_us,
            summariser_us: lane.session.counters().summariser_us - before.summariser_us,
            render_us,
        });
        count(report, &prompt, &compared, cache, options.prices);
        lane.last = Some(prompt);
        Ok(())
    }

    fn finish(&mut self, report: &mut Report) -> Result<(), EngineError> {
        for lane in self.lanes.values() {
            let counters = lane.session.counters();
            report.summaries.0 += counters.leaves;
            report.summaries.1 += counters.merges;
        }
        let Some(lane) = self.lanes.get(&None).or_else(|| self.lanes.values().next()) else { return Ok(()) };
        let Some(boundary) = lane.session.context().roots.iter().map(|root| root.span.1).max() else {
            return Ok(());
        };
        self.engine.maintain_index(self.live.conversation())?;
        let said = lane.last.as_ref().map(|prompt| prompt.admitted.request().words()).unwrap_or_default();
        for fact in self.facts.spread(Seq(boundary.0 + 1), self.options.facts) {
            self.ask(fact, &said, &mut report.facts)?;
        }
        Ok(())
    }

    fn ask(&self, fact: &Fact, said: &str, recall: &mut FactRecall) -> Result<(), EngineError> {
        let text = fact.question.clone();
        let query = SearchQuery { text, limit: Some(FACT_RESULTS), ..SearchQuery::default() };
        let answer = self.engine.search(&query)?;
        let at = answer.results.iter().position(|hit| hit.seq == fact.seq);
        let mut tokens = 0;
        let within = answer.results.iter().find_map(|hit| {
            tokens += hit.tokens;
            (hit.seq == fact.seq).then_some(tokens)
        });
        recall.asked += 1;
        recall.in_prompt += u64::from(said.contains(&fact.answer));
        recall.in_five += u64::from(at.is_some_and(|at| at < 5));
        recall.in_budget += u64::from(within.is_some_and(|tokens| tokens <= 2_000) || at == Some(0));
        Ok(())
    }

    fn report(&self, path: &Path, source: &unforget_wire::Source) -> Report {
        let shape = self.options.shape;
        Report {
            path: path.display().to_string(),
            format: source.format.name().to_owned(),
            conversation: source.key.to_string(),
            model: self.options.model.clone(),
            dialect: shape.dialect.name(),
            ruler: unforget_core::tokens::Ruler::name(&shape.ruler),
            window: shape.policy.window,
            reserve: shape.policy.reserve,
            budget: shape.policy.budget(),
            entries: 0,
            bytes: 0,
            visible: 0,
            turns: 0,
            calls: Vec::new(),
            rejected: Vec::new(),
            too_large: Vec::new(),
            without_request: Vec::new(),
            unproved: Vec::new(),
            breaks: Vec::new(),
            summaries: (0, 0),
            prices: self.options.prices,
            ours: Spend::default(),
            everything: Spend::default(),
            sliding: Spend::default(),
            summarise_all: Spend::default(),
            peer: Spend::default(),
            overflow_at: None,
            facts: FactRecall::default(),
            warnings: 0,
            validated: self.options.validate,
            elapsed_ms: 0,
        }
    }
}

/// Renders and validates a prompt. Returns the time for rendering in microseconds.
fn check(
    prompt: &Prompt,
    request: Option<Seq>,
    call: u64,
    options: &ReplayOptions,
    report: &mut Report,
) -> u64 {
    if prompt.admitted.certificate().proof.is_err() {
        report.unproved.push(call);
    }
    let shown = |message: &Message| request.is_some_and(|seq| message.seqs.contains(&seq));
    if request.is_some() && !prompt.admitted.request().messages.iter().any(shown) {
        report.without_request.push(call);
    }
    if !options.validate {
        return 0;
    }
    let begun = Instant::now();
    let body = prompt.render(options.shape.target());
    let render_us = begun.elapsed().as_micros() as u64;
    if let Err(violations) = validate(&body, options.shape.target())
        && report.rejected.len() < REJECTED_KEPT
    {
        report.rejected.push(Rejected { call, violations });
    }
    render_us
}

fn count(
    report: &mut Report,
    prompt: &Prompt,
    compared: &super::compare::Compared,
    cache: Cache,
    prices: Prices,
) {
    let sent = prompt.admitted.certificate().total.expected;
    let last = report.calls.last();
    let is_refused = last.is_some_and(|call| call.counted.unwrap_or(call.bound) > report.budget);
    add(&mut report.ours, sent, cache.holds(prompt.reused), prices, is_refused);
    report.ours.largest_bound = report.ours.largest_bound.max(last.map(|call| call.bound));
    add(
        &mut report.everything,
        compared.everything,
        compared.everything_reused,
        prices,
        compared.everything > report.budget,
    );
    add(
        &mut report.sliding,
        compared.sliding,
        compared.sliding_reused,
        prices,
        compared.sliding > report.budget,
    );
    summarised(&mut report.summarise_all, compared.summarise_all, prices, report.budget);
    summarised(&mut report.peer, compared.peer, prices, report.budget);
    if compared.everything > report.budget && report.overflow_at.is_none() {
        report.overflow_at = Some(report.calls.len() as u64 - 1);
    }
    let Some(Broken { cause, rebilled, .. }) = prompt.broken else { return };
    let cold = u64::from(cache == Cache::Cold);
    match report.breaks.iter_mut().find(|breaks| breaks.cause == cause) {
        Some(breaks) => {
            breaks.count += 1;
            breaks.cold += cold;
            breaks.rebilled += cache.holds(rebilled);
        }
        None => report.breaks.push(Breaks { cause, count: 1, cold, rebilled: cache.holds(rebilled) }),
    }
}

/// Adds a call of a policy that also pays for a summariser.
fn summarised(spend: &mut Spend, call: super::policies::Paid, prices: Prices, budget: u64) {
    let mut read = Spend::default();
    add(&mut read, call.summarised, call.summarised_reused, prices, false);
    spend.sent += read.sent;
    spend.cached += read.cached;
    spend.cost += read.cost;
    *spend.compactions.get_or_insert(0) += call.compactions;
    add(spend, call.sent, call.reused, prices, call.sent > budget);
}

fn add(spend: &mut Spend, sent: u64, cached: u64, prices: Prices, refused: bool) {
    spend.sent += sent;
    spend.cached += cached;
    spend.refused += u64::from(refused);
    spend.largest = spend.largest.max(sent);
    let fresh = sent.saturating_sub(cached) as f64;
    spend.cost += (fresh * prices.write + cached as f64 * prices.read) * prices.input / 1e6;
}
