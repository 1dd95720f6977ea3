//! Recall for MCP clients: five tools and the conversations as resources, over stdio and streamable HTTP.
//!
//! | module | holds |
//! |---|---|
//! | `tools` | the tools and their parameters in one table, which also checks arguments |
//! | `calls` | tools carried out |
//! | `page`, `show` | results as text that a model reads well, and as JSON, a page at a time |
//! | `resources` | conversations and entries by address |
//! | `scope` | which conversations a client may read |
//! | `trouble` | failures, as text for a model |
//! | `handler` | the protocol, by the official SDK |
//! | `lines` | lines that are no message, which the SDK does not answer |
//! | `own` | the tools for a model at the gateway, about its own conversation |
//!
//! Only `handler`, `lines`, `resources` and this file use the SDK.

mod calls;
mod handler;
mod lines;
mod own;
mod page;
mod resources;
mod scope;
mod show;
mod tools;
mod trouble;

use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use rmcp::ServiceExt as _;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use unforget_engine::recall::NewVerdict;
use unforget_engine::summarise::Summarisers;
use unforget_engine::{Engine, EngineError};

use crate::json::AnswerJson;

pub use handler::Memory;
pub use own::ConversationTools;
pub use scope::{HEADER, RecallScope};

/// The maker of an answer.
#[derive(Clone)]
pub enum Answerer {
    /// Models, with an engine that may write, since an answer needs a grant.
    Here(Engine, Arc<Summarisers>),
    /// The daemon that owns the database.
    There(Owner),
}

/// Asks the owner of the database; the body is that of `POST /api/v1/answer`.
pub type Owner = Arc<dyn Fn(&serde_json::Value) -> Result<AnswerJson, EngineError> + Send + Sync>;

/// Selects the maker of an answer for each question anew; `None` if no model is configured.
pub type Answerers = Arc<dyn Fn() -> Result<Option<Answerer>, EngineError> + Send + Sync>;

/// A verdict of a client, with names that its scope has.
#[derive(Clone, Copy, Debug)]
pub struct VerdictRequest<'a> {
    /// Key of the conversation.
    pub conversation: &'a str,
    /// The entry, or the summary.
    pub name: &'a str,
    /// What is said of it.
    pub verdict: NewVerdict<'a>,
}

/// Records a verdict: by this process, or by the daemon that owns the database.
pub type VerdictWriter = Arc<dyn Fn(&VerdictRequest<'_>) -> Result<(), EngineError> + Send + Sync>;

/// Largest body of an HTTP request.
const BODY_MAX: usize = 1 << 20;

/// Which HTTP requests are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpLimits {
    /// Accepted values of `Host`, such as `memory.example` or `127.0.0.1:8080`. Empty: this machine's own names.
    pub hosts: Vec<String>,
    /// Accepted values of `Origin`, such as `https://app.example:443`. Empty: no web page is accepted. Clients other
    /// than browsers send no `Origin` and are always accepted.
    pub origins: Vec<String>,
}

/// A server over streamable HTTP, as a service of tower: `Router::route_service("/mcp", …)`.
pub type HttpService = StreamableHttpService<Memory, NeverSessionManager>;

/// MCP over HTTP at `/mcp`: [`service`], which answers what is no JSON as JSON-RPC says.
pub fn routes(memory: &Memory, limits: Option<&HttpLimits>) -> Router {
    Router::new().route_service("/mcp", service(memory, limits)).layer(middleware::from_fn(parsed))
}

/// Answers a body that is no message: of what is no JSON the SDK would refuse the media type.
async fn parsed(request: Request, next: Next) -> Response {
    if request.method() != Method::POST {
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, BODY_MAX).await else {
        return StatusCode::PAYLOAD_TOO_LARGE.into_response();
    };
    // An empty line is nothing, an empty body is no JSON.
    let refused = if body.trim_ascii().is_empty() { Some(lines::no_json()) } else { lines::refusal(&body) };
    if let Some(refused) = refused {
        return (StatusCode::BAD_REQUEST, axum::Json(refused)).into_response();
    }
    next.run(Request::from_parts(parts, body.into())).await
}

/// Serves MCP over HTTP, without sessions and without streams: every request is independent.
///
/// A request can be narrowed by a [`RecallScope`] among its extensions, put there by authentication, and by names in its
/// [`HEADER`] headers; neither can widen it.
///
/// * `memory` - the served memory, shared by all requests.
/// * `limits` - `None` where every request was checked before, as behind the daemon's guard.
pub fn service(memory: &Memory, limits: Option<&HttpLimits>) -> HttpService {
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(BODY_MAX);
    let config = match limits {
        None => config.disable_allowed_hosts().disable_allowed_origins(),
        Some(limits) => {
            let checked =
                config.with_allowed_origins(limits.origins.iter().cloned()).enforce_origin_validation();
            if limits.hosts.is_empty() {
                checked
            } else {
                checked.with_allowed_hosts(limits.hosts.iter().cloned())
            }
        }
    };
    let memory = memory.clone();
    StreamableHttpService::new(move || Ok(memory.clone()), Arc::default(), config)
}

/// Why a connection over stdio ended, other than by its client.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StdioError {
    /// The runtime cannot start, or one of its threads has died.
    #[error("the connection could not be served")]
    Io(#[from] std::io::Error),
    /// The first message does not begin the protocol.
    #[error("the client's first message does not begin the protocol: {0}")]
    Begin(String),
}

/// Serves one client over stdin and stdout until stdin ends. Nothing else may write to stdout meanwhile.
///
/// # Errors
/// [`StdioError`]. A client that disconnects, even before its first message, causes none.
pub fn serve_stdio(memory: Memory) -> Result<(), StdioError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let served = runtime.block_on(async {
        serve_lines(memory, tokio::io::BufReader::new(tokio::io::stdin()), tokio::io::stdout()).await
    });
    // Running calls have no receiver any more, and a thread that reads stdin cannot be stopped.
    runtime.shutdown_background();
    served
}

/// Serves one client by lines of JSON until its input ends. Every request is answered with its id, and what is no message
/// with an error of JSON-RPC.
///
/// # Errors
/// [`StdioError`]. A client that disconnects, even before its first message, causes none.
pub async fn serve_lines<R, W>(memory: Memory, input: R, output: W) -> Result<(), StdioError>
where
    R: tokio::io::AsyncBufRead + Send + Unpin + 'static,
    W: tokio::io::AsyncWrite + Send + Unpin + 'static,
{
    let lines::CheckedLines { end, written } = lines::checked(input, output);
    let served = match memory.serve(end).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| std::io::Error::other(error).into()),
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(StdioError::Begin(error.to_string())),
    };
    if served.is_ok() {
        written.await.map_err(std::io::Error::other)?;
    }
    served
}
