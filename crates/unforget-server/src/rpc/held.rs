//! Prompts that hosts still hold: their common beginning with the next prompt is not sent again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use unforget_engine::host::{BodyDigest, body_digest};

use super::array::{chain, hex};
use super::protocol::Base;

/// For each lane whose host reports what it holds, the newest prompt as digests, in bounded memory.
pub(super) struct Prompts {
    lanes: Mutex<HeldLanes>,
    /// Most messages over all lanes.
    most: usize,
}

#[derive(Default)]
struct HeldLanes {
    /// By lane, the chained digests of its prompt up to each message.
    chains: HashMap<Arc<str>, Vec<BodyDigest>>,
    total: usize,
}

/// A new prompt compared with the one that the host holds.
pub(super) struct Given {
    /// Number of leading messages that the host already has.
    pub(super) same: usize,
    /// The base that the host may name next time.
    pub(super) base: Base,
}

impl Prompts {
    /// * `most` - most remembered messages, 16 bytes each.
    pub(super) fn new(most: usize) -> Self {
        Self { lanes: Mutex::default(), most }
    }

    /// Compares a prompt with the one that the host holds, and remembers it instead. O(bytes of the prompt).
    pub(super) fn give(&self, lane: &Arc<str>, holds: &Base, messages: &[String]) -> Given {
        let mut last = BodyDigest([0; 16]);
        let mut chains = Vec::with_capacity(messages.len());
        for message in messages {
            last = chain(last, body_digest(message.as_bytes()));
            chains.push(last);
        }
        let base = Base { length: messages.len() as u64, digest: hex(last) };
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_held = |old: &&Vec<BodyDigest>| {
            old.len() as u64 == holds.length
                && old.last().is_some_and(|last| hex(*last).eq_ignore_ascii_case(&holds.digest))
        };
        let same = lanes
            .chains
            .get(lane)
            .filter(is_held)
            .map_or(0, |old| old.iter().zip(&chains).take_while(|(old, new)| old == new).count());
        lanes.remember(lane, chains, self.most);
        Given { same, base }
    }

    /// Forgets the prompt of a lane.
    pub(super) fn forget(&self, lane: &str) {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner).forget(lane);
    }
}

impl HeldLanes {
    fn remember(&mut self, lane: &Arc<str>, chains: Vec<BodyDigest>, most: usize) {
        self.forget(lane);
        if self.total + chains.len() > most {
            // All hosts get their next prompt whole, once.
            *self = Self::default();
        }
        if chains.len() <= most {
            self.total += chains.len();
            self.chains.insert(Arc::clone(lane), chains);
        }
    }

    fn forget(&mut self, lane: &str) {
        self.total -= self.chains.remove(lane).map_or(0, |old| old.len());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn prompt(text: &str) -> Vec<String> {
        text.split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
    }

    #[test]
    fn what_both_begin_with_is_counted() {
        let none = Base { length: 0, digest: String::new() };
        let other = Base { length: 3, digest: "0".repeat(32) };
        let table = [
            // held prompt, next prompt, number of common messages
            ("a b c", "a b c d", 3),
            ("a b c", "a b c", 3),
            ("a b c", "a b", 2),
            ("a b c", "a x c", 1),
            ("a b c", "x b c", 0),
            ("a b c", "", 0),
            ("", "a", 0),
        ];
        let prompts = Prompts::new(100);
        let lane: Arc<str> = "a".into();
        for (held, next, same) in table {
            let first = prompts.give(&lane, &none, &prompt(held));
            assert_eq!(first.same, 0, "{held}");
            let second = prompts.give(&lane, &first.base, &prompt(next));
            assert_eq!(
                (second.same, second.base.length),
                (same, prompt(next).len() as u64),
                "{held} | {next}"
            );
        }
        let held = prompts.give(&lane, &none, &prompt("a b c")).base;
        assert_eq!(prompts.give(&lane, &other, &prompt("a b c")).same, 0, "another prompt of that length");
        assert_eq!(prompts.give(&"b".into(), &held, &prompt("a b c")).same, 0, "another lane");
        prompts.forget("a");
        assert_eq!(prompts.give(&lane, &held, &prompt("a b c")).same, 0, "forgotten");
        let long = Base { length: u64::MAX, digest: held.digest.clone() };
        assert_eq!(prompts.give(&lane, &long, &prompt("a b c")).same, 0, "hostile");
        assert_eq!(prompts.give(&lane, &held, &prompt("a b c")).same, 3);
    }

    #[test]
    fn memory_is_bounded() {
        let prompts = Prompts::new(4);
        let none = Base { length: 0, digest: String::new() };
        for at in 0..100 {
            prompts.give(&format!("lane {at}").into(), &none, &prompt("a b c"));
            prompts.give(&"long".into(), &none, &prompt("a b c d e"));
            let lanes = prompts.lanes.lock().unwrap();
            assert!(lanes.total <= 4 && lanes.total == lanes.chains.values().map(Vec::len).sum::<usize>());
        }
    }
}
