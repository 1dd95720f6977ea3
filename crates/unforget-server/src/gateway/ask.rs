//! A call on its way to the model: recognised, stored, fitted.
//!
//! Everything here is synchronous and may wait for the disk, so it runs on threads that may block.

use std::borrow::Cow;

use axum::body::Bytes;
use unforget_core::admit::Cover;
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::recover::{self, Recovery, Refused, Sent};
use unforget_core::reserve;
use unforget_core::tokens::{Ruler, Tokens};
use unforget_engine::host::{Array, Ask, Assembled, Brings, HostError, Recalled, Recovered, Said};
use unforget_engine::prompt::{Broken, PromptWeight};
use unforget_engine::ruler::ModelRuler;
use unforget_wire::exchange::{Call, Edit, annotations};
use unforget_wire::{Dialect, Format};

use super::cache::{Before, Was};
use super::caller::{Caller, Who, order};
use super::fault::Problem;
use super::notices;
use super::offer::{Offered, has_left_something};
use super::slot::{SLOT, recall};
use super::standing::Standing;
use super::{Gateway, Recall};
use crate::{pinned, trace};

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

/// The form in which a call is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    /// Unchanged.
    AsIs,
    /// With this body.
    Made(Bytes),
}

/// A stored call that is ready to be sent.
pub(super) struct Begun {
    pub(super) dialect: Dialect,
    pub(super) who: Who,
    pub(super) array: Array,
    /// The newest entry of the path, which the answer will follow.
    pub(super) asked_at: Option<Seq>,
    pub(super) sending: Sending,
    /// `as-sent`, or the result of admission.
    pub(super) authority: &'static str,
    /// Tokens of the whole request.
    pub(super) tokens: Tokens,
    /// The weight of our prompt; `None` for a call sent unchanged.
    pub(super) weighed: Option<PromptWeight>,
    /// Tokens of the client's call by our own ruler; `None` if the call does not contain the model's whole input, or
    /// has content that every provider counts differently.
    pub(super) weight: Option<Tokens>,
    pub(super) model: Option<String>,
    /// The text recalled for it.
    pub(super) recalled: Option<Recalled>,
    /// Tokens that recalled words may take.
    slot: u64,
    /// Tools of ours that are offered with it.
    pub(super) offered: Option<Offered>,
    /// The messages of our prompt.
    prompt: Vec<String>,
    /// Number of the client's images, documents and items of unknown kinds that the prompt leaves out.
    pub(super) left_out: u64,
    /// Standing context put back into our prompt.
    pub(super) standing: Standing,
    /// The remaining facts about the messages after sending.
    seen: Option<Seen>,
    /// Most tokens of the answer, if lowered below the client's limit.
    lowered: Option<u64>,
    budget: Budget,
    /// The key of its model's limits.
    pub(super) limits: Option<Digest>,
    /// The previous call of its lane.
    pub(super) was: Option<Was>,
    /// The content before its messages.
    pub(super) before: Before,
    /// Why its prompt does not simply extend the previous one.
    pub(super) broken: Option<Broken>,
    /// Name of the rung of admission; empty for a call sent unchanged.
    pub(super) rung: &'static str,
    /// How its prompt represents the entries; `None` for a call sent unchanged.
    pub(super) cover: Option<Cover>,
}

/// The content of messages; their number, and the digest of their bytes.
type Seen = (Said, Option<(usize, Digest)>);

/// The token budget of a call.
#[derive(Clone, Copy, Debug)]
struct Budget {
    window: u64,
    /// The model's apparent limit, lowered by limits that its provider named.
    cap: u64,
    /// Tokens reserved for the answer.
    output: u64,
    /// The client's limit for the answer; the reserve if it sets none.
    asked: u64,
    /// The client's limit for the answer; 0 if it sets none.
    said: u64,
    /// Instructions and tools.
    fixed: Tokens,
}

impl Budget {
    /// Tokens available for the messages.
    const fn messages(&self) -> u64 {
        let input = self.window.saturating_sub(self.output);
        (if self.cap < input { self.cap } else { input }).saturating_sub(self.fixed.upper)
    }
}

/// Least tokens for an answer beside its thinking.
const THOUGHT_OF: u64 = 1_024;

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
        let is_too_large = whole.upper > budget.messages() && !begun.array.is_empty();
        // Messages that only the provider has can only be sent by their id.
        if let Some(brings) = self.can_make(&begun.who, &call)?.filter(|_| is_too_large) {
            begun.standing = self.standing_of(&begun, &call, begun.budget.messages())?;
            let at = (brings, &begun.array, begun.asked_at);
            let recall = self.settings.recall;
            let offered = self.offered(&begun, &call, begun.budget.messages());
            begun.slot = if recall == Recall::Slot { SLOT } else { 0 };
            let kept = begun.slot + offered.as_ref().map_or(0, Offered::room);
            let ask = begun.ask(received.dialect, budget.messages(), kept);
            let (assembled, head) = self.host.assemble_at(&begun.who.lane.lane, form, at, &ask)?;
            begun.asked_at = head;
            if recall == Recall::Slot {
                begun.recalled = self.recalled(&begun, &assembled)?;
            }
            begun.offered = offered.filter(|_| has_left_something(&assembled));
            begun.take(&assembled, &call, &bodies);
            notices::prompt(&begun, &assembled);
            self.put_back.note(&begun);
        }
        for left in self.arrays.keep(&begun.who.lane.lane, &begun.array) {
            self.host.close(&left);
        }
        Ok(begun)
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

