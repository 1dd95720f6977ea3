//! Which conversations a client may read.

use std::collections::BTreeSet;
use unforget_store::{Page, walk};

use unforget_core::id::ConversationId;
use unforget_engine::{Engine, EngineError};

/// The header of an HTTP request that narrows it to a conversation; may be repeated.
pub const HEADER: &str = "unforget-conversation";

/// Which conversations a client may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RecallScope {
    /// All conversations, including future ones.
    #[default]
    All,
    /// These conversations; none if empty.
    Only(BTreeSet<ConversationId>),
    /// Conversations whose key has this prefix, including future ones.
    Under(String),
}

impl RecallScope {
    /// The conversations with these names; all without a name.
    ///
    /// # Errors
    /// [`EngineError::NoConversation`], [`EngineError::Ambiguous`].
    pub fn named<S: AsRef<str>>(engine: &Engine, names: &[S]) -> Result<Self, EngineError> {
        if names.is_empty() {
            return Ok(Self::All);
        }
        let id = |name: &S| Ok(engine.resolve(name.as_ref())?.conversation.id);
        Ok(Self::Only(names.iter().map(id).collect::<Result<_, EngineError>>()?))
    }

    /// The engine limited to this scope. Conversations out of scope do not exist for it.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the conversations cannot be listed.
    pub fn confine(&self, engine: &Engine) -> Result<Engine, EngineError> {
        Ok(match self {
            Self::All => engine.clone(),
            Self::Only(ids) => engine.confined(ids.clone()),
            Self::Under(start) => {
                let mut only = BTreeSet::new();
                for one in walk(|page| engine.store().conversations(page)) {
                    let one = one?;
                    if one.key.0.starts_with(start) {
                        only.insert(one.id);
                    }
                }
                engine.confined(only)
            }
        })
    }
}

/// The engine narrowed to the conversation named in a call; unchanged without a name.
pub(super) fn narrow(engine: Engine, name: Option<&str>) -> Result<Engine, EngineError> {
    let Some(name) = name else { return Ok(engine) };
    RecallScope::named(&engine, &[name])?.confine(&engine)
}

/// The only conversation in scope; `None` if there are several.
pub(super) fn at_hand(engine: &Engine) -> Result<Option<ConversationId>, EngineError> {
    let all = engine.store().conversations(Page::first(2))?;
    Ok(match all.as_slice() {
        [one] => Some(one.id),
        _ => None,
    })
}
