//! Plans the changes of a file as edits of bytes. All bytes between the edits stay.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use unforget_core::transcript::{Examination, Problem, RecordChange};

use super::GuardError;
use super::inspect::is_broken;
use super::read::{Reading, bytes_of};
use super::splice::{Splice, splices};

/// Maximum bytes of a line shown by an [`Action`].
const SHOWN_BYTES: usize = 160;

/// Replaces a range of the original by other bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The replaced range; empty for an insertion.
    pub range: Range<u64>,
    /// The new bytes.
    pub with: Vec<u8>,
}

/// One step of the plan, described for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// The line in the original, from 1.
    pub line: u64,
    /// The problem solved by this step.
    pub problem: Problem,
    /// Description of the change.
    pub what: String,
    /// The old text, shortened.
    pub old: Option<String>,
    /// The new text, shortened.
    pub new: Option<String>,
}

/// The edits with their descriptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Edits {
    /// Ascending, not overlapping.
    pub(super) edits: Vec<Edit>,
    /// In the order of lines.
    pub(super) actions: Vec<Action>,
}

/// Plans the edits that mend the findings. Pure, except for reading the records that change.
///
/// # Errors
/// [`GuardError::Unmendable`] if a record that must change cannot be parsed.
pub(super) fn edits(
    file: &File,
    path: &Path,
    reading: &Reading,
    examination: &Examination,
) -> Result<Edits, GuardError> {
    if reading.customs.is_none_or(|customs| !customs.is_mendable) || reading.spots.is_empty() {
        return Ok(Edits::default());
    }
    let mut changes: BTreeMap<usize, Vec<PlannedChange<'_>>> = BTreeMap::new();
    for (record, change, problem) in &examination.plan.changes {
        changes.entry(*record).or_default().push(PlannedChange { change, problem: *problem });
    }
    let mut planner =
        Planner { file, path, reading, changes, moved: BTreeMap::new(), edits: Edits::default() };
    planner.changes_of_records()?;
    planner.lines()?;
    planner.tail()?;
    let mut edits = planner.edits;
    edits.edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
    edits.actions.sort_by_key(|action| action.line);
    Ok(edits)
}

/// A change of one record and the problem that it mends.
#[derive(Clone, Copy)]
struct PlannedChange<'a> {
    change: &'a RecordChange,
    problem: Problem,
}

struct Planner<'a> {
    file: &'a File,
    path: &'a Path,
    reading: &'a Reading,
    changes: BTreeMap<usize, Vec<PlannedChange<'a>>>,
    /// Lines to be inserted behind a record.
    moved: BTreeMap<usize, Vec<u8>>,
    edits: Edits,
}

impl PlannedChange<'_> {
    const fn is_cut(&self) -> bool {
        matches!(self.change, RecordChange::CutBlocks(_))
    }
}

