//! Limits the concurrent calls at each provider.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::clock::Cancel;

/// Longest time before a waiting call notices its cancellation.
const GLANCE: Duration = Duration::from_millis(50);

/// Places for concurrent calls.
pub(crate) struct Places {
    max: usize,
    taken: Mutex<BTreeMap<String, usize>>,
    freed: Condvar,
}

/// A place; becomes free when dropped.
pub(crate) struct Place<'a> {
    places: &'a Places,
    provider: String,
}

impl Places {
    /// `max` places per provider, at least one.
    pub(crate) fn new(max: usize) -> Self {
        Self { max: max.max(1), taken: Mutex::default(), freed: Condvar::new() }
    }

    /// Waits for a place, at most for `time` or until `cancel` is called; `None` if none became free.
    pub(crate) fn take(&self, provider: &str, time: Duration, cancel: &Cancel) -> Option<Place<'_>> {
        let start = Instant::now();
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let count = taken.entry(provider.to_owned()).or_default();
            if *count < self.max {
                *count += 1;
                return Some(Place { places: self, provider: provider.to_owned() });
            }
            let left = time.saturating_sub(start.elapsed());
            if left.is_zero() || cancel.is_cancelled() {
                return None;
            }
            let woken = self.freed.wait_timeout(taken, left.min(GLANCE));
            taken = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut taken = self.places.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.provider) {
            *count = count.saturating_sub(1);
        }
        drop(taken);
        self.places.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn places_are_per_provider_and_come_back() {
        let (places, cancel) = (Places::new(1), Cancel::default());
        let none = Duration::ZERO;
        let first = places.take("a", none, &cancel);
        assert!(first.is_some());
        assert!(places.take("a", none, &cancel).is_none(), "taken");
        assert!(places.take("b", none, &cancel).is_some(), "another provider");
        drop(first);
        assert!(places.take("a", none, &cancel).is_some(), "free again");
    }

    #[test]
    fn a_waiting_call_gets_the_place_that_is_freed() {
        let (places, cancel) = (Places::new(1), Cancel::default());
        let first = places.take("a", Duration::ZERO, &cancel);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| places.take("a", Duration::from_mins(10), &cancel).is_some());
            drop(first);
            assert!(waiting.join().unwrap());
        });
    }

    #[test]
    fn a_cancelled_call_stops_waiting() {
        let (places, cancel) = (Places::new(1), Cancel::default());
        let held = places.take("a", Duration::ZERO, &cancel);
        cancel.cancel();
        assert!(places.take("a", Duration::from_mins(10), &cancel).is_none());
        drop(held);
    }
}
