//! A scripted model's output, in each API's form.

use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::watch;
use unforget_wire::Dialect;

use super::slowly;

/// An answer.
#[derive(Clone, Debug, Default)]
pub struct Say {
    /// Text; none if empty.
    pub text: String,
    /// Tool calls.
    pub deeds: Vec<Deed>,
    /// Pause between the events of a stream.
    pub pause: Duration,
    /// Holds back all events after the first until the value is true or the sender is dropped.
    pub gate: Option<watch::Receiver<bool>>,
    /// Breaks the connection after this many events.
    pub cut_after: Option<usize>,
    /// Refuses with this status instead.
    pub refused: Option<u16>,
    /// Reported tokens beside the request's; by default nothing cached and 20 of output.
    pub spent: Option<Spent>,
}

/// Tokens of a call beside those of its request.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// Share of the request in the cache, from 0 to 1.
    pub cached_share: f64,
    /// Tokens of the answer.
    pub output: u64,
}

impl Say {
    /// Tokens read from the cache, and those of the answer.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of tokens"
    )]
    fn spent(&self, input: u64) -> (u64, u64) {
        let spent = self.spent.unwrap_or(Spent { cached_share: 0.0, output: 20 });
        ((input as f64 * spent.cached_share.clamp(0.0, 1.0)) as u64, spent.output)
    }
}

/// A tool call.
#[derive(Clone, Debug)]
pub struct Deed {
    /// The tool.
    pub name: String,
    /// Its arguments: an object, or a string for a tool with free text.
    pub arguments: Value,
}

impl Say {
    /// Text only.
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// One tool call.
    pub fn deed(name: &str, arguments: Value) -> Self {
        Self { deeds: vec![Deed { name: name.to_owned(), arguments }], ..Self::default() }
    }
}

/// Which request an answer is for.
#[derive(Clone, Copy)]
pub(super) struct RequestNumber {
    /// Number of the request, from 0.
    pub(super) number: usize,
    /// Its tokens.
    pub(super) input: u64,
}

/// The body of an answer without streaming.
pub(super) fn whole(dialect: Dialect, request: &Value, say: &Say, at: RequestNumber) -> Value {
    match dialect {
        Dialect::Anthropic => anthropic(request, say, at),
        Dialect::OpenAiResponses => responses(request, say, at),
        _ => chat(request, say, at),
    }
}

/// The response for an answer.
pub(super) fn response(
    dialect: Dialect,
    request: &Value,
    whole: Value,
    say: &Say,
    is_streamed: bool,
) -> Response {
    if !is_streamed {
        return axum::Json(whole).into_response();
    }
    let mut events = match dialect {
        Dialect::Anthropic => anthropic_events(&whole),
        Dialect::OpenAiResponses => responses_events(&whole),
        _ => chat_events(&whole, request),
    };
    if let Some(cut) = say.cut_after {
        events.truncate(cut);
    }
    ([(CONTENT_TYPE, "text/event-stream; charset=utf-8")], slowly(events, say)).into_response()
}

fn model(request: &Value) -> &str {
    request.get("model").and_then(Value::as_str).unwrap_or("scripted")
}

fn anthropic(request: &Value, say: &Say, RequestNumber { number, input }: RequestNumber) -> Value {
    let mut content = Vec::new();
    if matches!(request["thinking"]["type"].as_str(), Some("enabled" | "adaptive")) {
        let thought = format!("Number {number}: I think about what to read next.");
        content.push(
            json!({"type": "thinking", "thinking": thought, "signature": format!("sealed{number:08}")}),
        );
    }
    if !say.text.is_empty() {
        content.push(json!({"type": "text", "text": say.text}));
    }
    for (index, deed) in say.deeds.iter().enumerate() {
        let id = format!("toolu_{number:08}_{index}");
        content.push(json!({"type": "tool_use", "id": id, "name": deed.name, "input": deed.arguments}));
    }
    let stop = if say.deeds.is_empty() { "end_turn" } else { "tool_use" };
    let (cached, output) = say.spent(input);
    json!({
        "id": format!("msg_{number:08}"), "type": "message", "role": "assistant", "model": model(request), "content": content,
        "stop_reason": stop, "stop_sequence": null,
        "usage": {"input_tokens": input - cached, "output_tokens": output, "cache_creation_input_tokens": 0, "cache_read_input_tokens": cached},
    })
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Text in pieces, cut at character boundaries.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(24).map(|piece| piece.iter().collect()).collect()
}

