//! Models the prompts and costs of systems that summarise with a model: sizes only, no text.
//!
//! * **summarise everything** - most agents' own compaction: near the end of the window, all groups except the newest
//!   become one summary. The call that writes the summary reads the whole prompt from the cache.
//! * **peer** - lossless-claw's defaults: above 0.75 of the budget the oldest groups outside a fresh tail become leaves
//!   of at most 20,000 tokens, and eight leaves become one merge. Each such call reads uncached text. The size is checked
//!   where a turn ends, not before each call of a tool loop.
//!
//! A session that never comes so far is sent as it is by both: then they equal sending everything.
//!
//! Source of the figures: the documented configuration of lossless-claw and the documentation of agents.

use std::collections::VecDeque;

use unforget_core::compact::Cache;

/// Share of the budget at which agents compact by themselves, in thousandths.
const FULL_PERMILLE: u64 = 920;

/// Tokens of the single summary, and its maximum share of the budget in thousandths.
const WHOLE_SUMMARY: (u64, u64) = (2_000, 100);

/// Share of the budget at which the peer compacts, in thousandths.
const PEER_PERMILLE: u64 = 750;

/// Number of groups that the peer sends unchanged: 64 messages are about half as many groups.
const PEER_TAIL: usize = 32;

/// Source tokens of one leaf of the peer.
const PEER_CHUNK: u64 = 20_000;

/// Maximum tokens of a leaf, and of a merge.
const PEER_LEAF: (u64, u64) = (2_400, 2_000);

/// Number of leaves in one merge.
const PEER_FANOUT: usize = 8;

/// A policy that keeps prompts small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    SummariseAll,
    Peer,
}

/// Costs of one call under a policy, in expected tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paid {
    /// Tokens sent to the model.
    pub(super) sent: u64,
    /// Tokens of `sent` served by the provider's cache.
    pub(super) reused: u64,
    /// Tokens read by the summariser before the call.
    pub(super) summarised: u64,
    /// Tokens of `summarised` served by the cache.
    pub(super) summarised_reused: u64,
    /// Number of summaries made before the call.
    pub(super) compactions: u64,
}

impl Paid {
    /// Limits the reused tokens to those still in the cache. The summariser's first tokens are lost from the cache as
    /// well.
    pub(super) const fn through(self, cache: Cache) -> Self {
        let summarised_reused = cache.holds(self.summarised_reused);
        Self { reused: cache.holds(self.reused), summarised_reused, ..self }
    }
}

/// A prompt under a policy. Memory: one number per group that is sent unchanged.
#[derive(Debug)]
pub(super) struct Follower {
    policy: Policy,
    summaries: Vec<u64>,
    groups: VecDeque<u64>,
    /// Tokens of the groups.
    sum: u64,
    /// Number of finished groups, summarised ones included.
    finished: usize,
    last: u64,
}

