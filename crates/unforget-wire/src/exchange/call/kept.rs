//! References of a body to things that a provider stores under ids, beside answers and conversations.
//!
//! The list names allowed shapes. Providers add new kinds of references, and an unknown kind is refused until it has a row
//! here.

use std::borrow::Cow;

use super::{Call, object_of, text_of};
use crate::json::{Object, Tape, Value};

/// Fields that hold the client's own data or schemas: ids inside them are no references.
const THEIRS: [&str; 6] = ["arguments", "input_schema", "json_schema", "metadata", "parameters", "schema"];

/// Fields of the whole body that are checked by their own rules.
const OF_BODY: [&str; 2] = ["conversation", "previous_response_id"];

/// Fields that connect the parts of one body.
const WITHIN: [&str; 5] =
    ["approval_request_id", "call_id", "previous_message_id", "tool_call_id", "tool_use_id"];

/// Types of items and blocks that have an id of their own.
const ITEMS: [&str; 29] = [
    "additional_tools",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "computer_call",
    "computer_call_output",
    "custom",
    "custom_tool_call",
    "custom_tool_call_output",
    "file_search_call",
    "function",
    "function_call",
    "function_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "mcp_tool_use",
    "message",
    "reasoning",
    "server_tool_use",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_use",
    "web_search_call",
];

/// Ids inside answers, which no provider looks up, and public names: type and field.
const TOLD: [(&str, &str); 8] = [
    ("anthropic", "skill_id"),
    ("bash_code_execution_output", "file_id"),
    ("code_execution_output", "file_id"),
    ("container_file_citation", "container_id"),
    ("container_file_citation", "file_id"),
    ("file_citation", "file_id"),
    ("file_path", "file_id"),
    ("mcp", "connector_id"),
];

impl Call<'_> {
    /// The first id in the body that the provider may look up: see [`kept_in`].
    pub fn kept(&self) -> Option<String> {
        kept_in(self.text.as_bytes())
    }
}

/// The first id in a body that the provider may look up: of an item, a file, a container, a vector store, a skill, or
/// anything else that is not known to be the body's own. `None` also for what is no JSON object.
///
/// Cost: one pass over the body.
///
/// Source: OpenAI's and Anthropic's API references, 2026-11.
pub fn kept_in(body: &[u8]) -> Option<String> {
    let mut tape = Tape::default();
    let text = text_of(body).ok()?;
    let call = object_of(&mut tape, text).ok()?;
    let own = call.fields().filter(|(name, _)| !OF_BODY.contains(&name.as_ref()));
    let mut open: Vec<Value<'_>> = Vec::new();
    for (name, value) in own {
        if let Some(id) = reference(call, &name, value) {
            return Some(id);
        }
        open.extend(Some(value).filter(|value| !is_theirs(&name, *value)));
    }
    // Depth-first and in no particular order: any reference is one too many.
    while let Some(value) = open.pop() {
        if let Some(object) = value.obj() {
            for (name, value) in object.fields() {
                if let Some(id) = reference(object, &name, value) {
                    return Some(id);
                }
                open.extend(Some(value).filter(|value| !is_theirs(&name, *value)));
            }
        }
        open.extend(value.items());
    }
    None
}

/// A call's input is a list or a text, a tool's input an object.
fn is_theirs(name: &str, value: Value<'_>) -> bool {
    THEIRS.contains(&name) || (name == "input" && value.obj().is_some())
}

/// The id in a field of an object, unless it is known to name nothing that is stored.
fn reference(object: Object<'_>, name: &str, value: Value<'_>) -> Option<String> {
    let is_naming = matches!(name, "id" | "container") || name.ends_with("_id") || name.ends_with("_ids");
    if !is_naming || is_own(object, name) {
        return None;
    }
    let mut ids = value.str().into_iter().chain(value.items().filter_map(Value::str));
    ids.find(|id| !id.is_empty()).map(Cow::into_owned)
}

fn is_own(object: Object<'_>, name: &str) -> bool {
    if WITHIN.contains(&name) {
        return true;
    }
    let Some(kind) = object.str("type") else {
        // A message may leave out its type.
        return name == "id" && object.has("role");
    };
    match (kind.as_ref(), name) {
        // Without its result it is a reference to a stored picture.
        ("image_generation_call", "id") => object.str("result").is_some_and(|result| !result.is_empty()),
        (kind, "id") => ITEMS.contains(&kind),
        (kind, name) => TOLD.contains(&(kind, name)),
    }
}
