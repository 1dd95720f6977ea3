//! What prompts are shaped by.

use unforget_core::id::ConversationId;
use unforget_core::policy::Policy;
use unforget_wire::{Dialect, Family, Format, Target, journal};

use crate::Engine;
use crate::error::EngineError;
use crate::ruler::ModelRuler;

/// What a request is made for.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Form of the request.
    pub dialect: Dialect,
    /// Whose reasoning the model takes; `None` if the model is not known.
    pub family: Option<Family>,
    /// Tokens of the model.
    pub ruler: ModelRuler,
    /// Limits and thresholds.
    pub policy: Policy,
    /// See [`Target::is_own`]. A session finds out by itself.
    pub is_own: bool,
}

impl Shape {
    /// The shape for a window, a model by name and a dialect.
    pub fn new(window: u64, model: Option<&str>, dialect: Dialect) -> Self {
        let (family, ruler) = (model.map(Family::of), ModelRuler::of(model, dialect));
        Self::with_policy(Policy::for_window(window), (dialect, family, ruler))
    }

    /// The shape for a policy; how long a cache lives is a fact of the dialect.
    pub(crate) const fn with_policy(
        policy: Policy,
        (dialect, family, ruler): (Dialect, Option<Family>, ModelRuler),
    ) -> Self {
        let policy = Policy { cache_ttl_ms: dialect.cache_ttl_ms(), ..policy };
        Self { dialect, family, ruler, policy, is_own: false }
    }

    /// The shape for a conversation, whose form tells whether it is the dialect's own.
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

    /// What requests of this shape are rendered for.
    pub const fn target(&self) -> Target {
        Target { dialect: self.dialect, family: self.family, is_own: self.is_own }
    }

    /// Key under which the state of a prompt of this shape is stored.
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

/// Dialects by number, for keys of stored state. The key has two bits for it between others; numbers of
/// later dialects begin far above those, where no key has anything.
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

/// Families by number, below 256, for the same keys. Two models that are not known may share one.
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
