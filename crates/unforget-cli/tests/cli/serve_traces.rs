//! Traces of a daemon, as received by a collector.
#![cfg(all(unix, feature = "otel"))]
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use crate::support::models::{GOOD, KEY, LETTERS, place};
use axum::Router;
use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Attribute;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unforget_testkit::Port;
use unforget_testkit::provider::{Provider, openai};
use unforget_testkit::upstream::{Say, Upstream};

/// The traces received by a collector.
type Came = Arc<Mutex<Vec<ExportTraceServiceRequest>>>;

async fn collector() -> (String, Came) {
    let came = Came::default();
    let into = Arc::clone(&came);
    let take = move |headers: HeaderMap, body: Bytes| async move {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        into.lock().unwrap().push(ExportTraceServiceRequest::decode(body).unwrap());
    };
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, Router::new().route("/v1/traces", post(take))).await });
    (url, came)
}

struct Running(Child);

impl Running {
    /// A gateway with a folder as its home, and its address.
    fn gateway(home: &Path, upstream: &str, collector: &str) -> (Self, String) {
        std::fs::create_dir_all(home.join(".config/unforget")).unwrap();
        std::fs::write(home.join(".config/unforget/config.toml"), "[serve]\nrecall = \"tools\"\n").unwrap();
        Self::start(home, collector, &["--upstream", upstream, "--window", "gpt-4.1=10000"])
    }

    /// A daemon with a folder as its home, and its address.
    fn start(home: &Path, collector: &str, options: &[&str]) -> (Self, String) {
        let mut child = Command::new(assert_cmd::cargo::cargo_bin!("unforget"))
            .args(["--json", "serve", "--listen", "127.0.0.1:0"])
            .args(options)
            .current_dir(home)
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME")
            .env("HOME", home)
            .env("NO_PROXY", "127.0.0.1")
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let told: Value = serde_json::from_str(&line).unwrap();
        (Self(child), told["url"].as_str().unwrap().to_owned())
    }

