//! Finds defects of a host's own transcript and the smallest change that mends them.
//!
//! Works on [`RecordFact`]s: the properties of each record that decide whether the host can load the file and whether a
//! provider accepts the resulting request. Nothing here knows a format or reads bytes.
//!
//! The principles of mending:
//!
//! * Mending removes and reconnects; it never adds text to a transcript.
//! * Results follow the fate of their call: a cut-off call is removed together with all its results.
//! * A real result beats a synthetic one and is moved rather than dropped.
//! * A removed record is bridged: its children hang on its parent.
//! * A harmless record at the end of its branch is left alone: its call may still be running.
//!
//! A second examination of the mended transcript finds none of the mended problems.
//!
//! Source: seed 004; F046, F047, F048, F049, F051, F052, F094.

mod cuts;
mod fact;
mod links;
mod mend;
mod pairs;
mod problem;
#[cfg(test)]
mod tests;

pub use fact::{CallFact, Customs, Kept, Link, RecordFact, ResultFact, Voice};
pub use mend::{KeptTo, MendPlan, RecordChange};
pub use problem::{Finding, Problem, Severity};

use cuts::cuts;
use links::links;
use pairs::pairs;

/// The findings of an examination, and the plan that mends them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// All findings, by record, then in the order of the rules.
    pub findings: Vec<Finding>,
    /// The changes; empty if no mendable problem was found.
    pub plan: MendPlan,
}

/// Examines a transcript.
///
/// * `facts` - one per record, in file order.
///
/// Cost: O(n log n) in records, calls and results. Memory: a few words for each of them.
pub fn examine(facts: &[RecordFact], customs: Customs) -> Examination {
    let links = links(facts, customs);
    let mut pairs = pairs(facts, &links, customs);
    let cuts = cuts(facts, &links, &mut pairs);
    mend::settle(facts, customs, &links, &pairs, &cuts)
}
