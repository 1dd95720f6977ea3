//! A daemon in this process, before a scripted provider.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_gateway::{Api, Gateway, Settings, Upstream, Windows};
use unforget_server::mcp::ConversationTools;
use unforget_server::serve::{Daemon, Guard, Limits};

/// A running daemon.
pub(crate) struct Running {
    pub(crate) address: SocketAddr,
    pub(crate) host: Arc<Host>,
    pub(crate) gateway: Arc<Gateway>,
    ending: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Starts a daemon on a database.
    pub(crate) async fn start(db: &Path, upstream: &str, window: u64) -> Self {
        Self::start_with(db, upstream, window, Settings::default()).await
    }

    /// Starts a daemon with other settings.
    pub(crate) async fn start_with(db: &Path, upstream: &str, window: u64, settings: Settings) -> Self {
        Self::start_within(db, upstream, window, (settings, Limits::default())).await
    }

    /// Starts a daemon with other limits of connections.
    pub(crate) async fn start_within(
        db: &Path,
        upstream: &str,
        window: u64,
        (settings, limits): (Settings, Limits),
    ) -> Self {
        let host = host(Engine::open(db).unwrap());
        Self::start_on((host, spool(db)), upstream, window, (settings, limits)).await
    }

    /// Starts a daemon on a database that is open already.
    pub(crate) async fn start_on(
        (host, spool): (Arc<Host>, PathBuf),
        upstream: &str,
        window: u64,
        (settings, limits): (Settings, Limits),
    ) -> Self {
        let settings = Settings {
            upstreams: vec![Upstream::new("scripted", upstream, Api::Any).unwrap()],
            windows: Windows { patterns: vec![("*".into(), window)], cap: None },
            ..settings
        };
        Self::start_as((host, spool), settings, (Guard::default(), limits)).await
    }

    /// Starts a daemon with exactly these settings.
    pub(crate) async fn start_as(
        (host, spool): (Arc<Host>, PathBuf),
        settings: Settings,
        (guard, limits): (Guard, Limits),
    ) -> Self {
        let gateway = Gateway::open(Arc::clone(&host), Arc::new(ConversationTools), settings, spool).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ending = CancellationToken::new();
        let daemon = Daemon {
            gateway: Arc::clone(&gateway),
            guard,
            limits,
            tls: None,
            local: None,
            until_unused: None,
            more: axum::Router::new(),
        };
        let serving = tokio::spawn(daemon.serve(listener, ending.clone(), Duration::from_secs(5)));
        Self { address, host, gateway, ending, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Waits until nothing runs: every answer is stored, and its token count is known. A client has its answer a moment
    /// earlier.
    pub(crate) async fn quiet(&self) {
        while self.gateway.running() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    /// Ends the daemon in good order.
    pub(crate) async fn end(self) {
        self.ending.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

/// A host with a stopped clock.
pub(crate) fn host(engine: Engine) -> Arc<Host> {
    Arc::new(Host::new(engine, || Timestamp(1_790_000_000_000)))
}

pub(crate) fn spool(db: &Path) -> PathBuf {
    db.with_extension("spool")
}

/// Number of answers in the spool.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn spooled(db: &Path) -> usize {
    let files = std::fs::read_dir(spool(db)).unwrap();
    // A file may disappear meanwhile.
    files.filter(|file| file.as_ref().unwrap().metadata().is_ok_and(|file| file.len() > 0)).count()
}

/// The form of a dialect's messages in a lane.
#[allow(dead_code, reason = "not every test asks")]
pub(crate) fn form(dialect: unforget_wire::Dialect) -> unforget_wire::Format {
    match dialect {
        unforget_wire::Dialect::Anthropic => unforget_wire::Format::AnthropicMessages,
        unforget_wire::Dialect::OpenAiResponses => unforget_wire::Format::OpenAiResponses,
        _ => unforget_wire::Format::OpenAiChat,
    }
}
