//! Calls of clients of a provider's API.

use std::collections::BTreeSet;

use unforget_core::caller::{self, Choice, Hint};
use unforget_core::counts::SuspectedTruncation;
use unforget_core::id::{ConversationId, Seq};
use unforget_core::recover::Refused;
use unforget_store::{Name, NamedEntry, StoreError, WriteLatency};
use unforget_wire::Format;

use super::recover::Counted;
use super::touch::{NamedLane, again};
use super::{Ask, Assembled, Host, Recovered};
use crate::client_api::{
    Array, Asking, Brings, DeliveredAnswer, Foreseen, REGISTER_FORM, REGISTER_NAMES_MAX, RecallQuestion,
    Recalled, Recognised, RegisteredCandidate, Said, asked_first, begin, candidates, likely, read,
    recall_block, recognised, register, request_name, seed,
};
use crate::journal::{HostError, LaneKey, Receipt, answer_id, conversation_key};
use crate::ruler::ModelRuler;
use crate::{Engine, EngineError};

/// An array of messages that a client sent.
#[derive(Clone, Copy)]
pub struct DeliveredArray<'a> {
    /// The part of the path that the array brings.
    pub brings: Brings<'a>,
    /// The messages.
    pub array: &'a Array,
}

/// An array that a lane has taken, for the prompt of its call.
#[derive(Clone, Copy)]
pub struct TakenArray<'a> {
    /// The part of the path that the array brought.
    pub brings: Brings<'a>,
    /// The messages.
    pub array: &'a Array,
    /// The newest entry of the path when the lane took the array. `None` for an empty path.
    pub head: Option<Seq>,
}

/// An answer that a register remembers.
#[derive(Clone, Copy, Debug)]
pub struct RegisterAnswer<'a> {
    /// The provider's id of the answer. `None` for an answer without an id.
    pub id: Option<&'a str>,
    /// Whether somebody waits for the write.
    pub latency: WriteLatency,
}

/// Room for recalled text.
#[derive(Clone, Copy, Debug)]
pub struct RecallRoom {
    /// Maximum size of the block, in tokens of the ruler.
    pub budget: u64,
    /// Counts the block.
    pub ruler: ModelRuler,
}

/// An array, compared with the lanes that it may belong to.
enum ComparedLanes {
    /// It belongs to this one.
    Known(Recognised),
    /// It begins a new lane.
    New {
        /// The lane whose beginning it shares.
        like: Option<LaneKey>,
    },
}

/// Lines of lanes in the register.
fn lines(candidates: &[RegisteredCandidate]) -> Vec<Seq> {
    candidates.iter().map(|candidate| candidate.line).collect()
}

impl Host {
    /// Compares an array with the path of a lane. Stores nothing.
    pub fn foresee(&self, key: &LaneKey, form: Format, array: &Array) -> Result<Foreseen, HostError> {
        self.with_names_again(key, form, &array.wanted(), |lane, _| lane.journal().foresee_array(array))
    }

    /// Takes an array that is the active path, or its end. Entries that it leaves out are off the path; they stay stored.
    ///
    /// * `request` - the client's request without its messages, as JSON. A request that is not kept yet is kept.
    ///
    /// # Errors
    /// [`HostError::Refused`] if it continues behind an answer that this lane does not have.
    pub fn take(
        &self,
        key: &LaneKey,
        form: Format,
        DeliveredArray { brings, array }: DeliveredArray<'_>,
        request: Option<&str>,
    ) -> Result<Receipt, HostError> {
        let names: Vec<Name> = array.wanted().into_iter().chain(request.map(request_name)).collect();
        self.with_names_again(key, form, &names, |lane, now| lane.take_array(brings, array, request, now))
    }

    /// The prompt for the call that brought an array. If another call of the lane came in between, the array is taken
    /// again, so that the prompt never contains messages of another call.
    ///
    /// Also returns the newest entry of the path for which the prompt was made.
    pub fn assemble_at(
        &self,
        key: &LaneKey,
        form: Format,
        TakenArray { brings, array, head }: TakenArray<'_>,
        ask: &Ask,
    ) -> Result<(Assembled, Option<Seq>), HostError> {
        self.with_again(key, form, |lane, now| {
            // A named conversation continues at its newest entry, whoever brought that entry.
            if lane.journal().head() != head && brings != Brings::Rest(None) {
                lane.take_array(brings, array, None, now)?;
            }
            Ok((lane.assemble(ask, now)?, lane.journal().head()))
        })
    }

