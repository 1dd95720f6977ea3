//! One ruler for tokens.
//!
//! Every count is a pair: an expected value, and an upper bound for admission. For a model with a known tokeniser
//! (`unforget-engine`) both are exact; for all others the class-aware estimator gives them.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A number of tokens: the expected value and a bound for the true value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens {
    /// Best guess; used to schedule work.
    pub expected: u64,
    /// Upper bound; used to admit. Never below `expected`.
    pub upper: u64,
}

impl Tokens {
    /// An exactly known count.
    pub const fn exact(count: u64) -> Self {
        Self { expected: count, upper: count }
    }
}

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self { expected: self.expected + other.expected, upper: self.upper + other.upper }
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Tokens {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::default(), Add::add)
    }
}

/// The largest common size limit with which all parts fit: parts below the limit stay whole, and their unused room goes
/// to the larger ones. `None` if all parts fit whole.
///
/// * `sizes` - of the parts, in any order.
/// * `room` - for all of them, in the same unit.
///
/// Cost: O(n log n).
pub fn fair_share(mut sizes: Vec<u64>, room: u64) -> Option<u64> {
    sizes.sort_unstable();
    let (mut left, mut count) = (room, sizes.len() as u64);
    for size in sizes {
        let each = left / count.max(1);
        if size > each {
            return Some(each);
        }
        (left, count) = (left - size, count - 1);
    }
    None
}

/// Counts the tokens of text for one model.
pub trait Ruler {
    /// Tokens of `text` on its own. The sum over pieces falls below the count of the whole by no more than the pieces'
    /// seams, which the upper bound covers.
    fn count(&self, text: &str) -> Tokens;

    /// Name for certificates, such as `o200k_base` or `class-estimate`.
    fn name(&self) -> &'static str;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fair_share_table() {
        let table: [(&[u64], u64, Option<u64>, &str); 6] = [
            (&[], 10, None, "none"),
            (&[10], 10, None, "one that fits"),
            (&[11], 10, Some(10), "one that does not"),
            (&[50, 1, 50], 21, Some(10), "what the small one leaves goes to the others"),
            (&[5, 5], 10, None, "to the unit"),
            (&[7, 7, 7], 0, Some(0), "no room"),
        ];
        for (sizes, room, want, why) in table {
            assert_eq!(fair_share(sizes.to_vec(), room), want, "{why}");
        }
    }

    proptest! {
        /// All parts fit at their share.
        #[test]
        fn parts_fit_at_their_share(sizes in prop::collection::vec(0_u64..1_000, 0..20), room in 0_u64..8_000) {
            let share = fair_share(sizes.clone(), room).unwrap_or(u64::MAX);
            prop_assert!(sizes.iter().map(|size| size.min(&share)).sum::<u64>() <= room);
        }
    }
}
