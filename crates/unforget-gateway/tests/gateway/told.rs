//! Providers' statements about their limits, true or false: no prompt shrinks that would have fitted.

use std::sync::{Arc, Mutex};

use crate::support::daemon::Running;
use crate::support::talk::{Client, body, user};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use serde_json::{Value, json};
use unforget_wire::Dialect;

/// A provider's statement about a call's limits, if it refuses the call.
type Refuses = fn(&Value, &HeaderMap) -> Option<String>;

/// The key of a received request, and whether it was answered.
type Came = (Option<String>, bool);

/// Headers of a request.
type Headers<'a> = &'a [(&'static str, &'a str)];

#[derive(Clone)]
struct Provider {
    refuses: Refuses,
    keys: Arc<Mutex<Vec<Came>>>,
}

async fn take(State(provider): State<Provider>, headers: HeaderMap, body: Bytes) -> Response {
    let call: Value = serde_json::from_slice(&body).unwrap();
    let key = headers.get("idempotency-key").map(|key| key.to_str().unwrap().to_owned());
    let refused = (provider.refuses)(&call, &headers);
    provider.keys.lock().unwrap().push((key, refused.is_none()));
    if let Some(why) = refused {
        let why = json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}});
        return (StatusCode::BAD_REQUEST, axum::Json(why)).into_response();
    }
    axum::Json(json!({"id": "a", "object": "chat.completion", "type": "message", "role": "assistant",
        "content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn",
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}]}))
    .into_response()
}

struct Place {
    running: Running,
    provider: Provider,
    _folder: tempfile::TempDir,
}

async fn place(refuses: Refuses) -> Place {
    let provider = Provider { refuses, keys: Arc::default() };
    let routes = Router::new()
        .route("/v1/messages", post(take))
        .route("/v1/chat/completions", post(take))
        .with_state(provider.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&folder.path().join("a.db"), &url, 100_000).await;
    Place { running, provider, _folder: folder }
}

/// A history of about this many thousand tokens.
fn long(thousands: usize) -> Vec<Value> {
    let turn = |number: usize| {
        let text = format!("Turn {number}. {}", "The heron nests in the reeds. ".repeat(30));
        [user(&text), json!({"role": "assistant", "content": "I see."})]
    };
    let mut messages: Vec<Value> = (0..thousands * 4).flat_map(turn).collect();
    messages.push(user("And now?"));
    messages
}

struct Asked {
    status: u16,
    authority: String,
}

impl Place {
    /// Asks in a separate conversation.
    async fn ask(&self, name: &str, (dialect, messages): (Dialect, &[Value]), output: u64) -> Asked {
        self.ask_with(name, (dialect, messages), output, &[]).await
    }

    async fn ask_with(
        &self,
        name: &str,
        (dialect, messages): (Dialect, &[Value]),
        output: u64,
        headers: Headers<'_>,
    ) -> Asked {
        let mut call = body(dialect, messages, false);
        let (api, most) = match dialect {
            Dialect::Anthropic => ("messages", "max_tokens"),
            _ => ("chat/completions", "max_completion_tokens"),
        };
        call[most] = json!(output);
        let mut client = Client::new(&self.running.url(), Some(name));
        for (header, value) in headers {
            client.headers.retain(|(known, _)| known != header);
            client.headers.push((header, (*value).to_owned()));
        }
        let response = client.send(api, &call).await.unwrap();
        let status = response.status().as_u16();
        let authority = response.headers().get("x-unforget-authority");
        let authority = authority.map(|value| value.to_str().unwrap().to_owned()).unwrap_or_default();
        Asked { status, authority }
    }
}

