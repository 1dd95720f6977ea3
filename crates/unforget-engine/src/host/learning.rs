//! The last call of a lane, and what refusals and counts of providers say about the next one.

use unforget_core::counts::{Counts, SuspectedTruncation};
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::media::{self, Limit, Place};
use unforget_core::recover::{Refused, Retry, Sent, Why};
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;
use unforget_wire::Dialect;

use super::client_memory::ClientMemory;
use super::stored_call::LaneCall;
use super::stored_learning::{StoredLearning, StoredShapeCount};
use super::types::{Ask, Assembled};
use crate::prompt::StoredCount;

/// Maximum number of shapes of prompts whose counts are kept.
const PROMPT_COUNTS_MAX: usize = 16;

/// What a fork takes over of the counts of its source.
#[derive(Clone)]
pub(super) struct ForkCounts {
    prompts: Vec<StoredShapeCount>,
    model: ModelCounts,
}

/// The last call of a lane, and the reactions of providers to earlier ones. Stored by [`Learning::to_store`] and
/// [`Learning::call_to_store`].
#[derive(Default)]
pub(super) struct Learning {
    last: Option<LastCall>,
    /// Tokens that the first call of the turn had for its messages.
    turn_budget: Option<u64>,
    /// Live input that the last prompt had to show.
    required: Vec<Seq>,
    /// The last call as it is stored.
    stored_call: Option<LaneCall>,
    /// Bytes of that row.
    stored_state: Option<Vec<u8>>,
    /// The newest counts of this lane's prompts, the newest last.
    prompts: Vec<StoredShapeCount>,
    /// Bytes of the stored row.
    stored: Vec<u8>,
    counts: ModelCounts,
    /// Maximum size of a prompt after a refusal.
    cap: Option<u64>,
    refusals: MediaRefusals,
    /// What the gateway remembers of the lane.
    pub(super) client: ClientMemory,
}

impl Learning {
    /// The last call.
    pub(super) const fn last(&self) -> Option<&LastCall> {
        self.last.as_ref()
    }

    /// Live input that the last prompt had to show.
    pub(super) fn required(&self) -> &[Seq] {
        &self.required
    }

    /// Sets the live input that the last prompt had to show.
    pub(super) fn require(&mut self, required: Vec<Seq>) {
        self.required = required;
    }

    /// The limit on images and documents for the next call.
    pub(super) fn media_limit(&self) -> Limit {
        self.refusals.limit()
    }

    /// The newest count of a call for a model that was forwarded unchanged.
    pub(super) fn reported(&self, model: Option<&str>) -> Option<Reported> {
        self.counts.reported.filter(|_| self.counts.model.as_deref() == model)
    }

    /// Maximum size of a prompt for a model, by refusals and counts; [`u64::MAX`] without a bound.
    pub(super) fn cap(&self, model: Option<&str>) -> u64 {
        let read = self.counts.counts.cap.filter(|_| self.counts.model.as_deref() == model);
        self.cap.unwrap_or(u64::MAX).min(read.unwrap_or(u64::MAX))
    }

    /// The newest count of this lane's prompts of a shape.
    pub(super) fn prompt_count(&self, shape: u64) -> Option<&StoredCount> {
        self.prompts.iter().find(|prompt| prompt.shape == shape).map(|prompt| &prompt.count)
    }

    /// Notes the newest count of this lane's prompts of a shape.
    pub(super) fn note_prompt_count(&mut self, shape: u64, count: StoredCount) {
        self.prompts.retain(|prompt| prompt.shape != shape);
        self.prompts.push(StoredShapeCount { shape, count });
        self.prompts.drain(..self.prompts.len().saturating_sub(PROMPT_COUNTS_MAX));
    }

    /// What was learned, as bytes of a row. `None` if the stored row has them.
    pub(super) fn to_store(&self) -> Option<Vec<u8>> {
        let ModelCounts { model, counts, reported } = self.counts.clone();
        let MediaRefusals { lasting: media, newest } = self.refusals.clone();
        let (prompts, client) = (self.prompts.clone(), self.client.clone());
        let state = StoredLearning { model, counts, reported, media, newest, prompts, client }.encode();
        (state != self.stored).then_some(state)
    }

    /// Notes the bytes of the stored row.
    pub(super) fn note_stored(&mut self, state: Vec<u8>) {
        self.stored = state;
    }

    /// What was learned when the lane was open before. Bytes that cannot be read teach nothing.
    pub(super) fn restored(state: Vec<u8>) -> Self {
        let Some(learned) = StoredLearning::decode(&state) else { return Self::default() };
        let StoredLearning { model, counts, reported, media, newest, prompts, client } = learned;
        Self {
            counts: ModelCounts { model, counts, reported },
            refusals: MediaRefusals { lasting: media, newest },
            prompts,
            client,
            stored: state,
            ..Self::default()
        }
    }

