//! The part of a window that is reserved for the answer.

use crate::policy::{RESERVE_MAX, RESERVE_PART};

/// Tokens of a window reserved for the answer.
///
/// * `told` - the client's limit for the answer.
/// * `ends_at_window` - whether the model ends an answer at the end of the window, whatever the limit.
///
/// For a model that ends at the window, a limit above half of the window is a default and no plan: Claude Code 2.1.330
/// allows 128,000 of 200,000 tokens, and reserving them would halve the conversation. If the model refuses
/// nevertheless, it gets a smaller prompt. For other models, a limit that leaves less than a quarter of the window for
/// the prompt cannot be met: then half is reserved, as [`crate::recover::plan`] does after a refusal.
pub fn kept(told: Option<u64>, window: u64, ends_at_window: bool) -> u64 {
    match told {
        Some(told) if ends_at_window && told <= window / 2 => told,
        Some(told) if !ends_at_window && told > window - window / 4 => window / 2,
        Some(told) if !ends_at_window => told,
        _ => (window / RESERVE_PART).min(RESERVE_MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_for_the_answer_table() {
        let table = [
            (true, Some(8_000), 64_000, 8_000, "as told"),
            (true, Some(128_000), 200_000, RESERVE_MAX, "Claude Code allows more than half"),
            (false, Some(128_000), 200_000, 128_000, "others refuse what might not fit"),
            (false, Some(150_000), 200_000, 150_000, "a quarter is left"),
            (false, Some(150_001), 200_000, 100_000, "less is left: it cannot be met"),
            (false, Some(1_000_000), 32_000, 16_000, "larger than the window"),
            (false, Some(u64::MAX), 1, 0, "a window of one token"),
            (true, Some(1_000_000), 32_000, 4_000, "larger than the window"),
            (false, None, 400_000, RESERVE_MAX, "nothing told"),
            (true, None, 8_000, 1_000, "a small window"),
        ];
        for (ends_at_window, told, window, want, why) in table {
            assert_eq!(kept(told, window, ends_at_window), want, "{why}");
        }
    }
}
