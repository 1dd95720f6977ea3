//! The tools and their parameters: one table provides the schemas for clients and checks their arguments.

use serde_json::{Map, Value, json};
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;

use super::trouble::Trouble;

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Search,
    Grep,
    Describe,
    Expand,
    Pack,
    Answer,
    Reject,
}

/// Tokens of a page: minimum, default, maximum.
pub(super) const PAGE: (u64, u64, u64) = (300, 3_000, 20_000);

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Takes {
    /// A non-empty text of at most this many bytes.
    Text(usize),
    Flag,
    Tokens,
    Time,
    Role,
    /// At most this many names.
    Names(usize),
}

struct Parameter {
    name: &'static str,
    takes: Takes,
    is_needed: bool,
    about: &'static str,
}

const fn needs(name: &'static str, most: usize, about: &'static str) -> Parameter {
    Parameter { name, takes: Takes::Text(most), is_needed: true, about }
}

const fn may(name: &'static str, takes: Takes, about: &'static str) -> Parameter {
    Parameter { name, takes, is_needed: false, about }
}

const NAME_MAX: usize = 1_000;
/// Most names per question.
const NAMES_MAX: usize = 64;
const CONVERSATION: Parameter = may("conversation", Takes::Text(NAME_MAX), "only this one");
const CURSOR: Parameter = may("cursor", Takes::Text(100), "from the page before");
const TOKENS: Parameter = may("tokens", Takes::Tokens, "size of a page");
const SINCE: Parameter = may("since", Takes::Time, "2026-03-02 or 2026-03-02T09:00Z");
const UNTIL: Parameter = may("until", Takes::Time, "before this time");

impl Tool {
    pub(super) const ALL: [Self; 7] =
        [Self::Search, Self::Grep, Self::Describe, Self::Expand, Self::Pack, Self::Answer, Self::Reject];

    /// Whether it changes nothing.
    pub(super) const fn is_read_only(self) -> bool {
        !matches!(self, Self::Reject)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Grep => "grep",
            Self::Describe => "describe",
            Self::Expand => "expand",
            Self::Pack => "pack",
            Self::Answer => "answer",
            Self::Reject => "reject",
        }
    }

    pub(super) const fn about(self) -> &'static str {
        match self {
            Self::Search => "Find entries of past conversations by words or a question, best first.",
            Self::Grep => "Find a regular expression in every stored byte, newest first.",
            Self::Describe => "Say what a name stands for. Without a name: list conversations.",
            Self::Expand => {
                "Read what a name stands for, word for word, page by page. Many entries begin with a page that outlines them."
            }
            Self::Pack => "Get what is known of a question as cited statements and passages, within tokens.",
            Self::Answer => {
                "Answer a question from past conversations, with sources: by a model, or by statements of entries."
            }
            Self::Reject => {
                "Record that an entry, or words of an entry or summary, are wrong or superseded: they stay stored and are no \
                 longer recalled as true. Only after you checked it, or a person said so. It can be taken back."
            }
        }
    }

    const fn parameters(self) -> &'static [Parameter] {
        const NAME: &str = "e:KEY:12, e:KEY:12-40, sum:… or a conversation";
        match self {
            Self::Search => {
                &const {
                    [
                        needs("query", 4_000, "any text"),
                        CONVERSATION,
                        may("role", Takes::Role, "who speaks"),
                        SINCE,
                        UNTIL,
                        TOKENS,
                        CURSOR,
                    ]
                }
            }
            Self::Grep => {
                &const {
                    [
                        needs("pattern", 2_000, "linear time; no look-around"),
                        may("ignore_case", Takes::Flag, "a is A"),
                        CONVERSATION,
                        TOKENS,
                        CURSOR,
                    ]
                }
            }
            Self::Describe => {
                &const { [may("name", Takes::Text(NAME_MAX), NAME), CONVERSATION, TOKENS, CURSOR] }
            }
            Self::Expand => &const { [needs("name", NAME_MAX, NAME), CONVERSATION, TOKENS, CURSOR] },
            Self::Pack => &const { [needs("question", 8_000, "a question, or words"), CONVERSATION, TOKENS] },
            Self::Answer => {
                &const {
                    [
                        needs("question", 8_000, "a whole question"),
                        may("from", Takes::Names(NAMES_MAX), "names to read first"),
                        CONVERSATION,
                    ]
                }
            }
            Self::Reject => {
                &const {
                    [
                        needs("name", NAME_MAX, "e:KEY:12, or sum:… with line"),
                        needs("why", 2_000, "the reason, with its evidence"),
                        may("line", Takes::Text(2_000), "only these words, as they stand there"),
                        may("instead", Takes::Text(NAME_MAX), "the entry that holds now"),
                    ]
                }
            }
        }
    }

    /// The tool with this name.
    pub(super) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// Its parameters, as JSON Schema.
    pub(super) fn schema(self) -> Map<String, Value> {
        let properties = self.parameters().iter().map(|one| (one.name.to_owned(), one.schema()));
        let needed: Vec<_> =
            self.parameters().iter().filter(|one| one.is_needed).map(|one| one.name).collect();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), json!("object"));
        schema.insert("properties".to_owned(), Value::Object(properties.collect()));
        if !needed.is_empty() {
            schema.insert("required".to_owned(), json!(needed));
        }
        schema
    }

    /// Its parameters for a client with a single conversation.
    pub(super) fn schema_of_one(self) -> Map<String, Value> {
        let mut schema = self.schema();
        if let Some(Value::Object(properties)) = schema.get_mut("properties") {
            properties.remove(CONVERSATION.name);
        }
        schema
    }

    /// Checks a client's arguments. Null means a missing argument.
    pub(super) fn arguments(self, sent: Option<Map<String, Value>>) -> Result<Arguments, Trouble> {
        let mut sent = sent.unwrap_or_default();
        sent.retain(|_, value| !value.is_null());
        let known = |name: &str| self.parameters().iter().any(|one| one.name == name);
        if let Some(unknown) = sent.keys().find(|name| !known(name)) {
            let names: Vec<_> = self.parameters().iter().map(|one| one.name).collect();
            let what = format!("{} has no parameter {:?}", self.name(), clipped(unknown));
            return Err(Trouble::new(what, format!("it has {}", names.join(", "))));
        }
        for one in self.parameters() {
            match sent.get(one.name) {
                Some(value) => one.check(value)?,
                None if one.is_needed => {
                    let what = format!("{} needs `{}`", self.name(), one.name);
                    return Err(Trouble::new(what, format!("give it: {}", one.about)));
                }
                None => {}
            }
        }
        Ok(Arguments(sent))
    }
}

