//! Distributes places for work among lanes: a lane with many calls waits for itself and delays no other lane.
//!
//! A lane has at most one place, since its calls are handled one after another anyway. Waiting lanes are served round
//! robin, the calls of one lane in order of arrival.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use unforget_core::digest::Digest;

/// A fair queue of places for work.
pub(super) struct FairQueue {
    state: Mutex<QueueState>,
    /// Most waiting calls of one lane.
    most: usize,
}

#[derive(Default)]
struct QueueState {
    /// Number of free places.
    free: usize,
    /// Lanes that have a place or wait for one, with their waiting calls.
    lanes: HashMap<Digest, VecDeque<oneshot::Sender<QueuePlace>>>,
    /// Waiting lanes without a place, in turn.
    ring: VecDeque<Digest>,
}

/// Too many calls of a lane wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct QueueFull;

impl FairQueue {
    /// * `places` - most concurrent calls.
    /// * `most` - most waiting calls of one lane.
    pub(super) fn new(places: usize, most: usize) -> Arc<Self> {
        let state = QueueState { free: places.max(1), ..QueueState::default() };
        Arc::new(Self { state: Mutex::new(state), most })
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// [`QueueFull`], at once, if too many calls of the lane wait.
    pub(super) async fn take(self: &Arc<Self>, lane: Digest) -> Result<QueuePlace, QueueFull> {
        let waiting = {
            let mut state = self.state();
            let free = state.free;
            match state.lanes.get_mut(&lane) {
                Some(waiting) if waiting.len() >= self.most => return Err(QueueFull),
                Some(waiting) => {
                    let (told, turn) = oneshot::channel();
                    waiting.push_back(told);
                    turn
                }
                // A free place implies that nobody waits.
                None if free > 0 => {
                    state.free -= 1;
                    state.lanes.insert(lane, VecDeque::new());
                    return Ok(self.turn(lane));
                }
                None => {
                    let (told, turn) = oneshot::channel();
                    state.lanes.insert(lane, VecDeque::from([told]));
                    state.ring.push_back(lane);
                    turn
                }
            }
        };
        waiting.await.map_err(|_| QueueFull)
    }

    fn turn(self: &Arc<Self>, lane: Digest) -> QueuePlace {
        QueuePlace { turns: Arc::clone(self), lane }
    }

    /// Returns a lane's place, and gives it to the next in turn.
    fn release(self: &Arc<Self>, lane: Digest) {
        let told = {
            let mut state = self.state();
            state.free += 1;
            if state.lanes.get(&lane).is_some_and(VecDeque::is_empty) {
                state.lanes.remove(&lane);
            } else {
                state.ring.push_back(lane);
            }
            state.next()
        };
        // Outside the lock: a place sent to a caller that has gone away is dropped here, which calls this function
        // again.
        for (lane, call) in told {
            drop(call.send(self.turn(lane)));
        }
    }
}

impl QueueState {
    /// Gives free places to lanes in turn.
    fn next(&mut self) -> Vec<(Digest, oneshot::Sender<QueuePlace>)> {
        let mut told = Vec::new();
        while self.free > 0 {
            let Some(lane) = self.ring.pop_front() else { break };
            let waiting = self.lanes.get_mut(&lane);
            match waiting
                .and_then(|waiting| std::iter::from_fn(|| waiting.pop_front()).find(|call| !call.is_closed()))
            {
                Some(call) => {
                    self.free -= 1;
                    told.push((lane, call));
                }
                None => drop(self.lanes.remove(&lane)),
            }
        }
        told
    }
}

/// A lane's place, returned when dropped.
pub(super) struct QueuePlace {
    turns: Arc<FairQueue>,
    lane: Digest,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.turns.release(self.lane);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use futures_util::FutureExt;
    use futures_util::future::BoxFuture;
    use proptest::prelude::*;

    use super::*;

    fn lane(name: u8) -> Digest {
        Digest::of(&[name])
    }

