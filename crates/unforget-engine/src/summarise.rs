//! Lets models write summaries in the background.
//!
//! Every span has a summary made without a model, so a prompt never waits for a model. A session of an engine [with
//! models](Engine::with_models) leaves a *job* for each summary that it shows or prepares. [`Engine::work`] takes jobs,
//! one at a time per conversation, calls the model outside of any transaction, checks the draft, and stores an accepted
//! draft as a *rewrite* beside the summary. The next break shows the rewrite.
//!
//! | event | consequence |
//! |---|---|
//! | a gate refuses a draft | the model is asked once more, with stricter instructions; after a second refusal that
//! part stays without a model's words |
//! | no model answers | the job waits, longer each time; the prompt shows the summary made without a model |
//! | the credential is refused | nothing is written; the breaker of the account stays open until a person intervenes |
//! | the spending limit of the hour is reached | the job waits for the next hour |
//! | the worker dies | its lease ends and the job is taken again; the possible cost stays charged |

mod ask;
mod background;
mod chain;
mod claim;
mod prose;
mod worker;
mod writer;

use std::sync::Arc;
use std::time::Duration;

use unforget_core::tokens::Ruler as _;
use unforget_llm::{Breakers, Call, Caller, Clock, Outcome};
use unforget_store::{BreakerRow, Spend, StoreError};

use crate::Engine;
use crate::error::EngineError;
use crate::ruler::ModelRuler;

pub use background::{Background, BackgroundCallbacks, News};
pub use chain::{ChainError, Endpoint, Kind, classify};
pub use claim::{Claim, Current};
pub use unforget_llm::{
    ASKED, Account, Answer, Breaker, CallPolicy, Callback, Cancel, Cause, Closed, Fault, KeySource, Model,
    Request, Stop, SystemClock, Urgency, Usage,
};
pub use worker::{Held, JobOutcome, JobReport, Shift, WorkRequest};
pub(crate) use writer::BY_MODEL;
pub use writer::Writer;

/// Settings for calls of models, and their limits.
#[derive(Clone, Debug)]
pub struct Config {
    /// The smallest context window of the models, in tokens.
    pub window: u64,
    /// Maximum length of an answer in tokens, reasoning included.
    pub output_tokens_max: u64,
    /// Longer tool outputs are shortened before a model reads them; in tokens.
    pub tool_output_tokens_max: u64,
    /// The operator's wishes for the content of summaries, in words; may be empty.
    pub wishes: String,
    /// Time limit of one call with all its retries.
    pub within: Duration,
    /// Spending limit of a conversation per hour.
    pub caps: Spend,
    /// Maximum number of attempts for a job whose drafts are refused.
    pub tries_max: u32,
    /// The ruler for tokens.
    pub ruler: ModelRuler,
    /// Call policy: retries, breakers, simultaneous calls.
    pub calls: CallPolicy,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            window: 32_768,
            output_tokens_max: 2_000,
            tool_output_tokens_max: 4_000,
            wishes: String::new(),
            within: Duration::from_mins(3),
            caps: Spend { calls: 120, input: 2_000_000, output: 200_000, micros: u64::MAX },
            tries_max: 3,
            ruler: ModelRuler::Estimate,
            calls: CallPolicy::default(),
        }
    }
}

/// A model of a chain.
#[derive(Clone)]
pub struct Priced {
    /// The model.
    pub model: Arc<dyn Model>,
    /// Price of a million input tokens and a million output tokens, in millionths of the operator's currency.
    pub price: (u64, u64),
}

impl From<Arc<dyn Model>> for Priced {
    /// A model free of charge.
    fn from(model: Arc<dyn Model>) -> Self {
        Self { model, price: (0, 0) }
    }
}

/// The models that write summaries. All conversations of an engine share one instance, because it counts simultaneous
/// calls.
pub struct Summarisers {
    caller: Caller,
    clock: Arc<dyn Clock>,
    config: Config,
    /// The models in the order of preference.
    chain: Vec<Priced>,
}

