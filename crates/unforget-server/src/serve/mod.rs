//! The daemon: one listener for the gateway and all that comes beside it.

pub mod beside;
mod guard;
mod listen;
mod ready;
mod tokens;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;

use crate::gateway::{self, Gateway};

pub use guard::Guard;
pub use listen::Limits;
pub use tokens::{OWNER, PREFIX, Scope, TOKEN, Token};

/// How long calls may run on when the daemon is asked to end.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// What is served.
pub struct Daemon {
    /// Calls of models.
    pub gateway: Arc<Gateway>,
    /// Who may ask.
    pub guard: Guard,
    /// Bounds of connections.
    pub limits: Limits,
    /// More routes, such as the HTTP API. Their paths come before the gateway's.
    pub more: Router,
}

impl Daemon {
    /// Serves until it is told to end, then finishes what runs.
    ///
    /// * `ending` - cancelled when it shall end.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        ending: CancellationToken,
        patience: Duration,
    ) -> io::Result<()> {
        let address = listener.local_addr()?;
        let gateway = Arc::clone(&self.gateway);
        let limits = self.limits;
        let routes = self.routes(address);
        let server = tokio::spawn(listen::serve(listener, routes, limits, ending.clone()));
        ending.cancelled().await;
        gateway.close(patience).await;
        // Connections that only wait for another request hold nothing that is worth waiting for.
        let drained = tokio::time::timeout(Duration::from_secs(1), server).await;
        match drained {
            Ok(Ok(served)) => served,
            Ok(Err(error)) => Err(io::Error::other(error)),
            Err(_) => Ok(()),
        }
    }

    fn routes(self, address: SocketAddr) -> Router {
        let ready = ready::Ready::new(Arc::clone(&self.gateway));
        let routes = Router::new()
            .route("/healthz", get(|| async { "ok\n" }))
            .route("/readyz", get(move || Arc::clone(&ready).answer()))
            .merge(self.more)
            .merge(gateway::routes(self.gateway));
        self.guard.before(routes, address).layer(CatchPanicLayer::new())
    }
}