impl Follower {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, summaries: Vec::new(), groups: VecDeque::new(), sum: 0, finished: 0, last: 0 }
    }

    /// Takes the size of a finished group: a new one, or a known one that has become larger. A summarised group stays as
    /// it is.
    ///
    /// * `index` - its number, from 0; at most one more than that of the last group.
    pub(super) fn follow(&mut self, index: usize, size: u64) {
        let summarised = self.finished - self.groups.len();
        let Some(at) = index.checked_sub(summarised) else { return };
        if let Some(known) = self.groups.get_mut(at) {
            self.sum -= std::mem::replace(known, size);
        } else {
            self.groups.push_back(size);
            self.finished += 1;
        }
        self.sum += size;
    }

    /// Drops all finished groups but the first ones.
    pub(super) fn keep(&mut self, first: usize) {
        while self.finished > first {
            self.finished -= 1;
            self.sum -= self.groups.pop_back().unwrap_or_default();
        }
    }

    /// Costs of the next call.
    ///
    /// * `held` - tokens of the newest group, which is not finished yet.
    pub(super) fn call(&mut self, system: u64, held: u64, budget: u64) -> Paid {
        let mut call = Paid::default();
        let total = |this: &Self| system + this.summaries.iter().sum::<u64>() + this.sum + held;
        let limit = match self.policy {
            Policy::SummariseAll => FULL_PERMILLE,
            Policy::Peer => PEER_PERMILLE,
        };
        while total(self) > budget * limit / 1_000 {
            let before = total(self);
            let Some((read, cached)) = self.compact(before, budget) else { break };
            call.summarised += read;
            call.summarised_reused += cached;
            call.compactions += 1;
        }
        call.sent = total(self);
        call.reused = if call.compactions > 0 { system.min(call.sent) } else { self.last.min(call.sent) };
        self.last = call.sent;
        call
    }

    /// Costs of the next call without a check of its size.
    pub(super) fn call_as_is(&mut self, system: u64, held: u64) -> Paid {
        let sent = system + self.summaries.iter().sum::<u64>() + self.sum + held;
        let reused = std::mem::replace(&mut self.last, sent).min(sent);
        Paid { sent, reused, ..Paid::default() }
    }

    /// One step of compaction. Returns the tokens read by the summariser, and how many of them a cache has; `None` if
    /// there is nothing left to compact.
    fn compact(&mut self, total: u64, budget: u64) -> Option<(u64, u64)> {
        match self.policy {
            Policy::SummariseAll => {
                let summary = WHOLE_SUMMARY.0.min(budget * WHOLE_SUMMARY.1 / 1_000);
                if self.groups.is_empty() {
                    return None;
                }
                self.groups.clear();
                self.sum = 0;
                self.summaries = vec![summary];
                Some((total, total))
            }
            Policy::Peer => self.leaf().or_else(|| self.merge()),
        }
    }

    fn leaf(&mut self) -> Option<(u64, u64)> {
        let mut read = 0;
        while self.groups.len() > PEER_TAIL {
            let size = *self.groups.front()?;
            if read > 0 && read + size > PEER_CHUNK {
                break;
            }
            self.groups.pop_front();
            self.sum -= size;
            read += size;
        }
        if read == 0 {
            return None;
        }
        self.summaries.push((read * 35 / 100).clamp(192.min(read), PEER_LEAF.0));
        Some((read, 0))
    }

    fn merge(&mut self) -> Option<(u64, u64)> {
        if self.summaries.len() < PEER_FANOUT {
            return None;
        }
        let read: u64 = self.summaries.drain(..PEER_FANOUT).sum();
        self.summaries.insert(0, PEER_LEAF.1.min(read));
        (read > PEER_LEAF.1).then_some((read, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(policy: Policy, sizes: &[u64], budget: u64) -> Vec<Paid> {
        let mut follower = Follower::new(policy);
        let mut calls = Vec::new();
        for (index, size) in sizes.iter().enumerate() {
            calls.push(follower.call(100, *size, budget));
            follower.follow(index, *size);
        }
        calls
    }

    #[test]
    fn summarising_everything_breaks_once_and_starts_over() {
        let calls = follow(Policy::SummariseAll, &[100; 12], 1_000);
        let sent: Vec<_> = calls.iter().map(|call| call.sent).collect();
        assert_eq!(sent, [200, 300, 400, 500, 600, 700, 800, 900, 300, 400, 500, 600]);
        let broken: Vec<_> = calls.iter().filter(|call| call.compactions > 0).collect();
        assert_eq!((broken.len(), broken[0].compactions), (1, 1));
        assert_eq!(
            (broken[0].reused, broken[0].summarised, broken[0].summarised_reused),
            (100, 1_000, 1_000)
        );
    }

    #[test]
    fn the_peer_keeps_a_tail_and_merges_leaves() {
        let calls = follow(Policy::Peer, &[2_000; 400], 100_000);
        let tail = PEER_TAIL as u64 * 2_000;
        assert!(calls.iter().all(|call| call.sent < 80_000), "below its threshold");
        assert!(calls.iter().skip(60).all(|call| call.sent > tail), "the tail is whole");
        let breaks = calls.iter().filter(|call| call.reused == 100).count();
        assert!(breaks > 20, "{breaks} breaks");
    }

    #[test]
    fn a_session_below_the_thresholds_is_sent_as_it_is() {
        for (policy, permille) in [(Policy::SummariseAll, FULL_PERMILLE), (Policy::Peer, PEER_PERMILLE)] {
            let calls = follow(policy, &[100; 60], 6_100 * 1_000 / permille + 1);
            let sent: Vec<u64> = calls.iter().map(|call| call.sent).collect();
            let everything: Vec<u64> = (2..62).map(|groups| groups * 100).collect();
            assert_eq!(sent, everything, "{policy:?}");
            assert!(calls.iter().all(|call| call.compactions == 0), "{policy:?}");
        }
    }

    #[test]
    fn groups_that_grow_or_go_away_are_followed() {
        let mut follower = Follower::new(Policy::Peer);
        for (index, size) in [(0, 10), (1, 20), (2, 30)] {
            follower.follow(index, size);
        }
        let mut sent = |change: &dyn Fn(&mut Follower)| {
            change(&mut follower);
            follower.call_as_is(0, 0).sent
        };
        assert_eq!(sent(&|follower| follower.follow(1, 25)), 65, "a result came late");
        assert_eq!(sent(&|follower| follower.keep(1)), 10, "the transcript went back");
        assert_eq!(sent(&|follower| follower.follow(1, 7)), 17, "and on differently");
    }

    #[test]
    fn what_cannot_shrink_is_sent_as_it_is() {
        for policy in [Policy::SummariseAll, Policy::Peer] {
            let calls = follow(policy, &[5_000], 1_000);
            assert_eq!(calls, [Paid { sent: 5_100, ..Paid::default() }]);
        }
    }
}