impl Parameter {
    fn schema(&self) -> Value {
        let about = self.about;
        match self.takes {
            Takes::Text(_) | Takes::Time => json!({ "type": "string", "description": about }),
            Takes::Flag => json!({ "type": "boolean", "description": about }),
            Takes::Names(_) => {
                json!({ "type": "array", "items": { "type": "string" }, "description": about })
            }
            Takes::Tokens => {
                let (least, usual, most) = PAGE;
                json!({ "type": "integer", "minimum": least, "maximum": most, "default": usual, "description": about })
            }
            Takes::Role => json!({ "type": "string", "enum": ROLES.map(Role::name), "description": about }),
        }
    }

    fn check(&self, value: &Value) -> Result<(), Trouble> {
        let (least, _, most) = PAGE;
        let text = |most: usize| value.as_str().is_some_and(|text| !text.is_empty() && text.len() <= most);
        let (is_good, takes) = match self.takes {
            Takes::Text(most) => (text(most), format!("a text of 1 to {most} bytes")),
            Takes::Flag => (value.is_boolean(), "true or false".to_owned()),
            Takes::Names(most) => {
                let is_name =
                    |one: &Value| one.as_str().is_some_and(|name| !name.is_empty() && name.len() <= NAME_MAX);
                let is_list =
                    value.as_array().is_some_and(|names| names.len() <= most && names.iter().all(is_name));
                (is_list, format!("a list of at most {most} names"))
            }
            Takes::Tokens => {
                let is_in = value.as_u64().is_some_and(|tokens| (least..=most).contains(&tokens));
                (is_in, format!("a whole number from {least} to {most}"))
            }
            Takes::Time => {
                let what =
                    "a day or a time in UTC, such as 2026-03-02, 2026-03-02T09:00 or 2026-03-02T09:00:00Z";
                (value.as_str().and_then(crate::json::time).is_some(), what.to_owned())
            }
            Takes::Role => {
                let is_role = value.as_str().and_then(role).is_some();
                (is_role, format!("one of {}", ROLES.map(Role::name).join(", ")))
            }
        };
        if is_good {
            return Ok(());
        }
        Err(Trouble::new(
            format!("`{}` cannot be {}", self.name, clipped(&value.to_string())),
            format!("give {takes}"),
        ))
    }
}

/// Checked arguments.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

impl Arguments {
    pub(super) fn text(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.as_str()
    }

