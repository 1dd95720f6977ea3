//! The gateway's own tools in a client's call.

use super::call::{Call, TOOLS_ITEM};
use super::quoted;
use crate::Dialect;
use crate::edit::Edit;
use crate::json::{Object, Tape, Value};

/// A tool offered to a model beside the client's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// A description of its purpose.
    pub about: &'static str,
    /// Its parameters: a JSON Schema.
    pub schema: String,
}

impl Offer {
    /// The tool in the dialect's form.
    pub fn json(&self, dialect: Dialect) -> String {
        let (name, about, schema) = (quoted(&self.name), quoted(self.about), &self.schema);
        match dialect {
            Dialect::Anthropic => {
                format!(r#"{{"name":{name},"description":{about},"input_schema":{schema}}}"#)
            }
            Dialect::OpenAiResponses => format!(
                r#"{{"type":"function","name":{name},"description":{about},"parameters":{schema},"strict":false}}"#
            ),
            _ => format!(
                r#"{{"type":"function","function":{{"name":{name},"description":{about},"parameters":{schema}}}}}"#
            ),
        }
    }
}

impl Call<'_> {
    /// Whether our tools may be offered in this call. An error says why not.
    ///
    /// * `prefix` - of our tools' names. A client with tools of such names has our tools from elsewhere.
    ///
    /// Cost: reads the body again.
    pub fn takes_offers(&self, prefix: &str) -> Result<(), &'static str> {
        let mut tape = Tape::default();
        tape.read(self.text().as_bytes()).ok();
        let body = tape.value(self.text()).and_then(Value::obj).ok_or("the body is no object")?;
        if self.tools_in(body).is_none() {
            return Err("the client has no tools of its own");
        }
        // A streamed name may still become one of ours as long as it is a prefix of one.
        let is_ours = |name: &str| !name.is_empty() && (name.starts_with(prefix) || prefix.starts_with(name));
        if names(body).any(|name| is_ours(&name)) {
            return Err("the client has tools with these names");
        }
        let choice = body.get("tool_choice").filter(|choice| !choice.is_null());
        if choice.is_some_and(|choice| !is_free_choice(choice)) {
            return Err("the client says which tools may be called");
        }
        match self.dialect {
            Dialect::OpenAiChat if body.i64("n").is_some_and(|n| n != 1) => Err("several answers are wanted"),
            Dialect::OpenAiResponses if self.hints.store != Some(false) || self.hints.is_partial() => {
                Err("the provider keeps the answer")
            }
            Dialect::OpenAiResponses if body.bool("background") == Some(true) => {
                Err("the answer is made in the background")
            }
            _ => Ok(()),
        }
    }

    /// The edits that append our tools to the client's.
    pub fn offer_edits(&self, offers: &[Offer]) -> Vec<Edit> {
        let mut tape = Tape::default();
        tape.read(self.text().as_bytes()).ok();
        let body = tape.value(self.text()).and_then(Value::obj);
        let empty = || body?.get("tools").filter(|tools| tools.is_array());
        let Some(tools) = body.and_then(|body| self.tools_in(body)).or_else(empty) else { return Vec::new() };
        let all: Vec<String> = offers.iter().map(|offer| offer.json(self.dialect)).collect();
        let comma = if tools.items().next().is_some() { "," } else { "" };
        let end = tools.range().end.saturating_sub(1);
        vec![Edit { range: end..end, text: format!("{comma}{}", all.join(",")) }]
    }

    /// The list of the client's tools: the body's, or that of an item before its messages, where Codex sends the tools
    /// for newer models.
    fn tools_in<'t>(&self, body: Object<'t>) -> Option<Value<'t>> {
        let is_some = |tools: &Value<'t>| tools.is_array() && tools.items().next().is_some();
        let in_head = |item: &Value<'t>| self.head.contains(&item.range());
        let items = body.items("input").filter(in_head).filter_map(Value::obj);
        let mut of_items =
            items.filter(|item| item.is("type", TOOLS_ITEM)).filter_map(|item| item.get("tools"));
        body.get("tools").filter(is_some).or_else(|| of_items.find(is_some))
    }
}

/// Whether the model may choose between tools and words.
fn is_free_choice(choice: Value<'_>) -> bool {
    match choice.obj() {
        Some(choice) => choice.is("type", "auto"),
        None => choice.str().is_some_and(|choice| choice == "auto"),
    }
}

/// Names of all tools of a body, including those in its history.
fn names(body: Object<'_>) -> impl Iterator<Item = String> {
    let inside = body.items("input").filter_map(Value::obj).flat_map(|item| item.items("tools"));
    let all = body.items("tools").chain(inside).filter_map(Value::obj);
    all.filter_map(|tool| tool.obj("function").or_else(|| tool.obj("custom")).unwrap_or(tool).string("name"))
}
