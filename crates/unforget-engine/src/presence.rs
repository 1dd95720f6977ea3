//! Whether an entry stands in its transcript as it was delivered last.
//!
//! A transcript that was repaired, rewound or rewritten is another generation of its conversation. What only an earlier
//! one has stays stored and can be found; what the current one has again is no second find.

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq};
use unforget_store::{Conversation, EntryRow, Store};

use crate::rows::stored_rows;
use crate::{Engine, EngineError};

/// Where an entry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// In the current generation of its conversation.
    Current,
    /// In an earlier one, and the current one has it again, as this entry: the same words under the same id.
    Repeated(Seq),
    /// In an earlier one only: the transcript has it no more, or in another form.
    Earlier,
}

/// The current generation of a conversation.
struct CurrentGeneration {
    /// Its seqs as runs, ascending.
    runs: Vec<Range<u64>>,
    /// Ids and words of its entries. Read when the first entry of an earlier one is met.
    own: Option<HashMap<NamedContent, Seq>>,
}

/// By what an entry is known again in another generation.
#[derive(PartialEq, Eq, Hash)]
struct NamedContent {
    host_id: Option<String>,
    content: Digest,
}

impl NamedContent {
    fn of(row: &EntryRow) -> Self {
        Self { host_id: row.host_id.clone(), content: row.content }
    }
}

impl CurrentGeneration {
    fn of(store: &dyn Store, conversation: &Conversation) -> Result<Self, EngineError> {
        let mut runs = store.path(conversation.id, conversation.current, conversation.length)?;
        runs.sort_by_key(|run| run.start);
        Ok(Self { runs, own: None })
    }

    fn holds(&self, seq: Seq) -> bool {
        let behind = self.runs.partition_point(|run| run.start <= seq.0);
        behind.checked_sub(1).and_then(|at| self.runs.get(at)).is_some_and(|run| seq.0 < run.end)
    }

    fn presence(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        row: &EntryRow,
    ) -> Result<Presence, EngineError> {
        if self.holds(row.seq) {
            return Ok(Presence::Current);
        }
        if self.own.is_none() {
            let rows = stored_rows(store, id, self.runs.clone());
            let own = rows.map(|row| row.map(|row| (NamedContent::of(&row), row.seq)));
            self.own = Some(own.collect::<Result<_, _>>()?);
        }
        let again = self.own.as_ref().and_then(|own| own.get(&NamedContent::of(row)));
        Ok(again.map_or(Presence::Earlier, |seq| Presence::Repeated(*seq)))
    }
}

/// The current generations of the conversations that were asked for.
#[derive(Default)]
pub(crate) struct PresenceCache(BTreeMap<ConversationId, CurrentGeneration>);

impl PresenceCache {
    /// Where an entry stands.
    ///
    /// Cost: nothing for a conversation whose transcript only grew. Else O(log runs), and O(rows) of the current generation,
    /// once, for an entry of an earlier one.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub(crate) fn presence(
        &mut self,
        engine: &Engine,
        conversation: &Conversation,
        row: &EntryRow,
    ) -> Result<Presence, EngineError> {
        if conversation.entries == conversation.length {
            return Ok(Presence::Current);
        }
        let current = match self.0.entry(conversation.id) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(new) => new.insert(CurrentGeneration::of(engine.store(), conversation)?),
        };
        current.presence(engine.store(), conversation.id, row)
    }
}

impl Engine {
    /// Where each entry of a range stands: see [`Presence`].
    ///
    /// Cost: O(entries of the range), and O(rows) of the conversation if some stand in an earlier generation only.
    ///
    /// # Errors
    /// [`EngineError::Store`].
    pub fn presences(
        &self,
        conversation: &Conversation,
        seqs: Range<u64>,
    ) -> Result<BTreeMap<Seq, Presence>, EngineError> {
        let mut cache = PresenceCache::default();
        let rows = stored_rows(self.store(), conversation.id, std::iter::once(seqs));
        rows.map(|row| {
            let row = row?;
            Ok((row.seq, cache.presence(self, conversation, &row)?))
        })
        .collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn line(id: &str, text: &str) -> String {
        format!(
            r#"{{"type":"user","uuid":"{id}","parentUuid":null,"sessionId":"5e55","message":{{"role":"user","content":"{text}"}}}}"#
        ) + "\n"
    }

    #[test]
    fn entries_of_earlier_generations_are_repeated_or_stand_alone() {
        let engine = Engine::in_memory();
        let (first, torn) = (line("u1", "one"), "{\"type\":\"user\",\"uu\n");
        let before = [first.as_str(), &line("u2", "two"), torn, &line("u3", "three"), &line("u4", "four")];
        let after = [first.as_str(), &line("u2", "two, mended"), &line("u3", "three")];
        let presences = || {
            let all = unforget_store::read_all(|page| engine.store().conversations(page)).unwrap();
            let one = all.first().unwrap();
            let found = engine.presences(one, 0..one.entries).unwrap();
            found.into_values().collect::<Vec<_>>()
        };
        engine.import_reader(before.concat().as_bytes(), "a").unwrap();
        assert_eq!(presences(), [Presence::Current; 5], "one generation");
        engine.import_reader(after.concat().as_bytes(), "a").unwrap();
        let want = [
            Presence::Current,
            Presence::Earlier,
            Presence::Earlier,
            Presence::Repeated(Seq(6)),
            Presence::Earlier,
            Presence::Current,
            Presence::Current,
        ];
        assert_eq!(presences(), want, "mended");
        engine.import_reader(before.concat().as_bytes(), "a").unwrap();
        let back = presences();
        assert_eq!(back.get(..5).unwrap(), [Presence::Current; 5], "the earlier one came back");
        assert_eq!(back.get(5..).unwrap(), [Presence::Earlier, Presence::Repeated(Seq(3))]);
        engine.import_reader(first.as_bytes(), "a").unwrap();
        assert_eq!(presences(), [&[Presence::Current][..], &[Presence::Earlier; 6]].concat(), "cut back");
    }
}
