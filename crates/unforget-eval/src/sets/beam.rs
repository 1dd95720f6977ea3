//! BEAM: chats of a person with an assistant, and questions of ten kinds about them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;
use unforget_core::entry::Role;

use super::text_of;
use crate::case::{Case, Question, Turn};

/// Name of the file of a chat. Beside it may stand a shortened copy under another name.
pub(super) const CHAT: &str = "chat.json";

/// A turn with its number in the data set.
pub(super) struct Numbered {
    id: u64,
    turn: Turn,
}

/// The turns of a `chat.json`; `None` for other JSON.
pub(super) fn turns(chat: &Value) -> Option<Vec<Numbered>> {
    let batches = chat.as_array().filter(|batches| !batches.is_empty())?;
    let mut turns = Vec::new();
    for (session, batch) in batches.iter().enumerate() {
        batch.get("batch_number")?;
        let groups = batch.get("turns").and_then(Value::as_array);
        for said in groups.into_iter().flatten().filter_map(Value::as_array).flatten() {
            let Some(id) = said.get("id").and_then(Value::as_u64) else { continue };
            let role = if text_of(said, "role") == "user" { Role::User } else { Role::Assistant };
            let text = text_of(said, "content");
            // A mark of the generator: ` ->-> 1,1`.
            let text = text.split(" ->-> ").next().unwrap_or_default().to_owned();
            turns
                .push(Numbered { id, turn: Turn { author: String::new(), role, time: None, session, text } });
        }
    }
    Some(turns)
}

/// The size of a chat, from the folders of its file: `chats/100K/1/chat.json`.
pub(super) fn size(path: &Path) -> String {
    let size = path.parent().and_then(Path::parent).and_then(Path::file_name);
    size.unwrap_or_default().to_string_lossy().into_owned()
}

/// A chat with its questions. Questions without evidence stay, and are counted as skipped.
pub(super) fn case(turns: Vec<Numbered>, asked: &Value) -> Case {
    let places: BTreeMap<u64, usize> = turns.iter().zip(0..).map(|(one, place)| (one.id, place)).collect();
    let mut questions = Vec::new();
    for (kind, group) in asked.as_object().into_iter().flatten() {
        for one in group.as_array().into_iter().flatten() {
            let mut ids = Vec::new();
            numbers(one.get("source_chat_ids").unwrap_or(&Value::Null), &mut ids);
            let mut evidence: Vec<usize> = ids.iter().filter_map(|id| places.get(id).copied()).collect();
            evidence.sort_unstable();
            evidence.dedup();
            questions.push(Question {
                text: text_of(one, "question"),
                category: kind.replace('_', " "),
                evidence,
                any: false,
            });
        }
    }
    Case { turns: turns.into_iter().map(|one| one.turn).collect(), questions }
}

/// All numbers in nested lists and objects.
fn numbers(value: &Value, out: &mut Vec<u64>) {
    match value {
        Value::Number(number) => out.extend(number.as_u64()),
        Value::Array(list) => list.iter().for_each(|one| numbers(one, out)),
        Value::Object(fields) => fields.values().for_each(|one| numbers(one, out)),
        Value::Null | Value::Bool(_) | Value::String(_) => (),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_chat_is_read() {
        let chat = json!([
            {"batch_number": 1, "turns": [[
                {"role": "user", "id": 4, "content": "The sprint ends in May. ->-> 1,1"},
                {"role": "assistant", "id": 5, "content": "Noted."}]]},
            {"batch_number": 2, "turns": null}]);
        let asked = json!({
            "event_ordering": [{"question": "When?", "source_chat_ids": {"first": [5], "then": [4, 4]}}],
            "abstention": [{"question": "Why?", "source_chat_ids": null}]});
        let turns = turns(&chat).unwrap_or_default();
        let case = case(turns, &asked);
        assert_eq!(case.turns.len(), 2);
        assert!(
            case.turns.iter().any(|turn| turn.role == Role::User && turn.text == "The sprint ends in May.")
        );
        let evidence: Vec<_> = case.questions.iter().map(|one| one.evidence.clone()).collect();
        assert_eq!(evidence, [vec![0, 1], vec![]]);
        assert_eq!(size(Path::new("chats/100K/1/chat.json")), "100K");
    }
}
