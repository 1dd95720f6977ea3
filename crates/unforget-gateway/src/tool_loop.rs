//! A call with our tools: repeated while the model calls them, with one joined answer for the client.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::header::CONTENT_ENCODING;
use tracing::Instrument;
use unforget_wire::exchange::{ANSWER_MAX, Ended, Fault, Join, Round};

use super::Gateway;
use super::body::AGAIN;
use super::broadcast::{BodyEnd, ResponseHead};
use super::byte_budget::BudgetShare;
use super::decide::ReceivedCall;
use super::fault;
use super::figures;
use super::offered::{OfferedTools, without_rounds};
use super::prepared::PreparedCall;
use super::reading::{self, AnswerReader, Compression};
use super::relay::{ArrivingAnswer, GatewayCall, is_stream, label, told};
use super::route::{is_refusal, ours, unreached};
use super::trace;
use super::upstream::{Api, Upstream, returned};

/// A provider's response and its first chunk.
pub(super) type FirstChunk = (reqwest::Response, Option<Bytes>);

/// A call that may be repeated.
struct Asked<'a> {
    call: &'a GatewayCall,
    route: (&'a Upstream, Api),
    prepared: Arc<PreparedCall>,
}

impl Gateway {
    /// Relays answers until the last one, and stores the client's part of them.
    ///
    /// * `overhead` - seconds until the first request was sent.
    pub(super) async fn converse(
        self: &Arc<Self>,
        (call, route): (&GatewayCall, (&Upstream, Api)),
        (mut prepared, offered): (PreparedCall, OfferedTools),
        ((came, overhead), room): ((FirstChunk, f64), BudgetShare),
    ) -> Result<(), Fault> {
        prepared.offered = None;
        let asked = Asked { call, route, prepared: Arc::new(prepared) };
        if is_stream(came.0.headers()) {
            self.streamed(&asked, offered, (came, overhead, room)).await
        } else {
            self.unstreamed(&asked, offered, (came, overhead, room)).await
        }
    }

    async fn streamed(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        mut offered: OfferedTools,
        ((mut answer, first), overhead, room): (FirstChunk, f64, BudgetShare),
    ) -> Result<(), Fault> {
        let (call, dialect) = (asked.call, asked.call.received.dialect);
        let mut arriving = self.arriving(asked, true, room)?;
        call.broadcast.begin(asked.head(&answer, overhead));
        let mut join = Join::new(dialect, &offered.names());
        let mut packing = Compression::of(reading::encoding(answer.headers()).as_deref());
        let mut next: reqwest::Result<_> = Ok(first);
        let end = loop {
            match next {
                Ok(Some(chunk)) => {
                    let out = join.push(&packing.unpacked(&chunk));
                    if join.is_lost() || !self.deliver(call, &mut arriving, out).await {
                        break arriving.broken_off(&call.broadcast);
                    }
                    if !join.is_over() {
                        next = answer.chunk().await;
                        continue;
                    }
                }
                Ok(None) => {}
                Err(error) => {
                    tracing::warn!(error = %error.without_url(), "an answer broke off");
                    break BodyEnd::Broken;
                }
            }
            let (round, rest) = join.round();
            if !self.deliver(call, &mut arriving, rest).await {
                break arriving.broken_off(&call.broadcast);
            }
            let (after, body) = self.next(asked, offered, &round).await;
            offered = after;
            let again = match body {
                None => None,
                Some(body) => {
                    join.go_on();
                    count(&round);
                    let (after, came) = self.again(asked, (offered, body)).await;
                    offered = after;
                    Some(came)
                }
            };
            match again {
                None => {
                    arriving.rounds = offered.noted();
                    let out = join.close(true);
                    if !self.deliver(call, &mut arriving, out).await {
                        break arriving.broken_off(&call.broadcast);
                    }
                    break arriving.end();
                }
                Some(Ok((other, first))) => {
                    packing = Compression::of(reading::encoding(other.headers()).as_deref());
                    (answer, next) = (other, Ok(first));
                }
                Some(Err(fault)) => {
                    // The error event is the end: a broken connection might lose it.
                    call.broadcast.push(fault.event(dialect, "").as_bytes(), None);
                    break BodyEnd::Short;
                }
            }
        };
        arriving.rounds = arriving.rounds.or_else(|| offered.noted());
        self.ended(&call.broadcast, arriving, end).await;
        Ok(())
    }

    async fn unstreamed(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        mut offered: OfferedTools,
        (mut came, overhead, mut room): (FirstChunk, f64, BudgetShare),
    ) -> Result<(), Fault> {
        let call = asked.call;
        let mut join = Join::new(call.received.dialect, &offered.names());
        let (head, out) = loop {
            let body = self.body(&mut came, &asked.route.0.name, &mut room).await?;
            let (answer, _) = &came;
            let round = join.whole(&body);
            let (after, next) = self.next(asked, offered, &round).await;
            offered = after;
            let Some(next) = next else {
                let out = if round.ours.is_empty() && join.is_first() { body } else { join.close(false) };
                break (asked.head(answer, overhead), out);
            };
            join.go_on();
            count(&round);
            let (after, again) = self.again(asked, (offered, next)).await;
            (offered, came) = (after, again?);
        };
        let mut arriving = self.arriving(asked, false, room)?;
        arriving.rounds = offered.noted();
        call.broadcast.begin(head);
        let is_kept = self.deliver(call, &mut arriving, out).await;
        let end = if is_kept { arriving.end() } else { arriving.broken_off(&call.broadcast) };
        self.ended(&call.broadcast, arriving, end).await;
        Ok(())
    }

