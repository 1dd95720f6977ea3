//! Sizes that do not depend on the window. All in tokens unless the name says otherwise.

use super::Policy;
use crate::tokens::Tokens;

/// Brackets and names around the pieces of any request.
pub const FRAME: Tokens = Tokens::exact(32);

/// A placeholder as a message of its own, in the longest dialect.
pub const PLACEHOLDER_TOKENS: u64 = 48;

/// Extra size of a mapped call id: `uf_` and 32 hex digits.
pub const CALL_ID_TOKENS: u64 = 32;

/// Longest call id, in bytes, that no dialect maps after a suffix was added.
pub const CALL_ID_BYTES_MAX: usize = 32;

/// Largest number behind a repeated call id.
pub const SUFFIX_TOKENS: u64 = 6;

/// Cost of joining two messages.
pub const SEAM: u64 = 3;

/// Price of an image: the maximum that a provider charges.
///
/// Source: Anthropic's formula, width × height / 750 with at most 1,568 pixels on the long edge.
pub const IMAGE_TOKENS: u64 = 1_600;

/// Framing of a text that a host sends behind the messages.
pub const HOST_TEXT_SEAM: u64 = 16;

/// Smallest cap of a message part: a shorter excerpt says nothing.
pub const CAP_MIN: u64 = 64;

/// Smallest excerpt that says anything.
pub const EXCERPT_MIN: u64 = 64;

/// Room kept for the line that stands for left-out groups.
pub const ELISION_TOKENS: u64 = 64;

/// Room that the last rung keeps for new call ids and for its stubs.
pub const NEWEST_MARGIN: u64 = 320;

/// Least part of the budget that the newest inputs have where they are cut and older entries are not, as one over this.
pub const NEWEST_PART: u64 = 4;

/// Least part of the budget that the newest inputs have where older entries went for them, as one over this: in less, a
/// message would be its name alone, and the next rung shows more of it.
pub const NEWEST_PART_MIN: u64 = 8;

/// Filling of its room at which a cut of a newest input is wide enough, in thousandths.
pub const NEWEST_FILLED: u64 = 985;

/// Most attempts to cut a newest input to its room.
pub const NEWEST_TRIES: usize = 10;

/// Smallest room for a text of our own.
pub const TEXT_ROOM_MIN: u64 = 24;

/// Smallest room for the body of a summary.
pub const SUMMARY_ROOM_MIN: u64 = 30;

/// Largest wrapper of a summary, ours or the host's.
pub const SUMMARY_FENCE: u64 = 48;

/// Most tokens of neighbouring summaries that share a wrapper. A wrapper that grows at a break is sent again whole, so this
/// bounds the part of a cached prompt that a break changes before its new summaries.
pub const BLOCK_TOKENS_MAX: u64 = 2_048;

/// Largest wrapper of a ledger or a headline.
pub const STATE_FENCE: u64 = 40;

/// Share of the zone of summaries for the host's own summary, as one over this.
pub const HOST_SUMMARY_PART: u64 = 2;

/// Largest room for the host's own summary: no longer ones are known.
pub const HOST_SUMMARY_MAX: u64 = 6_000;

/// Largest headline, and its size in tenths of a ledger.
pub const HEADLINE_MAX: u64 = 1_200;
const HEADLINE_TENTHS: u64 = 14;

/// Smallest budget that has room for the reading guide of summaries.
pub const GUIDE_BUDGET_MIN: u64 = 4_000;

/// Typical size of the line that replaces a superseded result, in bytes.
pub const SUPERSEDED_LINE_BYTES: usize = 120;

/// Smallest remainder of a group after a part of its text is removed: the largest stub of a result.
pub const STUB_TOKENS: u64 = 160;

/// Text bytes per token where a removed text is estimated and not counted.
pub const BYTES_PER_TOKEN: u64 = 4;

/// Fewest text bytes per token in any tokeniser: shorter texts fit without a count.
pub const BYTES_PER_TOKEN_MIN: u64 = 1;

/// Part of the budget for each message part on the rung of the active turn, as one over this.
pub const ACTIVE_PART: u64 = 8;

/// Part of the budget for each message part on the rungs below the active turn, as one over this.
pub const SHORT_PART: u64 = 24;

/// Fan-in of a merge of summaries.
pub const FAN_IN: usize = 4;

/// Most bytes of a client's standing context that are put back.
pub const STANDING_BYTES_MAX: u64 = 64 * 1024;

/// Largest share of the messages' budget for standing context that is put back, as one over this.
pub const STANDING_PART: u64 = 4;

