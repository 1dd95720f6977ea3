//! Sayings in memory.

use std::ops::Range;

use crate::port::SayingRow;

/// The sayings of a conversation, by number.
#[derive(Default)]
pub(super) struct HeldSayings {
    pub(super) rows: Vec<SayingRow>,
}

impl HeldSayings {
    pub(super) fn put(&mut self, sayings: &[SayingRow]) -> u64 {
        let before = self.rows.len();
        for saying in sayings {
            if self.rows.iter().all(|row| row.digest != saying.digest) {
                let number = self.rows.last().map_or(0, |row| row.number) + 1;
                self.rows.push(SayingRow { number, ..saying.clone() });
            }
        }
        (self.rows.len() - before) as u64
    }

    pub(super) fn purge(&mut self, seqs: &Range<u64>) {
        let is_gone = |row: &SayingRow| {
            row.span.is_some_and(|(first, last)| seqs.contains(&first.0) && seqs.contains(&last.0))
        };
        self.rows.retain(|row| !is_gone(row));
    }
}