fn anthropic_events(whole: &Value) -> Vec<String> {
    let mut start = whole.clone();
    start["content"] = json!([]);
    start["stop_reason"] = Value::Null;
    let mut events = vec![event("message_start", &json!({"type": "message_start", "message": start}))];
    for (index, block) in whole["content"].as_array().into_iter().flatten().enumerate() {
        let (field, kind) = match block["type"].as_str() {
            Some("text") => ("text", "text_delta"),
            Some("thinking") => ("thinking", "thinking_delta"),
            _ => ("partial_json", "input_json_delta"),
        };
        let mut empty = block.clone();
        let text = if let Some(text) = block[field].as_str() {
            empty[field] = json!("");
            text.to_owned()
        } else {
            empty["input"] = json!({});
            block["input"].to_string()
        };
        let mut deltas: Vec<Value> =
            pieces(&text).into_iter().map(|piece| json!({"type": kind, (field): piece})).collect();
        if let Some(signature) = block.get("signature") {
            empty["signature"] = json!("");
            deltas.push(json!({"type": "signature_delta", "signature": signature}));
        }
        events.push(event(
            "content_block_start",
            &json!({"type": "content_block_start", "index": index, "content_block": empty}),
        ));
        for delta in deltas {
            events.push(event(
                "content_block_delta",
                &json!({"type": "content_block_delta", "index": index, "delta": delta}),
            ));
        }
        events.push(event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
    }
    let delta = json!({"type": "message_delta", "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": null}, "usage": {"output_tokens": whole["usage"]["output_tokens"]}});
    events.push(event("message_delta", &delta));
    events.push(event("message_stop", &json!({"type": "message_stop"})));
    events
}

fn chat(request: &Value, say: &Say, RequestNumber { number, input }: RequestNumber) -> Value {
    let call = |(index, deed): (usize, &super::Deed)| {
        json!({"id": format!("call_{number:08}_{index}"), "type": "function",
               "function": {"name": deed.name, "arguments": deed.arguments.to_string()}})
    };
    let calls: Vec<Value> = say.deeds.iter().enumerate().map(call).collect();
    let content = if say.text.is_empty() { Value::Null } else { json!(say.text) };
    let mut message = json!({"role": "assistant", "content": content, "refusal": null});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
    let (cached, output) = say.spent(input);
    json!({
        "id": format!("chatcmpl-{number:08}"), "object": "chat.completion", "created": 1_790_000_000 + number, "model": model(request),
        "choices": [{"index": 0, "message": message, "finish_reason": finish, "logprobs": null}],
        "usage": {"prompt_tokens": input, "prompt_tokens_details": {"cached_tokens": cached}, "completion_tokens": output,
                  "total_tokens": input + output},
    })
}