impl Summarisers {
    /// Takes models in the order of preference, and loads the stored breakers.
    ///
    /// # Errors
    /// Store errors, and a stored breaker that cannot be decoded.
    pub fn new(
        engine: &Engine,
        first: Priced,
        rest: Vec<Priced>,
        config: Config,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let others = rest.iter().map(|priced| Arc::clone(&priced.model)).collect();
        let caller = Caller::new(Arc::clone(&first.model), others, config.calls, Arc::clone(&clock));
        let caller = caller.with_breakers(stored_breakers(engine)?);
        let chain = std::iter::once(first).chain(rest).collect();
        Ok(Self { caller, clock, config, chain })
    }

    /// The settings.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The current state of the breakers.
    pub fn breakers(&self) -> Breakers {
        self.caller.breakers()
    }

    /// Checks that some model may be called now: one exists, and its breaker is closed.
    ///
    /// # Errors
    /// [`Closed`] otherwise.
    pub fn may_ask(&self) -> Result<(), Closed> {
        self.caller.may_call()
    }

    /// Whether any model exists, regardless of the breakers.
    pub fn is_there(&self) -> bool {
        self.chain.iter().any(|priced| priced.model.is_there())
    }

    /// Calls the models, and stores changes of the breakers.
    pub(crate) fn call(&self, engine: &Engine, call: &Call<'_>) -> Result<Outcome, EngineError> {
        let before = self.caller.breakers();
        let outcome = self.caller.call(call);
        self.keep_breakers(engine, &before)?;
        Ok(outcome)
    }

    /// Whether texts and an answer fit the models' window, by the upper bound of their tokens.
    pub(crate) fn fits(&self, texts: &[&str], output: u64) -> bool {
        let input: u64 = texts.iter().map(|text| self.count(text)).sum();
        input.saturating_add(output) <= self.window()
    }

    /// Upper bound of the tokens of a text.
    pub(crate) fn count(&self, text: &str) -> u64 {
        self.config.ruler.count(text).upper
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.clock.as_ref()
    }

    /// The smallest window in tokens: the configured one, or a smaller one reported by a model.
    pub(crate) fn window(&self) -> u64 {
        let told = self.chain.iter().filter_map(|priced| priced.model.window());
        told.fold(self.config.window, u64::min)
    }

    /// Maximum cost of one question, with every retry at every model.
    ///
    /// * `input` - tokens of the question; `None` for a question that fills the window.
    pub fn dearest(&self, input: Option<u64>) -> Spend {
        let calls = u64::from(self.config.calls.attempts_max.max(1));
        let input = input.unwrap_or(self.config.window).saturating_mul(calls);
        let output = self.config.output_tokens_max.saturating_mul(calls);
        let of = |at: usize| self.cost(at, calls, input, output);
        (0..self.chain.len()).map(of).fold(Spend::default(), Spend::plus)
    }

    /// Cost of a number of calls of one model with the given input and output tokens.
    fn cost(&self, model: usize, calls: u64, input: u64, output: u64) -> Spend {
        let (price_in, price_out) = self.chain.get(model).map(|priced| priced.price).unwrap_or_default();
        let micros = input
            .saturating_mul(price_in)
            .saturating_add(output.saturating_mul(price_out))
            .div_ceil(1_000_000);
        Spend { calls, input, output, micros }
    }

    fn keep_breakers(&self, engine: &Engine, before: &Breakers) -> Result<(), EngineError> {
        let now = self.caller.breakers();
        let changed = now.iter().filter(|(account, breaker)| before.get(*account) != Some(*breaker));
        let rows: Vec<BreakerRow> = changed
            .map(|(account, breaker)| BreakerRow {
                provider: account.provider.clone(),
                credential: account.credential.clone(),
                state: breaker.to_string(),
            })
            .collect();
        if rows.is_empty() { Ok(()) } else { Ok(engine.store().put_breakers(&rows)?) }
    }
}

fn stored_breakers(engine: &Engine) -> Result<Breakers, EngineError> {
    let rows = engine.store().breakers()?;
    rows.into_iter().map(stored_breaker).collect()
}

fn stored_breaker(row: BreakerRow) -> Result<(Account, Breaker), EngineError> {
    let breaker: Breaker = row.state.parse().map_err(|source: unforget_llm::BreakerTextError| {
        StoreError::Backend { operation: "breakers", source: source.into() }
    })?;
    Ok((Account { provider: row.provider, credential: row.credential }, breaker))
}
