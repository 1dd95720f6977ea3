//! MCP over streamable HTTP: the official client, and requests that no proper client sends.
use crate::mcp_common;

use std::collections::BTreeSet;

use crate::mcp_common::{call, discover, import, run, text, value};
use axum::extract::Request;
use axum::middleware::{self, Next};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientLifecycleMode, ClientServiceExt as _};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use unforget_engine::Engine;
use unforget_server::mcp::{HEADER, HttpLimits, Memory, RecallScope, routes};

fn engine() -> Engine {
    let engine = Engine::in_memory();
    import(&engine, "one", &["the gateway listens on 8443"]);
    import(&engine, "two", &["the gateway listens on 9999"]);
    engine
}

/// A server on a port of this machine. `identity` is the scope of its clients, as a token would set it.
async fn serve(limits: HttpLimits, identity: Option<RecallScope>) -> u16 {
    let routes = routes(&Memory::new(engine(), RecallScope::All), Some(&limits));
    let identify = move |mut request: Request, next: Next| {
        if let Some(scope) = identity.clone() {
            request.extensions_mut().insert(scope);
        }
        next.run(request)
    };
    let app = routes.layer(middleware::from_fn(identify));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move { axum::serve(listener, app).await });
    port
}

async fn client(port: u16, lifecycle: ClientLifecycleMode, names: &[&str]) -> mcp_common::Client {
    rustls::crypto::ring::default_provider().install_default().ok();
    let mut config = StreamableHttpClientTransportConfig::with_uri(format!("http://127.0.0.1:{port}/mcp"));
    for name in names {
        config.custom_headers.insert(HEADER.parse().unwrap(), name.parse().unwrap());
    }
    ().serve_with_lifecycle(StreamableHttpClientTransport::from_config(config), lifecycle).await.unwrap()
}

#[test]
fn old_and_stateless_clients_are_served() {
    run(async {
        let port = serve(HttpLimits::default(), None).await;
        for lifecycle in [ClientLifecycleMode::Initialize, discover()] {
            let client = client(port, lifecycle, &[]).await;
            assert_eq!(client.list_all_tools().await.unwrap().len(), 7);
            assert_eq!(client.list_all_resources().await.unwrap().len(), 2);
            let result = call(&client, "search", &json!({ "query": "gateway" })).await;
            assert!(text(&result).contains("8443") && text(&result).contains("9999"), "{}", text(&result));
        }
    });
}

/// Identity, headers, which of two conversations is visible, why.
type Row<'a> = (Option<RecallScope>, &'a [&'a str], (bool, bool), &'a str);

#[test]
fn an_identity_and_a_header_narrow_and_never_widen() {
    run(async {
        let engine = engine();
        let id = |name| engine.resolve(name).unwrap().conversation.id;
        let one = RecallScope::Only(BTreeSet::from([id("pi:one")]));
        let table: [Row<'_>; 6] = [
            (None, &[], (true, true), "everything"),
            (None, &["pi:two"], (false, true), "a header"),
            (Some(one.clone()), &[], (true, false), "an identity"),
            (Some(one.clone()), &["pi:one"], (true, false), "both say the same"),
            (Some(one), &["pi:two"], (false, false), "a header does not widen"),
            (Some(RecallScope::Only(BTreeSet::new())), &[], (false, false), "nothing"),
        ];
        for (identity, names, want, why) in table {
            let client = client(serve(HttpLimits::default(), identity).await, discover(), names).await;
            let result = call(&client, "grep", &json!({ "pattern": "listens on" })).await;
            let all = format!("{} {}", text(&result), value(&result));
            assert_eq!((all.contains("8443"), all.contains("9999")), want, "{why}: {all}");
        }
    });
}

/// Sends a request verbatim and returns the status and the body.
async fn raw(port: u16, head: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("{head}Content-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len());
    // A refusing server may hang up before it has read everything.
    stream.write_all(request.as_bytes()).await.ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer)
}

