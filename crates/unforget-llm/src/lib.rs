//! Calls language models. Decides nothing about histories: the engine decides what to ask, whether a draft is good and
//! what to store.
//!
//! ```no_run
//! use std::{sync::Arc, time::Duration};
//! use unforget_llm::*;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = KeySource::Env("ANTHROPIC_API_KEY".into()).load(&|name| std::env::var(name).ok())?;
//! let classify: Classify = Arc::new(by_status); // The engine hands in what `wire::refusal` knows.
//! let claude = Endpoint::new("https://api.anthropic.com/v1", "claude-haiku-4-5", key, classify.clone());
//! let none = KeySource::None.load(&|_| None)?;
//! let local = Endpoint::new("http://127.0.0.1:11434/v1", "qwen3:8b", none, classify);
//! let rest: Vec<Arc<dyn Model>> = vec![Arc::new(OpenAi::new(local)?)];
//! let clock = Arc::new(SystemClock::new());
//! let caller = Caller::new(Arc::new(Anthropic::new(claude)?), rest, CallPolicy::default(), clock);
//! let within = Duration::from_mins(3);
//! let request = Request { system: "…", user: "…", output_tokens_max: 1500, within, temperature: None };
//! let cancel = Cancel::default(); // Kept by whoever may take the call back.
//! let outcome = caller.call(&Call { request, from: 0, urgency: Urgency::Normal, cancel: &cancel });
//! // Store `caller.breakers()`, count `outcome.attempts`, then look at `outcome.result`.
//! # Ok(())
//! # }
//! ```

mod anthropic;
mod breaker;
mod callback;
mod caller;
mod clock;
#[cfg(unix)]
pub mod command;
pub mod embed;
mod fault;
mod http;
mod openai;
mod passage;
mod patch;
mod places;
mod port;
mod portion;
mod secret;
mod work;

pub use anthropic::Anthropic;
pub use breaker::{Breaker, BreakerPolicy, BreakerTextError, Breakers};
pub use callback::{Callback, Heard, Scripted};
pub use caller::{Attempt, Call, CallPolicy, Caller, Closed, Outcome, Urgency};
pub use clock::{Cancel, Clock, SystemClock};
#[cfg(unix)]
pub use command::Command;
pub use fault::{Account, Cause, Classify, Fault, Reply, by_status};
pub use http::{Endpoint, Network, SettingError};
pub use openai::OpenAi;
pub use passage::{Passage, passages};
pub use patch::{Draft, Patch, PatchError, Refused, TEXT_CHARS_MAX, Why};
pub use port::{Answer, Model, Request, Stop, Usage};
pub use portion::{NoRoom, Portion, portions};
pub use secret::{Key, KeyError, KeySource, Secret};
pub use work::{Ask, Brief, Made, Task, Work};

/// Set in the environment of external commands, so that a program started by them knows that a model is being asked,
/// and asks none itself.
pub const ASKED: &str = "UNFORGET_ASKED";