impl Planner<'_> {
    fn changes_of_records(&mut self) -> Result<(), GuardError> {
        let index = self.indexes();
        let changes: Vec<_> =
            self.changes.iter().map(|(record, changes)| (*record, changes.clone())).collect();
        for (record, changes) in changes {
            let Some(&spot) = self.reading.spots.get(record) else { continue };
            let body = self.bytes(spot.start..spot.end)?;
            let (body, all) = self.splice(spot.line, body, &changes, &index)?;
            let place = changes.iter().find_map(|planned| match planned.change {
                RecordChange::Drop => Some(None),
                RecordChange::Move { behind } => Some(Some(*behind)),
                _ => None,
            });
            match place {
                Some(None) => {}
                Some(Some(behind)) => {
                    let line = spliced(&body, &all);
                    let lines = self.moved.entry(behind).or_default();
                    lines.extend(line);
                    lines.push(b'\n');
                }
                None => {
                    for (range, with) in all {
                        let range = spot.start + range.start as u64..spot.start + range.end as u64;
                        self.edits.edits.push(Edit { range, with });
                    }
                }
            }
        }
        Ok(())
    }

    /// The replaced ranges of a body. Where changes overlap, the whole body is one range.
    fn splice(
        &mut self,
        line: u64,
        body: Vec<u8>,
        changes: &[PlannedChange<'_>],
        index: &[u64],
    ) -> Result<(Vec<u8>, Vec<Splice>), GuardError> {
        let index = |record: usize| index.get(record).copied().unwrap_or_default();
        let (cuts, others): (Vec<_>, Vec<_>) = changes.iter().copied().partition(PlannedChange::is_cut);
        let mut all: Vec<Splice> = Vec::new();
        let mut done = Vec::new();
        // Changes count blocks in the original numbering, so blocks are removed last.
        for planned in others.into_iter().chain(cuts) {
            if planned.is_cut() && !all.is_empty() {
                done = spliced(&body, &all);
                all.clear();
            }
            let now = if done.is_empty() { &body } else { &done };
            let made = splices(self.reading.format, now, planned.change, &index);
            let made = made.ok_or(GuardError::Unmendable { path: self.path.into(), line })?;
            self.tell(line, planned, now, &made);
            all.extend(made);
            all.sort_by_key(|(range, _)| range.start);
        }
        if !done.is_empty() {
            let whole = spliced(&done, &all);
            all = vec![(0..body.len(), whole)];
        }
        Ok((body, all))
    }

    /// Changes of whole lines: removed or moved records, records glued together, NUL bytes.
    fn lines(&mut self) -> Result<(), GuardError> {
        let count = self.reading.spots.len();
        let first = self.reading.spots.first().map_or(0, |spot| spot.start);
        self.strip_nuls(0..first, 0)?;
        for at in 0..count {
            let Some(&spot) = self.reading.spots.get(at) else { continue };
            let end = self.reading.spots.get(at + 1).map_or(self.whole_end(), |next| next.start);
            let is_broken = is_broken(self.reading, at);
            if is_broken {
                let old = self.bytes(spot.start..spot.end.min(spot.start + SHOWN_BYTES as u64))?;
                let what = "removed".to_owned();
                self.act(spot.line, Problem::BrokenLine, what, Some(shown(&old)));
            }
            if is_broken || self.is_off(at) {
                self.edits.edits.push(Edit { range: spot.start..end, with: Vec::new() });
                if let Some(lines) = self.moved.remove(&at) {
                    self.edits.edits.push(Edit { range: end..end, with: lines });
                }
                continue;
            }
            if !spot.is_ended {
                self.edits.edits.push(Edit { range: spot.end..spot.end, with: b"\n".to_vec() });
                let is_last = at + 1 == count;
                let (problem, line) =
                    if is_last { (Problem::NoNewline, spot.line) } else { (Problem::GluedLine, spot.line) };
                let is_told = is_last && self.reading.tail.torn.is_some() || self.is_next_broken(at);
                if !is_told {
                    self.act(line, problem, "a newline added behind the record".to_owned(), None);
                }
            }
            self.strip_nuls(spot.end..end, spot.line)?;
            if let Some(lines) = self.moved.remove(&at) {
                self.edits.edits.push(Edit { range: end..end, with: lines });
            }
        }
        Ok(())
    }

    fn is_next_broken(&self, at: usize) -> bool {
        at + 1 < self.reading.spots.len() && is_broken(self.reading, at + 1)
    }

    /// Removes a truncated last line.
    fn tail(&mut self) -> Result<(), GuardError> {
        let Some((byte, line)) = self.reading.tail.torn else { return Ok(()) };
        let old = self.bytes(byte..self.reading.bytes.min(byte + SHOWN_BYTES as u64))?;
        self.act(line, Problem::TornLine, "removed; the backup has it".to_owned(), Some(shown(&old)));
        self.edits.edits.push(Edit { range: byte..self.reading.bytes, with: Vec::new() });
        Ok(())
    }

    /// End of the last whole line.
    fn whole_end(&self) -> u64 {
        self.reading.tail.torn.map_or(self.reading.bytes, |(byte, _)| byte)
    }

    fn is_off(&self, at: usize) -> bool {
        let Some(changes) = self.changes.get(&at) else { return false };
        changes.iter().any(|planned| matches!(planned.change, RecordChange::Drop | RecordChange::Move { .. }))
    }

    fn strip_nuls(&mut self, range: Range<u64>, line: u64) -> Result<(), GuardError> {
        let has_nuls = |at: usize| self.reading.spots.get(at).is_some_and(|spot| spot.nuls_before > 0);
        let next = self.reading.spots.partition_point(|spot| spot.start < range.end);
        let is_last = next == self.reading.spots.len();
        let nuls = if is_last { self.reading.tail.nuls > 0 } else { has_nuls(next) };
        if !nuls {
            return Ok(());
        }
        let bytes = self.bytes(range.clone())?;
        let mut from = None;
        let mut count = 0;
        for (at, byte) in bytes.iter().chain([&1]).enumerate() {
            match (from, *byte == 0) {
                (None, true) => from = Some(at),
                (Some(start), false) => {
                    let (start, end) = (range.start + start as u64, range.start + at as u64);
                    self.edits.edits.push(Edit { range: start..end, with: Vec::new() });
                    count += end - start;
                    from = None;
                }
                _ => {}
            }
        }
        self.act(line + 1, Problem::NulBytes, format!("{count} NUL bytes removed"), None);
        Ok(())
    }

    /// The host's index of each record after all changes; a removed record has the index of its successor.
    fn indexes(&self) -> Vec<u64> {
        let has_indexes = self.changes.values().flatten().any(|planned| {
            matches!(planned.change, RecordChange::Keep(unforget_core::transcript::KeptTo::Record(_)))
        });
        if !has_indexes {
            return Vec::new();
        }
        let mut behind: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (record, changes) in &self.changes {
            for planned in changes {
                if let RecordChange::Move { behind: home } = planned.change {
                    behind.entry(*home).or_default().push(*record);
                }
            }
        }
        let mut indexes = vec![0; self.reading.spots.len()];
        let mut next = 0;
        for at in 0..indexes.len() {
            let is_counted = !is_broken(self.reading, at) && !self.is_off(at);
            for record in
                std::iter::once(at).filter(|_| is_counted).chain(behind.remove(&at).unwrap_or_default())
            {
                if let Some(index) = indexes.get_mut(record) {
                    *index = next;
                }
                next += 1;
            }
        }
        indexes
    }

    fn bytes(&self, range: Range<u64>) -> Result<Vec<u8>, GuardError> {
        bytes_of(self.file, range).map_err(GuardError::file("reading", self.path))
    }

    fn act(&mut self, line: u64, problem: Problem, what: String, old: Option<String>) {
        self.edits.actions.push(Action { line, problem, what, old, new: None });
    }

    fn tell(&mut self, line: u64, planned: PlannedChange<'_>, body: &[u8], made: &[Splice]) {
        let PlannedChange { change, problem } = planned;
        let (old, new) = match (change, made.first()) {
            (RecordChange::Drop, _) => (Some(shown(body)), None),
            (RecordChange::Move { .. }, _) => (None, None),
            (_, None) => return,
            (_, Some((range, with))) => (body.get(range.clone()).map(shown), Some(shown(with))),
        };
        let what = match change {
            RecordChange::Drop => "removed; the records behind it get its parent".to_owned(),
            RecordChange::Move { behind } => {
                let to = self.reading.spots.get(*behind).map_or(0, |spot| spot.line);
                format!("moved behind line {to}")
            }
            RecordChange::CutBlocks(blocks) => {
                let blocks = blocks.len();
                format!("{blocks} {} removed, the rest kept", if blocks == 1 { "block" } else { "blocks" })
            }
            RecordChange::RenameCall { .. } => "the call gets an id of its own".to_owned(),
            RecordChange::RenameResult { .. } => "the result follows its call's new id".to_owned(),
            RecordChange::Rename(_) => "the record gets an id of its own".to_owned(),
            RecordChange::Link(_) => "attached to another parent".to_owned(),
            RecordChange::Keep(_) => "the compaction keeps whole pairs".to_owned(),
        };
        self.edits.actions.push(Action { line, problem, what, old, new });
    }
}

