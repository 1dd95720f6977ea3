//! The words of an entry that an outline may quote.

use serde_json::Value;
use unforget_core::entry::{Entry, Part, ToolCall};

use crate::preview::result_text;

/// What was said, called and returned, a line each. Reasoning and media are left out.
pub(super) fn words(entry: &Entry) -> String {
    let mut text = String::new();
    for part in &entry.parts {
        match part {
            Part::Text(words) => text += words,
            Part::ToolCall(call) => called(call, &mut text),
            Part::ToolResult(result) => text += &result_text(result),
            Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => continue,
        }
        text.push('\n');
    }
    text
}

/// A call's name, and its arguments a line each, escapes undone.
fn called(call: &ToolCall, text: &mut String) {
    *text += &call.name;
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(fields)) => {
            for (name, value) in fields {
                text.extend(["\n", &name, ": "]);
                match value {
                    Value::String(value) => *text += &value,
                    other => *text += &other.to_string(),
                }
            }
        }
        _ => text.extend(["\n", &call.arguments]),
    }
}
