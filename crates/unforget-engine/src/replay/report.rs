//! Results of a replay: plain values for terminals, pages and scripts.

use unforget_core::admit::Rung;
use unforget_core::id::Timestamp;
use unforget_core::tokens::Tokens;
use unforget_wire::Violation;

use crate::prompt::{Broken, Cause};

/// One model call of the recording, and the prompt that Unforget would have sent.
#[derive(Clone, Debug)]
pub struct Call {
    /// Number of the call, from 0.
    pub index: u64,
    /// Index of the record with the model's answer, from 0: the entry's seq once the transcript is imported.
    pub record: u64,
    /// Number of the turn, from 1.
    pub turn: u64,
    /// Time of the recorded answer.
    pub time: Option<Timestamp>,
    /// The prompt.
    pub prompt: Tokens,
    /// Upper bound used for admission: see [`unforget_core::admit::Certificate::bound`].
    pub bound: u64,
    /// Tokens of the prompt counted by the stand-in for the provider; `None` without one.
    pub counted: Option<u64>,
    /// Tokens of the prompt in summaries.
    pub summaries: Tokens,
    /// Expected tokens at the beginning of the prompt that equal the previous prompt.
    pub reused: u64,
    /// Tokens of `reused` that should still be in the provider's cache: none if the cache expired since the previous
    /// call.
    pub cached: u64,
    /// Milliseconds since the previous call, if the recording has times.
    pub idle_ms: Option<u64>,
    /// Why the beginning changed: one event.
    pub broken: Option<Broken>,
    /// The rung of admission.
    pub rung: Rung,
    /// Expected tokens if everything were sent.
    pub everything: u64,
    /// Expected tokens of a sliding window: the newest groups that fit the budget.
    pub sliding: u64,
    /// Tokens of `sliding` that a provider's cache could serve.
    pub sliding_reused: u64,
    /// Time in microseconds for storing the entries before the call.
    pub commit_us: u64,
    /// Time in microseconds for making and certifying the prompt, summaries included.
    pub prompt_us: u64,
    /// Time in microseconds in the summariser, included in `prompt_us`.
    pub summariser_us: u64,
    /// Time in microseconds for rendering the request body.
    pub render_us: u64,
}

/// A prompt that a provider would reject: a defect of ours.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// Index of the call.
    pub call: u64,
    /// The violated rules.
    pub violations: Vec<Violation>,
}

/// A prompt that could not be made to fit.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// Index of the call.
    pub call: u64,
    /// Tokens needed by the smallest request.
    pub needs: u64,
    /// Available tokens.
    pub budget: u64,
}

/// Breaks with one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaks {
    /// The cause.
    pub cause: Cause,
    /// Number of breaks.
    pub count: u64,
    /// Number of breaks after the cache had expired anyway.
    pub cold: u64,
    /// Tokens that were in the cache and had to be paid for again.
    pub rebilled: u64,
}

/// Prices of input per million tokens. Output costs the same under every policy and is left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Price of uncached input.
    pub input: f64,
    /// Factor for input written to the provider's cache.
    pub write: f64,
    /// Factor for input read from the cache.
    pub read: f64,
    /// Lifetime of cached input in milliseconds since its last use.
    pub cache_ttl_ms: u64,
}

/// Total costs of one policy over all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spend {
    /// Expected tokens sent.
    pub sent: u64,
    /// Tokens of `sent` served by the provider's cache.
    pub cached: u64,
    /// Cost in the currency of the prices.
    pub cost: f64,
    /// Number of calls above the budget, which a provider would have refused.
    pub refused: u64,
    /// Expected tokens of the largest prompt.
    pub largest: u64,
    /// Upper bound of the largest prompt, by which it was admitted; `None` for policies that certify nothing.
    pub largest_bound: Option<u64>,
    /// Number of compactions, for policies that have their own rule when to compact. With none, such a policy sent
    /// everything.
    pub compactions: Option<u64>,
}

impl Spend {
    /// Share of the tokens that came from the cache.
    pub fn hit_rate(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.cached as f64 / self.sent as f64 }
    }
}

/// Recall of facts from entries that left the verbatim context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactRecall {
    /// Number of facts asked for.
    pub asked: u64,
    /// Number of facts whose text still stands in the last prompt, in a summary or a stub.
    pub in_prompt: u64,
    /// Number of facts whose entry is among the first five results of a search with the words around the fact.
    pub in_five: u64,
    /// Number of facts whose entry is within the first 2,000 tokens of results.
    pub in_budget: u64,
}

/// Results of a replay.
#[derive(Clone, Debug)]
pub struct Report {
    /// The transcript, as given.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Key of its conversation.
    pub conversation: String,
    /// The model of the prompts, if one was named.
    pub model: Option<String>,
    /// Name of the dialect.
    pub dialect: &'static str,
    /// Name of the ruler.
    pub ruler: &'static str,
    /// Context window in tokens.
    pub window: u64,
    /// Tokens reserved for the answer.
    pub reserve: u64,
    /// Window minus reserve.
    pub budget: u64,
    /// Number of records in the transcript.
    pub entries: u64,
    /// Size of the transcript in bytes.
    pub bytes: u64,
    /// Number of entries visible to a model.
    pub visible: u64,
    /// Number of turns: messages by a person.
    pub turns: u64,
    /// All calls, in order.
    pub calls: Vec<Call>,
    /// Prompts that a provider would reject. Any element is a defect of ours.
    pub rejected: Vec<Rejected>,
    /// Prompts that could not be made to fit.
    pub too_large: Vec<TooLarge>,
    /// Calls whose prompt lacks the newest message of a person. Any element is a defect of ours.
    pub without_request: Vec<u64>,
    /// Calls with an inexact cover. Any element is a defect of ours.
    pub unproved: Vec<u64>,
    /// Breaks by cause.
    pub breaks: Vec<Breaks>,
    /// Number of leaf summaries and of merges.
    pub summaries: (u64, u64),
    /// Prices behind the costs.
    pub prices: Prices,
    /// Costs with Unforget.
    pub ours: Spend,
    /// Costs of sending everything, as if it fitted.
    pub everything: Spend,
    /// Costs of sending the newest groups that fit.
    pub sliding: Spend,
    /// Costs with one summary of everything, made by a model that reads everything whenever a prompt has more than 92 %
    /// of the budget; without the model's output.
    pub summarise_all: Spend,
    /// Costs of lossless-claw's default compaction, with the input of its summariser: when a turn ends above 75 % of the
    /// budget.
    pub peer: Spend,
    /// Index of the first call at which everything would not have fitted.
    pub overflow_at: Option<u64>,
    /// Recall of facts that left the context.
    pub facts: FactRecall,
    /// Number of irregularities in the transcript.
    pub warnings: u64,
    /// Whether every prompt was validated.
    pub validated: bool,
    /// Duration of the whole replay in milliseconds.
    pub elapsed_ms: u64,
}

/// The `permille`-thousandths quantile of the numbers; 0 if there are none.
pub fn quantile(numbers: impl Iterator<Item = u64>, permille: usize) -> u64 {
    let mut sorted: Vec<_> = numbers.collect();
    sorted.sort_unstable();
    let at = (sorted.len() * permille / 1_000).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or(0)
}
