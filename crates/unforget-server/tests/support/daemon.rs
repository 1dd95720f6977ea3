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
use unforget_server::gateway::{Api, Gateway, Settings, Upstream, Windows};
use unforget_server::serve::{Daemon, Guard};

/// A running daemon.
pub struct Running {
    pub address: SocketAddr,
    pub host: Arc<Host>,
    ending: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Running {
    /// Starts one on a database.
    pub async fn start(db: &Path, upstream: &str, window: u64) -> Self {
        Self::start_with(db, upstream, window, Settings::default()).await
    }

    /// The same with other settings.
    pub async fn start_with(db: &Path, upstream: &str, window: u64, settings: Settings) -> Self {
        let engine = Engine::open(db).unwrap();
        let host = Arc::new(Host::new(engine, || Timestamp(1_790_000_000_000)));
        let settings = Settings {
            upstreams: vec![Upstream::new("scripted", upstream, Api::Any).unwrap()],
            windows: Windows { patterns: vec![("*".into(), window)], cap: None },
            ..settings
        };
        let gateway = Gateway::open(Arc::clone(&host), settings, spool(db)).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ending = CancellationToken::new();
        let daemon = Daemon { gateway, guard: Guard::default(), more: axum::Router::new() };
        let serving = tokio::spawn(daemon.serve(listener, ending.clone(), Duration::from_secs(5)));
        Self { address, host, ending, serving }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends it in good order.
    pub async fn end(self) {
        self.ending.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

pub fn spool(db: &Path) -> PathBuf {
    db.with_extension("spool")
}
