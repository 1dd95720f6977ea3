//! Reads LoCoMo's JSON into the plain values of `unforget_recall::eval`.

use serde_json::Value;
use unforget_recall::eval::{Case, Question, Turn, spoken_time};

/// The conversations of a file.
pub(crate) fn cases(bytes: &[u8]) -> Vec<Case> {
    let samples: Value = serde_json::from_slice(bytes).unwrap_or_default();
    samples.as_array().into_iter().flatten().map(case_of).collect()
}

fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn case_of(sample: &Value) -> Case {
    let talk = &sample["conversation"];
    let mut turns = Vec::new();
    for session in 1.. {
        let Some(said) = talk.get(format!("session_{session}")).and_then(Value::as_array) else {
            if session > 100 {
                break;
            }
            continue;
        };
        let time = spoken_time(&text_of(talk, &format!("session_{session}_date_time")));
        turns.extend(said.iter().map(|turn| Turn {
            id: text_of(turn, "dia_id"),
            author: text_of(turn, "speaker"),
            time,
            text:
                format!("{}\n{}", text_of(turn, "text"), text_of(turn, "blip_caption")).trim_end().to_owned(),
        }));
    }
    let questions = sample["qa"].as_array().into_iter().flatten().map(|question| Question {
        text: text_of(question, "question"),
        category: question["category"].to_string(),
        evidence: question["evidence"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
    });
    Case { turns, questions: questions.collect() }
}
