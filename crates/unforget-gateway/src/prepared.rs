//! A call that is stored and ready to be sent: what it is sent as, with what room, and what its answer is compared with.

use std::borrow::Cow;

use axum::body::Bytes;
use unforget_core::admit::Cover;
use unforget_core::digest::Digest;
use unforget_core::id::Seq;
use unforget_core::policy::RECALL_BLOCK_MAX;
use unforget_core::raised::RaisedCount;
use unforget_core::tokens::Tokens;
use unforget_engine::EngineError;
use unforget_engine::host::{Array, Ask, Assembled, HostCall, HostError, KnownLane, Recalled, Said};
use unforget_engine::prompt::{Broken, PromptWeight};
use unforget_wire::Dialect;
use unforget_wire::exchange::{Call, Edit, Fault, annotations};

use super::caches::{FixedContent, PreviousCall};
use super::caller::CallIdentity;
use super::fault::CallProblem;
use super::offered::OfferedTools;
use super::recall_block::insert_recalled;
use super::standing::StandingContext;
use super::{pinned, trace};

/// The form in which a call is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SentAs {
    /// Unchanged.
    AsIs,
    /// With this body.
    Made(Bytes),
}

/// A stored call that is ready to be sent.
pub(super) struct PreparedCall {
    /// The call as its lanes know it.
    pub(super) of: HostCall,
    pub(super) dialect: Dialect,
    pub(super) who: CallIdentity,
    pub(super) array: Array,
    /// The newest entry of the path, which the answer will follow.
    pub(super) asked_at: Option<Seq>,
    pub(super) sending: SentAs,
    /// `as-sent`, or the result of admission.
    pub(super) authority: &'static str,
    /// Tokens of the whole request.
    pub(super) tokens: Tokens,
    /// Most tokens that the whole request may weigh, as it was admitted: by the provider's counts as far as there are any.
    pub(super) bound: u64,
    /// The weight of our prompt; `None` for a call sent unchanged.
    pub(super) weighed: Option<PromptWeight>,
    /// Tokens of the client's call by our own ruler; `None` if the call does not contain the model's whole input, or
    /// has content that every provider counts differently.
    pub(super) weight: Option<Tokens>,
    pub(super) model: Option<String>,
    /// The text recalled for it.
    pub(super) recalled: Option<Recalled>,
    /// Tokens that recalled words may take.
    pub(super) slot: u64,
    /// Tools of ours that are offered with it.
    pub(super) offered: Option<OfferedTools>,
    /// The messages of our prompt.
    pub(super) prompt: Vec<String>,
    /// Number of the client's images, documents and items of unknown kinds that the prompt leaves out.
    pub(super) left_out: u64,
    /// Standing context put back into our prompt.
    pub(super) standing: StandingContext,
    /// Number of our prompt, if its recipe is kept.
    pub(super) recipe: Option<u64>,
    /// The remaining facts about the messages after sending.
    pub(super) seen: Option<SentMessages>,
    /// Most tokens of the answer, if lowered below the client's limit.
    pub(super) lowered: Option<u64>,
    pub(super) budget: TokenBudget,
    /// The key of its model's limits.
    pub(super) limits: Option<Digest>,
    /// The previous call of its lane.
    pub(super) was: Option<PreviousCall>,
    /// The content before its messages.
    pub(super) before: FixedContent,
    /// Why its prompt does not simply extend the previous one.
    pub(super) broken: Option<Broken>,
    /// Name of the rung of admission; empty for a call sent unchanged.
    pub(super) rung: &'static str,
    /// How its prompt represents the entries; `None` for a call sent unchanged.
    pub(super) cover: Option<Cover>,
    /// What the prompt shows of entries that people put back.
    pub(super) raised: RaisedCount,
    /// What was known of its lane.
    pub(super) known: KnownLane,
}

/// The content of messages; their number, and the digest of their bytes.
type SentMessages = (Said, Option<(usize, Digest)>);

/// The token budget of a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBudget {
    pub(super) window: u64,
    /// The model's apparent limit, lowered by limits that its provider named.
    pub(super) cap: u64,
    /// Tokens reserved for the answer.
    pub(super) output: u64,
    /// The client's limit for the answer; the reserve if it sets none.
    pub(super) asked: u64,
    /// The client's limit for the answer; 0 if it sets none.
    pub(super) said: u64,
    /// Instructions and tools.
    pub(super) fixed: Tokens,
}