/// The wording of vLLM, whose limit has the answer subtracted.
fn vllm(call: &Value, window: u64) -> Option<String> {
    let (bytes, output) = (call.to_string().len() as u64, call["max_completion_tokens"].as_u64()?);
    let (input, limit) = (bytes / 5, window.saturating_sub(output));
    (input > limit).then(|| {
        format!(
            "This model's maximum context length is {limit} tokens. However, your request has {input} input tokens. Please \
             reduce the length of the input messages. (parameter=input_tokens, value={input})"
        )
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_that_no_model_has_is_not_believed() {
    let place = place(|call, _| vllm(call, 40_000)).await;
    let messages = long(4);
    let chat = (Dialect::OpenAiChat, messages.as_slice());
    // The named limit is 100.
    place.ask("greedy", chat, 39_900).await;
    for name in ["greedy", "other"] {
        let asked = place.ask(name, chat, 500).await;
        assert_eq!((asked.status, asked.authority.as_str()), (200, "as-sent"), "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_with_the_answer_subtracted_holds_for_such_answers() {
    let place = place(|call, _| vllm(call, 40_000)).await;
    let messages = long(20);
    let chat = (Dialect::OpenAiChat, messages.as_slice());
    // The named limit is 10,000.
    assert_eq!(place.ask("greedy", chat, 30_000).await.status, 200);
    let asked = place.ask("modest", chat, 500).await;
    assert_eq!((asked.status, asked.authority.as_str()), (200, "as-sent"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_limit_is_of_those_who_were_told_it() {
    fn refuses(call: &Value, headers: &HeaderMap) -> Option<String> {
        let is_large = headers.contains_key("anthropic-beta") || headers["authorization"] == "Bearer large";
        let input = call.to_string().len() as u64 / 5;
        (input > 10_000 && !is_large && call["model"] == "scripted")
            .then(|| format!("prompt is too long: {input} tokens > 10000 maximum"))
    }
    let place = place(refuses).await;
    let messages = long(20);
    let call = (Dialect::Anthropic, messages.as_slice());
    let told = place.ask("a", call, 4_000).await;
    assert!(told.status == 200 && told.authority != "as-sent", "{} {}", told.status, told.authority);
    let table: &[(Headers<'_>, bool, &str)] = &[
        (&[], false, "the same again"),
        (&[("anthropic-beta", "context-1m-2025-08-07")], true, "a beta with a larger window"),
        (&[("authorization", "Bearer large")], true, "another key"),
    ];
    for (index, (headers, is_as_sent, why)) in table.iter().enumerate() {
        let asked = place.ask_with(&format!("c{index}"), call, 4_000, headers).await;
        assert_eq!((asked.status, asked.authority == "as-sent"), (200, *is_as_sent), "{why}");
    }
    // A limit of the input is not a window that includes the answer: a call that just fits is sent unchanged.
    let messages = long(5);
    let asked = place.ask("fits", (Dialect::Anthropic, &messages), 4_000).await;
    assert_eq!((asked.status, asked.authority.as_str()), (200, "as-sent"));
}

/// A provider sees a client's idempotency key with the client's own body only.
#[tokio::test(flavor = "multi_thread")]
async fn a_client_s_key_stands_for_its_own_body() {
    let place = place(|call, _| vllm(call, 20_000)).await;
    let messages = long(40);
    let chat = (Dialect::OpenAiChat, messages.as_slice());
    let asked = place.ask_with("a", chat, 500, &[("idempotency-key", "k1")]).await;
    assert_eq!(asked.status, 200);
    assert_eq!(*place.provider.keys.lock().unwrap(), [(Some("k1".to_owned()), false), (None, true)]);
}

/// A call refused after another call of its conversation arrived is still repeated with less.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_behind_another_call_is_answered_with_less() {
    let (come, came) = tokio::sync::watch::channel(0);
    let mut seen = came.clone();
    let refuse = move |body: Bytes| {
        let (come, mut came) = (come.clone(), came.clone());
        async move {
            let call: Value = serde_json::from_slice(&body).unwrap();
            let is_first = call.to_string().contains("The first question");
            let mut number = 0;
            come.send_modify(|all| {
                *all += 1;
                number = *all;
            });
            if is_first && number == 1 {
                came.wait_for(|all| *all > 1).await.unwrap();
                let why = "This model's maximum context length is 12000 tokens. However, your request has 15000 input tokens.";
                let why = json!({"error": {"type": "invalid_request_error", "message": why,
                    "code": "context_length_exceeded"}});
                return (StatusCode::BAD_REQUEST, axum::Json(why)).into_response();
            }
            axum::Json(json!({"id": "a", "object": "chat.completion", "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Yes."}}]}))
            .into_response()
        }
    };
    let routes = Router::new().route("/v1/chat/completions", post(refuse));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let folder = tempfile::tempdir().unwrap();
    let running = Running::start(&folder.path().join("a.db"), &url, 20_000).await;
    let client = Client::new(&running.url(), Some("c"));
    let question = |text: &str| {
        let messages = [long(40), vec![json!({"role": "assistant", "content": "Yes."}), user(text)]].concat();
        body(Dialect::OpenAiChat, &messages, false)
    };
    let (first, second) = (question("The first question"), question("The second question"));
    let other = client.clone();
    let first = tokio::spawn(async move { other.ask("chat/completions", &first).await.unwrap() });
    seen.wait_for(|all| *all > 0).await.unwrap();
    let second = client.ask("chat/completions", &second).await.unwrap();
    let first = first.await.unwrap();
    assert_eq!((first.status, second.status), (200, 200), "{}", String::from_utf8_lossy(&first.bytes));
}

/// OpenAI names no limit. After one refusal, no call of that size is sent again.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_without_a_figure_is_learned_at_once() {
    fn refuses(call: &Value, _: &HeaderMap) -> Option<String> {
        (call.to_string().len() > 80_000).then(|| {
            "Your input exceeds the context window of this model. Please adjust your input and try again."
                .to_owned()
        })
    }
    let place = place(refuses).await;
    let refused = || place.provider.keys.lock().unwrap().iter().filter(|(_, is_taken)| !is_taken).count();
    for thousands in 10..50 {
        let messages = long(thousands);
        let asked = place.ask("grows", (Dialect::OpenAiChat, &messages), 500).await;
        assert_eq!(asked.status, 200, "the client sees none of it");
    }
    assert!((1..=4).contains(&refused()), "{} of 40 calls were sent twice", refused());
    let before = refused();
    let asked = place.ask("other", (Dialect::OpenAiChat, &long(40)), 500).await;
    assert_eq!((asked.status, refused()), (200, before), "another conversation of the same caller knows it");
}

/// A client that reads the figures has to learn what the call needs and what there is.
#[tokio::test(flavor = "multi_thread")]
async fn instructions_that_alone_exceed_the_window_are_told_in_true_figures() {
    let place = place(|_, _| None).await;
    for (words, dialect) in [(150_000, Dialect::Anthropic), (99_000, Dialect::OpenAiChat)] {
        let instructions = "heron ".repeat(words);
        let mut call = body(dialect, &[user("And now?")], false);
        let api = if dialect == Dialect::Anthropic {
            (call["system"], call["max_tokens"]) = (json!(instructions), json!(2_000));
            "messages"
        } else {
            call["messages"] = json!([{"role": "system", "content": instructions}, user("And now?")]);
            call["max_completion_tokens"] = json!(2_000);
            "chat/completions"
        };
        let client = Client::new(&place.running.url(), Some(dialect.name()));
        let response = client.send(api, &call).await.unwrap();
        assert_eq!(response.status().as_u16(), 400, "{dialect:?}");
        let told: Value = response.json().await.unwrap();
        let told = told["error"]["message"].as_str().unwrap();
        assert!(
            told.starts_with("prompt is too long: ") && told.ends_with(" of them instructions and tools)")
        );
        let figures: Vec<u64> =
            told.split(|c: char| !c.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect();
        let [needed, most, fixed] = figures[..] else { panic!("{told}") };
        assert!((95_000..=100_000).contains(&most), "{told}");
        assert!(fixed >= words as u64, "{told}");
        assert!(needed > fixed && needed > most && needed < fixed + 2_000, "{told}");
    }
}
