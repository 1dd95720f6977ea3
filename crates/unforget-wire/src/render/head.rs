//! The identifying fields of a block, in any provider's form.

use std::borrow::Cow;

use serde::de::{Deserializer, IgnoredAny};
use serde::{Deserialize, de};
use serde_json::value::RawValue;

use super::json::is_object;

/// The fields that identify a block of any provider. A field of another type counts as absent.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct BodyHead<'a> {
    /// Type of the block, empty if it has none.
    #[serde(rename = "type", deserialize_with = "word")]
    pub(super) kind: Cow<'a, str>,
    /// Id of a call.
    #[serde(deserialize_with = "lenient")]
    pub(super) id: Option<Cow<'a, str>>,
    /// Id of the answered call.
    #[serde(deserialize_with = "lenient")]
    pub(super) tool_use_id: Option<Cow<'a, str>>,
    /// Text of a Gemini part.
    #[serde(deserialize_with = "lenient")]
    pub(super) text: Option<Cow<'a, str>>,
    /// Anthropic's proof of reasoning.
    #[serde(deserialize_with = "lenient")]
    pub(super) signature: Option<Cow<'a, str>>,
    /// Anthropic's hidden reasoning.
    #[serde(deserialize_with = "lenient")]
    pub(super) data: Option<Cow<'a, str>>,
    /// OpenAI's hidden reasoning.
    #[serde(deserialize_with = "lenient")]
    pub(super) encrypted_content: Option<Cow<'a, str>>,
    /// The readable part of OpenAI's reasoning: a list.
    #[serde(deserialize_with = "lenient")]
    pub(super) summary: Option<Vec<IgnoredAny>>,
    /// pi's mark of hidden reasoning.
    #[serde(deserialize_with = "lenient")]
    pub(super) redacted: Option<bool>,
    /// Gemini's mark of reasoning.
    #[serde(deserialize_with = "lenient")]
    pub(super) thought: Option<bool>,
    /// Gemini's proof of reasoning.
    #[serde(rename = "thoughtSignature", deserialize_with = "lenient")]
    pub(super) proof: Option<Cow<'a, str>>,
    /// Gemini's code, run at the provider.
    #[serde(rename = "executableCode")]
    pub(super) executable_code: Option<IgnoredAny>,
    /// The outcome of that code.
    #[serde(rename = "codeExecutionResult")]
    pub(super) code_execution_result: Option<IgnoredAny>,
    /// Bedrock's reasoning.
    #[serde(rename = "reasoningContent", deserialize_with = "lenient")]
    pub(super) reasoning_content: Option<Reasoning<'a>>,
}

/// Reasoning in Bedrock's form.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Reasoning<'a> {
    reasoning_text: Option<ReasoningText<'a>>,
    redacted_content: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct ReasoningText<'a> {
    #[serde(rename = "text")]
    _text: Cow<'a, str>,
    signature: Cow<'a, str>,
}

impl Reasoning<'_> {
    /// Its proof, or its hidden content.
    pub(super) fn proof(&self) -> Option<&str> {
        let signature = self.reasoning_text.as_ref().map(|text| &*text.signature);
        signature.or(self.redacted_content.as_deref())
    }
}

impl<'a> BodyHead<'a> {
    /// Reads the head of a block; `None` unless the block is one JSON object that strict parsers accept.
    pub(super) fn of(raw: &'a str) -> Option<Self> {
        if is_object(raw) { serde_json::from_str(raw).ok() } else { None }
    }
}

/// Where hosts keep Gemini's signature of a call: pi and Gemini's own parts beside the call, OpenAI's form in
/// `extra_content`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct CallHead<'a> {
    #[serde(rename = "thoughtSignature", deserialize_with = "lenient")]
    camel: Option<Cow<'a, str>>,
    #[serde(rename = "thought_signature", deserialize_with = "lenient")]
    snake: Option<Cow<'a, str>>,
    #[serde(deserialize_with = "lenient")]
    extra_content: Option<Extra<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Extra<'a> {
    #[serde(deserialize_with = "lenient")]
    google: Option<Google<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Google<'a> {
    #[serde(deserialize_with = "lenient")]
    thought_signature: Option<Cow<'a, str>>,
}

impl<'a> CallHead<'a> {
    /// Reads the head of a call; `None` if the call is no JSON object.
    pub(super) fn of(raw: &'a str) -> Option<Self> {
        serde_json::from_str(raw).ok()
    }

    /// Gemini's signature.
    pub(super) fn proof(self) -> Option<Cow<'a, str>> {
        let google = self.extra_content.and_then(|extra| extra.google);
        self.camel.or(self.snake).or(google.and_then(|google| google.thought_signature))
    }
}

/// A value of this type, or `None` for a value of any other type.
fn lenient<'de, D: Deserializer<'de>, T: de::Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let raw = <&RawValue>::deserialize(deserializer)?;
    Ok(serde_json::from_str(raw.get()).ok())
}

fn word<'de, 'a, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'a, str>, D::Error> {
    Ok(lenient(deserializer)?.map_or_else(Cow::default, Cow::Owned))
}
