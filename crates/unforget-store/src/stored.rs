//! An entry with the place of its bytes, as every database keeps it.

use std::ops::Range;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};

use crate::codes::{origin_code, role_code, status_code};
use crate::entry::{EntryRow, kept_content};
use crate::error::StoreError;
use crate::unpack::Checked;

/// An entry row with the place of its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// The facts.
    pub row: EntryRow,
    /// Number of its chunk; `None` once purged.
    pub chunk: Option<u64>,
    /// Offset of the lead in the uncompressed chunk.
    pub offset: u64,
    /// Length of the lead.
    pub lead_len: u64,
    /// Length of the body in the chunk, without the bytes stored in blobs.
    pub body_len: u64,
    /// Number of its large parts.
    pub holes: u64,
}

impl Stored {
    /// 32 bits over a whole row, so that a changed row is noticed on reading.
    pub fn seal(&self, id: ConversationId) -> u32 {
        let row = &self.row;
        let option = |value: Option<u64>| value.map_or([0, 0], |value| [1, value]);
        let mut numbers = [0_u64; 28];
        let fields = [id.0, row.seq.0, row.generation.0, row.position.0, row.thread.0]
            .into_iter()
            .chain(option(row.parent.map(|parent| parent.0)))
            .chain(
                [role_code(row.role), origin_code(row.origin), status_code(row.status)]
                    .map(|code| code as u64),
            )
            .chain(option(row.time.map(|time| time.0 as u64)))
            .chain([row.tokens.expected, row.tokens.upper, row.stubbed.expected, row.stubbed.upper])
            .chain([row.bytes.start, row.bytes.end])
            .chain(option(self.chunk))
            .chain([self.offset, self.lead_len, self.body_len, self.holes]);
        for (to, from) in numbers.iter_mut().zip(fields) {
            *to = from;
        }
        let mut bytes = [0; 28 * 8];
        for (to, from) in bytes.iter_mut().zip(numbers.iter().flat_map(|number| number.to_le_bytes())) {
            *to = from;
        }
        let mut hasher = blake3::Hasher::new();
        hasher.update(&bytes).update(&row.chain.0.0).update(kept_content(row.content).0.as_slice());
        if let Some(host_id) = &row.host_id {
            hasher.update(&[1]).update(host_id.as_bytes());
        }
        let hash = hasher.finalize();
        hash.as_bytes().iter().take(4).fold(0, |sum, byte| (sum << 8) | u32::from(*byte))
    }

    /// Places of its lead and body in the bytes of its chunk.
    ///
    /// * `length` - of the chunk.
    pub fn spans(&self, length: usize) -> Checked<(Range<usize>, Range<usize>)> {
        let start = self.offset.saturating_add(self.lead_len);
        let end = start.saturating_add(self.body_len);
        if end > length as u64 {
            let number = self.chunk.unwrap_or_default();
            return Err(format!("it reaches beyond the end of chunk {number}"));
        }
        Ok((self.offset as usize..start as usize, start as usize..end as usize))
    }

    /// Turns the entry into a tombstone: its bytes have no place any more.
    pub fn purge(&mut self) {
        self.chunk = None;
        (self.offset, self.lead_len, self.body_len, self.holes) = (0, 0, 0, 0);
        self.row.purged = true;
    }
}

/// Stored bytes of a content digest.
pub const CONTENT_BYTES: usize = 16;

/// A content digest from its stored bytes; `None` for another length.
pub fn join_content(stored: &[u8]) -> Option<Digest> {
    let mut whole = [0; 32];
    if stored.len() != CONTENT_BYTES {
        return None;
    }
    for (to, from) in whole.iter_mut().zip(stored) {
        *to = *from;
    }
    Some(Digest(whole))
}

/// The error for an entry that cannot be restored.
pub fn damaged(id: ConversationId, seq: u64, detail: impl Into<String>) -> StoreError {
    StoreError::Damaged { id, seq: Seq(seq), detail: detail.into() }
}
