//! A call from the client's request to the last byte of its answer.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::Method;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use futures_util::FutureExt;
use tokio::task::spawn_blocking;
use tracing::{Instrument, Span};
use unforget_core::admit::Cover;
use unforget_core::digest::Digest;
use unforget_core::recover::Refused;
use unforget_wire::exchange::Fault;
use unforget_wire::refusal;

use super::api::Api;
use super::decide::Decider;
use super::fair_queue::{self, FairQueue};
use super::fault::{self, CallProblem};
use super::figures;
use super::headers::{IDEMPOTENCY_KEY, ours};
use super::notices;
use super::prepared::{PreparedCall, SentAs};
use super::reading::{self, AnswerReader, interrupted, is_refusal};
use super::received::ReceivedCall;

use super::answer_store::AnswerStore;
use super::arriving::{ArrivingAnswer, OpenAnswer};
use super::body::AGAIN;
use super::broadcast::{BodyEnd, Broadcast, ResponseHead};
use super::byte_budget::{BudgetShare, ByteBudget};
use super::replays::Replays;
use super::spool::{RepeatLabel, SpoolLabel, SpoolRange};
use super::tool_loop::ToolLoop;
use super::trace;
use super::upstream::{Providers, Upstream, returned};

/// Memory budget reserved for a call's answer before it is sent, in bytes.
const FIRST: usize = 16 * 1024;

/// Most bytes read of a refusal.
const REFUSAL: usize = 1 << 20;

/// A model call.
pub(super) struct GatewayCall {
    pub(super) received: Arc<ReceivedCall>,
    /// The received body.
    pub(super) raw: Bytes,
    /// The memory budget of its bodies.
    #[allow(dead_code, reason = "given back when the call is dropped")]
    pub(super) held: Vec<BudgetShare>,
    /// The key for taking turns.
    pub(super) order: Digest,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    pub(super) broadcast: Arc<Broadcast>,
    /// The key under which its answer may be asked for again.
    pub(super) known_as: Digest,
    /// The client's own key, if it gave one.
    pub(super) keyed: Option<KeyedRequest>,
}

/// A request under a key of its client's.
#[derive(Clone, Copy)]
pub(super) struct KeyedRequest {
    /// Digest of the caller and its key.
    pub(super) key: Digest,
    /// Digest of the request.
    pub(super) request: Digest,
}

/// The upstream of a call, and its API.
#[derive(Clone, Copy)]
pub(super) struct Route<'a> {
    pub(super) upstream: &'a Upstream,
    pub(super) api: Api,
}

/// The head of a provider's answer, and the first chunk of its body.
pub(super) struct BegunAnswer {
    pub(super) answer: reqwest::Response,
    /// `None` for an empty body.
    pub(super) first: Option<Bytes>,
}

/// A prepared call that a provider took, and the head of its answer.
struct TakenCall {
    prepared: PreparedCall,
    answer: reqwest::Response,
}

/// Carries calls to providers and their answers to clients.
pub(super) struct Relay {
    /// Dropped before the decider, which holds the database too.
    pub(super) store: Arc<AnswerStore>,
    pub(super) decider: Arc<Decider>,
    pub(super) providers: Arc<Providers>,
    pub(super) replays: Arc<Replays>,
    pub(super) queue: Arc<FairQueue>,
    /// Memory budget of answers.
    pub(super) budget: ByteBudget,
}

impl Relay {
    /// Runs a call. In every case its readers get an answer or a fault.
    pub(super) async fn run(self: Arc<Self>, call: GatewayCall) {
        let (broadcast, known_as) = (Arc::clone(&call.broadcast), call.known_as);
        let dialect = call.received.dialect;
        let _running = figures::RunningCall::begin();
        let span = trace::call(dialect, &call.headers);
        let serve = Arc::clone(&self).serve(call).instrument(span.clone());
        let served = AssertUnwindSafe(serve).catch_unwind().await;
        let served = served.unwrap_or_else(|_| Err(fault::internal("a defect of ours", &"it panicked")));
        if let Err(fault) = served {
            tracing::warn!(%fault, "a call failed");
            let (head, body) = fault::response(&fault, dialect, "").into_parts();
            figures::call(dialect, head.status, "none", None);
            span.in_scope(|| trace::status(head.status));
            let body = axum::body::to_bytes(body, REFUSAL).await.unwrap_or_default();
            broadcast.refuse(ResponseHead { status: head.status, headers: head.headers }, body);
        }
        self.replays.ended(known_as, &broadcast);
    }

