//! Renders histories as the bytes of transcript formats, like hosts write them.
//!
//! Facts that a format cannot express are left out; the tests of a format's parser decide what must be restored.

use serde_json::{Value, json};
use unforget_core::entry::{Entry, Origin, Part, Role, Status, ToolCall, ToolResult};

/// A pi v3 session: a header line, then one line per entry, several for an entry with several results.
pub fn pi(history: &[Entry]) -> Vec<u8> {
    let mut lines = vec![json!({
        "type": "session", "version": 3, "id": "00000000-0000-4000-8000-000000000000",
        "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/srv/project",
    })];
    let mut parent = Value::Null;
    for (index, message) in history.iter().flat_map(pi_messages).enumerate() {
        let id = format!("{index:08x}");
        let (kind, body) = message;
        let mut line = json!({
            "type": kind, "id": id, "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z",
        });
        merge(&mut line, body);
        lines.push(line);
        parent = json!(id);
    }
    jsonl(&lines)
}

/// A Claude Code session: one line per block of an assistant message, as that host writes it.
pub fn claude_code(history: &[Entry]) -> Vec<u8> {
    let mut lines = Vec::new();
    let mut parent = Value::Null;
    for (index, entry) in history.iter().enumerate() {
        let pieces: Vec<Value> = match entry.role {
            Role::Assistant => entry.parts.iter().map(|part| json!([anthropic_part(part)])).collect(),
            _ => vec![entry.parts.iter().map(anthropic_part).collect()],
        };
        let kind = match entry.role {
            Role::Assistant => "assistant",
            Role::User | Role::Tool => "user",
            Role::System | Role::None => "system",
        };
        for (piece, content) in pieces.into_iter().enumerate() {
            let uuid = format!("{index:08x}-0000-4000-8000-{piece:012x}");
            let mut line = json!({
                "parentUuid": parent, "isSidechain": false, "userType": "external", "cwd": "/srv/project",
                "sessionId": "00000000-0000-4000-8000-000000000001", "version": "2.0.0", "type": kind,
                "uuid": uuid, "timestamp": "2026-01-01T00:00:00.000Z",
            });
            match entry.role {
                Role::Assistant => merge(
                    &mut line,
                    json!({"message": {"id": format!("msg_{index}"), "type": "message", "role": "assistant",
                        "model": "test-model", "content": content, "stop_reason": stop_reason(entry)}}),
                ),
                Role::User | Role::Tool => {
                    merge(&mut line, json!({"message": {"role": "user", "content": content}}));
                    if entry.origin == Origin::Injected {
                        merge(&mut line, json!({"isMeta": true}));
                    }
                    if entry.origin == Origin::HostSummary {
                        merge(&mut line, json!({"isCompactSummary": true}));
                    }
                }
                Role::System | Role::None => {
                    merge(&mut line, json!({"subtype": "informational", "content": ""}));
                }
            }
            lines.push(line);
            parent = json!(uuid);
        }
    }
    jsonl(&lines)
}

/// OpenAI Chat messages, one per line. Entries without a role are left out.
pub fn openai_chat(history: &[Entry]) -> Vec<u8> {
    let mut lines = Vec::new();
    for entry in history {
        match entry.role {
            Role::System => lines.push(json!({"role": "system", "content": all_text(&entry.parts)})),
            Role::User => lines.push(json!({"role": "user", "content": all_text(&entry.parts)})),
            Role::Assistant => {
                let calls: Vec<Value> = calls(entry)
                    .map(|call| {
                        json!({"id": call.id, "type": "function",
                            "function": {"name": call.name, "arguments": call.arguments}})
                    })
                    .collect();
                let mut line = json!({"role": "assistant", "content": all_text(&entry.parts)});
                if !calls.is_empty() {
                    merge(&mut line, json!({"tool_calls": calls}));
                }
                lines.push(line);
            }
            Role::Tool => lines.extend(entry.results().map(|result| {
                json!({"role": "tool", "tool_call_id": result.call_id, "content": all_text(&result.content)})
            })),
            Role::None => {}
        }
    }
    jsonl(&lines)
}

/// Anthropic messages, one per line. Entries without a role are left out.
pub fn anthropic(history: &[Entry]) -> Vec<u8> {
    let lines: Vec<Value> = history
        .iter()
        .filter(|entry| entry.role != Role::None)
        .map(|entry| {
            let role = match entry.role {
                Role::Assistant => "assistant",
                Role::System => "system",
                _ => "user",
            };
            json!({"role": role, "content": entry.parts.iter().map(anthropic_part).collect::<Value>()})
        })
        .collect();
    jsonl(&lines)
}

fn jsonl(lines: &[Value]) -> Vec<u8> {
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}

