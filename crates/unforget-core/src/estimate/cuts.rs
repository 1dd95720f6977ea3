//! The longest cut of a piece, as a finite automaton.
//!
//! No two neighbouring tokens of a finished byte-pair encoding form a token together, for the encoder would have merged
//! them. So the most tokens of a piece are those of the longest cut in which no neighbours form a known pair or triple.
//! Which cuts can be continued depends only on the lengths of the last tokens (one byte, two, or more) and on how far
//! each kind of cut is behind the best. These are few states, found when the table is made; after that a byte costs one
//! step.

use std::collections::BTreeMap;

/// Number of tokens of the best cuts that end one, two and three bytes ago, each by the length of its last token (1, 2,
/// more), relative to the best of all. `None` if there is no such cut.
type State = [Option<i8>; 9];

/// The table of steps.
pub(super) struct Cuts {
    /// By state and [`input`]: twice the next state, plus 1 if the best cut gains a token.
    steps: Box<[u16]>,
    /// By state: how far the best cut that ends here is behind; `None` if no cut ends here.
    behind: Box<[Option<u8>]>,
}

/// A walk through the table.
#[derive(Clone, Copy, Default)]
pub(super) struct CutWalk {
    state: u16,
    grown: u64,
}

/// The state after the first byte of a piece, which is one token.
const FIRST: State = [Some(0), None, None, Some(-1), None, None, None, None, None];

impl Cuts {
    pub(super) fn new() -> Self {
        let mut numbers = BTreeMap::from([(FIRST, 0u16)]);
        let mut states = vec![FIRST];
        let mut steps = Vec::new();
        let mut at = 0;
        while let Some(&state) = states.get(at) {
            for (pair, triple) in [(false, false), (true, false), (false, true), (true, true)] {
                let (next, grows) = step(state, pair, triple);
                let number = *numbers.entry(next).or_insert_with(|| {
                    states.push(next);
                    (states.len() - 1) as u16
                });
                steps.push(number << 1 | u16::from(grows));
            }
            at += 1;
        }
        let behind = |[one, two, more, ..]: &State| {
            let best = (*one).max(*two).max(*more);
            best.map(i8::unsigned_abs)
        };
        Self { behind: states.iter().map(behind).collect(), steps: steps.into_boxed_slice() }
    }

    /// Adds the next byte.
    ///
    /// * `pair` - whether the byte forms a token with the byte before it.
    /// * `triple` - whether the byte forms a token with the two bytes before it.
    pub(super) fn step(&self, walk: &mut CutWalk, pair: bool, triple: bool) {
        let at = usize::from(walk.state) << 2 | usize::from(triple) << 1 | usize::from(pair);
        let step = self.steps.get(at).copied().unwrap_or_default();
        walk.state = step >> 1;
        walk.grown += u64::from(step & 1);
    }

    /// Tokens of the longest cut of the bytes so far.
    pub(super) fn most(&self, walk: CutWalk) -> u64 {
        let behind = self.behind.get(usize::from(walk.state)).copied().flatten();
        behind.map_or(0, |behind| (1 + walk.grown).saturating_sub(u64::from(behind)))
    }
}

/// The state after a byte, and whether the best cut has one token more.
fn step(state: State, pair: bool, triple: bool) -> (State, bool) {
    let [one1, two1, more1, one2, two2, more2, rest @ ..] = state;
    let unless = |bar: bool, cut: Option<i8>| cut.filter(|_| !bar);
    let and_one = |cut: Option<i8>| cut.map(|cut| cut + 1);
    let one = and_one(more1.max(unless(pair, one1)).max(unless(triple, two1)));
    let two = and_one(two2.max(more2).max(unless(triple, one2)));
    // A token that grows by a byte stays one token.
    let more = and_one(rest.into_iter().max().flatten()).max(more1);
    let next = [one, two, more, one1, two1, more1, one2, two2, more2];
    let best = next.into_iter().max().flatten().unwrap_or_default();
    (next.map(|cut| cut.map(|cut| cut - best)), best > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest cut by its definition, as a number.
    fn longest(bars: &[(bool, bool)]) -> u64 {
        const NONE: i64 = i64::MIN / 2;
        let (mut ago1, mut ago2, mut ago3) = ([1, NONE, NONE], [0, NONE, NONE], [NONE; 3]);
        for &(pair, triple) in bars {
            let ([one1, two1, more1], [one2, two2, more2]) = (ago1, ago2);
            let unless = |bar: bool, cut: i64| if bar { NONE } else { cut };
            let one = 1 + more1.max(unless(pair, one1)).max(unless(triple, two1));
            let two = 1 + two2.max(more2).max(unless(triple, one2));
            let more = 1 + ago3.iter().copied().max().unwrap_or(NONE).max(more1 - 1);
            (ago3, ago2, ago1) = (ago2, ago1, [one, two, more]);
        }
        ago1.iter().copied().max().unwrap_or(0).max(0) as u64
    }

    #[test]
    fn the_table_is_small() {
        let cuts = Cuts::new();
        assert_eq!(cuts.behind.len() * 4, cuts.steps.len(), "all steps of all states");
        assert!(cuts.behind.len() < 1000, "{}", cuts.behind.len());
    }

    proptest::proptest! {
        #[test]
        fn a_walk_counts_what_the_definition_does(
            bars in proptest::collection::vec(proptest::prelude::any::<(bool, bool)>(), 0..60)
        ) {
            let cuts = Cuts::new();
            let mut walk = CutWalk::default();
            for (pair, triple) in &bars {
                cuts.step(&mut walk, *pair, *triple);
            }
            proptest::prop_assert_eq!(cuts.most(walk), longest(&bars));
        }
    }
}
