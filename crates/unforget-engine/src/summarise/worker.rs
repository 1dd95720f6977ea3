//! The worker: takes a job, reads its entries, asks a model, judges the draft and stores the result.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use unforget_core::entry::Entry;
use unforget_core::gate::{Flaw, size_max};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::policy::Policy;
use unforget_core::tokens::Ruler as _;
use unforget_llm::{Brief, Cancel, Closed, Made, Task, Urgency, Work};
use unforget_store::{DecisionRow, JobEnd, JobRow, Spend, SpendHour, SummaryRow};
use unforget_text::{SectionKind, Source, Summary, render};
use unforget_wire::{Format, decode};

use super::ask::{Asked, JobQuestions};
use super::{BY_MODEL, Summarisers};
use crate::Engine;
use crate::decisions;
use crate::error::EngineError;
use crate::summary_name::summary_name;

/// First delay before a job is tried again; doubles each time.
const WAIT: Duration = Duration::from_mins(1);
/// Maximum delay.
const WAIT_MAX: Duration = Duration::from_hours(1);
/// Delay after an attempt without any call.
const WAIT_CLOSED: Duration = Duration::from_mins(1);
/// Time added to the maximum duration of the calls for a lease.
const LEASE_MORE: Duration = Duration::from_mins(1);
const HOUR_MS: i64 = 3_600_000;
/// The previous summary takes at most this fraction of the window.
const PREVIOUS_PART: u64 = 16;

/// Outcome of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobOutcome {
    /// The model's summary is stored; the next break shows it.
    Written,
    /// The job waits until this time.
    Later(Timestamp),
    /// The job is not tried again unless a person asks.
    GivenUp,
    /// The lease was lost, or the entries were purged, during the work: nothing was written.
    Lost,
}

impl JobOutcome {
    /// Name for reports.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Later(_) => "later",
            Self::GivenUp => "given-up",
            Self::Lost => "lost",
        }
    }
}

/// Why no jobs are started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// No model may be called.
    Closed(Closed),
    /// The spending limit of the conversation for this hour is reached.
    SpentUp,
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SpentUp => f.write_str("the spending limit of this hour is reached"),
            Self::Closed(Closed { is_absent: true, .. }) => f.write_str("no model is available"),
            Self::Closed(Closed { until: Some(until), .. }) => {
                write!(f, "no model is called before {}", unforget_text::time_text(*until))
            }
            Self::Closed(Closed { until: None, .. }) => f.write_str("every credential is refused"),
        }
    }
}

/// Report on one job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobReport {
    /// Name of the summary.
    pub name: String,
    /// Outcome.
    pub ended: JobOutcome,
    /// Reason for a person; may be empty.
    pub why: String,
    /// Cost of the job.
    pub spent: Spend,
    /// Flaws of the refused drafts, in order.
    pub refused: Vec<Flaw>,
    /// The last model that answered.
    pub model: Option<String>,
    /// Kind of failure of the last call, if it had no answer: [`Cause::name`](unforget_llm::Cause::name).
    pub fault: Option<&'static str>,
}

/// Extent and urgency of one round of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shift {
    /// Maximum number of jobs.
    pub limit: usize,
    /// [`Urgency::Manual`] also takes jobs that wait or were given up, and ignores breakers.
    pub urgency: Urgency,
}

/// One round of work on the jobs of a conversation.
#[derive(Clone, Copy)]
pub struct WorkRequest<'a> {
    /// The time of day; elapsed time is measured with the models' clock.
    pub now: Timestamp,
    /// Extent and urgency.
    pub shift: Shift,
    /// Ends the work early.
    pub cancel: &'a Cancel,
    /// Called with the report of each job.
    pub told: &'a dyn Fn(&JobReport),
}

impl Engine {
    /// Lets models write the wanted summaries of a conversation, one job after another.
    ///
    /// * `now` - the time of day; elapsed time is measured with the models' clock.
    ///
    /// Calls are made outside of any transaction. The work ends early when no job is due, when another worker is
    /// active, when a credential is refused, and when jobs are held back ([`Engine::held_back`]): then no job is
    /// touched.
    pub fn work(
        &self,
        conversation: ConversationId,
        models: &Summarisers,
        now: Timestamp,
        shift: Shift,
    ) -> Result<Vec<JobReport>, EngineError> {
        let request = WorkRequest { now, shift, cancel: &Cancel::default(), told: &|_| () };
        self.work_until(conversation, models, request)
    }

