//! The order of the background work: which conversation is next, and which ones wait.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use unforget_core::id::{ConversationId, ConversationKey, Timestamp};
use unforget_store::{Conversation, walk};

use super::{EmbedNews, EmbedStep, MeaningModel};
use crate::Engine;
use crate::error::EngineError;

const MINUTE_MS: i64 = 60_000;

/// Longest that a conversation waits after errors, in minutes.
const PARKED_MAX: i64 = 60;

/// Conversations whose texts fail, one after another, after which the model is to blame.
const FAILED_MAX: u32 = 3;

/// What is known between steps.
pub(super) struct Rounds {
    every: Duration,
    /// The model of what is known.
    model: String,
    /// The conversations when they were looked at.
    known: BTreeMap<ConversationId, MetConversation>,
    /// Conversations that may have work; the last one is next.
    ready: BTreeSet<WorkPlace>,
    /// Those that wait, and until when.
    asleep: BTreeMap<WorkPlace, Timestamp>,
    /// Number of errors in a row of conversations that had some.
    errors: BTreeMap<ConversationId, u32>,
    /// The store's mark when the list was read, and the time.
    looked: Option<LookMark>,
    /// When the model may be asked again.
    rests: Option<Timestamp>,
    /// Failures of texts since the last success.
    failed: u32,
    /// Whether waiting was told.
    is_told: bool,
}

/// A place in the order of work: by the newest entry, then the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct WorkPlace {
    last: Option<Timestamp>,
    id: ConversationId,
}

/// A conversation when it was looked at last.
#[derive(Clone, Copy)]
struct MetConversation {
    revision: u64,
    /// Where it stands among those that are ready or asleep.
    place: WorkPlace,
}

#[derive(Clone, Copy)]
struct LookMark {
    mark: Option<u64>,
    at: Timestamp,
}

/// What a step of one conversation means for the others.
enum AfterStep {
    /// Something was stored.
    Stored,
    /// The next conversation.
    Next,
    /// The model rests.
    Rests,
}

impl Rounds {
    /// * `every` - least time between two looks at the list of conversations while there is work.
    pub(super) const fn new(every: Duration) -> Self {
        Self {
            every,
            model: String::new(),
            known: BTreeMap::new(),
            ready: BTreeSet::new(),
            asleep: BTreeMap::new(),
            errors: BTreeMap::new(),
            looked: None,
            rests: None,
            failed: 0,
            is_told: false,
        }
    }

    /// One step for the newest conversation with work; false if there is none now.
    ///
    /// Cost without work: one question to the store for its mark; O(conversations) if it changed, in pages.
    pub(super) fn step(
        &mut self,
        engine: &Engine,
        model: &MeaningModel,
        told: &dyn Fn(EmbedNews<'_>),
    ) -> bool {
        if self.model != model.name() {
            *self = Self { model: model.name().to_owned(), ..Self::new(self.every) };
        }
        let now = model.now();
        if self.rests.is_some_and(|until| now < until) {
            return false;
        }
        if let Err(error) = self.look(engine, now) {
            told(EmbedNews::Failed(&error));
        }
        self.wake(now);
        while let Some(place) = self.ready.last().copied() {
            match self.work(engine, model, place, told) {
                AfterStep::Stored => return true,
                AfterStep::Next => {}
                AfterStep::Rests => return false,
            }
        }
        false
    }

    /// Reads which conversations changed, unless none did, or there is work and the last look is not long ago.
    fn look(&mut self, engine: &Engine, now: Timestamp) -> Result<(), EngineError> {
        let every = i64::try_from(self.every.as_millis()).unwrap_or(i64::MAX);
        let is_recent = self.looked.is_some_and(|one| now.0.saturating_sub(one.at.0) < every);
        if is_recent && !self.ready.is_empty() {
            return Ok(());
        }
        // Read before the list: what changes meanwhile changes the mark again.
        let mark = engine.store().change_mark()?;
        let is_same = mark.is_some() && self.looked.is_some_and(|one| one.mark == mark);
        if !is_same {
            for conversation in walk(|page| engine.store().conversations(page)) {
                self.meet(&conversation?);
            }
        }
        self.looked = Some(LookMark { mark, at: now });
        Ok(())
    }

    /// Takes a conversation of the list.
    fn meet(&mut self, conversation: &Conversation) {
        let Conversation { id, revision, time, .. } = conversation;
        let new = WorkPlace { last: time.map(|(_, last)| last), id: *id };
        let met = self.known.entry(*id).or_insert(MetConversation { revision: u64::MAX, place: new });
        if met.revision == *revision {
            return;
        }
        met.revision = *revision;
        // One that waits does so whatever was added to it.
        if self.asleep.contains_key(&met.place) {
            return;
        }
        self.ready.remove(&met.place);
        met.place = new;
        self.ready.insert(new);
    }

    /// Those that waited long enough are ready again.
    fn wake(&mut self, now: Timestamp) {
        let ready = &mut self.ready;
        self.asleep.retain(|place, until| {
            let waits = *until > now;
            if !waits {
                ready.insert(*place);
            }
            waits
        });
    }

    fn work(
        &mut self,
        engine: &Engine,
        model: &MeaningModel,
        place: WorkPlace,
        told: &dyn Fn(EmbedNews<'_>),
    ) -> AfterStep {
        let now = model.now();
        let step = engine.embed_newest(place.id, model, now);
        if step.is_ok() {
            self.errors.remove(&place.id);
        }
        match step {
            Ok(EmbedStep::Done { refused, .. }) => {
                (self.is_told, self.failed) = (false, 0);
                if refused > 0
                    && let Ok(Conversation { key, .. }) = engine.store().conversation(place.id)
                {
                    told(EmbedNews::Without { conversation: &key, pieces: refused });
                }
                return AfterStep::Stored;
            }
            Ok(EmbedStep::Idle) => drop(self.ready.remove(&place)),
            Ok(EmbedStep::SpentUp { until }) => self.sleep(place, until),
            Ok(EmbedStep::Failed { why, until, is_model }) => {
                if !std::mem::replace(&mut self.is_told, true) {
                    told(EmbedNews::Waits(&why));
                }
                self.failed += 1;
                if is_model || self.failed >= FAILED_MAX {
                    (self.rests, self.failed) = (Some(until), 0);
                    return AfterStep::Rests;
                }
                self.sleep(place, until);
            }
            Ok(EmbedStep::OtherLength(conflict)) => {
                if let Ok(Conversation { key, .. }) = engine.store().conversation(place.id) {
                    told(EmbedNews::OtherLength { conversation: &key, conflict: &conflict });
                }
                self.sleep(place, Timestamp(now.0.saturating_add(PARKED_MAX * MINUTE_MS)));
            }
            Err(error) => {
                let minutes = self.parked_minutes(place.id);
                let known = engine.store().conversation(place.id);
                let key = known.map_or_else(|_| ConversationKey(place.id.to_string()), |known| known.key);
                told(EmbedNews::Parked { conversation: &key, error: &error, minutes });
                self.sleep(place, Timestamp(now.0.saturating_add(minutes * MINUTE_MS)));
            }
        }
        AfterStep::Next
    }

    /// Minutes that a conversation waits after one more error: 1, then twice as many each time, an hour at most.
    fn parked_minutes(&mut self, id: ConversationId) -> i64 {
        let errors = self.errors.entry(id).or_default();
        let minutes = PARKED_MAX.min(1 << (*errors).min(6));
        *errors += 1;
        minutes
    }

    fn sleep(&mut self, place: WorkPlace, until: Timestamp) {
        self.ready.remove(&place);
        self.asleep.insert(place, until);
    }
}
