//! What a provider said of a prompt: a refusal gets a smaller prompt, a count is compared with ours.

use unforget_core::counts::{Counts, SuspectedTruncation};
use unforget_core::digest::Digest;
use unforget_core::id::{Seq, Timestamp};
use unforget_core::media::{self, Limit, Place};
use unforget_core::recover::{self, Reason, Recovery, Refused, Retry, Sent, Why};
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;
use unforget_wire::Dialect;

use super::lane::Lane;
use super::types::{Ask, Assembled, HostError};
use crate::EngineError;
use crate::prompt::PromptWeight;

/// The prompt that a host got last, until its call is answered.
#[derive(Clone, Debug)]
pub(super) struct Last {
    /// The question, without what came with it: that is stored.
    ask: Ask,
    /// The newest entry of the path when it was made.
    head: Option<Seq>,
    sent: Sent,
    media: Vec<Place>,
    estimate: Tokens,
    /// Times that it was made smaller.
    attempt: u8,
}

/// Images and documents that providers did not take. In memory only: after a restart a provider says it again.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals {
    /// Until another model answers.
    lasting: Limit,
    /// The most until a call is answered.
    newest: Option<u32>,
}

impl Refusals {
    /// What may be sent in the next call.
    pub(super) fn limit(&self) -> Limit {
        let newest = self.newest.map_or(self.lasting.newest, |newest| newest.min(self.lasting.newest));
        Limit { newest, ..self.lasting.clone() }
    }

    /// Takes the bounds of a retry.
    ///
    /// An image that is at fault is not sent again; if it is not known which, none of those that were sent are,
    /// but newer ones may be.
    fn tighten(&mut self, retry: &Retry, refused: Refused, last: &Last) {
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

/// Whether a host of this dialect sends the messages as they are, so that a provider's index is ours.
const fn is_as_sent(dialect: Dialect) -> bool {
    matches!(dialect, Dialect::Anthropic | Dialect::BedrockConverse | Dialect::Gemini)
}

/// What a lane learned from counts. In memory only, and of one model.
#[derive(Clone, Debug, Default)]
pub(super) struct Learned {
    model: Option<String>,
    counts: Counts,
    /// The newest count of a call that was sent as its client made it.
    reported: Option<Reported>,
}

impl Learned {
    /// The facts about this model. Facts about another model are dropped.
    fn of(&mut self, model: Option<&str>) -> &mut Self {
        if self.model.as_deref() != model {
            *self = Self { model: model.map(str::to_owned), ..Self::default() };
        }
        self
    }

    /// The newest count of a call for a model that was sent as its client made it.
    pub(super) fn reported_of(&self, model: Option<&str>) -> Option<Reported> {
        self.reported.filter(|_| self.model.as_deref() == model)
    }
}

/// What a provider counted of a call.
#[derive(Clone, Copy, Debug)]
pub struct Counted<'a> {
    /// The newest entry of the path when it was made.
    pub head: Option<Seq>,
    /// Who answered.
    pub model: Option<&'a str>,
    /// Ours of all that was sent, of a call that was sent as its client made it; `None` of a prompt of ours.
    pub as_sent: Option<Tokens>,
    /// Tokens of input as the provider counted them, cached ones included.
    pub input: u64,
    /// Weight of our prompt ([`Assembled::weighed`]); `None` if the count covers other prompts too.
    pub weighed: Option<PromptWeight>,
}

/// What to do with a refused call.
#[derive(Clone, Debug)]
pub enum Recovered {
    /// Send this instead: its bytes are others and it is smaller.
    Retry {
        /// The prompt.
        assembled: Box<Assembled>,
        /// What to ask for as an answer at most.
        output: u64,
        /// Why it is as small as it is.
        why: Why,
    },
    /// Hand the refusal to the person or agent. Nothing was reset, nothing is lost.
    Surface(Reason),
}

impl Lane {
    /// Forgets the call of a turn that is over, and what refusals left of the room for it.
    pub(super) fn forget_call(&mut self) {
        if self.last.take().is_some_and(|last| last.attempt > 0) {
            self.cap = None;
        }
    }

