//! What of a record decides whether a transcript is sound.

use crate::entry::Status;

/// What a host does with its transcripts, as far as the rules depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about a host")]
pub struct Customs {
    /// The host sends the path from the last record to the root along the parents. Otherwise it sends
    /// the records of a lane in file order.
    pub is_tree: bool,
    /// The host sends results where they stand; it does not bring them back to their call.
    pub sends_in_place: bool,
    /// Records without words may be taken out.
    pub drops_blank: bool,
    /// Whether anything may be changed at all.
    pub is_mendable: bool,
    /// Parents may be in another file, so that one that is not in this file is not lost.
    pub joins_files: bool,
}

/// Who speaks in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// Not part of the transcript's content: the header, bytes that do not parse.
    Outside,
    /// A record that a model does not see.
    #[default]
    Silent,
    /// Input to the model that answers no call.
    Input,
    /// Output of the model.
    Model,
    /// Results of calls.
    Results,
    /// The host's own compaction: what is before it is not sent, except for what it keeps.
    Compaction,
}

/// How a record names its predecessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It names none: the record before it in its lane.
    #[default]
    Previous,
    /// It is a root.
    Root,
    /// The record with this id.
    Id(Box<str>),
    /// It should name one and does not; the host takes it for a root.
    Missing,
}

/// What a compaction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing of what is before it.
    Nothing,
    /// Everything from the record with this id on.
    Id(Box<str>),
    /// Everything from this record on, by index in the list of facts.
    Record(usize),
    /// It names something that is not there.
    Lost,
}

/// A call in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFact {
    /// Index of its block.
    pub block: usize,
    /// The provider's id.
    pub id: Box<str>,
    /// Whether it was written to its end.
    pub is_whole: bool,
}

/// A result in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFact {
    /// Index of its block.
    pub block: usize,
    /// Id of the call that it answers.
    pub call_id: Box<str>,
    /// Whether the host made it up because there was none.
    pub is_synthetic: bool,
}

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fact {
    /// The host's id; `None` if the record does not carry one.
    pub id: Option<Box<str>>,
    /// Its predecessor.
    pub link: Link,
    /// Its lane; 0 is the main one.
    pub lane: u32,
    /// Id of the API message of which it is a piece.
    pub message: Option<Box<str>>,
    /// Who speaks.
    pub voice: Voice,
    /// How it ended.
    pub status: Status,
    /// Its calls, in order.
    pub calls: Vec<CallFact>,
    /// Its results, in order.
    pub results: Vec<ResultFact>,
    /// Whether it holds words or media beside calls, results and reasoning.
    pub has_words: bool,
    /// Whether nothing in it would reach a model: no block, or only blank text.
    pub is_blank: bool,
    /// What it keeps, if it is a compaction.
    pub kept: Option<Kept>,
    /// Whether another record with the same id and parent says the same, and this one can go.
    pub is_copy: bool,
}

impl Fact {
    /// Whether its calls were meant to be run.
    pub(super) fn is_complete(&self) -> bool {
        self.status == Status::Complete
    }

    /// Whether it is a message that stands between a call and what comes later.
    pub(super) fn is_barrier(&self) -> bool {
        match self.voice {
            Voice::Input => true,
            Voice::Model => self.is_complete(),
            _ => false,
        }
    }
}