    /// The counts for a fork.
    ///
    /// * `open` - counts of the open prompts.
    /// * `is_at_end` - whether the fork takes the whole path. For all other forks only the rates hold.
    pub(super) fn for_fork(&self, open: Vec<StoredShapeCount>, is_at_end: bool) -> ForkCounts {
        let is_open = |shape: u64| open.iter().any(|count| count.shape == shape);
        let closed = self.prompts.iter().filter(|count| !is_open(count.shape)).cloned();
        let mut prompts: Vec<StoredShapeCount> = closed.collect();
        prompts.extend(open);
        for prompt in prompts.iter_mut().filter(|_| !is_at_end) {
            prompt.count.beginning = None;
        }
        ForkCounts { prompts, model: self.counts.clone() }
    }

    /// Takes over the counts of the lane that this one was forked from.
    pub(super) fn inherit(&mut self, counts: &ForkCounts) {
        for StoredShapeCount { shape, count } in counts.prompts.clone() {
            self.note_prompt_count(shape, count);
        }
        self.counts.clone_from(&counts.model);
    }

    /// The last call and the bounds of its turn, to be stored. `None` if the stored row says the same.
    ///
    /// * `ended` - number of turns of the lane that ended.
    /// * `is_touched` - whether something else of the lane was stored: other processes see that by this row.
    pub(super) fn call_to_store(&self, ended: u64, is_touched: bool) -> Option<LaneCall> {
        let written = self.stored_call.as_ref().map_or(0, |stored| stored.written);
        let call = LaneCall {
            written,
            ended,
            budget: self.turn_budget,
            cap: self.cap,
            required: self.required.clone(),
            last: self.last.clone(),
        };
        let is_kept = match &self.stored_call {
            // The row of a turn that ended says nothing.
            Some(stored) if call.is_empty() => stored.is_empty() || stored.ended != ended,
            Some(stored) => *stored == call,
            None => call.is_empty(),
        };
        (is_touched || !is_kept).then_some(LaneCall { written: written + 1, ..call })
    }

    /// Notes the stored last call.
    ///
    /// * `state` - bytes of its row.
    pub(super) fn note_stored_call(&mut self, call: LaneCall, state: Vec<u8>) {
        (self.stored_call, self.stored_state) = (Some(call), Some(state));
    }

    /// Whether the row of the last call is the one that this lane knows.
    pub(super) fn is_stored(&self, state: Option<&[u8]>) -> bool {
        self.stored_state.as_deref() == state
    }

    /// Takes the last call of when the lane was open before. Bytes that cannot be read, and those of a turn that ended, say
    /// nothing.
    ///
    /// * `ended` - number of turns of the lane that ended.
    pub(super) fn restore_call(&mut self, state: Vec<u8>, ended: u64) {
        let call = LaneCall::decode(&state);
        self.stored_state = Some(state);
        let Some(call) = call else { return };
        if call.ended == ended {
            self.last.clone_from(&call.last);
            self.required.clone_from(&call.required);
            (self.turn_budget, self.cap) = (call.budget, call.cap);
        }
        self.stored_call = Some(call);
    }

    /// Another model answers from now on: refusals of the old model's provider do not apply to it.
    pub(super) fn change_model(&mut self) {
        self.cap = None;
        self.refusals = MediaRefusals::default();
    }

    /// The turn ended: its last call is forgotten, and with it the bounds of the turn.
    pub(super) fn end_turn(&mut self) {
        self.turn_budget = None;
        self.forget_call();
    }

    /// The budget of a call: no more than the first call of the turn had.
    pub(super) fn bound(&mut self, budget: u64, is_first: bool) -> u64 {
        let first = match self.turn_budget {
            Some(first) if !is_first => first,
            _ => *self.turn_budget.insert(budget),
        };
        budget.min(first)
    }

    /// Forgets the last call, and the bound that its refusal set.
    pub(super) fn forget_call(&mut self) {
        if self.last.take().is_some_and(|last| last.attempt > 0) {
            self.cap = None;
        }
    }

    /// Forgets the last call if this question begins another turn.
    pub(super) fn begin_call(&mut self, ask: &Ask, head: Option<Seq>) {
        if ask.is_first && self.last.as_ref().is_some_and(|last| last.at.head != head) {
            self.forget_call();
        }
    }

    /// Remembers a prompt that is about to be sent.
    pub(super) fn remember(&mut self, ask: Ask, assembled: &Assembled, at: CallPlace) {
        let bytes = assembled.messages.join("\n");
        let attempt = self.last.as_ref().map_or(0, |last| last.attempt);
        let sent = Sent {
            input: assembled.tokens.expected,
            output: ask.output,
            window: ask.budget.saturating_add(ask.output),
            bytes: bytes.len() as u64,
            media: u32::try_from(assembled.media.len()).unwrap_or(u32::MAX),
            digest: Digest::of(bytes.as_bytes()),
        };
        let (media, estimate) = (assembled.media.clone(), assembled.tokens);
        self.last = Some(LastCall { ask: Ask { live: None, ..ask }, at, sent, media, estimate, attempt });
    }

