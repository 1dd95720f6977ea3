//! A call on its way to the model: recognised, stored, fitted.
//!
//! Everything here is synchronous and may wait for the disk, so it runs on threads that may block.

use std::borrow::Cow;
use std::sync::Arc;

use unforget_core::digest::Digest;
use unforget_core::policy::RECALL_BLOCK_MAX;
use unforget_core::raised::RaisedCount;
use unforget_core::recover::{self, Asked, Recovery, Refused, Sent};
use unforget_core::reserve;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{
    Array, Brings, DeliveredArray, Host, HostCall, HostError, Recovered, TakenArray,
};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::Dialect;
use unforget_wire::exchange::{Call, Round};

use super::arrays::ArrayCache;
use super::caches::{CacheRecords, FixedContent};
use super::caller::{CallIdentity, Caller};
use super::fault::CallProblem;
use super::key_locks::KeyLocks;
use super::limits::{ProviderLimits, limits_key};
use super::notices;
use super::offered::{CallsRun, OfferedTools, Recall, RecallHelp, RecallRound, has_left_something};
use super::prepared::{PreparedCall, SentAs, TokenBudget};
use super::provider_counts;
use super::recall_block;
use super::received::{ReceivedCall, form};
use super::shared_key::may_name;
use super::standing::{NotedStanding, StandingContext, ToldOmissions};
use super::upstream::Providers;
use super::windows::Windows;

/// What is remembered of lanes for people, in memory only: nothing of it shapes a prompt.
#[derive(Default)]
pub(super) struct LaneMemory {
    /// Omissions of standing context that were logged.
    pub(super) left_out: ToldOmissions,
    /// Standing context noted beside answers.
    pub(super) noted: NotedStanding,
    /// The fate of providers' caches.
    pub(super) caches: Arc<CacheRecords>,
}

/// What is known of the limits of models.
pub(super) struct ModelLimits {
    pub(super) windows: Windows,
    /// Limits named by providers.
    pub(super) limits: Arc<ProviderLimits>,
}

/// What a model's answer with calls of our tools leads to.
pub(super) struct RoundOutcome {
    pub(super) offered: OfferedTools,
    /// The body of the next request; `None` if the answer is the last.
    pub(super) body: Option<Vec<u8>>,
}

/// Recognises the lanes of calls.
#[derive(Default)]
pub(super) struct Recogniser {
    locks: KeyLocks,
    arrays: ArrayCache,
}

/// Recognises and stores calls, decides what is sent, and learns from the answers.
pub(super) struct Decider {
    pub(super) host: Arc<Host>,
    pub(super) providers: Arc<Providers>,
    pub(super) recogniser: Arc<Recogniser>,
    pub(super) models: ModelLimits,
    pub(super) recall: Arc<RecallHelp>,
    pub(super) memory: Arc<LaneMemory>,
}

/// A provider's refusal of an attempt.
#[derive(Clone, Copy)]
struct RefusedAttempt {
    refused: Refused,
    /// Number of earlier attempts.
    attempt: u8,
}

/// A recognised call.
struct RecognisedCall {
    who: CallIdentity,
    array: Array,
}

impl Recogniser {
    /// The lane of a call, and its messages.
    fn recognise(
        &self,
        host: &Host,
        caller: Caller,
        call: &Call<'_>,
        bodies: &[Cow<'_, str>],
    ) -> Result<RecognisedCall, CallProblem> {
        let read =
            |before: &Array| Array::read(caller.form, bodies.iter().map(|body| body.as_bytes()), before);
        if let Some(answer) = call.hints.previous_response_id.as_ref().filter(|_| !caller.is_named)
            && let Some(lane) = host.answered_in(&caller.tenant, caller.form, answer)?
        {
            let array = read(&Array::default())?;
            return Ok(RecognisedCall { who: CallIdentity { lane, caller }, array });
        }
        let first = bodies.first().map_or("", AsRef::as_ref);
        let array = read(&self.arrays.like(first.as_bytes()))?;
        let lane = host.recognise(&caller.asking(), &array)?;
        Ok(RecognisedCall { who: CallIdentity { lane, caller }, array })
    }
}

impl Decider {
    /// Recognises and stores a call, and decides what to send.
    pub(super) fn begin(&self, received: &ReceivedCall) -> Result<PreparedCall, CallProblem> {
        let call = HostCall::begin();
        self.host.within(call, || self.begun(received, call))
    }

