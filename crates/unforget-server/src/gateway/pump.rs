//! A call from the client's request to the last byte of its answer.

use std::sync::Arc;
use std::time::Instant;

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::http::Method;
use axum::http::header::CONTENT_ENCODING;
use tokio::task::spawn_blocking;
use unforget_core::recover::Refused;
use unforget_wire::Dialect;
use unforget_wire::exchange::Fault;
use unforget_wire::refusal;

use super::Gateway;
use super::ask::{Begun, Received, Sending};
use super::fault::{self, Problem};
use super::figures;
use super::reading::Reading;

use super::live::{End, Head, Live};
use super::route::{is_refusal, ours, unreached};
use super::spool::{Label, Spooled};
use super::upstream::{Api, Upstream, returned};

/// Bytes of a refusal that are read.
const REFUSAL: usize = 1 << 20;

/// A call of a model.
pub(super) struct Call {
    pub(super) received: Arc<Received>,
    /// The body as it came.
    pub(super) raw: Bytes,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) live: Arc<Live>,
}

impl Gateway {
    /// Runs a call. Whatever happens, its readers get an answer or a fault.
    pub(super) async fn run(self: Arc<Self>, call: Call) {
        let live = Arc::clone(&call.live);
        let dialect = call.received.dialect;
        let _running = figures::Running::begin();
        if let Err(fault) = Arc::clone(&self).serve(call).await {
            tracing::warn!(%fault, "a call failed");
            let (head, body) = fault::response(&fault, dialect, "").into_parts();
            figures::call(dialect, head.status, "none", None);
            let body = axum::body::to_bytes(body, REFUSAL).await.unwrap_or_default();
            live.refuse(Head { status: head.status, headers: head.headers }, body);
        }
        self.lives.tidy();
    }

    async fn serve(self: Arc<Self>, call: Call) -> Result<(), Fault> {
        let start = Instant::now();
        let mut begun = self.at_work(&call.received, |gateway, received| gateway.begin(received)).await?;
        let overhead = start.elapsed();
        let api = if call.received.dialect == Dialect::Anthropic { Api::Anthropic } else { Api::OpenAi };
        let upstream = self.upstream(api, begun.model.as_deref())?;
        let mut attempt = 0;
        let answer = loop {
            let answer = self.send(&call, &begun, (upstream, api)).await?;
            if !is_refusal(answer.status()) {
                break answer;
            }
            let (head, body) = self.refusal(answer, &upstream.name).await?;
            let known = classify(&head, &body);
            let is_smaller = match known.filter(|known| attempt == 0 && known.refused() != Refused::Other) {
                Some(known) => {
                    self.learn(&begun, &known);
                    let refused = known.refused();
                    let (smaller, changed) = self
                        .at_work(&call.received, move |gateway, received| {
                            let mut begun = begun;
                            let is_smaller = gateway.smaller(received, &mut begun, refused, attempt)?;
                            Ok((begun, is_smaller))
                        })
                        .await?;
                    begun = smaller;
                    changed
                }
                None => false,
            };
            if !is_smaller {
                let mut headers = returned(&head.headers);
                ours(&mut headers, &told(&begun, overhead.as_secs_f64()));
                figures::call(call.received.dialect, head.status, begun.authority, Some(overhead));
                call.live.refuse(Head { status: head.status, headers }, body);
                return Ok(());
            }
            attempt += 1;
        };
        let mut headers = returned(answer.headers());
        ours(&mut headers, &told(&begun, overhead.as_secs_f64()));
        let is_streamed = is_stream(answer.headers());
        figures::call(call.received.dialect, answer.status(), begun.authority, Some(overhead));
        let label = label(&begun, is_streamed);
        let spooled =
            self.spool.begin(&label).map_err(|error| fault::internal("the answer cannot be kept", &error))?;
        call.live.begin(Head { status: answer.status(), headers });
        let read = Reading::new(call.received.dialect, is_streamed);
        self.pump(call.live, answer, (spooled, read), begun).await;
        Ok(())
    }

