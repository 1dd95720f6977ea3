//! A call from the client's request to the last byte of its answer: the order of the steps.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{HeaderName, HeaderValue};
use futures_util::FutureExt;
use tracing::Instrument;
use unforget_core::recover::Refused;
use unforget_engine::peers::KeyedCall;
use unforget_wire::exchange::Fault;
use unforget_wire::refusal;

use super::api::Api;
use super::arriving::{ArrivingAnswer, OpenAnswer};
use super::body::AGAIN;
use super::broadcast::{BodyEnd, Broadcast, ResponseHead};
use super::decide::Decider;
use super::fault;
use super::figures;
use super::headers::ours;
use super::notices;
use super::prepared::PreparedCall;
use super::reading::{self, AnswerReader, is_refusal};
use super::relay::{BegunAnswer, FIRST, GatewayCall, Relay, Route, is_stream, label, told};
use super::shared_calls::SharedCall;
use super::spool::{RepeatLabel, SpoolLabel};
use super::tool_loop::ToolLoop;
use super::trace;
use super::upstream::{Upstream, returned};

/// Most bytes read of a refusal.
const REFUSAL: usize = 1 << 20;

/// A prepared call that a provider took, and the head of its answer.
struct TakenCall {
    prepared: PreparedCall,
    answer: reqwest::Response,
}

/// Runs a call. In every case its readers get an answer or a fault.
pub(super) async fn run(relay: Arc<Relay>, call: GatewayCall) {
    let (broadcast, known_as) = (Arc::clone(&call.broadcast), call.known_as);
    let dialect = call.received.dialect;
    let _running = figures::RunningCall::begin();
    let span = trace::call(dialect, &call.headers);
    let serve = serve_once(&relay, call).instrument(span.clone());
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
    relay.replays.ended(known_as, &broadcast);
}

/// Serves a call. One with a key is served by one of the processes on the database, whose answer all of them give.
async fn serve_once(relay: &Arc<Relay>, call: GatewayCall) -> Result<(), Fault> {
    let peers = relay.decider.host.engine().peers();
    let (Some(keyed), Some(peers)) = (call.keyed, peers) else { return serve(relay, call).await };
    let Some(shared) = SharedCall::begin(peers, keyed, &call.broadcast).await? else { return Ok(()) };
    let served = tokio::select! {
        served = serve(relay, call) => served,
        never = shared.keep() => match never {},
    };
    shared.end().await;
    served
}

/// Has a call decided, sends it, and relays the answer.
async fn serve(relay: &Arc<Relay>, call: GatewayCall) -> Result<(), Fault> {
    let start = Instant::now();
    let room = relay.budget.take(FIRST).await.ok_or(Fault::Overloaded { retry_after: AGAIN })?;
    let prepared = relay.at_work(&call, Decider::begin).instrument(trace::step("store and fit")).await?;
    prepared.note();
    let overhead = start.elapsed();
    let api = Api::of(call.received.dialect);
    let upstream = relay.providers.upstream(api, prepared.model.as_deref())?;
    let route = Route { upstream, api };
    trace::sent_to(&upstream.url);
    let taken = sent(relay, &call, prepared, route, overhead).await?;
    let Some(TakenCall { mut prepared, mut answer }) = taken else { return Ok(()) };
    trace::status(answer.status());
    // An answer with an unreadable compression is passed on unchanged.
    if let Some(offered) = prepared.offered.clone().filter(|_| reading::is_read(answer.headers())) {
        let first = relay.providers.chunk(upstream, &mut answer).await?;
        figures::call(call.received.dialect, answer.status(), prepared.authority, Some(overhead));
        notices::call(&prepared, answer.status(), overhead);
        prepared.offered = None;
        let prepared = Arc::new(prepared);
        let tools = ToolLoop { relay, call: &call, route, prepared, offered, overhead };
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
    let spooled = relay.store.begin(SpoolLabel { repeat, ..label(&prepared, is_streamed, encoding) })?;
    let first = match relay.providers.chunk(upstream, &mut answer).await {
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
    let arriving =
        ArrivingAnswer::new(Arc::new(prepared), dialect, OpenAnswer { file: spooled, reader: read }, room);
    pass_on(relay, &broadcast, BegunAnswer { answer, first }, arriving).await;
    Ok(())
}

/// Sends a call, and once more with less if the provider finds it too large. `None` if it is refused and the client
/// was told.
async fn sent(
    relay: &Arc<Relay>,
    call: &GatewayCall,
    mut prepared: PreparedCall,
    route: Route<'_>,
    overhead: Duration,
) -> Result<Option<TakenCall>, Fault> {
    let mut attempt = 0;
    loop {
        let answer = relay.send(call, &prepared, route).instrument(trace::step("send")).await?;
        if !is_refusal(answer.status()) {
            return Ok(Some(TakenCall { prepared, answer }));
        }
        let (head, body) = refused(relay, answer, route.upstream).await?;
        let known = classify(&head, &reading::plain(&head.headers, &body, REFUSAL));
        let sent = prepared.tokens.expected;
        let is_size = known.as_ref().is_some_and(|known| known.refused() != Refused::Other);
        let is_smaller = match known.filter(|known| attempt == 0 && known.refused() != Refused::Other) {
            Some(known) => {
                relay.decider.learn(&prepared, known.refused());
                let refused = known.refused();
                let smaller = relay.at_work(call, move |decider, received| {
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
    relay: &Arc<Relay>,
    broadcast: &Broadcast,
    BegunAnswer { mut answer, first }: BegunAnswer,
    mut arriving: ArrivingAnswer,
) {
    let mut next: reqwest::Result<_> = Ok(first);
    let end = loop {
        match next {
            Ok(Some(chunk)) => {
                if let Err(error) = relay.give(broadcast, &mut arriving, chunk).await {
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
    relay.ended(broadcast, arriving, end).await;
}

/// A refusal with its body, as far as that is read.
async fn refused(
    relay: &Relay,
    mut answer: reqwest::Response,
    upstream: &Upstream,
) -> Result<(ResponseHead, Bytes), Fault> {
    let head = ResponseHead { status: answer.status(), headers: answer.headers().clone() };
    let mut body = Vec::new();
    while body.len() < REFUSAL {
        let Some(chunk) = relay.providers.chunk(upstream, &mut answer).await? else { break };
        body.extend_from_slice(&chunk);
    }
    Ok((head, body.into()))
}

/// The label of an answer that its client may ask for again.
fn repeat_label(keyed: &KeyedCall, head: &ResponseHead) -> RepeatLabel {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    let named = |(name, value): (&HeaderName, &HeaderValue)| Some((name.to_string(), text(value)?));
    RepeatLabel {
        key: keyed.key.hex(),
        request: keyed.request.hex(),
        status: head.status.as_u16(),
        headers: head.headers.iter().filter_map(named).collect(),
    }
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
