//! What a provider said of a prompt: a refusal gets one smaller prompt, a count is compared with ours.

use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;
use unforget_core::recover::{self, Reason, Recovery, Refused, Sent, SuspectedTruncation, Why};
use unforget_core::tokens::Tokens;

use super::lane::Lane;
use super::types::{Ask, Assembled, HostError};

/// The prompt that a host got last, until its call is answered.
#[derive(Clone, Debug)]
pub(super) struct Last {
    /// The question.
    ask: Ask,
    sent: Sent,
    estimate: Tokens,
    /// Times that it was made smaller.
    attempt: u8,
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
    /// Remembers a prompt that is about to be sent.
    pub(super) fn remember(&mut self, ask: &Ask, assembled: &Assembled) {
        let bytes = assembled.messages.join("\n");
        let attempt = self.last.as_ref().map_or(0, |last| last.attempt);
        let sent = Sent {
            input: assembled.tokens.expected,
            output: ask.output,
            window: ask.budget.saturating_add(ask.output),
            bytes: bytes.len() as u64,
            media: 0,
            digest: Digest::of(bytes.as_bytes()),
        };
        let ask = Ask { live: None, ..ask.clone() };
        self.last = Some(Last { ask, sent, estimate: assembled.tokens, attempt });
    }

    /// The call was refused: once there is a smaller prompt for it. Until a call is answered, no prompt is larger.
    pub(super) fn refused(&mut self, refused: Refused, now: Timestamp) -> Result<Recovered, HostError> {
        let Some(last) = self.last.clone() else {
            return Err(HostError::Refused {
                what: "no prompt was asked for since the last answer".to_owned(),
            });
        };
        let retry = match recover::plan(last.attempt, refused, &last.sent) {
            Recovery::Retry(retry) => retry,
            Recovery::Surface(reason) => return Ok(Recovered::Surface(reason)),
        };
        self.cap = Some(retry.input);
        self.view.fail();
        let assembled = self.assemble(&last.ask, now)?;
        let is_new = self.last.as_ref().is_some_and(|now| retry.is_new(&now.sent.digest));
        if let Some(now) = &mut self.last {
            now.attempt = last.attempt + 1;
        }
        if !is_new && retry.output == last.sent.output {
            return Ok(Recovered::Surface(Reason::NothingLeft));
        }
        Ok(Recovered::Retry { assembled: Box::new(assembled), output: retry.output, why: retry.why })
    }

    /// The call was answered, and the provider counted so many tokens of input, cached ones included.
    ///
    /// Gives an alarm if that is far less than was sent: then the provider has cut it, and the next prompt is
    /// made to fit what it counted.
    pub(super) fn answered(&mut self, input: u64) -> Option<SuspectedTruncation> {
        let last = self.last.take()?;
        let cut = recover::truncation(last.estimate, input);
        self.cap = cut.map(|cut| cut.reported);
        cut
    }
}
