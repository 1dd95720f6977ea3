//! Verdicts in memory.

use std::ops::Range;

use unforget_core::id::Timestamp;

use crate::port::VerdictRow;

/// The verdicts of a conversation, by number.
#[derive(Default)]
pub(super) struct HeldVerdicts {
    pub(super) rows: Vec<VerdictRow>,
}

impl HeldVerdicts {
    pub(super) fn put(&mut self, verdict: &VerdictRow) -> u64 {
        let number = verdict.number.max(self.rows.last().map_or(0, |row| row.number) + 1);
        self.rows.push(VerdictRow { number, withdrawn: None, ..verdict.clone() });
        number
    }

    pub(super) fn withdraw(&mut self, number: u64, now: Timestamp) -> bool {
        let standing = self.rows.iter_mut().find(|row| row.number == number && row.is_standing());
        standing.map(|row| row.withdrawn = Some(now)).is_some()
    }

    pub(super) fn purge(&mut self, seqs: &Range<u64>) {
        self.rows.retain(|row| !seqs.contains(&row.seq.0));
    }
}
