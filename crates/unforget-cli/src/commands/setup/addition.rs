//! What is added to the files of an agent, and how it is taken out again. Pure: texts in, texts out.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{json_text, toml_text};

/// Something that is added to a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub(super) enum Addition {
    /// A member of an object in a JSON file.
    Member {
        /// Keys on the way to the object.
        path: Vec<String>,
        /// Its key.
        key: String,
        /// Its value.
        value: Value,
    },
    /// An element of an array in a JSON file.
    Element {
        /// Keys on the way to the array.
        path: Vec<String>,
        /// The element.
        value: Value,
    },
    /// A table of a TOML file.
    Table {
        /// Keys on the way to the table.
        path: Vec<String>,
        /// Its header and its lines.
        block: String,
    },
    /// A whole file.
    Whole {
        /// Its text.
        text: String,
    },
}

/// The text of a file with an addition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WithAddition {
    /// The text with the addition, which the file may have had before.
    Put(String),
    /// Something else stands in its place, which a person or another program put there.
    Other,
}

impl Addition {
    /// The text of a file with the addition.
    ///
    /// * `text` - the text of the file; `None` if there is no such file.
    ///
    /// # Errors
    /// What is wrong with the text, with its place.
    pub(super) fn put_into(&self, text: Option<&str>) -> Result<WithAddition, String> {
        match self {
            Self::Member { path, key, value } => {
                let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
                let read = json_text::check(text)?;
                let path = names(path);
                let there = json_text::at(&read, &path).and_then(|object| object.get(key));
                match there {
                    Some(there) if there == value => Ok(WithAddition::Put(text.to_owned())),
                    Some(_) => Ok(WithAddition::Other),
                    None => proved(json_text::put_member(text, &path, key, value)?),
                }
            }
            Self::Element { path, value } => {
                let text = text.filter(|text| !text.trim().is_empty()).unwrap_or("{}\n");
                let read = json_text::check(text)?;
                let path = names(path);
                let there = json_text::at(&read, &path).and_then(Value::as_array);
                if there.is_some_and(|there| there.contains(value)) {
                    return Ok(WithAddition::Put(text.to_owned()));
                }
                proved(json_text::put_element(text, &path, value)?)
            }
            Self::Table { path, block } => {
                let text = text.unwrap_or_default();
                let read = toml_text::check(text)?;
                if toml_text::at(&read, &names(path)).is_some() {
                    let is_ours = text.contains(block.as_str());
                    return Ok(if is_ours {
                        WithAddition::Put(text.to_owned())
                    } else {
                        WithAddition::Other
                    });
                }
                let put = toml_text::put(text, block);
                toml_text::check(&put)
                    .map_err(|_| format!("{} cannot take another table", path.join(".")))?;
                Ok(WithAddition::Put(put))
            }
            Self::Whole { text: wanted } => Ok(match text {
                Some(text) if text != wanted => WithAddition::Other,
                _ => WithAddition::Put(wanted.clone()),
            }),
        }
    }

    /// The text of a file without the addition; `None` if nothing is left of the file. Objects and arrays that are empty then go
    /// too, unless the original had them.
    ///
    /// * `original` - the text of the file before anything was added; `None` if there was no such file.
    pub(super) fn take_from(&self, text: &str, original: Option<&str>) -> Option<String> {
        match self {
            Self::Member { path, key, .. } => {
                let path = names(path);
                Some(swept(json_text::take_member(text, &path, key), &path, original))
            }
            Self::Element { path, value } => {
                let path = names(path);
                Some(swept(json_text::take_element(text, &path, value), &path, original))
            }
            Self::Table { block, .. } => Some(toml_text::take(text, block)),
            Self::Whole { text: wanted } => (text != wanted).then(|| text.to_owned()),
        }
    }
}

fn names(path: &[String]) -> Vec<&str> {
    path.iter().map(String::as_str).collect()
}

/// A JSON text that still can be read: an edit that breaks a file is never written.
fn proved(text: String) -> Result<WithAddition, String> {
    json_text::check(&text).map_err(|error| format!("the edited text cannot be read: {error}"))?;
    Ok(WithAddition::Put(text))
}

/// The text without empty objects and arrays at the end of a path, as far as the original does not have them.
fn swept(mut text: String, path: &[&str], original: Option<&str>) -> String {
    let original = original.and_then(|original| json_text::check(original).ok());
    for depth in (1..=path.len()).rev() {
        let Some((key, before)) =
            path.get(..depth).and_then(<[&str]>::split_last).map(|(key, before)| (*key, before))
        else {
            break;
        };
        let Ok(read) = json_text::check(&text) else { break };
        let here = path.get(..depth).unwrap_or_default();
        let is_empty = json_text::at(&read, here).is_some_and(|value| match value {
            Value::Object(members) => members.is_empty(),
            Value::Array(elements) => elements.is_empty(),
            _ => false,
        });
        let was_there = original.as_ref().is_some_and(|original| json_text::at(original, here).is_some());
        if !is_empty || was_there {
            break;
        }
        text = json_text::take_member(&text, before, key);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn hook() -> Addition {
        let path = vec!["hooks".to_owned(), "SessionEnd".to_owned()];
        Addition::Element { path, value: json!({"hooks": [{"type": "command", "command": "unforget"}]}) }
    }

    fn server() -> Addition {
        let (path, key) = (vec!["mcpServers".to_owned()], "unforget".to_owned());
        Addition::Member { path, key, value: json!({"command": "unforget", "args": ["mcp"]}) }
    }

    fn put(addition: &Addition, text: Option<&str>) -> String {
        match addition.put_into(text).unwrap() {
            WithAddition::Put(text) => text,
            WithAddition::Other => panic!("another one is there"),
        }
    }

    #[test]
    fn what_is_put_in_twice_is_there_once_and_comes_out_whole() {
        for text in
            ["{}", "{\n  \"theme\": \"dark\"\n}\n", "{\"hooks\":{\"SessionEnd\":[]},\"mcpServers\":{}}"]
        {
            let once = put(&server(), Some(&put(&hook(), Some(text))));
            assert_eq!(put(&server(), Some(&put(&hook(), Some(&once)))), once, "put in twice");
            let out = hook().take_from(&server().take_from(&once, Some(text)).unwrap(), Some(text)).unwrap();
            let (out, text): (Value, Value) =
                (serde_json::from_str(&out).unwrap(), serde_json::from_str(text).unwrap());
            assert_eq!(out, text);
        }
    }

    #[test]
    fn what_others_put_there_stays() {
        let theirs = "{\"mcpServers\": {\"unforget\": {\"command\": \"mine\"}}}";
        assert_eq!(server().put_into(Some(theirs)), Ok(WithAddition::Other));
        assert!(hook().put_into(Some("{\"hooks\": [")).is_err());
        assert!(hook().put_into(Some("{\"hooks\": []}")).is_err(), "hooks of another shape");
        let whole = Addition::Whole { text: "ours".to_owned() };
        assert_eq!(whole.put_into(Some("theirs")), Ok(WithAddition::Other));
        assert_eq!(whole.take_from("theirs", None).as_deref(), Some("theirs"));
        assert_eq!(whole.take_from("ours", None), None);
    }
}
