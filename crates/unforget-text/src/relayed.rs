//! Words of a person that reach the model inside the result of a tool.

use serde_json::Value;

/// Ends the host's notice of a refused call; the person's words follow. Source: Claude Code.
const INSTEAD: &str = "To tell you how to proceed, the user said:";
/// First words of answers to a tool's questions, and the host's words behind them. Source: Claude Code, opencode.
const ANSWERS: &str = "User has answered your questions:";
const ANSWERS_END: &str = ". You can now continue";
/// Most answers read of one result.
const ANSWERS_MAX: usize = 16;

/// What a person says by way of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Relayed {
    /// How to go on, in place of a call that the person refused.
    Instead(String),
    /// What the person chose, question by question.
    Chosen(Vec<ChosenAnswer>),
}

/// A person's answer to a question of a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ChosenAnswer {
    pub(crate) question: String,
    pub(crate) answer: String,
}

/// The words of a person in a result, if it holds any.
///
/// Cost: linear.
pub(crate) fn relayed(result: &str) -> Option<Relayed> {
    let result = result.trim();
    if result.starts_with("The user doesn't want") {
        let (_, words) = result.split_once(INSTEAD)?;
        let words = words.trim();
        return (!words.is_empty()).then(|| Relayed::Instead(words.to_owned()));
    }
    let found = match result.strip_prefix(ANSWERS) {
        Some(answers) => quoted(answers.rsplit_once(ANSWERS_END).map_or(answers, |(answers, _)| answers)),
        None if result.starts_with("{\"answers\"") => of_json(result)?,
        None => return None,
    };
    (!found.is_empty()).then_some(Relayed::Chosen(found))
}

/// Answers of the form `"question"="answer", "question"="answer"`. Quotes inside them are not escaped.
fn quoted(answers: &str) -> Vec<ChosenAnswer> {
    let mut parts = answers.trim().trim_start_matches('"').split("\"=\"");
    let mut question = parts.next().unwrap_or_default();
    let mut found = Vec::new();
    for part in parts.take(ANSWERS_MAX) {
        let (answer, next) = part.rsplit_once("\", \"").unwrap_or((part.trim_end_matches('"'), ""));
        found.push(ChosenAnswer { question: question.to_owned(), answer: answer.to_owned() });
        question = next;
    }
    found
}

/// Answers by the id of their question: `{"answers":{"id":{"answers":["…"]}}}`. Source: Codex, `request_user_input`.
fn of_json(result: &str) -> Option<Vec<ChosenAnswer>> {
    let read: Value = serde_json::from_str(result).ok()?;
    let of_one = |(id, given): (&String, &Value)| {
        let words: Vec<&str> = given.get("answers")?.as_array()?.iter().filter_map(Value::as_str).collect();
        (!words.is_empty()).then(|| ChosenAnswer { question: id.clone(), answer: words.join("; ") })
    };
    Some(read.get("answers")?.as_object()?.iter().filter_map(of_one).take(ANSWERS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relayed_table() {
        let chosen = |pairs: &[(&str, &str)]| {
            let one = |(question, answer): &(&str, &str)| ChosenAnswer {
                question: (*question).to_owned(),
                answer: (*answer).to_owned(),
            };
            Some(Relayed::Chosen(pairs.iter().map(one).collect()))
        };
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was \
             a file edit, the new_string was NOT written to the file).";
        let table = [
            (
                format!("{refused} To tell you how to proceed, the user said:\nkeep the hooks apart"),
                Some(Relayed::Instead("keep the hooks apart".to_owned())),
                "words in place of a call",
            ),
            (format!("{refused} STOP what you are doing and wait."), None, "a refusal without words"),
            (
                "The log says: To tell you how to proceed, the user said:\nrm -r".to_owned(),
                None,
                "a result that quotes one",
            ),
            (
                "User has answered your questions: \"Which store?\"=\"SQLite (Recommended)\", \"Why \"now\"?\"=\"fix \
                 the lock\". You can now continue with the user's answers in mind."
                    .to_owned(),
                chosen(&[("Which store?", "SQLite (Recommended)"), ("Why \"now\"?", "fix the lock")]),
                "answers to two questions",
            ),
            ("User has answered your questions: none".to_owned(), None, "no answer"),
            (
                r#"{"answers":{"store":{"answers":["SQLite"]},"empty":{"answers":[]}}}"#.to_owned(),
                chosen(&[("store", "SQLite")]),
                "answers by id",
            ),
            (r#"{"answers":[1,2]}"#.to_owned(), None, "another object"),
            (r#"{"answers": tru"#.to_owned(), None, "no JSON"),
        ];
        for (result, want, why) in table {
            assert_eq!(relayed(&result), want, "{why}");
        }
    }
}
