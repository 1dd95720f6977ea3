//! What hosts ask and what they are told.

use std::sync::Arc;

use unforget_core::admit::Certificate;
use unforget_core::deliver::Why;
use unforget_core::id::Seq;
use unforget_core::loop_view::Stale;
use unforget_core::media;
use unforget_core::pin::Followed;
use unforget_core::tokens::Tokens;
use unforget_wire::journal::Provenance;
use unforget_wire::{Dialect, Format};

use crate::EngineError;
use crate::prompt::{Broken, PromptWeight, ShortPin};

/// A lane: one history of a host, under the name that it keeps across restarts and resets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LaneKey(pub String);

/// SHA-256 of a message's JSON as the host sends it, in UTF-8: the first 16 bytes.
///
/// SHA-256, since every language has it. See [`super::face`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Face(pub [u8; 16]);

/// A message that a host delivers.
#[derive(Clone, Debug, Default)]
pub struct Delivered {
    /// The message, in the lane's form; `None` if the engine has had it before: then `face` names it.
    pub body: Option<Vec<u8>>,
    /// Its digest.
    pub face: Option<Face>,
    /// The host's id of its record in the transcript.
    pub id: Option<String>,
    /// Where it came from; `None` if the host does not say. Then the message's own field counts, or for
    /// [`Format::Pi`] the words that old hosts begin such messages with: [`unforget_wire::legacy`].
    pub provenance: Option<Provenance>,
    /// The host will not put it into its transcript.
    pub is_volatile: bool,
}

impl Delivered {
    /// A message as the host's transcript has it.
    pub fn new(body: impl Into<Vec<u8>>) -> Self {
        Self { body: Some(body.into()), ..Self::default() }
    }

    /// The same with the host's id.
    #[must_use]
    pub fn with_id(self, id: &str) -> Self {
        Self { id: Some(id.to_owned()), ..self }
    }
}

/// What a delivery did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// What it was.
    pub why: Why,
    /// Entries added that a prompt shows.
    pub added: u64,
    /// Entries added that none does: rewritten copies, possible replays.
    pub aside: u64,
    /// Beginnings of the lane so far; another number than before means that the path is another one.
    pub generation: u64,
    /// The newest entry of the path.
    pub head: Option<Seq>,
}

/// A turn that a host reports as done.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The host's key of it: delivering it again changes nothing.
    pub key: String,
    /// Its messages, from the user's to the last answer.
    pub messages: Vec<Delivered>,
}

/// What committing a turn did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// A turn with this key was committed before; nothing was stored.
    pub is_duplicate: bool,
    /// What was stored.
    pub receipt: Receipt,
}

/// A page of the host's transcript.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Messages in order, with ids where the host has them.
    pub messages: Vec<Delivered>,
    /// Where the host's next page begins; kept with the entries.
    pub cursor: Option<String>,
    /// The host says that its transcript began anew: what is stored is not on the path any more.
    pub is_reset: bool,
}

/// Something that happened to a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The conversation begins anew under its old name.
    Reset,
    /// The same, asked for by a person as a new conversation.
    New,
    /// The host's transcript is another file from now on; the history goes on.
    Rotate,
    /// The host's transcript is gone. Nothing stored goes.
    Delete,
    /// This lane begins as another one: all of its path, or its first entries up to a host id.
    Fork {
        /// The other lane.
        from: LaneKey,
        /// The last entry that is taken; `None` takes all.
        until: Option<String>,
    },
    /// Everything behind the entry with this host id is not on the path any more.
    Rewind {
        /// The host's id.
        to: String,
    },
    /// Another model answers from now on.
    Model {
        /// Its name.
        name: String,
    },
    /// A sub-agent is about to start.
    SubagentPrepared {
        /// Its lane.
        child: LaneKey,
        /// Whether it inherits this lane's history.
        forks: bool,
    },
    /// The start of a sub-agent failed: what [`Event::SubagentPrepared`] did is undone.
    SubagentRolledBack {
        /// Its lane.
        child: LaneKey,
    },
    /// A sub-agent ended.
    SubagentEnded {
        /// Its lane.
        child: LaneKey,
        /// Why, in the host's word.
        reason: String,
    },
}

impl Event {
    /// Name in journals.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Reset => "reset",
            Self::New => "new",
            Self::Rotate => "rotate",
            Self::Delete => "delete",
            Self::Fork { .. } => "fork",
            Self::Rewind { .. } => "rewind",
            Self::Model { .. } => "model",
            Self::SubagentPrepared { .. } => "subagent-prepared",
            Self::SubagentRolledBack { .. } => "subagent-rolled-back",
            Self::SubagentEnded { .. } => "subagent-ended",
        }
    }
}

