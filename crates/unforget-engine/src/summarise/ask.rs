//! Asks the models one question: charges it, calls, judges the draft, and asks once more if necessary.

use unforget_core::gate::{self, Ending, Escalation, Flaw, Next, Verdict};
use unforget_core::id::ConversationId;
use unforget_core::tokens::Ruler as _;
use unforget_llm::{Answer, Ask, Call, Cancel, Cause, Fault, Request, Stop, Urgency, Work};
use unforget_store::{Spend, SpendHour};
use unforget_text::{Assignment, inspect};

use super::Summarisers;
use super::prose::prose;
use super::worker::JobReport;
use crate::Engine;
use crate::error::EngineError;

/// Outcome of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    /// The draft was accepted into the work.
    Taken,
    /// All drafts were refused; the part stays without a model's words.
    Refused(Flaw),
    /// No model answered.
    Unavailable {
        /// The reason, for a person.
        why: String,
        /// True if a further job would find no available model either.
        is_closed: bool,
    },
    /// The credential is refused, with its account: nothing may be written.
    Denied(String),
    /// The spending limit of the hour is reached: no model was asked.
    SpentUp,
}

/// Common data of all questions of a job.
pub(super) struct JobQuestions<'a> {
    pub(super) engine: &'a Engine,
    pub(super) models: &'a Summarisers,
    pub(super) conversation: ConversationId,
    /// The hour, counted from 1970.
    pub(super) hour: i64,
    pub(super) urgency: Urgency,
    pub(super) cancel: &'a Cancel,
    /// Target length of the summary in tokens.
    pub(super) tokens: u64,
}

/// Outcome of one call.
enum Called {
    Answer(Answer),
    SpentUp,
    Failed(Fault),
}

impl JobQuestions<'_> {
    /// Asks until a draft is accepted, at most two times.
    pub(super) fn ask(
        &self,
        work: &mut Work<'_>,
        ask: &Ask,
        report: &mut JobReport,
    ) -> Result<Asked, EngineError> {
        let mut step = Escalation::Normal;
        let mut last = Asked::Unavailable { why: String::new(), is_closed: false };
        while step != Escalation::Deterministic {
            let attempt = match self.call(ask, step, report)? {
                Called::SpentUp => return Ok(Asked::SpentUp),
                Called::Failed(fault) => {
                    let why = fault.to_string();
                    if matches!(fault.cause, Cause::Auth | Cause::BreakerOpen { blocked: true }) {
                        last = Asked::Denied(why);
                        gate::Attempt::Denied
                    } else {
                        last = Asked::Unavailable { why, is_closed: !fault.cause.was_made() };
                        gate::Attempt::Unavailable
                    }
                }
                Called::Answer(answer) => {
                    let verdict = self.judge(ask, &answer, work, step);
                    if let Verdict::Reject { why } = verdict {
                        report.refused.push(why);
                        last = Asked::Refused(why);
                    }
                    gate::Attempt::Draft(verdict)
                }
            };
            match gate::next(step, attempt) {
                Next::Commit { .. } => return Ok(Asked::Taken),
                Next::Nothing { .. } => return Ok(last),
                Next::Try(lower) => step = lower,
            }
        }
        Ok(last)
    }

    /// Judges a draft and passes an accepted draft to the work.
    ///
    /// Identifiers that must be kept are in the sections to which the draft is applied; a draft cannot remove them.
    fn judge(&self, ask: &Ask, answer: &Answer, work: &mut Work<'_>, step: Escalation) -> Verdict {
        let ruler = &self.models.config.ruler;
        let ending = match &answer.stop {
            Stop::End => Ending::Finished,
            Stop::MaxTokens => Ending::CutOff,
            Stop::Refusal => Ending::Filtered,
            Stop::ToolCall => Ending::Call,
            _ => Ending::Unstated,
        };
        let asked = Assignment {
            source: ask.source(),
            instructions: &ask.system,
            size: ruler.count(ask.source()),
            must_keep: &[],
        };
        let found = inspect(&prose(&answer.text), ending, &asked, ruler);
        match gate::judge(&found.findings, step.target(self.tokens)) {
            Verdict::Reject { why } => Verdict::Reject { why },
            _ if work.answer(&answer.text).is_err() => Verdict::Reject { why: Flaw::Form },
            good => good,
        }
    }

    /// Makes one call. Its maximum cost is charged beforehand and corrected afterwards.
    fn call(&self, ask: &Ask, step: Escalation, report: &mut JobReport) -> Result<Called, EngineError> {
        let (models, store) = (self.models, self.engine.store());
        let system = match step {
            Escalation::Aggressive => {
                let tokens = step.target(self.tokens);
                format!("{}\nShort points only, about {tokens} tokens altogether.\n", ask.system)
            }
            Escalation::Normal | Escalation::Deterministic => ask.system.clone(),
        };
        let output_max = models.config.output_tokens_max;
        let input = models.config.ruler.count(&system).upper + models.config.ruler.count(&ask.user).upper;
        let most = models.dearest(Some(input));
        let hour = SpendHour::of_summaries(self.hour);
        if !store.charge(self.conversation, hour, most, models.config.caps)? {
            return Ok(Called::SpentUp);
        }
        let request = Request {
            system: &system,
            user: &ask.user,
            output_tokens_max: output_max,
            within: models.config.within,
            temperature: None,
        };
        let call = Call { request, from: 0, urgency: self.urgency, cancel: self.cancel };
        let outcome = models.call(self.engine, &call)?;
        let spent = outcome.attempts.iter().filter(|attempt| attempt.was_made()).fold(
            Spend::default(),
            |sum, attempt| {
                let usage = attempt.end.as_ref().map(|(_, usage)| *usage).unwrap_or_default();
                // Without a reported usage, the whole input counts as read.
                let (input, output) = (usage.input.unwrap_or(input), usage.output.unwrap_or_default());
                sum.plus(models.cost(attempt.model, 1, input, output))
            },
        );
        store.refund(self.conversation, hour, most.less(spent))?;
        let above = spent.less(most);
        if above != Spend::default() {
            // The provider counted more than we did: the excess is charged even above the limit.
            let no_caps = Spend { calls: u64::MAX, input: u64::MAX, output: u64::MAX, micros: u64::MAX };
            store.charge(self.conversation, hour, above, no_caps)?;
        }
        report.spent = report.spent.plus(spent);
        Ok(match outcome.result {
            Ok((answer, index)) => {
                report.model = models.chain.get(index).map(|priced| priced.model.name().to_owned());
                Called::Answer(answer)
            }
            Err(fault) => {
                report.fault = Some(fault.cause.name());
                Called::Failed(fault)
            }
        })
    }
}
