//! What a provider's token counts say about how much of a prompt the model read (F006).

use crate::policy::WINDOW_MIN;
use crate::recover::share;
use crate::tokens::Tokens;

/// A prompt was cut if the provider counted less than this share of the expected count, in thousandths.
pub const CUT_PERMILLE: u64 = 600;

/// A fitting prompt counted below this share of our estimate, in thousandths, shows that the provider counts something
/// other than the input. Nothing follows from such counts.
const ODD_PERMILLE: u64 = 300;

/// Smallest prompt, in tokens, whose count says anything about the provider's rate.
const TELLING: u64 = 256;

/// A prompt that the provider seems to have read only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SuspectedTruncation {
    /// Our count; the lower of its two figures.
    pub expected: u64,
    /// Tokens that the provider reports as read.
    pub reported: u64,
}

/// The evidence of a model's counts, call by call.
///
/// A prompt fits if the model has read as much before, if it was made to fit, or if it is below [`WINDOW_MIN`]. The
/// count of a fitting prompt gives the rate between the provider's tokens and ours: digits and paths may weigh half as
/// much there. A prompt that may not fit was cut if its count is far below that rate. Some providers leave cached
/// tokens out of the count, and some count nothing; for those nothing is concluded. A single count may still be wrong,
/// so the model gets a cap only after two prompts were cut to about the same size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counts {
    /// The largest count of any prompt.
    pub read: u64,
    /// The smallest count of a fitting prompt, in thousandths of our estimate.
    pub rate: u64,
    /// The count of the last prompt that seemed to be cut.
    pub cut: Option<u64>,
    /// The apparent limit of the model's input: the budget for its prompts.
    pub cap: Option<u64>,
}

impl Default for Counts {
    fn default() -> Self {
        Self { read: 0, rate: 1_000, cut: None, cap: None }
    }
}

impl Counts {
    /// Takes the count of a call. Returns an alarm if the prompt seems to have been cut.
    ///
    /// * `estimate` - our estimate of the prompt.
    /// * `reported` - all input tokens of the usage, cached ones included; 0 if there is no usage.
    pub fn take(&mut self, estimate: Tokens, reported: u64) -> Option<SuspectedTruncation> {
        if reported == 0 {
            return None;
        }
        let expected = estimate.expected;
        let fits = expected <= self.read.max(WINDOW_MIN).max(self.cap.unwrap_or_default());
        let is_short =
            self.rate >= ODD_PERMILLE && reported < share(share(expected, self.rate), CUT_PERMILLE);
        let (known, before) = (self.read, self.read.max(WINDOW_MIN));
        self.read = self.read.max(reported);
        self.cap = self.cap.filter(|cap| reported <= *cap);
        if fits && expected >= TELLING {
            self.rate = self.rate.min(permille(reported, expected));
            // A low count of a fitting prompt is normal for this model and no sign of a cut.
            self.cap = self.cap.filter(|_| !is_short);
        }
        // Servers that cut a prompt keep as much as they read before, or half of it.
        let is_cut = is_short && !fits && reported >= WINDOW_MIN && reported >= known / 2;
        if is_cut {
            let is_alike = |cut: u64| cut.abs_diff(reported) <= cut.max(reported) / 4;
            if self.cut.replace(reported).is_some_and(is_alike) {
                self.cap = Some(reported.max(before));
            }
        }
        is_cut.then_some(SuspectedTruncation { expected, reported })
    }

    /// Whether a count can belong to the prompt that was sent.
    pub fn is_plausible(estimate: Tokens, reported: u64) -> bool {
        reported >= share(estimate.expected, ODD_PERMILLE)
    }
}

