//! Carries calls to providers and their answers to clients: the steps that `serve` and `tool_loop` put in order.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::CONTENT_ENCODING;
use axum::http::{HeaderMap, Method};
use tokio::task::spawn_blocking;
use tracing::Span;
use unforget_core::admit::Cover;
use unforget_core::digest::Digest;
use unforget_engine::peers::KeyedCall;
use unforget_wire::exchange::Fault;

use super::answer_store::AnswerStore;
use super::api::Api;
use super::arriving::{ArrivingAnswer, OpenAnswer};
use super::broadcast::{BodyEnd, Broadcast};
use super::byte_budget::{BudgetShare, ByteBudget};
use super::decide::Decider;
use super::fair_queue::{self, FairQueue};
use super::fault::{self, CallProblem};
use super::headers::IDEMPOTENCY_KEY;
use super::prepared::{PreparedCall, SentAs};
use super::reading::interrupted;
use super::received::ReceivedCall;
use super::replays::Replays;
use super::shared_calls;
use super::spool::{SpoolLabel, SpoolRange};
use super::trace;
use super::upstream::{Providers, Upstream};

/// Memory budget reserved for a call's answer before it is sent, in bytes.
pub(super) const FIRST: usize = 16 * 1024;

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
    pub(super) keyed: Option<KeyedCall>,
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
        // The counts may follow the last words, so the answer is stored when its body ends, before the client's body does.
        if arriving.is_referred_to || self.store.is_shared {
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
        let (peers, window) = (self.store.host.engine().peers().cloned(), self.replays.window());
        let stored = spawn_blocking(move || {
            let (told, is_read) = read.finish();
            trace::answered(&span, &told);
            decider.finish(&prepared, &told, rounds.as_deref())?;
            let repeated = spooled.done_as(is_read, interrupted(&told).is_none());
            if let (Some(path), Some(peers)) = (&repeated, peers)
                && let Err(error) = shared_calls::keep_answer(peers.as_ref(), path, window)
            {
                tracing::warn!(%error, "other processes cannot give an answer again");
            }
            Ok::<_, CallProblem>(repeated)
        });
        let what = "an answer is not stored yet; it stays in the spool and is tried again";
        match stored.await {
            Ok(Ok(repeated)) => {
                if let Some(path) = repeated {
                    self.store.remove_after(path, self.replays.window());
                }
                return;
            }
            Ok(Err(problem)) => tracing::error!(fault = %Fault::from(problem), "{what}"),
            Err(error) => tracing::error!(%error, "{what}"),
        }
        self.store.store_later([path]);
    }

    /// Sends a call.
    pub(super) async fn send(
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
    if prepared.raised.total() > 0 {
        let (shown, all) = (prepared.raised.shown(), prepared.raised.total());
        told.push(("x-unforget-put-back", format!("{shown} of {all} entries")));
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
