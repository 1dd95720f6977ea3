//! The state of a journal's path: its active entries, and where the journal ends.
//!
//! The state is a fold over the rows. It is stored from time to time, so that opening a lane need not read all rows: any
//! stored state and the rows behind it give the state of all rows. Without a stored state, all rows are read.

use std::collections::BTreeSet;
use std::ops::Range;

use unforget_core::digest::{Chain, Digest};
use unforget_core::entry::Origin;
use unforget_core::id::Seq;
use unforget_store::EntryRow;

use crate::varint::{put, take};

/// Version of the stored form. Other versions are not read.
const VERSION: u64 = 1;

/// Minimum number of rows between two stored states.
const BEHIND: u64 = 32;

/// Runs or volatile entries whose stored form costs as much as one row.
const PER_ROW: usize = 16;

/// The active path, and the end of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PathState {
    /// Number of rows.
    pub(super) next: u64,
    /// Raw chain after the last row.
    pub(super) chain: Chain,
    /// Bytes of the journal.
    pub(super) bytes: u64,
    /// Number of cuts of the path so far.
    pub(super) generation: u64,
    /// The newest visible entry, on the path or not: a line without `after` follows it.
    pub(super) newest: Option<Seq>,
    /// The active path, as ascending runs.
    runs: Vec<Range<u64>>,
    /// Number of entries on the path.
    length: u64,
    /// Entries that arrays may leave out.
    volatile: BTreeSet<Seq>,
}

/// Whether an entry stands on the path. A summary by the host stands where it came in, as in a transcript.
pub(super) fn stands_on_path(row: &EntryRow) -> bool {
    row.origin.is_visible() || row.origin == Origin::HostSummary
}

impl PathState {
    /// The state before the first row.
    pub(super) fn new() -> Self {
        Self {
            next: 0,
            chain: Chain::root(),
            bytes: 0,
            generation: 0,
            newest: None,
            runs: Vec::new(),
            length: 0,
            volatile: BTreeSet::new(),
        }
    }

