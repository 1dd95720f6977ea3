//! What to do when a provider refuses an admitted request or shortens the answer.
//!
//! A call gets a few retries, each smaller than the refused request and with other bytes; then the refusal is handed
//! on. Nothing loops, nothing resets. This module holds rules only: `unforget-wire` reads refusals, and the engine
//! sends.

mod told;

pub use told::{Asked, BELIEVED, Told};

use crate::digest::Digest;
use crate::policy::{Policy, WINDOW_MIN};

/// Maximum number of retries of one call.
///
/// Source: OpenClaw 2026.9.6, which asks for three compactions per turn.
pub const RETRIES_MAX: u8 = 3;

/// Above this share of the window, in thousandths, an unrecognised refusal is treated as an overflow (F005).
pub const SUSPECT_PERMILLE: u64 = 700;

/// Share of the budget that remains when the provider gave no figure, in thousandths.
const SHRINK_PERMILLE: u64 = 750;

/// Largest share of the budget that remains when a retry was refused too, in thousandths: figures that did not help
/// once are not trusted twice.
const AGAIN_PERMILLE: u64 = 500;

/// Margin below a limit that a provider named, in thousandths: its count of our smaller request may differ.
const MARGIN_PERMILLE: u64 = 20;

/// Smallest useful budget for the input. It lies far below every window, since a host may send instructions and tools
/// beside the content counted here.
const INPUT_MIN: u64 = 256;

/// Smallest useful answer, in tokens, as long as the input can be shortened instead.
const ANSWER_MIN: u64 = 1_024;

/// Smallest budget for thinking that a provider accepts.
///
/// Source: Anthropic, extended thinking.
const THINKING_MIN: u64 = 1_024;

/// A request that was refused, in figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its size by our ruler: the certificate's total.
    pub input: u64,
    /// The requested answer: `max_tokens`, thinking included.
    pub output: u64,
    /// The window for which it was admitted.
    pub window: u64,
    /// Its length in bytes.
    pub bytes: u64,
    /// Images and documents in it.
    pub media: u32,
    /// Digest of its bytes.
    pub digest: Digest,
}

/// A refusal, reduced to whether a smaller request may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// The request is too large.
    Overflow {
        /// The unit of the figures.
        unit: Unit,
        /// The limit, if the provider named it.
        limit: Option<u64>,
        /// The size of the request by the provider's count.
        sent: Option<u64>,
        /// The part of `sent` that was kept for the answer.
        output: Option<u64>,
    },
    /// A refusal without details, by a provider that is known to refuse overlong prompts this way.
    Suspected,
    /// The requested answer alone is too long.
    Output {
        /// The longest answer that may be requested.
        limit: Option<u64>,
    },
    /// An image or document is rejected.
    Media {
        /// Index of its message in the request and of its block in the message, if named.
        place: Option<(u32, u32)>,
    },
    /// An unrecognised 400, 413 or 422.
    Unrecognised,
    /// A smaller request cannot help.
    Other,
}

/// The unit of an overflow's figures.
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
    /// Anything else, such as messages.
    Other,
}

/// What to do after a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Compose, admit and send again, within these bounds.
    Retry(Retry),
    /// Hand the refusal to the host.
    Surface(Reason),
}

/// Bounds of the next attempt. `input`, `output` and `media` are at most those of the refused request, and at least one
/// of them is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// The budget for the input, in tokens of our ruler.
    pub input: u64,
    /// The answer to request, in tokens.
    pub output: u64,
    /// Maximum number of images and documents; the newest are sent, the others become stubs.
    pub media: u32,
    /// Message and block of the image or document to leave out, in this call and all later ones.
    pub without: Option<(u32, u32)>,
    /// The reason for the bounds.
    pub why: Why,
    refused: Digest,
}

/// The reason for the bounds of a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The provider named the limit.
    Told,
    /// The provider reported an overflow without a figure.
    Guessed,
    /// The refusal is not known to be an overflow, but the size makes that likely.
    Suspected,
    /// Images or documents are at fault.
    Media,
}

/// Why a refusal is handed on to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A smaller request does not help, or is unlikely to.
    NotSize,
    /// All promising retries are spent.
    Tried,
    /// No sensible bounds remain below the refused request.
    NothingLeft,
}

impl Retry {
    /// The policy for composing and admitting the retry. Its budget is exactly `input`; its window is not the model's.
    pub fn policy(&self) -> Policy {
        let reserve = self.output.min(self.input).min(u64::MAX - self.input);
        let window = self.input + reserve;
        Policy { window, reserve, ..Policy::with_reserve(window, reserve) }
    }

