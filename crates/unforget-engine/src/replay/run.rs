//! The replay: delivers the records, and makes the prompt before every recorded model call.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Instant;

use unforget_core::compact::{Cache, end_of};
use unforget_core::entry::Origin;
use unforget_core::id::Seq;
use unforget_core::message::Message;
use unforget_wire::{Reader, Record, Target, validate};

use crate::Engine;
use crate::error::EngineError;
use crate::prompt::{Broken, Prompt, Shape};
use crate::recall::{Hit, SearchQuery};
use crate::ruler::ModelRuler;
use crate::view::Answers;

use super::compare::Alternatives;
use super::counter::Counter;
use super::facts::{Fact, Facts};
use super::recorded_host::{RecordedEntry, RecordedHost};
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

/// Replays a transcript into `engine`. Where the engine holds lanes of an earlier replay of the transcript, their messages are
/// recognised.
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
    let host = RecordedHost::begin(engine, reader.source(), Some(options.shape));
    let mut run = Run::new(engine, host, options);
    let mut report = run.report(path, reader.source());
    let (mut bytes, mut waiting) = (0, Vec::new());
    while let Some(record) = reader.next_record().map_err(failed)? {
        bytes += (record.lead.len() + record.body.len()) as u64;
        report.entries += 1;
        report.warnings += u64::from(record.warning.is_some());
        if run.is_call(&record) {
            run.deliver(std::mem::take(&mut waiting), &mut report)?;
            run.call(&record, &mut report)?;
            progress(bytes, total, report.calls.len() as u64);
        }
        waiting.push(record);
    }
    report.bytes = bytes + reader.trailer().len() as u64;
    run.deliver(waiting, &mut report)?;
    run.finish(&mut report)?;
    report.elapsed_ms = started.elapsed().as_millis() as u64;
    Ok(report)
}

/// The state of a replay.
struct Run<'a> {
    engine: &'a Engine,
    host: RecordedHost,
    options: &'a ReplayOptions,
    /// What is known of every lane: inline sub-agents have prompts of their own.
    lanes: BTreeMap<Option<String>, ReplayedLane>,
    answers: BTreeMap<Option<String>, Answers>,
    facts: Facts,
    commit_us: u64,
    unindexed: u64,
}

/// What the report needs to know of a lane.
#[derive(Default)]
struct ReplayedLane {
    alternatives: Alternatives,
    turns: u64,
    request: Option<Seq>,
    last: Option<Prompt>,
    counter: Option<Counter>,
    /// Entries of the lane and their records, in order.
    records: Vec<(Seq, u64)>,
}

impl ReplayedLane {
    /// Index of the record behind the one of an entry.
    fn record_behind(&self, seq: Seq) -> u64 {
        let count = self.records.partition_point(|(at, _)| *at <= seq);
        let last = count.checked_sub(1).and_then(|last| self.records.get(last));
        last.map_or(0, |(_, record)| record + 1)
    }
}

impl<'a> Run<'a> {
    fn new(engine: &'a Engine, host: RecordedHost, options: &'a ReplayOptions) -> Self {
        let (lanes, answers) = (BTreeMap::new(), BTreeMap::new());
        Self { engine, host, options, lanes, answers, facts: Facts::default(), commit_us: 0, unindexed: 0 }
    }

    /// Whether this record is an answer to a call of the model.
    fn is_call(&mut self, record: &Record) -> bool {
        self.answers.entry(record.entry.thread.clone()).or_default().is_call(&record.entry)
    }

    /// Delivers records to their lanes.
    fn deliver(&mut self, records: Vec<Record>, report: &mut Report) -> Result<(), EngineError> {
        let begun = Instant::now();
        let delivered = self.host.deliver(records)?;
        self.commit_us = begun.elapsed().as_micros() as u64;
        self.unindexed += delivered.len() as u64;
        if self.unindexed >= INDEX_EVERY {
            self.index()?;
        }
        for delivered in delivered {
            self.count(delivered, report);
        }
        Ok(())
    }

    /// Brings the search index up to date.
    fn index(&mut self) -> Result<(), EngineError> {
        self.unindexed = 0;
        let conversations = self.host.conversations();
        conversations.into_iter().try_for_each(|conversation| self.engine.maintain_index(conversation))
    }

    /// Counts a delivered message.
    fn count(&mut self, delivered: RecordedEntry, report: &mut Report) {
        self.facts.collect(&delivered);
        let RecordedEntry { record, thread, seq, entry, .. } = delivered;
        let lane = self.lanes.entry(thread).or_default();
        lane.records.push((seq, record));
        if entry.parts.is_empty() {
            return;
        }
        report.visible += 1;
        if entry.origin == Origin::Human {
            lane.turns += 1;
            lane.request = Some(seq);
            report.turns += 1;
        }
    }

