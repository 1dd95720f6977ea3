//! Amp threads: one JSON object with an id `T-…` and `messages` in Anthropic's form, with results of its own form.
//!
//! | record | entry |
//! |---|---|
//! | `user`, `assistant` | as in Anthropic's API |
//! | block `tool_result` with `toolUseID` and `run` | the result: `output`, `content` or `diff` of `run.result`, or the error |

use unforget_core::entry::{Entry, Part, ToolResult};

use crate::format::{Head, Identity, Layout, anthropic, openai_chat};
use crate::json::{Object, Value};

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_thread =
        |header: Object<'_>| header.str("id").is_some_and(|id| id.starts_with("T-")) && header.has("created");
    head.layout == Layout::Under("messages") && head.header.is_some_and(is_thread)
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    openai_chat::identity(head)
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let mut entry = anthropic::decode(record);
    for (part, block) in entry.parts.iter_mut().zip(record.items("content")) {
        if let Some(result) = block.obj().filter(|block| block.has("toolUseID")).and_then(result) {
            *part = Part::ToolResult(result);
        }
    }
    let usage = record.obj("usage");
    entry.model = entry.model.or_else(|| usage.and_then(|usage| usage.string("model")));
    entry.time = entry.time.or_else(|| usage.and_then(|usage| usage.time("timestamp")));
    // Their numbers begin anew after an edit.
    entry.host_id = None;
    openai_chat::by_results(&mut entry);
    entry
}

fn result(block: Object<'_>) -> Option<ToolResult> {
    let run = block.obj("run")?;
    let output = run.get("result").filter(|result| !result.is_null());
    let error = run.obj("error").and_then(|error| error.string("message"));
    let status = run.str("status").unwrap_or_default();
    let has_failed = matches!(&*status, "error" | "cancelled")
        || output.and_then(Value::obj).is_some_and(|output| output.bool("success") == Some(false));
    let words = output.map(text_of).or(error).unwrap_or_else(|| status.clone().into_owned());
    Some(ToolResult {
        call_id: block.string("toolUseID").unwrap_or_default(),
        name: String::new(),
        content: vec![Part::Text(words)],
        is_error: has_failed,
        exit_code: output.and_then(Value::obj).and_then(|output| output.i64("exitCode")),
    })
}

/// What a tool says: its text, or the field that holds it, or all of it as JSON.
fn text_of(output: Value<'_>) -> String {
    let field = |key: &str| output.obj().and_then(|object| object.string(key));
    let said = output.str().map(std::borrow::Cow::into_owned);
    let said = said.or_else(|| ["output", "content", "diff"].into_iter().find_map(field));
    said.unwrap_or_else(|| output.raw().to_owned())
}
