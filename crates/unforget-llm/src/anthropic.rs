//! The Messages API of Anthropic and compatible servers.

use serde_json::{Value, json};

use crate::fault::{Account, Cause, Fault};
use crate::http::{Endpoint, Http, SettingError, letters};
use crate::port::{Answer, Model, Request, Stop, Usage, answer};

/// Version of the protocol.
const VERSION: &str = "2023-06-01";

/// A model behind a Messages endpoint. The base address ends with `/v1`.
pub struct Anthropic {
    http: Http,
}

impl Anthropic {
    /// A client.
    ///
    /// # Errors
    /// [`SettingError`] if the endpoint is unusable.
    pub fn new(endpoint: Endpoint) -> Result<Self, SettingError> {
        Ok(Self { http: Http::new(endpoint, "/messages")? })
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let mut body = json!({
            "model": self.name(),
            "max_tokens": request.output_tokens_max,
            "messages": [{"role": "user", "content": request.user}],
            "stream": false,
        });
        if let Some(fields) = body.as_object_mut() {
            if !request.system.is_empty() {
                fields.insert("system".to_owned(), request.system.into());
            }
            if let Some(temperature) = request.temperature.filter(|_| self.http.endpoint.takes_temperature) {
                fields.insert("temperature".to_owned(), json!(temperature));
            }
        }
        body
    }

    fn read(&self, body: &Value) -> Result<Answer, Fault> {
        let blocks = body.get("content").and_then(Value::as_array);
        let blocks =
            blocks.ok_or_else(|| self.http.fault(Cause::BadAnswer { place: "/content".into() }, b""))?;
        let (mut text, mut thought, mut calls) = (String::new(), false, false);
        for (at, block) in blocks.iter().enumerate() {
            let bad = || self.http.fault(Cause::BadAnswer { place: format!("/content/{at}") }, b"");
            match block.get("type").and_then(Value::as_str).ok_or_else(bad)? {
                "text" => text.push_str(block.get("text").and_then(Value::as_str).ok_or_else(bad)?),
                "thinking" | "redacted_thinking" => thought = true,
                "tool_use" => calls = true,
                _ => {}
            }
        }
        let told = match body.get("stop_reason").and_then(Value::as_str).unwrap_or_default() {
            "tool_use" => Stop::ToolCall,
            "end_turn" | "stop_sequence" if calls => Stop::ToolCall,
            "end_turn" | "stop_sequence" => Stop::End,
            "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
            "refusal" => Stop::Refusal,
            word => Stop::Unknown(word.to_owned()),
        };
        let model = body.get("model").and_then(Value::as_str).map(str::to_owned);
        Ok(answer(&text, thought, told, usage(body), model))
    }
}

/// Anthropic counts cache reads and writes beside the rest of the input.
fn usage(body: &Value) -> Usage {
    let count = |name: &str| body.get("usage")?.get(name)?.as_u64();
    let cached = count("cache_read_input_tokens");
    let beside =
        cached.unwrap_or_default().saturating_add(count("cache_creation_input_tokens").unwrap_or_default());
    Usage {
        input: count("input_tokens").map(|input| input.saturating_add(beside)),
        output: count("output_tokens"),
        cached,
    }
}

impl Model for Anthropic {
    fn account(&self) -> &Account {
        &self.http.account
    }

    fn name(&self) -> &str {
        &self.http.endpoint.model
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let mut headers = vec![("anthropic-version", VERSION.to_owned())];
        if let Some(letters) = letters(&self.http.endpoint.key) {
            headers.push(("x-api-key", letters.to_owned()));
        }
        let body = self.http.post(&headers, self.body(request), request.within)?;
        self.read(&body)
    }
}
