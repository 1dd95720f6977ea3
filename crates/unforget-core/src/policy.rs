//! Every number that decides when and how a prompt is shaped, derived from the window.

mod recalled;
mod sizes;

use crate::tokens::fair_share;

pub use recalled::*;
pub use sizes::*;

/// Size limits of a prompt, and when it is reshaped. All sizes in tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// The model's limit for input and output together.
    pub window: u64,
    /// Kept free for the answer.
    pub reserve: u64,
    /// Size from which a prompt breaks if the provider's cache is cold, in thousandths of the budget.
    pub soft_permille: u64,
    /// Size from which a prompt breaks before it is sent, in thousandths of the budget.
    pub hard_permille: u64,
    /// The most that a break leaves, in thousandths of the budget: the target for a slow history.
    pub shallow_permille: u64,
    /// The least that a break aims at, in thousandths of the budget: the target for a fast history.
    pub deep_permille: u64,
    /// Intended number of calls between two breaks.
    pub calls_between: u64,
    /// Size of the newest entries that a break leaves verbatim.
    pub fresh_tail: u64,
    /// Size of the running turn's newest entries that a break leaves verbatim.
    pub running_tail: u64,
    /// Source size of one leaf.
    pub grain: u64,
    /// Largest leaf summary.
    pub leaf_tokens: u64,
    /// Largest condensed summary. Each level has twice the room of the level below, up to this.
    pub condensed_tokens: u64,
    /// Room for all summaries together.
    pub zone: u64,
    /// Room for the ledger behind the summaries; 0 for no ledger.
    pub ledger: u64,
    /// Room for all pinned files together; longer files are shortened.
    pub pin_files: u64,
    /// Room for entries that people put back. What does not fit is left out and told.
    pub raised: u64,
    /// Old tool results above this size are replaced by stubs.
    pub stub_over: u64,
    /// Limit for one tool result: a larger one is shortened when it is first shown, and keeps that form.
    pub result_share: u64,
    /// Limit for all results of one answer together.
    pub answer_share: u64,
    /// How long the provider caches a prompt, in milliseconds since the last call.
    pub cache_ttl_ms: u64,
}

/// Smallest useful ledger: a smaller one says nothing worth its frame.
const LEDGER_MIN: u64 = 120;

/// How long a provider caches a prompt, unless configured otherwise: five minutes.
pub const CACHE_TTL_MS: u64 = 300_000;

/// A prompt breaks on a cold cache from this share of the budget on, in thousandths, and in any window from the
/// following number of tokens on: each token above is billed again with every call.
const SOFT_PERMILLE: u64 = 760;
const SOFT_TOKENS: u64 = 104_000;

/// Smallest window that a policy supports.
pub const WINDOW_MIN: u64 = 1_024;

/// Largest window that a caller may name: that of the largest models known. A larger one only costs time and memory.
pub const WINDOW_MAX: u64 = 10_000_000;

impl Policy {
    /// The default policy for a window of this many tokens; smaller windows count as [`WINDOW_MIN`].
    ///
    /// Source: design §4 Compact for the thresholds; ADR-0006 for the grain.
    pub fn for_window(window: u64) -> Self {
        let window = window.max(WINDOW_MIN);
        let reserve = (window / 8).clamp(256, 16_384);
        Self::with_reserve(window, reserve)
    }

    /// The default policy with a reserve of the caller's choice, at most half of the window.
    pub fn with_reserve(window: u64, reserve: u64) -> Self {
        let window = window.max(WINDOW_MIN);
        let reserve = reserve.min(window / 2);
        let budget = window - reserve;
        // A power of two, so that windows of similar size share their summaries.
        let grain = previous_power_of_two(budget / 16).clamp(128, 8_192);
        let leaf_tokens = (grain * 40 / 100).clamp(64, 1_200);
        Self {
            window,
            reserve,
            soft_permille: SOFT_PERMILLE.min(SOFT_TOKENS * 1_000 / budget),
            hard_permille: 985,
            shallow_permille: 650,
            deep_permille: 300,
            calls_between: 18,
            fresh_tail: (budget / 8).min(20_000),
            running_tail: (budget / 4).min(40_000),
            grain,
            leaf_tokens,
            condensed_tokens: (leaf_tokens * 8).min(4_000),
            zone: budget / 20 * 7,
            ledger: Some((budget / 40).min(1_600)).filter(|tokens| *tokens >= LEDGER_MIN).unwrap_or(0),
            pin_files: budget / 8,
            raised: budget / 8,
            stub_over: 400.min(budget / 16).max(160),
            result_share: (budget / 50 * 3).clamp(64, 4_000),
            answer_share: (budget / 20 * 3).clamp(160, 10_000),
            cache_ttl_ms: CACHE_TTL_MS,
        }
    }

    /// This policy without a ledger in the prompts.
    #[must_use]
    pub const fn without_ledger(self) -> Self {
        Self { ledger: 0, ..self }
    }