/// The lines of an entry in a pi session: the type and the fields beyond the envelope.
fn pi_messages(entry: &Entry) -> Vec<(&'static str, Value)> {
    let content: Value = entry.parts.iter().map(pi_part).collect();
    match (entry.role, entry.origin) {
        (Role::None, _) | (_, Origin::Copy) => vec![("custom", json!({"customType": "test", "data": {}}))],
        (_, Origin::HostSummary) => {
            vec![("branch_summary", json!({"fromId": "00000000", "summary": all_text(&entry.parts)}))]
        }
        (Role::System, _) | (_, Origin::Injected) => {
            vec![("custom_message", json!({"customType": "test", "content": content, "display": false}))]
        }
        (Role::User, _) => vec![("message", json!({"message": {"role": "user", "content": content}}))],
        (Role::Assistant, _) => vec![(
            "message",
            json!({"message": {"role": "assistant", "content": content, "provider": "test",
                "model": entry.model, "stopReason": pi_stop(entry)}}),
        )],
        (Role::Tool, _) => {
            entry.results().map(|result| ("message", json!({"message": pi_result(result)}))).collect()
        }
    }
}

fn pi_result(result: &ToolResult) -> Value {
    json!({"role": "toolResult", "toolCallId": result.call_id, "toolName": result.name,
        "content": result.content.iter().map(pi_part).collect::<Value>(), "isError": result.is_error})
}

fn pi_part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thinking { text, signature, .. } => {
            let mut block = json!({"type": "thinking", "thinking": text});
            if let Some(signature) = signature {
                merge(&mut block, json!({"thinkingSignature": signature}));
            }
            block
        }
        Part::ToolCall(call) => {
            let mut block =
                json!({"type": "toolCall", "id": call.id, "name": call.name, "arguments": arguments(call)});
            if !call.complete {
                merge(&mut block, json!({"partialJson": call.arguments}));
            }
            block
        }
        Part::ToolResult(result) => pi_result(result),
        Part::Media(media) => received(&media.raw),
        Part::Opaque { raw, .. } => received(raw),
    }
}

fn anthropic_part(part: &Part) -> Value {
    match part {
        Part::Text(text) => json!({"type": "text", "text": text}),
        Part::Thinking { text, signature, .. } => {
            json!({"type": "thinking", "thinking": text, "signature": signature.as_deref().unwrap_or_default()})
        }
        Part::ToolCall(call) => {
            json!({"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call)})
        }
        Part::ToolResult(result) => json!({"type": "tool_result", "tool_use_id": result.call_id,
            "content": result.content.iter().map(anthropic_part).collect::<Value>(), "is_error": result.is_error}),
        Part::Media(media) => received(&media.raw),
        Part::Opaque { raw, .. } => received(raw),
    }
}

/// Arguments as a value; unparsable ones become an empty object, as hosts write them.
fn arguments(call: &ToolCall) -> Value {
    serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!({}))
}

fn received(raw: &str) -> Value {
    serde_json::from_str(raw).unwrap_or_else(|_| json!(raw))
}

fn calls(entry: &Entry) -> impl Iterator<Item = &ToolCall> {
    entry.parts.iter().filter_map(|part| match part {
        Part::ToolCall(call) => Some(call),
        _ => None,
    })
}

fn all_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts
        .iter()
        .filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    texts.join("\n")
}

fn pi_stop(entry: &Entry) -> &'static str {
    match entry.status {
        Status::Aborted => "aborted",
        Status::Error => "error",
        Status::Complete if calls(entry).next().is_some() => "toolUse",
        Status::Complete => "stop",
    }
}

fn stop_reason(entry: &Entry) -> Value {
    match entry.status {
        Status::Complete if calls(entry).next().is_some() => json!("tool_use"),
        Status::Complete => json!("end_turn"),
        Status::Aborted | Status::Error => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use super::*;
    use crate::hostile::{Size, history};
    use crate::path;

    fn values(bytes: &[u8]) -> Vec<Value> {
        bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }

    #[test]
    fn every_line_is_json() {
        for seed in 0..100 {
            let history = history(seed, Size::SMALL);
            for bytes in [pi(&history), claude_code(&history), openai_chat(&history), anthropic(&history)] {
                values(&bytes);
            }
        }
    }

    #[test]
    fn pi_lines_form_a_chain() {
        let lines = values(&pi(&path("u a[c1,c2] r1+r2 a")));
        assert_eq!(lines.len(), 6, "header, four messages, one of them with two results");
        for pair in lines[1..].windows(2) {
            assert_eq!(pair[1]["parentId"], pair[0]["id"]);
        }
        assert_eq!(lines[2]["message"]["stopReason"], "toolUse");
        assert_eq!(lines[4]["message"]["toolCallId"], "c2");
    }

    #[test]
    fn claude_code_writes_a_line_per_block() {
        let lines = values(&claude_code(&path("u a[c1,c2] r1+r2 a")));
        assert_eq!(lines.len(), 6);
        assert_eq!(lines[1]["message"]["id"], lines[3]["message"]["id"], "pieces of one message");
        assert_eq!(lines[4]["message"]["content"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn openai_chat_writes_a_line_per_result() {
        let lines = values(&openai_chat(&path("s u a[c1,c2] r1+r2")));
        let roles: Vec<&str> = lines.iter().map(|line| line["role"].as_str().unwrap()).collect();
        assert_eq!(roles, ["system", "user", "assistant", "tool", "tool"]);
    }

    #[test]
    fn anthropic_puts_results_into_user_messages() {
        let lines = values(&anthropic(&path("u a[c1] r1")));
        assert_eq!(lines[2]["role"], "user");
        assert_eq!(lines[2]["content"][0]["tool_use_id"], "c1");
    }
}
