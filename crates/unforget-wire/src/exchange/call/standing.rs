//! Standing context: parts of a client's messages meant for every call.
//!
//! * Instructions between the first input and the first answer: they are fixed like the head.
//! * Texts of the history, at any place: see [`Context`]. One module per client knows their forms.

mod claude_code;
mod codex;
mod context;
mod opencode;
mod pi;
mod put_back;
mod unknown;

pub use context::Context;
use context::{ContextKind, ContextPlace, Found};

use super::is_instruction;
use crate::json::{Object, Tape, Value};

/// Limits of fixed instructions, in number and bytes. Further instructions are history, and are put back as far as
/// there is room: otherwise no prompt could be made smaller.
const COUNT_MAX: usize = 8;
const BYTES_MAX: usize = 32 * 1024;

/// The fixed instructions of a history, in order.
///
/// * `history` - the messages behind the head.
pub(super) fn find<'t>(history: &[Value<'t>]) -> Vec<Value<'t>> {
    let opening = history.iter().take_while(|message| message.obj().is_some_and(is_input));
    let found: Vec<Value<'t>> = opening.filter(|message| is_instruction(**message)).copied().collect();
    let bytes: usize = found.iter().map(|message| message.raw().len()).sum();
    if found.len() <= COUNT_MAX && bytes <= BYTES_MAX { found } else { Vec::new() }
}

/// Whether a message is input or instructions, as all messages before the first answer are.
fn is_input(message: Object<'_>) -> bool {
    let is_role = ["user", "system", "developer"].into_iter().any(|role| message.is("role", role));
    is_role || message.is("type", "additional_tools")
}

/// Whether the JSON of a message is a user's text.
pub(super) fn is_words_of_user(message: &str) -> bool {
    with_message(message, |message| message.is("role", "user")).unwrap_or_default()
}

/// Whether the JSON of a message is instructions.
pub(super) fn is_instruction_text(message: &str) -> bool {
    with_message(message, |message| message.is("role", "system")).unwrap_or_default()
}

/// Joins several messages of instructions into one; `None` for fewer than two.
pub(super) fn joined(messages: &[&str]) -> Option<String> {
    if messages.len() < 2 {
        return None;
    }
    let all: Vec<String> =
        messages.iter().filter_map(|text| with_message(text, raw_blocks)).flatten().collect();
    Some(format!(r#"{{"role":"system","content":[{}]}}"#, all.join(",")))
}

/// The blocks of a message, as JSON.
fn raw_blocks(message: Object<'_>) -> Vec<String> {
    let Some(content) = message.get("content") else { return Vec::new() };
    if content.is_str() {
        return vec![format!(r#"{{"type":"text","text":{}}}"#, content.raw())];
    }
    content.items().map(|block| block.raw().to_owned()).collect()
}

fn with_message<T>(message: &str, then: impl FnOnce(Object<'_>) -> T) -> Option<T> {
    let mut tape = Tape::default();
    tape.read(message.as_bytes()).ok()?;
    tape.value(message).and_then(Value::obj).map(then)
}
