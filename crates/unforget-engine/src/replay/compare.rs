//! Sizes of prompts under other policies: everything, a sliding window, and two policies that summarise.

use std::collections::VecDeque;

use unforget_core::compact::Cache;

use super::policies::{Follower, Paid, Policy};
use crate::prompt::Session;

/// Sizes of the alternatives at one call, in expected tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Everything so far.
    pub(super) everything: u64,
    /// Tokens of `everything` that were also sent before.
    pub(super) everything_reused: u64,
    /// The newest groups that fit the budget.
    pub(super) sliding: u64,
    /// Tokens of `sliding` that a cache could serve: all tokens of the previous call, or only the system text if the
    /// window moved.
    pub(super) sliding_reused: u64,
    /// One summary of everything, renewed from time to time.
    pub(super) summarise_all: Paid,
    /// The policy of the peer.
    pub(super) peer: Paid,
}

/// Follows a session. Memory: one number per group inside the sliding window.
pub(super) struct Alternatives {
    /// Number and total size of the groups that left the session.
    passed: usize,
    settled: u64,
    window: VecDeque<u64>,
    window_sum: u64,
    moved: u64,
    /// Index of the first group in the window at the last call.
    start: u64,
    last: Compared,
    summarise_all: Follower,
    peer: Follower,
}

impl Default for Alternatives {
    fn default() -> Self {
        Self {
            passed: 0,
            settled: 0,
            window: VecDeque::new(),
            window_sum: 0,
            moved: 0,
            start: 0,
            last: Compared::default(),
            summarise_all: Follower::new(Policy::SummariseAll),
            peer: Follower::new(Policy::Peer),
        }
    }
}

impl Alternatives {
    /// The alternatives at the call for which the session just made a prompt.
    ///
    /// * `cache` - what the provider's cache should hold of the previous call.
    pub(super) fn next(&mut self, session: &mut Session, cache: Cache) -> Compared {
        for size in session.take_passed() {
            self.follow(self.passed, size);
            self.passed += 1;
            self.settled += size;
            self.window.push_back(size);
            self.window_sum += size;
        }
        let system = session.system_tokens().expected;
        let held: Vec<u64> = session.group_sizes().collect();
        let held_sum: u64 = held.iter().sum();
        let newest = held.last().copied().unwrap_or_default();
        let before = held.len().saturating_sub(1);
        // A transcript that rewinds removes groups, and a result that comes late enlarges one.
        for follower in [&mut self.summarise_all, &mut self.peer] {
            follower.keep(self.passed + before);
        }
        for (index, size) in held.iter().take(before).enumerate() {
            self.follow(self.passed + index, *size);
        }
        let everything = system + self.settled + held_sum;
        let room = session.shape().policy.budget().saturating_sub(system);
        while self.window_sum + held_sum > room {
            let Some(size) = self.window.pop_front() else { break };
            self.window_sum -= size;
            self.moved += 1;
        }
        let (mut kept, mut skipped) = (held_sum, 0);
        for size in &held {
            if self.window_sum + kept <= room {
                break;
            }
            kept -= size;
            skipped += 1;
        }
        let sliding = system + self.window_sum + kept;
        let start = self.moved + skipped;
        let stays = std::mem::replace(&mut self.start, start) == start;
        let sliding_reused = if stays { self.last.sliding.min(sliding) } else { system };
        let budget = session.shape().policy.budget();
        let now = Compared {
            summarise_all: self.summarise_all.call(system, newest, budget).through(cache),
            // The peer checks its size after a turn, not before each call.
            peer: if session.is_at_turn() {
                self.peer.call(system, newest, budget).through(cache)
            } else {
                self.peer.call_as_is(system, newest).through(cache)
            },
            everything,
            everything_reused: cache.holds(self.last.everything.min(everything)),
            sliding,
            sliding_reused: cache.holds(sliding_reused),
        };
        self.last = now;
        now
    }

    /// Tells the summarising policies the size of a finished group.
    fn follow(&mut self, index: usize, size: u64) {
        self.summarise_all.follow(index, size);
        self.peer.follow(index, size);
    }
}
