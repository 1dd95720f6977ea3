//! Routes requests of clients: recognises model calls and their properties. Other requests of their APIs go to the
//! provider untouched; what belongs to none is refused.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    UPGRADE,
};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::TryStreamExt;
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use unforget_core::digest::Digest;
use unforget_engine::peers::KeyedCall;
use unforget_wire::Dialect;
use unforget_wire::exchange::{self, Fault};

use super::api::{Api, of_api};
use super::body::{self, PIECES_FREE, bad};
use super::broadcast::BroadcastReader;
use super::byte_budget::BudgetShare;
use super::caller::Caller;
use super::fault;
use super::figures;
use super::headers::{API_KEY, IDEMPOTENCY_KEY, ours, text};
use super::passed_on::{OwnedPath, PassedKind, UnservedPath};
use super::received::ReceivedCall;
use super::relay::GatewayCall;
use super::replays::Repetition;
use super::serve;
use super::shared_key::may_pass;
use super::tenant::{OWNER, Tenant};
use super::upstream::{has_steps, returned};
use super::{Gateway, WAITING};

/// Names the conversation of a call, in requests and responses.
const CONVERSATION: HeaderName = HeaderName::from_static("x-unforget-conversation");

/// Longest name that a client may give.
const NAME_MAX: usize = 200;

/// Size of a body up to which it is scanned without a worker thread.
const AT_ONCE: usize = 256 * 1024;

/// Headers in which clients name their session. Source: Claude Code 2.1.330, Codex 0.169.0.
const SESSION: [HeaderName; 3] = [
    HeaderName::from_static("x-claude-code-session-id"),
    HeaderName::from_static("thread-id"),
    HeaderName::from_static("session-id"),
];

/// The gateway's routes: all paths.
pub fn routes(gateway: Arc<Gateway>) -> Router {
    Router::new().fallback(take).with_state(gateway)
}

/// The dialect of a path, if it is for model calls.
fn dialect(method: &Method, path: &str) -> Option<Dialect> {
    match of_api(path) {
        _ if method != Method::POST => None,
        "/messages" => Some(Dialect::Anthropic),
        "/chat/completions" => Some(Dialect::OpenAiChat),
        "/responses" => Some(Dialect::OpenAiResponses),
        _ => None,
    }
}

/// The response to a request that is refused before it comes here, in the form of its API.
///
/// * `path` - without a query.
pub fn refusal(path: &str, headers: &HeaderMap, fault: &Fault) -> Response {
    let is_anthropic = of_api(path).starts_with("/messages") || headers.contains_key("anthropic-version");
    fault::response(fault, if is_anthropic { Dialect::Anthropic } else { Dialect::OpenAiChat }, "")
}

async fn take(State(gateway): State<Arc<Gateway>>, request: Request) -> Response {
    let dialect = dialect(request.method(), request.uri().path());
    let owned = OwnedPath::of(request.method(), request.uri().path(), request.headers());
    let of_others = match owned {
        Ok(OwnedPath { api: Api::Anthropic, .. }) => Dialect::Anthropic,
        Err(_) if request.headers().contains_key("anthropic-version") => Dialect::Anthropic,
        _ => Dialect::OpenAiChat,
    };
    if is_socket(request.headers()) {
        return no_socket();
    }
    let taken = match dialect {
        _ if has_steps(request.uri().path()) => Err(bad("a path has no . and .. in it".to_owned())),
        Some(dialect) => gateway.call(dialect, request).await,
        None => gateway.pass(owned, request).await,
    };
    taken.unwrap_or_else(|fault| fault::response(&fault, dialect.unwrap_or(of_others), ""))
}

/// Whether a request asks for a websocket.
fn is_socket(headers: &HeaderMap) -> bool {
    let is_it = |part: &str| part.trim().eq_ignore_ascii_case("websocket");
    text(headers, &UPGRADE).is_some_and(|wanted| wanted.split(',').any(is_it))
}

/// Refuses a websocket, since there are none here. Passed on without the upgrade, the request would get an answer that
/// its client does not understand: Codex tries seven times with pauses before it falls back to plain requests.
fn no_socket() -> Response {
    let what = "websockets are not served: send the request over HTTP";
    let body = serde_json::json!({"error": {"type": "invalid_request_error", "message": what}}).to_string();
    let head = [(CONTENT_TYPE, "application/json"), (UPGRADE, "HTTP/1.1")];
    (StatusCode::UPGRADE_REQUIRED, head, body).into_response()
}

