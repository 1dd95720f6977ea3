//! The words of an entry that an outline may quote.

use serde_json::Value;
use unforget_core::entry::{Part, ToolCall};

use crate::preview::result_text;
use crate::secret::redact;
use crate::work::unnumbered;

/// What was said, called and returned, a line each, without credentials: pieces of the text do not show any more that
/// one is one. Reasoning and media are left out.
///
/// * `parts` - of an entry.
/// * `of_result` - what is taken of the text of a result, without credentials.
pub(crate) fn words<'a>(parts: impl IntoIterator<Item = &'a Part>, of_result: fn(&str) -> String) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Text(words) => text += &redact(words),
            Part::ToolCall(call) => called(call, &mut text),
            Part::ToolResult(result) => text += &unnumbered(&of_result(&result_text(result))),
            Part::Thinking { .. } | Part::Media(_) | Part::Opaque { .. } => continue,
        }
        text.push('\n');
    }
    text
}

/// A call's name and the values of its arguments, escapes undone; switches and the names of arguments say too little.
fn called(call: &ToolCall, text: &mut String) {
    *text += &call.name;
    // Names of arguments tell credentials too.
    let arguments = redact(&call.arguments);
    match serde_json::from_str(&arguments) {
        Ok(Value::Object(fields)) => {
            let mut gap = " ";
            for value in fields.values() {
                match value {
                    Value::Null | Value::Bool(_) => continue,
                    Value::String(value) => text.extend([gap, &redact(value)]),
                    other => text.extend([gap, &other.to_string()]),
                }
                gap = "\n";
            }
        }
        _ => text.extend(["\n", &arguments]),
    }
}
