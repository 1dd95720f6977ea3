//! The histories of this machine.

use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq};
use unforget_engine::Engine;
use unforget_store::{Conversation, EntryRow, GenerationRow, SayingRow, Snapshot, Store, read_all, walk};
use unforget_wire::Format;

use crate::error::{Result, SyncError};
use crate::record_frames;
use crate::tip::{HistorySource, KnownSayings, PurgedEntry, SentSaying, TipLayout, TipPart, TranscriptTip};

/// A part ends with the first record at which it has this many bytes.
const PART_BYTES: u64 = 1 << 20;

/// Rows read at once.
const STEP: u64 = 1_024;

/// How many of the last records are asked for a time.
const TIME_WITHIN: u64 = 16;

/// The transcripts of a database. Lanes of the gateway and of live hosts are left out: their machine goes on writing them.
pub struct LocalHistory<'a> {
    engine: &'a Engine,
    store: &'a dyn Store,
}

/// A path of a conversation.
pub(crate) struct StoredPath {
    pub(crate) id: ConversationId,
    /// Its entries, in order.
    pub(crate) runs: Vec<Range<u64>>,
}

impl<'a> LocalHistory<'a> {
    /// The transcripts of an engine's database.
    pub fn new(engine: &'a Engine) -> Self {
        Self { engine, store: engine.store() }
    }

    /// Number of conversations that are lanes and therefore stay on this machine.
    pub fn lanes(&self) -> Result<u64> {
        let mut lanes = 0;
        for one in self.conversations()? {
            lanes += u64::from(is_lane(&one));
        }
        Ok(lanes)
    }

    /// What people said of the conversations, in order of their keys.
    pub(crate) fn all_sayings(&self) -> Result<Vec<(ConversationKey, SayingRow)>> {
        let mut all = Vec::new();
        for stored in self.conversations()?.into_iter().filter(|stored| !is_lane(stored)) {
            let sayings = self.engine.sayings(&stored)?;
            all.extend(sayings.into_iter().map(|row| (stored.key.clone(), row)));
        }
        Ok(all)
    }

