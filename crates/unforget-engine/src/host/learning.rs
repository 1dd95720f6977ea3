//! The last call of a lane, and what refusals and counts of providers say about the next one.

use unforget_core::counts::{Counts, SuspectedTruncation};
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::media::{self, Limit, Place};
use unforget_core::recover::{Refused, Retry, Sent, Why};
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;
use unforget_wire::Dialect;

use super::stored_learning::{StoredLearning, StoredShapeCount};
use super::types::{Ask, Assembled};
use crate::prompt::{PromptCounts, StoredCount};

/// Maximum number of shapes of prompts whose counts are kept.
const PROMPT_COUNTS_MAX: usize = 16;

/// Counts of the prompts of one shape.
#[derive(Clone)]
pub(super) struct ShapeCounts {
    /// Key of the shape.
    pub(super) shape: u64,
    /// The counts.
    pub(super) counts: PromptCounts,
}

/// What a fork takes over of the counts of its source.
#[derive(Clone)]
pub(super) struct ForkCounts {
    shapes: Vec<ShapeCounts>,
    model: ModelCounts,
}

/// The last call of a lane, and the reactions of providers to earlier ones. The last call is in memory only; the rest is stored
/// by [`Learning::to_store`].
#[derive(Default)]
pub(super) struct Learning {
    last: Option<LastCall>,
    /// Live input that the last prompt had to show.
    required: Vec<Seq>,
    /// Counts of the lane that this one was forked from, until a prompt of their shape is opened.
    forked: Vec<ShapeCounts>,
    /// The newest counts of this lane's prompts, the newest last.
    prompts: Vec<StoredShapeCount>,
    /// Bytes of the stored row.
    stored: Vec<u8>,
    counts: ModelCounts,
    /// Maximum size of a prompt after a refusal.
    cap: Option<u64>,
    refusals: MediaRefusals,
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

    /// Takes the counts for a shape that the lane inherited.
    pub(super) fn take_counts(&mut self, shape: u64) -> Option<PromptCounts> {
        let at = self.forked.iter().position(|forked| forked.shape == shape)?;
        Some(self.forked.swap_remove(at).counts)
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
        let (media, prompts) = (self.refusals.lasting.clone(), self.prompts.clone());
        let state = StoredLearning { model, counts, reported, media, prompts }.encode();
        (state != self.stored).then_some(state)
    }

    /// Notes the bytes of the stored row.
    pub(super) fn note_stored(&mut self, state: Vec<u8>) {
        self.stored = state;
    }

    /// What was learned when the lane was open before. Bytes that cannot be read teach nothing.
    pub(super) fn restored(state: Vec<u8>) -> Self {
        let Some(StoredLearning { model, counts, reported, media, prompts }) = StoredLearning::decode(&state)
        else {
            return Self::default();
        };
        Self {
            counts: ModelCounts { model, counts, reported },
            refusals: MediaRefusals { lasting: media, newest: None },
            prompts,
            stored: state,
            ..Self::default()
        }
    }

    /// The counts for a fork.
    ///
    /// * `shapes` - counts of the open prompts.
    pub(super) fn for_fork(&self, shapes: Vec<ShapeCounts>) -> ForkCounts {
        ForkCounts { shapes, model: self.counts.clone() }
    }

    /// Takes over the counts of the lane that this one was forked from.
    pub(super) fn inherit(&mut self, counts: &ForkCounts) {
        self.forked.clone_from(&counts.shapes);
        self.counts.clone_from(&counts.model);
    }

    /// Another model answers from now on: refusals of the old model's provider do not apply to it.
    pub(super) fn change_model(&mut self) {
        self.cap = None;
        self.refusals = MediaRefusals::default();
    }

    /// Forgets the last call, and the bound that its refusal set.
    pub(super) fn forget_call(&mut self) {
        if self.last.take().is_some_and(|last| last.attempt > 0) {
            self.cap = None;
        }
    }

    /// Forgets the last call if this question begins another turn.
    pub(super) fn begin_call(&mut self, ask: &Ask, head: Option<Seq>) {
        if ask.is_first && self.last.as_ref().is_some_and(|last| last.head != head) {
            self.forget_call();
        }
    }

    /// Remembers a prompt that is about to be sent.
    pub(super) fn remember(&mut self, ask: &Ask, assembled: &Assembled, head: Option<Seq>) {
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
        let ask = Ask { live: None, ..ask.clone() };
        let media = assembled.media.clone();
        self.last = Some(LastCall { ask, head, sent, media, estimate: assembled.tokens, attempt });
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
        self.last.as_ref().is_some_and(|last| last.head == head)
    }

    /// Learns from the count of the last call, which is then forgotten.
    pub(super) fn answered(&mut self, input: u64) -> Option<SuspectedTruncation> {
        let last = self.last.take()?;
        self.cap = None;
        self.refusals.newest = None;
        self.counts.of(last.ask.model.as_deref()).counts.take(last.estimate, input)
    }
}

/// The last call, until it is answered.
#[derive(Clone, Debug)]
pub(super) struct LastCall {
    /// The question, without its live array, which is stored.
    pub(super) ask: Ask,
    /// Head of the path when the prompt was made.
    head: Option<Seq>,
    pub(super) sent: Sent,
    media: Vec<Place>,
    estimate: Tokens,
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
