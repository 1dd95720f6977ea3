//! Parameters of hosts' calls.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use unforget_engine::host;
use unforget_wire::{Dialect, Format, journal};

/// Parameters that every call may have beside its own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Call<'a> {
    /// The lane: a history, under a name that the host keeps across restarts and resets. Calls of one lane are answered
    /// in order of arrival; calls without a lane do not wait.
    #[serde(default, borrow)]
    pub lane: Option<Cow<'a, str>>,
    /// Form of the lane's messages. Needed once per lane and server, with `open` or the first call.
    #[serde(default)]
    pub form: Option<Form>,
    /// Milliseconds after arrival from which the call is no longer begun.
    #[serde(default)]
    pub deadline_ms: Option<u64>,
}

/// Form of a host's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// pi and OpenClaw.
    Pi,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses: one item is a message.
    OpenaiResponses,
    /// Anthropic Messages.
    Anthropic,
}

impl Form {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Pi, Self::OpenaiChat, Self::OpenaiResponses, Self::Anthropic];

    /// The engine's name for it.
    pub const fn format(self) -> Format {
        match self {
            Self::Pi => Format::Pi,
            Self::OpenaiChat => Format::OpenAiChat,
            Self::OpenaiResponses => Format::OpenAiResponses,
            Self::Anthropic => Format::AnthropicMessages,
        }
    }
}

/// Form of the messages in the answer of `assemble`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// pi and OpenClaw: the host's own messages, as it sent them.
    Pi,
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenaiChat,
    /// OpenAI Responses.
    OpenaiResponses,
    /// Gemini.
    Gemini,
    /// Bedrock Converse.
    BedrockConverse,
}

impl Target {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Pi,
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Gemini,
        Self::BedrockConverse,
    ];

    /// The engine's name for it.
    pub const fn dialect(self) -> Dialect {
        match self {
            Self::Pi => Dialect::Pi,
            Self::Anthropic => Dialect::Anthropic,
            Self::OpenaiChat => Dialect::OpenAiChat,
            Self::OpenaiResponses => Dialect::OpenAiResponses,
            Self::Gemini => Dialect::Gemini,
            Self::BedrockConverse => Dialect::BedrockConverse,
        }
    }
}

/// The source of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// From outside: a user message is a person's.
    External,
    /// Another session or a sub-agent.
    InterSession,
    /// The host's own event.
    InternalEvent,
    /// A repeated request of the host.
    RetryPrompt,
}

impl From<Provenance> for journal::Provenance {
    fn from(given: Provenance) -> Self {
        match given {
            Provenance::External => Self::External,
            Provenance::InterSession => Self::InterSession,
            Provenance::InternalEvent => Self::InternalEvent,
            Provenance::RetryPrompt => Self::RetryPrompt,
        }
    }
}

/// A message: its body, the digest of a body that the engine has, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message<'a> {
    /// The message in the lane's form. Its bytes are stored as sent.
    #[serde(default, borrow)]
    #[schemars(with = "Option<std::collections::BTreeMap<String, serde_json::Value>>")]
    pub message: Option<&'a RawValue>,
    /// SHA-256 of the bytes of `message` in UTF-8, in hex: 64 digits, or the first 32.
    #[serde(default, borrow)]
    pub digest: Option<&'a str>,
    /// The host's id of its record in the transcript.
    #[serde(default)]
    pub id: Option<String>,
    /// The source of the message. By default the message's own statement counts.
    #[serde(default)]
    pub provenance: Option<Provenance>,
    /// Whether the host keeps it out of its transcript.
    #[serde(default)]
    pub volatile: bool,
}

/// The beginning of an array that the server remembers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Base {
    /// Number of its messages.
    pub length: u64,
    /// The value of `array` or `given` in an answer: 16 bytes in hex. Each message's digest is hashed after the
    /// previous one: `d(0)` is 16 zero bytes, `d(n)` the first 16 bytes of `SHA-256(d(n-1) + digest of message n)`.
    pub digest: String,
}

/// An array of messages. With `base`, only the messages behind it are sent.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Array<'a> {
    /// The beginning of the array, which equals an array of this lane sent before.
    #[serde(default)]
    pub base: Option<Base>,
    /// The messages behind `base`, in order; without it, all messages.
    #[serde(default, borrow)]
    pub messages: Vec<Message<'a>>,
}

/// Parameters of `initialize`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct InitializeParams {
    /// Protocol version of the host.
    pub protocol: Option<u32>,
    /// Name of the caller, for logs.
    pub client: Option<String>,
    /// The host's own model, if the engine may ask it over this connection: see `complete`.
    pub model: Option<super::Offer>,
}

/// Parameters of calls that have none of their own.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub struct NoParams {}

/// Parameters of `catchUp`: one of `messages`, `array`, `file`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct CatchUpParams<'a> {
    /// A page of the transcript, in order, with ids where the host has them.
    #[serde(borrow)]
    pub messages: Option<Vec<Message<'a>>>,
    /// Start of the host's next page; stored with the messages of this one.
    pub cursor: Option<String>,
    /// Whether the host's transcript began anew: stored messages then leave the prompts.
    pub is_reset: bool,
    /// The whole active history.
    #[serde(borrow)]
    pub array: Option<Array<'a>>,
    /// Path of a transcript in the lane's form. Its active path is read.
    pub file: Option<String>,
}

/// Parameters of `beginTurn` and `commitTurn`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnParams<'a> {
    /// The host's key of the turn.
    pub turn: String,
    /// Its messages, from the user's on.
    #[serde(default, borrow)]
    pub messages: Vec<Message<'a>>,
}

