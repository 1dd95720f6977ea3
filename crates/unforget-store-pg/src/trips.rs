//! Round trips to the server, counted by what they were for: the delay of a network is multiplied by them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of round trips by operation. Shared by all connections of a store.
#[derive(Clone, Default)]
pub(crate) struct Trips(Arc<Mutex<BTreeMap<&'static str, u64>>>);

impl Trips {
    /// All operations so far.
    pub(crate) fn by_operation(&self) -> BTreeMap<&'static str, u64> {
        self.all().clone()
    }

    fn count(&self, operation: &'static str) {
        *self.all().entry(operation).or_default() += 1;
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The messages of one connection that wait for an answer. Those that are sent while others wait travel with them.
pub(crate) struct Waiting {
    trips: Trips,
    now: Mutex<OnTheWay>,
}

struct OnTheWay {
    operation: &'static str,
    messages: u64,
}

/// A message that waits for its answer until it is dropped.
pub(crate) struct Message<'a>(&'a Waiting);

impl Waiting {
    pub(crate) fn new(trips: Trips) -> Self {
        Self { trips, now: Mutex::new(OnTheWay { operation: "connect", messages: 0 }) }
    }

    /// Counts what follows for an operation.
    pub(crate) fn begin(&self, operation: &'static str) {
        self.now().operation = operation;
    }

    /// A message is sent. It is a round trip of its own if no other one waits.
    pub(crate) fn message(&self) -> Message<'_> {
        let operation = self.now().operation;
        self.message_of(operation)
    }

    /// [`Waiting::message`], counted for another operation.
    pub(crate) fn message_of(&self, operation: &'static str) -> Message<'_> {
        let mut now = self.now();
        if now.messages == 0 {
            self.trips.count(operation);
        }
        now.messages += 1;
        Message(self)
    }

    fn now(&self) -> MutexGuard<'_, OnTheWay> {
        self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Message<'_> {
    fn drop(&mut self) {
        let mut now = self.0.now();
        now.messages = now.messages.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_travel_together_are_one_round_trip() {
        let trips = Trips::default();
        let waiting = Waiting::new(trips.clone());
        waiting.begin("read");
        drop(waiting.message());
        let (one, other) = (waiting.message(), waiting.message());
        drop(one);
        let third = waiting.message();
        drop((other, third));
        waiting.begin("write");
        drop(waiting.message());
        assert_eq!(trips.by_operation(), [("read", 2), ("write", 1)].into());
    }
}
