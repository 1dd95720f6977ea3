//! Time, waiting and randomness, passed in so that tests need none of them.

use std::hash::{BuildHasher as _, Hasher as _};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use unforget_core::id::Timestamp;

/// Time, waiting and randomness.
pub trait Clock: Send + Sync {
    /// Time since an arbitrary moment, never decreasing. Deadlines use it.
    fn elapsed(&self) -> Duration;

    /// The time of day. Breakers use it, since they outlive the process.
    fn time(&self) -> Timestamp;

    /// Waits, until `cancel` is called at the latest.
    fn wait(&self, time: Duration, cancel: &Cancel);

    /// A random number from 0 to below 1.
    fn chance(&self) -> f64;
}

/// The system's clock and randomness.
#[derive(Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self(Instant::now())
    }
}

impl Default for SystemClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for SystemClock {
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn time(&self) -> Timestamp {
        now()
    }

    fn wait(&self, time: Duration, cancel: &Cancel) {
        cancel.wait(time);
    }

    /// Derived from the random keys that the standard library gives every hasher: good enough to spread retries.
    fn chance(&self) -> f64 {
        let bits = std::hash::RandomState::new().build_hasher().finish() >> 11;
        bits as f64 / (1u64 << 53) as f64
    }
}

/// The time of day.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// Cancels a call. All clones share one state.
///
/// Cancelling ends waiting and prevents further attempts; a running attempt ends at its own time limit, and its answer
/// is dropped.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<(Mutex<bool>, Condvar)>);

impl Cancel {
    /// Cancels for good.
    pub fn cancel(&self) {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.0.1.notify_all();
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `time` or until cancelled.
    fn wait(&self, time: Duration) {
        let held = self.0.0.lock().unwrap_or_else(PoisonError::into_inner);
        let woken = self.0.1.wait_timeout_while(held, time, |cancelled| !*cancelled);
        drop(woken);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cancelled_wait_ends() {
        let (clock, cancel) = (SystemClock::new(), Cancel::default());
        let other = cancel.clone();
        let thread = std::thread::spawn(move || other.cancel());
        clock.wait(Duration::from_mins(10), &cancel);
        assert!(thread.join().is_ok());
        assert!(cancel.is_cancelled() && clock.elapsed() < Duration::from_mins(5));
    }

    #[test]
    fn chance_is_from_0_to_1_and_differs() {
        let drawn: Vec<f64> = (0..64).map(|_| SystemClock::new().chance()).collect();
        assert!(drawn.iter().all(|chance| (0.0..1.0).contains(chance)));
        assert!(drawn.windows(2).any(|pair| pair.first() != pair.last()));
    }
}
