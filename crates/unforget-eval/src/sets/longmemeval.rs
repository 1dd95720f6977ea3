//! `LongMemEval`: sessions of a person with an assistant, and questions with the sessions that answer them.

use serde_json::Value;
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;
use unforget_recall::calendar::Day;

use super::text_of;
use crate::case::{Case, Question, Turn};

/// The haystacks of a file; `None` for other JSON.
pub(super) fn cases(value: &Value) -> Option<Vec<Case>> {
    let samples = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let cases: Vec<Case> = samples.iter().filter_map(case_of).collect();
    (!cases.is_empty()).then_some(cases)
}

fn case_of(sample: &Value) -> Option<Case> {
    let haystack = sample.get("haystack_sessions")?.as_array()?;
    let strings = |key: &str| -> Vec<String> {
        let list = sample.get(key).and_then(Value::as_array);
        list.into_iter().flatten().map(|one| one.as_str().unwrap_or_default().to_owned()).collect()
    };
    let (ids, dates) = (strings("haystack_session_ids"), strings("haystack_dates"));
    let mut turns = Vec::new();
    for (session, said) in haystack.iter().enumerate() {
        let time = dates.get(session).and_then(|date| day(date));
        turns.extend(said.as_array().into_iter().flatten().map(|turn| Turn {
            author: String::new(),
            role: if text_of(turn, "role") == "user" { Role::User } else { Role::Assistant },
            time,
            session,
            text: text_of(turn, "content"),
        }));
    }
    // All turns of the sessions that answer: what counts are the measures by session.
    let evidence = |sessions: &Value| -> Vec<usize> {
        let named: Vec<&str> = sessions.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let answers = |session: usize| ids.get(session).is_some_and(|id| named.iter().any(|name| id == name));
        (0..turns.len()).filter(|turn| turns.get(*turn).is_some_and(|turn| answers(turn.session))).collect()
    };
    let named = sample.get("answer_session_ids").unwrap_or(&Value::Null);
    let questions = match sample.get("questions").and_then(Value::as_array) {
        Some(several) => several.iter().zip(named.as_array().into_iter().flatten()).collect::<Vec<_>>(),
        None => sample.get("question").map(|one| (one, named)).into_iter().collect(),
    };
    let questions = questions.into_iter().map(|(text, sessions)| Question {
        text: text.as_str().unwrap_or_default().to_owned(),
        category: "sessions".to_owned(),
        evidence: evidence(sessions),
        any: true,
    });
    let questions = questions.collect();
    Some(Case { turns, questions })
}

/// The start of a day in the notation `2023/07/12 (Wed) 10:14`.
fn day(text: &str) -> Option<Timestamp> {
    let mut parts = text.split([' ', '/']);
    let year = parts.next()?.parse().ok()?;
    let month = parts.next()?.parse().ok()?;
    let day = parts.next()?.parse().ok()?;
    Some(Day { year, month, day }.start())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_haystack_is_read() {
        let sample = json!({
            "haystack_session_ids": ["a", "b"], "haystack_dates": ["2023/07/12 (Wed) 10:14", ""],
            "haystack_sessions": [[{"role": "user", "content": "one"}], [{"role": "assistant", "content": "two"}]],
            "questions": ["Which?", "None?"], "answer_session_ids": [["b"], []]});
        let cases = cases(&sample).unwrap_or_default();
        let evidence: Vec<_> =
            cases.iter().flat_map(|case| &case.questions).map(|one| one.evidence.clone()).collect();
        assert_eq!(evidence, [vec![1], vec![]]);
        let times: Vec<_> =
            cases.iter().flat_map(|case| &case.turns).map(|turn| turn.time.is_some()).collect();
        assert_eq!(times, [true, false]);
    }
}
