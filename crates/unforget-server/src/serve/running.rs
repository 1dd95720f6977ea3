//! Tracks requests with incomplete answers, so that the daemon's end can wait for them, and an unused daemon can end.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http_body::{Frame, SizeHint};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// A body that counts as running until it is read or dropped.
struct Counted {
    body: Body,
    #[allow(dead_code, reason = "counts while it lives")]
    running: TaskTrackerToken,
}

/// The requests with incomplete answers.
#[derive(Clone, Debug, Default)]
pub(super) struct RunningRequests {
    now: TaskTracker,
    /// Number of requests since the start.
    all: Arc<AtomicU64>,
}

impl RunningRequests {
    /// Waits until there is none.
    pub(super) async fn ended(&self) {
        self.now.close();
        self.now.wait().await;
    }

    /// Waits until there was none for a time; for ever without a time.
    ///
    /// Ends between once and twice the time after the last request.
    pub(super) async fn until_unused(&self, time: Option<Duration>) {
        let Some(time) = time else { return std::future::pending().await };
        let mut before = None;
        loop {
            let now = self.now.is_empty().then(|| self.all.load(Ordering::Relaxed));
            if now.is_some() && now == before {
                return;
            }
            before = now;
            tokio::time::sleep(time).await;
        }
    }
}

/// Counts a request from its head to the last byte taken by its client.
pub(super) async fn counted(running: RunningRequests, request: Request, next: Next) -> Response {
    running.all.fetch_add(1, Ordering::Relaxed);
    let running = running.now.token();
    next.run(request).await.map(|body| Body::new(Counted { body, running }))
}

impl HttpBody for Counted {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_daemon_is_unused_once_its_last_request_has_ended() {
        let running = RunningRequests::default();
        let request = running.now.token();
        let mut unused = std::pin::pin!(running.until_unused(Some(Duration::ZERO)));
        for _ in 0..100 {
            assert!(futures_util::poll!(unused.as_mut()).is_pending(), "a request runs");
            tokio::task::yield_now().await;
        }
        drop(request);
        unused.await;
        let mut stays = std::pin::pin!(running.until_unused(None));
        assert!(futures_util::poll!(stays.as_mut()).is_pending(), "a daemon that stays");
    }
}
