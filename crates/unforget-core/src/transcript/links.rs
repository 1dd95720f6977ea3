//! The order of records along their paths.

use std::collections::BTreeMap;

use super::fact::{Customs, Kept, Link, RecordFact, Voice};

/// The shape of a transcript. Every reference points to an earlier record, so there are no cycles.
#[derive(Debug, Default)]
pub(super) struct Links {
    /// The parent of each record: the one it names, or a substitute.
    pub(super) up: Vec<Option<usize>>,
    /// The record that a host sends before each one; equal to `up` in trees.
    pub(super) before: Vec<Option<usize>>,
    /// Number of records before each one on its path.
    pub(super) depth: Vec<u32>,
    /// Where each compaction's kept part starts, if that record is on its path.
    pub(super) kept: BTreeMap<usize, Option<usize>>,
    /// Records with a lost parent.
    pub(super) lost: Vec<usize>,
    /// Records whose parent is in another file, or stood before the start of this one.
    pub(super) foreign: Vec<usize>,
    /// Records that repeat another one.
    pub(super) copies: Vec<usize>,
    /// Records with the id of an earlier, different record, and their new ids.
    pub(super) renamed: BTreeMap<usize, Box<str>>,
    /// Records outside the shape: no content, or copies.
    pub(super) is_out: Vec<bool>,
    /// Which records are part of the host's next request.
    pub(super) is_active: Vec<bool>,
}

/// Determines the shape.
pub(super) fn links(facts: &[RecordFact], customs: Customs) -> Links {
    let mut links = Links { is_active: vec![false; facts.len()], ..Links::default() };
    let mut by_id: BTreeMap<&str, usize> = BTreeMap::new();
    let mut last_in_lane: BTreeMap<u32, usize> = BTreeMap::new();
    let (mut last, mut last_named) = (None, None);
    for (at, fact) in facts.iter().enumerate() {
        let is_inside = fact.voice != Voice::Outside;
        let up = match &fact.link {
            _ if !is_inside => None,
            Link::Root => None,
            Link::Previous => last,
            named => {
                let known = match named {
                    Link::Id(id) => by_id.get(&**id).copied(),
                    _ => None,
                };
                let is_lost = last_named.is_some() && !customs.joins_files;
                if known.is_none() {
                    if is_lost { links.lost.push(at) } else { links.foreign.push(at) }
                }
                known.or(last_named.filter(|_| is_lost))
            }
        };
        let before = if customs.is_tree { up } else { last_in_lane.get(&fact.lane).copied() };
        let before = before.filter(|_| is_inside);
        links.depth.push(before.map_or(0, |before| links.depth.get(before).map_or(0, |depth| depth + 1)));
        links.up.push(up);
        links.before.push(before);
        if let Some(kept) = &fact.kept {
            let start = match kept {
                Kept::Nothing => Some(at),
                Kept::Id(id) if fact.id.as_deref() == Some(&**id) => Some(at),
                Kept::Id(id) => by_id.get(&**id).copied(),
                Kept::Record(record) => Some(*record).filter(|record| *record <= at),
                Kept::Lost => None,
            };
            links.kept.insert(at, start);
        }
        links.is_out.push(!is_inside || fact.is_copy);
        if fact.is_copy {
            links.copies.push(at);
        }
        if !is_inside || fact.is_copy {
            continue;
        }
        if let Some(id) = fact.id.as_deref() {
            if by_id.insert(id, at).is_some() {
                links.renamed.insert(at, new_name(id, at).into());
            }
            last_named = Some(at);
        }
        last = Some(at);
        last_in_lane.insert(fact.lane, at);
    }
    links.keep_to_paths();
    links.activate(facts);
    links
}

/// A unique id, made from the old id and the place.
pub(super) fn new_name(old: &str, place: usize) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(place as u64).to_le_bytes());
    hasher.update(old.as_bytes());
    let digest = crate::digest::Digest(*hasher.finalize().as_bytes()).hex();
    digest.get(..16).unwrap_or_default().to_owned()
}

impl Links {
    /// The record sent before this one.
    pub(super) fn before(&self, record: usize) -> Option<usize> {
        self.before.get(record).copied().flatten()
    }

    /// Place of a record on its path.
    pub(super) fn depth(&self, record: usize) -> u32 {
        self.depth.get(record).copied().unwrap_or_default()
    }

    /// Whether the record is part of the host's next request.
    pub(super) fn is_active(&self, record: usize) -> bool {
        self.is_active.get(record).copied().unwrap_or_default()
    }

    /// Forgets kept parts that start outside the path of their compaction.
    fn keep_to_paths(&mut self) {
        let mut budget = self.before.len() * 16 + 65_536;
        let starts: Vec<_> = self.kept.iter().map(|(at, start)| (*at, *start)).collect();
        for (at, start) in starts {
            let Some(start) = start else { continue };
            let mut here = Some(at);
            while let Some(record) = here.filter(|record| *record > start && budget > 0) {
                budget -= 1;
                here = self.before(record);
            }
            if budget > 0 && here != Some(start) {
                self.kept.insert(at, None);
            }
        }
    }

    /// Marks the path of the host's next request, from its end.
    fn activate(&mut self, facts: &[RecordFact]) {
        let mut records = facts.iter().zip(&self.is_out);
        let mut here = records.rposition(|(fact, is_out)| !is_out && fact.lane == 0);
        let mut until = None;
        while let Some(record) = here {
            if let Some(active) = self.is_active.get_mut(record) {
                *active = true;
            }
            if until.is_none() {
                until = self.kept.get(&record).map(|start| start.unwrap_or(record));
            }
            if until.is_some_and(|until| record <= until) {
                break;
            }
            here = self.before(record);
        }
    }
}