impl TokenBudget {
    /// Tokens available for the messages.
    pub(super) const fn messages(&self) -> u64 {
        self.input().saturating_sub(self.fixed.upper)
    }

    /// Tokens available for the whole input.
    const fn input(&self) -> u64 {
        let input = self.window.saturating_sub(self.output);
        if self.cap < input { self.cap } else { input }
    }

    /// Why no prompt was made, in figures of the whole request: the engine knows the messages only.
    ///
    /// * `beside` - what stands beside the messages. See [`Ask::beside`].
    pub(super) fn problem(&self, error: HostError, beside: Tokens) -> CallProblem {
        match error {
            HostError::Engine(EngineError::Irreducible(smallest)) => CallProblem::Fault(Fault::Irreducible {
                needed: smallest.sections.total().upper.saturating_add(beside.upper),
                budget: smallest.budget.saturating_add(beside.upper).min(self.input()),
                fixed: self.fixed.upper,
            }),
            other => other.into(),
        }
    }
}

/// Least tokens for an answer beside its thinking.
const THOUGHT_OF: u64 = 1_024;

impl PreparedCall {
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
    pub(super) fn seen(&self) -> SentMessages {
        let digest = || Some((self.array.len(), self.array.beginning(self.array.len())?));
        self.seen.clone().unwrap_or_else(|| (self.array.said(), digest()))
    }

    /// Drops the messages after sending: they are not needed any more, however long the answer takes.
    pub(super) fn lighten(&mut self) {
        self.seen = Some(self.seen());
        (self.array, self.prompt) = (Array::default(), Vec::new());
        if let SentAs::Made(body) = &mut self.sending {
            *body = Bytes::new();
        }
    }

    /// Limit of the answer in tokens, where it is below the client's.
    pub(super) fn output(&self) -> Option<u64> {
        self.lowered.or_else(|| (self.budget.output < self.budget.asked).then_some(self.budget.output))
    }

    /// Lowers the limit of the answer after a provider refused the client's. The part that thinking needs is kept:
    /// returns by how much the limit exceeds `output` for that reason.
    pub(super) fn lower(&mut self, output: u64, call: &Call<'_>) -> u64 {
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

    pub(super) fn output_edits(&self, call: &Call<'_>) -> Vec<Edit> {
        self.lowered.map_or_else(Vec::new, |lowered| call.output_edits(lowered))
    }

    /// A question for a prompt.
    ///
    /// * `room` - tokens for messages and standing context.
    /// * `kept` - of it, for what is recalled.
    pub(super) fn ask(&self, dialect: Dialect, room: u64, kept: u64) -> Ask {
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
    pub(super) fn take(&mut self, assembled: &Assembled, call: &Call<'_>, bodies: &[Cow<'_, str>]) {
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
            insert_recalled(&mut messages, &recalled.text, call.dialect);
            self.tokens += Tokens::exact(RECALL_BLOCK_MAX);
        }
        self.prompt = messages;
        self.recipe = assembled.recipe;
        self.tokens += self.offered.as_ref().map_or_else(Tokens::default, OfferedTools::weight);
        self.bound = self.tokens.upper;
        self.weighed = assembled.weighed.map(|weight| weight.varying(self.slot));
        self.left_out = self.array.wordless().saturating_sub(assembled.wordless);
        self.sending = SentAs::Made(self.body(call, self.offered.as_ref()).into());
        self.authority = assembled.certificate.authority.name();
        (self.broken, self.rung) = (assembled.broken, assembled.certificate.rung.name());
        self.cover = Some(assembled.certificate.cover);
        self.raised = assembled.certificate.raised;
    }

    /// The body with the prompt.
    ///
    /// * `offered` - our tools, with their calls and results so far.
    pub(super) fn body(&self, call: &Call<'_>, offered: Option<&OfferedTools>) -> Vec<u8> {
        let mut edits = match offered.map(OfferedTools::behind).filter(|behind| !behind.is_empty()) {
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
