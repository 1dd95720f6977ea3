//! The longest prefix of a delivered transcript that is stored.

use std::ops::Range;

use unforget_core::digest::Chain;
use unforget_core::id::{ConversationId, Generation, Seq};
use unforget_store::{GenerationRow, Store};

use crate::EngineError;

/// Chain heads that are fetched at once.
const RUN: u64 = 4096;

/// Walks over the stored chains, record by record.
///
/// It follows the path of one generation, at first the current one, and looks the chain up in all
/// generations where the delivered transcript leaves that path. What is known is closed under prefixes,
/// so the first record that is not known ends the walk.
pub(super) struct Known<'a> {
    store: &'a dyn Store,
    id: ConversationId,
    generations: Vec<GenerationRow>,
    /// The path that is followed; `None` if there is none yet.
    followed: Option<Followed>,
    /// Number of records that are known.
    shared: u64,
    last: Chain,
}

struct Followed {
    generation: Generation,
    /// Seqs of its path.
    runs: Vec<Range<u64>>,
    /// The run that the last record was in, and its position in the path.
    run: (usize, u64),
    /// Chains from a position on.
    chains: Vec<Chain>,
    from: u64,
}

impl<'a> Known<'a> {
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

    /// The entry that is the next record, if it is stored; `chain` is the chain after it.
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

    /// How many records were known.
    pub(super) fn shared(&self) -> u64 {
        self.shared
    }

    /// The generation that owns the last known record, and the length of its path.
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
            // The chain at hand was looked up; the path goes on behind it.
            self.followed =
                Some(Followed { generation, runs, run: (0, 0), chains: Vec::new(), from: self.shared });
        }
        Ok(())
    }
}

impl Followed {
    /// The seq at a position, which does not go back.
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