    pub(crate) fn store(&self) -> &'a dyn Store {
        self.store
    }

    fn conversations(&self) -> Result<Vec<Conversation>> {
        let mut all = read_all(|page| self.store.conversations(page))?;
        all.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(all)
    }

    /// The tips of one conversation: the ends of its generations.
    pub(crate) fn tips_of(&self, stored: &Conversation) -> Result<Vec<TranscriptTip>> {
        let generations = read_all(|page| self.store.generations(stored.id, page))?;
        let mut tips = Vec::with_capacity(generations.len());
        for GenerationRow { number, length, .. } in generations {
            tips.extend(self.tip_at(stored, number, length)?);
        }
        Ok(tips)
    }

    /// The path of a conversation up to a number of records as a tip; `None` if there is none.
    pub(crate) fn tip_at(
        &self,
        stored: &Conversation,
        generation: Generation,
        length: u64,
    ) -> Result<Option<TranscriptTip>> {
        let Some(last) = length.checked_sub(1) else { return Ok(None) };
        let chains = self.store.chains(stored.id, generation, last..length)?;
        let Some(chain) = chains.first().copied() else { return Ok(None) };
        let path = StoredPath { id: stored.id, runs: self.store.path(stored.id, generation, length)? };
        let last = self.last_rows(&path)?;
        Ok(Some(TranscriptTip {
            key: stored.key.clone(),
            chain,
            length,
            bytes: last.first().map_or(0, |row| row.bytes.end),
            newest_ms: last.iter().find_map(|row| row.time).map_or(0, |time| time.0),
        }))
    }

    /// The last rows of a path, the newest first.
    fn last_rows(&self, path: &StoredPath) -> Result<Vec<EntryRow>> {
        let mut rows = Vec::new();
        for run in path.runs.iter().rev() {
            let left = TIME_WITHIN - rows.len() as u64;
            let from = run.start.max(run.end.saturating_sub(left));
            rows.extend(self.store.rows(path.id, from..run.end)?.into_iter().rev());
            if rows.len() as u64 >= TIME_WITHIN {
                break;
            }
        }
        Ok(rows)
    }

    /// The stored conversation and the entry at the end of a tip; `None` if this machine does not have it.
    pub(crate) fn known(
        &self,
        key: &ConversationKey,
        chain: Chain,
    ) -> Result<Option<(Conversation, EntryRow)>> {
        let Some(stored) = self.store.find(key)? else { return Ok(None) };
        let row = self.store.by_chain(stored.id, chain)?;
        Ok(row.map(|row| (stored, row)))
    }

    /// The path that ends with an entry.
    ///
    /// * `length` - number of its records.
    pub(crate) fn path_to(&self, stored: &Conversation, row: &EntryRow, length: u64) -> Result<StoredPath> {
        Ok(StoredPath { id: stored.id, runs: self.store.path(stored.id, row.generation, length)? })
    }

    /// Rows of a path, step by step.
    fn each_row(&self, path: &StoredPath, each: &mut dyn FnMut(&EntryRow)) -> Result<()> {
        for run in &path.runs {
            let mut start = run.start;
            while start < run.end {
                let end = run.end.min(start + STEP);
                for row in &self.store.rows(path.id, start..end)? {
                    each(row);
                }
                start = end;
            }
        }
        Ok(())
    }

    /// Number of records before an entry on the path of a tip; `None` if the entry is not on it, or the tip is not of this machine.
    ///
    /// * `chain` - head of the chain at the entry.
    pub(crate) fn position_on(&self, tip: &TranscriptTip, chain: Chain) -> Result<Option<u64>> {
        let Some((stored, last)) = self.known(&tip.key, tip.chain)? else { return Ok(None) };
        let Some(entry) = self.store.by_chain(stored.id, chain)? else { return Ok(None) };
        let position = entry.position.0;
        let is_on = position < tip.length
            && self.store.chains(stored.id, last.generation, position..position + 1)?.first() == Some(&chain);
        Ok(is_on.then_some(position))
    }

    /// Whether the path of a tip passes the end of another one.
    ///
    /// * `length` - number of records of the other one; more than zero.
    pub(crate) fn is_on_path(&self, tip: &TranscriptTip, other: Chain, length: u64) -> Result<bool> {
        Ok(self.position_on(tip, other)?.is_some_and(|position| position + 1 == length))
    }

    /// Number of purged entries of a path.
    pub(crate) fn purged_on(&self, path: &StoredPath) -> Result<u64> {
        let mut purged = 0;
        self.each_row(path, &mut |row| purged += u64::from(row.purged))?;
        Ok(purged)
    }

    /// The newest snapshot of a path's end: its trailer and its name are those of the transcript.
    fn snapshot_at(
        &self,
        id: ConversationId,
        generation: Generation,
        length: u64,
    ) -> Result<Option<Snapshot>> {
        let mut found = None;
        for snapshot in walk(|page| self.store.snapshots(id, page)) {
            let snapshot = snapshot?;
            if snapshot.generation == generation && snapshot.length == length {
                found = Some(snapshot);
            }
        }
        Ok(found)
    }
}