    /// [`Engine::work`] with cancellation.
    pub fn work_until(
        &self,
        conversation: ConversationId,
        models: &Summarisers,
        request: WorkRequest<'_>,
    ) -> Result<Vec<JobReport>, EngineError> {
        let WorkRequest { now, shift: Shift { limit, urgency }, cancel, told } = request;
        let start = models.clock.elapsed();
        let clock = || after(now, models.clock.elapsed().saturating_sub(start));
        let mut reports: Vec<JobReport> = Vec::new();
        let mut seen = Vec::new();
        while reports.len() < limit && !cancel.is_cancelled() {
            match self.held_back(conversation, models, clock())? {
                Some(Held::Closed(_)) if urgency == Urgency::Manual => {}
                Some(_) => break,
                None => {}
            }
            let until = after(clock(), lease(models));
            let all = urgency == Urgency::Manual;
            let Some(job) = self.store().take_job(conversation, clock(), until, all)? else { break };
            if seen.contains(&job.key) {
                // The person asked for all jobs, and all were tried.
                let why = "asked for once already".to_owned();
                let end = JobEnd::NotAsked { due: clock(), why };
                self.store().end_job(conversation, job.lease(), &end, clock())?;
                break;
            }
            seen.push(job.key);
            let mut worker = Worker { engine: self, models, conversation, job: &job, urgency, cancel };
            let (mut report, end, stop) = worker.run(clock(), until, &clock)?;
            let ended_at = clock();
            let kept = self.store().end_job(conversation, job.lease(), &end, ended_at)?;
            if !kept {
                report.ended = JobOutcome::Lost;
            }
            let was_asked = report.spent.calls > 0 || !matches!(report.ended, JobOutcome::Later(_));
            if was_asked {
                self.note(conversation, &job, &report, ended_at)?;
            }
            told(&report);
            reports.push(report);
            if stop {
                break;
            }
        }
        Ok(reports)
    }

    /// Why no job of a conversation would be started now, due or not; `None` if jobs may start.
    pub fn held_back(
        &self,
        conversation: ConversationId,
        models: &Summarisers,
        now: Timestamp,
    ) -> Result<Option<Held>, EngineError> {
        if let Err(closed) = models.may_ask() {
            return Ok(Some(Held::Closed(closed)));
        }
        let hour = now.0.div_euclid(HOUR_MS);
        // Cost of the shortest question: with less room no charge can succeed.
        let sum =
            self.store().spent(conversation, SpendHour::of_summaries(hour))?.plus(models.dearest(Some(0)));
        Ok((!sum.is_within(models.config.caps)).then_some(Held::SpentUp))
    }

    fn note(
        &self,
        conversation: ConversationId,
        job: &JobRow,
        report: &JobReport,
        time: Timestamp,
    ) -> Result<(), EngineError> {
        let flaws: Vec<&str> = report.refused.iter().map(|flaw| flaw.name()).collect();
        let row = DecisionRow {
            number: 0,
            seq: job.span.1,
            time,
            looked: format!(
                "{}, try {}: {} calls, {} tokens in, {} out",
                report.name, job.attempts, report.spent.calls, report.spent.input, report.spent.output
            ),
            decided: report.ended.name().to_owned(),
            why: if flaws.is_empty() {
                report.why.clone()
            } else {
                format!("{} (refused: {})", report.why, flaws.join(", "))
            },
        };
        self.store().decide(conversation, decisions::kept(&row))?;
        Ok(())
    }
}

/// Long enough for two rounds of calls of a large leaf; each question checks the lease again.
fn lease(models: &Summarisers) -> Duration {
    models.config.within.saturating_mul(4).saturating_add(LEASE_MORE)
}

fn after(now: Timestamp, time: Duration) -> Timestamp {
    Timestamp(now.0.saturating_add(i64::try_from(time.as_millis()).unwrap_or(i64::MAX)))
}

struct Worker<'a> {
    engine: &'a Engine,
    models: &'a Summarisers,
    conversation: ConversationId,
    job: &'a JobRow,
    urgency: Urgency,
    cancel: &'a Cancel,
}

/// The source of a summary.
enum ReadSource {
    Leaf(Vec<(Seq, Arc<Entry>)>),
    Merge(Vec<Summary>),
}