    /// Whether a request may be sent: its bytes differ from the refused ones.
    pub fn is_new(&self, request: &Digest) -> bool {
        *request != self.refused
    }
}

/// Decides what follows the refusal of attempt number `attempt` of a call, counted from 0.
///
/// A refused retry is repeated with half the size if the refusal is an overflow; for any other refusal one retry is
/// enough.
///
/// The caller counts per call: after a successful call the next one starts at 0 (F004). Before sending, the caller
/// checks [`Retry::is_new`]; equal bytes are handed on as [`Reason::NothingLeft`].
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

/// Whether a request fills so much of its window that an unexplained refusal is probably an overflow.
fn is_large(sent: &Sent) -> bool {
    sent.input.saturating_add(sent.output) > share(sent.window, SUSPECT_PERMILLE)
}

/// The budget for the input under a limit that the provider named; `None` if the limit explains nothing.
fn shrink(sent: &Sent, limit: Option<u64>, counted: Option<u64>) -> Option<u64> {
    // A limit below every real window is a defect of the provider's message (vLLM subtracts the answer).
    let limit = limit.filter(|limit| *limit >= WINDOW_MIN)?;
    scale(sent.input, limit, counted.unwrap_or(sent.input))
}

/// `input` scaled by the ratio of the provider's limit to its count, less a margin.
fn scale(input: u64, limit: u64, counted: u64) -> Option<u64> {
    let scaled = u128::from(input) * u128::from(limit) / u128::from(counted.max(1));
    let scaled = u64::try_from(scaled).unwrap_or(u64::MAX);
    let fitting = scaled - share(scaled, MARGIN_PERMILLE);
    (fitting < input).then_some(fitting)
}

/// Splits a common limit between input and output: shortens the answer if enough of it remains, or if the input fits
/// into half of the limit; otherwise shortens the input.
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
        // The answer alone is too long. Otherwise the limit explains nothing.
        None if input <= limit.saturating_sub(output) && room < sent.output => Some((sent.input, room)),
        None => None,
    }
}

/// The answer to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output {
    /// `max_tokens`: answer and thinking together.
    pub tokens: u64,
    /// The part of it for thinking; 0 turns thinking off.
    pub thinking: u64,
}

/// The longest answer that fits behind an input, or `None` if none does (F011).
///
/// * `window` - the model's limit for input and output together.
/// * `max_out` - the longest answer wanted, without thinking.
/// * `model_max` - the longest answer of the model, thinking included.
/// * `thinking` - the thinking wanted. The answer has priority over it.
/// * `used` - the upper bound of the input.
pub fn clamp(window: u64, max_out: u64, model_max: u64, thinking: u64, used: u64) -> Option<Output> {
    let room = window.saturating_sub(used).min(model_max);
    let answer = max_out.min(room);
    let thinking =
        Some(thinking.min(room - answer)).filter(|thinking| *thinking >= THINKING_MIN).unwrap_or(0);
    (answer > 0).then_some(Output { tokens: answer + thinking, thinking })
}

/// The window is too small for the parts that cannot be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a window of {window} tokens leaves {budget} for the prompt, and at least {floor} are needed; choose a larger window"
)]
pub struct TooSmall {
    /// The window.
    pub window: u64,
    /// The budget that it leaves for the input.
    pub budget: u64,
    /// The smallest request. See [`crate::admit::Irreducible`].
    pub floor: u64,
}

/// The policy after a switch to a model with another window (F007).
///
/// Computed before the next call, from the new window alone: no usage and no threshold of the old model enters.
///
/// * `reserve` - the answer that the host will request; `None` for the default.
/// * `floor` - the upper bound of the smallest request: system, tools, the newest message.
///
/// # Errors
/// [`TooSmall`] if the floor does not fit; the host keeps the old model.
pub fn switch(window: u64, reserve: Option<u64>, floor: u64) -> Result<Policy, TooSmall> {
    let policy =
        reserve.map_or_else(|| Policy::for_window(window), |reserve| Policy::with_reserve(window, reserve));
    // The policy's minimum window may be larger than the real one.
    let budget = policy.budget().min(window);
    if floor > budget { Err(TooSmall { window, budget, floor }) } else { Ok(policy) }
}

/// `permille` thousandths of `n`, rounded down.
pub(crate) fn share(n: u64, permille: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(permille) / 1_000).unwrap_or(n)
}

#[cfg(test)]
mod tests;