/// Messages that the host holds while it asks for a prompt.
#[derive(Clone, Debug)]
pub struct LiveArray {
    /// Whether they are all of the history, or a window of it.
    pub is_whole: bool,
    /// In order.
    pub messages: Vec<Delivered>,
}

/// A question for a prompt.
#[derive(Clone, Debug)]
pub struct Ask {
    /// What the host holds, if it says.
    pub live: Option<LiveArray>,
    /// Tokens that the answer's messages may have; what else the host sends is already taken off.
    pub budget: u64,
    /// What was taken off for that, by our ruler: instructions, tools. With it the provider's counts say what a prompt weighs.
    pub beside: Tokens,
    /// Tokens that the host asks for as an answer; only needed to recover from a refusal.
    pub output: u64,
    /// Text that the host sends behind the messages, such as the person's new words. Only weighed.
    pub prompt: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Form of the answer.
    pub dialect: Dialect,
    /// Whether this is the first call of a turn. Later calls get no more room than the first had.
    pub is_first: bool,
    /// Texts that the caller sends beside the messages in any case: a pinned file in one of them is not shown again.
    pub texts_beside: Vec<Arc<str>>,
}

impl Ask {
    /// A first call without a live array.
    pub const fn new(budget: u64, dialect: Dialect) -> Self {
        Self {
            live: None,
            budget,
            output: 0,
            prompt: None,
            model: None,
            dialect,
            is_first: true,
            beside: Tokens::exact(0),
            texts_beside: Vec::new(),
        }
    }
}

/// How much history there is. It can neither block nor shrink nor reset anything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// Expected tokens of all entries stored.
    pub stored: u64,
    /// Expected tokens of the entries behind the summaries.
    pub raw_tail: u64,
}

/// A prompt for a host.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// The messages as JSON, in order.
    pub messages: Vec<String>,
    /// System instructions that the history records, in order.
    pub system: Vec<String>,
    /// Tokens of the messages: the certificate's and those of `live`.
    pub tokens: Tokens,
    /// Tokens of live input that the host's window needs beside what the prompt shows.
    pub live: Tokens,
    /// Images and documents of the messages, in order. Where a message of the request is several of the host's, the
    /// place is unknown, and [`u32::MAX`].
    pub media: Vec<media::Place>,
    /// How many parts of the messages no words stand for: see [`Request::wordless`](unforget_core::message::Request::wordless).
    pub wordless: u64,
    /// Blocks at the beginning of the first message that change at breaks only: pins and summaries.
    pub leading: usize,
    /// What a count of it is compared with: see [`Counted`](super::Counted).
    pub weighed: Option<PromptWeight>,
    /// What admission guarantees.
    pub certificate: Certificate,
    /// Why the prompt of the call before was not given again; `None` if it was.
    pub remade: Option<Stale>,
    /// How the beginning is not that of the prompt before.
    pub broken: Option<Broken>,
    /// What delivering the live array did.
    pub receipt: Option<Receipt>,
    /// Changes of pinned files, reported once.
    pub followed: Vec<Followed>,
    /// Pinned files shown in part.
    pub short_pins: Vec<ShortPin>,
    /// Number of its recipe: how it was composed is kept. `None` if it was given before, or the store could not keep it.
    pub recipe: Option<u64>,
    /// How much history there is.
    pub debt: Debt,
}

/// What compacting did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Whether the prompt became smaller.
    pub shrank: bool,
    /// Expected tokens of the prompt before.
    pub before: u64,
    /// And after.
    pub after: u64,
}

/// How a lane stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// Key of its conversation in the store.
    pub conversation: String,
    /// Form of its messages.
    pub form: Format,
    /// Entries stored, of every kind.
    pub entries: u64,
    /// Messages on the path.
    pub path: u64,
    /// Beginnings so far.
    pub generation: u64,
    /// The host's cursor, kept by [`Page::cursor`].
    pub cursor: Option<String>,
    /// Key of the turn that is open.
    pub turn: Option<String>,
    /// How much history there is.
    pub debt: Debt,
}

/// Why a host did not get what it asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The engine has never had the bodies of these messages: send the call again with them. Nothing was stored.
    #[error("the bodies of {} messages are needed", indices.len())]
    Need {
        /// Their places in the array.
        indices: Vec<usize>,
    },
    /// A message cannot be read. Nothing was stored.
    #[error("message {index}: {what}")]
    BadMessage {
        /// Its place in the array.
        index: usize,
        /// What is wrong.
        what: String,
    },
    /// The lane has other messages than those that were announced, or none.
    #[error("{what}")]
    Refused {
        /// What was wrong.
        what: String,
    },
    /// Something below failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

impl From<unforget_store::StoreError> for HostError {
    fn from(error: unforget_store::StoreError) -> Self {
        Self::Engine(error.into())
    }
}