    /// Asks the daemon to end, and waits for it.
    fn end(mut self) {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        assert!(self.0.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

/// The received spans, by their time of beginning.
fn spans(came: &Came) -> Vec<Span> {
    let came = came.lock().unwrap();
    let scopes = came.iter().flat_map(|request| &request.resource_spans).flat_map(|of| &of.scope_spans);
    let mut spans: Vec<Span> = scopes.flat_map(|of| of.spans.clone()).collect();
    spans.sort_by_key(|span| span.start_time_unix_nano);
    spans
}

fn attribute(span: &Span, key: &str) -> Value {
    let found = span.attributes.iter().find(|one| one.key == key);
    let Some(value) = found.and_then(|one| one.value.clone()?.value) else { return Value::Null };
    match value {
        Attribute::StringValue(text) => text.into(),
        Attribute::IntValue(number) => number.into(),
        Attribute::BoolValue(is) => is.into(),
        Attribute::ArrayValue(list) => {
            let text = |one| match one {
                Some(Attribute::StringValue(text)) => text,
                other => panic!("{other:?}"),
            };
            list.values.into_iter().map(|one| text(one.value)).collect()
        }
        other => panic!("{other:?}"),
    }
}

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const SECRET: &str = "the-words-of-a-person";

/// Twelve turns, the last of which do not fit, with a daemon that is then asked to end: the requests at the provider
/// and the traces at the collector.
async fn talk() -> (Upstream, Came) {
    let folder = tempfile::tempdir().unwrap();
    let (url, came) = collector().await;
    let upstream = Upstream::start(
        10_000,
        Arc::new(|request, _| {
            let asked = request["messages"].as_array().unwrap().last().unwrap();
            let offered = request["tools"].to_string();
            if asked["role"] == "user" && offered.contains("unforget_search") {
                return Say::deed("unforget_search", json!({"query": "harbour"}));
            }
            Say::text(format!("Yes, {SECRET}."))
        }),
    )
    .await;
    let (running, daemon) = Running::gateway(folder.path(), &upstream.url(), &url);
    unforget_gateway::install_crypto();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |messages: &[Value], parent: Option<&str>| {
        let read =
            json!({"type": "function", "function": {"name": "read", "parameters": {"type": "object"}}});
        let body =
            json!({"model": "gpt-4.1", "max_completion_tokens": 300, "messages": messages, "tools": [read]});
        let mut request = http.post(format!("{daemon}/v1/chat/completions")).header("session-id", "s");
        if let Some(parent) = parent {
            request = request.header("traceparent", parent);
        }
        let response = request.bearer_auth("sk-a-key-of-somebody").json(&body).send().await.unwrap();
        assert_eq!(response.status(), 200);
        response.json::<Value>().await.unwrap()
    };
    let mut messages = Vec::new();
    for turn in 0..12 {
        let words = format!("{SECRET} {turn}: {}", "the harbour opens at six in the morning. ".repeat(100));
        messages.push(json!({"role": "user", "content": words}));
        let parent = format!("00-{TRACE}-{PARENT}-01");
        let answer = ask(&messages, (turn == 0).then_some(parent.as_str())).await;
        messages.push(answer["choices"][0]["message"].clone());
    }
    let status = http.get(format!("{daemon}/api/v1/conversations")).send().await.unwrap().status();
    assert_eq!(status, 200);
    running.end();
    (upstream, came)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_one_span_with_what_it_cost_and_no_words() {
    let (upstream, came) = talk().await;
    let spans = spans(&came);
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "chat gpt-4.1").collect();
    assert_eq!(calls.len(), 12);
    let first = calls[0];
    assert_eq!((hex(&first.trace_id), hex(&first.parent_span_id)), (TRACE.to_owned(), PARENT.to_owned()));
    let table = [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("gpt-4.1")),
        ("gen_ai.conversation.id", json!("s")),
        ("gen_ai.response.finish_reasons", json!(["stop"])),
        ("http.response.status_code", json!(200)),
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(upstream.address.port())),
        ("unforget.authority", json!("as-sent")),
    ];
    for (key, want) in table {
        assert_eq!(attribute(first, key), want, "{key}");
    }
    let asked = upstream.came()[0].tokens;
    let told = attribute(first, "gen_ai.usage.input_tokens").as_u64().unwrap();
    assert!(told > 0 && told <= asked, "{told} of {asked}");
    // The provider's own spans would be children of ours; where the client named no trace, the provider is sent none.
    let sent = upstream.came();
    let onward = sent[0].headers["traceparent"].to_str().unwrap();
    assert!(onward.starts_with(&format!("00-{TRACE}-")) && !onward.contains(PARENT), "{onward}");
    assert!(sent[1].headers.get("traceparent").is_none());
    let children = |of: &Span| -> Vec<String> {
        let own = spans.iter().filter(|span| span.parent_span_id == of.span_id);
        own.map(|span| span.name.clone()).collect()
    };
    assert_eq!(children(first), ["store and fit", "send"]);
    let looked_up = calls.iter().find(|call| children(call).contains(&"look up".to_owned())).unwrap();
    assert_eq!(children(looked_up), ["store and fit", "send", "look up", "send"]);
    let tool = spans.iter().find(|span| span.name == "execute_tool unforget_search").unwrap();
    assert_eq!(tool.trace_id, looked_up.trace_id);
    let listed = spans.iter().find(|span| span.name == "GET /api/v1/conversations").unwrap();
    assert_eq!(attribute(listed, "http.response.status_code"), 200);
    let all = format!("{:?}", came.lock().unwrap());
    for word in [SECRET, "harbour", "sk-a-key"] {
        assert!(!all.contains(word), "{word}");
    }
    assert!(all.contains("service.name"));
}

/// The cost of a summary is recorded where every call's cost is.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_for_a_summary_is_a_span_of_its_own_and_no_words() {
    let (url, came) = collector().await;
    let provider = Provider::always(openai::text(&format!(r#"{{"title":"{GOOD}"}}"#)));
    let place = place(&[&provider.address()]);
    let (running, _) = Running::start(&place.path(""), &url, &["--db", "store.sqlite"]);
    place.json(&["compact", KEY, "--window", "2k"], 0);
    running.end();
    let spans = spans(&came);
    let calls: Vec<&Span> = spans.iter().filter(|span| span.name == "chat test").collect();
    assert_eq!(calls.len(), provider.heard().len());
    let port = provider.address().rsplit(':').next().unwrap().parse::<u16>().unwrap();
    let table = [
        ("gen_ai.operation.name", json!("chat")),
        ("gen_ai.provider.name", json!("openai")),
        ("gen_ai.request.model", json!("test")),
        ("gen_ai.response.finish_reasons", json!(["stop"])),
        ("server.address", json!("127.0.0.1")),
        ("server.port", json!(port)),
        ("unforget.own", json!(true)),
    ];
    for (key, want) in table {
        assert_eq!(attribute(calls[0], key), want, "{key}");
    }
    assert!(attribute(calls[0], "gen_ai.usage.output_tokens").as_u64() > Some(0));
    let all = format!("{:?}", came.lock().unwrap());
    for word in [GOOD, LETTERS, "part_7"] {
        assert!(!all.contains(word), "{word}");
    }
}

#[test]
fn a_collector_that_is_none_is_told_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let ended = Command::new(assert_cmd::cargo::cargo_bin!("unforget"))
        .arg("--db")
        .arg(folder.path().join("a.sqlite"))
        .args(["serve", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "not an address")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert_eq!(ended.status.code(), Some(3), "{told}");
    assert!(told.contains("OTEL_EXPORTER_OTLP_ENDPOINT") && told.contains("4318"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_away_changes_no_answer() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Upstream::start(10_000, Arc::new(|_, _| Say::text("Yes."))).await;
    let nobody = Port::hold();
    let url = format!("http://{}", nobody.address());
    let (running, daemon) = Running::gateway(folder.path(), &upstream.url(), &url);
    unforget_gateway::install_crypto();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let body = json!({"model": "gpt-4.1", "messages": [{"role": "user", "content": "Is it?"}]});
    let response = http.post(format!("{daemon}/v1/chat/completions")).json(&body).send().await.unwrap();
    assert_eq!(response.status(), 200);
    running.end();
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|half| char::from_digit(half.into(), 16))
        .collect()
}