impl Begun {
    /// Tokens of instructions and tools.
    pub(super) const fn fixed(&self) -> Tokens {
        self.budget.fixed
    }

    /// Tokens available for the input.
    pub(super) const fn room(&self) -> u64 {
        self.budget.messages().saturating_add(self.budget.fixed.upper)
    }

    /// The client's limit for the answer; 0 if it sets none.
    pub(super) const fn said(&self) -> u64 {
        self.budget.said
    }

    /// The content of its messages, and their identity.
    pub(super) fn seen(&self) -> Seen {
        let digest = || Some((self.array.len(), self.array.beginning(self.array.len())?));
        self.seen.clone().unwrap_or_else(|| (self.array.said(), digest()))
    }

    /// Drops the messages after sending: they are not needed any more, however long the answer takes.
    pub(super) fn lighten(&mut self) {
        self.seen = Some(self.seen());
        (self.array, self.prompt) = (Array::default(), Vec::new());
        if let Sending::Made(body) = &mut self.sending {
            *body = Bytes::new();
        }
    }

    /// Limit of the answer in tokens, where it is below the client's.
    pub(super) fn output(&self) -> Option<u64> {
        self.lowered.or_else(|| (self.budget.output < self.budget.asked).then_some(self.budget.output))
    }

    /// Lowers the limit of the answer after a provider refused the client's. The part that thinking needs is kept:
    /// returns by how much the limit exceeds `output` for that reason.
    fn lower(&mut self, output: u64, call: &Call<'_>) -> u64 {
        let least = call.thinking.map_or(0, |thinking| thinking.saturating_add(THOUGHT_OF));
        let lowered = output.max(least);
        self.lowered = call.output.filter(|told| lowered < *told).map(|_| lowered);
        self.lowered.map_or(0, |lowered| lowered - output)
    }

    /// Records the request in the call's trace.
    pub(super) fn note(&self) {
        let prompt = trace::Prompt {
            model: self.model.as_deref(),
            conversation: &self.who.lane.wordless_name(),
            authority: self.authority,
            tokens: self.tokens.expected,
            left_out: self.left_out,
            standing_left_out: self.standing.left_out(),
        };
        prompt.note();
    }

    fn output_edits(&self, call: &Call<'_>) -> Vec<Edit> {
        self.lowered.map_or_else(Vec::new, |lowered| call.output_edits(lowered))
    }

    /// A question for a prompt.
    ///
    /// * `room` - tokens for messages and standing context.
    /// * `kept` - of it, for what is recalled.
    fn ask(&self, dialect: Dialect, room: u64, kept: u64) -> Ask {
        let taken = self.standing.reserved() + Tokens::exact(kept);
        Ask {
            beside: self.budget.fixed + taken,
            output: self.budget.asked,
            model: self.model.clone(),
            texts_beside: self.standing.texts(),
            ..Ask::new(room.saturating_sub(taken.upper), dialect)
        }
    }

    /// Takes a prompt for sending in the client's own request.
    fn take(&mut self, assembled: &Assembled, call: &Call<'_>, bodies: &[Cow<'_, str>]) {
        pinned::note(&self.who.lane.lane.0, assembled);
        let client: Vec<&str> = bodies.iter().map(AsRef::as_ref).collect();
        let mut messages = assembled.messages.clone();
        self.tokens = assembled.tokens + self.budget.fixed;
        self.tokens += self.standing.put_back(call, assembled, &mut messages);
        if call.dialect == Dialect::Anthropic {
            messages = annotations::place(&client, &messages, &|_| None, call.marks);
            // A break changes the summaries; standing context before them stays in the cache, where a mark is left for it.
            let standing = self.standing.blocks();
            annotations::place_behind(&mut messages, standing + assembled.leading, call.marks);
            annotations::place_behind(&mut messages, standing, call.marks);
        }
        let system = assembled.system.iter().map(|text| {
            let text = serde_json::Value::from(text.as_str());
            format!(r#"{{"role":"system","content":{text}}}"#)
        });
        if call.dialect != Dialect::Anthropic {
            messages.splice(0..0, system);
        }
        if let Some(recalled) = &self.recalled {
            recall(&mut messages, &recalled.text, call.dialect);
            self.tokens += Tokens::exact(SLOT);
        }
        self.prompt = messages;
        self.tokens += self.offered.as_ref().map_or_else(Tokens::default, Offered::weight);
        self.weighed = assembled.weighed.map(|weight| weight.varying(self.slot));
        self.left_out = self.array.wordless().saturating_sub(assembled.wordless);
        self.sending = Sending::Made(self.body(call, self.offered.as_ref()).into());
        self.authority = assembled.certificate.authority.name();
        (self.broken, self.rung) = (assembled.broken, assembled.certificate.rung.name());
        self.cover = Some(assembled.certificate.cover);
    }

    /// The body with the prompt.
    ///
    /// * `offered` - our tools, with their calls and results so far.
    pub(super) fn body(&self, call: &Call<'_>, offered: Option<&Offered>) -> Vec<u8> {
        let mut edits = match offered.map(Offered::behind).filter(|behind| !behind.is_empty()) {
            Some(behind) => call.message_edits(&[self.prompt.as_slice(), behind].concat()),
            None => call.message_edits(&self.prompt),
        };
        // The whole history is sent, so a reference to the provider's copy would duplicate it.
        for name in ["previous_response_id", "conversation"] {
            edits.extend(call.field_edits(name, None));
        }
        edits.extend(self.output_edits(call));
        edits.extend(offered.map(|offered| offered.edits(call)).unwrap_or_default());
        call.with_edits(&edits)
    }
}
