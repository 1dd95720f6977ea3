//! The active path of a lane: from its newest entry back along the parents.

use std::ops::Range;

use unforget_core::id::Seq;

/// Follows the parents from the newest of the given rows as far as the rows reach. Returns the seqs in ascending order,
/// and the parent of the first one.
pub(crate) fn follow(rows: Vec<(Seq, Option<Seq>)>) -> (Vec<u64>, Option<Seq>) {
    let mut path = Vec::new();
    let mut want = rows.last().map(|(seq, _)| *seq);
    for (seq, parent) in rows.into_iter().rev() {
        if Some(seq) == want {
            path.push(seq.0);
            want = parent;
        }
    }
    path.reverse();
    (path, want)
}

/// Ascending numbers as consecutive ranges.
pub(crate) fn runs_of(numbers: &[u64]) -> Vec<Range<u64>> {
    let mut runs: Vec<Range<u64>> = Vec::new();
    for &n in numbers {
        match runs.last_mut() {
            Some(run) if run.end == n => run.end += 1,
            _ => runs.push(n..n + 1),
        }
    }
    runs
}

/// Splits a range into parts of at most `most` numbers.
pub(crate) fn parts(run: Range<u64>, most: u64) -> impl Iterator<Item = Range<u64>> {
    run.clone().step_by(most.max(1) as usize).map(move |from| from..run.end.min(from + most.max(1)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, reason = "tables")]

    use super::*;

    #[test]
    fn paths_table() {
        let table: &[(&[(u64, Option<u64>)], &[u64], Option<u64>, &str)] = &[
            (&[], &[], None, "nothing"),
            (&[(0, None), (1, Some(0))], &[0, 1], None, "from the root"),
            (&[(5, Some(4)), (6, Some(5))], &[5, 6], Some(4), "behind an entry"),
            (&[(5, Some(4)), (6, Some(5)), (7, Some(4))], &[7], Some(4), "a branch that was left"),
            (&[(5, Some(4)), (6, Some(2))], &[6], Some(2), "back beyond where it began"),
            (&[(5, Some(4)), (6, Some(5)), (7, None)], &[7], None, "a new beginning"),
            (&[(5, Some(4)), (7, Some(5)), (8, Some(5))], &[5, 8], Some(4), "a leaf beside the path"),
        ];
        for (rows, path, before, why) in table {
            let rows = rows.iter().map(|(seq, parent)| (Seq(*seq), parent.map(Seq))).collect();
            assert_eq!(follow(rows), (path.to_vec(), before.map(Seq)), "{why}");
        }
        assert_eq!(runs_of(&[1, 2, 3, 7, 9, 10]), [1..4, 7..8, 9..11]);
    }
}