    /// Makes the prompt of a call and records its figures.
    fn call(&mut self, record: &Record, report: &mut Report) -> Result<(), EngineError> {
        let (index, options) = (report.calls.len() as u64, self.options);
        let thread = record.entry.thread.as_deref();
        let summarised_us = self.host.session(thread).map_or(0, |session| session.counters().summariser_us);
        let begun = Instant::now();
        let prompt = match self.host.prompt_before(record) {
            Ok(composed) => composed.prompt,
            Err(EngineError::Irreducible(irreducible)) => {
                let needs = irreducible.sections.total().upper;
                report.too_large.push(TooLarge { call: index, needs, budget: irreducible.budget });
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let prompt_us = begun.elapsed().as_micros() as u64;
        let lane = self.lanes.entry(record.entry.thread.clone()).or_default();
        let cache = Cache::after(prompt.idle_ms, options.prices.cache_ttl_ms);
        // The prompt was made by the session.
        let Some(session) = self.host.session(thread) else { return Ok(()) };
        let (compared, target) = (lane.alternatives.next(session, cache), session.shape().target());
        let summariser_us = session.counters().summariser_us - summarised_us;
        let checked = CheckedCall { index, request: lane.request, target, validate: options.validate };
        let render_us = check(&prompt, &checked, report);
        let certificate = prompt.admitted.certificate();
        let request = prompt.admitted.request();
        let counted = options
            .provider
            .map(|ruler| lane.counter.get_or_insert_with(|| Counter::new(ruler, target)).count(request));
        if let (Some(weighed), Some(counted)) = (prompt.weighed, counted) {
            self.host.counted(thread, weighed, counted)?;
        }
        report.calls.push(Call {
            index,
            record: report.entries - 1,
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
            commit_us: self.commit_us,
            prompt_us,
            summariser_us,
            render_us,
        });
        count(report, &prompt, &compared, cache, options.prices);
        lane.last = Some(prompt);
        Ok(())
    }

    fn finish(&mut self, report: &mut Report) -> Result<(), EngineError> {
        let threads: Vec<Option<String>> = self.lanes.keys().cloned().collect();
        for thread in &threads {
            let Some(session) = self.host.session(thread.as_deref()) else { continue };
            let counters = session.counters();
            report.summaries.0 += counters.leaves;
            report.summaries.1 += counters.merges;
        }
        let Some(thread) = threads.into_iter().next() else { return Ok(()) };
        let session = self.host.session(thread.as_deref());
        let boundary = session.and_then(|session| end_of(session.context()));
        let Some(boundary) = boundary else { return Ok(()) };
        self.index()?;
        let Some(lane) = self.lanes.get(&thread) else { return Ok(()) };
        let said = lane.last.as_ref().map(|prompt| prompt.admitted.request().words()).unwrap_or_default();
        for fact in self.facts.spread(lane.record_behind(boundary), self.options.facts) {
            self.ask(fact, &said, &mut report.facts)?;
        }
        Ok(())
    }

    fn ask(&self, fact: &Fact, said: &str, recall: &mut FactRecall) -> Result<(), EngineError> {
        let text = fact.question.clone();
        let query = SearchQuery { text, limit: Some(FACT_RESULTS), ..SearchQuery::default() };
        let answer = self.engine.search(&query)?;
        let key = self.host.conversation_key(fact.thread.as_deref());
        let is_it = |hit: &Hit| hit.seq == fact.seq && hit.conversation == key;
        let at = answer.results.iter().position(is_it);
        let mut tokens = 0;
        let within = answer.results.iter().find_map(|hit| {
            tokens += hit.tokens;
            is_it(hit).then_some(tokens)
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

/// A call whose prompt is checked.
struct CheckedCall {
    index: u64,
    /// The newest message of a person.
    request: Option<Seq>,
    target: Target,
    /// Whether the prompt is rendered and validated.
    validate: bool,
}

/// Renders and validates a prompt. Returns the time for rendering in microseconds.
fn check(prompt: &Prompt, call: &CheckedCall, report: &mut Report) -> u64 {
    if prompt.admitted.certificate().proof.is_err() {
        report.unproved.push(call.index);
    }
    let shown = |message: &Message| call.request.is_some_and(|seq| message.seqs.contains(&seq));
    if call.request.is_some() && !prompt.admitted.request().messages.iter().any(shown) {
        report.without_request.push(call.index);
    }
    if !call.validate {
        return 0;
    }
    let begun = Instant::now();
    let body = prompt.render(call.target);
    let render_us = begun.elapsed().as_micros() as u64;
    if let Err(violations) = validate(&body, call.target)
        && report.rejected.len() < REJECTED_KEPT
    {
        report.rejected.push(Rejected { call: call.index, violations });
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
