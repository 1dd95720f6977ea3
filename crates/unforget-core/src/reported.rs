//! A provider's count of a prompt, and its consequences for the next one.
//!
//! A count is exact for the counted prompt. A longer prompt with the same beginning needs an estimate for its new part only. For
//! any other prompt, the count gives the ratio between the provider's tokens and ours.

use crate::counts::CUT_PERMILLE;
use crate::policy::Policy;
use crate::recover::share;
use crate::tokens::Tokens;

/// Above this share of our bound, in thousandths, a count must belong to something other than the prompt.
const MORE_PERMILLE: u64 = 2_000;

/// Largest size that a break may leave by its bound, in thousandths of the budget.
const LEFT_PERMILLE: u64 = 900;

/// A call with its provider's count: its messages, and the content beside them (instructions, tools, standing context).
///
/// Budgets are for messages: the upper bound of the content beside them is subtracted first, and weights of messages
/// are given on the same terms. If the provider counts less than that bound for the content beside, the messages weigh
/// less here than alone, and may weigh nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reported {
    messages: Tokens,
    beside: Tokens,
    counted: u64,
}

impl Reported {
    /// Takes a count. `None` if the count may belong to something other than the call: some providers leave out cached
    /// tokens.
    ///
    /// * `messages` - tokens of the messages by our ruler.
    /// * `beside` - tokens of the content beside them by our ruler.
    /// * `counted` - the provider's tokens of both, cached tokens included.
    pub fn of(messages: Tokens, beside: Tokens, counted: u64) -> Option<Self> {
        let ours = messages + beside;
        let least = share(ours.expected, CUT_PERMILLE).max(1);
        let most = share(ours.upper, MORE_PERMILLE);
        (least..=most).contains(&counted).then_some(Self { messages, beside, counted })
    }

    /// The counted messages, by our ruler.
    pub const fn messages(&self) -> Tokens {
        self.messages
    }

    /// The content beside the counted messages, by our ruler.
    pub const fn beside(&self) -> Tokens {
        self.beside
    }

    /// The provider's tokens of both.
    pub const fn counted(&self) -> u64 {
        self.counted
    }

    /// Weight of messages that begin with the counted ones, beside the same content: exact except for the new messages.
    /// `None` if the messages are fewer, or the content beside differs.
    ///
    /// * `messages`, `beside` - by our ruler.
    pub fn longer(&self, messages: Tokens, beside: Tokens) -> Option<Tokens> {
        let is_longer = messages.upper >= self.messages.upper && messages.expected >= self.messages.expected;
        let with = |new: u64| (self.counted + new).saturating_sub(beside.upper);
        (is_longer && beside == self.beside).then(|| Tokens {
            expected: with(messages.expected - self.messages.expected),
            upper: with(messages.upper - self.messages.upper),
        })
    }

    /// Weight of the next messages: see [`Reported::longer`] and [`Reported::other`].
    ///
    /// * `is_beginning` - whether the next messages may begin with the counted ones.
    pub fn next(&self, messages: Tokens, beside: Tokens, is_beginning: bool) -> Tokens {
        self.longer(messages, beside).filter(|_| is_beginning).unwrap_or_else(|| self.other(messages, beside))
    }

    /// Weight of messages that do not begin with the counted ones. The upper bound is half way between the ratio of the
    /// count and our own bound, because other text may weigh more.
    ///
    /// * `messages`, `beside` - by our ruler.
    pub fn other(&self, messages: Tokens, beside: Tokens) -> Tokens {
        let ours = messages.upper + beside.upper;
        let at_rate = scale(ours, self.counted, self.ours_upper());
        let upper = at_rate / 2 + ours / 2 + 1;
        Tokens {
            expected: at_rate.min(upper).saturating_sub(beside.upper),
            upper: upper.saturating_sub(beside.upper),
        }
    }

    /// Scales the policy to a budget in tokens of our bound instead of the provider's, because [`Policy::share`] is
    /// compared with sums of bounds. Sizes of parts stay.
    ///
    /// * `beside` - tokens of the content beside the next messages, by our ruler.
    pub fn scaled(&self, policy: &Policy, beside: Tokens) -> Policy {
        let (room, ours) = (policy.budget() + beside.upper, self.ours_upper());
        let by_rate = scale(room, ours, self.counted).saturating_sub(beside.upper);
        // The rest after a break must be admitted by `other`, with room for the next input.
        let admitted =
            scale(share(room, LEFT_PERMILLE), ours.saturating_mul(2), ours.saturating_add(self.counted));
        let most = scale(admitted.saturating_sub(beside.upper), 1_000, policy.shallow_permille);
        Policy { window: policy.reserve.saturating_add(by_rate.min(most)), ..*policy }
    }