impl Gateway {
    /// Handles a model call.
    async fn call(self: &Arc<Self>, dialect: Dialect, request: Request) -> Result<Response, Fault> {
        if self.is_closing() || self.running() >= WAITING {
            return Err(Fault::Overloaded { retry_after: 1 });
        }
        let (parts, body) = request.into_parts();
        let tenant = tenant(&parts).to_owned();
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let named = name(&parts.headers)?;
        let session = SESSION.iter().find_map(|header| text(&parts.headers, header)).map(str::to_owned);
        let caller = caller(&tenant, &parts.headers);
        let (raw, held) = self.intake.whole(body).await?;
        let betas = betas(&parts.headers);
        let received = ReceivedCall { dialect, tenant, named, session, caller, betas, body: raw.clone() };
        let ReadBody { received, digest, order, more } = self.read(&parts.headers, received).await?;
        let ReceivedCall { caller, named, session, .. } = &received;
        let request = format!("{path}\n{caller}\n{named:?}\n{session:?}\n{}", digest.hex());
        let request = Digest::of(request.as_bytes());
        let key = text(&parts.headers, &IDEMPOTENCY_KEY);
        let key = key.map(|key| Digest::of(format!("{caller}\n{key}").as_bytes()));
        let is_retry = text(&parts.headers, &HeaderName::from_static("x-stainless-retry-count"));
        let is_retry = is_retry.is_some_and(|count| count != "0");
        let (broadcast, known_as) = match self.relay.replays.look(key, request, is_retry) {
            Repetition::Conflict => {
                let what = "this idempotency key was used with another request".to_owned();
                return Err(Fault::Conflict { what });
            }
            Repetition::Again(broadcast) => return answer(broadcast.reader()).await,
            Repetition::New(broadcast, known_as) => (broadcast, known_as),
        };
        let reader = broadcast.reader();
        let held = held.into_iter().chain(more).collect();
        let (received, headers) = (Arc::new(received), parts.headers);
        let keyed = key.map(|key| KeyedCall { key, request });
        let call = GatewayCall { received, raw, held, order, path, headers, broadcast, known_as, keyed };
        self.tasks.spawn(serve::run(Arc::clone(&self.relay), call));
        answer(reader).await
    }

    /// Decompresses a call's body if necessary, and reads the key for taking turns.
    async fn read(&self, headers: &HeaderMap, received: ReceivedCall) -> Result<ReadBody, Fault> {
        let (intake, headers) = (self.intake.clone(), headers.clone());
        let is_short = received.body.len() < AT_ONCE && !headers.contains_key(CONTENT_ENCODING);
        let is_small = is_short && exchange::pieces(&received.body) < PIECES_FREE;
        let work = move |handle: Handle| {
            let mut received = received;
            let (digest, mut more) = (Digest::of(&received.body), None);
            if let Some(unpacked) = intake.unpacked(&headers, &received.body, &handle)? {
                (received.body, more) = unpacked;
            }
            if !is_small {
                intake.charged(&received.body, &mut more, &handle)?;
            }
            let order = Caller::order_of(&received)?;
            Ok(ReadBody { received, digest, order, more })
        };
        // Longer work does not run on threads that serve streams. A small body never waits for memory budget here.
        let handle = Handle::current();
        if is_small {
            return work(handle);
        }
        let read = spawn_blocking(move || work(handle)).await;
        read.map_err(|error| fault::internal("a defect of ours", &error))?
    }

    /// Receives the body of a request that is passed on, with what it names, if it may name anything.
    async fn named_in(&self, parts: &Parts, body: Body) -> Result<NamingBody, Fault> {
        let kind = text(&parts.headers, &CONTENT_TYPE).unwrap_or_default().to_ascii_lowercase();
        let is_json = kind.is_empty() || kind.starts_with("application/json");
        if parts.method != Method::POST || !is_json || body.is_end_stream() {
            return Ok(NamingBody { body, model: None, kept: None, held: Vec::new() });
        }
        let (intake, headers) = (self.intake.clone(), parts.headers.clone());
        let (raw, held) = intake.whole(body).await?;
        let (packed, handle) = (raw.clone(), Handle::current());
        let read = spawn_blocking(move || {
            let unpacked = intake.unpacked(&headers, &packed, &handle)?;
            let (body, _held) = unpacked.unwrap_or((packed, None));
            // The provider reports any defect of it.
            Ok::<_, Fault>((exchange::named_model(&body), exchange::kept_in(&body)))
        });
        let (model, kept) = read.await.map_err(|error| fault::internal("a defect of ours", &error))??;
        Ok(NamingBody { body: raw.into(), model, kept, held: held.into_iter().collect() })
    }

