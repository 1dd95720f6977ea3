//! What to do when a provider refuses an admitted request, or answers less than it was asked.
//!
//! A few retries per call, each with less than was refused and with other bytes, then the refusal is handed on.
//! Nothing loops, nothing resets. Rules only: who refused how is for `unforget-wire` to tell, sending
//! for the engine.

mod told;

pub use told::{Asked, BELIEVED, Told};

use crate::digest::Digest;
use crate::policy::{Policy, WINDOW_MIN};

/// How often one call is sent again.
///
/// Source: OpenClaw 2026.9.6, which asks for three compactions per turn.
pub const RETRIES_MAX: u8 = 3;

/// An unrecognised refusal of a request above this share of the window, in thousandths, is taken for an
/// overflow (F005).
pub const SUSPECT_PERMILLE: u64 = 700;

/// What is left of the budget when the provider gave no figure, in thousandths.
const SHRINK_PERMILLE: u64 = 750;

/// What is left of the budget at most when a retry was refused, too, in thousandths: figures that did not help once are not
/// trusted twice.
const AGAIN_PERMILLE: u64 = 500;

/// Kept below a limit that a provider told, in thousandths: its count of our smaller request may differ.
const MARGIN_PERMILLE: u64 = 20;

/// A budget for the input below this is not worth a call. Far below every window, since a host may send instructions and tools
/// beside what is counted here.
const INPUT_MIN: u64 = 256;

/// An answer of fewer tokens than this is not worth a call if the input can be shortened instead.
const ANSWER_MIN: u64 = 1_024;

/// The least that a provider takes as a budget for thinking.
///
/// Source: Anthropic, extended thinking.
const THINKING_MIN: u64 = 1_024;

/// A request that was refused, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What it weighed, by our ruler: the certificate's total.
    pub input: u64,
    /// What was asked for as an answer: `max_tokens`, thinking included.
    pub output: u64,
    /// The window that it was admitted for.
    pub window: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Images and documents in it.
    pub media: u32,
    /// Digest of its bytes.
    pub digest: Digest,
}

/// A refusal, as far as sending less may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// Too large.
    Overflow {
        /// What the figures count.
        unit: Unit,
        /// The limit that the provider told.
        limit: Option<u64>,
        /// What was sent, as the provider counted it.
        sent: Option<u64>,
        /// The part of `sent` that was kept for the answer.
        output: Option<u64>,
    },
    /// A bare refusal by a provider that is known to refuse overlong prompts like that.
    Suspected,
    /// The requested answer alone is too long.
    Output {
        /// The most that may be requested.
        limit: Option<u64>,
    },
    /// An image or document is not taken.
    Media {
        /// Index of its message in the request and of its block in the message, if told.
        place: Option<(u32, u32)>,
    },
    /// A 400, 413 or 422 that nobody recognised.
    Unrecognised,
    /// Sending less cannot help.
    Other,
}

/// What the figures of an overflow count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Tokens of the input.
    Input,
    /// Tokens of the input and the requested answer together.
    InputAndOutput,
    /// Bytes of the request.
    Bytes,
    /// Images and documents.
    Media,
    /// Something else, such as messages.
    Other,
}

/// What to do after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Compose, admit and send again, within this.
    Retry(Retry),
    /// Hand the refusal to the host.
    Surface(Reason),
}

/// The bounds of the next sending. `input` and `output` are at most what was refused, `media` too, and at
/// least one is less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The budget for the input, in tokens of our ruler.
    pub input: u64,
    /// What to ask for as an answer.
    pub output: u64,
    /// The most images and documents to send, the newest; the others go as stubs.
    pub media: u32,
    /// Message and block of the one image or document to leave out, for this call and all that follow.
    pub without: Option<(u32, u32)>,
    /// Why.
    pub why: Why,
    refused: Digest,
}

/// Why the next sending is smaller as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The provider told the limit.
    Told,
    /// The provider told that it was too much, but not by how much.
    Guessed,
    /// It is not known to be an overflow; the size makes it likely.
    Suspected,
    /// Images or documents are at fault.
    Media,
}

/// Why a refusal is handed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Sending less does not help, or is not likely to.
    NotSize,
    /// It has been tried, as often as it is likely to help.
    Tried,
    /// Nothing sensible is left below what was refused.
    NothingLeft,
}

