//! A daemon with its API in this process, and a client for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Delivered, Host, LaneKey};
use unforget_engine::summarise::Current;
use unforget_gateway::Gateway;
use unforget_server::api::{self, Api, Events, Figures, Settings};
use unforget_server::mcp;
use unforget_server::serve::{Daemon, Guard, Limits, Scope, TOKEN, Token};
pub(crate) use unforget_testkit::transcripts::PI;
use unforget_wire::Format;

/// The text behind the complete lines of [`PI`].
pub(crate) const MORE: &str = r#"{"type":"message","id":"00000006","parentId":"00000005","timestamp":"2026-03-02T09:00:05.000Z","message":{"role":"user","content":[{"type":"text","text":"One more thing."}],"timestamp":6}}"#;

/// Key of [`PI`], as a path segment.
pub(crate) const KEY: &str = "pi%3Aaaaa1111-0000-4000-8000-000000000001";

/// OpenAI Chat messages.
pub(crate) const CHAT: &str = r#"[
  {"role":"system","content":"Be brief."},
  {"role":"user","content":"What is the capital of the otters?"},
  {"role":"assistant","content":"Riverbend."}
]
"#;

/// Largest upload in bytes.
pub(crate) const UPLOAD_MAX: u64 = 1 << 20;

/// A running daemon.
pub(crate) struct Served {
    folder: tempfile::TempDir,
    pub(crate) url: String,
    pub(crate) host: Arc<Host>,
    pub(crate) http: reqwest::Client,
    /// The models for summaries and answers, if a test sets any.
    #[allow(dead_code, reason = "not every test uses it")]
    pub(crate) models: Current,
    api: Arc<Api>,
    ending: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

/// The token that the command line of the database's owner has.
pub(crate) const OWN: &str = "uft_at_hand";

impl Served {
    /// A daemon without tokens.
    pub(crate) async fn start() -> Self {
        Self::with_tenants(&[]).await
    }

    /// A daemon with a token per name and one for the owner: `uft_` and the name, and one with the suffix `_reads` for
    /// reading only.
    pub(crate) async fn with_tenants(names: &[&str]) -> Self {
        Figures::collect();
        let folder = tempfile::tempdir().unwrap();
        let backups = folder.path().join("backups");
        std::fs::create_dir(&backups).unwrap();
        let events = Arc::new(Events::default());
        let engine = events.on(Engine::open(&folder.path().join("unforget.db")).unwrap());
        let host = Arc::new(Host::new(engine, || Timestamp(1_790_000_000_000)));
        let settings = Settings {
            db: "unforget.db".to_owned(),
            config: unforget_server::json::ConfigJson::default(),
            backups: Some(backups),
            uploads: folder.path().join("uploads"),
            upload_max: UPLOAD_MAX,
            seal: None,
            window: 200_000,
            model: None,
            dialect: None,
        };
        let models = Current::default();
        let api = Api::new(Arc::clone(&host), settings, models.clone(), events);
        let spool = folder.path().join("spool");
        let gateway = Gateway::open(
            Arc::clone(&host),
            Arc::new(mcp::ConversationTools),
            unforget_gateway::Settings::default(),
            spool,
        )
        .unwrap();
        let owner = (!names.is_empty()).then_some("default");
        let token = |name: &str| Token {
            tenant: name.into(),
            scopes: vec![Scope::Read, Scope::Admin],
            digest: Digest::of(format!("uft_{name}").as_bytes()),
        };
        let reads = |name: &str| Token {
            tenant: name.into(),
            scopes: vec![Scope::Read],
            digest: Digest::of(format!("uft_{name}_reads").as_bytes()),
        };
        let tokens = names.iter().copied().chain(owner).flat_map(|name| [token(name), reads(name)]).collect();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let ending = CancellationToken::new();
        let guard = Guard { tokens, own: Some(Digest::of(OWN.as_bytes())), ..Guard::default() };
        let limits = Limits::default();
        let memory = mcp::Memory::new(host.engine().clone(), mcp::RecallScope::All);
        let memory = axum::Router::new().route_service("/mcp", mcp::service(&memory, None));
        let daemon = Daemon {
            gateway,
            guard,
            limits,
            tls: None,
            local: None,
            until_unused: None,
            more: api::routes(Arc::clone(&api)).merge(memory),
        };
        let serving = tokio::spawn(daemon.serve(listener, ending.clone(), Duration::from_secs(5)));
        Self { folder, url, host, http: reqwest::Client::new(), models, api, ending, serving }
    }

    /// Ends the daemon in good order.
    pub(crate) async fn end(self) {
        self.api.close();
        self.ending.cancel();
        self.serving.await.unwrap().unwrap();
    }

    pub(crate) fn uploads(&self) -> PathBuf {
        self.folder.path().join("uploads")
    }

