//! Entries and parts: an entry is one record of a history, a part one block within an entry.

use crate::id::Timestamp;

/// Who speaks in an entry, according to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// Instructions that the host puts in front.
    System,
    /// Input to the model other than results of calls.
    User,
    /// Output of the model.
    Assistant,
    /// Results of calls.
    Tool,
    /// A record that has no role: headers, snapshots, events, opaque bytes.
    None,
}

impl Role {
    /// Name for reports and models.
    pub const fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::None => "none",
        }
    }
}

/// Where an entry came from. Decides how prompts, summaries and searches may use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Origin {
    /// Typed by a person. Only these entries count as genuine user messages.
    Human,
    /// Written by the model.
    Model,
    /// Returned by a tool.
    Tool,
    /// Inserted by the host (environment, memory, reminders). Visible to the model, not a person's words.
    Injected,
    /// Input that the host does not keep: an announcement of another session, an event, a retry. Visible to the model,
    /// not a person's words.
    Volatile,
    /// The host's own summary of earlier entries, shown and marked as the host's words. A summary with an author is
    /// about an abandoned branch.
    HostSummary,
    /// A second copy of another entry's content. Stored, never shown or indexed.
    Copy,
    /// Bookkeeping of the host: headers, snapshots, progress, labels. Stored, never shown.
    Bookkeeping,
    /// Bytes that no parser understood. Stored and searchable by `grep`, never shown.
    Opaque,
    /// An answer that came after another call of its conversation had led the path away from the question. Stored and
    /// searched, shown in no prompt: no path holds it.
    Overtaken,
}

impl Origin {
    /// Whether a model sees entries of this origin verbatim. A `HostSummary` is shown in a wrapper.
    pub const fn is_visible(self) -> bool {
        matches!(self, Self::Human | Self::Model | Self::Tool | Self::Injected | Self::Volatile)
    }

    /// Whether searches find entries of this origin.
    pub const fn is_searched(self) -> bool {
        self.is_visible() || matches!(self, Self::HostSummary | Self::Overtaken)
    }
}

/// How an entry ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Status {
    /// Ended normally.
    #[default]
    Complete,
    /// Stopped by a person. Its calls were never run.
    Aborted,
    /// Stopped by the provider or the network. Its calls were never run.
    Error,
}

/// One block of an entry.
///
/// `raw` fields hold the block's JSON as received, so that a renderer of the same dialect sends it back byte for byte.
/// Text is valid Unicode: lone surrogates and broken UTF-8 are replaced by U+FFFD, and only the entry's raw bytes
/// preserve them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text for or from the model.
    Text(String),
    /// Reasoning of the model. Signed reasoning is sent back byte for byte or not at all.
    Thinking {
        /// The readable text; empty if the provider hid it.
        text: String,
        /// The provider's proof, opaque to us.
        signature: Option<String>,
        /// The block as received.
        raw: Option<Box<str>>,
    },
    /// A request of the model to run a tool.
    ToolCall(ToolCall),
    /// The result of a tool.
    ToolResult(ToolResult),
    /// An image, sound or file.
    Media(Media),
    /// A block of an unknown type, kept together with its message.
    Opaque {
        /// The block's own type name, empty if it has none.
        kind: String,
        /// The block as received.
        raw: Box<str>,
    },
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    /// The provider's id; may be empty or repeated across turns.
    pub id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments as JSON text, as received.
    pub arguments: String,
    /// False if the call was cut off while being written (`partialJson`, unparsable arguments).
    pub complete: bool,
    /// The block as received.
    pub raw: Option<Box<str>>,
}

/// The result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolResult {
    /// Id of the answered call.
    pub call_id: String,
    /// Name of the tool; empty where the format does not repeat it.
    pub name: String,
    /// Content in order: [`Part::Text`], [`Part::Media`] or [`Part::Opaque`].
    pub content: Vec<Part>,
    /// Whether the tool failed.
    pub is_error: bool,
    /// The process exit code, where the host reports one.
    pub exit_code: Option<i64>,
}

/// An image, sound or file of a message, without its bytes where they are large.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Media {
    /// MIME type, empty if unknown.
    pub mime: String,
    /// Width and height in pixels, if known.
    pub size: Option<(u32, u32)>,
    /// The block as received.
    pub raw: Box<str>,
}

/// The parsed form of one record. Derived: it can be decoded again from the raw bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Who speaks.
    pub role: Role,
    /// Where it came from.
    pub origin: Origin,
    /// How it ended.
    pub status: Status,
    /// The host's id of the record; `None` where the format has none.
    pub host_id: Option<String>,
    /// The host's id of the preceding record.
    pub parent: HostParent,
    /// Id of the API message to which this record belongs as a fragment. Neighbouring assistant records with equal ids are one
    /// message. An empty id joins the neighbours: some formats send an answer in unnamed fragments, and a result or an
    /// input ends it.
    pub message_id: Option<String>,
    /// Side lane of the transcript, by the host's name; `None` is the main lane.
    pub thread: Option<String>,
    /// Time according to the host.
    pub time: Option<Timestamp>,
    /// Author, where several people or agents share a conversation.
    pub author: Option<String>,
    /// Model that wrote it, as the host names it.
    pub model: Option<String>,
    /// Blocks in order.
    pub parts: Vec<Part>,
}

/// How a record names its predecessor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HostParent {
    /// The format is a list: the predecessor is the record before it.
    #[default]
    Previous,
    /// The format is a tree, and this record starts at its root.
    Root,
    /// The format is a tree, and this is the predecessor's host id.
    Id(String),
}

impl Entry {
    /// Whether it is an unnamed fragment of a multi-record answer.
    pub fn is_nameless_piece(&self) -> bool {
        self.role == Role::Assistant && self.message_id.as_deref() == Some("")
    }

    /// An entry without content, for records that are never shown to a model.
    pub fn bare(origin: Origin) -> Self {
        Self {
            role: Role::None,
            origin,
            status: Status::Complete,
            host_id: None,
            parent: HostParent::Previous,
            message_id: None,
            thread: None,
            time: None,
            author: None,
            model: None,
            parts: Vec::new(),
        }
    }

    /// The calls of this entry that a provider would accept: whole calls of a message that was not cut off.
    pub fn live_calls(&self) -> impl Iterator<Item = &ToolCall> {
        let live = self.status == Status::Complete;
        self.parts.iter().filter_map(move |part| match part {
            Part::ToolCall(call) if live && call.complete => Some(call),
            _ => None,
        })
    }

    /// The results in this entry, in order.
    pub fn results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts.iter().filter_map(|part| match part {
            Part::ToolResult(result) => Some(result),
            _ => None,
        })
    }
}