impl HistorySource for LocalHistory<'_> {
    fn tips(&mut self) -> Result<Vec<TranscriptTip>> {
        let mut tips = Vec::new();
        for stored in self.conversations()?.iter().filter(|stored| !is_lane(stored)) {
            tips.extend(self.tips_of(stored)?);
        }
        Ok(tips)
    }

    /// Cost: O(records of the path), without their bytes.
    fn layout(&mut self, tip: &TranscriptTip) -> Result<TipLayout> {
        let Some((stored, last)) = self.known(&tip.key, tip.chain)? else { return Err(unknown(tip)) };
        let path = self.path_to(&stored, &last, tip.length)?;
        let (mut parts, mut end, mut start_bytes, mut purged) = (Vec::new(), 0, 0, 0);
        self.each_row(&path, &mut |row| {
            end += 1;
            purged += u64::from(row.purged);
            let bytes = row.bytes.end.saturating_sub(start_bytes);
            if bytes >= PART_BYTES || end == tip.length {
                parts.push(TipPart { end, chain: row.chain, bytes });
                start_bytes = row.bytes.end;
            }
        })?;
        if purged > 0 {
            return Err(SyncError::Purged { purged });
        }
        let snapshot = self.snapshot_at(stored.id, last.generation, tip.length)?;
        let (trailer, name) =
            snapshot.map_or_else(Default::default, |snapshot| (snapshot.trailer, snapshot.path));
        Ok(TipLayout { parts, trailer, name })
    }

    fn part(&mut self, tip: &TranscriptTip, start: u64, part: &TipPart) -> Result<Vec<u8>> {
        let Some((stored, last)) = self.known(&tip.key, tip.chain)? else { return Err(unknown(tip)) };
        let path = self.path_to(&stored, &last, part.end.min(tip.length))?;
        let mut frames = Vec::new();
        for run in behind(path.runs, start) {
            for raw in self.store.raw(stored.id, run)? {
                record_frames::push(&mut frames, &raw);
            }
        }
        Ok(frames)
    }

    /// Cost: O(entries), without their bytes.
    fn purged(&mut self) -> Result<Vec<PurgedEntry>> {
        let mut purged = Vec::new();
        for stored in self.conversations()?.iter().filter(|stored| !is_lane(stored)) {
            let all = StoredPath { id: stored.id, runs: std::iter::once(0..stored.entries).collect() };
            self.each_row(&all, &mut |row| {
                if row.purged {
                    purged.push(PurgedEntry { key: stored.key.clone(), chain: row.chain });
                }
            })?;
        }
        Ok(purged)
    }

    fn sayings(&mut self, known: &KnownSayings) -> Result<Option<Vec<SentSaying>>> {
        let mut sayings = Vec::new();
        for (stored, row) in self.all_sayings()? {
            if !known.get(&stored).is_some_and(|known| known.contains(&row.digest)) {
                sayings.push(SentSaying { key: stored, body: row.body });
            }
        }
        Ok(Some(sayings))
    }
}

/// Whether a conversation is a lane of the gateway or of a live host.
fn is_lane(stored: &Conversation) -> bool {
    stored.format == Format::Journal.name()
}

/// The ranges without their first `count` entries.
pub(crate) fn behind(runs: Vec<Range<u64>>, count: u64) -> impl Iterator<Item = Range<u64>> {
    let mut left = count;
    runs.into_iter().filter_map(move |run| {
        let skipped = left.min(run.end - run.start);
        left -= skipped;
        (run.start + skipped < run.end).then_some(run.start + skipped..run.end)
    })
}

fn unknown(tip: &TranscriptTip) -> SyncError {
    SyncError::Damaged {
        place: tip.key.0.clone(),
        what: format!("no record has the chain {:?}", tip.chain.0),
    }
}

/// The seqs of entries, joined to ranges.
pub(crate) fn ranges(mut seqs: Vec<Seq>) -> Vec<Range<u64>> {
    seqs.sort_unstable();
    let mut ranges: Vec<Range<u64>> = Vec::new();
    for seq in seqs {
        match ranges.last_mut() {
            Some(last) if last.end == seq.0 => last.end += 1,
            _ => ranges.push(seq.0..seq.0 + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    #![allow(clippy::single_range_in_vec_init, reason = "lists of ranges")]

    use super::*;

    #[test]
    fn ranges_table() {
        let seqs = |seqs: &[u64]| seqs.iter().map(|seq| Seq(*seq)).collect::<Vec<_>>();
        assert_eq!(ranges(seqs(&[5, 3, 4, 9])), [3..6, 9..10]);
        assert_eq!(ranges(Vec::new()), Vec::<Range<u64>>::new());
        let left = |runs: &[Range<u64>], count| behind(runs.to_vec(), count).collect::<Vec<_>>();
        assert_eq!(left(&[0..3, 7..9], 0), [0..3, 7..9]);
        assert_eq!(left(&[0..3, 7..9], 3), [7..9], "at a border");
        assert_eq!(left(&[0..3, 7..9], 4), [8..9], "within a range");
        assert_eq!(left(&[0..3, 7..9], 9), Vec::<Range<u64>>::new(), "past the end");
    }
}
