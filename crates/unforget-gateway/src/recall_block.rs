//! Puts a small block of recalled text before the newest question.

use unforget_core::policy::{RECALL_BLOCK_FRAME, RECALL_BLOCK_MAX};
use unforget_engine::host::RecallRoom;
use unforget_engine::ruler::ModelRuler;
use unforget_wire::Dialect;

/// The room for recalled text.
pub(super) const fn room(ruler: ModelRuler) -> RecallRoom {
    RecallRoom { budget: RECALL_BLOCK_MAX - RECALL_BLOCK_FRAME, ruler }
}

/// Puts recalled text before the newest question: into its message if roles have to alternate, otherwise as a separate
/// message.
pub(super) fn insert_recalled(messages: &mut Vec<String>, text: &str, dialect: Dialect) {
    let at = messages.iter().rposition(|message| is_question(message));
    let question = at.and_then(|at| messages.get(at)).and_then(|message| serde_json::from_str(message).ok());
    match (at, question) {
        (Some(at), Some(serde_json::Value::Object(mut question))) if dialect == Dialect::Anthropic => {
            let block = |text: &str| serde_json::json!({"type": "text", "text": text});
            let said = match question.get_mut("content").map(serde_json::Value::take) {
                Some(serde_json::Value::Array(blocks)) => blocks,
                Some(serde_json::Value::String(said)) => vec![block(&said)],
                _ => Vec::new(),
            };
            let blocks: Vec<_> = std::iter::once(block(text)).chain(said).collect();
            question.insert("content".to_owned(), blocks.into());
            if let Some(message) = messages.get_mut(at) {
                *message = serde_json::Value::Object(question).to_string();
            }
        }
        (Some(at), _) if dialect != Dialect::Anthropic => {
            let text = serde_json::Value::from(text);
            messages.insert(at, format!(r#"{{"role":"user","content":{text}}}"#));
        }
        // A prompt without a question has no place for it.
        _ => {}
    }
}

/// Whether a message of a prompt is a person's text and no tool result.
fn is_question(message: &str) -> bool {
    let Ok(message) = serde_json::from_str::<serde_json::Value>(message) else { return false };
    let is =
        |value: &serde_json::Value, key: &str, word: &str| value.get(key).is_some_and(|value| value == word);
    let blocks = message.get("content").and_then(serde_json::Value::as_array);
    let is_result = blocks.is_some_and(|blocks| blocks.iter().any(|block| is(block, "type", "tool_result")));
    is(&message, "role", "user") && !is_result
}
