//! Readiness of the daemon: a live process that cannot store anything is not ready.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use unforget_gateway::Gateway;

/// How long a result is reused, so that frequent requests do not keep the disk busy.
const FRESH: Duration = Duration::from_secs(1);

/// The output of `/readyz`. It is public, so it names no files.
#[derive(Serialize)]
struct ReadyJson {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'static str>,
    /// Number of running calls.
    running: usize,
}

/// Checks readiness, at most once per second.
pub(super) struct Ready {
    gateway: Arc<Gateway>,
    found: Mutex<Option<(Instant, bool)>>,
}

impl Ready {
    pub(super) fn new(gateway: Arc<Gateway>) -> Arc<Self> {
        Arc::new(Self { gateway, found: Mutex::default() })
    }

    /// 200 if the daemon accepts calls and stores them, otherwise 503 with the reason.
    pub(super) async fn answer(self: Arc<Self>) -> Response {
        let looking = Arc::clone(&self);
        let stores = tokio::task::spawn_blocking(move || looking.stores()).await.unwrap_or(false);
        let why = match (self.gateway.is_closing(), stores) {
            (true, _) => Some("it is ending"),
            (_, false) => Some("the database takes nothing: its log says why"),
            _ => None,
        };
        let status = if why.is_none() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        let told = ReadyJson { ready: why.is_none(), why, running: self.gateway.running() };
        (status, Json(told)).into_response()
    }

    fn stores(&self) -> bool {
        // Concurrent requests wait for the result of one check.
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, stores)) = found.filter(|(at, _)| at.elapsed() < FRESH) {
            return stores;
        }
        let looked = self.gateway.probe();
        if let Err(error) = &looked {
            tracing::error!(%error, "a probe cannot be stored");
        }
        *found = Some((Instant::now(), looked.is_ok()));
        looked.is_ok()
    }
}
