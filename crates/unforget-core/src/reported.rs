//! What a provider counted of a prompt, and what follows for the next one.
//!
//! A count is exact for the counted prompt. A longer prompt with the same beginning needs an estimate for its new part only. For
//! any other prompt, the count gives the ratio between the provider's tokens and ours.

use crate::counts::CUT_PERMILLE;
use crate::policy::Policy;
use crate::recover::share;
use crate::tokens::Tokens;

/// A count above this share of our bound, in thousandths, is of something else than what was sent.
const MORE_PERMILLE: u64 = 2_000;

/// What a break may leave by its bound, in thousandths of the budget.
const LEFT_PERMILLE: u64 = 900;

/// A prompt of ours as its provider counted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    ours: Tokens,
    counted: u64,
}

impl Reported {
    /// Takes a count. `None` if it may be of something else than the prompt: some providers leave out what their cache has.
    ///
    /// * `ours` - the prompt by our ruler.
    /// * `counted` - its tokens by the provider, those from a cache included.
    pub fn of(ours: Tokens, counted: u64) -> Option<Self> {
        let least = share(ours.expected, CUT_PERMILLE).max(1);
        let most = share(ours.upper, MORE_PERMILLE);
        (least..=most).contains(&counted).then_some(Self { ours, counted })
    }

    /// Weight of a prompt that begins with the one that was counted, in the provider's tokens; `None` if it is none: it
    /// weighs less.
    ///
    /// * `total` - by our ruler.
    pub const fn longer(&self, total: Tokens) -> Option<Tokens> {
        if total.upper < self.ours.upper || total.expected < self.ours.expected {
            return None;
        }
        Some(Tokens {
            expected: self.counted + (total.expected - self.ours.expected),
            upper: self.counted + (total.upper - self.ours.upper),
        })
    }

    /// Weight of the next prompt, in the provider's tokens: see [`Reported::longer`] and [`Reported::other`].
    ///
    /// * `is_beginning` - whether it may begin with the one that was counted.
    pub fn next(&self, total: Tokens, is_beginning: bool) -> Tokens {
        self.longer(total).filter(|_| is_beginning).unwrap_or_else(|| self.other(total))
    }

    /// Weight of a prompt that does not begin with the one that was counted, in the provider's tokens. Its bound is half way
    /// between the rate of the count and our own bound: other words may weigh more.
    ///
    /// * `total` - by our ruler.
    pub fn other(&self, total: Tokens) -> Tokens {
        let at_rate = scale(total.upper, self.counted, self.ours.upper);
        let upper = at_rate / 2 + total.upper / 2 + 1;
        Tokens { expected: at_rate.min(upper), upper }
    }

    /// The policy for a budget in tokens of our bound instead of the provider's: what [`Policy::share`] gives is compared
    /// with sums of bounds. Sizes of parts stay as they are.
    pub fn scaled(&self, policy: &Policy) -> Policy {
        let by_rate = scale(policy.budget(), self.ours.upper, self.counted);
        // What a break leaves has to be admitted by `other`, with room for the next input beside it.
        let left = scale(share(policy.budget(), LEFT_PERMILLE), 1_000, policy.shallow_permille);
        let most =
            scale(left, self.ours.upper.saturating_mul(2), self.ours.upper.saturating_add(self.counted));
        Policy { window: policy.reserve.saturating_add(by_rate.min(most)), ..*policy }
    }
}

/// `n` times `to` over `from`, rounded down.
fn scale(n: u64, to: u64, from: u64) -> u64 {
    u64::try_from(u128::from(n) * u128::from(to) / u128::from(from.max(1))).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn tokens(expected: u64, upper: u64) -> Tokens {
        Tokens { expected, upper }
    }

    #[test]
    fn longer_table() {
        let reported = Reported::of(tokens(10_000, 12_000), 9_000).unwrap();
        let table = [
            (tokens(10_000, 12_000), Some(tokens(9_000, 9_000)), "the same prompt: exact"),
            (tokens(11_000, 13_200), Some(tokens(10_000, 10_200)), "what is new, by its bound"),
            (tokens(9_999, 12_000), None, "shorter: another prompt"),
            (tokens(10_000, 11_999), None, "lighter: another prompt"),
        ];
        for (total, want, why) in table {
            assert_eq!(reported.longer(total), want, "{why}");
        }
    }

    #[test]
    fn plausible_table() {
        let table = [
            (9_000, true, "its tokens are a little larger than ours"),
            (14_000, true, "or smaller"),
            (6_000, true, "the least"),
            (5_999, false, "f006: it may have been cut, or what a cache had is not counted"),
            (24_001, false, "more than twice our bound is something else"),
            (0, false, "nothing was counted"),
        ];
        for (counted, want, why) in table {
            assert_eq!(Reported::of(tokens(10_000, 12_000), counted).is_some(), want, "{why}");
        }
        assert_eq!(Reported::of(Tokens::default(), 0), None, "nothing was sent");
    }

    #[test]
    fn scaled_table() {
        let policy = Policy::for_window(32_768);
        let table = [
            (
                tokens(10_000, 12_000),
                9_000,
                policy.budget() * 4 / 3,
                "a bound of ours is three quarters there",
            ),
            (tokens(10_000, 10_000), 10_000, policy.budget(), "the same tokens"),
            (tokens(10_000, 10_000), 12_500, policy.budget() * 4 / 5, "smaller tokens there"),
        ];
        for (ours, counted, want, why) in table {
            let scaled = Reported::of(ours, counted).unwrap().scaled(&policy);
            assert_eq!(scaled.budget(), want, "{why}");
            assert_eq!((scaled.zone, scaled.grain), (policy.zone, policy.grain), "{why}");
        }
    }

    #[test]
    fn other_table() {
        let reported = Reported::of(tokens(10_000, 12_000), 9_000).unwrap();
        let table = [
            (tokens(5_000, 6_000), tokens(4_500, 5_251), "half way between 4,500 and 6,000"),
            (tokens(0, 0), tokens(0, 1), "nothing"),
        ];
        for (total, want, why) in table {
            assert_eq!(reported.other(total), want, "{why}");
        }
    }

    proptest! {
        /// The bound of a longer prompt is never below what is counted plus the bound of what is new.
        #[test]
        fn longer_bounds_what_is_new(
            expected in 1_u64..1_000_000, slack in 0_u64..500_000, counted in 1_u64..2_000_000,
            more in 0_u64..1_000_000, more_slack in 0_u64..500_000,
        ) {
            let ours = tokens(expected, expected + slack);
            let Some(reported) = Reported::of(ours, counted) else { return Ok(()) };
            let new = tokens(more, more + more_slack);
            let longer = reported.longer(ours + new).unwrap();
            prop_assert_eq!(longer.upper, counted + new.upper);
            prop_assert!(longer.expected <= longer.upper);
        }
    }
}
