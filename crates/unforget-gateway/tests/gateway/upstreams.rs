//! The provider that gets a request, the key, and the tenant.

use crate::support::daemon;

use std::sync::{Arc, Mutex};

use crate::support::daemon::Running;
use crate::support::talk::{body, user};
use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use reqwest::Method;
use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_gateway::{Api, Key, Settings, Upstream};
use unforget_server::serve::{Guard, Limits, Scope, Token};
use unforget_wire::Dialect;

/// Requests received by providers: the provider, and the headers.
type Came = Arc<Mutex<Vec<(&'static str, String, axum::http::HeaderMap)>>>;

async fn take(State((name, came)): State<(&'static str, Came)>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let path = format!("{} {}", parts.method, parts.uri);
    let bytes = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let call: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let number = {
        let mut came = came.lock().unwrap();
        came.push((name, path, parts.headers));
        came.len()
    };
    let answer =
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Yes."}]});
    axum::Json(json!({"id": format!("resp_{number}"), "object": "response", "status": "completed",
        "model": call["model"], "output": [answer]}))
    .into_response()
}

/// A provider that answers everything and records its requests.
async fn provider(name: &'static str, came: &Came) -> String {
    let routes = Router::new().fallback(take).with_state((name, Arc::clone(came)));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    url
}

struct Place {
    running: Running,
    came: Came,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

/// Providers by name, API, models and key; and tenants with tokens: `uft_` and the name.
async fn place(providers: &[(&'static str, Api, &[&str], Option<&str>)], tenants: &[&str]) -> Place {
    let (came, folder) = (Came::default(), tempfile::tempdir().unwrap());
    let mut upstreams = Vec::new();
    for (name, api, models, key) in providers {
        let url = provider(name, &came).await;
        let models = models.iter().map(|model| (*model).to_owned()).collect();
        let key = key.and_then(Key::new);
        upstreams.push(Upstream { models, key, ..Upstream::new(name, &url, *api).unwrap() });
    }
    let token = |tenant: &&str| Token {
        tenant: (*tenant).into(),
        scopes: vec![Scope::Gateway],
        digest: Digest::of(format!("uft_{tenant}").as_bytes()),
    };
    let guard = Guard { tokens: tenants.iter().map(token).collect(), ..Guard::default() };
    let settings = Settings { upstreams, ..Settings::default() };
    let db = folder.path().join("a.db");
    let opened = (daemon::host(Engine::open(&db).unwrap()), daemon::spool(&db));
    let running = Running::start_as(opened, settings, (guard, Limits::default())).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    Place { running, came, http, _folder: folder }
}

struct Got {
    status: u16,
    body: Value,
    /// The provider that was asked.
    at: Option<&'static str>,
    headers: axum::http::HeaderMap,
}

impl Place {
    async fn ask(&self, (method, path): (&str, &str), headers: &[(&str, &str)], body: Option<Value>) -> Got {
        self.came.lock().unwrap().clear();
        self.ask_more((method, path), headers, body).await
    }

    /// Asks without forgetting the earlier requests.
    async fn ask_more(
        &self,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: Option<Value>,
    ) -> Got {
        let before = self.came.lock().unwrap().len();
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let mut request = self.http.request(method, format!("{}{path}", self.running.url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            request = request.json(&body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        let body = serde_json::from_slice(&response.bytes().await.unwrap()).unwrap_or_default();
        let came = self.came.lock().unwrap();
        let last = came.get(before).cloned();
        let (at, headers) = last.map_or_else(Default::default, |(name, _, headers)| (Some(name), headers));
        Got { status, body, at, headers }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_paths_go_to_their_api() {
    let place = place(
        &[
            ("small", Api::Anthropic, &["claude-haiku-*"], None),
            ("claude", Api::Anthropic, &["claude-*"], None),
            ("gpt", Api::OpenAi, &["gpt-*"], None),
        ],
        &[],
    )
    .await;
    let count = |model: &str| Some(json!({"model": model, "messages": [user("Hello")]}));
    let anthropic: &[(&str, &str)] = &[("anthropic-version", "2023-06-01")];
    let table = [
        (("GET", "/v1/models"), &[][..], None, Some("gpt"), "no model is named"),
        (("GET", "/v1/models"), anthropic, None, Some("small"), "of the other API"),
        (("GET", "/v1/threads/t/messages"), &[], None, Some("gpt"), "messages of a thread"),
        (("GET", "/v1/chat/completions/c/messages"), &[], None, Some("gpt"), "of a stored completion"),
        (("GET", "/v1/files?after=/messages"), &[], None, Some("gpt"), "a query is no path"),
        (("GET", "/v1/messages/batches"), &[], None, Some("small"), "batches"),
        (("POST", "/v1/messages/count_tokens"), &[], count("claude-opus-5"), Some("claude"), "its model"),
        (("POST", "/v1/messages/count_tokens"), &[], count("claude-haiku-5"), Some("small"), "another"),
        (("POST", "/v1/messages/count_tokens"), &[], count("other"), None, "one that goes nowhere"),
        (("POST", "/v1/messages/count_tokens"), &[], Some(json!([])), Some("small"), "the provider says so"),
        (("POST", "/v1/embeddings"), &[], count("gpt-emb"), Some("gpt"), "any body may name a model"),
        (("POST", "/v1/embeddings"), &[], count("emb"), None, "one that goes nowhere"),
    ];
    for (request, headers, body, want, why) in table {
        let got = place.ask(request, headers, body).await;
        assert_eq!(
            (got.at, got.status),
            (want, if want.is_some() { 200 } else { 404 }),
            "{request:?}: {why}"
        );
    }
    // A compressed body names a model too.
    let packed = zstd::encode_all(count("claude-opus-5").unwrap().to_string().as_bytes(), 1).unwrap();
    let request = place.http.post(format!("{}/v1/messages/count_tokens", place.running.url()));
    let response = request.header("content-encoding", "zstd").body(packed).send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert_eq!(place.came.lock().unwrap().last().unwrap().0, "claude");
}

/// What belongs to no upstream is sent to none, and no key reaches a provider that it is not for.
#[tokio::test(flavor = "multi_thread")]
async fn foreign_paths_and_keys_go_nowhere() {
    let place = place(
        &[
            ("openai", Api::OpenAi, &["gpt-*"], None),
            ("anthropic", Api::Anthropic, &[], None),
            ("local", Api::OpenAi, &["qwen*"], None),
        ],
        &[],
    )
    .await;
    let goog: &[(&str, &str)] = &[("x-goog-api-key", "AIza1")];
    let amazon: &[(&str, &str)] =
        &[("authorization", "AWS4-HMAC-SHA256 Credential=AKIA/1"), ("x-amz-date", "20261125T000000Z")];
    let model = |model: &str| Some(json!({"model": model, "messages": [user("Hello")], "input": "a"}));
    let table = [
        (("POST", "/v1beta/models/g:generateContent"), goog, None, 404, None, "Gemini"),
        (("POST", "/model/c/invoke"), amazon, None, 404, None, "Bedrock"),
        (("POST", "/api/chat"), &[][..], model("qwen3"), 404, None, "Ollama"),
        (("POST", "/openai/deployments/d/chat/completions"), &[("api-key", "1")], None, 404, None, "Azure"),
        (("POST", "/anthropic/v1/messages"), &[("x-api-key", "1")], model("c"), 404, None, "a router's"),
        (("POST", "//v1/messages"), &[("x-api-key", "1")], model("c"), 404, None, "a slash too many"),
        (("POST", "/v1/embeddings"), &[], model("qwen-emb"), 200, Some("local"), "by its model"),
        (("POST", "/v1/embeddings"), &[], model("gpt-emb"), 200, Some("openai"), "by its model"),
        (("POST", "/v1/responses/compact"), &[], model("qwen3"), 200, Some("local"), "by its model"),
        (("GET", "/v1/models"), goog, None, 200, Some("openai"), "without the key"),
        (("POST", "/v1/chat/completions"), amazon, model("gpt-5"), 200, Some("openai"), "without the key"),
        (("GET", "/v1/models"), &[("x-api-key", "1")], None, 200, Some("anthropic"), "its client's"),
        (("GET", "/v1/threads/t"), &[("x-api-key", "1")], None, 200, Some("openai"), "without the key"),
    ];
    for (request, headers, body, status, at, why) in table {
        let got = place.ask(request, headers, body).await;
        assert_eq!((got.status, got.at), (status, at), "{request:?}: {why}: {}", got.body);
        let said = got.body["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(said.contains("`pass`"), status == 404, "{request:?}: {said}");
        for name in ["x-goog-api-key", "authorization", "x-amz-date", "api-key"] {
            assert!(!got.headers.contains_key(name), "{request:?}: {name}");
        }
        assert_eq!(got.headers.contains_key("x-api-key"), why == "its client's", "{request:?}");
    }
}

/// A path that the settings list goes where they say, with all that its client says.
#[tokio::test(flavor = "multi_thread")]
async fn listed_paths_go_to_their_upstream() {
    let (came, folder) = (Came::default(), tempfile::tempdir().unwrap());
    let openai = Upstream::new("openai", &provider("openai", &came).await, Api::OpenAi).unwrap();
    let gemini = Upstream::new("gemini", &provider("gemini", &came).await, Api::Any).unwrap();
    let gemini = Upstream { pass: vec!["/v1beta/*".to_owned(), "/upload".to_owned()], ..gemini };
    let settings = Settings { upstreams: vec![openai, gemini], ..Settings::default() };
    let db = folder.path().join("a.db");
    let opened = (daemon::host(Engine::open(&db).unwrap()), daemon::spool(&db));
    let running = Running::start_as(opened, settings, (Guard::default(), Limits::default())).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let place = Place { running, came, http, _folder: folder };
    let goog: &[(&str, &str)] = &[("x-goog-api-key", "AIza1")];
    for (path, at) in [
        ("/v1beta/models/g:generateContent", Some("gemini")),
        ("/upload", Some("gemini")),
        ("/upload/x", None),
    ] {
        let got = place.ask(("POST", path), goog, Some(json!({"contents": []}))).await;
        assert_eq!((got.at, got.status), (at, if at.is_some() { 200 } else { 404 }), "{path}");
        assert_eq!(got.headers.contains_key("x-goog-api-key"), at.is_some(), "{path}");
    }
}

const OWN: &[(&str, &str)] = &[("authorization", "Bearer uft_default")];
const ANN: &[(&str, &str)] = &[("authorization", "Bearer uft_ann")];
const BOB: &[(&str, &str)] = &[("authorization", "Bearer uft_bob")];

fn response(more: &Value) -> Value {
    let mut call = body(Dialect::OpenAiResponses, &[user("Hello")], false);
    call.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    call
}

/// Tenants that share a key of the owner's cannot read each other's data at the provider.
#[tokio::test(flavor = "multi_thread")]
async fn f110_a_shared_key_shows_no_tenant_another() {
    let place = place(
        &[("ours", Api::OpenAi, &[], Some("sk-ours")), ("also", Api::Anthropic, &[], Some("sk-also"))],
        &["default", "ann", "bob"],
    )
    .await;
    let anns = place.ask(("POST", "/v1/responses"), ANN, Some(response(&json!({})))).await;
    assert_eq!((anns.status, anns.headers["authorization"].to_str().unwrap()), (200, "Bearer sk-ours"));
    let anns = anns.body["id"].as_str().unwrap().to_owned();
    let bound = |id: &str| Some(response(&json!({"previous_response_id": id})));
    let named = ("POST", "/v1/responses");
    let stored = format!("/v1/responses/{anns}");
    let item = json!([{"role": "user", "content": "again"}, {"type": "item_reference", "id": "msg_1"}]);
    let item = Some(response(&json!({"input": item})));
    let file = json!([{"type": "document", "source": {"type": "file", "file_id": "file_1"}}]);
    let count = |content: Value| json!({"model": "m", "messages": [{"role": "user", "content": content}]});
    let table: Vec<((&str, &str), _, _, u16, &str)> = vec![
        (named, ANN, bound(&anns), 200, "her own answer"),
        (named, BOB, bound(&anns), 404, "another's answer"),
        (named, BOB, bound("resp_unknown"), 404, "one that nobody got from us"),
        (
            named,
            BOB,
            Some(response(&json!({"conversation": "conv_1"}))),
            404,
            "a conversation at the provider",
        ),
        (named, BOB, Some(response(&json!({"conversation": {"id": "conv_1"}}))), 404, "in its other form"),
        (named, OWN, bound("resp_unknown"), 200, "the key is the owner's"),
        (named, BOB, item.clone(), 403, "an item of an answer that the provider keeps"),
        (named, OWN, item, 200, "the owner's item"),
        (("GET", &stored), BOB, None, 403, "another's answer, read"),
        (("GET", &stored), ANN, None, 403, "her own: nobody could tell it from another's"),
        (("DELETE", &stored), BOB, None, 403, "another's answer, deleted"),
        (("GET", "/v1/chat/completions"), BOB, None, 403, "stored completions"),
        (("GET", "/v1/files"), BOB, None, 403, "files"),
        (("GET", "/v1/messages/batches"), BOB, None, 403, "batches"),
        (("GET", "/v1/models"), BOB, None, 200, "models"),
        (("POST", "/v1/embeddings"), BOB, Some(json!({"model": "m", "input": "a"})), 200, "embeddings"),
        (("POST", "/v1/messages/count_tokens"), BOB, Some(count(file)), 403, "a count of another's file"),
        (("POST", "/v1/messages/count_tokens"), BOB, Some(count(json!("a"))), 200, "a count"),
        (("GET", &stored), OWN, None, 200, "the owner's"),
    ];
    for (request, headers, body, status, why) in table {
        let got = place.ask_more(request, headers, body).await;
        assert_eq!(
            (got.status, got.at.is_some()),
            (status, status == 200),
            "{request:?}: {why}: {}",
            got.body
        );
        if status == 403 {
            let (is_anthropic, error) = (request.1.contains("/messages"), &got.body["error"]);
            let kind = if is_anthropic { "permission_error" } else { "invalid_request_error" };
            assert_eq!((&error["type"], &got.body["type"] == "error"), (&json!(kind), is_anthropic), "{why}");
            assert!(error["message"].as_str().unwrap().contains("a key of your own"), "{error}");
        }
    }
}

/// A client with its own key may request anything from the provider.
#[tokio::test(flavor = "multi_thread")]
async fn who_has_a_key_of_its_own_is_told_by_the_provider() {
    let place = place(&[("theirs", Api::Any, &[], None)], &["ann"]).await;
    let headers = &[("x-unforget-token", "uft_ann"), ("authorization", "Bearer sk-ann")];
    for (request, body) in [
        (("GET", "/v1/responses/resp_1"), None),
        (("POST", "/v1/responses"), Some(response(&json!({"previous_response_id": "resp_1"})))),
        (("POST", "/v1/responses"), Some(response(&json!({"conversation": "conv_1"})))),
    ] {
        let got = place.ask(request, headers, body).await;
        assert_eq!((got.status, got.headers["authorization"].to_str().unwrap()), (200, "Bearer sk-ann"));
    }
}