    /// Like [`Host::refused`], for the prompt that was made at this head. `None` if another call of the lane came in between.
    pub fn refused_at(
        &self,
        key: &LaneKey,
        form: Format,
        head: Option<Seq>,
        refused: Refused,
    ) -> Result<Option<Recovered>, HostError> {
        self.with_again(key, form, |lane, now| {
            if lane.journal().head() != head {
                return Ok(None);
            }
            let recovered = lane.refused(refused, 0, now)?;
            lane.note_counts()?;
            Ok(Some(recovered))
        })
    }

    /// Like [`Host::answered`], for one certain call. No alarm is raised if another prompt was made since.
    pub fn counted(
        &self,
        key: &LaneKey,
        form: Format,
        counted: &Counted<'_>,
    ) -> Result<Option<SuspectedTruncation>, HostError> {
        self.with_again(key, form, |lane, now| {
            let alarm = lane.counted(counted, now)?;
            lane.note_counts()?;
            Ok(alarm)
        })
    }

    /// Takes the answer of a model: on the path if nothing else came in between, else beside it. Taking it again changes
    /// nothing.
    pub fn take_answer(
        &self,
        key: &LaneKey,
        form: Format,
        answered: &DeliveredAnswer,
    ) -> Result<Receipt, HostError> {
        let array = Array::read(form, answered.messages.iter().map(Vec::as_slice), &Array::default())?;
        self.with_again(key, form, |lane, now| {
            lane.record(|journal| journal.take_answer(answered, &array.messages, now))
        })
    }

    /// Finds the lane of a call, or begins one. Stores only the line of a new lane. If another process begins a lane that the call
    /// may belong to meanwhile, the call is recognised again.
    ///
    /// # Errors
    /// [`StoreError::Overtaken`] if others were faster [`OVERTAKEN_MAX`](super::OVERTAKEN_MAX) times.
    ///
    /// Cost: O(array) for the call and for each of at most eight lanes that it is compared with.
    pub fn recognise(&self, asking: &Asking<'_>, array: &Array) -> Result<Recognised, HostError> {
        again(|| self.recognise_once(asking, array))
    }

    fn recognise_once(&self, asking: &Asking<'_>, array: &Array) -> Result<Recognised, HostError> {
        let names = asked_first(asking, array);
        let register = register(asking.tenant);
        let first = NamedLane { key: &register, names: &names };
        self.compare_ahead(first, |lane| likely(lane.journal(), asking, array), &array.wanted())?;
        let (candidates, seen) = self.with_names(&register, REGISTER_FORM, &names, |lane, _| {
            lane.record(|journal| {
                journal.trim_names(REGISTER_NAMES_MAX);
                Ok((candidates(journal, asking, array)?, journal.next()))
            })
        })?;
        let like = match self.compare(asking, array, &candidates)? {
            ComparedLanes::Known(known) => return Ok(known),
            ComparedLanes::New { like } => like,
        };
        let begun = self.with(&register, REGISTER_FORM, |lane, now| {
            let like = like.as_ref().map(|like| like.0.clone());
            lane.record(|journal| {
                // Lanes that began since may be the call's.
                if journal.next() != seen
                    && lines(&self::candidates(journal, asking, array)?) != lines(&candidates)
                {
                    let (id, expected, found) = (journal.conversation(), seen.0, journal.next().0);
                    return Err(EngineError::Store(StoreError::Overtaken { id, expected, found }).into());
                }
                begin(journal, asking, array, like, now.0)
            })
        })?;
        if let Some(like) = &like {
            self.begin_as(&begun.lane, asking.form, like, array)?;
        }
        Ok(begun)
    }

