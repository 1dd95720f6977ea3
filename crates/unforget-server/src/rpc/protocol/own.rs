//! The host's own model: the questions to it and its answers; and the host's questions.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
pub struct ModelQuestion<'a> {
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
pub struct ModelAnswer {
    /// The model's answer, without reasoning. At most 1 MiB.
    pub text: String,
    /// The reason for its end: `end` (the default), `max-tokens`, `refusal`, `tool-call`, `thinking-only`, or any other
    /// word.
    #[serde(default)]
    pub stop: Option<String>,
    /// The provider's token counts.
    #[serde(default)]
    pub usage: Option<ModelUsage>,
    /// The model that answered.
    #[serde(default)]
    pub model: Option<String>,
}

/// Tokens by the provider's count.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelUsage {
    /// All input.
    pub input_tokens: Option<u64>,
    /// All output.
    pub output_tokens: Option<u64>,
}

/// Error of `complete`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ModelRefusal {
    /// A message for a person.
    pub message: Option<String>,
    /// Details for programs.
    pub data: Option<ModelRefusalData>,
}

/// Why the host's model did not answer.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ModelRefusalData {
    /// `auth`, `payment`, `rate-limited`, `overloaded`, `server`, `too-long`, `not-found`, `policy`, `invalid`; any
    /// other word counts as an unknown error.
    pub kind: Option<String>,
    /// Requested delay.
    pub retry_after_ms: Option<u64>,
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
