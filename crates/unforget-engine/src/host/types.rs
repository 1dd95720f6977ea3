//! Questions of hosts, and the answers.

use std::sync::Arc;

use unforget_core::admit::Certificate;
use unforget_core::loop_view::Stale;
use unforget_core::media;
use unforget_core::pin::Followed;
use unforget_core::tokens::Tokens;
use unforget_wire::{Dialect, Format};

use crate::journal::{Delivered, LaneKey, Receipt};
use crate::prompt::{Broken, PromptWeight, ShortPin};

/// A turn that a host reports as done.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// The host's key of the turn: delivering the turn again changes nothing.
    pub key: String,
    /// Its messages, from the user's to the last answer.
    pub messages: Vec<Delivered>,
}

/// The effect of committing a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// A turn with this key was committed before; nothing was stored.
    pub is_duplicate: bool,
    /// The effect of the delivery.
    pub receipt: Receipt,
}

/// A page of the host's transcript.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Messages in order, with ids where the host has them.
    pub messages: Vec<Delivered>,
    /// Where the host's next page begins. It is kept with the entries.
    pub cursor: Option<String>,
    /// Whether the host's transcript began anew: then the stored entries are off the path.
    pub is_reset: bool,
}

/// Something that happened to a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The conversation begins anew under its old name.
    Reset,
    /// Like `Reset`, on request of a person.
    New,
    /// The host's transcript continues in another file. The history continues.
    Rotate,
    /// The host's transcript was deleted. Everything stored stays.
    Delete,
    /// This lane begins with the path of another lane, or with its entries up to a host id.
    Fork {
        /// The other lane.
        from: LaneKey,
        /// Host id of the last entry; `None` takes the whole path.
        until: Option<String>,
    },
    /// All entries behind the one with this host id leave the path.
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
    /// The start of a sub-agent failed: [`Event::SubagentPrepared`] is undone.
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
#[derive(Clone, Debug, PartialEq)]
pub struct LiveArray {
    /// Whether they are the whole history, not a window of it.
    pub is_whole: bool,
    /// In order.
    pub messages: Vec<Delivered>,
}

/// A question for a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// The messages that the host holds, if it sends them.
    pub live: Option<LiveArray>,
    /// Maximum tokens of the messages, after everything else that the host sends.
    pub budget: u64,
    /// Tokens of everything else by our ruler: instructions, tools. With them the provider's counts tell the weight of a prompt.
    pub beside: Tokens,
    /// Maximum tokens of the model's answer; only needed to recover from a refusal.
    pub output: u64,
    /// Text that the host sends behind the messages, such as the person's new words. Only weighed.
    pub prompt: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Form of the prompt.
    pub dialect: Dialect,
    /// Whether this is the first call of a turn. Later calls get no larger budget than the first.
    pub is_first: bool,
    /// Texts that the caller sends beside the messages. A pinned file in one of them is not shown again.
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

/// Size of the history. For information only: nothing depends on it.
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
    /// Tokens of the messages: those of the certificate, and `live`.
    pub tokens: Tokens,
    /// Tokens of live input behind the admitted prompt.
    pub live: Tokens,
    /// Images and documents of the messages, in order. Where a message of the request became several of the host's, the
    /// place is unknown: [`u32::MAX`].
    pub media: Vec<media::Place>,
    /// Number of parts without words: see [`Request::wordless`](unforget_core::message::Request::wordless).
    pub wordless: u64,
    /// Number of blocks at the beginning of the first message that change at breaks only: pins and summaries.
    pub leading: usize,
    /// Weight that a provider's count is compared with: see [`Counted`](super::Counted).
    pub weighed: Option<PromptWeight>,
    /// The guarantee of admission.
    pub certificate: Certificate,
    /// Why the previous prompt was not returned again; `None` if it was.
    pub remade: Option<Stale>,
    /// Where and why the beginning differs from the previous prompt.
    pub broken: Option<Broken>,
    /// The effect of delivering the live array.
    pub receipt: Option<Receipt>,
    /// Changes of pinned files, reported once.
    pub followed: Vec<Followed>,
    /// Pinned files shown in part.
    pub short_pins: Vec<ShortPin>,
    /// Number of its kept recipe. `None` if the prompt was returned before, or its recipe cannot be told whole.
    pub recipe: Option<u64>,
    /// Size of the history.
    pub debt: Debt,
}

/// The effect of compacting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compacted {
    /// Whether the prompt became smaller.
    pub shrank: bool,
    /// Expected tokens of the prompt before.
    pub before: u64,
    /// Expected tokens of the prompt after.
    pub after: u64,
}

/// The state of a lane.
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
    /// Number of cuts of the path so far.
    pub generation: u64,
    /// The newest [`Page::cursor`].
    pub cursor: Option<String>,
    /// Key of the turn that is open.
    pub turn: Option<String>,
    /// Size of the history.
    pub debt: Debt,
}
