//! A person's view of the gateway: names, cache marks, unread requests, the fate of the cache.

use std::sync::{Arc, Mutex};

use crate::support::daemon::Running;
use crate::support::talk::{Client, body, user};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use serde_json::{Value, json};
use unforget_core::cache::CacheFate;
use unforget_engine::host::LaneKey;
use unforget_gateway::{Recall, Settings};
use unforget_wire::Dialect;

/// Received bodies, in order.
#[derive(Clone, Default)]
struct Provider {
    came: Arc<Mutex<Vec<Value>>>,
}

/// The model's input in a call, in order and without marks.
fn read(call: &Value) -> String {
    let text = format!("{}{}{}", call["tools"], call["system"], call["messages"]);
    text.replace(r#""cache_control":{"type":"ephemeral"},"#, "")
        .replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

/// How much of it the previous call had.
fn served(before: Option<&Value>, call: &Value) -> u64 {
    let before = before.map(read).unwrap_or_default();
    before.bytes().zip(read(call).bytes()).take_while(|(one, other)| one == other).count() as u64 / 5
}

async fn take(State(provider): State<Provider>, body: Bytes) -> Response {
    let call: Value = serde_json::from_slice(&body).unwrap_or_default();
    let input = read(&call).len() as u64 / 5;
    let cached = served(provider.came.lock().unwrap().last(), &call);
    provider.came.lock().unwrap().push(call);
    axum::Json(json!({"id": "a", "type": "message", "role": "assistant", "model": "scripted",
        "content": [{"type": "text", "text": "I see."}], "stop_reason": "end_turn",
        "usage": {"input_tokens": input - cached, "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0, "output_tokens": 3}}))
    .into_response()
}

struct Place {
    running: Running,
    provider: Provider,
    _folder: tempfile::TempDir,
}

async fn place(window: u64) -> Place {
    place_with(window, Settings::default()).await
}

async fn place_with(window: u64, settings: Settings) -> Place {
    let provider = Provider::default();
    let routes = Router::new().fallback(any(take)).with_state(provider.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start_with(&folder.path().join("a.db"), &url, window, settings).await;
    Place { running, provider, _folder: folder }
}

const MARK: &str = "cache_control";

/// A user message with a mark on its last block, like Claude Code's newest one.
fn marked(text: &str) -> Value {
    json!({"role": "user", "content": [{"type": "text", "text": text, MARK: {"type": "ephemeral"}}]})
}

/// Places of marks in a body: in the system, and in messages as `message/block`.
fn marks(call: &Value) -> Vec<String> {
    let system = call["system"].as_array().into_iter().flatten();
    let system = system.filter(|block| block.get(MARK).is_some()).map(|_| "system".to_owned());
    let messages = call["messages"].as_array().into_iter().flatten().enumerate();
    let messages = messages.flat_map(|(at, message)| {
        let blocks = message["content"].as_array().into_iter().flatten().enumerate();
        let marked = blocks.filter(|(_, block)| block.get(MARK).is_some());
        marked.map(|(block, _)| format!("{at}/{block}")).collect::<Vec<_>>()
    });
    system.chain(messages).collect()
}

/// A conversation that grows turn by turn until its prompt contains summaries.
async fn talk_long(place: &Place, client: &Client, system_marks: usize, turns: usize) {
    let mut history = Vec::new();
    for turn in 0..turns {
        let text = format!("Turn {turn}. {}", "The heron nests in the reeds by the river. ".repeat(60));
        let mut messages = history.clone();
        messages.push(marked(&text));
        let mut call = body(Dialect::Anthropic, &messages, false);
        let blocks = (0..3).map(|at| {
            let mut block = json!({"type": "text", "text": format!("Part {at} of the rules.")});
            if at < system_marks {
                block[MARK] = json!({"type": "ephemeral"});
            }
            block
        });
        call["system"] = blocks.collect();
        // The provider's count of the last call is taken after its answer.
        place.running.quiet().await;
        let got = client.ask("messages", &call).await.unwrap();
        assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.bytes));
        history.push(json!({"role": "user", "content": [{"type": "text", "text": text}]}));
        history.push(json!({"role": "assistant", "content": "I see."}));
    }
    assert!(!place.provider.came.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fourth_mark_stands_behind_the_summaries() {
    for (system_marks, want) in [(0, 2), (1, 3), (2, 4), (3, 4)] {
        let place = place(16_000).await;
        let client = Client::new(&place.running.url(), Some("a"));
        talk_long(&place, &client, system_marks, 40).await;
        let came = place.provider.came.lock().unwrap();
        let last = came.last().unwrap();
        let found = marks(last);
        assert_eq!(found.len(), want, "{found:?}");
        assert!(came.iter().all(|call| marks(call).len() <= 4), "a provider takes four");
        if system_marks < 3 {
            let behind = &found[system_marks];
            let (message, block) = behind.split_once('/').unwrap();
            assert_eq!(message, "0", "{found:?}");
            let blocks = last["messages"][0]["content"].as_array().unwrap();
            let at: usize = block.parse().unwrap();
            let is_summary = |block: &Value| block["text"].as_str().unwrap().contains("history-summary");
            assert!(is_summary(&blocks[at]), "{}", blocks[at]);
            assert!(blocks.get(at + 1).is_none_or(|next| !is_summary(next)), "behind the last of them");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_the_cache_is_told_by_cause() {
    let place = place(16_000).await;
    let client = Client::new(&place.running.url(), Some("a"));
    talk_long(&place, &client, 1, 80).await;
    let caches = Arc::clone(place.running.gateway.caches());
    // Learning from the last answer happens after it.
    place.running.end().await;
    let kept = caches.of(&LaneKey("gateway/default/a".into())).unwrap();
    let rows: Vec<_> = kept.ledger.rows().map(|(fate, sum)| (*fate, sum.calls)).collect();
    let of = |wanted: &dyn Fn(&CacheFate<&str>) -> bool| -> u64 {
        rows.iter().filter(|(fate, _)| wanted(fate)).map(|(_, calls)| calls).sum()
    };
    assert_eq!(kept.ledger.calls(), 80, "{rows:?}");
    assert_eq!(of(&|fate| *fate == CacheFate::First), 1, "{rows:?}");
    assert_eq!(of(&|fate| *fate == CacheFate::Unknown || *fate == CacheFate::Client), 0, "{rows:?}");
    assert_eq!(
        of(&|fate| *fate == CacheFate::Ours("fitted")),
        1,
        "from as it came to a prompt of ours: {rows:?}"
    );
    assert!(of(&|fate| *fate == CacheFate::Ours("compaction")) >= 1, "{rows:?}");
    assert!(of(&|fate| *fate == CacheFate::Hit) > 60, "{rows:?}");
    assert_eq!(caches.all(), kept.ledger, "one lane is all");
    for count in &kept.counts {
        let sizes = [1, count.input, count.bound, count.budget];
        assert!(sizes.is_sorted(), "truth, bound and budget of a call: {count:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_served_is_told_so() {
    let place = place(16_000).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    for path in ["/v1beta/models/g:generateContent", "/api/chat", "/v1/v1/messages", "//v1/messages"] {
        let answer = http.post(format!("{}{path}", place.running.url())).body("{}").send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        let said = answer.text().await.unwrap();
        assert!(said.contains("`pass`") && said.contains("sent nowhere"), "{path}: {said}");
    }
    assert!(place.provider.came.lock().unwrap().is_empty(), "the provider hears nothing of it");
    let embeddings = http.post(format!("{}/v1/embeddings", place.running.url())).body("{}");
    let answer = embeddings.send().await.unwrap();
    assert_eq!(answer.headers()["x-unforget-authority"], "passed-through");
    let call = body(Dialect::Anthropic, &[user("Hello")], false);
    let answer = Client::new(&place.running.url(), None).send("messages", &call).await.unwrap();
    assert_eq!(answer.headers()["x-unforget-authority"], "as-sent", "a call is none of them");
}

/// Codex asks for a websocket first. Seven such requests used to go to the provider, each with a wait.
#[tokio::test(flavor = "multi_thread")]
async fn a_websocket_is_refused_at_once() {
    let place = place(16_000).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let request = http
        .get(format!("{}/v1/responses", place.running.url()))
        .header("connection", "Upgrade")
        .header("upgrade", "WebSocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let answer = request.send().await.unwrap();
    assert_eq!(answer.status(), 426);
    assert!(place.provider.came.lock().unwrap().is_empty(), "the provider hears nothing of it");
}

/// Text that the prompt already shows is not recalled, and neither is text with little relation to the question.
#[tokio::test(flavor = "multi_thread")]
async fn a_slot_has_a_floor() {
    let place = place_with(16_000, Settings { recall: Recall::Slot, ..Settings::default() }).await;
    let client = Client::new(&place.running.url(), Some("a"));
    let otters = "The otter sleeps under the bridge. ".repeat(60);
    let first = format!("{otters} The harbour's gate opens with ZX7788. {otters}");
    let mut history = vec![user(&first), json!({"role": "assistant", "content": "Noted."})];
    let ask = |history: &[Value]| {
        let call = body(Dialect::Anthropic, history, false);
        let client = client.clone();
        async move { client.ask("messages", &call).await.unwrap() }
    };
    for turn in 0..40 {
        let said = if turn == 38 {
            "The mill's wheel is called amber kettle.".to_owned()
        } else {
            format!(
                "Turn {turn}. {}",
                "The heron nests in the reeds by the river and opens its wings. ".repeat(40)
            )
        };
        history.push(user(&said));
        ask(&history).await;
        history.push(json!({"role": "assistant", "content": "I see."}));
    }
    let block = |place: &Place| {
        let came = place.provider.came.lock().unwrap();
        let last = came.last().unwrap()["messages"].to_string();
        let start = last.find("<history-recall");
        start.map(|start| last[start..start + last[start..].find("</history-recall").unwrap()].to_owned())
    };
    let with = |question: &str| [history.clone(), vec![user(question)]].concat();
    ask(&with("What is the wheel of the mill called?")).await;
    assert_eq!(block(&place), None, "the answer is shown already");
    ask(&with("With what does the gate of the harbour open?")).await;
    let found = block(&place).expect("a block");
    assert!(found.contains("ZX7788"), "{found}");
    assert!(!found.contains("heron"), "nothing that has one word of the question: {found}");
}

/// opencode asks for a title first, in that session and without tools.
#[tokio::test(flavor = "multi_thread")]
async fn a_title_does_not_take_the_session_s_name() {
    let place = place(16_000).await;
    let client = Client::new(&place.running.url(), None);
    let client = Client {
        headers: [client.headers, vec![("x-claude-code-session-id", "ses_1".to_owned())]].concat(),
        ..client
    };
    let named =
        |answer: &reqwest::Response| answer.headers()["x-unforget-conversation"].to_str().unwrap().to_owned();
    let mut title = body(Dialect::Anthropic, &[user("Generate a title: fix the test")], false);
    title["system"] = json!("You write titles.");
    let answer = client.send("messages", &title).await.unwrap();
    assert_eq!(named(&answer), "ses_1/side");
    answer.bytes().await.unwrap();
    let mut talk = body(Dialect::Anthropic, &[user("Fix the test")], false);
    talk["tools"] = json!([{"name": "read", "input_schema": {"type": "object"}}]);
    let answer = client.send("messages", &talk).await.unwrap();
    assert_eq!(named(&answer), "ses_1");
    answer.bytes().await.unwrap();
    let plain = Client::new(&place.running.url(), None);
    let answer =
        plain.send("messages", &body(Dialect::Anthropic, &[user("Fix the test")], false)).await.unwrap();
    assert!(named(&answer).starts_with("fix-the-test-"), "{}", named(&answer));
}