    async fn serve(self: Arc<Self>, call: GatewayCall) -> Result<(), Fault> {
        let start = Instant::now();
        let room = self.budget.take(FIRST).await.ok_or(Fault::Overloaded { retry_after: AGAIN })?;
        let prepared = self.at_work(&call, Decider::begin).instrument(trace::step("store and fit")).await?;
        prepared.note();
        let overhead = start.elapsed();
        let api = Api::of(call.received.dialect);
        let upstream = self.providers.upstream(api, prepared.model.as_deref())?;
        let route = Route { upstream, api };
        trace::sent_to(&upstream.url);
        let sent = self.sent(&call, prepared, route, overhead).await?;
        let Some(TakenCall { mut prepared, mut answer }) = sent else { return Ok(()) };
        trace::status(answer.status());
        // An answer with an unreadable compression is passed on unchanged.
        if let Some(offered) = prepared.offered.clone().filter(|_| reading::is_read(answer.headers())) {
            let first = self.providers.chunk(upstream, &mut answer).await?;
            figures::call(call.received.dialect, answer.status(), prepared.authority, Some(overhead));
            notices::call(&prepared, answer.status(), overhead);
            prepared.offered = None;
            let prepared = Arc::new(prepared);
            let tools = ToolLoop { relay: &self, call: &call, route, prepared, offered, overhead };
            return tools.run(BegunAnswer { answer, first }, room).await;
        }
        // The answer's file is created while the model begins to think.
        let is_streamed = is_stream(answer.headers());
        let encoding = reading::encoding(answer.headers());
        let read = AnswerReader::new(call.received.dialect, is_streamed, encoding.as_deref());
        let mut headers = returned(answer.headers());
        ours(&mut headers, &told(&prepared, overhead.as_secs_f64()));
        let head = ResponseHead { status: answer.status(), headers };
        let repeat = call.keyed.as_ref().map(|keyed| repeat_label(keyed, &head));
        let spooled = self.store.begin(SpoolLabel { repeat, ..label(&prepared, is_streamed, encoding) })?;
        let first = match self.providers.chunk(upstream, &mut answer).await {
            Ok(first) => first,
            Err(fault) => {
                spooled.done(true);
                return Err(fault);
            }
        };
        figures::call(call.received.dialect, answer.status(), prepared.authority, Some(overhead));
        notices::call(&prepared, answer.status(), overhead);
        let (broadcast, dialect) = (Arc::clone(&call.broadcast), call.received.dialect);
        broadcast.begin(head);
        drop(call);
        prepared.lighten();
        let arriving = ArrivingAnswer::new(
            Arc::new(prepared),
            dialect,
            OpenAnswer { file: spooled, reader: read },
            room,
        );
        self.pass_on(&broadcast, BegunAnswer { answer, first }, arriving).await;
        Ok(())
    }

    /// Sends a call, and once more with less if the provider finds it too large. `None` if it is refused and the client
    /// was told.
    async fn sent(
        self: &Arc<Self>,
        call: &GatewayCall,
        mut prepared: PreparedCall,
        route: Route<'_>,
        overhead: Duration,
    ) -> Result<Option<TakenCall>, Fault> {
        let mut attempt = 0;
        loop {
            let answer = self.send(call, &prepared, route).instrument(trace::step("send")).await?;
            if !is_refusal(answer.status()) {
                return Ok(Some(TakenCall { prepared, answer }));
            }
            let (head, body) = self.refusal(answer, route.upstream).await?;
            let known = classify(&head, &reading::plain(&head.headers, &body, REFUSAL));
            let sent = prepared.tokens.expected;
            let is_size = known.as_ref().is_some_and(|known| known.refused() != Refused::Other);
            let is_smaller = match known.filter(|known| attempt == 0 && known.refused() != Refused::Other) {
                Some(known) => {
                    self.decider.learn(&prepared, known.refused());
                    let refused = known.refused();
                    let smaller = self.at_work(call, move |decider, received| {
                        let is_smaller = decider.smaller(received, &mut prepared, refused, attempt)?;
                        Ok((prepared, is_smaller))
                    });
                    let (smaller, changed) = smaller.instrument(trace::step("make it smaller")).await?;
                    prepared = smaller;
                    changed
                }
                None => false,
            };
            if is_size {
                let again = is_smaller.then_some(prepared.tokens.expected);
                notices::refused(&prepared, head.status, sent, again);
                figures::refused(prepared.dialect, if is_smaller { "again" } else { "told" });
            }
            if !is_smaller {
                let mut headers = returned(&head.headers);
                ours(&mut headers, &told(&prepared, overhead.as_secs_f64()));
                figures::call(call.received.dialect, head.status, prepared.authority, Some(overhead));
                notices::call(&prepared, head.status, overhead);
                trace::status(head.status);
                call.broadcast.refuse(ResponseHead { status: head.status, headers }, body);
                return Ok(None);
            }
            attempt += 1;
            prepared.note();
        }
    }

