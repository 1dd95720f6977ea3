//! What a replay found out: plain values, for terminals, pages and scripts.

use unforget_core::admit::Rung;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::tokens::Tokens;
use unforget_wire::Violation;

use crate::prompt::{Broken, Cause};

/// One model call of the recording, and the prompt that would have been sent for it.
#[derive(Clone, Debug)]
pub struct Call {
    /// Counts calls, from 0.
    pub index: u64,
    /// The entry that the model answered with.
    pub seq: Seq,
    /// Counts turns, from 1.
    pub turn: u64,
    /// When the answer was recorded.
    pub time: Option<Timestamp>,
    /// The prompt.
    pub prompt: Tokens,
    /// What it was admitted by: see [`unforget_core::admit::Certificate::bound`].
    pub bound: u64,
    /// What the provider counted of it; `None` if nobody stood in for one.
    pub counted: Option<u64>,
    /// Of it, summaries.
    pub summaries: Tokens,
    /// Expected tokens at its beginning that equal the prompt before.
    pub reused: u64,
    /// Of them, those that the provider's cache should still serve: none if it ran out since the call before.
    pub cached: u64,
    /// Milliseconds since the call before, if the recording has times.
    pub idle_ms: Option<u64>,
    /// How the beginning changed: one event.
    pub broken: Option<Broken>,
    /// The rung of admission.
    pub rung: Rung,
    /// Expected tokens if everything were sent.
    pub everything: u64,
    /// Expected tokens of a sliding window: the newest groups that fit the budget.
    pub sliding: u64,
    /// Of the sliding window, what a provider's cache could serve.
    pub sliding_reused: u64,
    /// Time to store what came before the call, in microseconds.
    pub commit_us: u64,
    /// Time to make and certify the prompt, summaries included, in microseconds.
    pub prompt_us: u64,
    /// Time in the summariser, part of `prompt_us`.
    pub summariser_us: u64,
    /// Time to render the request body, in microseconds.
    pub render_us: u64,
}

/// A prompt that a provider would reject: a defect of ours.
#[derive(Clone, Debug)]
pub struct Rejected {
    /// The call.
    pub call: u64,
    /// The rules that it breaks.
    pub violations: Vec<Violation>,
}

/// A prompt that could not be made to fit, with the figures.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// The call.
    pub call: u64,
    /// What the smallest request needs.
    pub needs: u64,
    /// What there is.
    pub budget: u64,
}

/// Breaks of one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breaks {
    /// The cause.
    pub cause: Cause,
    /// How often.
    pub count: u64,
    /// Of these, when the cache had run out anyway.
    pub cold: u64,
    /// Tokens that were in the cache and had to be paid again.
    pub rebilled: u64,
}

/// Prices of input, per million tokens. Answers are the same for everybody and are left out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prices {
    /// Fresh input.
    pub input: f64,
    /// Factor for input that the provider keeps in its cache.
    pub write: f64,
    /// Factor for input that comes from the cache.
    pub read: f64,
    /// How long the provider keeps input, in milliseconds since its last use.
    pub cache_ttl_ms: u64,
}

/// What one way to send prompts costs over all calls.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spend {
    /// Expected tokens sent.
    pub sent: u64,
    /// Of them, served by the provider's cache.
    pub cached: u64,
    /// In the currency of the prices.
    pub cost: f64,
    /// Calls above the budget, which a provider would have refused.
    pub refused: u64,
    /// The largest prompt.
    pub largest: u64,
}

impl Spend {
    /// Share of the tokens that came from the cache.
    pub fn hit_rate(&self) -> f64 {
        if self.sent == 0 { 0.0 } else { self.cached as f64 / self.sent as f64 }
    }
}

/// How facts of entries that left the verbatim context are found again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FactRecall {
    /// Facts asked for.
    pub asked: u64,
    /// The fact's own text still stands in the last prompt, in a summary or a stub.
    pub in_prompt: u64,
    /// The entry is among the first five results of a search with the words around the fact.
    pub in_five: u64,
    /// The entry is within the first 2,000 tokens of results.
    pub in_budget: u64,
}

/// Everything that a replay found out.
#[derive(Clone, Debug)]
pub struct Report {
    /// The transcript, as given.
    pub path: String,
    /// Name of its format.
    pub format: String,
    /// Key of its conversation.
    pub conversation: String,
    /// The model that prompts were made for, if one was named.
    pub model: Option<String>,
    /// Name of the dialect.
    pub dialect: &'static str,
    /// Name of the ruler.
    pub ruler: &'static str,
    /// Window, reserve and budget in tokens.
    pub window: u64,
    /// Kept for the answer.
    pub reserve: u64,
    /// Window less reserve.
    pub budget: u64,
    /// Records in the transcript.
    pub entries: u64,
    /// Bytes of the transcript.
    pub bytes: u64,
    /// Entries that a model sees.
    pub visible: u64,
    /// Turns: messages of a person.
    pub turns: u64,
    /// Every call, in order.
    pub calls: Vec<Call>,
    /// Prompts that a provider would reject. Empty, or we have a defect.
    pub rejected: Vec<Rejected>,
    /// Prompts that could not be made to fit.
    pub too_large: Vec<TooLarge>,
    /// Calls whose prompt lacks the newest message of a person. Empty, or we have a defect.
    pub without_request: Vec<u64>,
    /// Calls whose cover was not exact. Empty, or we have a defect.
    pub unproved: Vec<u64>,
    /// Breaks by cause.
    pub breaks: Vec<Breaks>,
    /// Leaf summaries made, merges made.
    pub summaries: (u64, u64),
    /// Prices that the costs are in.
    pub prices: Prices,
    /// With Unforget.
    pub ours: Spend,
    /// Sending everything, as if it fitted.
    pub everything: Spend,
    /// Sending the newest groups that fit.
    pub sliding: Spend,
    /// With one summary of everything from time to time, by a model that reads it all. Without its answers.
    pub summarise_all: Spend,
    /// As lossless-claw compacts by default, with what its summariser reads.
    pub peer: Spend,
    /// First call for which everything would not have fitted.
    pub overflow_at: Option<u64>,
    /// Facts that left the context.
    pub facts: FactRecall,
    /// Odd things in the transcript.
    pub warnings: u64,
    /// Whether every prompt was validated.
    pub validated: bool,
    /// Time of the whole replay in milliseconds.
    pub elapsed_ms: u64,
}

/// The value below which `permille` thousandths of the numbers are; 0 for none.
pub fn quantile(numbers: impl Iterator<Item = u64>, permille: usize) -> u64 {
    let mut sorted: Vec<_> = numbers.collect();
    sorted.sort_unstable();
    let at = (sorted.len() * permille / 1_000).min(sorted.len().saturating_sub(1));
    sorted.get(at).copied().unwrap_or(0)
}
