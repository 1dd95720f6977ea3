//! A call on its way to the model: recognised, stored, fitted.
//!
//! Everything here is synchronous and may wait for the disk, so it runs on threads that may block.

use std::borrow::Cow;

use axum::body::Bytes;
use unforget_core::digest::Digest;
use unforget_core::recover::{self, Recovery, Refused, Sent};
use unforget_core::reserve;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{Array, Brings, HostError, Recovered};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::exchange::Call;
use unforget_wire::{Dialect, Format};

use super::begun::{Begun, Budget, Sending};
use super::cache::Before;
use super::caller::{Caller, Who, order};
use super::fault::Problem;
use super::notices;
use super::offer::{Offered, has_left_something};
use super::slot::SLOT;
use super::standing::Standing;
use super::{Gateway, Recall};

/// The relevant parts of a client's request.
#[derive(Clone, Debug)]
pub(super) struct Received {
    pub(super) dialect: Dialect,
    pub(super) tenant: String,
    /// The conversation, if the client names one to us.
    pub(super) named: Option<String>,
    /// The client's session, if a header names one.
    pub(super) session: Option<String>,
    /// Digest of the client's key: another key means another caller.
    pub(super) caller: String,
    /// Requested beta features of Anthropic's API, such as larger windows.
    pub(super) betas: String,
    /// The body, uncompressed.
    pub(super) body: Bytes,
}

impl Received {
    /// Calls with an equal order are handled one after another. See [`Caller::order`].
    ///
    /// Cost: one pass over the body if no header names a session.
    pub(super) fn order(&self) -> Result<Digest, Problem> {
        if let Some(session) = self.named.as_ref().or(self.session.as_ref()) {
            return Ok(order(&self.tenant, "", session));
        }
        let call = Call::read(self.dialect, &self.body)?;
        let first = call.history().next();
        Ok(Caller::of(self, &call).order(first.as_deref().unwrap_or_default()))
    }
}

/// The message form of a dialect.
pub(super) fn form(dialect: Dialect) -> Format {
    dialect.form().unwrap_or(Format::OpenAiChat)
}

impl Gateway {
    /// Recognises and stores a call, and decides what to send.
    pub(super) fn begin(&self, received: &Received) -> Result<Begun, Problem> {
        let call = Call::read(received.dialect, &received.body)?;
        self.may_name(received, &call)?;
        let form = form(received.dialect);
        let bodies: Vec<_> = call.history().collect();
        let caller = Caller::of(received, &call);
        let (who, array, receipt) = {
            // Calls of one lane are handled one after another: two concurrent ones would begin the lane twice.
            let _alone = self.orders.lock(&caller.order(bodies.first().map_or("", AsRef::as_ref)));
            let (who, array) = self.recognise(caller, &call, &bodies)?;
            let brings = self.brings(&who, &call)?.unwrap_or(Brings::All);
            let request = call.without_messages();
            let receipt = self.host.take(&who.lane.lane, form, (brings, &array), Some(&request))?;
            (who, array, receipt)
        };
        let cap = self.host.cap(&who.lane.lane, form, call.model.as_deref())?;
        let limits = self.limits_of(received, &call);
        let budget = self.budget(&call, cap, limits.as_ref());
        let is_weighed = !call.hints.is_partial() && array.wordless() == 0;
        let mut begun = Begun {
            dialect: received.dialect,
            asked_at: receipt.head,
            sending: Sending::AsIs,
            authority: "as-sent",
            tokens: array.tokens() + budget.fixed,
            bound: 0,
            weighed: None,
            weight: is_weighed.then(|| array.tokens() + budget.fixed),
            model: call.model.clone(),
            recalled: None,
            slot: 0,
            offered: None,
            prompt: Vec::new(),
            standing: Standing::default(),
            seen: None,
            left_out: 0,
            lowered: None,
            budget,
            limits,
            was: self.caches.was(&who.lane.lane, &array),
            before: Before::of(&call),
            broken: None,
            rung: "",
            cover: None,
            who,
            array,
        };
        let whole = self.whole(&begun, &call)?;
        begun.tokens = whole + budget.fixed;
        begun.bound = begun.tokens.upper;
        let is_too_large = whole.upper > budget.messages() && !begun.array.is_empty();
        // Messages that only the provider has can only be sent by their id.
        if let Some(brings) = self.can_make(&begun.who, &call)?.filter(|_| is_too_large) {
            self.make(&mut begun, &call, &bodies, brings)?;
        }
        for left in self.arrays.keep(&begun.who.lane.lane, &begun.array) {
            self.host.close(&left);
        }
        Ok(begun)
    }