    /// Applies the bounds of a retry. Returns the bound that was valid before.
    pub(super) fn tighten(
        &mut self,
        retry: &Retry,
        refused: Refused,
        last: &LastCall,
        input: u64,
    ) -> Option<u64> {
        let before = self.cap;
        if retry.input < input {
            self.cap = Some(retry.input);
        }
        self.refusals.tighten(retry, refused, last);
        before
    }

    /// Sets the bound back, since no prompt within the new bound exists.
    pub(super) const fn restore_cap(&mut self, cap: Option<u64>) {
        self.cap = cap;
    }

    /// Counts an attempt to make the prompt of the last call smaller.
    pub(super) const fn count_attempt(&mut self, attempt: u8) {
        if let Some(last) = &mut self.last {
            last.attempt = attempt;
        }
    }

    /// Learns from the count of a call that was forwarded unchanged.
    ///
    /// * `estimate` - our estimate of everything that was sent.
    pub(super) fn count_forwarded(
        &mut self,
        model: Option<&str>,
        estimate: Tokens,
        input: u64,
    ) -> Option<SuspectedTruncation> {
        let learned = self.counts.of(model);
        let cut = learned.counts.take(estimate, input);
        if cut.is_none() {
            let reported = Reported::of(estimate, Tokens::default(), input);
            learned.reported = reported.or(learned.reported);
        }
        cut
    }

    /// Whether the last call was made at this head.
    pub(super) fn is_last_at(&self, head: Option<Seq>) -> bool {
        self.last.as_ref().is_some_and(|last| last.at.head == head)
    }

    /// Learns from the count of the last call, which is then forgotten.
    pub(super) fn answered(&mut self, input: u64) -> Option<SuspectedTruncation> {
        let last = self.last.take()?;
        self.cap = None;
        self.refusals.newest = None;
        self.counts.of(last.ask.model.as_deref()).counts.take(last.estimate, input)
    }
}

/// Where a prompt was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CallPlace {
    /// Head of the path.
    pub(super) head: Option<Seq>,
    /// Window of the prompt's shape.
    pub(super) window: u64,
}

/// The last call, until it is answered.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LastCall {
    /// The question, without its live array, which is stored.
    pub(super) ask: Ask,
    pub(super) at: CallPlace,
    pub(super) sent: Sent,
    pub(super) media: Vec<Place>,
    pub(super) estimate: Tokens,
    /// How often the prompt was made smaller.
    pub(super) attempt: u8,
}

/// Images and documents that providers refused.
#[derive(Clone, Debug, Default)]
struct MediaRefusals {
    /// Until another model answers.
    lasting: Limit,
    /// Maximum number until a call is answered.
    newest: Option<u32>,
}

impl MediaRefusals {
    /// The limit for the next call.
    fn limit(&self) -> Limit {
        let newest = self.newest.map_or(self.lasting.newest, |newest| newest.min(self.lasting.newest));
        Limit { newest, ..self.lasting.clone() }
    }

    /// Takes the bounds of a retry.
    ///
    /// A refused image is not sent again. If the provider does not say which one it is, no image of the call is sent again.
    fn tighten(&mut self, retry: &Retry, refused: Refused, last: &LastCall) {
        let place = retry.without.filter(|_| is_as_sent(last.ask.dialect));
        match refused {
            Refused::Media { .. } => {
                let (message, block) = place.unwrap_or((u32::MAX, u32::MAX));
                self.lasting.without.extend(media::at(&last.media, message, block));
            }
            _ if retry.media == last.sent.media => {}
            _ if retry.why == Why::Media => self.lasting.newest = retry.media,
            _ => self.newest = Some(retry.media),
        }
    }
}

/// Whether hosts of this dialect send our messages unchanged, so that a provider's index is ours.
const fn is_as_sent(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Anthropic | Dialect::BedrockConverse | Dialect::Gemini)
}

/// Facts from the counts of one model.
#[derive(Clone, Debug, Default)]
struct ModelCounts {
    model: Option<String>,
    counts: Counts,
    /// The newest count of a call that was forwarded unchanged.
    reported: Option<Reported>,
}

impl ModelCounts {
    /// The facts about this model. Facts about another model are dropped.
    fn of(&mut self, model: Option<&str>) -> &mut Self {
        if self.model.as_deref() != model {
            *self = Self { model: model.map(str::to_owned), ..Self::default() };
        }
        self
    }
}
