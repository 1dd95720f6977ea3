//! References of a body to things that a provider stores under ids, beside answers and conversations.

use std::borrow::Cow;

use super::Call;
use crate::json::{Object, Tape, Value};

/// Fields that hold the client's own data or schemas: ids inside them are no references.
const THEIRS: [&str; 6] = ["arguments", "input_schema", "json_schema", "metadata", "parameters", "schema"];

impl Call<'_> {
    /// The first id in the body that the provider would look up: of an item, a file, a container, a vector store, or a
    /// stored prompt. Ids inside answers, such as the file of a citation, are not looked up.
    ///
    /// Cost: one pass over the body.
    ///
    /// Source: OpenAI's and Anthropic's API references, 2026-11.
    pub fn kept(&self) -> Option<String> {
        let mut tape = Tape::default();
        tape.read(self.text.as_bytes()).ok()?;
        let body = tape.value(self.text)?;
        let call = body.obj()?;
        let of_call = id(call, "container").or_else(|| id(call, "prompt"));
        of_call.or_else(|| call.items("input").find_map(bare)).or_else(|| within(body))
    }
}

/// The first such id in a value, at any depth.
fn within(value: Value<'_>) -> Option<String> {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        if let Some(object) = value.obj() {
            if let Some(id) = named(object) {
                return Some(id);
            }
            // A call's input is a list or a text, a tool's input an object.
            let is_theirs = |name: &str, value: Value<'_>| {
                THEIRS.contains(&name) || (name == "input" && value.obj().is_some())
            };
            let fields = object.fields().filter(|(name, value)| !is_theirs(name, *value));
            open.extend(fields.map(|(_, value)| value));
        }
        open.extend(value.items());
    }
    None
}

/// The id of an input item that is only a reference: references may leave out their type.
fn bare(item: Value<'_>) -> Option<String> {
    let item = item.obj()?;
    if item.has("type") || item.has("role") { None } else { id(item, "id") }
}

/// The id in a block, an item or a tool.
fn named(object: Object<'_>) -> Option<String> {
    match object.str("type")?.as_ref() {
        "item_reference" => id(object, "id"),
        "input_file" | "input_image" | "container_upload" => id(object, "file_id"),
        "file" => id(object, "file_id").or_else(|| id(object.obj("file")?, "file_id")),
        "file_search" => first(object, "vector_store_ids"),
        "code_interpreter" => id(object, "container").or_else(|| first(object.obj("container")?, "file_ids")),
        _ => None,
    }
}

/// A field that is an id, or an object with one.
fn id(object: Object<'_>, field: &str) -> Option<String> {
    let told = object.string(field).or_else(|| object.obj(field)?.string("id"));
    told.filter(|id| !id.is_empty())
}

fn first(object: Object<'_>, field: &str) -> Option<String> {
    object.items(field).find_map(|id| id.str().map(Cow::into_owned))
}
