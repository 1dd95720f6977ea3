//! The properties of a record that decide whether a transcript is sound.

use crate::entry::Status;

/// A host's handling of its transcripts, as far as the rules depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about a host")]
pub struct Customs {
    /// The host sends the path from the last record to the root along the parents. Otherwise it sends the records of a
    /// lane in file order.
    pub is_tree: bool,
    /// The host sends results where they stand and does not move them to their call.
    pub sends_in_place: bool,
    /// Records without text may be removed.
    pub drops_blank: bool,
    /// Whether anything may be changed at all.
    pub is_mendable: bool,
    /// Parents may be in another file, so a parent outside this file is not lost.
    pub joins_files: bool,
}

/// Who speaks in a record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Voice {
    /// Not part of the transcript's content: the header, unparsable bytes.
    Outside,
    /// A record that is never shown to a model.
    #[default]
    Silent,
    /// Input to the model that answers no call.
    Input,
    /// Output of the model.
    Model,
    /// Results of calls.
    Results,
    /// The host's own compaction: of the records before it, only the kept ones are sent.
    Compaction,
}

/// How a record names its predecessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Link {
    /// It names none: the previous record of its lane.
    #[default]
    Previous,
    /// It is a root.
    Root,
    /// The record with this id.
    Id(Box<str>),
    /// It should name one and does not; the host treats it as a root.
    Missing,
}

/// The records that a compaction keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing before it.
    Nothing,
    /// Everything from the record with this id on.
    Id(Box<str>),
    /// Everything from this record on, by index in the list of facts.
    Record(usize),
    /// It names a missing record.
    Lost,
}

/// A call in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallFact {
    /// Index of its block.
    pub block: usize,
    /// The provider's id.
    pub id: Box<str>,
    /// Whether it was written completely.
    pub is_whole: bool,
}

/// A result in a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultFact {
    /// Index of its block.
    pub block: usize,
    /// Id of the answered call.
    pub call_id: Box<str>,
    /// Whether the host invented it in place of a missing one.
    pub is_synthetic: bool,
}

/// One record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordFact {
    /// The host's id; `None` if the record does not carry one.
    pub id: Option<Box<str>>,
    /// Its predecessor.
    pub link: Link,
    /// Its lane; 0 is the main one.
    pub lane: u32,
    /// Id of the API message to which the record belongs.
    pub message: Option<Box<str>>,
    /// Who speaks.
    pub voice: Voice,
    /// How it ended.
    pub status: Status,
    /// Its calls, in order.
    pub calls: Vec<CallFact>,
    /// Its results, in order.
    pub results: Vec<ResultFact>,
    /// Whether it holds text or media beside calls, results and reasoning.
    pub has_words: bool,
    /// Whether it would show nothing to a model: no block, or only blank text.
    pub is_blank: bool,
    /// For a compaction, the records that it keeps.
    pub kept: Option<Kept>,
    /// Whether another record has the same id, parent and content, so that this one can be removed.
    pub is_copy: bool,
}

impl RecordFact {
    /// Whether its calls were meant to run.
    pub(super) fn is_complete(&self) -> bool {
        self.status == Status::Complete
    }

    /// Whether it is a message that separates a call from later results.
    pub(super) fn is_barrier(&self) -> bool {
        match self.voice {
            Voice::Input => true,
            Voice::Model => self.is_complete(),
            _ => false,
        }
    }
}
