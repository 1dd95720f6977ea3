//! Web pages that may use the daemon, and pages that may not.

use crate::support::daemon;

use crate::support::daemon::Running;
use axum::Router;
use reqwest::header::HeaderMap;
use reqwest::{Client, Method};
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_gateway::{Api, Settings, Upstream};
use unforget_server::serve::{Guard, Limits, Scope, Token};

const PAGE: &str = "https://chat.example";

struct Place {
    running: Running,
    _folder: tempfile::TempDir,
}

/// A provider that lets all pages read, as some do, behind a daemon that admits pages of these origins.
async fn place(origins: &[&str]) -> Place {
    let anyone = [
        ("access-control-allow-origin", "*"),
        ("access-control-allow-credentials", "true"),
        ("vary", "accept"),
    ];
    let routes = Router::new().fallback(move || async move { (anyone, "{}") });
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let settings =
        Settings { upstreams: vec![Upstream::new("a", &url, Api::Any).unwrap()], ..Settings::default() };
    let token = Token { tenant: "ann".into(), scopes: vec![Scope::Gateway], digest: Digest::of(b"uft_ann") };
    let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
    let guard = Guard { origins, tokens: vec![token], ..Guard::default() };
    let opened = (daemon::host(Engine::open(&db).unwrap()), daemon::spool(&db));
    let running = Running::start_as(opened, settings, (guard, Limits::default())).await;
    Place { running, _folder: folder }
}

impl Place {
    async fn ask(&self, method: Method, headers: &[(&str, &str)]) -> (u16, HeaderMap) {
        let http = Client::builder().no_proxy().build().unwrap();
        let mut request = http.request(method, format!("{}/v1/models", self.running.url()));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.headers().clone())
    }

    async fn preflight(&self, origin: &str) -> (u16, HeaderMap) {
        let asked = [
            ("origin", origin),
            ("access-control-request-method", "POST"),
            ("access-control-request-headers", "authorization,content-type,x-unforget-token"),
        ];
        self.ask(Method::OPTIONS, &asked).await
    }
}

fn value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

fn varies(headers: &HeaderMap) -> bool {
    headers
        .get_all("vary")
        .iter()
        .any(|value| value.to_str().unwrap().to_ascii_lowercase().contains("origin"))
}

/// The request's headers, the status, the admitted origin, and why.
type Row<'a> = (&'a [(&'a str, &'a str)], u16, Option<&'a str>, &'a str);

#[tokio::test(flavor = "multi_thread")]
async fn a_known_page_sends_and_reads() {
    let place = place(&["https://other.example", PAGE]).await;
    let (status, headers) = place.preflight(PAGE).await;
    assert_eq!((status, value(&headers, "access-control-allow-origin")), (200, Some(PAGE)));
    assert!(value(&headers, "access-control-allow-methods").unwrap().contains("POST"));
    let allowed = value(&headers, "access-control-allow-headers").unwrap();
    assert!(allowed.contains("x-unforget-token") && varies(&headers), "{headers:?}");
    let table: &[Row<'_>] = &[
        (&[("origin", PAGE), ("x-unforget-token", "uft_ann")], 200, Some(PAGE), "a request"),
        (&[("origin", PAGE)], 401, Some(PAGE), "why it was refused can be read"),
        (&[("x-unforget-token", "uft_ann")], 200, None, "no page"),
    ];
    for (sent, want, origin, why) in table {
        let (status, headers) = place.ask(Method::GET, sent).await;
        assert_eq!((status, value(&headers, "access-control-allow-origin")), (*want, *origin), "{why}");
        assert!(varies(&headers) && value(&headers, "access-control-allow-credentials").is_none(), "{why}");
    }
    let (_, headers) = place.ask(Method::GET, table[0].0).await;
    assert!(value(&headers, "access-control-expose-headers").unwrap().contains("x-unforget-conversation"));
}

#[tokio::test(flavor = "multi_thread")]
async fn other_pages_do_not() {
    let strangers = [
        "https://evil.example",
        "null",
        "*",
        "",
        "HTTPS://CHAT.EXAMPLE",
        "https://Chat.example",
        "http://chat.example",
        "https://chat.example:8443",
        "https://chat.example.evil.example",
        "https://chat.example@evil.example",
        "https://evil-chat.example",
        "https://chat.example/",
        "https://chat.example https://evil.example",
        "chat.example",
    ];
    for origins in [&[PAGE][..], &[], &[PAGE, "null", "*"]] {
        let place = place(origins).await;
        for origin in strangers {
            let asked = place.ask(Method::GET, &[("origin", origin), ("x-unforget-token", "uft_ann")]).await;
            for (status, headers) in [place.preflight(origin).await, asked] {
                assert_eq!(status, 403, "{origin:?} {origins:?}");
                assert!(
                    headers.keys().all(|name| !name.as_str().starts_with("access-control-")),
                    "{headers:?}"
                );
            }
        }
    }
    // The daemon's own page needs no permission, and the provider's permissions for pages do not apply to us.
    let place = place(&[]).await;
    let own = place.running.url();
    let (status, headers) =
        place.ask(Method::GET, &[("origin", &own), ("x-unforget-token", "uft_ann")]).await;
    assert_eq!((status, value(&headers, "access-control-allow-origin")), (200, None));
}
