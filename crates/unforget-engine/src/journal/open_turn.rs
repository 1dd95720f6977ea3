//! The turn that a host has begun and not yet ended.
//!
//! The state is stored with every append that changes it, so that a lane that is opened again, here or in another process, goes
//! on within the turn.

use unforget_core::id::Seq;
use unforget_core::mutants::{self, Bug};

use crate::varint::{put, take};

/// Version of the stored form. Other versions are not read.
const VERSION: u64 = 1;

/// The open turn of a lane. Without one, the key is `None` and no entry belongs to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OpenTurn {
    key: Option<String>,
    /// Entries of the turn, ascending: arrays may leave them out.
    entries: Vec<Seq>,
    /// The newest entry of the path when the last turn ended.
    committed: Option<Seq>,
    /// Number of turns that ended.
    ended: u64,
}

impl OpenTurn {
    /// The host's key of the turn.
    pub(super) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Entries that arrays may leave out, ascending.
    pub(super) fn entries(&self) -> &[Seq] {
        &self.entries
    }

    /// The newest entry of the path when the last turn ended.
    pub(super) const fn committed(&self) -> Option<Seq> {
        self.committed
    }

    /// Number of turns that ended.
    pub(super) const fn ended(&self) -> u64 {
        self.ended
    }

    /// Whether a turn is open.
    pub(super) const fn is_open(&self) -> bool {
        self.key.is_some() || !self.entries.is_empty()
    }

    /// Opens a turn.
    pub(super) fn begin(&mut self, key: &str) {
        self.key = Some(key.to_owned());
    }

    /// Ends the turn: from now on arrays have to contain its entries.
    ///
    /// * `head` - the newest entry of the path.
    pub(super) fn end(&mut self, head: Option<Seq>) {
        self.key = None;
        self.ended += 1;
        self.commit(head);
        if !mutants::is(Bug::TightenMissing) {
            self.entries.clear();
        }
    }

    /// The whole path, up to `head`, counts as committed.
    pub(super) const fn commit(&mut self, head: Option<Seq>) {
        self.committed = head;
    }

    /// An entry belongs to the turn.
    pub(super) fn add(&mut self, seq: Seq) {
        self.entries.push(seq);
    }

    /// The path was cut: entries from `end` on are gone from it.
    pub(super) fn cut(&mut self, end: Seq) {
        self.entries.retain(|seq| *seq < end);
    }

    /// The stored form: its entries as runs.
    pub(super) fn encode(&self) -> Vec<u8> {
        let key = self.key.as_deref().map(str::as_bytes);
        let mut out = Vec::with_capacity(32 + key.map_or(0, <[u8]>::len));
        for number in [VERSION, self.ended, self.committed.map_or(0, |seq| seq.0 + 1)] {
            put(&mut out, number);
        }
        let mut last = 0;
        for run in self.entries.chunk_by(|one, next| one.0 + 1 == next.0) {
            if let (Some(first), Some(end)) = (run.first(), run.last()) {
                // A run is never empty, and no gap but the first is 0.
                put(&mut out, run.len() as u64);
                put(&mut out, first.0 - last);
                last = end.0 + 1;
            }
        }
        put(&mut out, 0);
        put(&mut out, key.map_or(0, |key| key.len() as u64 + 1));
        out.extend_from_slice(key.unwrap_or_default());
        out
    }

    /// Reads the stored form; `None` for other bytes, and for a turn of other entries.
    ///
    /// * `next` - number of stored entries.
    pub(super) fn decode(mut bytes: &[u8], next: u64) -> Option<Self> {
        let from = &mut bytes;
        if take(from)? != VERSION {
            return None;
        }
        let (ended, committed) = (take(from)?, take(from)?);
        let mut turn = Self { ended, committed: committed.checked_sub(1).map(Seq), ..Self::default() };
        let mut last: u64 = 0;
        loop {
            let count = take(from)?;
            if count == 0 {
                break;
            }
            let start = last.checked_add(take(from)?)?;
            last = start.checked_add(count).filter(|end| *end <= next)?;
            turn.entries.extend((start..last).map(Seq));
        }
        let length = take(from)?;
        let key = String::from_utf8(from.to_vec())
            .ok()
            .filter(|key| (key.len() as u64) == length.saturating_sub(1))?;
        turn.key = (length > 0).then_some(key);
        (committed <= next).then_some(turn)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    prop_compose! {
        fn turns()(
            key in prop::option::of(".{0,9}"), entries in prop::collection::btree_set(0_u64..40, 0..30),
            committed in prop::option::of(0_u64..40), ended in any::<u64>(),
        ) -> OpenTurn {
            let entries = entries.into_iter().map(Seq).collect();
            OpenTurn { key, entries, committed: committed.map(Seq), ended }
        }
    }

    proptest! {
        #[test]
        fn comes_back_and_neither_half_of_it_nor_one_of_other_entries(turn in turns(), cut in 0.0..1.0) {
            let bytes = turn.encode();
            let half = bytes.get(..(bytes.len() as f64 * cut) as usize).unwrap_or_default();
            prop_assert_eq!(OpenTurn::decode(half, 40), None);
            prop_assert_eq!(OpenTurn::decode(&bytes, 40), Some(turn.clone()));
            let newest = turn.entries.last().copied().max(turn.committed);
            if let Some(Seq(newest)) = newest {
                prop_assert_eq!(OpenTurn::decode(&bytes, newest), None);
            }
        }

        #[test]
        fn other_bytes_are_refused_or_sound(mut bytes in prop::collection::vec(any::<u8>(), 0..60), numbers in 0_usize..60) {
            bytes.iter_mut().take(numbers).for_each(|byte| *byte &= 3);
            if let Some(turn) = OpenTurn::decode(&bytes, 1_000) {
                prop_assert!(turn.entries.is_sorted_by(|one, next| one < next));
            }
        }
    }
}