/// Smallest useful beginning, in bytes, of a piece of standing context that does not fit whole.
pub const STANDING_BEGUN_MIN: u64 = 512;

/// Part of the window reserved for an answer of unspecified length, as one over this.
pub const RESERVE_PART: u64 = 8;

/// Largest reserve for an answer of unspecified length.
pub const RESERVE_MAX: u64 = 8_192;

/// Share of the budget, in hundredths, above which recorded instructions are shortened.
const INSTRUCTIONS_MAX: u64 = 40;

/// Share of the budget, in hundredths, to which recorded instructions are shortened.
const INSTRUCTIONS_SHORT: u64 = 25;

impl Policy {
    /// Largest headline in this window.
    pub fn headline(&self) -> u64 {
        (self.ledger * HEADLINE_TENTHS / 10).min(HEADLINE_MAX)
    }

    /// Whether a text of this many bytes is large enough for a stub.
    pub const fn is_stubbed(&self, bytes: usize) -> bool {
        bytes as u64 > self.stub_over * BYTES_PER_TOKEN
    }

    /// Cap of each recorded instruction; `None` if the instructions stay whole.
    ///
    /// * `upper` - size of all instructions together.
    /// * `count` - number of instructions.
    pub fn instruction_cap(&self, upper: u64, count: usize) -> Option<u64> {
        if upper <= self.budget() * INSTRUCTIONS_MAX / 100 {
            return None;
        }
        Some(self.budget() * INSTRUCTIONS_SHORT / 100 / (count.max(1) as u64))
    }

    /// Room for the body of a summary with this allotment.
    pub fn summary_body(allotment: u64) -> u64 {
        allotment.saturating_sub(SUMMARY_FENCE).max(SUMMARY_ROOM_MIN)
    }
}

/// What is left of a size after text of this many bytes is removed: never less than a stub.
pub fn without_bytes(size: Tokens, bytes: usize) -> Tokens {
    let removed = bytes as u64 / BYTES_PER_TOKEN;
    Tokens { expected: remainder(size.expected, removed), upper: remainder(size.upper, removed) }
}

fn remainder(tokens: u64, removed: u64) -> u64 {
    if removed == 0 { tokens } else { tokens.saturating_sub(removed).max(STUB_TOKENS.min(tokens)) }
}

/// Whether an open prompt with this budget serves a call with another budget: the budgets of neighbouring calls differ
/// a little, and the prompt keeps its thresholds while they fit.
///
/// * `own` - the budget that the thresholds were made for.
pub const fn serves_budget(own: u64, budget: u64) -> bool {
    budget >= own - own / 10 && budget <= own + own / 2
}

/// A budget rounded down to the next thirty-second of a power of two: calls with similar budgets share a prompt.
pub fn rounded_budget(budget: u64) -> u64 {
    let step = (1_u64 << budget.max(32).ilog2()) / 32;
    budget / step * step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_bytes_table() {
        let size = Tokens { expected: 1_000, upper: 1_200 };
        let table = [
            (size, 0, size, "nothing is removed"),
            (size, 3, size, "less than a token"),
            (size, 400, Tokens { expected: 900, upper: 1_100 }, "four bytes a token"),
            (size, 9_000, Tokens::exact(160), "a stub remains"),
            (Tokens::exact(90), 400, Tokens::exact(90), "a size below a stub stays"),
        ];
        for (size, bytes, want, why) in table {
            assert_eq!(without_bytes(size, bytes), want, "{why}");
        }
    }

    #[test]
    fn instruction_cap_table() {
        let policy = Policy::with_reserve(2_000, 1_000);
        let table = [
            (400, 2, None, "two fifths of the budget stay whole"),
            (401, 1, Some(250), "one is cut to a quarter"),
            (401, 2, Some(125), "two share the quarter"),
            (401, 0, Some(250), "no division by zero"),
        ];
        for (upper, count, want, why) in table {
            assert_eq!(policy.instruction_cap(upper, count), want, "{why}");
        }
    }

    #[test]
    fn budget_table() {
        let table = [
            (1_000, 900, true, "a tenth less"),
            (1_000, 899, false, "too small"),
            (1_000, 1_500, true, "half more"),
            (1_000, 1_501, false, "too large"),
            (0, 0, true, "nothing"),
        ];
        for (own, budget, want, why) in table {
            assert_eq!(serves_budget(own, budget), want, "{why}");
        }
        assert_eq!([0, 33, 1_000, 183_616].map(rounded_budget), [0, 33, 992, 180_224]);
    }
}
