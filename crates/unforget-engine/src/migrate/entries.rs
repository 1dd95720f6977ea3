//! Entries, generations, saves, and the head of the conversation.

use std::iter::once;
use std::mem::take;

use unforget_core::id::{Generation, Seq};
use unforget_store::{
    Append, ContextRow, Conversation, Durability, EntryRow, GenerationRow, NewEntry, Packed, Page, Raw,
    StoreError, Target, WriteLatency, read_all, walk,
};
use unforget_wire::large_parts;

use super::Way;
use crate::append::pack;
use crate::rows::{stored_portions, stored_rows};

impl Way<'_> {
    /// Carries what the target has not. Returns the number of new entries.
    ///
    /// States of prompts go into the transaction of the last entries: from then on they belong to the source's history as
    /// it is now, whenever the process ends.
    pub(super) fn carry_entries(&self, passed: &mut dyn FnMut(u64)) -> Result<u64, StoreError> {
        self.purge_too()?;
        let first = self.there()?.entries;
        let mut path = PathWriter {
            way: self,
            generations: read_all(|page| self.from.generations(self.source.id, page))?,
            opened: read_all(|page| self.to.generations(self.target, page))?.len() as u64,
            entries: first,
        };
        let mut contexts = if first < self.source.entries { self.contexts()? } else { Vec::new() };
        let behind = once(first..self.source.entries);
        let mut portions = stored_portions(self.from, self.source.id, behind).peekable();
        while let Some(portion) = portions.next() {
            let portion = portion?;
            let raws = portion.raw(self.from, self.source.id)?;
            let count = portion.rows.len() as u64;
            let mut runs = runs(portion.rows, raws).into_iter().peekable();
            let is_end = portions.peek().is_none();
            while let Some(run) = runs.next() {
                let is_last = is_end && runs.peek().is_none();
                path.append(run, if is_last { take(&mut contexts) } else { Vec::new() })?;
            }
            passed(count);
        }
        path.open_until(path.generations.len() as u64)?;
        self.count_purged()?;
        self.carry_saves()?;
        self.set_head()?;
        Ok(path.entries.saturating_sub(first))
    }

    /// The conversation of the target.
    fn there(&self) -> Result<Conversation, StoreError> {
        self.to.conversation(self.target)
    }

    /// Purges in the target what was purged in the source since.
    fn purge_too(&self) -> Result<(), StoreError> {
        let there = stored_rows(self.to, self.target, once(0..u64::MAX));
        let here = stored_rows(self.from, self.source.id, once(0..u64::MAX));
        let mut gone: Vec<std::ops::Range<u64>> = Vec::new();
        for (there, here) in there.zip(here) {
            let (there, here) = (there?, here?);
            let Seq(seq) = here.seq;
            if !here.purged || there.purged {
                continue;
            }
            match gone.last_mut() {
                Some(run) if run.end == seq => run.end += 1,
                _ => gone.push(seq..seq + 1),
            }
        }
        for run in gone {
            self.to.purge(self.target, run)?;
        }
        Ok(())
    }

    /// Counts the bytes of purged entries, which nobody has any more.
    fn count_purged(&self) -> Result<(), StoreError> {
        let there = self.there()?;
        let missing = self.source.raw_bytes.saturating_sub(there.raw_bytes);
        if missing == 0 || there.entries != self.source.entries {
            return Ok(());
        }
        let packed = Packed::of_purged(missing);
        self.append(self.end_of(there.current)?, Append { packed, ..self.nothing(there.entries) })
    }

    fn carry_saves(&self) -> Result<(), StoreError> {
        let last = self.to.latest_snapshot(self.target)?.map_or(0, |last| last.number);
        for snapshot in walk(|page| self.from.snapshots(self.source.id, page)) {
            let snapshot = snapshot?;
            if snapshot.number <= last {
                continue;
            }
            let target = self.end_of(snapshot.generation)?;
            self.append(target, Append { snapshot: Some(snapshot), ..self.nothing(self.there()?.entries) })?;
        }
        Ok(())
    }

    /// Moves the head to the end of the current generation, if it stands there in the source.
    fn set_head(&self) -> Result<(), StoreError> {
        let there = self.there()?;
        if (there.current, there.length) == (self.source.current, self.source.length) {
            return Ok(());
        }
        let end = self.end_of(self.source.current)?;
        if end == Target::Extend(self.source.current, self.source.length)
            && there.current == self.source.current
        {
            self.append(end, self.nothing(there.entries))?;
        }
        Ok(())
    }

    /// The end of a generation's path in the target.
    fn end_of(&self, generation: Generation) -> Result<Target, StoreError> {
        let page = Page { after: generation.0.checked_sub(1).map(Generation), limit: 1 };
        let row = self.to.generations(self.target, page)?.pop().filter(|row| row.number == generation);
        Ok(Target::Extend(generation, row.map_or(0, |row| row.length)))
    }

    fn append(&self, target: Target, append: Append) -> Result<(), StoreError> {
        self.to.append(Append { target, ..append }).map(drop)
    }

    /// An append of nothing.
    fn nothing(&self, entries: u64) -> Append {
        Append {
            conversation: self.target,
            entries,
            target: Target::Extend(Generation(0), 0),
            packed: Packed::default(),
            snapshot: None,
            contexts: Vec::new(),
            names: Vec::new(),
            durability: Durability::OnReturn,
            latency: WriteLatency::Now,
        }
    }
}

