//! The shape of prompts: dialect, model family, ruler and policy.

use unforget_core::id::ConversationId;
use unforget_core::policy::Policy;
use unforget_wire::{Dialect, Family, Format, Target, journal};

use crate::Engine;
use crate::error::EngineError;
use crate::ruler::ModelRuler;

/// The shape of a request.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Form of the request.
    pub dialect: Dialect,
    /// Family of models whose reasoning the model accepts; `None` if the model is unknown.
    pub family: Option<Family>,
    /// Tokens of the model.
    pub ruler: ModelRuler,
    /// Limits and thresholds.
    pub policy: Policy,
    /// See [`Target::is_own`]. A session sets it.
    pub is_own: bool,
}

/// The form of requests for a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelForm {
    pub(crate) dialect: Dialect,
    /// `None` if the model is unknown.
    pub(crate) family: Option<Family>,
    pub(crate) ruler: ModelRuler,
}

impl ModelForm {
    /// The form for a model by name, in a dialect.
    pub(crate) fn of(model: Option<&str>, dialect: Dialect) -> Self {
        Self { dialect, family: model.map(Family::of), ruler: ModelRuler::of(model, dialect) }
    }
}

impl Shape {
    /// The shape for a window, a model by name and a dialect.
    pub fn new(window: u64, model: Option<&str>, dialect: Dialect) -> Self {
        Self::with_policy(Policy::for_window(window), ModelForm::of(model, dialect))
    }

    /// The shape for a policy. The dialect sets the lifetime of the provider's cache.
    pub(crate) const fn with_policy(policy: Policy, form: ModelForm) -> Self {
        let ModelForm { dialect, family, ruler } = form;
        let policy = Policy { cache_ttl_ms: dialect.cache_ttl_ms(), ..policy };
        Self { dialect, family, ruler, policy, is_own: false }
    }

    /// The shape for a conversation, whose form may be the dialect's own.
    pub(super) fn of_conversation(
        self,
        engine: &Engine,
        conversation: ConversationId,
    ) -> Result<Self, EngineError> {
        let header = engine.store().raw(conversation, 0..1)?;
        let form = header.first().and_then(|raw| journal::read_line(&raw.body).form);
        let form = form.as_deref().and_then(Format::by_name);
        let is_own = form.is_some() && form == self.dialect.form();
        Ok(Self { is_own, ..self })
    }

    /// The target of requests in this shape.
    pub const fn target(&self) -> Target {
        Target { dialect: self.dialect, family: self.family, is_own: self.is_own }
    }

    /// The key of contexts of this shape in the store.
    pub(crate) fn key(&self) -> u64 {
        let ruler = match self.ruler {
            ModelRuler::O200k => 0,
            ModelRuler::Cl100k => 1,
            ModelRuler::Estimate => 2,
        };
        let form = dialect_number(self.dialect) << 2 | family_number(self.family) << 50;
        let usual = Policy::with_reserve(self.policy.window, self.policy.reserve).ledger;
        let bare = u64::from(self.policy.ledger != usual) << 58;
        (self.policy.window << 20 | self.policy.reserve) << 4 | form | bare | ruler
    }
}

/// Numbers of dialects, for keys of stored contexts. The first four fit into two bits of the key; later dialects use free
/// bits above.
const fn dialect_number(dialect: Dialect) -> u64 {
    match dialect {
        Dialect::Anthropic => 0,
        Dialect::OpenAiChat => 1,
        Dialect::OpenAiResponses => 2,
        Dialect::Pi => 3,
        Dialect::Gemini => 1 << 58,
        Dialect::BedrockConverse => 1 << 58 | 1,
    }
}

/// Numbers of families below 256, for the same keys. Two unknown models may share a number.
const fn family_number(family: Option<Family>) -> u64 {
    match family {
        None => 0,
        Some(Family::Claude) => 1,
        Some(Family::OpenAi) => 2,
        Some(Family::Gemini) => 3,
        Some(Family::DeepSeek) => 4,
        Some(Family::Kimi) => 5,
        Some(Family::Glm) => 6,
        Some(Family::Mistral) => 7,
        Some(Family::Named(print)) => 8 + print % 248,
    }
}
