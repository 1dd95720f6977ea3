//! Has models write summaries, behind the prompts.
//!
//! Every span has a summary that needs no model; a prompt never waits for another one. A session of an engine
//! [with models](Engine::with_models) leaves a *job* for each summary that it shows or prepares. [`Engine::work`] takes
//! jobs, one at a time in a conversation, calls the model outside of any transaction, judges what it says, and stores
//! what passes as a *rewrite* beside the summary. The next break shows it.
//!
//! | what happens | what is done |
//! |---|---|
//! | a draft is refused by a gate | asked once more, harder; then that part stays as it is without a model |
//! | nobody answers | the job waits, longer each time; the prompt shows the summary that needs no model |
//! | the credential is refused | nothing is written; the account's breaker stays open until somebody looks |
//! | the hour's spend is used up | the job waits for the next hour |
//! | the worker dies | its lease ends, and the job is taken again; what it may have cost stays charged |

mod ask;
mod background;
mod chain;
mod prose;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use unforget_llm::{Account, Breaker, Breakers, CallPolicy, Caller, Clock, Model};
use unforget_store::{BreakerRow, Spend, StoreError};

use crate::Engine;
use crate::error::EngineError;
use crate::ruler::ModelRuler;

pub use background::Background;
pub use chain::{ChainError, Endpoint, Kind, classify};
pub use unforget_llm::{KeySource, SystemClock, Urgency};
pub use worker::{Ended, Report, Shift};

/// Decisions that are kept of a conversation.
pub const DECISIONS_KEPT: u64 = 500;

/// How models are asked for summaries, and how much of it there may be.
#[derive(Clone, Debug)]
pub struct Config {
    /// The smallest window of the models, in tokens.
    pub window: u64,
    /// The longest answer, in tokens, reasoning included.
    pub output_tokens_max: u64,
    /// A tool's output above it is shortened before a model reads it, in tokens.
    pub tool_output_tokens_max: u64,
    /// What the operator wants to be kept, in words; may be empty.
    pub wishes: String,
    /// The time for one call with all its retries.
    pub within: Duration,
    /// The most that a conversation may cost in an hour.
    pub caps: Spend,
    /// What a million tokens cost, in and out, in millionths of the operator's currency.
    pub price: (u64, u64),
    /// Times that a job is tried whose drafts are refused.
    pub tries_max: u32,
    /// How tokens are counted.
    pub ruler: ModelRuler,
    /// Figures of calls: retries, breakers, calls under way at once.
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
            price: (0, 0),
            tries_max: 3,
            ruler: ModelRuler::Estimate,
            calls: CallPolicy::default(),
        }
    }
}

/// The models that write summaries. One for all conversations of an engine: it counts the calls under way.
pub struct Summarisers {
    caller: Caller,
    clock: Arc<dyn Clock>,
    config: Config,
    /// Names of the models, in the order of the chain.
    names: Vec<String>,
}

impl Summarisers {
    /// Models in the order in which they are asked, with the breakers that are stored.
    ///
    /// # Errors
    /// Store errors, and a stored breaker that is not understood.
    pub fn new(
        engine: &Engine,
        first: Arc<dyn Model>,
        rest: Vec<Arc<dyn Model>>,
        config: Config,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, EngineError> {
        let names = std::iter::once(&first).chain(&rest).map(|model| model.name().to_owned()).collect();
        let caller = Caller::new(first, rest, config.calls, Arc::clone(&clock));
        let caller = caller.with_breakers(stored_breakers(engine)?);
        Ok(Self { caller, clock, config, names })
    }

    /// How they are asked.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The breakers as they are.
    pub fn breakers(&self) -> Breakers {
        self.caller.breakers()
    }

    /// Calls that one ask may lead to at most.
    fn calls_max(&self) -> u64 {
        u64::from(self.config.calls.attempts_max.max(1)).saturating_mul(self.names.len() as u64)
    }

    /// What so many calls of so many tokens cost.
    const fn cost(&self, calls: u64, input: u64, output: u64) -> Spend {
        let (price_in, price_out) = self.config.price;
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
    let read = |row: BreakerRow| {
        let breaker: Breaker = row.state.parse().map_err(|source: unforget_llm::BreakerTextError| {
            StoreError::Backend { operation: "breakers", source: source.into() }
        })?;
        Ok((Account { provider: row.provider, credential: row.credential }, breaker))
    };
    rows.into_iter().map(read).collect()
}
