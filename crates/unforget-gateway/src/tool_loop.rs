//! A call with our tools: repeated while the model calls them, with one joined answer for the client.

use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_ENCODING;
use tracing::Instrument;
use unforget_wire::exchange::{ANSWER_MAX, Ended, Fault, Join, Round};

use super::arriving::{ArrivingAnswer, OpenAnswer};
use super::body::AGAIN;
use super::broadcast::{BodyEnd, ResponseHead};
use super::byte_budget::BudgetShare;
use super::decide::{Decider, RoundOutcome, without_rounds};
use super::fault;
use super::figures;
use super::headers::ours;
use super::offered::OfferedTools;
use super::prepared::PreparedCall;
use super::reading::{self, AnswerReader, Compression, is_refusal};
use super::received::ReceivedCall;
use super::relay::{BegunAnswer, GatewayCall, Relay, Route, is_stream, label, told};
use super::trace;
use super::upstream::returned;

/// A call with our tools, which is repeated while the model calls them.
pub(super) struct ToolLoop<'a> {
    pub(super) relay: &'a Arc<Relay>,
    pub(super) call: &'a GatewayCall,
    pub(super) route: Route<'a>,
    pub(super) prepared: Arc<PreparedCall>,
    pub(super) offered: OfferedTools,
    /// From receiving the call to sending the first request.
    pub(super) overhead: Duration,
}

