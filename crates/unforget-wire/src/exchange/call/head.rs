//! The parts of a body beside the history: instructions, tools, the form of the answer.

use std::borrow::Cow;
use std::ops::Range;

use unforget_core::digest::Digest;

use crate::json::{Object, Value, unescape};

/// Fields whose JSON the model sees in some form.
const SEEN: [&str; 4] = ["tools", "functions", "response_format", "output_format"];

/// Text that counts as input, by its place in the body.
#[derive(Clone, Debug)]
pub(super) enum Fixed {
    /// Inside of a JSON string.
    Text(Range<usize>),
    /// Plain JSON.
    Json(Range<usize>),
}

impl Fixed {
    fn of(value: Value<'_>) -> Self {
        let range = value.range();
        if value.is_str() {
            Self::Text(range.start + 1..range.end.saturating_sub(1))
        } else {
            Self::Json(range)
        }
    }

    /// The text in its body.
    pub(super) fn text<'a>(&self, body: &'a str) -> Cow<'a, str> {
        match self {
            Self::Text(range) => unescape(body.get(range.clone()).unwrap_or_default()),
            Self::Json(range) => Cow::Borrowed(body.get(range.clone()).unwrap_or_default()),
        }
    }
}

/// The fixed parts of a body.
#[derive(Default)]
pub(super) struct RequestHead {
    /// All text that counts as input.
    pub(super) fixed: Vec<Fixed>,
    /// Digests of the texts of the instructions.
    pub(super) system: Vec<Digest>,
}

impl RequestHead {
    /// * `leading` - the leading messages with instructions.
    pub(super) fn of(body: Object<'_>, leading: &[Value<'_>]) -> Self {
        let mut head = Self::default();
        for key in ["system", "instructions"] {
            head.instructions(body.get(key));
        }
        for message in leading.iter().filter_map(|message| message.obj()) {
            head.instructions(message.get("content"));
            head.fixed.extend(message.get("tools").map(Fixed::of));
        }
        let nested = [("text", "format"), ("output_config", "format")];
        let nested = nested.into_iter().filter_map(|(key, inner)| body.obj(key)?.get(inner));
        let seen = SEEN.into_iter().filter_map(|key| body.get(key)).chain(nested);
        head.fixed.extend(seen.filter(|value| !value.is_null()).map(Fixed::of));
        head
    }

    /// Takes instructions inside the history. They count as input, but say nothing about the purpose of a call.
    pub(super) fn stand(&mut self, standing: &[Value<'_>]) {
        let told = self.system.len();
        for message in standing.iter().filter_map(|message| message.obj()) {
            self.instructions(message.get("content"));
            self.fixed.extend(message.get("tools").map(Fixed::of));
        }
        self.system.truncate(told);
    }

    /// Takes a string or a list of parts: the text of text parts, the JSON of the others.
    fn instructions(&mut self, value: Option<Value<'_>>) {
        let Some(value) = value else { return };
        let whole = value.is_str().then_some(value);
        for part in whole.into_iter().chain(value.items()) {
            let words = if part.is_str() { Some(part) } else { part.obj().and_then(|part| part.get("text")) };
            let words = words.filter(|words| words.is_str());
            self.fixed.push(Fixed::of(words.unwrap_or(part)));
            self.system.extend(words.and_then(Value::str).map(|text| Digest::of(text.as_bytes())));
        }
    }
}

/// Digest of the sorted names of the tools in any dialect; `None` without tools.
pub(super) fn tools(body: Object<'_>) -> Option<Digest> {
    let listed = body.items("tools").chain(body.items("functions")).filter_map(Value::obj);
    let mut names: Vec<String> = listed.map(name).collect();
    names.sort_unstable();
    // The lengths keep different lists of names apart.
    let texts: Vec<String> = names.iter().map(|name| format!("{}:{name}", name.len())).collect();
    (!names.is_empty()).then(|| Digest::of(texts.concat().as_bytes()))
}

/// The name of a tool; its type if the provider runs it.
fn name(tool: Object<'_>) -> String {
    let inner = tool.obj("function").or_else(|| tool.obj("custom")).unwrap_or(tool);
    let name = inner.string("name").or_else(|| tool.string("server_label"));
    name.or_else(|| tool.string("type")).unwrap_or_default()
}
