//! Where entries stand on the paths of a conversation, and whether the paths are whole.

use unforget_core::id::Seq;

use crate::port::{Conversation, GenerationRow};

/// A run of a generation's own entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Extent {
    /// The first entry.
    pub seq: u64,
    /// Number of entries.
    pub count: u64,
    /// The generation.
    pub generation: u64,
    /// Position of the first entry in the generation's path.
    pub position: u64,
}

/// All extents of a conversation, by seq.
#[derive(Clone, Debug)]
pub struct Extents {
    all: Vec<Extent>,
    /// Index of the extent that contained the last entry asked for.
    at: usize,
}

/// A defect of the paths, and the first entry concerned.
pub type PathDefect = (Option<Seq>, String);

impl Extents {
    /// Sorts the extents.
    pub fn new(mut all: Vec<Extent>) -> Self {
        all.sort_unstable();
        Self { all, at: 0 }
    }

    /// What is wrong with the paths and the head of a conversation; empty if nothing is.
    ///
    /// * `generations` - all of them, by number.
    pub fn defects(&self, conversation: &Conversation, generations: &[GenerationRow]) -> Vec<PathDefect> {
        let mut found = Vec::new();
        for (number, generation) in (0..).zip(generations) {
            found.extend(self.wrong_generation(number, generation, generations).map(|detail| (None, detail)));
        }
        let mut next = 0;
        for Extent { seq, count, generation, .. } in &self.all {
            if *seq != next {
                let detail = format!("entry {next} is on no path or on two (generation {generation})");
                found.push((Some(Seq(next)), detail));
                break;
            }
            next = next.saturating_add(*count);
        }
        if next != conversation.entries {
            let detail = format!("paths have {next} entries, the conversation {}", conversation.entries);
            found.push((Some(Seq(next)), detail));
        }
        let current =
            generations.get(conversation.current.0 as usize).map_or(0, |generation| generation.length);
        if conversation.length > current {
            found.push((None, format!("the head is at {} of a path of {current}", conversation.length)));
        }
        found
    }

    /// The defect of a generation, if any.
    fn wrong_generation(&self, number: u64, row: &GenerationRow, all: &[GenerationRow]) -> Option<String> {
        if row.number.0 != number {
            return Some(format!("generation {number} is missing"));
        }
        let mut end = 0;
        if let Some((parent, fork)) = row.parent {
            let parent = all.get(parent.0 as usize).filter(|parent| parent.number.0 < number);
            if parent.is_none_or(|parent| parent.length < fork.0) {
                return Some(format!("generation {number} forks from what is not there"));
            }
            end = fork.0;
        }
        // A generation only grows, so its extents are in order of their seqs.
        for extent in self.all.iter().filter(|extent| extent.generation == number) {
            if extent.position != end {
                return Some(format!("generation {number} has a gap at position {end}"));
            }
            end = end.saturating_add(extent.count);
        }
        (end != row.length)
            .then(|| format!("generation {number} has {end} entries, its row says {}", row.length))
    }

    /// Generation and position of an entry. Call with ascending seqs.
    pub fn place(&mut self, seq: u64) -> Option<(u64, u64)> {
        loop {
            let extent = self.all.get(self.at)?;
            if seq < extent.seq {
                return None;
            }
            if seq - extent.seq < extent.count {
                return Some((extent.generation, extent.position.saturating_add(seq - extent.seq)));
            }
            self.at += 1;
        }
    }
}
