//! The messages of a request as a person reads them, in any dialect.

use serde_json::Value;

/// A block of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PromptSegment {
    /// `text`, `thinking`, `call`, `result`, `media` or `other`.
    pub kind: &'static str,
    /// Its text; JSON where it has none.
    pub text: String,
}

/// The messages of a request's body, each as JSON.
pub fn messages_of(body: &str) -> Vec<String> {
    let Ok(value) = serde_json::from_str::<Value>(body) else { return Vec::new() };
    let list = ["messages", "input", "contents"].iter().find_map(|name| value.get(name)?.as_array());
    list.or_else(|| value.as_array())
        .map(|list| list.iter().map(Value::to_string).collect())
        .unwrap_or_default()
}

/// The blocks of a message, in any dialect; what is not known is shown as it is.
pub fn segments(message: &str) -> Vec<PromptSegment> {
    let Ok(value) = serde_json::from_str::<Value>(message) else {
        return vec![PromptSegment { kind: "other", text: message.to_owned() }];
    };
    let mut found = Vec::new();
    // pi puts the message into a field of its own.
    let inner = value.get("message").filter(|inner| inner.is_object()).unwrap_or(&value);
    match inner.get("content").or_else(|| inner.get("parts")) {
        Some(Value::String(text)) => found.push(PromptSegment { kind: of_role(inner), text: text.clone() }),
        Some(Value::Array(blocks)) => blocks.iter().for_each(|one| block(one, of_role(inner), &mut found)),
        _ => {}
    }
    for call in inner.get("tool_calls").and_then(Value::as_array).into_iter().flatten() {
        found.push(PromptSegment { kind: "call", text: call.get("function").unwrap_or(call).to_string() });
    }
    if found.is_empty() {
        block(inner, "other", &mut found);
    }
    found
}

fn of_role(message: &Value) -> &'static str {
    let role = message.get("role").and_then(Value::as_str);
    if matches!(role, Some("tool" | "toolResult")) { "result" } else { "text" }
}

fn block(value: &Value, usual: &'static str, found: &mut Vec<PromptSegment>) {
    if let Value::String(text) = value {
        return found.push(PromptSegment { kind: usual, text: text.clone() });
    }
    let text = |name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let kind = text("type").unwrap_or_default();
    let (kind, text) = match kind.as_str() {
        "thinking" | "reasoning" => ("thinking", text("thinking").or_else(|| text("text"))),
        "tool_use" | "toolCall" | "function_call" => ("call", None),
        "tool_result" | "toolResult" | "function_call_output" => return result(value, found),
        "image" | "image_url" | "input_image" | "document" => ("media", Some(format!("[{kind}]"))),
        _ if value.get("functionCall").is_some() => ("call", None),
        _ if value.get("functionResponse").is_some() => ("result", None),
        _ => match text("text") {
            Some(text) => (usual_text(usual), Some(text)),
            None => ("other", None),
        },
    };
    found.push(PromptSegment { kind, text: text.unwrap_or_else(|| value.to_string()) });
}

fn usual_text(usual: &'static str) -> &'static str {
    if usual == "other" { "text" } else { usual }
}

fn result(value: &Value, found: &mut Vec<PromptSegment>) {
    let content = value.get("content").or_else(|| value.get("output"));
    match content {
        Some(Value::Array(blocks)) => blocks.iter().for_each(|one| block(one, "result", found)),
        Some(Value::String(text)) => found.push(PromptSegment { kind: "result", text: text.clone() }),
        _ => found.push(PromptSegment { kind: "result", text: value.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, reason = "tables")]

    use super::*;

    #[test]
    fn blocks_of_all_dialects() {
        let table: [(&str, &[(&str, &str)], &str); 8] = [
            (r#"{"role":"user","content":"a"}"#, &[("text", "a")], "plain text"),
            (r#"{"role":"tool","content":"a"}"#, &[("result", "a")], "a result of OpenAI chat"),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"}]}"#,
                &[("thinking", "t"), ("text", "a")],
                "blocks of Anthropic",
            ),
            (
                r#"{"role":"user","content":[{"type":"tool_result","content":[{"type":"text","text":"r"}]}]}"#,
                &[("result", "r")],
                "a result of Anthropic",
            ),
            (r#"{"role":"model","parts":[{"text":"a"}]}"#, &[("text", "a")], "Gemini"),
            (r#"{"type":"function_call_output","output":"r"}"#, &[("result", "r")], "an item of Responses"),
            (r#"{"role":"user","content":[{"type":"image"}]}"#, &[("media", "[image]")], "an image"),
            (r#"{"x":1}"#, &[("other", r#"{"x":1}"#)], "anything else"),
        ];
        for (message, want, why) in table {
            let found: Vec<_> = segments(message).into_iter().map(|one| (one.kind, one.text)).collect();
            let found: Vec<_> = found.iter().map(|(kind, text)| (*kind, text.as_str())).collect();
            assert_eq!(found, want, "{why}");
        }
        assert_eq!(messages_of(r#"{"messages":[1,2]}"#), ["1", "2"]);
        assert_eq!(messages_of("no json"), Vec::<String>::new());
    }
}
