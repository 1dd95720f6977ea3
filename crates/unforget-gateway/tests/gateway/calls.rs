//! Clients of three APIs at the gateway, before a provider that enforces the rules of real ones.

use std::sync::Arc;
use unforget_store::read_all;

use crate::support::daemon::Running;
use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_engine::host::Host;
use unforget_gateway::{Recall, Settings};
use unforget_testkit::upstream::{Say, Script, Upstream};

/// A client of one API that keeps its whole conversation and sends it with each call.
struct Client {
    api: &'static str,
    url: String,
    messages: Vec<Value>,
    is_streamed: bool,
    http: reqwest::Client,
    headers: Vec<(&'static str, String)>,
}

impl Client {
    fn new(api: &'static str, running: &Running, is_streamed: bool) -> Self {
        let (url, http) = (running.url(), reqwest::Client::new());
        Self {
            api,
            url,
            messages: Vec::new(),
            is_streamed,
            http,
            headers: vec![("authorization", "Bearer k".into())],
        }
    }

    fn body(&self) -> Value {
        let tool =
            json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let mut body = match self.api {
            "messages" => json!({
                "system": "You are helpful.", "max_tokens": 1024, "messages": self.messages,
                "tools": [{"name": "read", "description": "Reads a file", "input_schema": tool}],
            }),
            "chat/completions" => {
                let system = json!({"role": "system", "content": "You are helpful."});
                let messages: Vec<&Value> = std::iter::once(&system).chain(&self.messages).collect();
                json!({
                    "messages": messages, "max_completion_tokens": 1024,
                    "tools": [{"type": "function", "function": {"name": "read", "description": "Reads a file", "parameters": tool}}],
                })
            }
            _ => json!({
                "instructions": "You are helpful.", "max_output_tokens": 1024, "input": self.messages, "store": false,
                "tools": [{"type": "function", "name": "read", "description": "Reads a file", "parameters": tool, "strict": false}],
            }),
        };
        body["model"] = json!("scripted");
        body["stream"] = json!(self.is_streamed);
        body
    }

    async fn send(&self, body: &Value) -> reqwest::Response {
        let mut request = self.http.post(format!("{}/v1/{}", self.url, self.api)).json(body);
        for (name, value) in &self.headers {
            request = request.header(*name, value);
        }
        request.send().await.unwrap()
    }

    /// Asks, and adds the answer to the conversation as SDKs do. Returns the authority of the prompt.
    async fn ask(&mut self) -> String {
        let response = self.send(&self.body()).await;
        let status = response.status();
        let authority =
            response.headers().get("x-unforget-authority").map(|value| value.to_str().unwrap().to_owned());
        let text = response.text().await.unwrap();
        assert_eq!(status, 200, "{text}");
        let dialect = match self.api {
            "messages" => unforget_wire::Dialect::Anthropic,
            "responses" => unforget_wire::Dialect::OpenAiResponses,
            _ => unforget_wire::Dialect::OpenAiChat,
        };
        let said = if self.is_streamed {
            let mut answer = unforget_wire::exchange::Answer::new(dialect);
            for event in text.split("\n\n").filter(|event| !event.is_empty()) {
                let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
                answer.event("", data);
            }
            answer.finish()
        } else {
            unforget_wire::exchange::Answer::whole(dialect, text.as_bytes())
        };
        assert_eq!(said.ended, unforget_wire::exchange::Ended::Complete);
        self.messages.extend(said.messages.iter().map(|message| without_id(message)));
        authority.unwrap()
    }

    fn say(&mut self, text: &str) {
        self.messages.push(json!({"role": "user", "content": text}));
    }

