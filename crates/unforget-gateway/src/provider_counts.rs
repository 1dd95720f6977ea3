//! Token counts that providers reported, by lane.

use unforget_core::tokens::Tokens;
use unforget_engine::host::{Array, MeasuredCall};

use super::prepared::PreparedCall;

/// Tokens of a call's messages: the provider's count for messages that it has read, ours for the rest.
pub(super) fn tokens(prepared: &PreparedCall) -> Tokens {
    let known = prepared.known.memory.measured.as_ref();
    known.map_or(prepared.array.tokens(), |known| measured(known, &prepared.array, prepared.fixed()))
}

/// Tokens of an array of a lane, without its call's instructions and tools: the provider's count for the common
/// beginning, our estimate for the rest. With equal instructions and tools the common beginning is exact; the
/// excess charged for them is subtracted.
///
/// * `known` - the newest count of the lane.
fn measured(known: &MeasuredCall, array: &Array, fixed: Tokens) -> Tokens {
    if array.beginning(known.messages) != Some(known.digest) {
        return array.tokens();
    }
    let rest = array.tokens_from(known.messages);
    let expected = known.input.saturating_sub(known.fixed.expected.min(known.input / 2));
    let upper = if fixed == known.fixed { known.input.saturating_sub(fixed.upper) } else { expected };
    let whole = Tokens { expected: expected + rest.expected, upper: upper + rest.upper };
    // Our estimate is an upper bound too: use the lower one.
    if whole.upper < array.tokens().upper { whole } else { array.tokens() }
}
