//! One ruler for tokens.
//!
//! Every count is a pair: what we expect, and an upper bound that admission relies on. Where a
//! model's tokeniser is known (`unforget-engine`), both are exact; elsewhere the class-aware
//! estimator below gives them.

use std::iter::Sum;
use std::ops::{Add, AddAssign};

/// A number of tokens: the expected value and a bound that the true value does not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tokens {
    /// Best guess; used to schedule work.
    pub expected: u64,
    /// Upper bound; used to admit. Never below `expected`.
    pub upper: u64,
}

impl Tokens {
    /// A count that is known exactly.
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

/// Counts the tokens of text for one model.
pub trait Ruler {
    /// Tokens of `text` on its own. The sum over pieces is never below the count of the whole
    /// by more than the pieces' seams, which the upper bound covers.
    fn count(&self, text: &str) -> Tokens;

    /// Name for certificates, such as `o200k_base` or `class-estimate`.
    fn name(&self) -> &'static str;
}