    /// Adds results for the calls of the newest answer; returns whether there were any.
    fn do_tools(&mut self) -> bool {
        let result = |id: &Value| {
            let seed = Digest::of(id.to_string().as_bytes()).hex();
            format!("contents of {id}\n{}", format!("{seed} value\n").repeat(40))
        };
        let last = self.messages.last().unwrap().clone();
        match self.api {
            "messages" => {
                let calls: Vec<Value> = last["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use")
                    .map(|block| json!({"type": "tool_result", "tool_use_id": block["id"], "content": result(&block["id"])})).collect();
                let any = !calls.is_empty();
                if any {
                    self.messages.push(json!({"role": "user", "content": calls}));
                }
                any
            }
            "chat/completions" => {
                let calls: Vec<Value> = last["tool_calls"].as_array().into_iter().flatten()
                    .map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": result(&call["id"])})).collect();
                let any = !calls.is_empty();
                self.messages.extend(calls);
                any
            }
            _ => {
                let calls: Vec<Value> = self.messages.iter().rev().take_while(|item| item["type"] == "function_call")
                    .map(|call| json!({"type": "function_call_output", "call_id": call["call_id"], "output": result(&call["call_id"])})).collect();
                let any = !calls.is_empty();
                self.messages.extend(calls.into_iter().rev());
                any
            }
        }
    }
}

/// Every question is answered with a tool call, every result with text.
fn script() -> Script {
    Arc::new(|request, number| {
        let messages = request.get("messages").or_else(|| request.get("input")).unwrap();
        let last = messages.as_array().and_then(|messages| messages.last()).unwrap_or(messages);
        let is_result = last["role"] == "tool"
            || last["type"] == "function_call_output"
            || last["content"][0]["type"] == "tool_result";
        if is_result {
            Say::text(format!("Done with number {number}. The file says so, in many words. ").repeat(6))
        } else {
            Say::deed("read", json!({"path": format!("notes/file-{number}.txt")}))
        }
    })
}

async fn long(api: &'static str, is_streamed: bool, turns: usize) {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(16_000, script()).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 16_000).await;
    let mut client = Client::new(api, &running, is_streamed);
    let mut authorities = Vec::new();
    for turn in 0..turns {
        client.say(&format!("Question {turn}: what is in the next file? Remember the word w{turn}x."));
        authorities.push(client.ask().await);
        while client.do_tools() {
            authorities.push(client.ask().await);
        }
    }
    let came = upstream.came().clone();
    assert_eq!(came.len(), authorities.len(), "one call upstream for each call");
    for call in &came {
        assert_eq!(
            (call.status, call.violations.as_slice()),
            (200, [].as_slice()),
            "valid and under the window"
        );
    }
    assert_eq!(authorities.first().map(String::as_str), Some("as-sent"));
    assert!(authorities.iter().any(|authority| authority == "assembled"), "{authorities:?}");
    assert!(
        authorities.iter().all(|authority| authority == "as-sent" || authority == "assembled"),
        "{authorities:?}"
    );
    let host = Arc::clone(&running.host);
    // Ends when all answers are stored.
    running.end().await;
    let lane = lane(&host);
    let kept = host.path(&lane, form(api)).unwrap();
    let kept: Vec<Value> = kept.iter().map(|text| without_id(text)).collect();
    let differs = kept.iter().zip(&client.messages).position(|(kept, sent)| kept != sent);
    assert_eq!((differs, kept.len()), (None, client.messages.len()), "every message once, in order");
}

/// An item as clients send it back, without its id: the id would imply preceding reasoning, and there is none.
fn without_id(message: &str) -> Value {
    let mut message: Value = serde_json::from_str(message).unwrap();
    message.as_object_mut().unwrap().remove("id");
    message
}

fn form(api: &str) -> unforget_wire::Format {
    match api {
        "messages" => unforget_wire::Format::AnthropicMessages,
        "responses" => unforget_wire::Format::OpenAiResponses,
        _ => unforget_wire::Format::OpenAiChat,
    }
}

/// The only lane.
fn lane(host: &Host) -> unforget_engine::host::LaneKey {
    let all = read_all(|page| host.engine().store().conversations(page)).unwrap();
    let keys: Vec<String> =
        all.iter().filter_map(|one| one.key.0.strip_prefix("journal:").map(str::to_owned)).collect();
    let lanes: Vec<&String> = keys.iter().filter(|key| !key.starts_with("register/")).collect();
    assert_eq!(lanes.len(), 1, "{keys:?}");
    unforget_engine::host::LaneKey(lanes[0].clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_out_is_recalled_for_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(16_000, script()).await;
    let settings = Settings { recall: Recall::Slot, ..Settings::default() };
    let running = Running::start_with(&folder.path().join("a.db"), &upstream.url(), 16_000, settings).await;
    let mut client = Client::new("messages", &running, true);
    client.say("Begin.");
    client.ask().await;
    for turn in 0..32 {
        if client.do_tools() {
            client.ask().await;
        }
        client.say(&format!("Question {turn}: what is in the next file?"));
        client.ask().await;
    }
    client.do_tools();
    client.ask().await;
    let result = client.messages[2]["content"][0]["content"].as_str().unwrap().to_owned();
    let value = result.lines().nth(1).unwrap();
    client.say("What were the contents of toolu_00000000_0?");
    client.ask().await;
    let came = upstream.came().clone();
    assert!(came.iter().all(|call| call.status == 200), "valid and under the window");
    let last = String::from_utf8(came.last().unwrap().body.clone()).unwrap();
    let slot = last.find("<history-recall").expect("a block of recalled text");
    let question = last.rfind("What were the contents").unwrap();
    assert!(
        slot < question && last[slot..question].contains(value),
        "before the question, with what it asks for"
    );
    assert!(
        !client.messages.iter().any(|message| message.to_string().contains("history-recall")),
        "never the client's"
    );
    let host = Arc::clone(&running.host);
    running.end().await;
    let kept = host.path(&lane(&host), form("messages")).unwrap();
    assert!(kept.iter().all(|message| !message.contains("history-recall")), "never stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_whole() {
    long("messages", false, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn anthropic_streamed() {
    long("messages", true, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_whole() {
    long("chat/completions", false, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn chat_streamed() {
    long("chat/completions", true, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_whole() {
    long("responses", false, 30).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn responses_streamed() {
    long("responses", true, 30).await;
}
