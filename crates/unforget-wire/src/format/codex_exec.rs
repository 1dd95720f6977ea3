//! What `codex exec --json` prints. The request itself is not among it.
//!
//! | record | entry |
//! |---|---|
//! | `item.completed`, `agent_message` or `plan` | assistant, its text |
//! | `item.completed`, `reasoning` | assistant, unsigned thinking |
//! | `item.completed` of a tool | assistant: the call, followed by its result |
//! | `item.completed`, `error` | bookkeeping: shown to the person only |
//! | `item.started`, `item.updated`, `thread.…`, `turn.…` | bookkeeping: the item follows whole |
//!
//! Source: `codex-rs/exec/src/exec_events.rs`.

use unforget_core::entry::{Entry, Origin, Part, Role, ToolCall, ToolResult};

use crate::format::{Head, Identity, Layout, openai_chat};
use crate::json::Object;

/// Whether a transcript with this head has this format.
pub(crate) fn looks_like(head: &Head<'_>) -> bool {
    let is_opening = |record: &Object<'_>| record.is("type", "thread.started") && record.has("thread_id");
    let is_item = |record: &Object<'_>| record.is("type", "item.completed") && record.obj("item").is_some();
    head.layout == Layout::Lines && head.records.iter().any(|record| is_opening(record) || is_item(record))
}

/// The conversation's identity according to the head.
pub(crate) fn identity(head: &Head<'_>) -> Identity {
    let session = head.records.iter().find_map(|record| record.string("thread_id"));
    Identity { session: session.filter(|id| !id.is_empty()), ..Identity::default() }
}

/// Decodes one record.
pub(crate) fn decode(record: Object<'_>) -> Entry {
    let item = record.obj("item").filter(|_| record.is("type", "item.completed"));
    let Some((item, parts)) = item.and_then(|item| Some((item, parts(item)?))) else {
        return Entry::bare(Origin::Bookkeeping);
    };
    let host_id = item.string("id").filter(|id| !id.is_empty());
    Entry { role: Role::Assistant, parts, host_id, ..Entry::bare(Origin::Model) }
}

/// What an item says; `None` for one that no model sees.
fn parts(item: Object<'_>) -> Option<Vec<Part>> {
    let kind = item.str("type").unwrap_or_default();
    let text = || item.string("text").unwrap_or_default();
    Some(match &*kind {
        "agent_message" | "plan" => vec![Part::Text(text())],
        "reasoning" => vec![Part::Thinking { text: text(), signature: None, raw: None }],
        "error" | "" => return None,
        _ => vec![Part::ToolCall(call(item, &kind)), Part::ToolResult(result(item, &kind))],
    })
}

fn call(item: Object<'_>, kind: &str) -> ToolCall {
    let (name, fields): (String, &[&str]) = match kind {
        "command_execution" => ("shell".to_owned(), &["command"]),
        "file_change" => ("apply_patch".to_owned(), &["changes"]),
        "todo_list" => ("update_plan".to_owned(), &["items"]),
        "mcp_tool_call" => (mcp_name(item), &[]),
        _ => (kind.to_owned(), &["query", "prompt", "tool"]),
    };
    let members = fields.iter().filter_map(|key| Some(format!(r#""{key}":{}"#, item.raw(key)?)));
    let arguments = item.raw("arguments").filter(|_| fields.is_empty()).map(str::to_owned);
    ToolCall {
        id: item.string("id").unwrap_or_default(),
        name,
        arguments: arguments.unwrap_or_else(|| format!("{{{}}}", members.collect::<Vec<_>>().join(","))),
        complete: true,
        raw: Some(item.raw_text().into()),
    }
}

/// The name under which Codex offers a tool of an MCP server.
fn mcp_name(item: Object<'_>) -> String {
    let word = |key| item.string(key).unwrap_or_default();
    format!("mcp__{}__{}", word("server"), word("tool"))
}

fn result(item: Object<'_>, kind: &str) -> ToolResult {
    let mut content = Vec::new();
    match item.obj("result") {
        Some(result) => content.extend(openai_chat::inside(result.get("content"))),
        None => content.extend(item.string("aggregated_output").map(Part::Text)),
    }
    content.extend(item.obj("error").and_then(|error| error.string("message")).map(Part::Text));
    let status = item.str("status").unwrap_or_default();
    if content.is_empty() && kind != "command_execution" {
        content.push(Part::Text(status.clone().into_owned()));
    }
    ToolResult {
        call_id: item.string("id").unwrap_or_default(),
        name: String::new(),
        content,
        is_error: matches!(&*status, "failed" | "declined") || item.obj("error").is_some(),
        exit_code: item.i64("exit_code"),
    }
}