    /// Calls by lane; those with a place, in the order in which they got it.
    struct Calls {
        turns: Arc<FairQueue>,
        waiting: Vec<(u8, BoxFuture<'static, Result<QueuePlace, QueueFull>>)>,
        at_work: Vec<(u8, QueuePlace)>,
        refused: usize,
    }

    impl Calls {
        fn new(places: usize, most: usize) -> Self {
            Self { turns: FairQueue::new(places, most), waiting: Vec::new(), at_work: Vec::new(), refused: 0 }
        }

        fn come(&mut self, name: u8) {
            let turns = Arc::clone(&self.turns);
            self.waiting.push((name, async move { turns.take(lane(name)).await }.boxed()));
            self.look();
        }

        fn look(&mut self) {
            for (name, mut call) in std::mem::take(&mut self.waiting) {
                match call.as_mut().now_or_never() {
                    None => self.waiting.push((name, call)),
                    Some(Ok(turn)) => self.at_work.push((name, turn)),
                    Some(Err(QueueFull)) => self.refused += 1,
                }
            }
        }

        fn end(&mut self, at: usize) -> u8 {
            let (name, turn) = self.at_work.remove(at);
            drop(turn);
            self.look();
            name
        }
    }

    #[test]
    fn turns_table() {
        let table = [
            (1, "aaab", "abaa", "another lane is next, however many wait before it"),
            (1, "aaabbbc", "abcabab", "one after the other"),
            (1, "aab", "aba", "in order of arrival within a lane"),
            (2, "aaab", "abaa", "a lane has one place though two are free"),
        ];
        for (places, come, want, why) in table {
            let mut calls = Calls::new(places, 10);
            come.bytes().for_each(|name| calls.come(name));
            let mut got = String::new();
            while !calls.at_work.is_empty() {
                got.push(char::from(calls.end(0)));
            }
            assert_eq!(got, want, "{why}: {come}");
            assert!(calls.turns.state().lanes.is_empty(), "nothing is left of them");
        }
    }

    #[test]
    fn a_lane_has_a_bound_of_its_own() {
        let mut calls = Calls::new(1, 2);
        "aaaaa".bytes().for_each(|name| calls.come(name));
        assert_eq!((calls.at_work.len(), calls.waiting.len(), calls.refused), (1, 2, 2));
        "bb".bytes().for_each(|name| calls.come(name));
        assert_eq!(calls.refused, 2, "another's is its own");
    }

    proptest! {
        /// For any arrivals, ends and departures: no more places than exist, one per lane, and none is lost.
        #[test]
        fn places_are_kept(places in 1usize..4, steps in prop::collection::vec((0u8..4, 0u8..5), 0..60)) {
            let mut calls = Calls::new(places, 3);
            for (what, name) in steps {
                match what {
                    0 | 1 => calls.come(name),
                    2 if !calls.at_work.is_empty() => { calls.end(usize::from(name) % calls.at_work.len()); }
                    3 if !calls.waiting.is_empty() => {
                        let gone = calls.waiting.remove(usize::from(name) % calls.waiting.len());
                        drop(gone);
                    }
                    _ => {}
                }
                calls.look();
                let mut lanes: Vec<u8> = calls.at_work.iter().map(|(name, _)| *name).collect();
                lanes.sort_unstable();
                prop_assert!(lanes.len() <= places);
                prop_assert!(lanes.windows(2).all(|two| two[0] != two[1]), "{lanes:?}");
                let is_idle = lanes.len() < places && calls.waiting.iter().any(|(name, _)| !lanes.contains(name));
                prop_assert!(!is_idle, "a place is free and a lane waits for it");
            }
            calls.waiting.clear();
            while !calls.at_work.is_empty() {
                calls.end(0);
            }
            let state = calls.turns.state();
            prop_assert_eq!((state.free, state.lanes.len(), state.ring.len()), (places, 0, 0));
        }
    }
}