fn post(host: &str, more: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\n{more}"
    )
}

#[test]
fn what_is_no_json_is_a_parse_error() {
    run(async {
        let port = serve(HttpLimits::default(), None).await;
        for body in ["", "{", "[1", "no json", "\u{0}"] {
            let (status, answer) = raw(port, &post(&format!("127.0.0.1:{port}"), ""), body).await;
            assert!(status == 400 && answer.contains("-32700"), "{body:?}: {answer}");
        }
    });
}

#[test]
fn f112_hosts_origins_and_sizes_are_checked() {
    run(async {
        let port = serve(HttpLimits::default(), None).await;
        let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
        let here = format!("127.0.0.1:{port}");
        let table = [
            (post(&here, ""), list.clone(), 200, "a program on this machine"),
            (post("localhost", ""), list.clone(), 200, "by its name"),
            (post("evil.example", ""), list.clone(), 403, "DNS rebinding"),
            (post(&here, "Origin: https://evil.example\r\n"), list.clone(), 403, "a web page"),
            (post(&here, "Origin: null\r\n"), list.clone(), 403, "a page without an origin"),
            (
                post(&here, "Origin: http://127.0.0.1\r\n"),
                list.clone(),
                403,
                "no origin is named, none is heard",
            ),
            (
                format!("GET /mcp HTTP/1.1\r\nHost: {here}\r\nAccept: text/event-stream\r\n"),
                String::new(),
                405,
                "no streams",
            ),
            (format!("DELETE /mcp HTTP/1.1\r\nHost: {here}\r\n"), String::new(), 405, "no sessions"),
            (post(&here, ""), "x".repeat((1 << 20) + 1), 413, "too large"),
            (post(&here, ""), "{\"jsonrpc\": ".to_owned(), 400, "no JSON"),
        ];
        for (head, body, want, why) in table {
            let (status, answer) = raw(port, &head, &body).await;
            assert_eq!(status, want, "{why}: {answer}");
        }
        let limits = HttpLimits {
            hosts: vec!["memory.example".to_owned()],
            origins: vec!["https://app.example:443".to_owned()],
        };
        let port = serve(limits, None).await;
        let table = [
            (post("memory.example", ""), 200, "its name"),
            (post(&here, ""), 403, "only its name"),
            (post("memory.example", "Origin: https://app.example\r\n"), 200, "its page"),
            (post("memory.example", "Origin: https://other.example\r\n"), 403, "another page"),
        ];
        for (head, want, why) in table {
            assert_eq!(raw(port, &head, &list).await.0, want, "{why}");
        }
    });
}

#[test]
fn hostile_bodies_are_answered() {
    run(async {
        let port = serve(HttpLimits::default(), None).await;
        let here = format!("127.0.0.1:{port}");
        let search = |query: Value| {
            let params = json!({ "name": "search", "arguments": { "query": query } });
            json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
        };
        let bodies = [
            String::new(),
            "{".to_owned(),
            "[]".to_owned(),
            "\u{0}".to_owned(),
            "[".repeat(5_000),
            "null".to_owned(),
            search(json!("\u{0}")),
            search(json!([[]])),
            search(json!(-1)),
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":7}"#.to_owned(),
        ];
        for body in bodies {
            let (status, answer) = raw(port, &post(&here, ""), &body).await;
            assert!((200..500).contains(&status), "{body:.40}: {answer}");
        }
        let (status, answer) =
            raw(port, &post(&here, &format!("{HEADER}: \u{fffd}\u{1}\r\n")), &search(json!("x"))).await;
        assert!((200..500).contains(&status), "{answer}");
        let (status, answer) =
            raw(port, &post(&here, &format!("{HEADER}: nobody\r\n")), &search(json!("gateway"))).await;
        assert!(status == 200 && answer.contains("nobody") && !answer.contains("8443"), "{answer}");
    });
}
