//! Conversations by the names that people type.

use unforget_engine::trust::Resolved;
use unforget_engine::{Engine, EngineError};

use crate::failure::{Failure, Outcome};
use crate::recognised::{RecognisedConversation, everything};
use crate::text;

/// Most conversations that a failure names.
const NAMED: usize = 5;

/// Columns of a title in a failure.
const TITLE: usize = 60;

/// The conversation with this name.
///
/// # Errors
/// If there is none or more than one; the failure then names those that may be meant.
pub(crate) fn resolve(engine: &Engine, name: &str) -> Outcome<Resolved> {
    let error = match engine.resolve(name) {
        Ok(found) => return Ok(found),
        Err(error) => error,
    };
    let meant = match &error {
        EngineError::NoConversation { name, .. } if name.trim().is_empty() => {
            let hint = "unforget list shows all conversations";
            return Err(Failure {
                message: "the name of a conversation is empty".to_owned(),
                hint: hint.to_owned(),
                ..Failure::from(error)
            });
        }
        EngineError::NoConversation { name, near } if near.is_empty() => {
            let word = name.to_lowercase();
            everything(engine)?.into_iter().filter(|one| one.has(&word)).collect()
        }
        EngineError::Ambiguous { candidates, .. } => {
            everything(engine)?.into_iter().filter(|one| candidates.contains(&one.stored.key.0)).collect()
        }
        _ => Vec::new(),
    };
    Err(told(&meant, name, error))
}

/// The failure with the conversations that may be meant, the newest first.
fn told(meant: &[RecognisedConversation], name: &str, error: EngineError) -> Failure {
    let is_ambiguous = matches!(error, EngineError::Ambiguous { .. });
    let failure = Failure::from(error);
    if meant.is_empty() {
        return failure;
    }
    let mut newest: Vec<_> = meant.iter().collect();
    newest.sort_by_key(|one| std::cmp::Reverse(one.last()));
    let line =
        |one: &&RecognisedConversation| format!("\n  {}  {}", one.name, text::one_line(&one.title(), TITLE));
    let lines: String = newest.iter().take(NAMED).map(line).collect();
    let word = text::quoted(name);
    let message = if is_ambiguous {
        format!("{name} can mean several conversations:{lines}")
    } else {
        format!("no conversation is called {name}, but it stands in what these are about:{lines}")
    };
    let hint = if is_ambiguous {
        "write more of the key, or the id of one of them".to_owned()
    } else {
        format!("name one by its id; unforget list {word} shows all of them")
    };
    Failure { message, hint, ..failure }
}
