//! An array that equals the active path message by message, as clients of a provider's API send it with each call.
//!
//! Such messages have no names and are recognised by their places. The rule is the chain of design §4, with three
//! exceptions for the habits of real clients: a message in the middle changes its text (reminders with counters,
//! cleared results, an edit in place), the oldest messages are left out (a sliding window), and an answer is requested
//! again. Changed text in the middle does not make another history, and the model reads the new text. See
//! [`How`](super::How).

use super::{Base, DeliveredItem, DeliveryOutcome, DeliveryPlan, Fate, Walk, appended, is_exact};
use crate::id::Seq;

/// Consecutive messages that prove that an array begins in the middle of the path.
const RUN: usize = 2;

/// Most consecutive messages that a client rewrites.
const CHANGED: usize = 16;

impl Walk<'_> {
    pub(super) fn exact(&self) -> DeliveryPlan {
        let stored: Vec<Seq> = self.path.runs.iter().cloned().flatten().map(Seq).collect();
        let from = self.begin(&stored);
        let stored = stored.get(from..).unwrap_or_default();
        let mut fates = Vec::with_capacity(self.items.len());
        for (at, item) in self.items.iter().enumerate() {
            let Some(seq) = stored.get(at) else { break };
            match Self::stands(item, *seq) {
                true if is_exact(item, *seq) => fates.push(Fate::Known(*seq)),
                true => fates.push(Fate::Copy(*seq)),
                false if self.is_rewritten(stored, at) => fates.push(Fate::Changed(*seq)),
                false => break,
            }
        }
        let kept = fates.len();
        let last = stored.get(..kept).and_then(<[Seq]>::last).copied();
        fates.extend(self.items.iter().skip(kept).map(appended));
        let (why, base) = match (kept == self.items.len(), kept == stored.len()) {
            (true, true) => (DeliveryOutcome::UpToDate, Base::Head),
            (false, true) => (DeliveryOutcome::Append, Base::Head),
            (true, false) => (DeliveryOutcome::Rewind, last.map_or(Base::Root, Base::After)),
            (false, false) if last.is_none() => (DeliveryOutcome::Unreconciled, Base::Root),
            (false, false) => (DeliveryOutcome::Branch, last.map_or(Base::Root, Base::After)),
        };
        DeliveryPlan { why, base, fates }
    }

    /// Whether an item has the content of an entry. Empty text proves nothing.
    fn stands(item: &DeliveredItem, seq: Seq) -> bool {
        let has_words = item.parts.as_ref().is_some_and(|parts| !parts.is_empty());
        let says = |list: &[Seq]| list.binary_search(&seq).is_ok();
        is_exact(item, seq) || (has_words && (says(&item.alike) || says(&item.named)))
    }

    /// Whether the client rewrote the message at this place, and perhaps some behind it. The proof is an equal number
    /// of unchanged messages behind them, at least two, or the unchanged answer to a single message: an edit would have
    /// got another answer.
    fn is_rewritten(&self, stored: &[Seq], at: usize) -> bool {
        let mut behind = self.items.iter().zip(stored).skip(at + 1).peekable();
        let mut changed = 1;
        while changed < CHANGED && behind.next_if(|(item, seq)| !Self::stands(item, **seq)).is_some() {
            changed += 1;
        }
        let is_answered = changed == 1 && behind.peek().is_some_and(|(item, _)| item.is_answer);
        let proof = if is_answered { 1 } else { changed.max(RUN) };
        behind.take(proof).filter(|(item, seq)| Self::stands(item, **seq)).count() == proof
    }

    /// Where on the path the array begins. That is the path's beginning, unless the array's first messages match a run
    /// in the middle of the path that lasts to the end of the path.
    fn begin(&self, stored: &[Seq]) -> usize {
        let Some(first) = self.items.first() else { return 0 };
        if stored.first().is_none_or(|seq| Self::stands(first, *seq)) || self.is_rewritten(stored, 0) {
            return 0;
        }
        let places = first.exact.iter().chain(first.alike.iter());
        let mut places: Vec<usize> = places.filter_map(|seq| stored.binary_search(seq).ok()).collect();
        places.sort_unstable();
        places.dedup();
        let window = places.into_iter().find(|at| {
            let run = self.run_from(stored, *at);
            run >= RUN && at + run == stored.len()
        });
        window.unwrap_or(0)
    }

    /// Number of first items that stand on the path one after another.
    ///
    /// * `at` - the place of the first one.
    fn run_from(&self, stored: &[Seq], at: usize) -> usize {
        let pairs = self.items.iter().zip(stored.get(at..).unwrap_or_default());
        pairs.take_while(|(item, seq)| Self::stands(item, **seq)).count()
    }
}
