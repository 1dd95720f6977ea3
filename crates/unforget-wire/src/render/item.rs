//! Items of OpenAI Responses that are sent back unchanged.

use std::collections::BTreeSet;

use unforget_core::entry::{Entry, Part, ToolCall};

use super::json::is_object;
use super::reasoning::Thinking;
use crate::annotations;
use crate::dialect::Dialect;
use crate::edit::{Edit, cut_fields, edited};
use crate::format::openai_responses;
use crate::json::{Object, Tape, Value};
use crate::target::Target;

/// Whether items of a type stand alone: neither a message nor reasoning nor half of a pair, and results of tools run by
/// the provider.
pub(super) fn stands_alone(kind: &str) -> bool {
    matches!(
        kind,
        "web_search_call"
            | "file_search_call"
            | "image_generation_call"
            | "code_interpreter_call"
            | "mcp_call"
            | "mcp_list_tools"
            | "mcp_approval_request"
            | "mcp_approval_response"
            | "item_reference"
            | "compaction"
    )
}

/// A stored item in sendable form: its bytes without cache marks and, where the item does not need it, without its id
/// in the provider's store. `None` if the item has to be rendered.
///
/// * `raw` - the item, in the form of OpenAI Responses.
/// * `entry` - its content.
/// * `model` - its author, if known.
///
/// Source: F058; an id implies the reasoning that came before the item.
pub fn whole_item(raw: &str, entry: &Entry, target: Target, model: Option<&str>) -> Option<String> {
    let takes = |part: &Part| match part {
        Part::Text(_) => true,
        Part::Thinking { text, signature, raw } => {
            let (signature, raw) = (signature.as_deref(), raw.as_deref());
            Thinking { text, signature, raw, model }.piece(target).is_some()
        }
        Part::ToolCall(call) => is_plain(call, target),
        Part::ToolResult(result) => {
            target.call_id(&result.call_id) == result.call_id
                && (target.is_own || result.content.iter().all(|part| matches!(part, Part::Text(_))))
        }
        // The renderer counts images and leaves some out; images from the client itself were accepted before.
        Part::Media(_) => target.is_own,
        Part::Opaque { kind, .. } => {
            target.is_own || (stands_alone(kind) && !(model.is_some() && target.is_foreign(model, None)))
        }
    };
    let is_whole = target.dialect == Dialect::OpenAiResponses && is_object(raw);
    if !is_whole || entry.parts.is_empty() || !entry.parts.iter().all(takes) {
        return None;
    }
    without_id(&annotations::without(raw))
}

/// Whether a call can be sent unchanged: its id and name are legal, and results of its type are texts.
fn is_plain(call: &ToolCall, target: Target) -> bool {
    let is_named = target.call_id(&call.id) == call.id && target.dialect.tool_name(&call.name) == call.name;
    let kind = call.raw.as_deref().and_then(|raw| with_item(raw, |item| item.string("type"))).flatten();
    let is_known = match kind.as_deref() {
        Some("function_call" | "local_shell_call") => is_object(&call.arguments),
        Some("custom_tool_call") => true,
        _ => target.is_own,
    };
    is_named && is_known && call.complete
}

/// Items that need no id of the provider's store. Other types need one, or are unknown.
const NAMELESS: [&str; 9] = [
    "",
    "message",
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "local_shell_call",
    "local_shell_call_output",
    "web_search_call",
];

/// The item without its id, unless the id is its content or its only name.
pub(crate) fn without_id(raw: &str) -> Option<String> {
    with_item(raw, |item| {
        let kind = item.str("type").unwrap_or_default();
        let mut edits = Vec::new();
        if NAMELESS.contains(&&*kind) {
            cut_fields(item, &|key| key == "id", &mut edits);
        }
        edited(raw, &edits)
    })
}

/// Gives every output the type that its call requires: a call of a custom tool is answered by an output of its own
/// type. A call of an unknown kind becomes a function call if its output is a function's: then some of it was
/// shortened.
///
/// * `items` - the items of a request, in any groups.
///
/// Cost: O(bytes) if there is any call other than function calls, otherwise one search.
pub fn pair_items(items: &mut [Vec<String>]) {
    let count = |text: &str, word: &str| memchr::memmem::find_iter(text.as_bytes(), word).count();
    if !items.iter().flatten().any(|text| count(text, "_call\"") > count(text, "function_call\"")) {
        return;
    }
    let told = |text: &String| with_item(text, |item| Some((item.string("type")?, item.string("call_id")?)));
    let all: Vec<(String, String)> = items.iter().flatten().filter_map(told).flatten().collect();
    let ids = |kind: &str| -> BTreeSet<&String> {
        all.iter().filter(|(other, _)| other == kind).map(|(_, id)| id).collect()
    };
    let (custom, functions) = (ids("custom_tool_call"), ids("function_call_output"));
    let id_of = |item: Object<'_>, kind: &str| item.string("call_id").filter(|_| item.is("type", kind));
    for text in items.iter_mut().flatten() {
        let is_odd = |(kind, id): &(String, String)| {
            let is_known = matches!(&**kind, "function_call" | "custom_tool_call" | "local_shell_call");
            kind.ends_with("_call") && !is_known && functions.contains(id)
        };
        if told(text).flatten().as_ref().is_some_and(is_odd) {
            *text = with_item(text, as_function).unwrap_or_default();
        }
    }
    for text in items.iter_mut().flatten() {
        let edit = with_item(text, |item| {
            let id =
                id_of(item, "function_call_output").or_else(|| id_of(item, "custom_tool_call_output"))?;
            let kind = if custom.contains(&id) { "custom_tool_call_output" } else { "function_call_output" };
            Some(Edit { range: item.get("type")?.range(), text: format!("{kind:?}") })
        });
        if let Some(edit) = edit.flatten() {
            *text = edited(text, &[edit]);
        }
    }
}

/// A call of any kind as a function call.
fn as_function(item: Object<'_>) -> String {
    let kind = item.string("type").unwrap_or_default();
    let call = openai_responses::call(item, &kind);
    let arguments = if is_object(&call.arguments) {
        call.arguments
    } else {
        serde_json::json!({ "_raw": call.arguments }).to_string()
    };
    let name = Dialect::OpenAiResponses.tool_name(&call.name);
    serde_json::json!({ "type": "function_call", "call_id": call.id, "name": name, "arguments": arguments })
        .to_string()
}

fn with_item<T>(text: &str, then: impl FnOnce(Object<'_>) -> T) -> Option<T> {
    let mut tape = Tape::default();
    tape.read(text.as_bytes()).ok()?;
    tape.value(text).and_then(Value::obj).map(then)
}
