//! Which lane a client's request belongs to.
//!
//! Clients of a provider's API rarely name their conversation, and they use one name for side requests too: titles,
//! summaries, sub-agents. The proof that a request continues a lane is that its messages begin with the lane's path.

use crate::deliver::DeliveryOutcome;

/// How much a client's name says about the conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// Names the session: another history under this name is an edit, a fork or a side request.
    Session,
    /// Names the caller at most: two conversations may begin alike.
    Loose,
}

/// A lane that the request may belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The outcome of delivering the request's array to this lane.
    pub why: DeliveryOutcome,
    /// Number of messages of the array that are on the lane's path.
    pub kept: usize,
    /// Number of messages of the lane's path that the array leaves out.
    pub left: u64,
    /// Whether the lane's requests had the same instructions and tools.
    pub is_same_kind: bool,
    /// Whether the array begins like an earlier request of the lane.
    pub begins_alike: bool,
}

impl Candidate {
    /// Whether the request's first messages are those of the lane.
    const fn is_begun(&self) -> bool {
        self.kept > 0 || (self.left == 0 && self.begins_alike)
    }

    /// Whether the shared messages, or instructions and tools, prove the lane.
    const fn is_proven(&self) -> bool {
        self.kept >= PROOF || (self.is_begun() && self.is_same_kind)
    }

    /// Whether the request continues the lane.
    const fn continues(&self) -> bool {
        matches!(self.why, DeliveryOutcome::Append | DeliveryOutcome::UpToDate) && self.is_proven()
    }

    /// Whether the request may cut the lane back and continue differently.
    const fn may_cut(&self, hint: Hint) -> bool {
        let is_edit = self.left <= EDIT;
        match hint {
            Hint::Session => self.is_proven() && (self.is_same_kind || is_edit),
            Hint::Loose => self.is_proven() && self.is_same_kind && is_edit,
        }
    }
}

/// The lane of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The candidate with this index. The request continues it, or cuts it back and continues differently.
    Lane(usize),
    /// A new lane, which may begin like a candidate.
    New {
        /// Index of the candidate that shares most messages, if any does.
        like: Option<usize>,
    },
}

/// Most messages behind a fork that a client without a session name may leave out: the newest question and its answer.
/// A request that leaves out more is another conversation that began alike.
const EDIT: u64 = 2;

/// Messages that prove a lane whatever else changed: one question and its answer.
const PROOF: usize = 2;

/// Chooses the lane of a request.
///
/// * `candidates` - their order decides between equals.
///
/// 1. The lane that shares most messages with the array. The array either continues the lane, or has the same
///    instructions and tools and cuts it back. If instructions or tools differ, a session may leave out the newest
///    exchange at most; a loose name may leave out at most that, and only with the same instructions and tools. Among
///    equals, a lane that the array continues wins. A first message alone proves nothing when instructions and tools
///    differ: clients ask for titles that way.
/// 2. A new lane.
///
/// A lane without messages is one whose first call was killed before it was stored. It is proved by the array that
/// began it.
///
/// Cost: O(candidates). Source: design §3; F097, F102.
pub fn choose(hint: Hint, candidates: &[Candidate]) -> Choice {
    match longest(candidates, |one| one.continues() || one.may_cut(hint)) {
        Some(index) => Choice::Lane(index),
        None => Choice::New { like: longest(candidates, |one| one.kept > 0) },
    }
}

/// Index of the fitting candidate that shares most messages. Among equals, one that the request continues wins, then the
/// first one.
fn longest(candidates: &[Candidate], fits: impl Fn(&Candidate) -> bool) -> Option<usize> {
    let fitting = candidates.iter().enumerate().filter(|(_, one)| fits(one));
    fitting.rev().max_by_key(|(_, one)| (one.kept, one.continues())).map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_table() {
        use Choice::{Lane, New};
        use DeliveryOutcome::{Append, Branch, Rewind, Unreconciled, UpToDate};
        use Hint::{Loose, Session};
        let one = |why, kept, left, is_same_kind| Candidate {
            why,
            kept,
            left,
            is_same_kind,
            begins_alike: kept > 0,
        };
        let killed = Candidate { begins_alike: true, ..one(Append, 0, 0, true) };
        let nothing = New { like: None };
        let table = [
            (Loose, vec![], nothing, "first sight"),
            (Loose, vec![one(Append, 4, 0, true)], Lane(0), "it goes on"),
            (Loose, vec![one(Append, 4, 0, false)], Lane(0), "a tool came to it"),
            (Loose, vec![one(Append, 2, 0, true), one(Append, 6, 0, true)], Lane(1), "the longest"),
            (Loose, vec![one(UpToDate, 3, 0, true)], Lane(0), "f042: asked again"),
            (Session, vec![killed], Lane(0), "f044: its first call was killed before it was stored"),
            (
                Session,
                vec![one(Append, 0, 0, true)],
                nothing,
                "another call of the session is about to be stored",
            ),
            (Session, vec![one(Append, 1, 0, false)], New { like: Some(0) }, "a title is asked for"),
            (
                Session,
                vec![one(Unreconciled, 0, 9, true)],
                nothing,
                "a sub-agent, or a summary of the client's",
            ),
            (Session, vec![one(Branch, 3, 40, true)], Lane(0), "a person went back"),
            (
                Loose,
                vec![one(Branch, 3, 40, true)],
                New { like: Some(0) },
                "another conversation began alike",
            ),
            (Loose, vec![one(Branch, 3, 2, true)], Lane(0), "the newest question was edited"),
            (
                Loose,
                vec![one(Branch, 3, 2, false)],
                New { like: Some(0) },
                "with other tools it is another conversation",
            ),
            (Session, vec![one(Rewind, 15, 1, false)], Lane(0), "asked again, and a tool came to it"),
            (Loose, vec![one(Rewind, 3, 1, true)], Lane(0), "another answer is wanted"),
            (
                Session,
                vec![one(Branch, 1, 6, false)],
                New { like: Some(0) },
                "a sub-agent with the same words",
            ),
            (
                Session,
                vec![one(Branch, 3, 1, true), one(Append, 3, 0, true)],
                Lane(1),
                "going on comes first",
            ),
            (
                Session,
                vec![one(Append, 3, 0, true), one(Rewind, 15, 1, true)],
                Lane(1),
                "f042: asked again without the answer, and a fork is shorter",
            ),
        ];
        for (hint, candidates, choice, reason) in table {
            assert_eq!(choose(hint, &candidates), choice, "{reason}");
        }
    }
}
