//! The port: one blocking call of one model.

use std::time::Duration;

use crate::fault::{Account, Fault};

/// A question to a model. Plain text in, plain text out: no tools, no media, no streaming.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request<'a> {
    /// Instructions; may be empty.
    pub system: &'a str,
    /// The content that the instructions apply to.
    pub user: &'a str,
    /// Limit of the answer, in tokens of the model, reasoning included.
    pub output_tokens_max: u64,
    /// Time limit of the call, after which it ends in any case.
    pub within: Duration,
    /// Temperature, from 0. Sent only if the endpoint accepts one ([`crate::Endpoint::takes_temperature`]).
    pub temperature: Option<f32>,
}

/// A model's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The visible text, without reasoning; may be empty.
    pub text: String,
    /// The reason for its end.
    pub stop: Stop,
    /// Token counts by the provider.
    pub usage: Usage,
    /// The model's name in the answer.
    pub model: Option<String>,
}

impl Answer {
    /// An answer made from a text. Leading reasoning in `<think>` tags is removed (F024).
    ///
    /// * `stop` - a name of [`Stop`]; `None` for a complete answer.
    pub fn of(text: &str, stop: Option<&str>, usage: Usage, model: Option<String>) -> Self {
        answer(text, false, stop.map_or(Stop::End, Stop::of), usage, model)
    }
}

/// The reason for the end of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// The model was done.
    End,
    /// The answer reached its limit, or the end of the window, and is cut off.
    MaxTokens,
    /// The model or a content filter refused.
    Refusal,
    /// The model called a tool, although it was offered none.
    ToolCall,
    /// The model returned reasoning and no text.
    ThinkingOnly,
    /// The provider's own word, unchanged; perhaps empty.
    Unknown(String),
}

impl Stop {
    /// Name for reports, in kebab-case.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::End => "end",
            Self::MaxTokens => "max-tokens",
            Self::Refusal => "refusal",
            Self::ToolCall => "tool-call",
            Self::ThinkingOnly => "thinking-only",
            Self::Unknown(_) => "unknown",
        }
    }

    /// The stop reason with this name; any other word is kept as [`Stop::Unknown`].
    pub(crate) fn of(name: &str) -> Self {
        let known = [Self::End, Self::MaxTokens, Self::Refusal, Self::ToolCall, Self::ThinkingOnly];
        known.into_iter().find(|stop| stop.name() == name).unwrap_or_else(|| Self::Unknown(name.to_owned()))
    }
}

/// Tokens by the provider's count; `None` where it reports none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not. A count far below the size of the prompt shows that the server cut the prompt, as
    /// local servers with a small default window do (F006): `unforget_core::counts` judges it.
    pub input: Option<u64>,
    /// All output, reasoning included.
    pub output: Option<u64>,
    /// The input that came from the provider's cache.
    pub cached: Option<u64>,
}

/// A language model at one provider, with one credential.
pub trait Model: Send + Sync {
    /// The account whose breaker and limit of concurrent calls apply.
    fn account(&self) -> &Account;

    /// The provider's name of the model.
    fn name(&self) -> &str;

    /// Whether a model is available now. Cheap.
    fn is_there(&self) -> bool {
        true
    }

    /// The window of the model that would be called now, in tokens, if the implementation knows it.
    fn window(&self) -> Option<u64> {
        None
    }

    /// Makes one call and waits for its end, without retries: [`crate::Caller`] retries.
    ///
    /// # Errors
    /// [`Fault`] if there is no answer. It returns within `request.within`, apart from the time for waking a thread.
    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault>;
}

/// An answer made from its text, its separate reasoning, and the provider's stop reason.
///
/// Reasoning that a server leaves at the start of the text, in `<think>` tags, is removed (F024); an open tag runs to
/// the end.
pub(crate) fn answer(text: &str, thought: bool, told: Stop, usage: Usage, model: Option<String>) -> Answer {
    let (visible, leaked) = without_thinking(text);
    let stop =
        if visible.trim().is_empty() && (thought || leaked) && matches!(told, Stop::End | Stop::MaxTokens) {
            Stop::ThinkingOnly
        } else {
            told
        };
    Answer { text: visible.trim().to_owned(), stop, usage, model }
}

/// The text behind its leading reasoning, and whether there was any.
fn without_thinking(text: &str) -> (&str, bool) {
    let start = text.trim_start();
    for (open, close) in
        [("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>")]
    {
        if let Some(inside) = start.strip_prefix(open) {
            return (inside.split_once(close).map_or("", |(_, after)| after), true);
        }
    }
    (text, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f024_reasoning_is_no_text() {
        let table = [
            ("plain", false, Stop::End, "plain", Stop::End, "text only"),
            ("plain", true, Stop::End, "plain", Stop::End, "text beside reasoning"),
            ("", true, Stop::End, "", Stop::ThinkingOnly, "reasoning in its own field"),
            ("<think>a</think>", false, Stop::End, "", Stop::ThinkingOnly, "wrapped, nothing behind it"),
            ("<think>a", false, Stop::MaxTokens, "", Stop::ThinkingOnly, "wrapped, never closed"),
            ("\n<think>a</think>\n\nb", false, Stop::End, "b", Stop::End, "wrapped, then text"),
            (
                "it printed <think>",
                false,
                Stop::End,
                "it printed <think>",
                Stop::End,
                "a tag that is spoken of",
            ),
            ("", true, Stop::ToolCall, "", Stop::ToolCall, "reasoning, then a call"),
            ("", true, Stop::Refusal, "", Stop::Refusal, "reasoning, then a refusal"),
            (" ", false, Stop::End, "", Stop::End, "nothing at all"),
        ];
        for (text, thought, told, want, stop, why) in table {
            let answer = answer(text, thought, told, Usage::default(), None);
            assert_eq!((answer.text.as_str(), answer.stop), (want, stop), "{why}");
        }
    }
}