    fn begun(&self, received: &ReceivedCall, of: HostCall) -> Result<PreparedCall, CallProblem> {
        let call = Call::read(received.dialect, &received.body)?;
        may_name(&self.host, &self.providers, received, &call)?;
        let form = form(received.dialect);
        let bodies: Vec<_> = call.history().collect();
        let caller = Caller::of(received, &call);
        let (who, array, receipt) = {
            // Calls of one lane are handled one after another: two concurrent ones would begin the lane twice.
            let _alone = self.recogniser.locks.lock(&caller.order(bodies.first().map_or("", AsRef::as_ref)));
            let RecognisedCall { who, array } =
                self.recogniser.recognise(&self.host, caller, &call, &bodies)?;
            let brings = self.brings(&who, &call)?.unwrap_or(Brings::All);
            let request = call.without_messages();
            let receipt = self.host.take(
                &who.lane.lane,
                form,
                DeliveredArray { brings, array: &array },
                Some(&request),
            )?;
            (who, array, receipt)
        };
        let known = self.host.known_lane(&who.lane.lane, form, call.model.as_deref())?;
        let limits = limits_key(&self.providers, received, &call);
        let budget = self.budget(&call, known.cap, limits.as_ref());
        let is_weighed = !call.hints.is_partial() && array.wordless() == 0;
        let mut prepared = PreparedCall {
            of,
            dialect: received.dialect,
            asked_at: receipt.head,
            sending: SentAs::AsIs,
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
            standing: StandingContext::default(),
            recipe: None,
            seen: None,
            left_out: 0,
            lowered: None,
            budget,
            limits,
            was: self.memory.caches.was(&who.lane.lane, &array),
            before: FixedContent::of(&call),
            broken: None,
            rung: "",
            cover: None,
            raised: RaisedCount::default(),
            known,
            who,
            array,
        };
        let whole = self.whole(&prepared, &call)?;
        prepared.tokens = whole + budget.fixed;
        prepared.bound = prepared.tokens.upper;
        let is_too_large = whole.upper > budget.messages() && !prepared.array.is_empty();
        // Messages that only the provider has can only be sent by their id.
        if let Some(brings) = self.can_make(&prepared, &call)?.filter(|_| is_too_large) {
            self.make(&mut prepared, &call, &bodies, brings)?;
        }
        for left in self.recogniser.arrays.keep(&prepared.who.lane.lane, &prepared.array) {
            self.host.close(&left);
        }
        Ok(prepared)
    }

    /// Makes a prompt for a call that is too large as its client sent it.
    fn make(
        &self,
        prepared: &mut PreparedCall,
        call: &Call<'_>,
        bodies: &[Cow<'_, str>],
        brings: Brings<'_>,
    ) -> Result<(), CallProblem> {
        let room = prepared.budget.messages();
        prepared.standing =
            StandingContext::of_call(&self.host, &prepared.who, &prepared.known.memory, call, room)?;
        let at = TakenArray { brings, array: &prepared.array, head: prepared.asked_at };
        let recall = self.recall.mode;
        let offered = self.recall.offered(prepared.who.lane.name(), call, room);
        prepared.slot = if recall == Recall::Slot { RECALL_BLOCK_MAX } else { 0 };
        let kept = prepared.slot + offered.as_ref().map_or(0, OfferedTools::room);
        let ask = prepared.ask(call.dialect, room, kept);
        let made = self.host.assemble_at(&prepared.who.lane.lane, form(call.dialect), at, &ask);
        let (assembled, head) = made.map_err(|error| prepared.budget.problem(error, ask.beside))?;
        prepared.asked_at = head;
        if recall == Recall::Slot
            && let Some(question) = prepared.array.question()
        {
            let room = recall_block::room(ModelRuler::of(call.model.as_deref(), call.dialect));
            let lane = &prepared.who.lane.lane;
            prepared.recalled = self.host.recalled(lane, &question, room, &assembled.messages)?;
        }
        prepared.offered = offered.filter(|_| has_left_something(&assembled));
        prepared.take(&assembled, call, bodies);
        prepared.bound = assembled.certificate.bound + ask.beside.upper;
        notices::prompt(prepared, &assembled);
        self.note_standing(prepared)?;
        Ok(())
    }

    /// Which part of the path a call contains; `None` if it continues an answer that only the provider has.
    fn brings<'a>(&self, who: &CallIdentity, call: &'a Call<'_>) -> Result<Option<Brings<'a>>, CallProblem> {
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
    fn can_make<'a>(
        &self,
        prepared: &PreparedCall,
        call: &'a Call<'_>,
    ) -> Result<Option<Brings<'a>>, CallProblem> {
        let brings = self.brings(&prepared.who, call)?;
        Ok(brings.filter(|brings| *brings != Brings::Rest(None) || prepared.known.memory.has_all))
    }