    const fn ours_upper(&self) -> u64 {
        self.messages.upper + self.beside.upper
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

    /// Nothing beside the messages.
    const ALONE: Tokens = tokens(0, 0);

    #[test]
    fn longer_table() {
        let reported = Reported::of(tokens(10_000, 12_000), ALONE, 9_000).unwrap();
        let table = [
            (tokens(10_000, 12_000), Some(tokens(9_000, 9_000)), "the same prompt: exact"),
            (tokens(11_000, 13_200), Some(tokens(10_000, 10_200)), "what is new, by its bound"),
            (tokens(9_999, 12_000), None, "shorter: another prompt"),
            (tokens(10_000, 11_999), None, "lighter: another prompt"),
        ];
        for (total, want, why) in table {
            assert_eq!(reported.longer(total, ALONE), want, "{why}");
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
            assert_eq!(Reported::of(tokens(10_000, 12_000), ALONE, counted).is_some(), want, "{why}");
        }
        assert_eq!(Reported::of(ALONE, ALONE, 0), None, "nothing was sent");
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
            let scaled = Reported::of(ours, ALONE, counted).unwrap().scaled(&policy, ALONE);
            assert_eq!(scaled.budget(), want, "{why}");
            assert_eq!((scaled.zone, scaled.grain), (policy.zone, policy.grain), "{why}");
        }
    }

    #[test]
    fn other_table() {
        let reported = Reported::of(tokens(10_000, 12_000), ALONE, 9_000).unwrap();
        let table = [
            (tokens(5_000, 6_000), tokens(4_500, 5_251), "half way between 4,500 and 6,000"),
            (tokens(0, 0), tokens(0, 1), "nothing"),
        ];
        for (total, want, why) in table {
            assert_eq!(reported.other(total, ALONE), want, "{why}");
        }
    }

    #[test]
    fn beside_table() {
        let beside = tokens(18_000, 22_000);
        // The provider counts 30,000 of 40,000 tokens by our bound.
        let reported = Reported::of(tokens(15_000, 18_000), beside, 30_000).unwrap();
        let table = [
            (
                tokens(15_000, 18_000),
                beside,
                true,
                8_000,
                "all that was counted, less what was taken off for its tools",
            ),
            (tokens(16_000, 19_200), beside, true, 9_200, "and the bound of what is new"),
            (
                tokens(16_000, 19_200),
                beside,
                false,
                14_051,
                "half way between 30,900 and 41,200, less 22,000",
            ),
            (
                tokens(16_000, 19_200),
                tokens(18_000, 22_400),
                true,
                14_001,
                "beside other tools nothing is exact",
            ),
            (tokens(2_000, 2_400), beside, true, 0, "24,400 of ours are some 18,300 there"),
        ];
        for (messages, beside, is_beginning, want, why) in table {
            assert_eq!(reported.next(messages, beside, is_beginning).upper, want, "{why}");
        }
        let policy = Policy::for_window(32_768);
        let scaled = reported.scaled(&policy, beside);
        assert_eq!(
            scaled.budget(),
            (policy.budget() + 22_000) * 4 / 3 - 22_000,
            "what they are charged too much is free"
        );
    }

    proptest! {
        /// Messages admitted by their weight fit, whatever content was counted with them.
        #[test]
        fn longer_bounds_what_is_new(
            expected in 1_u64..1_000_000, slack in 0_u64..500_000, counted in 1_u64..2_000_000,
            more in 0_u64..1_000_000, more_slack in 0_u64..500_000,
            beside in 0_u64..500_000, beside_slack in 0_u64..500_000,
        ) {
            let (ours, beside) = (tokens(expected, expected + slack), tokens(beside, beside + beside_slack));
            let Some(reported) = Reported::of(ours, beside, counted) else { return Ok(()) };
            let new = tokens(more, more + more_slack);
            let longer = reported.longer(ours + new, beside).unwrap();
            let room = longer.upper + beside.upper;
            prop_assert!(room >= counted + new.upper);
            prop_assert!(room == counted + new.upper || longer.upper == 0);
            prop_assert!(longer.expected <= longer.upper);
        }
    }
}
