//! Which hits are worth showing: a floor for those shown unasked, and a test for near-copies.

use std::collections::HashSet;

use crate::terms::{Analyser, Shape, Sink, Term};
use crate::words;

/// Least share of the best score for a hit that is shown unasked.
const FLOOR: f32 = 0.25;

/// Least share of the best score that the reader already has: a lower hit adds little.
const BESIDE: f32 = 0.8;

/// Decides which hits are worth showing unasked: BM25 scores every text that shares one word with a question.
///
/// Where the question itself is stored, it is one of the hits and the measure for the others.
#[derive(Clone, Copy, Debug)]
pub struct Floor {
    best: f32,
    known: f32,
}

impl Floor {
    /// * `best` - the score of the best hit.
    pub const fn new(best: f32) -> Self {
        Self { best, known: 0.0 }
    }

    /// Notes a hit that the reader already has.
    pub fn has(&mut self, score: f32) {
        self.known = self.known.max(score);
    }

    /// Whether a hit is worth showing.
    pub fn takes(&self, score: f32) -> bool {
        score >= self.best * FLOOR && score >= self.known * BESIDE
    }
}

/// The smallest terms of a text: near-copies share nearly all of them (min-wise hashing), and all facts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    terms: Vec<Term>,
    distinct: usize,
    /// Digest of the facts in their order: numbers, paths, identifiers, names.
    facts: u64,
}

/// Terms of a sketch.
const SKETCH_TERMS: usize = 64;

/// An odd factor that spreads the bits of a digest.
const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// Sketches a text; `None` for fewer than four distinct words, too few to prove a copy.
pub fn sketch(analyser: &mut Analyser, text: &str) -> Option<Sketch> {
    let mut found = Distinct::default();
    analyser.text(text, &mut found);
    let distinct = found.terms.len();
    let mut terms: Vec<Term> = found.terms.into_iter().collect();
    terms.sort_unstable();
    terms.truncate(SKETCH_TERMS);
    (distinct >= 4).then_some(Sketch { terms, distinct, facts: found.facts })
}

/// The distinct terms of a text, and the digest of its facts.
#[derive(Default)]
struct Distinct {
    terms: HashSet<Term>,
    facts: u64,
}

impl Sink for Distinct {
    fn term(&mut self, term: Term, shape: Shape, source: &[u8]) {
        // The first word of a sentence has a capital too. To take it for a name keeps two texts apart, and hides nothing.
        let is_name = || {
            let is_mixed =
                source.iter().any(u8::is_ascii_lowercase) && source.iter().any(u8::is_ascii_uppercase);
            let lower = source.to_ascii_lowercase();
            is_mixed && !std::str::from_utf8(&lower).is_ok_and(words::is_stop)
        };
        if matches!(shape, Shape::Number | Shape::Whole) || is_name() {
            let Term(number) = term;
            self.facts = (self.facts.rotate_left(5) ^ u64::from(number)).wrapping_mul(MIX);
        }
        self.terms.insert(term);
    }
}

impl Sketch {
    /// Whether about nine of ten distinct words are common to both, and both have the same numbers, paths, identifiers and
    /// names in the same order: a reader of one then misses no fact of the other.
    pub fn is_near(&self, other: &Self) -> bool {
        if self.facts != other.facts {
            return false;
        }
        let (small, large) = (self.distinct.min(other.distinct), self.distinct.max(other.distinct));
        if small * 10 < large * 9 {
            return false;
        }
        let shared = self.terms.iter().filter(|term| other.terms.binary_search(term).is_ok()).count();
        shared * 20 >= (self.terms.len() + other.terms.len()) * 9
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floors_table() {
        let table = [
            (10.0, None, 9.0, true, "as good as the question itself"),
            (10.0, None, 2.5, true, "a long text with the words of the question"),
            (10.0, None, 1.0, false, "one word of it"),
            (10.0, Some(6.0), 5.0, true, "beside what is shown, as good"),
            (10.0, Some(6.0), 4.0, false, "the answer is shown already"),
            (10.0, Some(1.0), 2.0, false, "what is shown is no answer, and neither is this"),
            (0.0, None, 0.0, true, "no scores"),
        ];
        for (best, known, score, want, why) in table {
            let mut floor = Floor::new(best);
            if let Some(known) = known {
                floor.has(known);
            }
            assert_eq!(floor.takes(score), want, "{why}");
        }
    }
}
