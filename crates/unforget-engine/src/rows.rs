//! Stored rows and bytes of long ranges, read in bounded steps.

use std::ops::Range;

use unforget_core::id::{ConversationId, Seq};
use unforget_core::pin::{PinError, Pins};
use unforget_store::{EntryRow, Raw, SaidRows, Store, StoreError};

/// Rows that one step reads.
const STEP: u64 = 1_024;

/// Maximum bytes of bodies read at once; a larger entry is read by itself.
const READ_BYTES: u64 = 4 * 1024 * 1024;

type StoreRead<T> = Result<T, StoreError>;

/// Rows of ranges of entries, in the given order, clamped to the stored ones. The reader stops where its caller does,
/// and holds one step in memory.
pub(crate) fn stored_rows<'a>(
    store: &'a dyn Store,
    id: ConversationId,
    runs: impl IntoIterator<Item = Range<u64>> + 'a,
) -> impl Iterator<Item = StoreRead<EntryRow>> + 'a {
    RowSteps::new(store, id, runs).flat_map(each)
}

/// Entries of ranges in portions of at most 4 MiB of bodies, or one entry.
pub(crate) fn stored_portions<'a>(
    store: &'a dyn Store,
    id: ConversationId,
    runs: impl IntoIterator<Item = Range<u64>> + 'a,
) -> impl Iterator<Item = StoreRead<Portion>> + 'a {
    let cut = |rows: StoreRead<Vec<EntryRow>>| each(rows.map(portions));
    RowSteps::new(store, id, runs).flat_map(cut)
}

/// Neighbouring entries that are read together.
pub(crate) struct Portion {
    /// Their rows; at least one.
    pub(crate) rows: Vec<EntryRow>,
}

impl Portion {
    /// The range of the entries.
    pub(crate) fn seqs(&self) -> Range<u64> {
        let first = self.rows.first().map_or(0, |row| row.seq.0);
        first..self.rows.last().map_or(first, |row| row.seq.0 + 1)
    }

    /// Their bytes as received.
    pub(crate) fn raw(&self, store: &dyn Store, id: ConversationId) -> StoreRead<Vec<Raw>> {
        store.raw(id, self.seqs())
    }
}

/// The row of one entry, if it is stored.
pub(crate) fn stored_row(store: &dyn Store, id: ConversationId, seq: Seq) -> StoreRead<Option<EntryRow>> {
    Ok(store.rows(id, seq.0..seq.0.saturating_add(1))?.pop())
}

/// The bytes of one entry, if it is stored.
pub(crate) fn stored_raw(store: &dyn Store, id: ConversationId, seq: Seq) -> StoreRead<Option<Raw>> {
    Ok(store.raw(id, seq.0..seq.0.saturating_add(1))?.pop())
}

/// Steps over ranges of rows.
struct RowSteps<'a, I> {
    store: &'a dyn Store,
    id: ConversationId,
    runs: I,
    /// What is left of the current range.
    rest: Range<u64>,
}

impl<'a, I: Iterator<Item = Range<u64>>> RowSteps<'a, I> {
    fn new(store: &'a dyn Store, id: ConversationId, runs: impl IntoIterator<IntoIter = I>) -> Self {
        Self { store, id, runs: runs.into_iter(), rest: 0..0 }
    }
}

impl<I: Iterator<Item = Range<u64>>> Iterator for RowSteps<'_, I> {
    type Item = StoreRead<Vec<EntryRow>>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.rest.is_empty() {
            self.rest = self.runs.next()?;
        }
        let Range { start, end } = self.rest;
        let to = end.min(start.saturating_add(STEP));
        let rows = self.store.rows(self.id, start..to);
        // Entries are dense: where rows are missing, the conversation ends.
        let is_whole = rows.as_ref().is_ok_and(|rows| rows.len() as u64 == to - start);
        self.rest = if is_whole { to..end } else { 0..0 };
        Some(rows)
    }
}

/// What was read one by one, or the error.
fn each<T>(read: StoreRead<Vec<T>>) -> impl Iterator<Item = StoreRead<T>> {
    let (all, error) = match read {
        Ok(all) => (all, None),
        Err(error) => (Vec::new(), Some(error)),
    };
    all.into_iter().map(Ok).chain(error.map(Err))
}

fn portions(rows: Vec<EntryRow>) -> Vec<Portion> {
    let mut portions: Vec<Portion> = Vec::new();
    let mut bytes = 0;
    for row in rows {
        let size = row.bytes.end.saturating_sub(row.bytes.start);
        if let Some(open) = portions.last_mut().filter(|_| bytes + size <= READ_BYTES) {
            open.rows.push(row);
        } else {
            bytes = 0;
            portions.push(Portion { rows: vec![row] });
        }
        bytes += size;
    }
    portions
}

/// The pins and files that are stored.
///
/// # Errors
/// [`PinError`] if what is stored is damaged.
pub(crate) fn pins_of(said: &SaidRows) -> Result<Pins, PinError> {
    Pins::restore(
        said.pins.iter().map(|row| row.pin.clone()).collect(),
        said.files.iter().map(|row| row.file.clone()).collect(),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    #![allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]

    use super::*;
    use crate::Engine;

    #[test]
    fn ranges_are_read_in_steps_and_clamped() {
        let engine = Engine::in_memory();
        let lines: Vec<String> =
            (0..2_500).map(|n| format!(r#"{{"role":"user","content":"word {n}","n":{n}}}"#)).collect();
        let imported = engine.import_reader(lines.join("\n").as_bytes(), "test").unwrap();
        let stored = engine.store().find(&imported.conversation).unwrap().unwrap();
        let end = stored.entries;
        assert!(end > 2 * STEP, "more than two steps");
        let table = [
            (vec![0..u64::MAX], (0..end).collect::<Vec<_>>(), "everything"),
            (vec![5..8, 2..4, 9..9], vec![5, 6, 7, 2, 3], "in the given order"),
            (vec![end - 1..end + 9, 0..1], vec![end - 1, 0], "past the end, then on"),
            (vec![STEP - 1..STEP + 1], vec![STEP - 1, STEP], "across a step"),
            (vec![], vec![], "nothing"),
        ];
        for (runs, want, why) in table {
            let rows = stored_rows(engine.store(), stored.id, runs.clone());
            assert_eq!(rows.map(|row| row.unwrap().seq.0).collect::<Vec<_>>(), want, "{why}");
            let portions = stored_portions(engine.store(), stored.id, runs);
            let read = portions.flat_map(|portion| portion.unwrap().raw(engine.store(), stored.id).unwrap());
            assert_eq!(read.map(|raw| raw.seq.0).collect::<Vec<_>>(), want, "{why}");
        }
    }
}