    /// A required text.
    pub(super) fn needed(&self, name: &str) -> &str {
        self.text(name).unwrap_or_default()
    }

    /// A list of names; empty if missing.
    pub(super) fn names(&self, name: &str) -> Vec<String> {
        let list = self.0.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        list.iter().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    pub(super) fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(super) fn tokens(&self) -> u64 {
        self.0.get("tokens").and_then(Value::as_u64).unwrap_or(PAGE.1)
    }

    /// These arguments with pages limited to this many tokens.
    pub(super) fn within(mut self, most: u64) -> Self {
        let tokens = self.tokens().min(most);
        self.0.insert(TOKENS.name.to_owned(), json!(tokens));
        self
    }

    pub(super) fn time(&self, name: &str) -> Option<Timestamp> {
        self.text(name).and_then(crate::json::time)
    }

    pub(super) fn role(&self) -> Option<Role> {
        self.text("role").and_then(role)
    }
}

const ROLES: [Role; 4] = [Role::User, Role::Assistant, Role::Tool, Role::System];

fn role(name: &str) -> Option<Role> {
    ROLES.into_iter().find(|role| role.name() == name)
}

/// The start of a client's text, for a message.
fn clipped(text: &str) -> String {
    text.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
    use super::*;

    #[test]
    fn arguments_table() {
        let table = [
            (Tool::Search, json!({ "query": "a" }), "", "the least"),
            (Tool::Search, json!({ "query": "a", "cursor": null }), "", "null is nothing"),
            (Tool::Search, json!({}), "search needs `query`", "missing"),
            (Tool::Search, json!({ "query": null }), "search needs `query`", "null is missing"),
            (Tool::Search, json!({ "query": 7 }), "`query` cannot be 7", "a number"),
            (Tool::Search, json!({ "query": "" }), "`query` cannot be \"\"", "empty"),
            (Tool::Search, json!({ "query": "x".repeat(4_001) }), "`query` cannot be", "long"),
            (Tool::Search, json!({ "query": "a", "tokens": -1 }), "`tokens` cannot be -1", "negative"),
            (Tool::Search, json!({ "query": "a", "tokens": 1e300 }), "`tokens` cannot be", "huge"),
            (Tool::Search, json!({ "query": "a", "tokens": "500" }), "`tokens` cannot be \"500\"", "a text"),
            (Tool::Search, json!({ "query": "a", "since": "soon" }), "`since` cannot be", "no time"),
            (Tool::Search, json!({ "query": "a", "since": "2026-03-02" }), "", "a day"),
            (Tool::Search, json!({ "query": "a", "role": "boss" }), "`role` cannot be", "no role"),
            (
                Tool::Search,
                json!({ "query": "a", "limit": 3 }),
                "search has no parameter \"limit\"",
                "unknown",
            ),
            (
                Tool::Grep,
                json!({ "pattern": "(", "ignore_case": "yes" }),
                "`ignore_case` cannot be",
                "no flag",
            ),
            (Tool::Describe, json!({}), "", "nothing is needed"),
            (Tool::Expand, json!({ "name": ["s:1"] }), "`name` cannot be", "a list"),
            (Tool::Answer, json!({ "question": { "a": 1 } }), "`question` cannot be", "an object"),
            (Tool::Answer, json!({ "question": "a", "from": ["s:1", "sum:1"] }), "", "names"),
            (Tool::Answer, json!({ "question": "a", "from": [] }), "", "no names"),
            (Tool::Answer, json!({ "question": "a", "from": "s:1" }), "`from` cannot be \"s:1\"", "a text"),
            (
                Tool::Answer,
                json!({ "question": "a", "from": ["s:1", 7] }),
                "`from` cannot be",
                "a number in it",
            ),
            (Tool::Answer, json!({ "question": "a", "from": [""] }), "`from` cannot be", "an empty name"),
            (
                Tool::Answer,
                json!({ "question": "a", "from": ["x".repeat(1_001)] }),
                "`from` cannot be",
                "long",
            ),
            (Tool::Answer, json!({ "question": "a", "from": vec!["s:1"; 65] }), "`from` cannot be", "many"),
            (
                Tool::Search,
                json!({ "query": "a", "from": ["s:1"] }),
                "search has no parameter \"from\"",
                "not its",
            ),
        ];
        for (tool, sent, want, why) in table {
            let told = tool
                .arguments(sent.as_object().cloned())
                .err()
                .map(|trouble| trouble.text())
                .unwrap_or_default();
            assert!(told.starts_with(want) && told.is_empty() == want.is_empty(), "{why}: {told}");
        }
    }
}