    /// Makes a prompt for a call that is too large as its client sent it.
    fn make(
        &self,
        begun: &mut Begun,
        call: &Call<'_>,
        bodies: &[Cow<'_, str>],
        brings: Brings<'_>,
    ) -> Result<(), Problem> {
        begun.standing = self.standing_of(begun, call, begun.budget.messages())?;
        let at = (brings, &begun.array, begun.asked_at);
        let recall = self.settings.recall;
        let offered = self.offered(begun, call, begun.budget.messages());
        begun.slot = if recall == Recall::Slot { SLOT } else { 0 };
        let kept = begun.slot + offered.as_ref().map_or(0, Offered::room);
        let ask = begun.ask(call.dialect, begun.budget.messages(), kept);
        let (assembled, head) = self.host.assemble_at(&begun.who.lane.lane, form(call.dialect), at, &ask)?;
        begun.asked_at = head;
        if recall == Recall::Slot {
            begun.recalled = self.recalled(begun, &assembled)?;
        }
        begun.offered = offered.filter(|_| has_left_something(&assembled));
        begun.take(&assembled, call, bodies);
        begun.bound = assembled.certificate.bound + ask.beside.upper;
        notices::prompt(begun, &assembled);
        self.put_back.note(begun);
        Ok(())
    }

    /// The lane of a call, and its messages.
    fn recognise(
        &self,
        caller: Caller,
        call: &Call<'_>,
        bodies: &[Cow<'_, str>],
    ) -> Result<(Who, Array), Problem> {
        let read =
            |before: &Array| Array::read(caller.form, bodies.iter().map(|body| body.as_bytes()), before);
        if let Some(answer) = call.hints.previous_response_id.as_ref().filter(|_| !caller.is_named)
            && let Some(lane) = self.host.answered_in(&caller.tenant, caller.form, answer)?
        {
            let array = read(&Array::default())?;
            return Ok((Who { lane, caller }, array));
        }
        let first = bodies.first().map_or("", AsRef::as_ref);
        let array = read(&self.arrays.like(first.as_bytes()))?;
        let lane = self.host.recognise(&caller.asking(), &array)?;
        Ok((Who { lane, caller }, array))
    }

    /// Which part of the path a call contains; `None` if it continues an answer that only the provider has.
    fn brings<'a>(&self, who: &Who, call: &'a Call<'_>) -> Result<Option<Brings<'a>>, Problem> {
        Ok(match (&call.hints.previous_response_id, &call.hints.conversation) {
            (Some(answer), _) => {
                let lane = self.host.answered_in(&who.caller.tenant, who.caller.form, answer)?;
                // In a conversation named by the client, an answer from another one counts as the provider's only.
                let is_here = lane.is_some_and(|lane| lane.lane == who.lane.lane);
                is_here.then_some(Brings::Rest(Some(answer)))
            }
            (None, Some(_)) => Some(Brings::Rest(None)),
            (None, None) => Some(Brings::All),
        })
    }

    /// Like [`Self::brings`], but `None` also if our prompt could lack some of the model's input: a conversation kept
    /// by the provider may hold more than passed through here.
    fn can_make<'a>(&self, who: &Who, call: &'a Call<'_>) -> Result<Option<Brings<'a>>, Problem> {
        let brings = self.brings(who, call)?;
        Ok(brings.filter(|brings| *brings != Brings::Rest(None) || self.has_all(&who.lane.lane)))
    }

    fn budget(&self, call: &Call<'_>, cap: u64, limits: Option<&Digest>) -> Budget {
        let said = call.output.unwrap_or(0);
        let (told, input) = limits.map_or((None, None), |name| self.limits.of(name, said));
        let window = self.settings.windows.of(call.model.as_deref()).min(told.unwrap_or(u64::MAX));
        let cap = cap.min(input.unwrap_or(u64::MAX));
        // Anthropic's newer models stop at the end of the window; others reject a request that might exceed it.
        let ends_at_window = call.dialect == Dialect::Anthropic;
        let output = reserve::kept(call.output, window, ends_at_window);
        let ruler = ModelRuler::of(call.model.as_deref(), call.dialect);
        let mut fixed = Tokens::default();
        call.fixed_text(&mut |text| fixed += ruler.count(text));
        Budget { window, cap, output, asked: call.output.unwrap_or(output), said, fixed }
    }

    /// Tokens of the model's whole input for the unchanged call, without instructions and tools.
    fn whole(&self, begun: &Begun, call: &Call<'_>) -> Result<Tokens, Problem> {
        if !call.hints.is_partial() {
            return Ok(self.measured(begun));
        }
        let debt = self.host.status(&begun.who.lane.lane, begun.who.caller.form)?.debt;
        Ok(Tokens { expected: debt.stored, upper: debt.stored + debt.stored / 4 })
    }

    /// Makes a smaller body for a call that the provider refused. Returns false if no smaller one makes sense.
    pub(super) fn smaller(
        &self,
        received: &Received,
        begun: &mut Begun,
        refused: Refused,
        attempt: u8,
    ) -> Result<bool, Problem> {
        let call = Call::read(received.dialect, &received.body)?;
        let bodies: Vec<_> = call.history().collect();
        let (lane, form) = (begun.who.lane.lane.clone(), begun.who.caller.form);
        let Some(brings) = self.can_make(&begun.who, &call)? else { return Ok(false) };
        let recovered = match begun.sending {
            Sending::AsIs => None,
            // Another call, or the previous call's count, came in between: the lane does not know this call.
            Sending::Made(_) => match self.host.refused_at(&lane, form, begun.asked_at, refused) {
                Err(HostError::Refused { .. }) => None,
                other => other?,
            },
        };
        let assembled = match recovered {
            None => return self.smaller_by_figures(&call, begun, (brings, refused, attempt)),
            Some(Recovered::Retry { assembled, output, .. }) => {
                begun.lower(output, &call);
                *assembled
            }
            Some(Recovered::Surface(_)) => return Ok(false),
        };
        begun.take(&assembled, &call, &bodies);
        self.put_back.note(begun);
        Ok(true)
    }

    /// Makes the body smaller by the call's own figures.
    fn smaller_by_figures(
        &self,
        call: &Call<'_>,
        begun: &mut Begun,
        (brings, refused, attempt): (Brings<'_>, Refused, u8),
    ) -> Result<bool, Problem> {
        let body = match &begun.sending {
            Sending::AsIs => call.with_edits(&[]).into(),
            Sending::Made(body) => body.clone(),
        };
        let sent = Sent {
            input: begun.tokens.expected,
            output: begun.budget.asked,
            window: begun.budget.window,
            bytes: body.len() as u64,
            media: 0,
            digest: Digest::of(&body),
        };
        let Recovery::Retry(retry) = recover::plan(attempt, refused, &sent) else { return Ok(false) };
        let more = begun.lower(retry.output, call);
        if retry.input >= sent.input && begun.lowered.is_some() {
            // The prompt is not at fault.
            let body = match begun.sending {
                Sending::AsIs => call.with_edits(&begun.output_edits(call)),
                Sending::Made(_) => begun.body(call, begun.offered.as_ref()),
            };
            begun.sending = Sending::Made(body.into());
            return Ok(true);
        }
        let room = retry.input.saturating_sub(begun.budget.fixed.expected).saturating_sub(more);
        let room = room.min(begun.budget.messages());
        begun.standing = self.standing_of(begun, call, room)?;
        let ask = begun.ask(call.dialect, room, 0);
        let at = (brings, &begun.array, begun.asked_at);
        let (assembled, head) =
            self.host.assemble_at(&begun.who.lane.lane, begun.who.caller.form, at, &ask)?;
        begun.asked_at = head;
        begun.take(&assembled, call, &call.history().collect::<Vec<_>>());
        self.put_back.note(begun);
        Ok(true)
    }
}