    /// Compares an array with the lanes that it may belong to.
    fn compare(
        &self,
        asking: &Asking<'_>,
        array: &Array,
        candidates: &[RegisteredCandidate],
    ) -> Result<ComparedLanes, HostError> {
        let mut seen = Vec::new();
        for candidate in candidates {
            if asking.is_named {
                return Ok(ComparedLanes::Known(candidate.recognised()));
            }
            let foreseen = self.foresee(&candidate.key(), asking.form, array)?;
            seen.push(candidate.compared(foreseen, asking));
        }
        let hint = if asking.session.is_some() { Hint::Session } else { Hint::Loose };
        let like = match caller::choose(hint, &seen) {
            Choice::Lane(index) => {
                if let Some(candidate) = candidates.get(index) {
                    let is_empty = seen.get(index).is_some_and(|seen| seen.kept == 0);
                    if let Some(like) = candidate.lane.like.as_ref().filter(|_| is_empty) {
                        // The process ended before the lane took over the history of the other one.
                        self.begin_as(&candidate.key(), asking.form, &LaneKey(like.clone()), array)?;
                    }
                    return Ok(ComparedLanes::Known(candidate.recognised()));
                }
                None
            }
            Choice::New { like } => like.and_then(|index| candidates.get(index)),
        };
        Ok(ComparedLanes::New { like: like.map(RegisteredCandidate::key) })
    }

    /// The lane that has an answer with a provider's id.
    pub fn answered_in(
        &self,
        tenant: &str,
        form: Format,
        answer: &str,
    ) -> Result<Option<Recognised>, HostError> {
        let found = self.with_again(&register(tenant), REGISTER_FORM, |lane, _| {
            let register = lane.journal();
            let Some(line) = register.under(&[answer_id(answer)])?.into_iter().max() else { return Ok(None) };
            Ok(read(register, line)?.map(|found| recognised(line, &found)))
        })?;
        let Some(found) = found else { return Ok(None) };
        let is_there = self.with_again(&found.lane, form, |lane, _| lane.journal().has_answer(answer))?;
        Ok(is_there.then_some(found))
    }

    /// Remembers that a lane's path began with this array, and the id of the answer to it.
    pub fn remember(
        &self,
        asking: &Asking<'_>,
        lane: &Recognised,
        said: &Said,
        answer: RegisterAnswer<'_>,
    ) -> Result<(), HostError> {
        let beginning = said.beginnings(seed(asking)).pop();
        let names = beginning.into_iter().chain(answer.id.map(answer_id));
        self.name_line(asking.tenant, lane.line(), names, answer.latency)
    }

    /// Remembers the provider's id of an answer in the lane with this line of the register.
    pub fn remember_answer(&self, tenant: &str, line: Seq, answer: &str) -> Result<(), HostError> {
        self.name_line(tenant, line, std::iter::once(answer_id(answer)), WriteLatency::Now)
    }

    /// Names a line of the register. While the store writes, other calls may use the register.
    fn name_line(
        &self,
        tenant: &str,
        line: Seq,
        names: impl Iterator<Item = Name>,
        latency: WriteLatency,
    ) -> Result<(), HostError> {
        let names: Vec<_> = names.map(|name| NamedEntry::new(name, line)).collect();
        let register = register(tenant);
        let conversation = self.conversation_of(&register, REGISTER_FORM)?;
        let count = self.engine.store().put_names(conversation, &names, latency)?;
        self.tell_held(&register, |lane| lane.add_names(&names, count));
        Ok(())
    }

    /// Stored texts of a lane that answer a question and are not in its prompt.
    ///
    /// * `shown` - messages of the prompt, as JSON.
    ///
    /// `None` if there are none, or the question has no words to search for. Stores nothing: see [`Host::ended`].
    pub fn recalled(
        &self,
        key: &LaneKey,
        question: &str,
        RecallRoom { budget, ruler }: RecallRoom,
        shown: &[String],
    ) -> Result<Option<Recalled>, HostError> {
        let Some(conversation) = self.indexed(key)? else { return Ok(None) };
        let question = RecallQuestion { text: question, budget, ruler, shown, now: (self.clock)() };
        recall_block(&self.engine, conversation, &question)
    }

    /// The engine confined to the conversation of a lane, fully indexed; `None` if there is no such lane.
    pub fn memory(&self, key: &LaneKey) -> Result<Option<Engine>, HostError> {
        Ok(self.indexed(key)?.map(|conversation| self.engine.confined(BTreeSet::from([conversation]))))
    }

    /// The conversation of a lane, after its index is brought up to date; `None` if there is no such lane.
    fn indexed(&self, key: &LaneKey) -> Result<Option<ConversationId>, HostError> {
        let Some(conversation) = self.engine.store().find(&conversation_key(key))? else { return Ok(None) };
        self.engine.maintain_index(conversation.id)?;
        Ok(Some(conversation.id))
    }
}

#[cfg(test)]
mod tests;
