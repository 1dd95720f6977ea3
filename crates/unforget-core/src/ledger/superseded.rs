//! Finds earlier results that a later call has made worthless.

use std::collections::BTreeMap;

use super::{Answered, Called, Deed, Fact, Lines, Outcome, Telling, shown};
use crate::digest::Digest;
use crate::id::Seq;

/// Why an earlier result is no longer needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SupersededWhy {
    /// An equal call was made again, and its answer counts.
    Repeated,
    /// All of its lines were read again.
    ReadAgain,
    /// The file was changed since, so the shown content is outdated.
    Changed,
}

/// An earlier result that may become a one-line stub at the next break.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superseded {
    /// The entry with the result.
    pub answer: Seq,
    /// Which result of that entry.
    pub call_id: String,
    /// The entry with the later result.
    pub by: Seq,
    /// Why.
    pub why: SupersededWhy,
}

struct Settled<'a> {
    called: &'a Called,
    answered: &'a Answered,
    at: Seq,
}

/// Later deeds, while walking back.
#[derive(Default)]
struct Later<'a> {
    same: BTreeMap<Digest, Seq>,
    reads: BTreeMap<&'a str, Vec<(Lines, Seq)>>,
    writes: BTreeMap<&'a str, Seq>,
}

/// Lists the results that later calls supersede, oldest first.
///
/// * `history` - entries in order with their facts, up to the prompt's last break.
///
/// An answered call supersedes earlier equal calls if equal calls tell the same kind of thing ([`Telling`]). A failed
/// one does so only if it is a command, whose failure is news. A result that only shows lines of files is superseded
/// once each of the lines was read again in one piece, or its file was changed. Calls that were never run do not count.
/// Everything superseded can still be expanded.
///
/// Cost: O(n log n) in calls. Source: field notes B3.
pub fn superseded<'a>(history: impl IntoIterator<Item = (Seq, &'a [Fact])>) -> Vec<Superseded> {
    let mut found = Vec::new();
    let mut later = Later::default();
    for settled in settled(history).into_iter().rev() {
        if let Some((by, why)) = later.supersedes(&settled) {
            let (answer, call_id) = (settled.at, settled.answered.call_id.clone());
            found.push(Superseded { answer, call_id, by, why });
        }
        later.add(&settled);
    }
    found.reverse();
    found
}

/// The calls that were run and answered, in the order of their answers.
fn settled<'a>(history: impl IntoIterator<Item = (Seq, &'a [Fact])>) -> Vec<Settled<'a>> {
    let mut open: BTreeMap<&str, &Called> = BTreeMap::new();
    let mut settled = Vec::new();
    for (at, facts) in history {
        for fact in facts {
            match fact {
                Fact::Asked => {}
                Fact::Called(called) => {
                    open.insert(&called.id, called);
                }
                Fact::Answered(answered) => {
                    let called = open.remove(answered.call_id.as_str());
                    let called = called.filter(|_| answered.outcome != Outcome::NotRun);
                    settled.extend(called.map(|called| Settled { called, answered, at }));
                }
            }
        }
    }
    settled
}

impl<'a> Later<'a> {
    fn supersedes(&self, settled: &Settled<'_>) -> Option<(Seq, SupersededWhy)> {
        let again = self.same.get(&settled.called.print).filter(|_| settled.called.telling != Telling::Once);
        if let Some(by) = again {
            return Some((*by, SupersededWhy::Repeated));
        }
        let mut newest = None;
        for deed in &settled.called.deeds {
            let found = match deed {
                Deed::Read { path, lines } => {
                    self.read_or_changed(path, shown(settled.called, *lines, settled.answered))?
                }
                Deed::Ran(_) => continue,
                Deed::Wrote { .. } | Deed::Fetched(_) | Deed::Tasks(_) => return None,
            };
            newest = newest.max(Some(found));
        }
        newest.filter(|_| settled.called.telling == Telling::Shows)
    }

    fn read_or_changed(&self, path: &str, lines: Lines) -> Option<(Seq, SupersededWhy)> {
        let reads = self.reads.get(path).map_or(&[][..], Vec::as_slice);
        let again = reads
            .iter()
            .find(|(later, _)| later.covers(lines))
            .map(|(_, by)| (*by, SupersededWhy::ReadAgain));
        again.or_else(|| self.writes.get(path).map(|by| (*by, SupersededWhy::Changed)))
    }

    fn add(&mut self, settled: &Settled<'a>) {
        let done = settled.answered.outcome == Outcome::Done;
        let deeds = &settled.called.deeds;
        if done || deeds.iter().any(|deed| matches!(deed, Deed::Ran(_))) {
            self.same.entry(settled.called.print).or_insert(settled.at);
        }
        for deed in deeds.iter().filter(|_| done) {
            match deed {
                Deed::Read { path, lines } => {
                    let lines = shown(settled.called, *lines, settled.answered);
                    self.reads.entry(path).or_default().push((lines, settled.at));
                }
                Deed::Wrote { path, .. } => {
                    self.writes.entry(path).or_insert(settled.at);
                }
                Deed::Ran(_) | Deed::Fetched(_) | Deed::Tasks(_) => {}
            }
        }
    }
}
