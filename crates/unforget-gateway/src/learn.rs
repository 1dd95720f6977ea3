//! Stores an answer and learns from it.

use unforget_core::counts::{Counts, SuspectedTruncation};
use unforget_core::digest::Digest;
use unforget_engine::host::{
    Counted, DeliveredAnswer, EndedCall, MeasuredCall, RegisterAnswer, WriteLatency,
};
use unforget_wire::exchange::{self, Ended};

use super::arriving::is_referred_to;
use super::caches::AnsweredCall;
use super::decide::Decider;
use super::fault::CallProblem;
use super::figures;
use super::prepared::{PreparedCall, SentAs};
use super::reading::interrupted;

/// A provider's count of input tokens.
#[derive(Clone, Copy, Debug)]
struct CountedInput {
    tokens: u64,
    /// Whether it counts a single prompt. Over several rounds it is a sum.
    is_of_one_round: bool,
}

impl Decider {
    /// Stores an answer, and learns from it.
    ///
    /// * `rounds` - the model's own recall, as JSON.
    pub(super) fn finish(
        &self,
        prepared: &PreparedCall,
        told: &exchange::Answered,
        rounds: Option<&str>,
    ) -> Result<(), CallProblem> {
        // The answer is appended where the call was, or the lane is looked at again.
        self.host.within(prepared.of, || self.finished(prepared, told, rounds))
    }

    fn finished(
        &self,
        prepared: &PreparedCall,
        told: &exchange::Answered,
        rounds: Option<&str>,
    ) -> Result<(), CallProblem> {
        let who = &prepared.who;
        let latency = if is_referred_to(prepared.dialect) { WriteLatency::Now } else { WriteLatency::Soon };
        let answered = DeliveredAnswer {
            asked_at: prepared.asked_at,
            messages: told.messages.iter().map(|message| message.as_bytes().to_vec()).collect(),
            id: told.id.clone(),
            interrupted: interrupted(told),
            latency,
            is_late: false,
        };
        let (said, digest) = prepared.seen();
        let usage = told.usage.filter(|usage| usage.input > 0);
        let counted = usage.map(|usage| {
            // Usage is a sum over rounds; it measures no single prompt.
            counted(prepared, digest, CountedInput { tokens: usage.input, is_of_one_round: rounds.is_none() })
        });
        let standing = prepared.recipe.and_then(|prompt| prepared.standing.note(prompt));
        let standing = standing.and_then(|note| self.memory.noted.new_of(&who.lane.lane, note));
        let ended = EndedCall {
            answered: &answered,
            counted: counted.as_ref(),
            recalled: prepared.recalled.as_ref(),
            standing: standing.as_ref(),
            rounds,
        };
        let cut = self.host.ended(&who.lane.lane, who.caller.form, &ended)?;
        if let Some(note) = standing {
            self.memory.noted.stored(&who.lane.lane, note);
        }
        if let Some(SuspectedTruncation { expected, reported }) = cut {
            let lane = &who.lane.lane.0;
            tracing::warn!(lane, expected, reported, "the provider seems to have cut the prompt");
        }
        let answer = RegisterAnswer { id: told.id.as_deref(), latency };
        self.host.remember(&who.caller.asking(), &who.lane, &said, answer)?;
        if rounds.is_none() {
            self.memory.caches.take(
                &who.lane.lane,
                &AnsweredCall {
                    dialect: prepared.dialect,
                    was: prepared.was.as_ref(),
                    before: &prepared.before,
                    of: digest.filter(|_| prepared.rung.is_empty()),
                    broken: prepared.broken,
                    rung: prepared.rung,
                    ours: prepared.tokens,
                    bound: prepared.bound,
                    standing_left_out: prepared.standing.left_out_by_kind(),
                    budget: prepared.room(),
                    usage: told.usage,
                },
            );
        }
        if let Some(usage) = told.usage {
            for (kind, count) in [("input", usage.input), ("cached", usage.cached), ("output", usage.output)]
            {
                figures::tokens(kind, count);
            }
        }
        // An error inside the answer may mean that the prompt was too large.
        if let Some(name) = prepared.limits.as_ref().filter(|_| told.ended == Ended::Complete) {
            self.models.limits.fitted(name, prepared.tokens);
        }
        if let (Some(usage), Some(name)) = (usage, prepared.limits.as_ref().filter(|_| rounds.is_none())) {
            self.models.limits.took(name, usage.input, usage.output);
        }
        Ok(())
    }
}

/// A provider's count, as the lane learns from it.
///
/// * `of` - the sent messages.
fn counted(
    prepared: &PreparedCall,
    of: Option<(usize, Digest)>,
    CountedInput { tokens: input, is_of_one_round }: CountedInput,
) -> Counted<'_> {
    let is_as_sent = prepared.sending == SentAs::AsIs;
    let is_plain = is_as_sent && Counts::is_plausible(prepared.tokens, input);
    let measured = of.filter(|_| is_plain).map(|(messages, digest)| MeasuredCall {
        messages,
        digest,
        fixed: prepared.fixed(),
        input,
    });
    Counted {
        head: prepared.asked_at,
        model: prepared.model.as_deref(),
        as_sent: prepared.weight.filter(|_| is_as_sent),
        input,
        weighed: prepared.weighed.filter(|_| is_of_one_round),
        measured,
        has_all: prepared.who.caller.is_kept.then_some(input <= prepared.tokens.upper),
    }
}
