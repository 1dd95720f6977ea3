//! The target of rendering: a dialect and, if known, a model.

use std::borrow::Cow;

use unforget_core::digest::Digest;
use unforget_core::message::Between;

use crate::dialect::Dialect;

/// Models that accept each other's reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Anthropic's models, wherever they are hosted.
    Claude,
    /// OpenAI's hosted models. The open-weight models are excluded, since they sign nothing.
    OpenAi,
    /// Google's Gemini.
    Gemini,
    /// DeepSeek's models.
    DeepSeek,
    /// Moonshot's Kimi.
    Kimi,
    /// Zhipu's GLM.
    Glm,
    /// Mistral's models.
    Mistral,
    /// Any other model: equal only to itself. Holds a hash of its name.
    Named(u64),
}

/// Words in a model's name and the family that they indicate; the first match wins.
const WORDS: [(&str, Family); 17] = [
    ("claude", Family::Claude),
    ("deepseek", Family::DeepSeek),
    ("gemini", Family::Gemini),
    ("kimi", Family::Kimi),
    ("moonshot", Family::Kimi),
    ("glm-", Family::Glm),
    ("chatglm", Family::Glm),
    ("mistral", Family::Mistral),
    ("ministral", Family::Mistral),
    ("mixtral", Family::Mistral),
    ("magistral", Family::Mistral),
    ("codestral", Family::Mistral),
    ("devstral", Family::Mistral),
    ("pixtral", Family::Mistral),
    ("chatgpt", Family::OpenAi),
    ("gpt-", Family::OpenAi),
    ("codex", Family::OpenAi),
];

impl Family {
    /// The family of a model by name. Vendors, regions and paths in front of it are ignored.
    pub fn of(model: &str) -> Self {
        let name = model.to_ascii_lowercase();
        let name = name.rsplit('/').next().unwrap_or_default();
        let is_o_series =
            name.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        let known = WORDS.iter().find(|(word, _)| name.contains(word) && !name.contains("gpt-oss"));
        match known {
            Some((_, family)) => *family,
            None if is_o_series => Self::OpenAi,
            None => Self::Named(Digest::of(name.as_bytes()).short() as u64),
        }
    }

    /// Whether the model wants its readable reasoning back as `reasoning_content`.
    ///
    /// Source: F056; the thinking modes of DeepSeek, Kimi and GLM.
    pub const fn replays_reasoning(self) -> bool {
        matches!(self, Self::DeepSeek | Self::Kimi | Self::Glm)
    }

    /// Whether servers of the model are known to refuse instructions behind other messages.
    ///
    /// Source: F061; the chat templates of Qwen and Mistral in vLLM.
    pub const fn wants_system_first(self) -> bool {
        !matches!(self, Self::Claude | Self::OpenAi | Self::Gemini)
    }
}

/// The target of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Form of the request.
    pub dialect: Dialect,
    /// Family of the receiving model. `None` if unknown: then only the form of reasoning decides whether it is sent.
    pub family: Option<Family>,
    /// Whether the conversation is already in the dialect, sent by its client to this very API. Then instructions
    /// between messages and unknown items and parts go back unchanged.
    pub is_own: bool,
}

impl From<Dialect> for Target {
    fn from(dialect: Dialect) -> Self {
        Self { dialect, family: None, is_own: false }
    }
}

impl Target {
    /// A dialect for a model given by name.
    pub fn of(dialect: Dialect, model: Option<&str>) -> Self {
        Self { dialect, family: model.map(Family::of), is_own: false }
    }

    /// Where instructions between messages may stand.
    pub const fn between(self) -> Between {
        match self.dialect {
            _ if !self.is_own => Between::AsInput,
            Dialect::Anthropic => Between::BehindInput,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => Between::Anywhere,
            Dialect::Pi | Dialect::Gemini | Dialect::BedrockConverse => Between::AsInput,
        }
    }

    /// Spells a call id: as [`Dialect::call_id`], but nine letters and digits for Mistral.
    pub fn call_id(self, id: &str) -> Cow<'_, str> {
        if self.family == Some(Family::Mistral) && self.dialect == Dialect::OpenAiChat {
            return Cow::Owned(nine(id));
        }
        self.dialect.call_id(id)
    }

    /// Whether the target cannot use reasoning of `model`.
    ///
    /// * `home` - the family whose form the block has; replaces `model` where that is not recorded.
    pub(crate) fn is_foreign(self, model: Option<&str>, home: Option<Family>) -> bool {
        let from = model.map(Family::of).or(home);
        self.family.is_some_and(|family| from != Some(family))
    }
}

/// Nine letters and digits of the id's digest: 53 bits, so that two of a million ids collide in one of ten thousand
/// histories. Legal ids are mapped too, so that none collides with a mapped one.
fn nine(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = Digest::of(id.as_bytes()).short() as u64;
    let mut text = String::with_capacity(9);
    for _ in 0..9 {
        text.push(DIGITS.get((rest % 62) as usize).copied().map_or('0', char::from));
        rest /= 62;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f055_families_table() {
        let table = [
            ("claude-opus-4-5", Family::Claude, "by its word"),
            ("us.anthropic.claude-sonnet-4-5-v1:0", Family::Claude, "region and vendor in front"),
            ("openrouter/anthropic/Claude-3", Family::Claude, "paths and capitals"),
            ("gpt-5.5", Family::OpenAi, "by its word"),
            ("o3", Family::OpenAi, "o and a digit"),
            ("openai/o4-mini", Family::OpenAi, "o and a digit"),
            ("models/gemini-3-pro", Family::Gemini, "by its word"),
            ("deepseek-reasoner", Family::DeepSeek, "by its word"),
            ("moonshotai/kimi-k2", Family::Kimi, "by its word"),
            ("glm-4.6", Family::Glm, "by its word"),
            ("devstral-small", Family::Mistral, "by its word"),
        ];
        for (model, want, why) in table {
            assert_eq!(Family::of(model), want, "{model}: {why}");
        }
        assert_eq!(Family::of("llama-4"), Family::of("local/Llama-4"), "an unknown model is itself");
        assert_ne!(Family::of("llama-4"), Family::of("qwen-3"), "and no other");
        assert_ne!(Family::of("openai/gpt-oss-120b"), Family::OpenAi, "open weights sign nothing");
    }
}
