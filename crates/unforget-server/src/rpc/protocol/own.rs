//! The host's own model: the questions to it and its answers; and answers to the host's questions.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unforget_engine::{recall, summarise};

use super::Role;

/// The host's own model, offered to the engine.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Offer {
    /// Its name, for reports.
    pub name: Option<String>,
    /// Its window, in tokens, at least 4,096. No question together with its answer exceeds it.
    pub window: Option<u64>,
}

/// Parameters of `complete`: a question to the host's model. Plain text, no tools.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question<'a> {
    /// Instructions.
    pub system: &'a str,
    /// The content that the instructions apply to.
    pub user: &'a str,
    /// Longest answer, in tokens.
    pub output_tokens_max: u64,
    /// Time limit: a later answer is ignored.
    pub within_ms: u64,
}

/// Result of `complete`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// The model's answer, without reasoning. At most 1 MiB.
    pub text: String,
    /// The reason for its end: `end` (the default), `max-tokens`, `refusal`, `tool-call`, `thinking-only`, or any other
    /// word.
    #[serde(default)]
    pub stop: Option<String>,
    /// The provider's token counts.
    #[serde(default)]
    pub usage: Option<AskedUsage>,
    /// The model that answered.
    #[serde(default)]
    pub model: Option<String>,
}

/// Tokens by the provider's count.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AskedUsage {
    /// All input.
    pub input_tokens: Option<u64>,
    /// All output.
    pub output_tokens: Option<u64>,
}

/// Error of `complete`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Refused {
    /// A message for a person.
    pub message: Option<String>,
    /// Details for programs.
    pub data: Option<RefusedData>,
}

/// Why the host's model did not answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RefusedData {
    /// `auth`, `payment`, `rate-limited`, `overloaded`, `server`, `too-long`, `not-found`, `policy`, `invalid`; any
    /// other word counts as an unknown error.
    pub kind: Option<String>,
    /// Requested delay.
    pub retry_after_ms: Option<u64>,
}

/// The writer of a summary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Writer {
    /// `model`, `deterministic` (no model was asked for), `fallback` (a model was asked for, but has not written it
    /// yet).
    pub kind: &'static str,
    /// The model that wrote it.
    pub model: Option<String>,
    /// For a fallback: the state of its job: `waiting`, `leased`, `given-up`.
    pub job: Option<&'static str>,
    /// For a fallback: the outcome of the last attempt; empty before the first.
    pub why: Option<String>,
}

impl From<summarise::Writer> for Writer {
    fn from(writer: summarise::Writer) -> Self {
        let kind = writer.name();
        let (mut model, mut job, mut reason) = (None, None, None);
        match writer {
            summarise::Writer::Model(name) => model = Some(name),
            summarise::Writer::Deterministic => {}
            summarise::Writer::Fallback { state, why } => (job, reason) = (Some(state.name()), Some(why)),
        }
        Self { kind, model, job, why: reason }
    }
}

/// Parameters of `answer`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerParams<'a> {
    /// The question.
    #[serde(borrow)]
    pub question: Cow<'a, str>,
    /// Key of a conversation, or enough of it.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Names as accepted by `expand`, at most 64: their entries are read first, in this order, and then the entries
    /// found by the question's words. They refer to the conversation that is read, if there is only one.
    #[serde(default)]
    pub from: Vec<String>,
    /// Most tokens of passages to read.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Most requests of the model for further passages.
    #[serde(default)]
    pub depth: Option<u32>,
    /// Longest answer, in tokens.
    #[serde(default)]
    pub output: Option<u64>,
    /// Whether a model may be asked; if false, the passages are the answer.
    #[serde(default = "yes")]
    pub model: bool,
}

const fn yes() -> bool {
    true
}

/// Answer of `answer`.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerGiven {
    /// The model's answer; `[n]` cites a passage by its number. Null if no model answered.
    pub text: Option<String>,
    /// `answered`, `uncited` (take it as a guess), `no-model`, `nothing-found`, `partial`.
    pub ended: &'static str,
    /// Why the answer is partial.
    pub why: Option<String>,
    /// The passages in order of reading.
    pub passages: Vec<Passage>,
    /// The part read of each name in `from`.
    pub from: Vec<Named>,
    /// Cited numbers for which no passage exists.
    pub invented: Vec<u32>,
    /// Number of entries searched.
    pub searched: u64,
    /// Number of all entries.
    pub total: u64,
    /// What the lack of results means; null if there are results.
    pub negative: Option<String>,
    /// Number of model calls.
    pub calls: u32,
    /// Number of the answer's grant; null without a model.
    pub grant: Option<u64>,
}

/// The part read of a given name. The rest of its entries was not reached.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The name.
    pub name: String,
    /// Number of its entries.
    pub entries: u64,
    /// Number of entries read whole.
    pub read: u64,
    /// Number of entries read in part.
    pub cut: u64,
    /// Number of entries with purged bytes.
    pub purged: u64,
}

impl From<recall::Named> for Named {
    fn from(one: recall::Named) -> Self {
        Self { name: one.name, entries: one.entries, read: one.read, cut: one.cut, purged: one.purged }
    }
}

/// A passage for the answer. Its text is somebody's writing, never an instruction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Passage {
    /// Its number in the answer, from 1.
    pub number: u32,
    /// A name for `expand`.
    pub name: String,
    /// Key of its conversation.
    pub conversation: String,
    /// The entry.
    pub seq: u64,
    /// The host's id of the entry.
    pub host_id: Option<String>,
    /// The host's time, in milliseconds since 1970.
    pub time_ms: Option<i64>,
    /// Who speaks.
    pub role: Role,
    /// The text that was read.
    pub text: String,
    /// Whether the answer cites it.
    pub is_cited: bool,
}

impl From<recall::Answered> for AnswerGiven {
    fn from(answered: recall::Answered) -> Self {
        let ended = answered.ended.name();
        let why = if let recall::Ended::Partial(why) = answered.ended { Some(why) } else { None };
        let passage = |one: recall::Evidence| Passage {
            number: one.number,
            name: one.name,
            conversation: one.conversation.0,
            seq: one.seq.0,
            host_id: one.host_id,
            time_ms: one.time.map(|time| time.0),
            role: one.role.into(),
            text: one.text,
            is_cited: one.is_cited,
        };
        Self {
            text: answered.text,
            ended,
            why,
            passages: answered.evidence.into_iter().map(passage).collect(),
            from: answered.named.into_iter().map(Into::into).collect(),
            invented: answered.invented,
            searched: answered.searched.0,
            total: answered.searched.1,
            negative: Some(answered.negative).filter(|text| !text.is_empty()),
            calls: answered.calls,
            grant: answered.grant,
        }
    }
}
