//! An estimate of tokens from character classes, for models whose tokeniser is not known.
//!
//! One pass over the bytes cuts the text as modern byte-pair tokenisers do (words at case changes, digits in
//! threes, runs of punctuation, runs of white space, characters of other scripts) and gives each piece a
//! bound.

mod pieces;
mod scan;

use crate::tokens::{Ruler, Tokens};

/// Tokens added to the upper bound of any text that is not empty: where texts are put side by side, the
/// pieces that meet may take more tokens together than apart.
pub const SEAM_TOKENS: u64 = 2;

/// The class-aware estimator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassEstimate;

impl Ruler for ClassEstimate {
    fn count(&self, text: &str) -> Tokens {
        if text.is_empty() {
            return Tokens::default();
        }
        let (sixteenths, bound) = scan::count(text.as_bytes());
        let expected = (sixteenths + 8).div_euclid(16).max(1);
        Tokens { expected, upper: (bound + SEAM_TOKENS).max(expected) }
    }

    fn name(&self) -> &'static str {
        "class-estimate"
    }
}