impl Retry {
    /// The policy to compose and admit with. Its budget is `input`, exactly; its window is not the model's.
    pub fn policy(&self) -> Policy {
        let reserve = self.output.min(self.input).min(u64::MAX - self.input);
        let window = self.input + reserve;
        Policy { window, reserve, ..Policy::with_reserve(window, reserve) }
    }

    /// Whether a request may be sent: its bytes are not those that were refused.
    pub fn is_new(&self, request: &Digest) -> bool {
        *request != self.refused
    }
}

/// What to do after a refusal of the call's sending number `attempt`, counted from 0.
///
/// A retry that is refused, too, is tried again with half of it, if that is an overflow; with anything else once is enough.
///
/// The caller counts per call: a call that succeeded starts the next one at 0 (F004). Before sending again it
/// checks [`Retry::is_new`]; the same bytes are handed on as [`Reason::NothingLeft`].
///
/// Source: F003, F005, F010, F011, F064; design §4 Admit.
pub fn plan(attempt: u8, refused: Refused, sent: &Sent) -> Recovery {
    let same = Retry {
        input: sent.input,
        output: sent.output,
        media: sent.media,
        without: None,
        why: Why::Told,
        refused: sent.digest,
    };
    let guess = |why| Retry { input: share(sent.input, SHRINK_PERMILLE), why, ..same };
    let retry = match refused {
        Refused::Overflow { unit: Unit::Input, limit, sent: counted, .. } => {
            shrink(sent, limit, counted).map_or(guess(Why::Guessed), |input| Retry { input, ..same })
        }
        Refused::Overflow { unit: Unit::InputAndOutput, limit, sent: counted, output } => {
            both(sent, limit, counted, output).map_or(guess(Why::Guessed), |(input, output)| Retry {
                input,
                output,
                ..same
            })
        }
        Refused::Overflow { unit: Unit::Bytes, limit, sent: counted, .. } => {
            let told = limit.and_then(|limit| scale(sent.input, limit, counted.unwrap_or(sent.bytes)));
            Retry {
                media: sent.media.min(1),
                ..told.map_or(guess(Why::Guessed), |input| Retry { input, ..same })
            }
        }
        Refused::Overflow { unit: Unit::Media, limit, .. } if sent.media > 0 => {
            let told = limit.and_then(|limit| u32::try_from(limit).ok()).unwrap_or(sent.media / 2);
            Retry { media: told.min(sent.media - 1), why: Why::Media, ..same }
        }
        Refused::Overflow { .. } => guess(Why::Guessed),
        Refused::Suspected => guess(Why::Suspected),
        Refused::Output { limit } => {
            let told = limit.unwrap_or(sent.output / 2).min(sent.output.saturating_sub(1));
            Retry { output: told, why: if limit.is_some() { Why::Told } else { Why::Guessed }, ..same }
        }
        Refused::Media { place } if sent.media > 0 => {
            let media = if place.is_some() { sent.media - 1 } else { 0 };
            Retry { media, without: place, why: Why::Media, ..same }
        }
        Refused::Unrecognised if is_large(sent) => guess(Why::Suspected),
        Refused::Media { .. } | Refused::Unrecognised | Refused::Other => {
            return Recovery::Surface(Reason::NotSize);
        }
    };
    let is_overflow =
        matches!(refused, Refused::Overflow { .. } | Refused::Suspected) && retry.input < sent.input;
    if attempt >= RETRIES_MAX || (attempt > 0 && !is_overflow) {
        return Recovery::Surface(Reason::Tried);
    }
    let most = if attempt > 0 { share(sent.input, AGAIN_PERMILLE) } else { sent.input };
    let retry = Retry { input: retry.input.min(most), ..retry };
    let is_less = (retry.input, retry.output, retry.media) != (sent.input, sent.output, sent.media);
    if !is_less || retry.output == 0 || (retry.input < sent.input && retry.input < INPUT_MIN) {
        return Recovery::Surface(Reason::NothingLeft);
    }
    Recovery::Retry(retry)
}

/// Whether a request fills so much of its window that an unexplained refusal is likely to be an overflow.
fn is_large(sent: &Sent) -> bool {
    sent.input.saturating_add(sent.output) > share(sent.window, SUSPECT_PERMILLE)
}