/// Neighbouring entries of one generation.
struct EntryRun {
    generation: Generation,
    /// Position of the first one.
    position: u64,
    entries: Vec<NewEntry>,
}

/// Writes runs of entries behind each other, and opens their generations.
struct PathWriter<'a> {
    way: &'a Way<'a>,
    /// Of the source.
    generations: Vec<GenerationRow>,
    /// Number of generations that the target has.
    opened: u64,
    /// Number of entries that the target has.
    entries: u64,
}

impl PathWriter<'_> {
    fn append(&mut self, run: EntryRun, contexts: Vec<ContextRow>) -> Result<(), StoreError> {
        self.open_until(run.generation.0)?;
        let target = match self.generations.get(run.generation.0 as usize) {
            Some(row) if self.opened == run.generation.0 => opening(row),
            _ => Target::Extend(run.generation, run.position),
        };
        self.opened = self.opened.max(run.generation.0 + 1);
        let added = run.entries.len() as u64;
        let packed = pack(self.way.to.dictionary().as_deref(), run.entries);
        self.way.append(target, Append { packed, contexts, ..self.way.nothing(self.entries) })?;
        self.entries += added;
        Ok(())
    }

    /// Opens the generations before one. Those that have no entries of their own yet are opened like the others: in the
    /// order of their numbers, and never before the place where they fork.
    fn open_until(&mut self, generation: u64) -> Result<(), StoreError> {
        while self.opened < generation
            && let Some(row) = self.generations.get(self.opened as usize)
        {
            self.way.append(opening(row), self.way.nothing(self.entries))?;
            self.opened += 1;
        }
        Ok(())
    }
}

fn opening(row: &GenerationRow) -> Target {
    Target::Open { parent: row.parent, opened_by: row.opened_by }
}

fn runs(rows: Vec<EntryRow>, raws: Vec<Raw>) -> Vec<EntryRun> {
    let mut runs: Vec<EntryRun> = Vec::new();
    for (row, raw) in rows.into_iter().zip(raws) {
        let (generation, position) = (row.generation, row.position.0);
        let large = large_parts(&raw.body);
        let entry = NewEntry { lead: raw.lead, body: raw.body, large, row };
        match runs.last_mut() {
            Some(run) if run.generation == generation => run.entries.push(entry),
            _ => runs.push(EntryRun { generation, position, entries: vec![entry] }),
        }
    }
    runs
}
