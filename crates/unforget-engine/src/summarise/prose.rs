//! The words of a model's sections without their JSON form, as input of the gates.

use serde_json::Value;

/// Fields whose text appears in a summary.
const SHOWN: [&str; 3] = ["title", "text", "author"];

/// The words of a text in the requested form, one value per line; the text itself if it has another form.
pub(super) fn prose(text: &str) -> String {
    let inside = text.trim().strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let inside = inside.and_then(|rest| rest.split_once('\n')).map_or(text, |(_, json)| json);
    match serde_json::from_str::<Value>(inside) {
        Ok(value @ Value::Object(_)) => {
            let mut words = Vec::new();
            gather(&value, &mut words);
            words.join("\n")
        }
        _ => text.to_owned(),
    }
}

/// The parser bounds the depth.
fn gather(value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| gather(item, words)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if SHOWN.contains(&name.as_str()) => words.push(text.clone()),
                    other => gather(other, words),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_table() {
        let table = [
            (
                r#"{"title":"a","goal":[{"text":"b","seqs":[1],"author":"c"}]}"#,
                "c\nb\na",
                "fields that are shown",
            ),
            ("```json\n{\"title\":\"a\"}\n```", "a", "in a fence"),
            (
                r#"{"merge":[{"items":["goal.1"],"text":"b"}],"drop":["actions.2"]}"#,
                "b",
                "names are no words",
            ),
            ("I cannot do that.", "I cannot do that.", "no form at all"),
            ("[1]", "[1]", "another form"),
        ];
        for (text, want, why) in table {
            let sorted = |text: &str| {
                let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
                lines.sort();
                lines
            };
            assert_eq!(sorted(&prose(text)), sorted(want), "{why}");
        }
    }
}
