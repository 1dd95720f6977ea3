//! Bodies of the three APIs, broken-off streams, and the content of answers in any dialect.

use std::time::Duration;

use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_wire::Dialect;
use unforget_wire::exchange::sse::{EVENT_MAX, Event, Splitter};
use unforget_wire::exchange::{Answer, Answered};

pub(crate) const APIS: [(&str, Dialect); 3] = [
    ("messages", Dialect::Anthropic),
    ("chat/completions", Dialect::OpenAiChat),
    ("responses", Dialect::OpenAiResponses),
];

/// A call with these messages.
pub(crate) fn body(dialect: Dialect, messages: &[Value], is_streamed: bool) -> Value {
    let mut body = match dialect {
        Dialect::Anthropic => json!({"system": "Be brief.", "max_tokens": 256, "messages": messages}),
        Dialect::OpenAiResponses => {
            json!({"instructions": "Be brief.", "max_output_tokens": 256, "input": messages, "store": true})
        }
        _ => {
            let system = json!({"role": "system", "content": "Be brief."});
            let messages: Vec<&Value> = std::iter::once(&system).chain(messages).collect();
            json!({"messages": messages, "max_completion_tokens": 256})
        }
    };
    body["model"] = json!("scripted");
    body["stream"] = json!(is_streamed);
    body
}

pub(crate) fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// Text, and tools with their arguments.
pub(crate) type Said = (String, Vec<(String, Value)>);

/// The content of messages or items.
pub(crate) fn said<'a>(messages: impl IntoIterator<Item = &'a Value>) -> Said {
    let (mut text, mut calls) = (String::new(), Vec::new());
    let arguments = |value: &Value| {
        let text = value.as_str().unwrap_or_default();
        serde_json::from_str(text).unwrap_or_else(|_| json!(text))
    };
    for message in messages {
        text.push_str(message["content"].as_str().unwrap_or_default());
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("text" | "output_text") => text.push_str(block["text"].as_str().unwrap()),
                Some("tool_use") => {
                    calls.push((block["name"].as_str().unwrap().to_owned(), block["input"].clone()));
                }
                _ => {}
            }
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            let call = &call["function"];
            calls.push((call["name"].as_str().unwrap().to_owned(), arguments(&call["arguments"])));
        }
        if message["type"] == "function_call" {
            calls.push((message["name"].as_str().unwrap().to_owned(), arguments(&message["arguments"])));
        }
    }
    (text, calls)
}

/// Parses an answer.
pub(crate) fn read(dialect: Dialect, bytes: &[u8], is_streamed: bool) -> Answered {
    if !is_streamed {
        return Answer::whole(dialect, bytes);
    }
    let (mut splitter, mut answer) = (Splitter::new(EVENT_MAX), Answer::new(dialect));
    let mut take = |event: Event<'_>| {
        if let Event::Message { name, data } = event {
            answer.event(name, data);
        }
    };
    splitter.push(bytes, &mut take);
    splitter.finish(&mut take);
    answer.finish()
}

pub(crate) fn values(answered: &Answered) -> Vec<Value> {
    answered.messages.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

/// Everything a client gets until it goes away.
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) bytes: Vec<u8>,
    /// Whether it received the complete answer.
    pub(crate) is_whole: bool,
}

/// A client of one conversation.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
}

impl Client {
    pub(crate) fn new(url: &str, conversation: Option<&str>) -> Self {
        let mut headers = vec![("authorization", "Bearer k".to_owned())];
        headers.extend(conversation.map(|name| ("x-unforget-conversation", name.to_owned())));
        Self {
            http: reqwest::Client::builder()
                .no_proxy()
                .redirect(reqwest::redirect::Policy::none())
                .build()
                .unwrap(),
            url: url.to_owned(),
            headers,
        }
    }

    pub(crate) async fn send(&self, api: &str, body: &Value) -> reqwest::Result<reqwest::Response> {
        let mut request = self.http.post(format!("{}/v1/{api}", self.url)).json(body);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.timeout(Duration::from_mins(1)).send().await
    }

    /// Sends a call and goes away after this many events of its answer.
    pub(crate) async fn cut(&self, api: &str, body: &Value, events: usize) -> reqwest::Result<Got> {
        let mut response = self.send(api, body).await?;
        let mut got = Got { status: response.status().as_u16(), bytes: Vec::new(), is_whole: false };
        while count(&got.bytes) < events {
            match response.chunk().await {
                Ok(Some(chunk)) => got.bytes.extend_from_slice(&chunk),
                Ok(None) => {
                    got.is_whole = true;
                    break;
                }
                Err(_) => break,
            }
        }
        Ok(got)
    }

    /// Sends a call and reads its whole answer.
    pub(crate) async fn ask(&self, api: &str, body: &Value) -> reqwest::Result<Got> {
        self.cut(api, body, usize::MAX).await
    }
}

/// Number of complete events in a stream.
pub(crate) fn count(bytes: &[u8]) -> usize {
    bytes.windows(2).filter(|two| *two == b"\n\n").count()
}

/// A pseudo-random number derived from a seed.
pub(crate) fn chance(seed: u64, what: &str, below: u64) -> u64 {
    let digest = Digest::of(format!("{seed} {what}").as_bytes());
    digest.0.iter().take(7).fold(0u64, |number, byte| number << 8 | u64::from(*byte)) % below
}
