//! Counts tokens for a model: exactly if its tokeniser is known, by the class-aware estimate otherwise.

use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_wire::Dialect;

/// A ruler for one family of models.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRuler {
    /// `o200k_base`: GPT-4o and later OpenAI models.
    O200k,
    /// `cl100k_base`: GPT-4 and GPT-3.5.
    Cl100k,
    /// No public tokeniser: an estimate with an upper bound.
    Estimate,
}

/// Model name prefixes and their encodings. The longest match wins.
const FAMILIES: &[(&str, ModelRuler)] = &[
    ("gpt-3.5", ModelRuler::Cl100k),
    ("gpt-4", ModelRuler::Cl100k),
    ("gpt-4o", ModelRuler::O200k),
    ("gpt-4.1", ModelRuler::O200k),
    ("gpt-4.5", ModelRuler::O200k),
    ("gpt-5", ModelRuler::O200k),
    ("gpt-oss", ModelRuler::O200k),
    ("chatgpt-4o", ModelRuler::O200k),
    ("codex", ModelRuler::O200k),
    ("o1", ModelRuler::O200k),
    ("o3", ModelRuler::O200k),
    ("o4", ModelRuler::O200k),
];

/// Beginnings of the names of models without a public tokeniser.
const ESTIMATED: [&str; 11] =
    ["claude", "deepseek", "gemini", "glm", "grok", "kimi", "llama", "minimax", "mistral", "nova", "qwen"];

/// Whether the name is that of a model we know: one with a tokeniser, or of a family whose tokens are always estimated. A name with
/// a typing mistake is estimated too, and its author wants to know.
pub fn is_known(model: &str) -> bool {
    let name = own_name(model);
    FAMILIES.iter().map(|(prefix, _)| prefix).chain(&ESTIMATED).any(|prefix| name.starts_with(prefix))
}

/// The name without the vendor's.
fn own_name(model: &str) -> &str {
    model.rsplit('/').next().unwrap_or(model)
}

impl ModelRuler {
    /// The ruler of a model by name; without a name, the ruler of the dialect's usual models.
    ///
    /// Vendor prefixes such as `openai/` are ignored. Unknown names are estimated.
    pub fn of(model: Option<&str>, dialect: Dialect) -> Self {
        let Some(model) = model else {
            return match dialect {
                Dialect::OpenAiChat | Dialect::OpenAiResponses => Self::O200k,
                Dialect::Anthropic | Dialect::Pi | Dialect::Gemini | Dialect::BedrockConverse => {
                    Self::Estimate
                }
            };
        };
        let name = own_name(model);
        let matching = FAMILIES.iter().filter(|(prefix, _)| name.starts_with(prefix));
        matching.max_by_key(|(prefix, _)| prefix.len()).map_or(Self::Estimate, |(_, ruler)| *ruler)
    }

    fn encoding(self) -> Option<&'static tiktoken::CoreBpe> {
        match self {
            Self::O200k => tiktoken::get_encoding("o200k_base"),
            Self::Cl100k => tiktoken::get_encoding("cl100k_base"),
            Self::Estimate => None,
        }
    }
}

impl Ruler for ModelRuler {
    fn count(&self, text: &str) -> Tokens {
        match self.encoding() {
            Some(encoding) => Tokens::exact(encoding.count(text) as u64),
            None => ClassEstimate.count(text),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::O200k => "o200k_base",
            Self::Cl100k => "cl100k_base",
            Self::Estimate => ClassEstimate.name(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_models_table() {
        let table = [
            ("gpt-5.1", true, "a tokeniser"),
            ("anthropic/claude-opus-4-5", true, "a vendor's prefix"),
            ("gpt-9000", false, "no family"),
            ("calude-opus", false, "a typing mistake"),
        ];
        for (name, want, why) in table {
            assert_eq!(is_known(name), want, "{why}: {name}");
        }
    }

    #[test]
    fn f072_every_model_name_has_a_ruler() {
        let table = [
            (Some("gpt-4o-mini"), ModelRuler::O200k, "longest prefix wins"),
            (Some("gpt-4-turbo"), ModelRuler::Cl100k, "older family"),
            (Some("openai/gpt-5.2-codex"), ModelRuler::O200k, "vendor prefix"),
            (Some("claude-opus-4-5"), ModelRuler::Estimate, "no public tokeniser"),
            (Some("something-new"), ModelRuler::Estimate, "unknown"),
            (None, ModelRuler::Estimate, "the dialect's usual models"),
        ];
        for (model, want, why) in table {
            assert_eq!(ModelRuler::of(model, Dialect::Anthropic), want, "{why}");
        }
    }

    #[test]
    fn bpe_counts_are_the_published_ones() {
        assert_eq!(ModelRuler::O200k.count("hello world").upper, 2);
        assert_eq!(ModelRuler::Cl100k.count("hello world").upper, 2);
    }
}
