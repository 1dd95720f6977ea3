//! Hints in a body at the conversation that it belongs to.

use crate::Dialect;
use crate::json::{Object, Tape, Value};

/// Names that clients put into a body. None is proof: a client may reuse or forget any of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// Anthropic `metadata.user_id`, unchanged.
    pub user_id: Option<String>,
    /// The session in `user_id`: Claude Code writes JSON with a `session_id`; older versions wrote
    /// `user_…_account_…_session_…`.
    pub session_id: Option<String>,
    /// OpenAI `prompt_cache_key`.
    pub prompt_cache_key: Option<String>,
    /// OpenAI `conversation`, a name or an object with `id`.
    pub conversation: Option<String>,
    /// OpenAI `previous_response_id`.
    pub previous_response_id: Option<String>,
    /// OpenAI `user`.
    pub user: Option<String>,
    /// OpenAI `safety_identifier`.
    pub safety_identifier: Option<String>,
    /// OpenAI `store`: whether the provider keeps the answer.
    pub store: Option<bool>,
}

impl Hints {
    /// Whether the call sends only the messages behind a state that the provider keeps.
    pub const fn is_partial(&self) -> bool {
        self.previous_response_id.is_some() || self.conversation.is_some()
    }

    pub(super) fn of(dialect: Dialect, body: Object<'_>) -> Self {
        let text = |key: &str| body.string(key).filter(|text| !text.is_empty());
        if dialect == Dialect::Anthropic {
            let user_id = body.obj("metadata").and_then(|metadata| metadata.string("user_id"));
            let user_id = user_id.filter(|text| !text.is_empty());
            let session_id = user_id.as_deref().and_then(session);
            return Self { user_id, session_id, ..Self::default() };
        }
        let conversation = body.obj("conversation").and_then(|conversation| conversation.string("id"));
        Self {
            prompt_cache_key: text("prompt_cache_key"),
            conversation: conversation.filter(|id| !id.is_empty()).or_else(|| text("conversation")),
            previous_response_id: text("previous_response_id"),
            user: text("user"),
            safety_identifier: text("safety_identifier"),
            store: body.bool("store"),
            ..Self::default()
        }
    }
}

/// The session in a `user_id` of Claude Code.
fn session(user_id: &str) -> Option<String> {
    let mut tape = Tape::default();
    let named = match tape.read(user_id.as_bytes()) {
        Ok(_) => tape.value(user_id).and_then(Value::obj)?.string("session_id"),
        Err(_) if user_id.starts_with("user_") => {
            user_id.rsplit_once("_session_").map(|(_, session)| session.to_owned())
        }
        Err(_) => None,
    };
    named.filter(|session| !session.is_empty())
}
