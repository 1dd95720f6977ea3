//! What systems that summarise with a model would have sent and paid, as models of them: sizes only, no text.
//!
//! * **summarise everything** - most agents' own compaction: near the end of the window, all but the newest group becomes
//!   one summary. The call that writes it reads the whole prompt, from the cache.
//! * **peer** - lossless-claw's defaults: above 0.75 of the budget the oldest groups outside a fresh tail become leaves of
//!   at most 20,000 tokens, and eight leaves one merge. Each call reads its source, which no cache has.
//!
//! Source of the figures: its documented configuration, and what agents document of theirs.

use std::collections::VecDeque;

use unforget_core::compact::Cache;

/// Where agents compact by themselves, in thousandths of the budget.
const FULL_PERMILLE: u64 = 920;

/// Tokens of the one summary, and the share of the budget that it may have at most, in thousandths.
const WHOLE_SUMMARY: (u64, u64) = (2_000, 100);

/// Where the peer compacts, in thousandths of the budget.
const PEER_PERMILLE: u64 = 750;

/// Groups that it sends whole: 64 messages are about as many halves.
const PEER_TAIL: usize = 32;

/// Source tokens of one of its leaves.
const PEER_CHUNK: u64 = 20_000;

/// Tokens of a leaf at most, and of a merge.
const PEER_LEAF: (u64, u64) = (2_400, 2_000);

/// Leaves in one merge.
const PEER_FANOUT: usize = 8;

/// A way to keep a prompt small.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Policy {
    SummariseAll,
    Peer,
}

/// One call by a policy, in expected tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Paid {
    /// Sent to the model.
    pub(super) sent: u64,
    /// Of it, served by the provider's cache.
    pub(super) reused: u64,
    /// Read by the summariser before it.
    pub(super) summarised: u64,
    /// Of that, served by the cache.
    pub(super) summarised_reused: u64,
}

impl Paid {
    /// The same with what the cache still has. What the summariser reads first is gone as well.
    pub(super) const fn through(self, cache: Cache) -> Self {
        let summarised_reused = cache.holds(self.summarised_reused);
        Self { reused: cache.holds(self.reused), summarised_reused, ..self }
    }
}

/// A prompt as a policy keeps it. Memory: one number per group that is sent whole.
#[derive(Debug)]
pub(super) struct Follower {
    policy: Policy,
    summaries: Vec<u64>,
    groups: VecDeque<u64>,
    /// Tokens of the groups.
    sum: u64,
    last: u64,
}

impl Follower {
    pub(super) fn new(policy: Policy) -> Self {
        Self { policy, summaries: Vec::new(), groups: VecDeque::new(), sum: 0, last: 0 }
    }

    /// A group that will not change any more.
    pub(super) fn push(&mut self, size: u64) {
        self.groups.push_back(size);
        self.sum += size;
    }

    /// The next call.
    ///
    /// * `held` - tokens of the newest group, which was not pushed yet.
    pub(super) fn call(&mut self, system: u64, held: u64, budget: u64) -> Paid {
        let mut call = Paid::default();
        let total = |this: &Self| system + this.summaries.iter().sum::<u64>() + this.sum + held;
        let limit = match self.policy {
            Policy::SummariseAll => FULL_PERMILLE,
            Policy::Peer => PEER_PERMILLE,
        };
        let mut broke = false;
        while total(self) > budget * limit / 1_000 {
            let before = total(self);
            let Some((read, cached)) = self.compact(before, budget) else { break };
            call.summarised += read;
            call.summarised_reused += cached;
            broke = true;
        }
        call.sent = total(self);
        call.reused = if broke { system.min(call.sent) } else { self.last.min(call.sent) };
        self.last = call.sent;
        call
    }

    /// The next call, without looking whether it is too large.
    pub(super) fn call_as_is(&mut self, system: u64, held: u64) -> Paid {
        let sent = system + self.summaries.iter().sum::<u64>() + self.sum + held;
        let reused = std::mem::replace(&mut self.last, sent).min(sent);
        Paid { sent, reused, ..Paid::default() }
    }

    /// One step. Gives what the summariser reads, and what of it a cache has; `None` if nothing is left.
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
        for size in sizes {
            calls.push(follower.call(100, *size, budget));
            follower.push(*size);
        }
        calls
    }

    #[test]
    fn summarising_everything_breaks_once_and_starts_over() {
        let calls = follow(Policy::SummariseAll, &[100; 12], 1_000);
        let sent: Vec<_> = calls.iter().map(|call| call.sent).collect();
        assert_eq!(sent, [200, 300, 400, 500, 600, 700, 800, 900, 300, 400, 500, 600]);
        let broken: Vec<_> = calls.iter().filter(|call| call.summarised > 0).collect();
        assert_eq!(broken.len(), 1);
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
    fn what_cannot_shrink_is_sent_as_it_is() {
        for policy in [Policy::SummariseAll, Policy::Peer] {
            let calls = follow(policy, &[5_000], 1_000);
            assert_eq!(calls, [Paid { sent: 5_100, reused: 0, summarised: 0, summarised_reused: 0 }]);
        }
    }
}
