//! Places for work, given to lanes in turn: a lane with many calls waits for itself and keeps nobody else waiting.
//!
//! A lane has one place at most, since its calls are taken one after the other anyway. Lanes that wait are served round robin,
//! the calls of one in order of arrival.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;
use unforget_core::digest::Digest;

/// See the module.
pub(super) struct Turns {
    state: Mutex<State>,
    /// Calls of one lane that wait at most.
    most: usize,
}

#[derive(Default)]
struct State {
    /// Places that nobody has.
    free: usize,
    /// Lanes that have a place or wait for one, with their calls that wait.
    lanes: HashMap<Digest, VecDeque<oneshot::Sender<Turn>>>,
    /// Lanes that wait and have no place, in turn.
    ring: VecDeque<Digest>,
}

/// More calls of a lane wait than may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Full;

impl Turns {
    /// * `places` - calls at work at once.
    /// * `most` - calls of one lane that wait at most.
    pub(super) fn new(places: usize, most: usize) -> Arc<Self> {
        let state = State { free: places.max(1), ..State::default() };
        Arc::new(Self { state: Mutex::new(state), most })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a place.
    ///
    /// # Errors
    /// At once, if too many calls of the lane wait.
    pub(super) async fn take(self: &Arc<Self>, lane: Digest) -> Result<Turn, Full> {
        let waiting = {
            let mut state = self.state();
            let free = state.free;
            match state.lanes.get_mut(&lane) {
                Some(waiting) if waiting.len() >= self.most => return Err(Full),
                Some(waiting) => {
                    let (told, turn) = oneshot::channel();
                    waiting.push_back(told);
                    turn
                }
                // Who is free now has no lane before it: whoever waited was served when it became free.
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
        waiting.await.map_err(|_| Full)
    }

    fn turn(self: &Arc<Self>, lane: Digest) -> Turn {
        Turn { turns: Arc::clone(self), lane }
    }

    /// A lane gives its place back; those whose turn it is are told.
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
        // Not under the lock: what nobody waits for any more is dropped here, which releases it.
        for (lane, call) in told {
            drop(call.send(self.turn(lane)));
        }
    }
}

impl State {
    /// Gives free places to lanes in turn.
    fn next(&mut self) -> Vec<(Digest, oneshot::Sender<Turn>)> {
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

/// A place of a lane, given back when it is dropped.
pub(super) struct Turn {
    turns: Arc<Turns>,
    lane: Digest,
}

impl Drop for Turn {
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

    /// Calls by lane; who has a place now, in the order in which they got it.
    struct Calls {
        turns: Arc<Turns>,
        waiting: Vec<(u8, BoxFuture<'static, Result<Turn, Full>>)>,
        at_work: Vec<(u8, Turn)>,
        refused: usize,
    }

    impl Calls {
        fn new(places: usize, most: usize) -> Self {
            Self { turns: Turns::new(places, most), waiting: Vec::new(), at_work: Vec::new(), refused: 0 }
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
                    Some(Err(Full)) => self.refused += 1,
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
        /// Whoever comes, ends or goes away: no more places than there are, one per lane, and none stays behind.
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