impl Worker<'_> {
    /// Works on the job. The flag says whether further jobs should not be tried now.
    fn run(
        &mut self,
        now: Timestamp,
        until: Timestamp,
        clock: &dyn Fn() -> Timestamp,
    ) -> Result<(JobReport, JobEnd, bool), EngineError> {
        let mut report = JobReport {
            name: summary_name(&self.job.key),
            ended: JobOutcome::GivenUp,
            why: String::new(),
            spent: Spend::default(),
            refused: Vec::new(),
            model: None,
            fault: None,
        };
        let Some(base) = self.engine.store().summary(self.conversation, &self.job.key)? else {
            return Ok(Self::given_up(report, "the summary is not there any more"));
        };
        let Some(read) = self.read(&base)? else {
            return Ok(Self::given_up(report, "its entries cannot all be read"));
        };
        let sources: Vec<Source<'_>> = match &read {
            ReadSource::Leaf(entries) => {
                entries.iter().map(|(seq, entry)| Source { seq: *seq, entry }).collect()
            }
            ReadSource::Merge(_) => Vec::new(),
        };
        let previous = self.previous(&base)?;
        let (brief, tokens) = self.brief(&read, &sources, &base, &previous);
        let mut work = match Work::new(brief, &self.models.config.ruler) {
            Ok(work) => work,
            // The window may be larger tomorrow.
            Err(error) => return Ok(self.later(report, clock(), &error.to_string(), Then::Look)),
        };
        let asking = JobQuestions {
            engine: self.engine,
            models: self.models,
            conversation: self.conversation,
            hour: now.0.div_euclid(HOUR_MS),
            urgency: self.urgency,
            cancel: self.cancel,
            tokens,
        };
        while let Some(ask) = work.ask() {
            // A call that would outlive the lease would be wasted.
            if after(clock(), self.models.config.within) >= until {
                return Ok(self.later(report, clock(), "it takes longer than its lease", Then::GoOn));
            }
            match asking.ask(&mut work, &ask, &mut report)? {
                Asked::Taken => {}
                Asked::Refused(_) => work.skip(),
                Asked::Unavailable { why, is_closed } => {
                    let then = if is_closed { Then::Stop } else { Then::GoOn };
                    return Ok(self.later(report, clock(), &why, then));
                }
                Asked::Denied(why) => return Ok(self.later(report, clock(), &why, Then::Look)),
                Asked::SpentUp => {
                    let next = Timestamp((now.0.div_euclid(HOUR_MS) + 1).saturating_mul(HOUR_MS));
                    return Ok(Self::due(report, next, "the spending limit of this hour is reached", true));
                }
            }
        }
        Ok(self.finish(report, &base, &work.finish(), clock()))
    }

    /// The previous summary as text, limited to a sixteenth of the window; empty if there is none.
    fn previous(&self, base: &SummaryRow) -> Result<String, EngineError> {
        let before = self.engine.summary_before(self.conversation, base)?;
        let summary = before.and_then(|row| Summary::parse(&row.body).ok());
        let (room, ruler) = (self.models.window() / PREVIOUS_PART, &self.models.config.ruler);
        Ok(summary.map(|summary| render(&summary, room, ruler)).unwrap_or_default())
    }

    fn brief<'b>(
        &'b self,
        read: &'b ReadSource,
        sources: &'b [Source<'b>],
        base: &SummaryRow,
        previous: &'b str,
    ) -> (Brief<'b>, u64) {
        let config = &self.models.config;
        let grain = u64::from(base.key.grain);
        // As large as in a prompt of a policy with this grain.
        let policy = Policy::for_window(grain.saturating_mul(18));
        let tokens = policy.summary_tokens(base.key.level);
        let task = match read {
            ReadSource::Leaf(_) => Task::Leaf(sources),
            ReadSource::Merge(parts) => Task::Merge { parts, level: u32::from(base.key.level) },
        };
        let brief = Brief {
            task,
            previous,
            wishes: &config.wishes,
            tokens,
            window: self.models.window(),
            output_tokens_max: config.output_tokens_max,
            tool_output_tokens_max: config.tool_output_tokens_max,
        };
        (brief, tokens)
    }

    /// Reads the source of the summary; `None` if it is incomplete.
    fn read(&self, base: &SummaryRow) -> Result<Option<ReadSource>, EngineError> {
        let store = self.engine.store();
        if base.sources.is_empty() {
            let mut rows = self.engine.sources(self.conversation, base)?;
            // A summary that was made after a purge has nothing of what was purged, and does not count it.
            rows.retain(|row| !row.purged);
            if rows.len() as u64 != base.count {
                return Ok(None);
            }
            let format = store.conversation(self.conversation)?.format;
            let format = Format::by_name(&format).unwrap_or(Format::Unknown);
            let mut entries = Vec::with_capacity(rows.len());
            for row in rows {
                let raw = store.raw(self.conversation, row.seq.0..row.seq.0 + 1)?;
                let Some(raw) = raw.first() else { return Ok(None) };
                entries.push((row.seq, Arc::new(decode(format, &raw.body))));
            }
            return Ok(Some(ReadSource::Leaf(entries)));
        }
        let rewrites = store.rewrites_of(self.conversation, &base.sources)?;
        let summaries = store.summaries_of(self.conversation, &base.sources)?;
        let mut parts = Vec::with_capacity(base.sources.len());
        for key in &base.sources {
            let row = rewrites.iter().chain(&summaries).find(|row| row.key == *key);
            let Some(part) = row.and_then(|row| Summary::parse(&row.body).ok()) else { return Ok(None) };
            parts.push(part);
        }
        Ok(Some(ReadSource::Merge(parts)))
    }

    /// Ends a job whose calls are all made.
    fn finish(
        &self,
        mut report: JobReport,
        base: &SummaryRow,
        made: &Made,
        now: Timestamp,
    ) -> (JobReport, JobEnd, bool) {
        let body = made.summary.to_text();
        let ruler = &self.models.config.ruler;
        let size = ruler.count(&body);
        // Excerpts only fill room that the rest leaves.
        let told =
            |summary: &Summary| ruler.count(&summary.without(SectionKind::Excerpts).to_text()).expected;
        let plain = Summary::parse(&base.body).map_or(0, |plain| told(&plain));
        let too_large = told(&made.summary) > size_max(base.tokens.0, 0).max(plain);
        // A merge of few items needs no call: it only takes over the models' words of its parts.
        let took_words = made.answered > 0 || (made.skipped == 0 && body != base.body);
        if took_words && !too_large {
            let model = report.model.clone().unwrap_or_else(|| "parts".to_owned());
            let row = SummaryRow {
                writer: format!("{BY_MODEL}{model}"),
                tokens: (base.tokens.0, size.expected),
                body,
                time: now,
                ..base.clone()
            };
            report.ended = JobOutcome::Written;
            return (report, JobEnd::Done(Box::new(row)), false);
        }
        if too_large {
            report.refused.push(Flaw::TooLarge);
        }
        if made.answered == 0 && made.skipped == 0 {
            return Self::given_up(report, "there is nothing for a model to say");
        }
        if self.job.attempts >= self.models.config.tries_max {
            return Self::given_up(report, "the drafts are no good");
        }
        self.later(report, now, "the drafts are no good", Then::GoOn)
    }

    fn given_up(mut report: JobReport, why: &str) -> (JobReport, JobEnd, bool) {
        report.ended = JobOutcome::GivenUp;
        why.clone_into(&mut report.why);
        (report, JobEnd::GivenUp { why: why.to_owned() }, false)
    }

    /// Postpones the job, longer after each attempt with a call.
    fn later(&self, report: JobReport, now: Timestamp, why: &str, then: Then) -> (JobReport, JobEnd, bool) {
        let doubled = WAIT.saturating_mul(1 << self.job.attempts.saturating_sub(1).min(10)).min(WAIT_MAX);
        let wait = match then {
            Then::Look => WAIT_MAX,
            _ if report.spent.calls == 0 => WAIT_CLOSED,
            Then::Stop | Then::GoOn => doubled,
        };
        Self::due(report, after(now, wait), why, then != Then::GoOn)
    }

    /// Postpones the job until `due`. An attempt without a call does not count.
    fn due(mut report: JobReport, due: Timestamp, why: &str, stop: bool) -> (JobReport, JobEnd, bool) {
        report.ended = JobOutcome::Later(due);
        why.clone_into(&mut report.why);
        let why = why.to_owned();
        let was_asked = report.spent.calls > 0;
        let end = if was_asked { JobEnd::Later { due, why } } else { JobEnd::NotAsked { due, why } };
        (report, end, stop)
    }
}

/// Consequence of a job's end for further jobs of its conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Go on with the next job.
    GoOn,
    /// Stop: other jobs would fail now too.
    Stop,
    /// Stop until a person intervenes.
    Look,
}
