//! Refusals and counts of providers: a refused prompt gets a smaller one, a count is compared with the estimate.

use unforget_core::counts::SuspectedTruncation;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::policy::Policy;
use unforget_core::recover::{self, Reason, Recovery, Refused, Sent, Why};
use unforget_core::tokens::Tokens;

use super::client_memory::MeasuredCall;
use super::lane::HostLane;
use super::types::Assembled;
use crate::EngineError;
use crate::journal::HostError;
use crate::prompt::{ModelForm, PromptWeight, Shape};

/// A provider's count of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted<'a> {
    /// Head of the path when the prompt was made.
    pub head: Option<Seq>,
    /// The model that answered.
    pub model: Option<&'a str>,
    /// Our estimate of everything that was sent, for calls forwarded unchanged; `None` for a prompt of ours.
    pub as_sent: Option<Tokens>,
    /// Tokens of input as the provider counted them, cached ones included.
    pub input: u64,
    /// Weight of our prompt ([`Assembled::weighed`]); `None` if the count covers other prompts too.
    pub weighed: Option<PromptWeight>,
    /// The count as later calls of the lane use it, unless it raises an alarm; for calls forwarded unchanged.
    pub measured: Option<MeasuredCall>,
    /// Whether all of a conversation that its provider keeps is stored here; `None` for all other conversations.
    pub has_all: Option<bool>,
}

/// The way on after a refused call.
#[derive(Clone, Debug)]
pub enum Recovered {
    /// Send this smaller prompt instead.
    Retry {
        /// The prompt.
        assembled: Box<Assembled>,
        /// Maximum tokens of the answer to ask for.
        output: u64,
        /// The reason for its size.
        why: Why,
    },
    /// Hand the refusal to the person or agent. Nothing was reset or lost.
    Surface(Reason),
}

impl HostLane {
    /// The last call was refused: makes a smaller prompt, a few times. Until the call is answered or another turn begins, no
    /// prompt is larger.
    ///
    /// * `behind` - tokens that the host had put behind the prompt, and delivers before it asks again.
    pub(super) fn refused(
        &mut self,
        refused: Refused,
        behind: u64,
        now: Timestamp,
    ) -> Result<Recovered, HostError> {
        let Some(last) = self.learning.last().cloned() else {
            return Err(HostError::Refused {
                what: "no prompt was asked for since the last answer".to_owned(),
            });
        };
        let sent = Sent { input: last.sent.input.saturating_add(behind), ..last.sent };
        let retry = match recover::plan(last.attempt, refused, &sent) {
            Recovery::Retry(retry) => retry,
            Recovery::Surface(reason) => return Ok(Recovered::Surface(reason)),
        };
        let cap = self.learning.tighten(&retry, refused, &last, sent.input);
        self.prompts.drop_view();
        let required = self.learning.required().to_vec();
        let assembled = match self.assemble_with(&last.ask, required, now) {
            Err(HostError::Engine(EngineError::Irreducible(_))) => {
                self.learning.restore_cap(cap);
                return Ok(Recovered::Surface(Reason::NothingLeft));
            }
            made => made?,
        };
        let is_new = self.learning.last().is_some_and(|now| retry.is_new(&now.sent.digest));
        self.learning.count_attempt(last.attempt + 1);
        if !is_new && behind == 0 && retry.output == last.sent.output {
            return Ok(Recovered::Surface(Reason::NothingLeft));
        }
        Ok(Recovered::Retry { assembled: Box::new(assembled), output: retry.output, why: retry.why })
    }

    /// Learns from a provider's count. If another prompt was made since the call, the count tells only the weight of the
    /// tokens of its prompt.
    pub(crate) fn counted(
        &mut self,
        counted: &Counted<'_>,
        now: Timestamp,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        // The next prompt has other bounds.
        self.prompts.drop_view();
        let client = &mut self.learning.client;
        client.has_all = counted.has_all.unwrap_or(client.has_all);
        let cut = match counted.as_sent {
            Some(estimate) => self.learning.count_forwarded(counted.model, estimate, counted.input),
            None => self.count_ours(counted, now)?,
        };
        if cut.is_none() && counted.measured.is_some() {
            self.learning.client.measured = counted.measured;
        }
        Ok(cut)
    }

    /// Learns from the count of a prompt of ours.
    fn count_ours(
        &mut self,
        counted: &Counted<'_>,
        now: Timestamp,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        let is_last = self.learning.is_last_at(counted.head);
        if is_last && counted.weighed.is_some() && self.prompts.is_closed() {
            self.open_last(now)?;
        }
        let cut = if is_last { self.learning.answered(counted.input) } else { None };
        if let (None, Some(weighed)) = (cut, &counted.weighed) {
            self.prompts.reported(weighed, counted.input)?;
        }
        Ok(cut)
    }

    /// Opens the prompt of the last call again: the lane was opened since.
    fn open_last(&mut self, now: Timestamp) -> Result<(), HostError> {
        let Some(last) = self.learning.last() else { return Ok(()) };
        let form = ModelForm::of(last.ask.model.as_deref(), last.ask.dialect);
        let shape = Shape::with_policy(Policy::with_reserve(last.at.window, 0), form);
        let beside = last.ask.beside;
        self.with_prompts(|prompts, journal, learning| {
            prompts.open(journal, learning, shape, now)?;
            prompts.parts()?.session.stands_beside(beside);
            Ok(())
        })
    }
}