    /// The active path, as ascending runs.
    pub(super) fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }

    /// Number of entries on the path.
    pub(super) const fn length(&self) -> u64 {
        self.length
    }

    /// Entries of the path that the host does not keep.
    pub(super) const fn volatile(&self) -> &BTreeSet<Seq> {
        &self.volatile
    }

    /// The newest entry of the path.
    pub(super) fn head(&self) -> Option<Seq> {
        self.runs.last().map(|run| Seq(run.end - 1))
    }

    /// Takes the next row. A row that does not follow the head cuts the path back to its parent. O(runs cut), amortised O(1).
    pub(super) fn step(&mut self, row: &EntryRow) {
        if row.parent != self.head() {
            self.generation += 1;
            let end = row.parent.map_or(0, |seq| seq.0 + 1);
            self.cut(end);
        }
        let Seq(seq) = row.seq;
        if stands_on_path(row) {
            self.newest = Some(row.seq);
            self.length += 1;
            match self.runs.last_mut() {
                Some(run) if run.end == seq => run.end += 1,
                _ => self.runs.push(seq..seq + 1),
            }
        }
        if row.origin == Origin::Volatile {
            self.volatile.insert(row.seq);
        }
        (self.next, self.chain, self.bytes) = (seq + 1, row.chain, row.bytes.end);
    }

    fn cut(&mut self, end: u64) {
        while let Some(last) = self.runs.pop_if(|run| run.end > end) {
            self.length -= last.end - last.start.max(end);
            if last.start < end {
                self.runs.push(last.start..end);
            }
        }
        self.volatile.split_off(&Seq(end));
    }

    /// Whether writing a state costs less than the rows since the last stored state did.
    pub(super) fn is_due(&self, stored: u64) -> bool {
        let size = (self.runs.len() + self.volatile.len()) / PER_ROW;
        self.next.saturating_sub(stored) >= BEHIND + size as u64
    }

    /// The stored form: about three bytes per run.
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + 4 * self.runs.len() + 2 * self.volatile.len());
        let newest = self.newest.map_or(0, |seq| seq.0 + 1);
        for number in [VERSION, self.next, self.bytes, self.generation, newest] {
            put(&mut out, number);
        }
        out.extend_from_slice(&self.chain.0.0);
        put(&mut out, self.runs.len() as u64);
        let mut last = 0;
        for run in &self.runs {
            put(&mut out, run.start - last);
            put(&mut out, run.end - run.start);
            last = run.end;
        }
        put(&mut out, self.volatile.len() as u64);
        last = 0;
        for Seq(seq) in &self.volatile {
            put(&mut out, seq - last);
            last = *seq;
        }
        out
    }

    /// Reads the stored form; `None` for other bytes.
    pub(super) fn decode(mut bytes: &[u8]) -> Option<Self> {
        let from = &mut bytes;
        if take(from)? != VERSION {
            return None;
        }
        let (next, bytes, generation, newest) = (take(from)?, take(from)?, take(from)?, take(from)?);
        let (chain, rest) = from.split_first_chunk::<32>()?;
        *from = rest;
        let mut path = Self { next, bytes, generation, chain: Chain(Digest(*chain)), ..Self::new() };
        path.newest = newest.checked_sub(1).map(Seq);
        let mut last: u64 = 0;
        for at in 0..take(from)? {
            let (gap, length) = (take(from)?, take(from)?);
            let start = last.checked_add(gap).filter(|start| at == 0 || *start > last)?;
            last = start.checked_add(length).filter(|end| *end > start && *end <= next)?;
            path.runs.push(start..last);
            path.length += length;
        }
        let mut last: u64 = 0;
        for at in 0..take(from)? {
            last = last.checked_add(take(from)?).filter(|seq| (at == 0 || *seq > last) && *seq < next)?;
            path.volatile.insert(Seq(last));
        }
        from.is_empty().then_some(path)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use proptest::prelude::*;
    use unforget_core::entry::{Role, Status};
    use unforget_core::id::{Generation, Position, Thread};
    use unforget_core::tokens::Tokens;

    use super::*;

    /// Rows that follow the head, an earlier entry or nothing; some are bookkeeping, some volatile.
    fn rows(choices: &[(u8, u64)]) -> Vec<EntryRow> {
        let mut path = PathState::new();
        let mut rows = Vec::new();
        for (at, (kind, to)) in choices.iter().enumerate() {
            let origin = match kind % 5 {
                0 => Origin::Bookkeeping,
                1 => Origin::Volatile,
                _ => Origin::Human,
            };
            let places: Vec<u64> = path.runs.iter().cloned().flatten().collect();
            let parent = match kind / 5 {
                0 if places.is_empty() => None,
                0 => places.get(*to as usize % places.len()).map(|seq| Seq(*seq)),
                1 => None,
                _ => path.head(),
            };
            let row = row(at as u64, parent, origin);
            path.step(&row);
            rows.push(row);
        }
        rows
    }

    fn row(seq: u64, parent: Option<Seq>, origin: Origin) -> EntryRow {
        EntryRow {
            seq: Seq(seq),
            generation: Generation(0),
            position: Position(seq),
            parent,
            thread: Thread(0),
            role: Role::User,
            origin,
            status: Status::Complete,
            host_id: None,
            time: None,
            tokens: Tokens::exact(1),
            stubbed: Tokens::exact(1),
            chain: Chain(Digest::of(&seq.to_le_bytes())),
            content: Digest([0; 32]),
            bytes: seq * 10..seq * 10 + 9,
            purged: false,
        }
    }

    fn fold(mut path: PathState, rows: &[EntryRow]) -> PathState {
        for row in rows {
            path.step(row);
        }
        path
    }

    proptest! {
        #[test]
        fn a_stored_state_and_the_rows_behind_it_are_all_rows(
            choices in prop::collection::vec((0_u8..30, any::<u64>()), 0..120), at in 0_usize..120,
        ) {
            let rows = rows(&choices);
            let (before, behind) = rows.split_at(at.min(rows.len()));
            let all = fold(PathState::new(), &rows);
            let stored = fold(PathState::new(), before).encode();
            prop_assert_eq!(fold(PathState::decode(&stored).unwrap(), behind), all.clone());
            let places: Vec<u64> = all.runs.iter().cloned().flatten().collect();
            prop_assert_eq!(all.length, places.len() as u64);
            prop_assert!(all.volatile.iter().all(|seq| places.contains(&seq.0)));
        }

        #[test]
        fn other_bytes_are_refused_or_sound(mut bytes in prop::collection::vec(any::<u8>(), 0..90), numbers in 0_usize..90) {
            bytes.iter_mut().take(numbers).for_each(|byte| *byte &= 3);
            if let Some(path) = PathState::decode(&bytes) {
                prop_assert!(path.runs.windows(2).all(|two| matches!(two, [a, b] if a.end < b.start)));
                prop_assert!(path.runs.last().is_none_or(|run| run.end <= path.next));
            }
        }

        #[test]
        fn half_a_state_is_refused(choices in prop::collection::vec((0_u8..30, any::<u64>()), 1..60), cut in 0.0..1.0) {
            let bytes = fold(PathState::new(), &rows(&choices)).encode();
            let half = bytes.get(..(bytes.len() as f64 * cut) as usize).unwrap_or_default();
            prop_assert_eq!(PathState::decode(half), None);
        }
    }

    #[test]
    fn a_state_is_stored_when_it_costs_less_than_the_rows() {
        let choices: Vec<_> = (0..4_000).map(|at| (if at % 2 == 0 { 10 } else { 12 }, 0)).collect();
        let rows = rows(&choices);
        let (mut path, mut stored, mut written) = (PathState::new(), 0, 0);
        for row in &rows {
            path.step(row);
            if path.is_due(stored) {
                (stored, written) = (path.next, written + path.encode().len());
            }
        }
        assert!(path.next - stored < 200, "{} rows would be read", path.next - stored);
        assert!(written < 64 * rows.len(), "{written} bytes for {} rows", rows.len());
    }
}
