//! The Chat Completions API of OpenAI, Ollama, vLLM, LM Studio, `OpenRouter` and many other servers.

use serde_json::{Value, json};

use crate::fault::{Account, Cause, Fault};
use crate::http::{Endpoint, Http, SettingError, letters};
use crate::port::{Answer, Model, Request, Stop, Usage, answer};

/// A model behind a Chat Completions endpoint. The base address ends with `/v1`.
pub struct OpenAi {
    http: Http,
    limit: &'static str,
}

impl OpenAi {
    /// A client.
    ///
    /// The limit of the answer is sent as `max_completion_tokens` to OpenAI's own addresses, which refuse the older
    /// name for newer models, and as `max_tokens` to all others, some of which ignore the newer name.
    ///
    /// # Errors
    /// [`SettingError`] if the endpoint is unusable.
    pub fn new(endpoint: Endpoint) -> Result<Self, SettingError> {
        let http = Http::new(endpoint, "/chat/completions")?;
        let host = http.account.provider.rsplit("//").next().unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default();
        let is_openai = ["openai.com", "openai.azure.com"].iter().any(|domain| {
            host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        let limit = if is_openai { "max_completion_tokens" } else { "max_tokens" };
        Ok(Self { http, limit })
    }

    /// This client with `max_completion_tokens` (true) or `max_tokens` (false), whatever the address.
    #[must_use]
    pub fn with_completion_limit(mut self, is_completion: bool) -> Self {
        self.limit = if is_completion { "max_completion_tokens" } else { "max_tokens" };
        self
    }

    fn body(&self, request: &Request<'_>) -> Value {
        let mut messages = Vec::new();
        if !request.system.is_empty() {
            messages.push(json!({"role": "system", "content": request.system}));
        }
        messages.push(json!({"role": "user", "content": request.user}));
        let mut body = json!({"model": self.name(), "messages": messages, "stream": false});
        if let Some(fields) = body.as_object_mut() {
            fields.insert(self.limit.to_owned(), request.output_tokens_max.into());
            if let Some(temperature) = request.temperature.filter(|_| self.http.endpoint.takes_temperature) {
                fields.insert("temperature".to_owned(), json!(temperature));
            }
        }
        body
    }

    fn read(&self, body: &Value) -> Result<Answer, Fault> {
        let bad = |place: &str| {
            let said = body.get("error").map(Value::to_string).unwrap_or_default();
            self.http.fault(Cause::BadAnswer { place: place.to_owned() }, said.as_bytes())
        };
        let choice = body.pointer("/choices/0").ok_or_else(|| bad("/choices/0"))?;
        let message = choice.get("message").filter(|message| message.is_object());
        let message = message.ok_or_else(|| bad("/choices/0/message"))?;
        let text = content(message).ok_or_else(|| bad("/choices/0/message/content"))?;
        let refusal = message.get("refusal").and_then(Value::as_str).unwrap_or_default();
        let calls =
            message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty())
                || message.get("function_call").is_some_and(Value::is_object);
        let thought = ["reasoning_content", "reasoning"].iter().any(|name| {
            message.get(*name).and_then(Value::as_str).is_some_and(|words| !words.trim().is_empty())
        });
        let told = match choice.get("finish_reason").and_then(Value::as_str).unwrap_or_default() {
            // OpenRouter answers 200 even if the model behind it fails midway.
            "error" => {
                let said = choice.get("error").map(Value::to_string).unwrap_or_default();
                return Err(self.http.fault(Cause::Server { retry_after: None }, said.as_bytes()));
            }
            _ if !refusal.is_empty() => Stop::Refusal,
            "content_filter" => Stop::Refusal,
            "tool_calls" | "function_call" => Stop::ToolCall,
            // Some servers end a call with `stop`.
            "stop" | "eos" | "end_turn" if calls => Stop::ToolCall,
            "stop" | "eos" | "end_turn" => Stop::End,
            "length" => Stop::MaxTokens,
            word => Stop::Unknown(word.to_owned()),
        };
        let text = if text.is_empty() { refusal } else { &text };
        let model = body.get("model").and_then(Value::as_str).map(str::to_owned);
        Ok(answer(text, thought, told, usage(body), model))
    }
}

/// The visible text: a string, or the text blocks of a list; `None` for other types. Missing content is an empty text.
fn content(message: &Value) -> Option<String> {
    match message.get("content") {
        None | Some(Value::Null) => Some(String::new()),
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(blocks)) => {
            let texts =
                blocks.iter().filter(|block| block.get("type").and_then(Value::as_str) == Some("text"));
            Some(texts.filter_map(|block| block.get("text").and_then(Value::as_str)).collect())
        }
        Some(_) => None,
    }
}

fn usage(body: &Value) -> Usage {
    let count = |place: &str| body.pointer(place).and_then(Value::as_u64);
    Usage {
        input: count("/usage/prompt_tokens"),
        output: count("/usage/completion_tokens"),
        cached: count("/usage/prompt_tokens_details/cached_tokens"),
    }
}

impl Model for OpenAi {
    fn account(&self) -> &Account {
        &self.http.account
    }

    fn name(&self) -> &str {
        &self.http.endpoint.model
    }

    fn call(&self, request: &Request<'_>) -> Result<Answer, Fault> {
        let key =
            letters(&self.http.endpoint.key).map(|letters| ("authorization", format!("Bearer {letters}")));
        let body = self.http.post(key.as_slice(), self.body(request), request.within)?;
        self.read(&body)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::secret::KeySource;

    #[test]
    fn the_name_of_the_limit_follows_the_address() {
        let table = [
            ("https://api.openai.com/v1", "max_completion_tokens"),
            ("https://eu.api.openai.com/v1", "max_completion_tokens"),
            ("https://x.openai.azure.com/openai/v1", "max_completion_tokens"),
            ("https://openai.com.evil.test/v1", "max_tokens"),
            ("https://notopenai.com/v1", "max_tokens"),
            ("http://127.0.0.1:11434/v1", "max_tokens"),
            ("https://openrouter.ai/api/v1", "max_tokens"),
        ];
        for (base, want) in table {
            let key = KeySource::None.load(&|_| None).unwrap();
            let endpoint = Endpoint::new(base, "m", key, std::sync::Arc::new(crate::by_status));
            assert_eq!(OpenAi::new(endpoint).unwrap().limit, want, "{base}");
        }
    }
}
