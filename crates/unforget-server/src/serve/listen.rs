//! Client connections, limited in number and in periods of silence.
//!
//! `axum::serve` has neither limit, so this is its loop with both.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use axum::extract::{ConnectInfo, Extension};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{Instant, Sleep};
use tokio_util::sync::CancellationToken;
use tower::Layer;

use super::tls::Tls;

/// Limits of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most concurrent connections. More wait in the system's queue.
    pub connections: usize,
    /// Time limit for a request's head, from the start of the connection or the end of the previous answer.
    pub head: Duration,
    /// Longest time in which a client takes no byte of its answer.
    pub taken: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { connections: 4_096, head: Duration::from_secs(30), taken: Duration::from_mins(5) }
    }
}

/// Number of bytes that reveal the version of HTTP.
const PREFACE: usize = 24;

/// Most bytes of a request's head, in HTTP/1.
const HEAD: usize = 256 * 1024;

/// Serves connections until told to end, then closes those that wait for a request and waits for the others.
///
/// * `tls` - the TLS settings of the connections, if any.
pub(super) async fn serve(
    listener: TcpListener,
    routes: Router,
    tls: Option<Tls>,
    limits: Limits,
    ending: CancellationToken,
) -> io::Result<()> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.head).max_buf_size(HEAD);
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(limits.head).max_concurrent_streams(256);
    let (places, open) = (Arc::new(Semaphore::new(limits.connections)), GracefulShutdown::new());
    loop {
        let next = async { (Arc::clone(&places).acquire_owned().await, listener.accept().await) };
        let (place, accepted) = tokio::select! {
            next = next => next,
            () = ending.cancelled() => break,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // The system has no resources for it, or it has gone away. Other connections have to end first.
                tracing::warn!(%error, "a connection is not taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        // Streamed events are small and urgent; without this option they only arrive later.
        stream.set_nodelay(true).ok();
        let service = TowerToHyperService::new(Extension(ConnectInfo(peer)).layer(routes.clone()));
        let (builder, watcher, tls, ending) = (builder.clone(), open.watcher(), tls.clone(), ending.clone());
        tokio::spawn(async move {
            let Some(stream) = greeted(stream, tls, limits.head, &ending).await else { return };
            let connection = builder.serve_connection(TokioIo::new(Patient::new(stream, limits)), service);
            if let Err(error) = watcher.watch(connection.into_owned()).await {
                tracing::debug!(%error, "a connection broke off");
            }
            drop(place);
        });
    }
    drop(listener);
    open.shutdown().await;
    Ok(())
}

/// A connection, with TLS or without.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// The connection after its TLS handshake; `None` if that did not finish in time.
async fn greeted(
    stream: TcpStream,
    tls: Option<Tls>,
    patience: Duration,
    ending: &CancellationToken,
) -> Option<Box<dyn Stream>> {
    let Some(tls) = tls else { return Some(Box::new(stream)) };
    let handshake = tokio::time::timeout(patience, tls.acceptor().accept(stream));
    let done = tokio::select! {
        done = handshake => done,
        () = ending.cancelled() => return None,
    };
    match done {
        Ok(Ok(stream)) => Some(Box::new(stream)),
        Ok(Err(error)) => {
            tracing::debug!(%error, "a TLS handshake failed");
            None
        }
        Err(_) => {
            tracing::debug!("a TLS handshake took too long");
            None
        }
    }
}

/// A connection that ends if its client takes nothing for too long, or is silent at the beginning.
struct Patient {
    stream: Box<dyn Stream>,
    patience: Duration,
    /// Deadline for the first bytes: hyper would wait for them without limit, to detect the version.
    begun: Option<Pin<Box<Sleep>>>,
    /// Number of bytes received.
    came: usize,
    /// Runs while the client takes nothing.
    until: Option<Pin<Box<Sleep>>>,
}

impl Patient {
    fn new(stream: Box<dyn Stream>, limits: Limits) -> Self {
        let begun = Some(Box::pin(tokio::time::sleep(limits.head)));
        Self { stream, patience: limits.taken, begun, came: 0, until: None }
    }

    /// Waits for a pending operation, up to the limit.
    fn wait<T>(
        &mut self,
        context: &mut Context<'_>,
        poll: impl FnOnce(Pin<&mut Box<dyn Stream>>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(done) = poll(Pin::new(&mut self.stream), context) {
            self.until = None;
            return Poll::Ready(done);
        }
        let patience = self.patience;
        let until =
            self.until.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(Instant::now() + patience)));
        ready!(until.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        if let Poll::Ready(done) = Pin::new(&mut self.stream).poll_read(context, into) {
            self.came += into.filled().len() - before;
            if self.came >= PREFACE {
                self.begun = None;
            }
            return Poll::Ready(done);
        }
        match &mut self.begun {
            Some(begun) => {
                ready!(begun.as_mut().poll(context));
                Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
            }
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.wait(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.wait(context, |stream, context| stream.poll_write_vectored(context, bytes))
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.wait(context, AsyncWrite::poll_flush)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
