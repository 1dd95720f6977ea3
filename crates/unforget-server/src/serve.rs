//! The daemon: one listener for the gateway and all other routes.

pub mod beside;
mod guard;
mod listen;
mod ready;
mod running;
pub mod runs;
mod tls;
mod tokens;

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{self, Next};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use running::RunningRequests;
use unforget_gateway::Gateway;

pub use guard::{Guard, is_origin};
pub use listen::Limits;
pub use tls::{Tls, TlsError};
pub use tokens::{COOKIE_NAME, DECISIONS, MayDecide, PAGE, PREFIX, Scope, TOKEN, Token};

/// Time limit for running calls after the daemon is asked to end.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// The services of the daemon.
pub struct Daemon {
    /// The gateway for model calls.
    pub gateway: Arc<Gateway>,
    /// Access control.
    pub guard: Guard,
    /// Limits of connections.
    pub limits: Limits,
    /// TLS of the listener; plain HTTP without it.
    pub tls: Option<Tls>,
    /// A further plain listener on loopback for the owner's command line, since a certificate is for other names.
    pub local: Option<TcpListener>,
    /// Time without any request after which the daemon ends by itself; `None` for a daemon that stays. It ends between
    /// once and twice this time after its last request.
    pub until_unused: Option<Duration>,
    /// Further routes, such as the HTTP API. Their paths take precedence over the gateway's.
    pub more: Router,
}

impl Daemon {
    /// Serves until told to end, then completes running calls.
    ///
    /// * `ending` - cancelled to end the daemon.
    ///
    /// # Errors
    /// If the listener fails.
    pub async fn serve(
        self,
        listener: TcpListener,
        ending: CancellationToken,
        patience: Duration,
    ) -> io::Result<()> {
        let Self { gateway, guard, limits, tls, local, until_unused, more } = self;
        let running = RunningRequests::default();
        let count =
            |request: Request, next: Next, running: RunningRequests| running::counted(running, request, next);
        let tracked = running.clone();
        let counts = middleware::from_fn(move |request, next| count(request, next, tracked.clone()));
        let routes = routes(Arc::clone(&gateway), more).layer(counts);
        if let Some(local) = local {
            let routes = guard.clone().before(routes.clone(), local.local_addr()?);
            tokio::spawn(listen::serve(local, routes, None, limits, ending.clone()));
        }
        let routes = guard.before(routes, listener.local_addr()?);
        let server = tokio::spawn(listen::serve(listener, routes, tls, limits, ending.clone()));
        tokio::select! {
            () = ending.cancelled() => {}
            () = running.until_unused(until_unused) => {
                tracing::info!("stopping: nobody uses this daemon any more");
                ending.cancel();
            }
        }
        let begun = Instant::now();
        gateway.close(patience).await;
        tokio::time::timeout(patience.saturating_sub(begun.elapsed()), running.ended()).await.ok();
        // Connections that only wait for another request are not worth waiting for.
        let drained = tokio::time::timeout(Duration::from_secs(1), server).await;
        match drained {
            Ok(Ok(served)) => served,
            Ok(Err(error)) => Err(io::Error::other(error)),
            Err(_) => Ok(()),
        }
    }
}

/// All routes, without access control.
fn routes(gateway: Arc<Gateway>, more: Router) -> Router {
    let ready = ready::Ready::new(Arc::clone(&gateway));
    Router::new()
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(move || Arc::clone(&ready).answer()))
        .merge(more)
        .merge(unforget_gateway::routes(gateway))
}
