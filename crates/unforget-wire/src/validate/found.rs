//! Violations found so far, and checks that several dialects share.

use serde_json::Value;

use super::media::Seen;
use super::{Checks, Violation, blank, name_char, rules};
use crate::dialect::Dialect;

/// Longest string that OpenAI accepts, in bytes.
const TEXT_BYTES_MAX: usize = 10_485_760;

/// Violations found so far.
pub(super) struct FoundViolations {
    all: Vec<Violation>,
    /// The rules to check.
    pub(super) checks: Checks,
    /// Media so far.
    pub(super) media: Seen,
    /// Whether a call or a result has occurred.
    pub(super) tools_used: bool,
}

impl FoundViolations {
    /// No violations yet.
    pub(super) fn new(checks: Checks) -> Self {
        Self { all: Vec::new(), checks, media: Seen::default(), tools_used: false }
    }

    /// The dialect of the body.
    pub(super) fn dialect(&self) -> Dialect {
        self.checks.target.dialect
    }

    /// Reports a violation, if the table has the rule for the dialect.
    pub(super) fn add(&mut self, rule: &'static str, place: impl Into<String>, what: impl Into<String>) {
        if rules::applies(rule, self.dialect()) {
            self.all.push(Violation { rule, place: place.into(), what: what.into() });
        }
    }

    /// Reports unless `holds`.
    pub(super) fn want(&mut self, holds: bool, rule: &'static str, place: &str, what: &str) {
        if !holds {
            self.add(rule, place, what);
        }
    }

    /// The verdict.
    pub(super) fn finish(self) -> Result<(), Vec<Violation>> {
        if self.all.is_empty() { Ok(()) } else { Err(self.all) }
    }

    /// The size of the whole request, in bytes.
    pub(super) fn body_size(&mut self, bytes: usize) {
        let megabytes = match self.dialect() {
            Dialect::Anthropic | Dialect::Pi => 32,
            Dialect::OpenAiChat | Dialect::OpenAiResponses => 50,
            Dialect::Gemini => 20,
            Dialect::BedrockConverse => 25,
        };
        self.want(bytes <= megabytes * 1_000_000, "request-size", "", "the request is too large");
    }

    /// Reports the parser's error for a body that is no JSON.
    pub(super) fn no_json(&mut self, error: &str) {
        let rule = if error.contains("surrogate") || error.contains("unexpected end of hex escape") {
            "surrogate"
        } else if error.contains("recursion limit") {
            "depth"
        } else {
            "json"
        };
        self.add(rule, String::new(), error);
    }

    /// Checks text that a provider refuses if it is empty.
    pub(super) fn text(&mut self, value: Option<&Value>, place: &str) {
        match value.and_then(Value::as_str) {
            None => self.add("content-shape", place, "text is missing or no string"),
            Some(text) if blank(text) => self.add("text-not-blank", place, "text is empty or white space"),
            Some(text) => self.text_size(text, place),
        }
    }

    /// Checks the size of any text, empty or not.
    pub(super) fn text_size(&mut self, text: &str, place: &str) {
        self.want(text.len() <= TEXT_BYTES_MAX, "text-length", place, "text is too long");
    }

    /// Checks instructions: text that is not empty.
    pub(super) fn instructions(&mut self, text: Option<&str>, place: &str) {
        let good = text.is_some_and(|text| !blank(text));
        self.want(good, "instructions", place, "system text has another form, or is blank");
    }

    /// Checks that a value has only these fields.
    pub(super) fn fields(&mut self, value: &Value, known: &[&str], place: &str) {
        let Some(members) = value.as_object() else {
            return self.add("content-shape", place, "not an object");
        };
        for key in members.keys().filter(|key| !known.contains(&key.as_str())) {
            self.add("extra-field", place, format!("field {key:?} is not known"));
        }
    }

    /// Checks a call id: characters and length.
    pub(super) fn call_id(&mut self, id: &str, longest: usize, place: &str) {
        let legal = !id.is_empty() && id.len() <= longest && id.chars().all(name_char);
        self.want(legal, "call-id", place, "call id has a character or length that the provider refuses");
    }

    /// Checks a tool's name.
    pub(super) fn tool_name(&mut self, name: Option<&str>, place: &str) {
        let legal = name.is_some_and(|name| self.is_tool_name(name));
        self.want(legal, "tool-name", place, "tool name has a character or length that the provider refuses");
    }

    /// Whether the dialect accepts a tool of this name.
    pub(super) fn is_tool_name(&self, name: &str) -> bool {
        let legal = (1..=64).contains(&name.len()) && name.chars().all(name_char);
        match self.dialect() {
            Dialect::Pi => !name.is_empty(),
            Dialect::Gemini => {
                let start = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                start && name.len() <= 64 && name.chars().all(|c| name_char(c) || c == '.' || c == ':')
            }
            _ => legal,
        }
    }

    /// Checks a string that must hold a JSON object.
    pub(super) fn arguments(&mut self, value: Option<&Value>, place: &str) {
        let object = value
            .and_then(Value::as_str)
            .is_some_and(|text| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object()));
        self.want(object, "arguments", place, "arguments are no string that holds a json object");
    }
}
