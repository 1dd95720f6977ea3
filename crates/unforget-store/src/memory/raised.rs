//! Raised spans in memory.

use std::ops::Range;

use unforget_core::id::Timestamp;

use crate::port::RaisedRow;

/// The raised spans of a conversation, by number.
#[derive(Default)]
pub(super) struct HeldRaised {
    pub(super) rows: Vec<RaisedRow>,
}

impl HeldRaised {
    pub(super) fn put(&mut self, raised: &RaisedRow) -> u64 {
        let number = raised.number.max(self.rows.last().map_or(0, |row| row.number) + 1);
        self.rows.push(RaisedRow { number, withdrawn: None, ..raised.clone() });
        number
    }

    pub(super) fn withdraw(&mut self, number: u64, now: Timestamp) -> bool {
        let standing = self.rows.iter_mut().find(|row| row.number == number && row.is_standing());
        standing.map(|row| row.withdrawn = Some(now)).is_some()
    }

    pub(super) fn purge(&mut self, seqs: &Range<u64>) {
        self.rows.retain(|row| row.span.0.0 < seqs.start || row.span.1.0 >= seqs.end);
    }
}
