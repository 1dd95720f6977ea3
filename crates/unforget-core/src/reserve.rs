//! What of a window is kept for the answer.

/// Part of a window that is kept for an answer whose length nobody says.
const PART: u64 = 8;

/// Most tokens that are kept so.
const MOST: u64 = 8_192;

/// Tokens of a window that are kept for the answer.
///
/// * `told` - what the client allows the answer.
/// * `ends_at_window` - the model ends an answer where the window ends, whatever it was allowed.
///
/// Where it ends there, more than half of the window is no plan but a default: Claude Code 2.1.330 allows 128,000 of 200,000,
/// and kept it would halve the conversation. A model that refuses nevertheless gets a smaller prompt. What would leave other
/// models less than a quarter of the window for a prompt cannot be met: then it is half, as much as
/// [`crate::recover::plan`] leaves when a provider refuses it.
pub fn kept(told: Option<u64>, window: u64, ends_at_window: bool) -> u64 {
    match told {
        Some(told) if ends_at_window && told <= window / 2 => told,
        Some(told) if !ends_at_window && told > window - window / 4 => window / 2,
        Some(told) if !ends_at_window => told,
        _ => (window / PART).min(MOST),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_for_the_answer_table() {
        let table = [
            (true, Some(8_000), 64_000, 8_000, "as told"),
            (true, Some(128_000), 200_000, MOST, "Claude Code allows more than half"),
            (false, Some(128_000), 200_000, 128_000, "others refuse what might not fit"),
            (false, Some(150_000), 200_000, 150_000, "a quarter is left"),
            (false, Some(150_001), 200_000, 100_000, "less is left: it cannot be met"),
            (false, Some(1_000_000), 32_000, 16_000, "larger than the window"),
            (false, Some(u64::MAX), 1, 0, "a window of one token"),
            (true, Some(1_000_000), 32_000, 4_000, "larger than the window"),
            (false, None, 400_000, MOST, "nothing told"),
            (true, None, 8_000, 1_000, "a small window"),
        ];
        for (ends_at_window, told, window, want, why) in table {
            assert_eq!(kept(told, window, ends_at_window), want, "{why}");
        }
    }
}
