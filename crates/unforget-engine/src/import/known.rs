//! Finds the longest stored prefix of a delivered transcript.

use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Generation, Seq};
use unforget_store::{GenerationRow, Store};

use crate::EngineError;

/// Number of chain heads fetched at once.
const RUN: u64 = 4096;

/// Walks over the stored chains, record by record.
///
/// The walk follows the path of one generation, at first the current one. Where the delivered transcript leaves this
/// path, the chain is looked up in all generations. Stored records are closed under prefixes, so the first unknown
/// record ends the walk.
pub(super) struct StoredPrefix<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    generations: Vec<GenerationRow>,
    /// The path being followed; `None` before the first match.
    followed: Option<FollowedPath>,
    /// Number of known records.
    shared: u64,
    last: Chain,
}

struct FollowedPath {
    generation: Generation,
    /// Seqs of the path.
    runs: Vec<Range<u64>>,
    /// Index of the run with the last record, and the position of this run in the path.
    run: (usize, u64),
    /// Chains from a position on.
    chains: Vec<Chain>,
    from: u64,
}

impl<'a> StoredPrefix<'a> {
    /// * `current` - the generation to follow first.
    pub(super) fn new(
        store: &'a dyn Store,
        id: ConversationId,
        generations: Vec<GenerationRow>,
        current: Generation,
    ) -> Result<Self, EngineError> {
        let mut known = Self { store, id, generations, followed: None, shared: 0, last: Chain::root() };
        known.follow(current)?;
        Ok(known)
    }

    /// The stored entry of the next record, if there is one; `chain` is the chain after this record.
    pub(super) fn next(&mut self, chain: Chain) -> Result<Option<Seq>, EngineError> {
        let seq = match self.on_path(chain)? {
            Some(seq) => seq,
            None => match self.store.by_chain(self.id, chain)? {
                Some(row) => {
                    self.follow(row.generation)?;
                    row.seq
                }
                None => return Ok(None),
            },
        };
        self.shared += 1;
        self.last = chain;
        Ok(Some(seq))
    }

    /// Number of known records.
    pub(super) fn shared(&self) -> u64 {
        self.shared
    }

    /// The generation with the last known record, and the length of its path up to this record.
    pub(super) fn end(&self) -> Result<Option<(Generation, u64)>, EngineError> {
        if self.shared == 0 {
            return Ok(None);
        }
        let row = self.store.by_chain(self.id, self.last)?;
        Ok(row.map(|row| (row.generation, self.length(row.generation))))
    }

    /// Length of a generation's whole path.
    pub(super) fn length(&self, generation: Generation) -> u64 {
        let row = self.generations.iter().find(|row| row.number == generation);
        row.map_or(0, |row| row.length)
    }

    fn on_path(&mut self, chain: Chain) -> Result<Option<Seq>, EngineError> {
        let position = self.shared;
        let Some(followed) = &mut self.followed else { return Ok(None) };
        if position >= followed.from + followed.chains.len() as u64 {
            followed.chains = self.store.chains(self.id, followed.generation, position..position + RUN)?;
            followed.from = position;
        }
        let stored = followed.chains.get((position - followed.from) as usize);
        Ok(if stored == Some(&chain) { followed.seq_at(position) } else { None })
    }

    fn follow(&mut self, generation: Generation) -> Result<(), EngineError> {
        let length = self.length(generation);
        self.followed = None;
        if length > 0 {
            let runs = self.store.path(self.id, generation, length)?;
            // The chain was found by lookup; the path continues behind it.
            self.followed =
                Some(FollowedPath { generation, runs, run: (0, 0), chains: Vec::new(), from: self.shared });
        }
        Ok(())
    }
}

impl FollowedPath {
    /// The seq at a position. Positions must not decrease between calls.
    fn seq_at(&mut self, position: u64) -> Option<Seq> {
        loop {
            let (index, start) = self.run;
            let run = self.runs.get(index)?;
            let length = run.end.saturating_sub(run.start);
            if position - start < length {
                return Some(Seq(run.start + (position - start)));
            }
            self.run = (index + 1, start + length);
        }
    }
}
