//! Entries that a person put back: they stand in the prompt word for word although a summary covers them.
//!
//! A span is raised by a recorded decision and stands until it is taken back. Which of its entries a prompt shows depends on
//! the decisions and on the last break alone: those that the summaries cover, each once. An entry behind the summaries stands
//! there already.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::id::Seq;

/// Most spans of a conversation that stand raised at the same time.
pub const RAISED_MAX: usize = 32;

/// A span of entries that a person put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RaisedSpan {
    /// Number of the decision within its conversation, ascending with time.
    pub number: u64,
    /// First and last entry.
    pub span: (Seq, Seq),
}

/// What a prompt shows of raised entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RaisedCount {
    /// Shown word for word.
    pub whole: u64,
    /// Shown with long texts cut.
    pub short: u64,
    /// Not shown, for want of room.
    pub left_out: u64,
}

impl RaisedCount {
    /// Number of raised entries.
    pub const fn total(&self) -> u64 {
        self.whole + self.short + self.left_out
    }

    /// Number of raised entries that are shown.
    pub const fn shown(&self) -> u64 {
        self.whole + self.short
    }
}

/// The entries that summaries cover and raised spans bring back, as disjoint ranges of seqs. The newest decision comes first:
/// it has the first claim to room.
///
/// * `covered` - the last entry that the summaries stand for; `None` without summaries.
/// * `carried` - the covered message that stands behind the summaries anyway.
///
/// Cost: O(spans²).
pub fn wanted(spans: &[RaisedSpan], covered: Option<Seq>, carried: Option<Seq>) -> Vec<Range<u64>> {
    let Some(covered) = covered else { return Vec::new() };
    let mut newest_first: Vec<&RaisedSpan> = spans.iter().collect();
    newest_first.sort_by_key(|raised| std::cmp::Reverse(raised.number));
    let mut taken: Vec<Range<u64>> = carried.map(|seq| seq.0..seq.0.saturating_add(1)).into_iter().collect();
    let mut wanted = Vec::new();
    for RaisedSpan { span: (first, last), .. } in newest_first {
        let range = first.0..last.0.min(covered.0).saturating_add(1);
        let new = without(range, &taken);
        taken.extend(new.iter().cloned());
        wanted.extend(new);
    }
    wanted
}

/// The parts of a range outside other ranges, ascending.
fn without(range: Range<u64>, taken: &[Range<u64>]) -> Vec<Range<u64>> {
    let inside = |at: &u64| range.start < *at && *at < range.end;
    let cuts: BTreeSet<u64> = taken.iter().flat_map(|one| [one.start, one.end]).filter(inside).collect();
    let mut parts: Vec<Range<u64>> = Vec::new();
    let mut from = range.start;
    for to in cuts.into_iter().chain([range.end]) {
        if from < to && !taken.iter().any(|one| one.contains(&from)) {
            parts.push(from..to);
        }
        from = to;
    }
    parts
}

/// Number of the newest pieces of a span that fit, without a gap between them.
///
/// * `room` - in tokens; what the pieces take is taken off.
/// * `newest_first` - upper bounds of the pieces. Read up to the first one that does not fit.
pub fn newest_within(room: &mut u64, newest_first: impl Iterator<Item = u64>) -> usize {
    let mut kept = 0;
    for size in newest_first {
        let Some(left) = room.checked_sub(size) else { break };
        *room = left;
        kept += 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init, clippy::type_complexity, reason = "tables of ranges")]

    use proptest::prelude::*;

    use super::*;

    fn spans(list: &[(u64, u64)]) -> Vec<RaisedSpan> {
        let numbered = (1_u64..).zip(list);
        numbered
            .map(|(number, (first, last))| RaisedSpan { number, span: (Seq(*first), Seq(*last)) })
            .collect()
    }

    #[test]
    fn wanted_table() {
        let table: [(&[(u64, u64)], Option<u64>, Option<u64>, Vec<Range<u64>>, &str); 9] = [
            (&[(3, 9)], None, None, vec![], "nothing is covered: all of it stands in the tail"),
            (&[(3, 9)], Some(20), None, vec![3..10], "all of it is covered"),
            (&[(3, 9)], Some(5), None, vec![3..6], "the rest stands in the tail"),
            (&[(7, 9)], Some(5), None, vec![], "it stands in the tail"),
            (&[(3, 9)], Some(20), Some(5), vec![3..5, 6..10], "the carried message stands once"),
            (
                &[(3, 9), (8, 12)],
                Some(20),
                None,
                vec![8..13, 3..8],
                "the newest decision first, nothing twice",
            ),
            (&[(3, 9), (1, 20)], Some(20), None, vec![1..21], "a wider span takes an older one in"),
            (
                &[(1, 20), (3, 9)],
                Some(20),
                None,
                vec![3..10, 1..3, 10..21],
                "the newest one has the first claim",
            ),
            (&[(5, 5), (5, 5)], Some(20), Some(5), vec![], "the carried message alone"),
        ];
        for (list, covered, carried, want, why) in table {
            assert_eq!(wanted(&spans(list), covered.map(Seq), carried.map(Seq)), want, "{why}");
        }
        assert_eq!(wanted(&spans(&[(0, u64::MAX)]), Some(Seq(u64::MAX)), None), [0..u64::MAX], "no overflow");
    }

    #[test]
    fn room_table() {
        let table: [(u64, &[u64], usize, u64, &str); 4] = [
            (10, &[4, 4, 4], 2, 2, "the third does not fit"),
            (12, &[4, 4, 4], 3, 0, "to the token"),
            (10, &[4, 7, 1], 1, 6, "no gap between them"),
            (3, &[4], 0, 3, "none"),
        ];
        for (room, sizes, want, left, why) in table {
            let mut rest = room;
            assert_eq!((newest_within(&mut rest, sizes.iter().copied()), rest), (want, left), "{why}");
        }
    }

    proptest! {
        /// No entry twice, none of the tail, not the carried one, and every covered entry of every span.
        #[test]
        fn every_covered_entry_of_a_span_is_wanted_once(
            list in prop::collection::vec((0_u64..40, 0_u64..12), 0..8),
            covered in prop::option::of(0_u64..40),
            carried in prop::option::of(0_u64..40),
        ) {
            let list: Vec<(u64, u64)> = list.into_iter().map(|(first, more)| (first, first + more)).collect();
            let found: Vec<u64> = wanted(&spans(&list), covered.map(Seq), carried.map(Seq)).into_iter().flatten().collect();
            let is_wanted = |seq: &u64| {
                covered.is_some_and(|covered| *seq <= covered)
                    && carried != Some(*seq)
                    && list.iter().any(|(first, last)| (first..=last).contains(&seq))
            };
            let want: Vec<u64> = (0..60).filter(is_wanted).collect();
            let mut sorted = found;
            sorted.sort_unstable();
            prop_assert_eq!(sorted, want);
        }
    }
}
