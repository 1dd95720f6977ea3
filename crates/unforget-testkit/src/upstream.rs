//! A provider of three APIs on loopback that enforces the rules of real ones, and answers by script.
//!
//! Every request is checked by the offline validator and counted by a tokeniser that the engine does not use. A request
//! that is invalid or too large gets the provider's own error, and is recorded: a test reads [`Upstream::came`] at the
//! end.

#![allow(
    clippy::indexing_slicing,
    reason = "JSON is indexed by key: what is missing is null, and what is written to is an object"
)]

mod answers;
mod kept;
pub mod plan;
pub mod scripts;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use unforget_wire::{Checks, Dialect, validate};

pub use answers::{Deed, Say, Spent};
use kept::Kept;

/// A received request.
#[derive(Clone, Debug)]
pub struct Came {
    /// Its dialect.
    pub dialect: Dialect,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its bytes.
    pub body: Vec<u8>,
    /// Its tokens, including the requested answer.
    pub tokens: u64,
    /// The validator's findings.
    pub violations: Vec<String>,
    /// The status of its reply.
    pub status: u16,
}

/// Decides about answers: from the request and its number to the model's output.
pub type Script = Arc<dyn Fn(&Value, usize) -> Say + Send + Sync>;

/// A callback for received requests.
pub type Look = Arc<dyn Fn(&Came) + Send + Sync>;

/// The rules of a provider, and its way of counting.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// Token limit of a request together with its answer.
    pub window: u64,
    /// For clients without an engine. The validator's findings are recorded but cause no refusal, and only a prompt
    /// that is too large by itself is refused: newer models cut their answer at the end of the window.
    pub is_lenient: bool,
    /// Number of bytes per token. By default, tokens of `o200k_base` for every model.
    pub bytes_per_token: Option<u64>,
}

impl Rules {
    /// Refuses everything invalid, and counts in `o200k_base`.
    pub fn strict(window: u64) -> Self {
        Self { window, is_lenient: false, bytes_per_token: None }
    }
}

struct Shared {
    rules: Rules,
    script: Script,
    look: Option<Look>,
    came: Mutex<Vec<Came>>,
    /// Answers of the Responses API, for references by later requests.
    kept: Kept,
}

/// A running provider. Ends together with its runtime.
#[derive(Clone)]
pub struct Upstream {
    /// Its address.
    pub address: SocketAddr,
    shared: Arc<Shared>,
}

impl Upstream {
    /// Starts a provider on a free port.
    ///
    /// * `window` - in tokens of `o200k_base`, for every model.
    ///
    /// # Panics
    /// If there is no free port.
    pub async fn start(window: u64, script: Script) -> Self {
        Self::start_at(SocketAddr::from(([127, 0, 0, 1], 0)), Rules::strict(window), script, None).await
    }

    /// Starts a provider at an address.
    ///
    /// * `look` - receives each request, which is then not recorded.
    ///
    /// # Panics
    /// If the port is taken.
    #[allow(clippy::unwrap_used, reason = "for tests")]
    pub async fn start_at(address: SocketAddr, rules: Rules, script: Script, look: Option<Look>) -> Self {
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared { rules, script, look, came: Mutex::default(), kept: Kept::default() });
        let routes = Router::new()
            .route(
                "/v1/messages",
                post(|state, headers, body| take(state, Dialect::Anthropic, headers, body)),
            )
            .route("/v1/messages/count_tokens", post(count))
            .route(
                "/v1/chat/completions",
                post(|state, headers, body| take(state, Dialect::OpenAiChat, headers, body)),
            )
            .route(
                "/v1/responses",
                post(|state, headers, body| take(state, Dialect::OpenAiResponses, headers, body)),
            )
            .route(
                "/v1/models",
                get(|| async { axum::Json(json!({"object": "list", "data": [{"id": "scripted"}]})) }),
            )
            .route("/v1/other/{*rest}", get(|Path(rest): Path<String>| async move { rest }))
            .layer(axum::extract::DefaultBodyLimit::disable())
            .with_state(Arc::clone(&shared));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { address, shared }
    }

    /// Its address as a base URL.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests that came, in order.
    pub fn came(&self) -> MutexGuard<'_, Vec<Came>> {
        self.shared.came()
    }
}

impl Shared {
    /// Records a request, and returns its number.
    fn remember(&self, came: Came) -> usize {
        let mut all = self.came();
        let kept = match &self.look {
            None => came,
            Some(look) => {
                look(&came);
                Came { body: Vec::new(), ..came }
            }
        };
        all.push(kept);
        all.len() - 1
    }