/// A share of a non-zero whole, in thousandths, rounded down.
fn permille(part: u64, whole: u64) -> u64 {
    u64::try_from(u128::from(part) * 1_000 / u128::from(whole)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tokens(expected: u64) -> Tokens {
        Tokens { expected, upper: expected + expected / 10 }
    }

    #[test]
    fn f006_truncation_table() {
        let table = [
            // expected and reported of calls before, expected, reported, alarm, why
            (&[][..], 20_000, 4_096, true, "Ollama kept its default window"),
            (&[(4_000, 3_900), (20_000, 4_096)], 21_000, 4_096, true, "and again"),
            (
                &[(9_000, 8_000)],
                20_000,
                4_096,
                true,
                "it has read more than this, but not as much as was sent",
            ),
            (
                &[(23_000, 22_518)],
                5_468,
                3_107,
                false,
                "digits and paths weigh less there, and it reads far more",
            ),
            (&[(20_000, 20_000)], 20_000, 4_096, false, "it has read as much"),
            (&[], 20_000, 10_000, true, "half of it"),
            (&[], 20_000, 11_999, true, "just below the share"),
            (&[], 20_000, 12_000, false, "at the share: an estimate may be that far off"),
            (&[], 20_000, 31_000, false, "more than expected is no cut"),
            (&[], 20_000, 0, false, "no usage reported"),
            (&[], 1_023, 100, false, "fits every window"),
            (&[], 159_000 / 4, 16_386, true, "little-coder's report"),
            (&[(900, 10)], 20_000, 10, false, "it always says 10"),
            (&[(100, 10)], 20_000, 10, false, "no window is that small"),
            (&[], 8_283, 10, false, "from the first call on"),
            (&[(100, 10)], 20_000, 2_048, true, "of a few words its count says nothing"),
            (&[(1_000, 570)], 5_468, 3_107, false, "its tokens are larger than ours"),
            (&[(1_000, 570)], 5_468, 1_024, true, "but not that large"),
            (&[(900, 900), (900, 40)], 30_000, 700, false, "it does not count what its cache has"),
            (&[(20_000, 20_000)], 20_500, 500, false, "nor here: it has read 40 times as much"),
        ];
        for (before, expected, reported, want, why) in table {
            let mut counts = Counts::default();
            for (expected, reported) in before {
                counts.take(tokens(*expected), *reported);
            }
            let alarm = counts.take(tokens(expected), reported);
            assert_eq!(alarm, want.then_some(SuspectedTruncation { expected, reported }), "{why}");
        }
    }

    #[test]
    fn a_cap_stays_until_it_is_wrong() {
        let mut counts = Counts::default();
        assert!(counts.take(tokens(20_000), 4_096).is_some());
        assert_eq!(counts.cap, None, "one count may be wrong");
        let mut other = counts.clone();
        assert!(other.take(tokens(21_000), 9_000).is_some());
        assert_eq!(other.cap, None, "and two that have nothing in common");
        assert!(counts.take(tokens(21_000), 4_000).is_some());
        assert_eq!(counts.cap, Some(4_096));
        assert_eq!(
            (counts.take(tokens(4_000), 3_900), counts.cap),
            (None, Some(4_096)),
            "all of it was read"
        );
        let mut larger = counts.clone();
        assert_eq!((larger.take(tokens(5_000), 5_000), larger.cap), (None, None), "it reads more");
        assert_eq!((counts.take(tokens(4_000), 300), counts.cap), (None, None), "it counts something else");
        assert_eq!(counts.take(tokens(20_000), 4_096), None, "for good");
    }

    proptest! {
        /// An alarm implies a count far below the expected one, and a cap is always a possible window.
        #[test]
        fn f006_counts_never_ask_for_less_than_was_read(
            calls in prop::collection::vec((any::<u64>(), any::<u64>()), 1..20),
        ) {
            let mut counts = Counts::default();
            let mut most = WINDOW_MIN;
            for (expected, reported) in calls {
                if let Some(alarm) = counts.take(Tokens { expected, upper: expected }, reported) {
                    prop_assert!(alarm.reported < expected && alarm.reported > 0 && expected > most);
                }
                most = most.max(reported);
                prop_assert!(counts.cap.is_none_or(|cap| cap >= WINDOW_MIN && cap >= most.min(cap)));
            }
        }
    }
}
