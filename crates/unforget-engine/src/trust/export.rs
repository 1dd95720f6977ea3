//! Exports transcripts.

use std::io::Write;
use std::ops::Range;

use unforget_core::id::{ConversationId, Generation};
use unforget_store::{Page, Snapshot, Store, StoreError};

use crate::{Engine, EngineError};

/// Number of rows read at once.
const STEP: u64 = 512;

/// Maximum bytes read at once; a larger entry is read by itself.
const READ_BYTES: u64 = 4 * 1024 * 1024;

/// Result of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Number of the exported snapshot; `None` if the conversation has no snapshot and its current path was written.
    pub snapshot: Option<u64>,
    /// Number of entries written.
    pub entries: u64,
    /// Number of bytes written.
    pub bytes: u64,
    /// Number of entries left out because they were purged. If 0, the output equals the file.
    pub purged: u64,
}

impl Engine {
    /// Writes a transcript exactly as it was imported.
    ///
    /// * `snapshot` - number of the snapshot; `None` for the latest.
    ///
    /// For a conversation without a snapshot, because its import was interrupted or because it never was a file, the
    /// stored part is written. Memory: 4 MiB, or the largest entry.
    ///
    /// [`StoreError::Missing`] if there is no such snapshot, [`StoreError::Damaged`] at the first unreadable entry,
    /// [`EngineError::File`] if writing to `out` fails.
    pub fn export(
        &self,
        conversation: ConversationId,
        snapshot: Option<u64>,
        out: &mut dyn Write,
    ) -> Result<Exported, EngineError> {
        let snapshot = self.snapshot(conversation, snapshot)?;
        let (generation, length) = if let Some(snapshot) = &snapshot {
            (snapshot.generation, snapshot.length)
        } else {
            let now = self.store().conversation(conversation)?;
            (now.current, now.length)
        };
        let mut exported = self.write_path(conversation, (generation, length), out)?;
        if let Some(snapshot) = &snapshot {
            write(out, &snapshot.trailer)?;
            exported.bytes += snapshot.trailer.len() as u64;
            exported.snapshot = Some(snapshot.number);
        }
        out.flush().map_err(failed)?;
        Ok(exported)
    }

    /// The snapshot with this number, or the latest.
    pub(super) fn snapshot(
        &self,
        id: ConversationId,
        number: Option<u64>,
    ) -> Result<Option<Snapshot>, EngineError> {
        let Some(number) = number else { return Ok(self.store().latest_snapshot(id)?) };
        let page = Page { after: number.checked_sub(1), limit: 1 };
        match self.store().snapshots(id, page)?.pop().filter(|snapshot| snapshot.number == number) {
            Some(snapshot) => Ok(Some(snapshot)),
            None => Err(StoreError::Missing { id, what: format!("snapshot {number}") }.into()),
        }
    }

    fn write_path(
        &self,
        id: ConversationId,
        (generation, length): (Generation, u64),
        out: &mut dyn Write,
    ) -> Result<Exported, EngineError> {
        let mut exported = Exported::default();
        for run in self.store().path(id, generation, length)? {
            let mut from = run.start;
            while from < run.end {
                let part = from..run.end.min(from + STEP);
                from = part.end;
                for few in portions(self.store(), id, part)? {
                    exported.purged += few.purged;
                    for raw in self.store().raw(id, few.seqs)? {
                        write(out, &raw.lead)?;
                        write(out, &raw.body)?;
                        exported.entries += 1;
                        exported.bytes += (raw.lead.len() + raw.body.len()) as u64;
                    }
                }
            }
        }
        Ok(exported)
    }
}

/// Entries read together.
pub(crate) struct Portion {
    pub(crate) seqs: Range<u64>,
    /// Number of purged entries among them.
    pub(crate) purged: u64,
}

/// Cuts a range of entries into ranges of at most [`READ_BYTES`] of bodies, or one entry.
pub(crate) fn portions(
    store: &dyn Store,
    id: ConversationId,
    seqs: Range<u64>,
) -> Result<Vec<Portion>, EngineError> {
    let mut portions = Vec::new();
    let (mut open, mut bytes) = (Portion { seqs: seqs.start..seqs.start, purged: 0 }, 0);
    for row in store.rows(id, seqs)? {
        let size = row.bytes.end.saturating_sub(row.bytes.start);
        if !open.seqs.is_empty() && bytes + size > READ_BYTES {
            let next = Portion { seqs: row.seq.0..row.seq.0, purged: 0 };
            portions.push(std::mem::replace(&mut open, next));
            bytes = 0;
        }
        open.seqs.end = row.seq.0 + 1;
        open.purged += u64::from(row.purged);
        bytes += size;
    }
    if !open.seqs.is_empty() {
        portions.push(open);
    }
    Ok(portions)
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), EngineError> {
    out.write_all(bytes).map_err(failed)
}

fn failed(source: std::io::Error) -> EngineError {
    EngineError::File { path: "export".into(), source }
}
