//! The current models, and the claims on jobs: one worker at a time per conversation, a person before the background.

use std::collections::BTreeSet;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use unforget_core::id::ConversationId;
use unforget_llm::Cancel;

use super::Summarisers;

/// Interval at which a waiting person checks for cancellation.
const GLANCE: Duration = Duration::from_millis(50);

/// The current models, shared by all users: settings may change while an engine runs.
#[derive(Clone, Default)]
pub struct Current(Arc<Shared>);

#[derive(Default)]
struct Shared {
    models: RwLock<Option<Arc<Summarisers>>>,
    desks: Mutex<Desks>,
    left: Condvar,
}

/// Conversations with claimed jobs.
#[derive(Default)]
struct Desks {
    /// Claimed by a person, or awaited by one.
    people: BTreeSet<ConversationId>,
    /// Claimed by the background.
    background: BTreeSet<ConversationId>,
}

/// The right to work on the jobs of a conversation, until dropped.
pub struct Claim {
    shared: Arc<Shared>,
    conversation: ConversationId,
    is_person: bool,
}

impl Current {
    /// The models; `None` if there are none.
    pub fn get(&self) -> Option<Arc<Summarisers>> {
        self.0.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the models.
    pub fn set(&self, models: Option<Arc<Summarisers>>) {
        *self.0.models.write().unwrap_or_else(PoisonError::into_inner) = models;
    }

    /// Claims the jobs of a conversation for a person, after the running background job. `None` if another person holds
    /// the claim, or on cancellation.
    pub fn claim(&self, conversation: ConversationId, cancel: &Cancel) -> Option<Claim> {
        let mut desks = self.0.desks();
        if !desks.people.insert(conversation) {
            return None;
        }
        let claim = Claim { shared: Arc::clone(&self.0), conversation, is_person: true };
        while desks.background.contains(&conversation) {
            let woken = self.0.left.wait_timeout(desks, GLANCE);
            desks = woken.unwrap_or_else(PoisonError::into_inner).0;
            if cancel.is_cancelled() {
                drop(desks);
                return None;
            }
        }
        Some(claim)
    }

    /// Claims one job for the background. Never blocks; `None` if the conversation is already claimed.
    pub(super) fn turn(&self, conversation: ConversationId) -> Option<Claim> {
        let mut desks = self.0.desks();
        if desks.people.contains(&conversation) || !desks.background.insert(conversation) {
            return None;
        }
        Some(Claim { shared: Arc::clone(&self.0), conversation, is_person: false })
    }
}

impl Shared {
    fn desks(&self) -> MutexGuard<'_, Desks> {
        self.desks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let mut desks = self.shared.desks();
        let of = if self.is_person { &mut desks.people } else { &mut desks.background };
        of.remove(&self.conversation);
        drop(desks);
        self.shared.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_person_comes_before_the_background() {
        let (current, cancel) = (Current::default(), Cancel::default());
        let [one, other] = [1, 2].map(ConversationId);
        let turn = current.turn(one).unwrap();
        assert!(current.turn(one).is_none(), "one at a time");
        assert!(current.turn(other).is_some(), "conversations do not wait for each other");
        let (theirs, stop) = (current.clone(), cancel.clone());
        let waiting = std::thread::spawn(move || theirs.claim(one, &stop).is_some());
        while !current.0.desks().people.contains(&one) {
            std::thread::yield_now();
        }
        assert!(current.claim(one, &cancel).is_none(), "another person is first");
        drop(turn);
        assert!(waiting.join().unwrap(), "the job that was under way has ended");
        assert!(current.turn(one).is_some(), "and all is free again");
        let claim = current.claim(one, &cancel).unwrap();
        assert!(current.turn(one).is_none());
        drop(claim);
    }

    #[test]
    fn a_person_who_stops_waiting_is_out_of_the_way() {
        let (current, cancel) = (Current::default(), Cancel::default());
        let one = ConversationId(1);
        let turn = current.turn(one).unwrap();
        cancel.cancel();
        assert!(current.claim(one, &cancel).is_none());
        drop(turn);
        assert!(current.turn(one).is_some());
    }
}
