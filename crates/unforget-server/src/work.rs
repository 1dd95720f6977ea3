//! Work that a person requests from models, and its JSON report: one home for the command line and the HTTP API.

use std::cell::Cell;
use std::time::{SystemTime, UNIX_EPOCH};

use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::prompt::Session;
use unforget_engine::summarise::{Cancel, JobReport, News, Shift, Summarisers, Urgency, WorkRequest};
use unforget_engine::{Engine, EngineError};
use unforget_store::{Conversation, JobRow, JobState, SpendHour, read_all};

use crate::json::{CompactFigures, CompactJson, JobsJson, Worked};

/// Milliseconds of an hour, the unit of spending.
const HOUR: i64 = 3_600_000;

/// The current time, by the system's clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// The worker, its limits, and the receiver of its progress.
pub struct Work<'a> {
    /// The engine with the conversations.
    pub engine: &'a Engine,
    /// The models that write; `None` if none is configured.
    pub models: Option<&'a Summarisers>,
    /// Ends the work early.
    pub cancel: &'a Cancel,
    /// Called with the number of completed jobs and of all jobs.
    pub progress: &'a dyn Fn(u64, u64),
}

impl Work<'_> {
    /// Lets models do the jobs of a conversation; `None` if no model is configured.
    ///
    /// # Errors
    /// Those of [`Engine::work_until`].
    pub fn jobs(&self, id: ConversationId, urgency: Urgency) -> Result<Option<Worked>, EngineError> {
        let Some(models) = self.models else { return Ok(None) };
        let open = |job: &&JobRow| match job.state {
            JobState::Waiting { due } => urgency == Urgency::Manual || due <= now(),
            JobState::GivenUp { .. } => urgency == Urgency::Manual,
            JobState::Leased { .. } | JobState::Done { .. } => false,
        };
        let total = read_all(|page| self.engine.store().jobs(id, page))?.iter().filter(open).count() as u64;
        let done = Cell::new(0);
        let told = |report: &JobReport| {
            note(&News::Worked(report));
            done.set(done.get() + 1);
            (self.progress)(done.get(), total.max(done.get()));
        };
        let shift = Shift { limit: usize::MAX, urgency };
        let request = WorkRequest { now: now(), shift, cancel: self.cancel, told: &told };
        let reports = self.engine.work_until(id, models, request)?;
        let is_due = |job: &JobRow| matches!(job.state, JobState::Waiting { due } if due <= now());
        let has_due = read_all(|page| self.engine.store().jobs(id, page))?.iter().any(is_due);
        let held = match has_due {
            _ if self.cancel.is_cancelled() => Some("the work was told to end".to_owned()),
            true => self.engine.held_back(id, models, now())?.map(|held| held.to_string()),
            false => None,
        };
        Ok(Some(Worked { ran: reports.iter().map(Into::into).collect(), held }))
    }

    /// Summarises everything that is old enough, and lets models write the summaries wanted then.
    ///
    /// * `of` - the session's conversation.
    /// * `settled` - called when the summaries exist, before any model is asked.
    ///
    /// # Errors
    /// Those of [`Session::compact`] and [`Engine::work_until`].
    pub fn compact(
        &self,
        of: &Conversation,
        mut session: Session,
        urgency: Urgency,
        settled: impl FnOnce(),
    ) -> Result<CompactJson, EngineError> {
        let before = session.total().expected;
        let is_changed = session.compact();
        settled();
        let (is_changed, after) = (is_changed?, session.total().expected);
        let worked = self.jobs(of.id, urgency)?;
        let (window, counters) = (session.shape().policy.window, session.counters());
        let figures = CompactFigures { window, is_changed, before, after, counters };
        Ok(CompactJson::new(&of.key.0, figures, worked))
    }

    /// The present jobs of a conversation, and the work just done.
    ///
    /// # Errors
    /// Those of the store.
    pub fn list(
        engine: &Engine,
        of: &Conversation,
        dropped: u64,
        worked: Worked,
    ) -> Result<JobsJson, EngineError> {
        let store = engine.store();
        Ok(JobsJson {
            conversation: of.key.0.clone(),
            jobs: read_all(|page| store.jobs(of.id, page))?.into_iter().map(Into::into).collect(),
            dropped,
            hour: store.spent(of.id, SpendHour::of_summaries(now().0.div_euclid(HOUR)))?.into(),
            accounts: store.breakers()?.into_iter().map(Into::into).collect(),
            ran: worked.ran,
            held: worked.held,
        })
    }
}

/// Runs work that waits for models on a separate thread. A runtime's end waits for its own threads, and a model may
/// take minutes.
///
/// # Errors
/// If the thread cannot start, or it panicked.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<T> {
    let (done, told) = tokio::sync::oneshot::channel();
    // The receiver may have gone away.
    let run = move || drop(done.send(work()));
    std::thread::Builder::new().name("unforget-asking".into()).spawn(run)?;
    told.await.map_err(std::io::Error::other)
}

/// Counts and logs the results of work. Neither contains the text of a summary, its conversation, or the key used.
pub fn note(news: &News<'_>) {
    let report = match news {
        News::Worked(report) => report,
        News::Failed(error) => {
            metrics::counter!("unforget_model_jobs_total", "ended" => "failed").increment(1);
            tracing::error!(%error, "summaries: a job was not done");
            return;
        }
    };
    let (ended, fault, spent) = (report.ended.name(), report.fault, report.spent);
    metrics::counter!("unforget_model_jobs_total", "ended" => ended).increment(1);
    metrics::counter!("unforget_model_calls_total").increment(spent.calls);
    metrics::counter!("unforget_model_tokens_total", "kind" => "input").increment(spent.input);
    metrics::counter!("unforget_model_tokens_total", "kind" => "output").increment(spent.output);
    if let Some(fault) = fault {
        metrics::counter!("unforget_model_faults_total", "fault" => fault).increment(1);
    }
    let refused = report.refused.len();
    let (calls, input, output) = (spent.calls, spent.input, spent.output);
    tracing::info!(ended, fault, calls, input, output, refused, "a model's job ended");
}