fn chat_events(whole: &Value, request: &Value) -> Vec<String> {
    let chunk = |delta: Value, finish: Value| {
        let data = json!({"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"],
                          "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
        format!("data: {data}\n\n")
    };
    let message = &whole["choices"][0]["message"];
    let mut events = vec![chunk(
        json!({"role": "assistant", "content": if message["content"].is_null() { Value::Null } else { json!("") }}),
        Value::Null,
    )];
    for piece in pieces(message["content"].as_str().unwrap_or_default()) {
        events.push(chunk(json!({"content": piece}), Value::Null));
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut first = call.clone();
        first["index"] = json!(index);
        first["function"]["arguments"] = json!("");
        events.push(chunk(json!({"tool_calls": [first]}), Value::Null));
        for piece in pieces(call["function"]["arguments"].as_str().unwrap_or_default()) {
            events.push(chunk(
                json!({"tool_calls": [{"index": index, "function": {"arguments": piece}}]}),
                Value::Null,
            ));
        }
    }
    events.push(chunk(json!({}), whole["choices"][0]["finish_reason"].clone()));
    if request["stream_options"]["include_usage"] == true {
        let data = json!({"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"], "model": whole["model"], "choices": [], "usage": whole["usage"]});
        events.push(format!("data: {data}\n\n"));
    }
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn responses(request: &Value, say: &Say, RequestNumber { number, input }: RequestNumber) -> Value {
    let mut output = Vec::new();
    let wants = |item: &Value| item == "reasoning.encrypted_content";
    if request["include"].as_array().is_some_and(|items| items.iter().any(wants)) {
        output.push(json!({"type": "reasoning", "id": format!("rs_{number:08}"), "summary": [],
                           "encrypted_content": format!("sealed{number:08}")}));
    }
    if !say.text.is_empty() {
        output.push(json!({"type": "message", "id": format!("msg_{number:08}"), "status": "completed", "role": "assistant",
                           "content": [{"type": "output_text", "text": say.text, "annotations": []}]}));
    }
    for (index, deed) in say.deeds.iter().enumerate() {
        let call = format!("call_{number:08}_{index}");
        output.push(match &deed.arguments {
            Value::String(input) => {
                json!({"type": "custom_tool_call", "id": format!("ctc_{number:08}_{index}"), "call_id": call,
                                           "name": deed.name, "input": input, "status": "completed"})
            }
            arguments => {
                json!({"type": "function_call", "id": format!("fc_{number:08}_{index}"), "call_id": call,
                                "name": deed.name, "arguments": arguments.to_string(), "status": "completed"})
            }
        });
    }
    let (cached, spent) = say.spent(input);
    json!({
        "id": format!("resp_{number:08}"), "object": "response", "created_at": 1_790_000_000 + number, "status": "completed",
        "error": null, "incomplete_details": null, "instructions": request["instructions"], "model": model(request), "output": output,
        "parallel_tool_calls": true, "previous_response_id": request["previous_response_id"], "store": request["store"],
        "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled",
        "usage": {"input_tokens": input, "input_tokens_details": {"cached_tokens": cached}, "output_tokens": spent,
                  "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": input + spent},
        "user": null, "metadata": {},
    })
}

fn responses_events(whole: &Value) -> Vec<String> {
    let mut number = 0;
    let mut events = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["type"] = json!(name);
        data["sequence_number"] = json!(number);
        number += 1;
        events.push(event(name, &data));
    };
    let mut begun = whole.clone();
    begun["output"] = json!([]);
    begun["status"] = json!("in_progress");
    push("response.created", json!({"response": begun}));
    push("response.in_progress", json!({"response": begun}));
    for (index, item) in whole["output"].as_array().into_iter().flatten().enumerate() {
        let mut empty = item.clone();
        if item["type"] == "reasoning" {
            push("response.output_item.added", json!({"output_index": index, "item": item}));
            push("response.output_item.done", json!({"output_index": index, "item": item}));
            continue;
        }
        empty["status"] = json!("in_progress");
        if item["type"] == "message" {
            empty["content"] = json!([]);
            push("response.output_item.added", json!({"output_index": index, "item": empty}));
            let at = json!({"item_id": item["id"], "output_index": index, "content_index": 0});
            let with = |more: Value| {
                let mut all = at.clone();
                for (key, value) in more.as_object().into_iter().flatten() {
                    all[key] = value.clone();
                }
                all
            };
            let text = item["content"][0]["text"].as_str().unwrap_or_default();
            push(
                "response.content_part.added",
                with(json!({"part": {"type": "output_text", "text": "", "annotations": []}})),
            );
            for piece in pieces(text) {
                push("response.output_text.delta", with(json!({"delta": piece, "logprobs": []})));
            }
            push("response.output_text.done", with(json!({"text": text, "logprobs": []})));
            push("response.content_part.done", with(json!({"part": item["content"][0]})));
        } else {
            let (field, events) = match item["type"].as_str() {
                Some("custom_tool_call") => ("input", "response.custom_tool_call_input"),
                _ => ("arguments", "response.function_call_arguments"),
            };
            empty[field] = json!("");
            push("response.output_item.added", json!({"output_index": index, "item": empty}));
            let arguments = item[field].as_str().unwrap_or_default();
            for piece in pieces(arguments) {
                push(
                    &format!("{events}.delta"),
                    json!({"item_id": item["id"], "output_index": index, "delta": piece}),
                );
            }
            let mut done = json!({"item_id": item["id"], "output_index": index, "name": item["name"]});
            done[field] = json!(arguments);
            push(&format!("{events}.done"), done);
        }
        push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    push("response.completed", json!({"response": whole}));
    events
}