fn spliced(body: &[u8], splices: &[Splice]) -> Vec<u8> {
    let mut line = Vec::with_capacity(body.len());
    let mut at = 0;
    for (range, with) in splices {
        line.extend_from_slice(body.get(at..range.start).unwrap_or_default());
        line.extend_from_slice(with);
        at = range.end;
    }
    line.extend_from_slice(body.get(at..).unwrap_or_default());
    line
}

/// The beginning of some bytes, as text.
fn shown(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let text = String::from_utf8_lossy(bytes.get(..SHOWN_BYTES).unwrap_or(bytes)).into_owned();
    if bytes.len() > SHOWN_BYTES { text + "…" } else { text }
}

/// Copies `original` with the edits applied.
///
/// # Errors
/// Errors of reading and writing.
pub(super) fn carry_out(
    original: &mut dyn io::Read,
    edits: &[Edit],
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut at = 0;
    for edit in edits {
        io::copy(&mut io::Read::take(&mut *original, edit.range.start.saturating_sub(at)), out)?;
        out.write_all(&edit.with)?;
        let gone = edit.range.end.saturating_sub(edit.range.start);
        io::copy(&mut io::Read::take(&mut *original, gone), &mut io::sink())?;
        at = edit.range.end;
    }
    io::copy(original, out)?;
    Ok(())
}