    /// Relays an answer to its end, and stores it.
    ///
    /// * `first` - its first chunk.
    async fn pass_on(
        self: Arc<Self>,
        broadcast: &Broadcast,
        BegunAnswer { mut answer, first }: BegunAnswer,
        mut arriving: ArrivingAnswer,
    ) {
        let mut next: reqwest::Result<_> = Ok(first);
        let end = loop {
            match next {
                Ok(Some(chunk)) => {
                    if let Err(error) = self.give(broadcast, &mut arriving, chunk).await {
                        tracing::error!(%error, "an answer cannot be kept, so it is broken off");
                        break arriving.broken_off(broadcast);
                    }
                }
                Ok(None) => break arriving.end(),
                Err(error) => {
                    tracing::warn!(error = %error.without_url(), "an answer broke off");
                    break BodyEnd::Broken;
                }
            }
            next = answer.chunk().await;
        };
        self.ended(broadcast, arriving, end).await;
    }

    /// Stores a chunk in the spool and passes it to the clients. The provider waits while the memory budget is used up.
    pub(super) async fn give(
        self: &Arc<Self>,
        broadcast: &Broadcast,
        arriving: &mut ArrivingAnswer,
        chunk: Bytes,
    ) -> io::Result<()> {
        let has_ended = arriving.take(&chunk)?;
        let kept = arriving.open.as_ref().map_or(0, |open| open.reader.kept());
        if let Some(more) = kept.checked_sub(arriving.room.bytes()).filter(|more| *more > 0) {
            let more = self.budget.take(more.max(FIRST)).await;
            arriving.room.join(more.ok_or_else(|| io::Error::other("there is no room for it in memory"))?);
        }
        // Determines the place before the file disappears.
        let place = match (self.budget.spare(chunk.len()), &mut arriving.open) {
            (None, Some(OpenAnswer { file: spooled, .. })) if !broadcast.is_spooled() => {
                broadcast.spooled_in(spooled.back()?);
                ChunkPlace::Spooled(spooled.place())
            }
            (None, Some(OpenAnswer { file: spooled, .. })) => ChunkPlace::Spooled(spooled.place()),
            (held, _) => ChunkPlace::Here(held),
        };
        if has_ended && arriving.is_referred_to {
            self.keep(arriving).await;
        }
        match place {
            ChunkPlace::Here(held) => broadcast.push(&chunk, held),
            ChunkPlace::Spooled(place) => broadcast.push_spooled(place),
        }
        if has_ended {
            broadcast.is_whole();
        }
        Ok(())
    }

    /// Handles the end of an answer: stores it.
    pub(super) async fn ended(
        self: &Arc<Self>,
        broadcast: &Broadcast,
        mut arriving: ArrivingAnswer,
        end: BodyEnd,
    ) {
        if arriving.is_referred_to {
            self.keep(&mut arriving).await;
        }
        broadcast.end(end);
        self.keep(&mut arriving).await;
    }

    /// Stores the received part of an answer, once.
    async fn keep(self: &Arc<Self>, arriving: &mut ArrivingAnswer) {
        let Some(OpenAnswer { file: spooled, reader: read }) = arriving.open.take() else { return };
        let (decider, prepared) = (Arc::clone(&self.decider), Arc::clone(&arriving.prepared));
        let rounds = arriving.rounds.take();
        let path = spooled.path().to_owned();
        let span = Span::current();
        let stored = spawn_blocking(move || {
            let (told, is_read) = read.finish();
            trace::answered(&span, &told);
            decider
                .finish(&prepared, &told, rounds.as_deref())
                .map_err(Fault::from)
                .map(|()| spooled.done_as(is_read, interrupted(&told).is_none()))
        });
        let what = "an answer is not stored yet; it stays in the spool and is tried again";
        match stored.await {
            Ok(Ok(repeated)) => {
                if let Some(path) = repeated {
                    self.store.remove_after(path, self.replays.window());
                }
                return;
            }
            Ok(Err(fault)) => tracing::error!(%fault, "{what}"),
            Err(error) => tracing::error!(%error, "{what}"),
        }
        self.store.store_later([path]);
    }

    /// Sends a call.
    async fn send(
        &self,
        call: &GatewayCall,
        prepared: &PreparedCall,
        route: Route<'_>,
    ) -> Result<reqwest::Response, Fault> {
        let Route { upstream, api } = route;
        let body = match &prepared.sending {
            SentAs::AsIs => call.raw.clone(),
            SentAs::Made(body) => return self.send_body(call, body.clone(), route).await,
        };
        let headers = upstream.headers(&call.headers, api);
        let request = self.providers.request(Method::POST, upstream, &call.path).headers(headers).body(body);
        self.providers.send(upstream, request).await
    }

