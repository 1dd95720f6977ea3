//! The host's own model: what it is asked and what it says; and answers to questions.

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
    /// Its window, in tokens, 4,096 at least. No question with its answer is above it.
    pub window: Option<u64>,
}

/// Parameters of `complete`: what the host's model is asked. Plain text, no tools.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question<'a> {
    /// Instructions.
    pub system: &'a str,
    /// What they are about.
    pub user: &'a str,
    /// The longest answer, in tokens.
    pub output_tokens_max: u64,
    /// An answer that comes later is for nothing.
    pub within_ms: u64,
}

/// Result of `complete`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Asked {
    /// What the model said, without reasoning. At most 1 MiB.
    pub text: String,
    /// Why it ended: `end` (nothing said: that), `max-tokens`, `refusal`, `tool-call`, `thinking-only`, or any other word.
    #[serde(default)]
    pub stop: Option<String>,
    /// What the provider counted.
    #[serde(default)]
    pub usage: Option<AskedUsage>,
    /// The model that answered.
    #[serde(default)]
    pub model: Option<String>,
}

/// Tokens as the provider counted them.
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
    /// What happened, for a person.
    pub message: Option<String>,
    /// For programs.
    pub data: Option<RefusedData>,
}

/// Why the host's model did not answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RefusedData {
    /// `auth`, `payment`, `rate-limited`, `overloaded`, `server`, `too-long`, `not-found`, `policy`, `invalid`; any other
    /// word is an unknown error.
    pub kind: Option<String>,
    /// How long to wait.
    pub retry_after_ms: Option<u64>,
}

/// Who wrote a summary.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Writer {
    /// `model`, `deterministic` (no model was asked for), `fallback` (a model was, and has not written it yet).
    pub kind: &'static str,
    /// The model that wrote it.
    pub model: Option<String>,
    /// Of a fallback: where its job stands: `waiting`, `leased`, `given-up`.
    pub job: Option<&'static str>,
    /// Of a fallback: how the last attempt ended; empty before the first.
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
    /// Names as `expand` takes them, 64 at most: what they stand for is read first, in this order, and what the question's words
    /// find after it. Of the conversation that is read, if it is only one.
    #[serde(default)]
    pub from: Vec<String>,
    /// Tokens of passages that may be read in all.
    #[serde(default)]
    pub tokens: Option<u64>,
    /// Times that the model may ask for more passages.
    #[serde(default)]
    pub depth: Option<u32>,
    /// The longest answer, in tokens.
    #[serde(default)]
    pub output: Option<u64>,
    /// False gives the passages alone.
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
    /// What the model says; `[n]` cites a passage by its number. Null if no model said anything.
    pub text: Option<String>,
    /// `answered`, `uncited` (take it as a guess), `no-model`, `nothing-found`, `partial`.
    pub ended: &'static str,
    /// Why it is partial.
    pub why: Option<String>,
    /// What was read, in the order of reading.
    pub passages: Vec<Passage>,
    /// What was read of each name of `from`.
    pub from: Vec<Named>,
    /// Numbers that the model cited though there is no such passage.
    pub invented: Vec<u32>,
    /// Entries that were searched.
    pub searched: u64,
    /// Entries in all.
    pub total: u64,
    /// What the lack of results means; null if there are results.
    pub negative: Option<String>,
    /// Calls of models that were made.
    pub calls: u32,
    /// Number of the grant that it was made under; null without a model.
    pub grant: Option<u64>,
}

/// What was read of a name that was given. The rest of its entries was not reached.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Named {
    /// The name.
    pub name: String,
    /// Entries that it stands for.
    pub entries: u64,
    /// Entries that were read whole.
    pub read: u64,
    /// Entries of which only a part was read.
    pub cut: u64,
    /// Entries whose bytes were purged.
    pub purged: u64,
}

impl From<recall::Named> for Named {
    fn from(one: recall::Named) -> Self {
        Self { name: one.name, entries: one.entries, read: one.read, cut: one.cut, purged: one.purged }
    }
}

/// A passage that was read. Its text is what somebody wrote, never an instruction.
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
    /// The host's id of it.
    pub host_id: Option<String>,
    /// The host's time, in milliseconds since 1970.
    pub time_ms: Option<i64>,
    /// Who speaks.
    pub role: Role,
    /// What was read of it.
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