    /// Passes any other request on unchanged: where the settings list its path, or to the owner of its API.
    async fn pass(
        &self,
        owned: Result<OwnedPath, UnservedPath>,
        request: Request,
    ) -> Result<Response, Fault> {
        let (parts, body) = request.into_parts();
        if matches!(parts.method, Method::CONNECT | Method::TRACE) {
            return Err(body::bad(format!("{} is not passed on", parts.method)));
        }
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        let providers = &self.relay.providers;
        let (upstream, kind, named) = match (providers.listing(parts.uri.path()), owned) {
            (Some(upstream), _) => {
                let named = NamingBody { body, model: None, kept: None, held: Vec::new() };
                (upstream, PassedKind::Listed, named)
            }
            (None, Ok(OwnedPath { kind, api })) => {
                let named = self.named_in(&parts, body).await?;
                (providers.upstream(api, named.model.as_deref())?, kind, named)
            }
            (None, Err(unserved)) => return Err(self.refuse(&parts, unserved)),
        };
        let path_alone = parts.uri.path();
        may_pass(upstream, tenant(&parts), &parts.method, path_alone, named.kept.as_deref())?;
        let NamingBody { body, held: _held, .. } = named;
        figures::passed(kind.name());
        if self.once.is_first(&format!("{kind:?} {}", upstream.name)) {
            kind.say(&upstream.name);
        }
        let mut headers = match owned {
            Ok(OwnedPath { api, .. }) if kind != PassedKind::Listed => upstream.headers(&parts.headers, api),
            _ => upstream.listed_headers(&parts.headers),
        };
        // The body is passed on unchanged, and so is its length.
        headers.extend(parts.headers.get(CONTENT_LENGTH).map(|length| (CONTENT_LENGTH, length.clone())));
        let mut request = providers.request(parts.method, upstream, path).headers(headers);
        if !body.is_end_stream() {
            request = request.body(reqwest::Body::wrap_stream(self.intake.patient(body)));
        }
        let answer = providers.send(upstream, request).await?;
        let mut response = Response::new(Body::empty());
        *response.status_mut() = answer.status();
        *response.headers_mut() = returned(answer.headers());
        ours(response.headers_mut(), &[("x-unforget-authority", "passed-through".to_owned())]);
        let length = answer.headers().get(CONTENT_LENGTH).cloned();
        response.headers_mut().extend(length.map(|length| (CONTENT_LENGTH, length)));
        *response.body_mut() = Body::from_stream(answer.bytes_stream().map_err(reqwest::Error::without_url));
        Ok(response)
    }

    /// Refuses a request that belongs to no upstream; the log says so once for each kind.
    fn refuse(&self, parts: &Parts, unserved: UnservedPath) -> Fault {
        figures::unserved(unserved.name());
        let what = format!("{} {}", parts.method, parts.uri.path());
        let next = unserved.advice();
        if self.once.is_first(&format!("{unserved:?}")) {
            let kind = unserved.name();
            tracing::warn!(kind, "a request was refused: its path is of no API that is served; {next}");
        }
        Fault::Unserved { what, next }
    }
}

/// The body of a request that is passed on.
struct NamingBody {
    body: Body,
    /// The model that it names.
    model: Option<String>,
    /// An id in it that the provider may look up.
    kept: Option<String>,
    /// The memory budget of the body.
    held: Vec<BudgetShare>,
}

/// A call's body after reading.
struct ReadBody {
    received: ReceivedCall,
    /// Digest of the received body.
    digest: Digest,
    order: Digest,
    /// Memory budget of the decompressed body.
    more: Option<BudgetShare>,
}

/// The response for a reader.
async fn answer(mut reader: BroadcastReader) -> Result<Response, Fault> {
    let head = reader.head().await.ok_or_else(|| fault::internal("a call", &"it ended without an answer"))?;
    let mut response = Response::new(Body::from_stream(reader.body()));
    *response.status_mut() = head.status;
    *response.headers_mut() = head.headers;
    Ok(response)
}

/// The conversation that a client names to us.
fn name(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(value) = headers.get(CONVERSATION) else { return Ok(None) };
    let name = value.to_str().ok().map(str::trim);
    let is_fit = |name: &&str| !name.is_empty() && name.len() <= NAME_MAX && !name.contains(char::is_control);
    match name.filter(is_fit) {
        Some(name) => Ok(Some(name.to_owned())),
        None => Err(bad(format!("{CONVERSATION}: a name has 1 to {NAME_MAX} visible ASCII characters"))),
    }
}

/// The tenant of a request.
fn tenant(parts: &Parts) -> &str {
    parts.extensions.get::<Tenant>().map_or(OWNER, |tenant| &tenant.0)
}

/// The caller, identified by its key. Only a digest of the key is kept.
fn caller(tenant: &str, headers: &HeaderMap) -> String {
    let key = headers.get(AUTHORIZATION).or_else(|| headers.get(API_KEY)).map(HeaderValue::as_bytes);
    let digest = Digest::of(key.unwrap_or_default());
    format!("{tenant}\n{}", digest.hex())
}

/// Requested beta features.
fn betas(headers: &HeaderMap) -> String {
    let values = headers.get_all("anthropic-beta").iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
}