    /// Sends our body instead of the client's. The client's idempotency key belongs to its own body: a provider that
    /// knows the key would refuse another body, or replay the first answer.
    pub(super) async fn send_body(
        &self,
        call: &GatewayCall,
        body: Bytes,
        Route { upstream, api }: Route<'_>,
    ) -> Result<reqwest::Response, Fault> {
        let mut headers = upstream.headers(&call.headers, api);
        headers.remove(CONTENT_ENCODING);
        headers.remove(IDEMPOTENCY_KEY);
        let request = self.providers.request(Method::POST, upstream, &call.path).headers(headers).body(body);
        self.providers.send(upstream, request).await
    }

    /// A refusal with its body, as far as that is read.
    async fn refusal(
        &self,
        mut answer: reqwest::Response,
        upstream: &Upstream,
    ) -> Result<(ResponseHead, Bytes), Fault> {
        let head = ResponseHead { status: answer.status(), headers: answer.headers().clone() };
        let mut body = Vec::new();
        while body.len() < REFUSAL {
            let Some(chunk) = self.providers.chunk(upstream, &mut answer).await? else { break };
            body.extend_from_slice(&chunk);
        }
        Ok((head, body.into()))
    }

    /// Runs blocking work when it is the turn of the call's lane.
    pub(super) async fn at_work<T: Send + 'static>(
        self: &Arc<Self>,
        call: &GatewayCall,
        work: impl FnOnce(&Decider, &ReceivedCall) -> Result<T, CallProblem> + Send + 'static,
    ) -> Result<T, Fault> {
        let turn = self.queue.take(call.order).await;
        let _turn = turn.map_err(|fair_queue::QueueFull| Fault::TooMany { retry_after: 1 })?;
        let (decider, received, span) =
            (Arc::clone(&self.decider), Arc::clone(&call.received), Span::current());
        let done = spawn_blocking(move || span.in_scope(|| work(&decider, &received))).await;
        Ok(done.map_err(|error| fault::internal("a defect of ours", &error))??)
    }
}

/// Where readers find a chunk.
enum ChunkPlace {
    Here(Option<BudgetShare>),
    Spooled(SpoolRange),
}

/// The response headers about a client's call.
pub(super) fn told(prepared: &PreparedCall, overhead: f64) -> Vec<(&'static str, String)> {
    let mut told = vec![
        ("x-unforget-conversation", prepared.who.lane.name().to_owned()),
        ("x-unforget-authority", prepared.authority.to_owned()),
        ("x-unforget-prompt-tokens", prepared.tokens.expected.to_string()),
        ("x-unforget-overhead-ms", format!("{:.2}", overhead * 1e3)),
    ];
    if let Some(output) = prepared.output() {
        told.push(("x-unforget-output-tokens", output.to_string()));
    }
    if let Some(Cover { verbatim, stubbed, summarised, elided }) = prepared.cover {
        let shown =
            format!("{verbatim} verbatim, {stubbed} stubbed, {summarised} summarised, {elided} elided");
        told.push(("x-unforget-entries", shown));
    }
    if let Some(broken) = prepared.broken {
        told.push(("x-unforget-break", format!("{} at {}", broken.cause.name(), broken.region.name())));
    }
    if prepared.left_out > 0 {
        told.push(("x-unforget-left-out", prepared.left_out.to_string()));
    }
    if prepared.standing.left_out() > 0 {
        told.push(("x-unforget-standing-left-out", prepared.standing.left_out().to_string()));
    }
    told
}

/// The label of an answer that its client may ask for again.
fn repeat_label(keyed: &KeyedRequest, head: &ResponseHead) -> RepeatLabel {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let named = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), text(value)?));
    RepeatLabel {
        key: keyed.key.hex(),
        request: keyed.request.hex(),
        status: head.status.as_u16(),
        headers: head.headers.iter().filter_map(named).collect(),
    }
}

pub(super) fn label(prepared: &PreparedCall, is_streamed: bool, encoding: Option<String>) -> SpoolLabel {
    SpoolLabel {
        tenant: prepared.who.caller.tenant.clone(),
        lane: prepared.who.lane.lane.0.clone(),
        form: prepared.who.caller.form.name().to_owned(),
        asked_at: prepared.asked_at.map(|seq| seq.0),
        is_streamed,
        encoding,
        line: Some(prepared.who.lane.line().0),
        repeat: None,
        number: None,
    }
}

pub(super) fn is_stream(headers: &HeaderMap) -> bool {
    let kind = headers.get("content-type").and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.to_ascii_lowercase().starts_with("text/event-stream")
}

fn classify(head: &ResponseHead, body: &[u8]) -> Option<refusal::Refusal> {
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