    /// Reads an answer to its end, and stores it.
    async fn pump(
        self: Arc<Self>,
        live: Arc<Live>,
        mut answer: reqwest::Response,
        (mut spooled, mut read): (Spooled, Reading),
        begun: Begun,
    ) {
        let end = loop {
            match answer.chunk().await {
                Ok(Some(chunk)) => {
                    if let Err(error) = spooled.push(&chunk) {
                        tracing::error!(%error, "an answer cannot be kept, so it is broken off");
                        break End::Broken;
                    }
                    if let Some(file) = spooled.due() {
                        // Not waited for: it bounds what a loss of power takes, not what a client gets.
                        drop(spawn_blocking(move || file.sync_data()));
                    }
                    read.push(&chunk);
                    live.push(chunk);
                }
                Ok(None) => break End::Whole,
                Err(error) => {
                    tracing::warn!(%error, "an answer broke off");
                    break End::Broken;
                }
            }
        };
        live.end(end);
        let told = read.finish();
        let gateway = Arc::clone(&self);
        let stored = spawn_blocking(move || {
            gateway.finish(&begun, &told).map_err(Fault::from).map(|()| spooled.done())
        });
        match stored.await {
            Ok(Ok(())) => {}
            Ok(Err(fault)) => {
                tracing::error!(%fault, "an answer is not stored; it stays in the spool for the next start")
            }
            Err(error) => {
                tracing::error!(%error, "an answer is not stored; it stays in the spool for the next start")
            }
        }
    }

    /// Sends a call.
    async fn send(
        &self,
        call: &Call,
        begun: &Begun,
        (upstream, api): (&Upstream, Api),
    ) -> Result<reqwest::Response, Fault> {
        let mut headers = upstream.headers(&call.headers, api);
        let body = match &begun.sending {
            Sending::AsIs => call.raw.clone(),
            Sending::Made(body) => {
                headers.remove(CONTENT_ENCODING);
                Bytes::from(body.clone())
            }
        };
        let request = self.client.request(Method::POST, upstream.at(&call.path)).headers(headers).body(body);
        request.send().await.map_err(|error| unreached(&upstream.name, &error, self.settings.idle))
    }

    /// A refusal with its body, as far as that is read.
    async fn refusal(&self, mut answer: reqwest::Response, upstream: &str) -> Result<(Head, Bytes), Fault> {
        let head = Head { status: answer.status(), headers: answer.headers().clone() };
        let mut body = Vec::new();
        while body.len() < REFUSAL {
            let chunk =
                answer.chunk().await.map_err(|error| unreached(upstream, &error, self.settings.idle))?;
            let Some(chunk) = chunk else { break };
            body.extend_from_slice(&chunk);
        }
        Ok((head, body.into()))
    }

    /// Does something that waits for the disk, in order of arrival.
    async fn at_work<T: Send + 'static>(
        self: &Arc<Self>,
        received: &Arc<Received>,
        work: impl FnOnce(&Self, &Received) -> Result<T, Problem> + Send + 'static,
    ) -> Result<T, Fault> {
        let _permit = self.at_work.acquire().await.map_err(|_| Fault::Overloaded { retry_after: 1 })?;
        let (gateway, received) = (Arc::clone(self), Arc::clone(received));
        let done = spawn_blocking(move || work(&gateway, &received)).await;
        Ok(done.map_err(|error| fault::internal("a defect of ours", &error))??)
    }

    /// The provider of a call.
    pub(super) fn upstream(&self, api: Api, model: Option<&str>) -> Result<&Upstream, Fault> {
        let found = self.settings.upstreams.iter().find(|upstream| upstream.takes(api, model));
        found.ok_or_else(|| Fault::NotFound {
            what: format!("an upstream that takes {}", model.unwrap_or("this path")),
        })
    }
}

/// What a client is told about its call.
fn told(begun: &Begun, overhead: f64) -> [(&'static str, String); 4] {
    [
        ("x-unforget-conversation", begun.who.lane.lane.0.clone()),
        ("x-unforget-authority", begun.authority.to_owned()),
        ("x-unforget-prompt-tokens", begun.tokens.expected.to_string()),
        ("x-unforget-overhead-ms", format!("{:.2}", overhead * 1e3)),
    ]
}

fn label(begun: &Begun, is_streamed: bool) -> Label {
    Label {
        tenant: begun.who.caller.tenant.clone(),
        lane: begun.who.lane.lane.0.clone(),
        form: begun.who.caller.form.name().to_owned(),
        asked_at: begun.asked_at.map(|seq| seq.0),
        is_streamed,
    }
}

fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

fn classify(head: &Head, body: &[u8]) -> Option<refusal::Refusal> {
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    refusal::classify(&refusal::Reply {
        status: Some(head.status.as_u16()),
        headers: refusal::Headers {
            retry_after: text("retry-after"),
            retry_after_ms: text("retry-after-ms"),
            error_type: text("x-amzn-errortype"),
        },
        body,
        provider: None,
    })
}