    /// Reads a body to its end, decompressed, within the memory budget.
    async fn body(
        &self,
        (answer, first): &mut FirstChunk,
        upstream: &str,
        room: &mut BudgetShare,
    ) -> Result<Vec<u8>, Fault> {
        let mut packing = Compression::of(reading::encoding(answer.headers()).as_deref());
        let mut body = Vec::new();
        let mut next = first.take();
        while let Some(chunk) = next {
            body.extend_from_slice(&packing.unpacked(&chunk));
            if body.len() > ANSWER_MAX {
                return Err(fault::internal("an answer", &"it is larger than what is read"));
            }
            if let Some(more) = body.len().checked_sub(room.bytes()).filter(|more| *more > 0) {
                room.join(self.answers.take(more).await.ok_or(Fault::Overloaded { retry_after: AGAIN })?);
            }
            next = answer.chunk().await.map_err(|error| unreached(upstream, error, self.settings.idle))?;
        }
        Ok(body)
    }

    /// The next request, if any. After a fault of ours there is none: the answer ends without its calls.
    async fn next(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        offered: OfferedTools,
        round: &Round,
    ) -> (OfferedTools, Option<Vec<u8>>) {
        if round.ours.is_empty() {
            return (offered, None);
        }
        let (prepared, before, round) = (Arc::clone(&asked.prepared), offered.clone(), round.clone());
        let work = move |gateway: &Self, received: &ReceivedCall| {
            gateway.next_round(received, &prepared, (offered, &round))
        };
        self.at_work(asked.call, work).instrument(trace::step("look up")).await.unwrap_or_else(|fault| {
            tracing::warn!(%fault, "what the model wanted to look up was not looked up");
            (before, None)
        })
    }

    /// Sends the next request. If the provider does not answer, sends once more without the recalled text.
    async fn again(
        self: &Arc<Self>,
        asked: &Asked<'_>,
        (offered, body): (OfferedTools, Vec<u8>),
    ) -> (OfferedTools, Result<FirstChunk, Fault>) {
        let fault = match self.ask_again(asked, body).await {
            Ok(came) => return (offered, Ok(came)),
            Err(fault) => fault,
        };
        tracing::warn!(%fault, "the provider did not answer with what was looked up");
        let (prepared, before) = (Arc::clone(&asked.prepared), offered.clone());
        let why = fault.to_string();
        let work =
            move |_: &Self, received: &ReceivedCall| without_rounds(received, &prepared, (offered, &why));
        match self.at_work(asked.call, work).await {
            Ok((after, Some(body))) => (after, self.ask_again(asked, body).await),
            Ok((after, None)) => (after, Err(fault)),
            Err(fault) => (before, Err(fault)),
        }
    }

    async fn ask_again(&self, asked: &Asked<'_>, body: Vec<u8>) -> Result<FirstChunk, Fault> {
        let (upstream, _) = asked.route;
        let mut answer =
            self.send_body(asked.call, body.into(), asked.route).instrument(trace::step("send")).await?;
        if is_refusal(answer.status()) {
            tracing::warn!(status = %answer.status(), upstream = upstream.name, "refused");
            return Err(Fault::Unreachable { upstream: upstream.name.clone() });
        }
        let first = self.first(&mut answer, upstream).await?;
        let nothing = Fault::Unreachable { upstream: upstream.name.clone() };
        if !reading::is_read(answer.headers()) {
            return Err(nothing);
        }
        first.map(|first| (answer, Some(first))).ok_or(nothing)
    }

    /// The client's form of the answer on disk: not compressed.
    fn arriving(
        &self,
        asked: &Asked<'_>,
        is_streamed: bool,
        room: BudgetShare,
    ) -> Result<ArrivingAnswer, Fault> {
        let dialect = asked.call.received.dialect;
        let read = AnswerReader::new(dialect, is_streamed, None);
        let spooled = self.spooled(label(&asked.prepared, is_streamed, None))?;
        Ok(ArrivingAnswer::new(Arc::clone(&asked.prepared), dialect, (spooled, read), room))
    }

    /// Sends the client its part of an answer. Returns whether that could be kept.
    async fn deliver(
        self: &Arc<Self>,
        call: &GatewayCall,
        arriving: &mut ArrivingAnswer,
        out: Vec<u8>,
    ) -> bool {
        if out.is_empty() {
            return true;
        }
        let given = self.give(&call.broadcast, arriving, out.into()).await;
        if let Err(error) = &given {
            tracing::error!(%error, "an answer cannot be kept, so it is broken off");
        }
        given.is_ok()
    }
}

impl Asked<'_> {
    /// The head of the response.
    fn head(&self, answer: &reqwest::Response, overhead: f64) -> ResponseHead {
        let mut headers = returned(answer.headers());
        headers.remove(CONTENT_ENCODING);
        ours(&mut headers, &told(&self.prepared, overhead));
        ResponseHead { status: answer.status(), headers }
    }
}

/// Counts the cost of an answer whose end the client does not get.
fn count(round: &Round) {
    let Some(usage) = round.answered.usage.filter(|_| round.answered.ended == Ended::Complete) else {
        return;
    };
    for (kind, tokens) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)] {
        figures::tokens(kind, tokens);
    }
}