/// Parameters of `abortTurn`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbortTurnParams {
    /// The host's key of the turn.
    pub turn: String,
    /// The reason, in the host's words.
    #[serde(default)]
    pub reason: String,
}

/// Parameters of `afterTurn`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AfterTurnParams<'a> {
    /// All messages of the host.
    #[serde(borrow)]
    pub array: Array<'a>,
    /// Number of messages that the host had before the turn.
    #[serde(default)]
    pub before: u64,
}

/// The host's messages at the time of asking for a prompt.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Live<'a> {
    /// Whether they are the whole history, or a window of it.
    #[serde(default)]
    pub is_whole: bool,
    /// The beginning. See [`Array::base`].
    #[serde(default)]
    pub base: Option<Base>,
    /// The messages behind it. See [`Array::messages`].
    #[serde(default, borrow)]
    pub messages: Vec<Message<'a>>,
}

/// Parameters of `assemble`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AssembleParams<'a> {
    /// Token budget of the messages; the host's other content is already subtracted.
    pub budget: u64,
    /// Form of the answer.
    pub dialect: Target,
    /// The answering model, which selects the ruler.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens that the host requests as an answer; needed for recovery from a refusal.
    #[serde(default)]
    pub output: u64,
    /// The host's messages, if it has a live array.
    #[serde(default, borrow)]
    pub live: Option<Live<'a>>,
    /// Text that the host sends behind the messages, such as the person's new message. Only weighed.
    #[serde(default)]
    pub prompt: Option<String>,
    /// A prompt of this lane that the host still holds, word for word: the `given` of an answer, or a length of 0. The
    /// common beginning with the new prompt is left out of the answer.
    #[serde(default)]
    pub holds: Option<Base>,
    /// Whether this is the first call of a turn. Later calls get no larger budget than the first.
    #[serde(default = "yes")]
    pub is_first: bool,
}

const fn yes() -> bool {
    true
}

/// Parameters of `refused`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RefusedParams {
    /// The provider's reply.
    #[serde(flatten)]
    pub said: super::ClassifyParams,
    /// Tokens of a running turn that the host had put behind the prompt, and will send as `live` of the next
    /// `assemble`.
    pub behind: u64,
}

/// Parameters of `answered`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweredParams {
    /// Tokens of input by the provider's count, cached ones included.
    pub input_tokens: u64,
}

/// The goal of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// To fit the budget.
    #[default]
    Budget,
    /// To get below the level at which compaction is due.
    Threshold,
}

/// Parameters of `compact`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactParams {
    /// Token budget of the prompt.
    pub budget: u64,
    /// Form of the prompts to compact for.
    pub dialect: Target,
    /// The model of the prompts.
    #[serde(default)]
    pub model: Option<String>,
    /// Its goal.
    #[serde(default)]
    pub target: Goal,
    /// Whether to summarise everything that is old enough, even if it is not due.
    #[serde(default)]
    pub force: bool,
    /// What summaries should pay attention to. The deterministic summariser ignores it, and the answer says so.
    #[serde(default)]
    pub instructions: Option<String>,
    /// The host's estimate of the prompt's tokens. The engine uses its own count.
    #[serde(default)]
    pub current_tokens: Option<u64>,
}

/// An event of a lane.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Happening {
    /// A person asked for a new conversation under the old name.
    New,
    /// The conversation begins anew under its old name.
    Reset,
    /// The host's transcript continues in another file; the history continues.
    Rotate,
    /// The host's transcript is gone. Stored entries stay.
    Delete,
    /// This lane begins as another one.
    Fork {
        /// The other lane.
        from: String,
        /// Host id of the last inherited entry; by default all entries are inherited.
        #[serde(default)]
        until: Option<String>,
    },
    /// Everything behind this entry becomes inactive.
    Rewind {
        /// Host id of the entry.
        to: String,
    },
    /// Another model answers from now on.
    ModelSwitch {
        /// Its name.
        model: String,
    },
    /// A sub-agent is about to start.
    SubagentPrepared {
        /// Its lane.
        child: String,
        /// Whether it inherits this lane's history.
        #[serde(default)]
        forks: bool,
    },
    /// The start of a sub-agent failed.
    SubagentRolledBack {
        /// Its lane.
        child: String,
    },
    /// A sub-agent ended.
    SubagentEnded {
        /// Its lane.
        child: String,
        /// The reason, in the host's words.
        #[serde(default)]
        reason: String,
    },
}

impl From<Happening> for host::Event {
    fn from(happening: Happening) -> Self {
        use host::LaneKey;
        match happening {
            Happening::New => Self::New,
            Happening::Reset => Self::Reset,
            Happening::Rotate => Self::Rotate,
            Happening::Delete => Self::Delete,
            Happening::Fork { from, until } => Self::Fork { from: LaneKey(from), until },
            Happening::Rewind { to } => Self::Rewind { to },
            Happening::ModelSwitch { model } => Self::Model { name: model },
            Happening::SubagentPrepared { child, forks } => {
                Self::SubagentPrepared { child: LaneKey(child), forks }
            }
            Happening::SubagentRolledBack { child } => Self::SubagentRolledBack { child: LaneKey(child) },
            Happening::SubagentEnded { child, reason } => {
                Self::SubagentEnded { child: LaneKey(child), reason }
            }
        }
    }
}

/// Parameters of `event`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct EventParams {
    /// The event.
    pub event: Happening,
}

/// Parameters of `$/cancel`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct CancelParams<'a> {
    /// Id of the call.
    #[serde(borrow)]
    #[schemars(with = "serde_json::Value")]
    pub id: &'a RawValue,
}
