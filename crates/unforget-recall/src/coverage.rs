//! How much of a query a piece of text holds, by the rarity of the query's words.

use std::collections::{BTreeSet, HashMap};

use crate::near::near;
use crate::terms::{Analyser, Shape, Sink, Term};

/// A term of a query and what it weighs among the entries that were searched.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TermWeight {
    /// The term.
    pub term: Term,
    /// Weight in the query times rarity; 0 or more.
    pub weight: f32,
}

/// Weighs texts by a query.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// Share of the whole query, by its own words.
    own: HashMap<Term, f32>,
    /// Share and word of the query, by near words.
    near: HashMap<Term, NearShare>,
}

/// What a near word stands for.
#[derive(Clone, Copy, Debug)]
struct NearShare {
    word: Term,
    share: f32,
}

impl Coverage {
    /// * `weights` - the terms of the query; see [`crate::rank::Ranked::weights`].
    /// * `nearness` - factor for near words, beside their cosine.
    pub fn new(weights: &[TermWeight], nearness: f32) -> Self {
        let total: f32 = weights.iter().map(|one| one.weight).sum();
        let mut coverage = Self::default();
        if total <= 0.0 {
            return coverage;
        }
        for one in weights {
            coverage.own.insert(one.term, one.weight / total);
        }
        for one in weights {
            for word in near(one.term).filter(|word| !coverage.own.contains_key(&word.term)) {
                let new = NearShare { word: one.term, share: nearness * word.cosine * one.weight / total };
                let best = coverage.near.entry(word.term).or_insert(new);
                if new.share > best.share {
                    *best = new;
                }
            }
        }
        coverage
    }

    /// Share of the query that a text holds, from 0 to 1. Cost: linear.
    pub fn of(&self, analyser: &mut Analyser, text: &str) -> f32 {
        self.held(analyser, text).share
    }

    /// What a text holds of the query. Cost: linear.
    pub fn held(&self, analyser: &mut Analyser, text: &str) -> HeldQuery {
        let mut seen = Seen { coverage: self, best: HashMap::new(), own: BTreeSet::new() };
        analyser.text(text, &mut seen);
        HeldQuery { share: seen.best.values().fold(0.0, |sum, share| sum + share), terms: seen.own }
    }
}

/// What a text holds of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldQuery {
    /// Share of the query, near words included, from 0 to 1.
    pub share: f32,
    /// The query's own terms that the text has.
    pub terms: BTreeSet<Term>,
}

/// The best share of each word of the query so far.
struct Seen<'a> {
    coverage: &'a Coverage,
    best: HashMap<Term, f32>,
    /// Words of the query itself.
    own: BTreeSet<Term>,
}

impl Sink for Seen<'_> {
    fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
        let own = self.coverage.own.get(&term).map(|share| (term, *share));
        self.own.extend(own.map(|(term, _)| term));
        let near = || self.coverage.near.get(&term).map(|near| (near.word, near.share));
        if let Some((word, share)) = own.or_else(near) {
            let best = self.best.entry(word).or_default();
            *best = best.max(share);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct All(Vec<Term>);

    impl Sink for All {
        fn term(&mut self, term: Term, _: Shape, _: &[u8]) {
            self.0.push(term);
        }
    }

    #[test]
    fn coverage_table() {
        let mut analyser = Analyser::new();
        let mut words = All(Vec::new());
        analyser.text("doctor port", &mut words);
        let weights: Vec<TermWeight> =
            words.0.iter().zip([3.0, 1.0]).map(|(term, weight)| TermWeight { term: *term, weight }).collect();
        let coverage = Coverage::new(&weights, 0.5);
        let table = [
            ("the doctor of the port", 1.0..=1.0, "both"),
            ("a doctor, doctors, the doctor", 0.75..=0.75, "one, several times"),
            ("the port", 0.25..=0.25, "the common one"),
            ("a physician", 0.2..=0.4, "a near word counts less"),
            ("a physician and a doctor", 0.75..=0.75, "a near word adds nothing to the word"),
            ("the weather", 0.0..=0.0, "neither"),
            ("", 0.0..=0.0, "nothing"),
        ];
        for (text, want, why) in table {
            let found = coverage.of(&mut analyser, text);
            assert!(want.contains(&found), "{why}: {text}: {found}");
        }
        let held = |text: &str, analyser: &mut Analyser| coverage.held(analyser, text).terms;
        assert_eq!(
            held("a physician of the port", &mut analyser),
            BTreeSet::from([words.0[1]]),
            "near words are no terms"
        );
        assert_eq!(Coverage::new(&[], 0.5).of(&mut analyser, "doctor").to_bits(), 0.0_f32.to_bits());
    }
}
