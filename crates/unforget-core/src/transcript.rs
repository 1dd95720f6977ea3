//! What is wrong with a host's own transcript, and the smallest change that mends it.
//!
//! Works on [`Fact`]s: what of each record decides whether the host can load the file and whether a
//! provider accepts what the host then sends. Nothing here knows a format or reads bytes.
//!
//! The principles of mending:
//!
//! * It takes away and joins again; it never puts words into a transcript.
//! * Results follow the fate of their call: a call that was cut off goes, with every result of it.
//! * A real result beats a synthetic one and is moved rather than dropped.
//! * A record that goes is bridged: its children hang on its parent.
//! * A record at the end of its branch is left alone where it does no harm: its call may be running.
//!
//! Examining a transcript that was mended finds nothing that mending claims to mend.
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

pub use fact::{CallFact, Customs, Fact, Kept, Link, ResultFact, Voice};
pub use mend::{Change, KeptTo, Plan};
pub use problem::{Finding, Problem, Severity};

use cuts::cuts;
use links::links;
use pairs::pairs;

/// What an examination found, and the plan that mends it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// What is wrong, by record, then in the order of the rules.
    pub findings: Vec<Finding>,
    /// What to change; empty if nothing that can be mended is wrong.
    pub plan: Plan,
}

/// Examines a transcript.
///
/// * `facts` - one per record, in file order.
///
/// Cost: O(n log n) in records, calls and results. Memory: a few words for each of them.
pub fn examine(facts: &[Fact], customs: Customs) -> Examination {
    let links = links(facts, customs);
    let mut pairs = pairs(facts, &links, customs);
    let cuts = cuts(facts, &links, &mut pairs);
    mend::settle(facts, customs, &links, &pairs, &cuts)
}
