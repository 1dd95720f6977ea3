//! Which conversations a client may read.

use std::collections::BTreeSet;

use unforget_core::id::ConversationId;
use unforget_engine::{Engine, EngineError};

/// The header of a request over HTTP that names a conversation to narrow it to; there may be several.
pub const HEADER: &str = "unforget-conversation";

/// Which conversations a client may read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All that there are, those that come later too.
    #[default]
    All,
    /// These. None at all if it is empty.
    Only(BTreeSet<ConversationId>),
    /// Those whose key begins so, those that come later too.
    Under(String),
}

impl Scope {
    /// The conversations with these names; all if no name is given.
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

    /// The engine as this scope has it. What is out of scope is not there for it, whatever is asked.
    ///
    /// # Errors
    /// [`EngineError::Store`] if the conversations cannot be listed.
    pub fn confine(&self, engine: &Engine) -> Result<Engine, EngineError> {
        Ok(match self {
            Self::All => engine.clone(),
            Self::Only(ids) => engine.confined(ids.clone()),
            Self::Under(start) => {
                let all = engine.store().conversations()?.into_iter();
                engine.confined(all.filter(|one| one.key.0.starts_with(start)).map(|one| one.id).collect())
            }
        })
    }
}

/// The engine narrowed to the conversation that a call names; as it is if it names none.
pub(super) fn narrow(engine: Engine, name: Option<&str>) -> Result<Engine, EngineError> {
    let Some(name) = name else { return Ok(engine) };
    Scope::named(&engine, &[name])?.confine(&engine)
}

/// The conversation at hand: the one there is, if there is one only.
pub(super) fn at_hand(engine: &Engine) -> Result<Option<ConversationId>, EngineError> {
    let all = engine.store().conversations()?;
    Ok(match all.as_slice() {
        [one] => Some(one.id),
        _ => None,
    })
}
