//! Exports transcripts.

use std::io::Write;

use unforget_core::id::{ConversationId, Generation};
use unforget_store::{Page, Snapshot};

use crate::rows::stored_portions;
use crate::{Engine, EngineError};

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
    /// # Errors
    /// [`EngineError::Usage`] if there is no such snapshot, [`unforget_store::StoreError::Damaged`] at the first unreadable
    /// entry, [`EngineError::File`] if writing to `out` fails.
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
        let mut exported = self.write_path(conversation, generation, length, out)?;
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
            None => Err(self.no_snapshot(id, number)?),
        }
    }

    /// The error for an unknown snapshot number. It names the existing numbers.
    fn no_snapshot(&self, id: ConversationId, number: u64) -> Result<EngineError, EngineError> {
        let key = self.store().conversation(id)?.key;
        let hint = match self.store().latest_snapshot(id)?.map_or(0, |latest| latest.number) {
            0 => "it has none; without a number its current path is taken".to_owned(),
            1 => "its only save is number 1".to_owned(),
            last => format!("it has saves 1 to {last}: unforget stats CONVERSATION lists them"),
        };
        Ok(EngineError::Usage { what: format!("{key} has no save {number}"), hint })
    }

    fn write_path(
        &self,
        id: ConversationId,
        generation: Generation,
        length: u64,
        out: &mut dyn Write,
    ) -> Result<Exported, EngineError> {
        let mut exported = Exported::default();
        for portion in stored_portions(self.store(), id, self.store().path(id, generation, length)?) {
            let portion = portion?;
            exported.purged += portion.rows.iter().filter(|row| row.purged).count() as u64;
            for raw in portion.raw(self.store(), id)? {
                write(out, &raw.lead)?;
                write(out, &raw.body)?;
                exported.entries += 1;
                exported.bytes += (raw.lead.len() + raw.body.len()) as u64;
            }
        }
        Ok(exported)
    }
}

fn write(out: &mut dyn Write, bytes: &[u8]) -> Result<(), EngineError> {
    out.write_all(bytes).map_err(failed)
}

fn failed(source: std::io::Error) -> EngineError {
    EngineError::File { path: "export".into(), source }
}