impl ToolLoop<'_> {
    /// Relays answers until the last one, and stores the client's part of them.
    ///
    /// * `room` - memory budget of the answer.
    pub(super) async fn run(self, first: BegunAnswer, room: BudgetShare) -> Result<(), Fault> {
        if is_stream(first.answer.headers()) {
            self.streamed(first, room).await
        } else {
            self.unstreamed(first, room).await
        }
    }

    async fn streamed(mut self, begun: BegunAnswer, room: BudgetShare) -> Result<(), Fault> {
        let BegunAnswer { mut answer, first } = begun;
        let broadcast = &self.call.broadcast;
        let mut arriving = self.arriving(true, room)?;
        broadcast.begin(self.head(&answer));
        let mut join = Join::new(self.call.received.dialect, &self.offered.names());
        let mut packing = Compression::of(reading::encoding(answer.headers()).as_deref());
        let mut next: reqwest::Result<_> = Ok(first);
        let end = loop {
            match next {
                Ok(Some(chunk)) => {
                    let out = join.push(&packing.unpacked(&chunk));
                    if join.is_lost() || !self.deliver(&mut arriving, out).await {
                        break arriving.broken_off(broadcast);
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
            if !self.deliver(&mut arriving, rest).await {
                break arriving.broken_off(broadcast);
            }
            let Some(body) = self.next(&round).await else {
                arriving.rounds = self.offered.noted();
                if !self.deliver(&mut arriving, join.close(true)).await {
                    break arriving.broken_off(broadcast);
                }
                break arriving.end();
            };
            join.go_on();
            count(&round);
            match self.again(body).await {
                Ok(begun) => {
                    packing = Compression::of(reading::encoding(begun.answer.headers()).as_deref());
                    (answer, next) = (begun.answer, Ok(begun.first));
                }
                Err(fault) => {
                    // The error event is the end: a broken connection might lose it.
                    broadcast.push(fault.event(self.call.received.dialect, "").as_bytes(), None);
                    break BodyEnd::Short;
                }
            }
        };
        arriving.rounds = arriving.rounds.or_else(|| self.offered.noted());
        self.relay.ended(broadcast, arriving, end).await;
        Ok(())
    }

    async fn unstreamed(mut self, mut begun: BegunAnswer, mut room: BudgetShare) -> Result<(), Fault> {
        let broadcast = &self.call.broadcast;
        let mut join = Join::new(self.call.received.dialect, &self.offered.names());
        let (head, out) = loop {
            let body = self.body(&mut begun, &mut room).await?;
            let round = join.whole(&body);
            let Some(next) = self.next(&round).await else {
                let out = if round.ours.is_empty() && join.is_first() { body } else { join.close(false) };
                break (self.head(&begun.answer), out);
            };
            join.go_on();
            count(&round);
            begun = self.again(next).await?;
        };
        let mut arriving = self.arriving(false, room)?;
        arriving.rounds = self.offered.noted();
        broadcast.begin(head);
        let is_kept = self.deliver(&mut arriving, out).await;
        let end = if is_kept { arriving.end() } else { arriving.broken_off(broadcast) };
        self.relay.ended(broadcast, arriving, end).await;
        Ok(())
    }

    /// Reads a body to its end, decompressed, within the memory budget.
    async fn body(&self, begun: &mut BegunAnswer, room: &mut BudgetShare) -> Result<Vec<u8>, Fault> {
        let BegunAnswer { answer, first } = begun;
        let mut packing = Compression::of(reading::encoding(answer.headers()).as_deref());
        let mut body = Vec::new();
        let mut next = first.take();
        while let Some(chunk) = next {
            body.extend_from_slice(&packing.unpacked(&chunk));
            if body.len() > ANSWER_MAX {
                return Err(fault::internal("an answer", &"it is larger than what is read"));
            }
            if let Some(more) = body.len().checked_sub(room.bytes()).filter(|more| *more > 0) {
                let more = self.relay.budget.take(more).await;
                room.join(more.ok_or(Fault::Overloaded { retry_after: AGAIN })?);
            }
            next = self.relay.providers.chunk(self.route.upstream, answer).await?;
        }
        Ok(body)
    }

    /// The next request, if any. After a fault of ours there is none: the answer ends without its calls.
    async fn next(&mut self, round: &Round) -> Option<Vec<u8>> {
        if round.ours.is_empty() {
            return None;
        }
        let (prepared, offered, round) = (Arc::clone(&self.prepared), self.offered.clone(), round.clone());
        let work = move |decider: &Decider, received: &ReceivedCall| {
            decider.next_round(received, &prepared, offered, &round)
        };
        match self.relay.at_work(self.call, work).instrument(trace::step("look up")).await {
            Ok(outcome) => self.take(outcome),
            Err(fault) => {
                tracing::warn!(%fault, "what the model wanted to look up was not looked up");
                None
            }
        }
    }

    fn take(&mut self, outcome: RoundOutcome) -> Option<Vec<u8>> {
        self.offered = outcome.offered;
        outcome.body
    }

    /// Sends the next request. If the provider does not answer, sends once more without the recalled text.
    async fn again(&mut self, body: Vec<u8>) -> Result<BegunAnswer, Fault> {
        let fault = match self.ask_again(body).await {
            Ok(begun) => return Ok(begun),
            Err(fault) => fault,
        };
        tracing::warn!(%fault, "the provider did not answer with what was looked up");
        let (prepared, offered) = (Arc::clone(&self.prepared), self.offered.clone());
        let why = fault.to_string();
        let work =
            move |_: &Decider, received: &ReceivedCall| without_rounds(received, &prepared, offered, &why);
        let outcome = self.relay.at_work(self.call, work).await?;
        match self.take(outcome) {
            Some(body) => self.ask_again(body).await,
            None => Err(fault),
        }
    }

    async fn ask_again(&self, body: Vec<u8>) -> Result<BegunAnswer, Fault> {
        let upstream = self.route.upstream;
        let sent = self.relay.send_body(self.call, body.into(), self.route);
        let mut answer = sent.instrument(trace::step("send")).await?;
        let nothing = || Fault::Unreachable { upstream: upstream.name.clone() };
        if is_refusal(answer.status()) {
            tracing::warn!(status = %answer.status(), upstream = upstream.name, "refused");
            return Err(nothing());
        }
        let first = self.relay.providers.chunk(upstream, &mut answer).await?;
        if first.is_none() || !reading::is_read(answer.headers()) {
            return Err(nothing());
        }
        Ok(BegunAnswer { answer, first })
    }

    /// The client's form of the answer on disk: not compressed.
    fn arriving(&self, is_streamed: bool, room: BudgetShare) -> Result<ArrivingAnswer, Fault> {
        let dialect = self.call.received.dialect;
        let reader = AnswerReader::new(dialect, is_streamed, None);
        let file = self.relay.store.begin(label(&self.prepared, is_streamed, None))?;
        Ok(ArrivingAnswer::new(Arc::clone(&self.prepared), dialect, OpenAnswer { file, reader }, room))
    }

    /// Sends the client its part of an answer. Returns whether that could be kept.
    async fn deliver(&self, arriving: &mut ArrivingAnswer, out: Vec<u8>) -> bool {
        if out.is_empty() {
            return true;
        }
        let given = self.relay.give(&self.call.broadcast, arriving, out.into()).await;
        if let Err(error) = &given {
            tracing::error!(%error, "an answer cannot be kept, so it is broken off");
        }
        given.is_ok()
    }

    /// The head of the response.
    fn head(&self, answer: &reqwest::Response) -> ResponseHead {
        let mut headers = returned(answer.headers());
        headers.remove(CONTENT_ENCODING);
        ours(&mut headers, &told(&self.prepared, self.overhead.as_secs_f64()));
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