    fn budget(&self, call: &Call<'_>, cap: u64, limits: Option<&Digest>) -> TokenBudget {
        let said = call.output.unwrap_or(0);
        let (told, input) = limits.map_or((None, None), |name| self.models.limits.of(name, said));
        let window = self.models.windows.of(call.model.as_deref()).min(told.unwrap_or(u64::MAX));
        let cap = cap.min(input.unwrap_or(u64::MAX));
        // Anthropic's newer models stop at the end of the window; others reject a request that might exceed it.
        let ends_at_window = call.dialect == Dialect::Anthropic;
        let output = reserve::kept(call.output, window, ends_at_window);
        let ruler = ModelRuler::of(call.model.as_deref(), call.dialect);
        let mut fixed = Tokens::default();
        call.fixed_text(&mut |text| fixed += ruler.count(text));
        TokenBudget { window, cap, output, asked: call.output.unwrap_or(output), said, fixed }
    }

    /// Tokens of the model's whole input for the unchanged call, without instructions and tools.
    fn whole(&self, prepared: &PreparedCall, call: &Call<'_>) -> Result<Tokens, CallProblem> {
        if !call.hints.is_partial() {
            return Ok(provider_counts::tokens(prepared));
        }
        let debt = self.host.status(&prepared.who.lane.lane, prepared.who.caller.form)?.debt;
        Ok(Tokens { expected: debt.stored, upper: debt.stored + debt.stored / 4 })
    }

    /// Makes a smaller body for a call that the provider refused. Returns false if no smaller one makes sense.
    pub(super) fn smaller(
        &self,
        received: &ReceivedCall,
        prepared: &mut PreparedCall,
        refused: Refused,
        attempt: u8,
    ) -> Result<bool, CallProblem> {
        let call = Call::read(received.dialect, &received.body)?;
        let bodies: Vec<_> = call.history().collect();
        let (lane, form) = (prepared.who.lane.lane.clone(), prepared.who.caller.form);
        let Some(brings) = self.can_make(prepared, &call)? else { return Ok(false) };
        let recovered = match prepared.sending {
            SentAs::AsIs => None,
            // Another call, or the previous call's count, came in between: the lane does not know this call.
            SentAs::Made(_) => match self.host.refused_at(&lane, form, prepared.asked_at, refused) {
                Err(HostError::Refused { .. }) => None,
                other => other?,
            },
        };
        let assembled = match recovered {
            None => {
                return self.smaller_by_figures(&call, prepared, brings, RefusedAttempt { refused, attempt });
            }
            Some(Recovered::Retry { assembled, output, .. }) => {
                prepared.lower(output, &call);
                *assembled
            }
            Some(Recovered::Surface(_)) => return Ok(false),
        };
        prepared.take(&assembled, &call, &bodies);
        self.note_standing(prepared)?;
        Ok(true)
    }