    fn came(&self) -> MutexGuard<'_, Vec<Came>> {
        self.came.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn count(State(shared): State<Arc<Shared>>, body: Bytes) -> Response {
    let input = tokens(&serde_json::from_slice(&body).unwrap_or_default(), shared.rules);
    axum::Json(json!({"input_tokens": input})).into_response()
}

#[allow(clippy::unused_async, reason = "a handler")]
async fn take(
    State(shared): State<Arc<Shared>>,
    dialect: Dialect,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let body = unpacked(&headers, &body);
    let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
    let Ok(request) = shared.kept.whole(&sent) else {
        shared.remember(Came { dialect, headers, body, tokens: 0, violations: Vec::new(), status: 400 });
        return refuse(dialect, "Previous response not found.");
    };
    // For a request that refers to an answer, the model's whole input is checked.
    let text =
        if request == sent { String::from_utf8_lossy(&body).into_owned() } else { request.to_string() };
    let checks = Checks { whole: false, ..dialect.into() };
    let violations: Vec<String> = match validate(&text, checks) {
        Ok(()) => Vec::new(),
        Err(found) => {
            found.into_iter().map(|found| format!("{} {}: {}", found.rule, found.place, found.what)).collect()
        }
    };
    let input = tokens(&request, shared.rules);
    let output = ["max_tokens", "max_completion_tokens", "max_output_tokens"];
    let output = output.iter().find_map(|key| request.get(key)?.as_u64()).unwrap_or(0);
    let violation = violations.first().filter(|_| !shared.rules.is_lenient).cloned();
    let asked = if shared.rules.is_lenient { input } else { input.saturating_add(output) };
    let is_refused = violation.is_some() || asked > shared.rules.window;
    let status = if is_refused { 400 } else { 200 };
    let number = shared.remember(Came {
        dialect,
        headers,
        body,
        tokens: input.saturating_add(output),
        violations,
        status,
    });
    if let Some(violation) = violation {
        return refuse(dialect, &violation);
    }
    if is_refused {
        return refuse(dialect, &overflow(dialect, input, output, shared.rules.window));
    }
    let say = (shared.script)(&request, number);
    if let Some(status) = say.refused.and_then(|status| StatusCode::from_u16(status).ok()) {
        let mut refused = refuse(dialect, "The server had an error.");
        *refused.status_mut() = status;
        return refused;
    }
    let is_streamed = request.get("stream").and_then(Value::as_bool).unwrap_or(false);
    let whole = answers::whole(dialect, &sent, &say, answers::RequestNumber { number, input });
    if dialect == Dialect::OpenAiResponses {
        shared.kept.keep(&request, &whole);
    }
    answers::response(dialect, &request, whole, &say, is_streamed)
}

/// The providers' wording for a request that does not fit.
fn overflow(dialect: Dialect, input: u64, output: u64, window: u64) -> String {
    match dialect {
        Dialect::Anthropic if input <= window => format!(
            "input length and `max_tokens` exceed context limit: {input} + {output} > {window}, decrease input length or \
             `max_tokens` and try again"
        ),
        Dialect::Anthropic => format!("prompt is too long: {input} tokens > {window} maximum"),
        _ => format!(
            "This model's maximum context length is {window} tokens. However, you requested {} tokens ({input} in the messages, \
             {output} in the completion). Please reduce the length of the messages or completion.",
            input.saturating_add(output)
        ),
    }
}

fn refuse(dialect: Dialect, message: &str) -> Response {
    const CODES: [(&str, &str); 2] = [
        ("This model's maximum context", "context_length_exceeded"),
        ("Previous response", "previous_response_not_found"),
    ];
    let body = if dialect == Dialect::Anthropic {
        json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}})
    } else {
        let code = CODES.iter().find(|(start, _)| message.starts_with(start)).map(|(_, code)| *code);
        json!({"error": {"message": message, "type": "invalid_request_error", "param": "messages", "code": code}})
    };
    (StatusCode::BAD_REQUEST, axum::Json(body)).into_response()
}

fn unpacked(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let is_packed = headers.get("content-encoding").is_some_and(|value| value == "zstd");
    if is_packed { zstd::decode_all(body).unwrap_or_default() } else { body.to_vec() }
}

/// Tokens of the strings of a request, not counting keys: close to a provider's count, never the engine's own number.
fn tokens(request: &Value, rules: Rules) -> u64 {
    fn walk(value: &Value, text: &mut String) {
        match value {
            Value::String(said) if said.len() < 512 * 1024 => {
                text.push_str(said);
                text.push('\n');
            }
            Value::Array(items) => items.iter().for_each(|item| walk(item, text)),
            Value::Object(fields) => {
                if fields.contains_key("file_id") {
                    text.push_str(&"file ".repeat(1_500));
                }
                let is_bytes = |key: &str| matches!(key, "data" | "url" | "signature" | "encrypted_content");
                fields.iter().filter(|(key, _)| !is_bytes(key)).for_each(|(_, field)| walk(field, text));
            }
            _ => {}
        }
    }
    let mut text = String::new();
    walk(request, &mut text);
    if let Some(bytes) = rules.bytes_per_token {
        return (text.len() as u64).div_ceil(bytes.max(1));
    }
    tiktoken_rs::o200k_base_singleton().encode_ordinary(&text).len() as u64
}

/// A stream of pieces, each after a pause; pieces after the first wait for their release.
fn slowly(pieces: Vec<String>, say: &Say) -> Body {
    let (pieces, pause, gate) = (pieces.into_iter().enumerate(), say.pause, say.gate.clone());
    Body::from_stream(futures_util::stream::unfold(
        (pieces, gate),
        move |(mut pieces, mut gate)| async move {
            let (number, piece) = pieces.next()?;
            if let Some(gate) = gate.as_mut().filter(|_| number == 1) {
                // The end of the sender releases it too.
                gate.wait_for(|is_open| *is_open).await.ok();
            }
            if !pause.is_zero() {
                tokio::time::sleep(pause).await;
            }
            Some((Ok::<_, std::convert::Infallible>(Bytes::from(piece)), (pieces, gate)))
        },
    ))
}
