//! Tracks requests with incomplete answers, so that the daemon's end can wait for them.

use std::pin::Pin;
use std::task::{Context, Poll};

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

/// Counts a request from its head to the last byte taken by its client.
pub(super) async fn counted(running: TaskTracker, request: Request, next: Next) -> Response {
    let running = running.token();
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
