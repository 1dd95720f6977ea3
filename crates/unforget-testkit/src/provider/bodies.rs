//! Answers and errors in the providers' forms.

use serde_json::{Value, json};

use super::{Act, Reply};

fn reply(status: u16, body: &Value) -> Reply {
    Reply::new(status, body.to_string())
}

/// Chat Completions.
pub mod openai {
    use super::{Act, Reply, Value, json, reply};

    /// A completion with this message and finish reason.
    pub fn completion(message: &Value, finish_reason: &str) -> Reply {
        let body = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1_763_000_000, "model": "gpt-test-2026",
            "choices": [{"index": 0, "message": message, "logprobs": null, "finish_reason": finish_reason}],
            "usage": {
                "prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127,
                "prompt_tokens_details": {"cached_tokens": 100},
            },
            "service_tier": "default",
        });
        reply(200, &body)
    }

    /// A complete answer.
    pub fn text(text: &str) -> Act {
        Act::Reply(completion(&json!({"role": "assistant", "content": text, "refusal": null}), "stop"))
    }

    /// Answers with the question.
    pub fn echo() -> Act {
        Act::Echo(text)
    }

    /// An answer cut off at its limit.
    pub fn cut_off(text: &str) -> Act {
        Act::Reply(completion(&json!({"role": "assistant", "content": text}), "length"))
    }

    /// A refusal in a separate field.
    pub fn refusal(words: &str) -> Act {
        Act::Reply(completion(&json!({"role": "assistant", "content": null, "refusal": words}), "stop"))
    }

    /// A tool call and nothing else.
    pub fn tool_call() -> Act {
        let function = json!({"name": "read_file", "arguments": "{\"path\":\"a\"}"});
        let calls = json!([{"id": "call_1", "type": "function", "function": function}]);
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        Act::Reply(completion(&message, "tool_calls"))
    }

    /// Reasoning and nothing else, as vLLM and DeepSeek send it.
    pub fn thinking_only() -> Act {
        let message = json!({"role": "assistant", "content": "", "reasoning_content": "let me see"});
        Act::Reply(completion(&message, "stop"))
    }

    /// An error in OpenAI's envelope.
    pub fn error(status: u16, kind: &str, code: &str, message: &str) -> Reply {
        let error = json!({"message": message, "type": kind, "param": null, "code": code});
        reply(status, &json!({ "error": error }))
    }
}

/// Messages.
pub mod anthropic {
    use super::{Act, Reply, Value, json, reply};

    /// A message with this content and stop reason.
    pub fn message(content: &Value, stop_reason: &str) -> Reply {
        let body = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test-1", "content": content,
            "stop_reason": stop_reason, "stop_sequence": null,
            "usage": {
                "input_tokens": 20, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 90,
                "output_tokens": 7,
            },
        });
        reply(200, &body).with("request-id", "req_1")
    }

    /// A complete answer.
    pub fn text(text: &str) -> Act {
        Act::Reply(message(&json!([{"type": "text", "text": text}]), "end_turn"))
    }

    /// Answers with the question.
    pub fn echo() -> Act {
        Act::Echo(text)
    }

    /// An answer cut off at its limit.
    pub fn cut_off(text: &str) -> Act {
        Act::Reply(message(&json!([{"type": "text", "text": text}]), "max_tokens"))
    }

    /// A refusal.
    pub fn refusal() -> Act {
        Act::Reply(message(&json!([]), "refusal"))
    }

    /// A tool call and nothing else.
    pub fn tool_call() -> Act {
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {"path": "a"}});
        Act::Reply(message(&json!([call]), "tool_use"))
    }

    /// Reasoning and nothing else.
    pub fn thinking_only() -> Act {
        let thinking = json!({"type": "thinking", "thinking": "let me see", "signature": "c2ln"});
        Act::Reply(message(&json!([thinking]), "end_turn"))
    }

    /// An error in Anthropic's envelope.
    pub fn error(status: u16, kind: &str, message: &str) -> Reply {
        let error = json!({"type": kind, "message": message});
        reply(status, &json!({"type": "error", "error": error, "request_id": "req_1"}))
    }
}