    /// The budget for assembly: window less reserve.
    pub const fn budget(&self) -> u64 {
        self.window - self.reserve
    }

    /// Guaranteed room of each of several results.
    pub const fn result_share_min(&self) -> u64 {
        self.result_share / 4
    }

    /// Room of each result of one answer, in tokens: its share, or less if all results together would exceed the
    /// answer's share. Short results stay whole; each of many long ones keeps at least a quarter of a share.
    ///
    /// * `sizes` - of all results of the answer, in tokens, in any order.
    pub fn result_cap(&self, sizes: Vec<u64>) -> u64 {
        let fair = fair_share(sizes, self.answer_share).unwrap_or(self.result_share);
        fair.clamp(self.result_share_min(), self.result_share)
    }

    /// `permille` thousandths of the budget.
    pub const fn share(&self, permille: u64) -> u64 {
        self.budget() * permille / 1_000
    }

    /// Whether a history of this many tokens leaves room to go on for a while: a quarter of the budget. The window alone
    /// decides, not what a large prompt costs.
    pub const fn leaves_room(&self, tokens: u64) -> bool {
        tokens <= self.share(SOFT_PERMILLE)
    }

    /// Largest target of a break during a cold cache: a sixth below the size that triggers it.
    pub fn cold_target(&self) -> u64 {
        self.share(self.shallow_permille).min(self.share(self.soft_permille) * 5 / 6)
    }

    /// Largest summary of a level: it stands for four times the source of the level below, in twice the room.
    pub const fn summary_tokens(&self, level: u8) -> u64 {
        let doubled = self.leaf_tokens << if level < 16 { level } else { 16 };
        if doubled < self.condensed_tokens { doubled } else { self.condensed_tokens }
    }
}

fn previous_power_of_two(n: u64) -> u64 {
    1 << n.max(1).ilog2()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_leaves_room_by_the_window_alone() {
        for (window, tokens, want, why) in [
            (200_000, 120_000, true, "more than a prompt grows to on a cold cache"),
            (1_000_000, 700_000, true, "whatever the window"),
            (200_000, 150_000, false, "nearly full"),
            (1_024, 500, true, "the smallest window"),
        ] {
            assert_eq!(Policy::for_window(window).leaves_room(tokens), want, "{why}");
        }
    }

    #[test]
    fn result_cap_table() {
        let policy = Policy { result_share: 1_000, answer_share: 2_000, ..Policy::for_window(32_768) };
        let table: [(&[u64], u64, &str); 7] = [
            (&[], 1_000, "none"),
            (&[50_000], 1_000, "one has its own share"),
            (&[50_000, 50_000], 1_000, "two fill the answer's"),
            (&[50_000, 50_000, 50_000, 50_000], 500, "four have half of theirs"),
            (&[50_000, 100, 50_000, 100, 100], 850, "what short ones leave goes to the long ones"),
            (&[400, 400, 400, 400, 400], 1_000, "all fit"),
            (&[50_000; 100], 250, "of many each keeps a quarter"),
        ];
        for (sizes, want, why) in table {
            assert_eq!(policy.result_cap(sizes.to_vec()), want, "{why}");
        }
    }

    #[test]
    fn headline_table() {
        for (window, headline) in [(8_192, 250), (32_768, 1_002), (200_000, 1_200), (1, 0)] {
            assert_eq!(Policy::for_window(window).headline(), headline, "{window}");
        }
    }

    #[test]
    fn windows_table() {
        let table = [
            // window  budget   grain  ledger  why
            (8_192, 7_168, 256, 179, "a small local model"),
            (32_768, 28_672, 1_024, 716, "32k"),
            (131_072, 114_688, 4_096, 1_600, "128k"),
            (200_000, 183_616, 8_192, 1_600, "200k"),
            (1_000_000, 983_616, 8_192, 1_600, "a million: the grain stays"),
            (1, 768, 128, 0, "nonsense counts as the smallest window"),
        ];
        for (window, budget, grain, ledger, why) in table {
            let policy = Policy::for_window(window);
            assert_eq!((policy.budget(), policy.grain, policy.ledger), (budget, grain, ledger), "{why}");
            assert_eq!(policy.without_ledger(), Policy { ledger: 0, ..policy });
            assert!(
                policy.deep_permille < policy.shallow_permille && policy.soft_permille < policy.hard_permille
            );
            let hysteresis = policy.shallow_permille * 10 <= policy.hard_permille * 7;
            assert!(hysteresis, "f012: a break leaves at most 0.7 of what triggers it: {why}");
            assert!(policy.share(policy.soft_permille) <= SOFT_TOKENS, "{why}");
            assert!(policy.pin_files * 8 <= budget, "pinned files leave room for what they rule: {why}");
            assert!(policy.raised * 8 <= budget, "what is put back leaves room for what goes on: {why}");
            assert!(policy.running_tail + policy.zone <= policy.share(policy.shallow_permille), "{why}");
        }
    }
}
