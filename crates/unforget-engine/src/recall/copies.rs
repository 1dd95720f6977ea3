//! Other copies of an entry: further copies of it as the host delivered them. They are stored and appear in no prompt.

use std::collections::{BTreeMap, HashMap};
use std::iter::once;
use std::ops::Range;

use unforget_core::entry::Origin;
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_store::{Conversation, EntryRow};
use unforget_wire::{Format, journal};

use crate::rows::{stored_raw, stored_rows};
use crate::{Engine, EngineError};

/// Another copy of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryCopy {
    /// A name for [`Engine::expand`] and [`Engine::expand_raw`].
    pub name: String,
    /// Its seq; copies are entries too.
    pub seq: Seq,
    /// The entry that it is a copy of.
    pub of: Seq,
    /// The host's time.
    pub time: Option<Timestamp>,
    /// Range of its record in the file.
    pub bytes: Range<u64>,
}

impl Engine {
    /// The other copies of some entries, in order of arrival: copies that a live host rewrote or delivered twice, and
    /// records that a host rewrote under the same id.
    ///
    /// Cost: O(entries of the conversation); for a live host only the entries behind the first of `rows`.
    pub(super) fn copies(
        &self,
        id: ConversationId,
        rows: &[EntryRow],
    ) -> Result<Vec<EntryCopy>, EngineError> {
        let (Some(first), stored) = (rows.iter().map(|row| row.seq).min(), self.store().conversation(id)?)
        else {
            return Ok(Vec::new());
        };
        let is_journal = stored.format == Format::Journal.name();
        let own: BTreeMap<Seq, &EntryRow> = rows.iter().map(|row| (row.seq, row)).collect();
        let by_host_id: HashMap<&str, Seq> =
            rows.iter().filter_map(|row| Some((row.host_id.as_deref()?, row.seq))).collect();
        if !is_journal && by_host_id.is_empty() {
            return Ok(Vec::new());
        }
        let from = if is_journal { first.0 + 1 } else { 0 };
        let mut copies = Vec::new();
        for row in stored_rows(self.store(), id, once(from..stored.entries)) {
            let row = row?;
            let of = if is_journal {
                self.original(id, &row, &by_host_id)?
            } else {
                let same = row.host_id.as_deref().and_then(|host_id| by_host_id.get(host_id).copied());
                same.filter(|_| !own.contains_key(&row.seq))
            };
            let of = of.filter(|of| own.contains_key(of) && *of != row.seq);
            copies.extend(of.map(|of| entry_copy(&stored, row, of)));
        }
        Ok(copies)
    }

    /// The original of a copy in a journal, by the name that the copy's line gives.
    fn original(
        &self,
        id: ConversationId,
        row: &EntryRow,
        by_host_id: &HashMap<&str, Seq>,
    ) -> Result<Option<Seq>, EngineError> {
        if row.origin != Origin::Copy {
            return Ok(None);
        }
        let raw = stored_raw(self.store(), id, row.seq)?;
        let Some(of) = raw.and_then(|raw| journal::read_line(&raw.body).of) else { return Ok(None) };
        let by_place = of.strip_prefix('#').and_then(|place| place.parse().ok()).map(Seq);
        Ok(by_host_id.get(of.as_str()).copied().or(by_place))
    }
}

fn entry_copy(conversation: &Conversation, row: EntryRow, of: Seq) -> EntryCopy {
    let name = format!("e:{}:{}", conversation.key.0, row.seq);
    EntryCopy { name, seq: row.seq, of, time: row.time, bytes: row.bytes }
}