    /// Makes the body smaller by the call's own figures.
    fn smaller_by_figures(
        &self,
        call: &Call<'_>,
        prepared: &mut PreparedCall,
        brings: Brings<'_>,
        refusal: RefusedAttempt,
    ) -> Result<bool, CallProblem> {
        let body = match &prepared.sending {
            SentAs::AsIs => call.with_edits(&[]).into(),
            SentAs::Made(body) => body.clone(),
        };
        let sent = Sent {
            input: prepared.tokens.expected,
            output: prepared.budget.asked,
            window: prepared.budget.window,
            bytes: body.len() as u64,
            media: 0,
            digest: Digest::of(&body),
        };
        let Recovery::Retry(retry) = recover::plan(refusal.attempt, refusal.refused, &sent) else {
            return Ok(false);
        };
        let more = prepared.lower(retry.output, call);
        if retry.input >= sent.input && prepared.lowered.is_some() {
            // The prompt is not at fault.
            let body = match prepared.sending {
                SentAs::AsIs => call.with_edits(&prepared.output_edits(call)),
                SentAs::Made(_) => prepared.body(call, prepared.offered.as_ref()),
            };
            prepared.sending = SentAs::Made(body.into());
            return Ok(true);
        }
        let room = retry.input.saturating_sub(prepared.budget.fixed.expected).saturating_sub(more);
        let room = room.min(prepared.budget.messages());
        prepared.standing =
            StandingContext::of_call(&self.host, &prepared.who, &prepared.known.memory, call, room)?;
        let ask = prepared.ask(call.dialect, room, 0);
        let at = TakenArray { brings, array: &prepared.array, head: prepared.asked_at };
        let made = self.host.assemble_at(&prepared.who.lane.lane, prepared.who.caller.form, at, &ask);
        let (assembled, head) = made.map_err(|error| prepared.budget.problem(error, ask.beside))?;
        prepared.asked_at = head;
        prepared.take(&assembled, call, &call.history().collect::<Vec<_>>());
        self.note_standing(prepared)?;
        Ok(true)
    }

    /// Stores which standing context a prompt got back, if that changed, and logs omissions for lack of room.
    fn note_standing(&self, prepared: &mut PreparedCall) -> Result<(), CallProblem> {
        let PreparedCall { who, model, standing, known, .. } = prepared;
        self.memory.left_out.tell(&who.lane.lane, standing);
        let Some(chosen) = standing.to_note() else { return Ok(()) };
        if known.memory.put_back(model.as_deref()) != Some(chosen) {
            self.host.note_put_back(&who.lane.lane, who.caller.form, model.as_deref(), chosen)?;
            known.memory.note_put_back(model.as_deref(), chosen.clone());
        }
        Ok(())
    }

    /// Takes a limit from a refusal, named or implied.
    pub(super) fn learn(&self, prepared: &PreparedCall, refused: Refused) {
        if let Some(name) = &prepared.limits {
            let asked = Asked { input: prepared.tokens.expected, output: prepared.said() };
            self.models.limits.refused(name, refused, asked);
        }
    }

    /// The next request after an answer with calls of our tools.
    pub(super) fn next_round(
        &self,
        received: &ReceivedCall,
        prepared: &PreparedCall,
        offered: OfferedTools,
        round: &Round,
    ) -> Result<RoundOutcome, CallProblem> {
        let call = Call::read(received.dialect, &received.body)?;
        let asked = RecallRound { lane: &prepared.who.lane.lane, call: &call, round };
        let CallsRun { offered, is_refused } = self.recall.run_calls(&self.host, asked, offered)?;
        let body = (!is_refused).then(|| prepared.body(&call, Some(&offered)));
        Ok(RoundOutcome { offered, body })
    }
}

/// The prompt without the recalled text, after the provider failed to answer with it; `None` if that was sent already.
pub(super) fn without_rounds(
    received: &ReceivedCall,
    prepared: &PreparedCall,
    mut offered: OfferedTools,
    why: &str,
) -> Result<RoundOutcome, CallProblem> {
    let call = Call::read(received.dialect, &received.body)?;
    let body = offered.give_up(why).then(|| prepared.body(&call, Some(&offered)));
    Ok(RoundOutcome { offered, body })
}