    pub(crate) fn backups(&self) -> PathBuf {
        self.folder.path().join("backups")
    }

    /// A request of a route.
    pub(crate) fn ask(&self, method: Method, place: &str) -> RequestBuilder {
        self.http.request(method, format!("{}/api/v1/{place}", self.url))
    }

    pub(crate) fn as_tenant(&self, tenant: &str, method: Method, place: &str) -> RequestBuilder {
        self.ask(method, place).header(TOKEN, format!("uft_{tenant}"))
    }

    pub(crate) async fn get(&self, place: &str) -> Response {
        self.ask(Method::GET, place).send().await.unwrap()
    }

    /// The successful JSON answer of a route.
    pub(crate) async fn json(&self, place: &str) -> Value {
        let answer = self.get(place).await;
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{place}: {status} {text}");
        serde_json::from_str(&text).unwrap()
    }

    pub(crate) async fn tag(&self, place: &str) -> String {
        self.get(place).await.headers()["etag"].to_str().unwrap().to_owned()
    }

    pub(crate) async fn post(&self, place: &str, body: &Value) -> Response {
        self.ask(Method::POST, place).json(body).send().await.unwrap()
    }

    /// Uploads a transcript; returns the task.
    pub(crate) async fn begin(&self, name: &str, text: &str) -> Value {
        let place = format!("imports?name={name}");
        let answer = self.ask(Method::POST, &place).body(text.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), 202);
        answer.json().await.unwrap()
    }

    /// Waits until a task has ended.
    pub(crate) async fn wait(&self, task: &Value) -> Value {
        loop {
            let now = self.json(&format!("tasks/{}", task["task"].as_str().unwrap())).await;
            if now["state"] != "running" {
                return now;
            }
            tokio::task::yield_now().await;
        }
    }

    /// Imports a transcript; returns the result.
    pub(crate) async fn upload(&self, name: &str, text: &str) -> Value {
        let task = self.begin(name, text).await;
        let mut ended = self.wait(&task).await;
        assert_eq!(ended["state"], "done", "{ended}");
        ended["result"].take()
    }

    /// Imports [`PI`].
    pub(crate) async fn import(&self) -> Value {
        self.upload("pi.jsonl", PI).await
    }

    /// Whether a pattern is found.
    pub(crate) async fn grep(&self, pattern: &str) -> bool {
        let found = self.json(&format!("grep?pattern={pattern}")).await;
        !found["results"].as_array().unwrap().is_empty()
    }

    /// The host behind it.
    #[allow(dead_code, reason = "not every test uses it")]
    pub(crate) fn engine_host(&self) -> &Host {
        &self.host
    }

    /// The engine behind it.
    #[allow(dead_code, reason = "not every test uses it")]
    pub(crate) fn engine(&self) -> &Engine {
        self.host.engine()
    }

    /// Delivers a live host's message.
    pub(crate) fn deliver(&self, lane: &str, text: &str) {
        let message = serde_json::json!({"role": "user", "content": text}).to_string();
        let messages = vec![Delivered::new(message)];
        self.host.sync(&LaneKey(lane.to_owned()), Format::OpenAiChat, messages).unwrap();
    }

    pub(crate) async fn metrics(&self) -> String {
        self.http.get(format!("{}/metrics", self.url)).send().await.unwrap().text().await.unwrap()
    }

    /// Subscribes to events.
    pub(crate) async fn listen(&self, last: Option<&str>) -> Listening {
        let mut request = self.ask(Method::GET, "events");
        if let Some(last) = last {
            request = request.header("last-event-id", last);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Listening { answer, rest: String::new() }
    }
}

/// Events as they come.
pub(crate) struct Listening {
    answer: Response,
    rest: String,
}

/// An event.
pub(crate) struct Told {
    pub(crate) event: String,
    pub(crate) id: String,
    pub(crate) data: Value,
}

impl Listening {
    /// The next event.
    pub(crate) async fn next(&mut self) -> Told {
        loop {
            if let Some((one, rest)) = self.rest.split_once("\n\n") {
                let field = |name: &str| {
                    one.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim().to_owned()
                };
                let told = Told {
                    event: field("event:"),
                    id: field("id:"),
                    data: serde_json::from_str(&field("data:")).unwrap_or_default(),
                };
                let rest = rest.to_owned();
                self.rest = rest;
                if !told.event.is_empty() {
                    return told;
                }
                continue;
            }
            let chunk = tokio::time::timeout(Duration::from_secs(30), self.answer.chunk()).await;
            self.rest.push_str(std::str::from_utf8(&chunk.unwrap().unwrap().unwrap()).unwrap());
        }
    }

    /// The next event of this name.
    pub(crate) async fn until(&mut self, event: &str) -> Told {
        loop {
            let told = self.next().await;
            if told.event == event {
                return told;
            }
        }
    }
}