    /// The same if the question begins another turn.
    pub(super) fn begin_call(&mut self, ask: &Ask) {
        let head = self.head();
        if ask.is_first && self.last.as_ref().is_some_and(|last| last.head != head) {
            self.forget_call();
        }
    }

    /// Remembers a prompt that is about to be sent.
    pub(super) fn remember(&mut self, ask: &Ask, assembled: &Assembled) {
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
        let head = self.head();
        self.last = Some(Last { ask, head, sent, media, estimate: assembled.tokens, attempt });
    }

    /// The call was refused: there is a smaller prompt for it, a few times. Until the call is answered or
    /// another turn begins, no prompt is larger.
    ///
    /// * `behind` - tokens that the host had put behind the prompt, and delivers before it asks again.
    pub(super) fn refused(
        &mut self,
        refused: Refused,
        behind: u64,
        now: Timestamp,
    ) -> Result<Recovered, HostError> {
        let Some(last) = self.last.clone() else {
            return Err(HostError::Refused {
                what: "no prompt was asked for since the last answer".to_owned(),
            });
        };
        let sent = Sent { input: last.sent.input.saturating_add(behind), ..last.sent };
        let retry = match recover::plan(last.attempt, refused, &sent) {
            Recovery::Retry(retry) => retry,
            Recovery::Surface(reason) => return Ok(Recovered::Surface(reason)),
        };
        let cap = self.cap;
        if retry.input < sent.input {
            self.cap = Some(retry.input);
        }
        self.refusals.tighten(&retry, refused, &last);
        self.view.fail();
        let assembled = match self.assemble_with(&last.ask, self.required.clone(), now) {
            Err(HostError::Engine(EngineError::Irreducible(_))) => {
                self.cap = cap;
                return Ok(Recovered::Surface(Reason::NothingLeft));
            }
            made => made?,
        };
        let is_new = self.last.as_ref().is_some_and(|now| retry.is_new(&now.sent.digest));
        if let Some(now) = &mut self.last {
            now.attempt = last.attempt + 1;
        }
        if !is_new && behind == 0 && retry.output == last.sent.output {
            return Ok(Recovered::Surface(Reason::NothingLeft));
        }
        Ok(Recovered::Retry { assembled: Box::new(assembled), output: retry.output, why: retry.why })
    }

    /// A call of this lane was answered. As [`Lane::answered`], unless another prompt was made since: then the count says
    /// only how much tokens of its prompt weigh.
    pub(super) fn counted(&mut self, counted: &Counted<'_>) -> Option<SuspectedTruncation> {
        if let Some(estimate) = counted.as_sent {
            let learned = self.learned.of(counted.model);
            let cut = learned.counts.take(estimate, counted.input);
            if cut.is_none() {
                let reported = Reported::of(estimate, Tokens::default(), counted.input);
                learned.reported = reported.or(learned.reported);
            }
            return cut;
        }
        let is_last = self.last.as_ref().is_some_and(|last| last.head == counted.head);
        let cut = if is_last { self.answered(counted.input) } else { None };
        if let (None, Some(weighed), Some(session)) = (cut, &counted.weighed, self.sessions.first_mut()) {
            session.reported(weighed, counted.input);
        }
        cut
    }

    /// The call was answered, and the provider counted so many tokens of input, cached ones included.
    ///
    /// Gives an alarm if that is far less than was sent: then the provider has cut it, and prompts are made to fit what it
    /// reads.
    pub(super) fn answered(&mut self, input: u64) -> Option<SuspectedTruncation> {
        let last = self.last.take()?;
        self.cap = None;
        self.refusals.newest = None;
        self.learned.of(last.ask.model.as_deref()).counts.take(last.estimate, input)
    }

    /// The most that a prompt for a model may have: as much as was not refused, and as the model reads.
    pub(super) fn cap(&self, model: Option<&str>) -> u64 {
        let read = self.learned.counts.cap().filter(|_| self.learned.model.as_deref() == model);
        self.cap.unwrap_or(u64::MAX).min(read.unwrap_or(u64::MAX))
    }
}