/// The budget for the input under a limit that the provider told; `None` if the limit explains nothing.
fn shrink(sent: &Sent, limit: Option<u64>, counted: Option<u64>) -> Option<u64> {
    // A limit below every real window is a defect of the provider's message (vLLM subtracts the answer).
    let limit = limit.filter(|limit| *limit >= WINDOW_MIN)?;
    scale(sent.input, limit, counted.unwrap_or(sent.input))
}

/// `input` scaled down from what the provider counted to its limit, less a margin.
fn scale(input: u64, limit: u64, counted: u64) -> Option<u64> {
    let scaled = u128::from(input) * u128::from(limit) / u128::from(counted.max(1));
    let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
    let fitting = scaled - share(scaled, MARGIN_PERMILLE);
    (fitting < input).then_some(fitting)
}

/// Input and output under a common limit: the answer is shortened if enough is left of it, or if the input fits beside half
/// of the limit; else the input.
fn both(sent: &Sent, limit: Option<u64>, counted: Option<u64>, output: Option<u64>) -> Option<(u64, u64)> {
    let limit = limit.filter(|limit| *limit >= WINDOW_MIN)?;
    let output = output.unwrap_or(sent.output);
    let input = counted.map_or(sent.input, |counted| counted.saturating_sub(output));
    let room = limit.saturating_sub(input);
    let room = room - share(room, MARGIN_PERMILLE);
    if room >= ANSWER_MIN.max(sent.output / 2) && room < sent.output {
        return Some((sent.input, room));
    }
    let output = sent.output.min((limit / 2).max(1));
    match scale(sent.input, limit.saturating_sub(output), input.max(1)) {
        Some(input) => Some((input, output)),
        // The answer alone is too long. If it is not, the limit explains nothing.
        None if input <= limit.saturating_sub(output) && room < sent.output => Some((sent.input, room)),
        None => None,
    }
}

/// What to ask for as an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// `max_tokens`: answer and thinking together.
    pub tokens: u64,
    /// The part of it for thinking; 0 turns thinking off.
    pub thinking: u64,
}

/// The answer that fits behind an input, or `None` if nothing does (F011).
///
/// * `window` - the model's limit for input and output together.
/// * `max_out` - the longest answer wanted, without thinking.
/// * `model_max` - the most tokens that the model gives, thinking included.
/// * `thinking` - the thinking wanted. It yields to the answer.
/// * `used` - the input, by its upper bound.
pub fn clamp(window: u64, max_out: u64, model_max: u64, thinking: u64, used: u64) -> Option<Output> {
    let room = window.saturating_sub(used).min(model_max);
    let answer = max_out.min(room);
    let thinking =
        Some(thinking.min(room - answer)).filter(|thinking| *thinking >= THINKING_MIN).unwrap_or(0);
    (answer > 0).then_some(Output { tokens: answer + thinking, thinking })
}

/// The window is too small for what cannot be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a window of {window} leaves {budget} tokens, at least {floor} are needed")]
pub struct TooSmall {
    /// The window.
    pub window: u64,
    /// What it leaves for the input.
    pub budget: u64,
    /// The smallest request: see [`crate::admit::Irreducible`].
    pub floor: u64,
}

/// The policy after a switch to a model with another window (F007).
///
/// Made before the next call and from nothing but the new window: no usage and no threshold of the old
/// model enters.
///
/// * `reserve` - what the host will ask for as an answer; `None` for the default.
/// * `floor` - the upper bound of the smallest request: system, tools, the newest message.
///
/// # Errors
/// [`TooSmall`] if the floor does not fit; the host keeps the old model.
pub fn switch(window: u64, reserve: Option<u64>, floor: u64) -> Result<Policy, TooSmall> {
    let policy =
        reserve.map_or_else(|| Policy::for_window(window), |reserve| Policy::with_reserve(window, reserve));
    // The policy's smallest window may be larger than the real one.
    let budget = policy.budget().min(window);
    if floor > budget { Err(TooSmall { window, budget, floor }) } else { Ok(policy) }
}

/// `permille` thousandths of `n`, rounded down.
pub(crate) fn share(n: u64, permille: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(permille) / 1_000).unwrap_or(n)
}

#[cfg(test)]
mod tests;
