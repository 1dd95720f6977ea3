//! What the provider counted of this lane's prompts, as far as the next one is concerned.
//!
//! In memory only: a session that is opened again bounds its first prompt by the ruler alone.

use std::sync::atomic::{AtomicU64, Ordering};

use unforget_core::admit::Rung;
use unforget_core::policy::Policy;
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;

use super::Session;

/// A prompt on its way, as it was weighed by our ruler: what a count of its provider is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptWeight {
    /// As it was admitted.
    prompt: Tokens,
    /// As [`Session::total`] foresees it.
    view: Tokens,
    /// What was taken off the budget for what stands beside it.
    beside: Tokens,
    /// What may stand in the next prompt in place of something shorter.
    varying: u64,
    /// Its beginning.
    beginning: u64,
}

impl PromptWeight {
    /// For a prompt with a text that is another one in every call, such as recalled words.
    ///
    /// * `most` - tokens of the longest such text.
    #[must_use]
    pub const fn varying(self, most: u64) -> Self {
        Self { varying: most, ..self }
    }
}

/// A prompt as the provider counted it, in both measures.
#[derive(Clone, Copy, Debug)]
struct Counted {
    prompt: Reported,
    view: Reported,
    beginning: u64,
}

/// Counts of one session's prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counts {
    /// The newest count.
    counted: Option<Counted>,
    /// Number of the beginning that prompts have now. No two beginnings of a process have the same one, so that a count that
    /// arrives late is of no other.
    beginning: u64,
    /// What is taken off the budget for what stands beside the next prompt.
    beside: Tokens,
}

impl Default for Counts {
    fn default() -> Self {
        Self { counted: None, beginning: beginning(), beside: Tokens::default() }
    }
}

/// A number that no other beginning has.
fn beginning() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Counts {
    /// A prompt that is about to be sent. `None` if it was made smaller than its view: no longer one begins with it.
    pub(super) fn weight(&self, prompt: Tokens, view: Tokens, rung: Rung) -> Option<PromptWeight> {
        let (beside, beginning) = (self.beside, self.beginning);
        (rung == Rung::Assembled).then_some(PromptWeight { prompt, view, beside, varying: 0, beginning })
    }

    /// Tokens that are taken off the budget for what stands beside the next prompt.
    pub(super) const fn charged(&self) -> u64 {
        self.beside.upper
    }

    /// The beginning of prompts changes: what was counted is the beginning of none any more.
    pub(super) fn broke(&mut self) {
        self.beginning = beginning();
    }

    /// Takes a count of a prompt, in whatever order counts arrive: one of a shorter prompt with the same beginning says less.
    fn take(&mut self, weight: &PromptWeight, counted: u64) {
        let says_less = |newest: &Counted| {
            newest.beginning == self.beginning
                && (weight.beginning != self.beginning || weight.view.upper < newest.view.messages().upper)
        };
        if self.counted.as_ref().is_some_and(says_less) {
            return;
        }
        let report = |messages| Reported::of(messages, weight.beside, counted + weight.varying);
        if let Some((prompt, view)) = report(weight.prompt).zip(report(weight.view)) {
            self.counted = Some(Counted { prompt, view, beginning: weight.beginning });
        }
    }

    /// What it says of the prompts of a fork, which have a number of their own: as long as nothing breaks, those of a fork at the
    /// end of the path begin with the one that was counted; for others only the rate holds.
    #[must_use]
    pub(crate) fn of_fork(mut self, is_at_end: bool) -> Self {
        let (before, own) = (self.beginning, beginning());
        let counted = self.counted.as_mut().filter(|counted| is_at_end && counted.beginning == before);
        if let Some(counted) = counted {
            counted.beginning = own;
        }
        self.beginning = own;
        self
    }

    /// Weight of a prompt, in the provider's tokens as far as they were counted.
    ///
    /// * `total` - of its sections, by our ruler.
    pub(super) fn prompt(&self, total: Tokens) -> Tokens {
        self.counted
            .map_or(total, |counted| counted.prompt.next(total, self.beside, self.is_beginning(&counted)))
    }

    /// Weight of what [`Session::total`] gave, in the same tokens.
    fn view(&self, total: Tokens) -> Tokens {
        self.counted
            .map_or(total, |counted| counted.view.next(total, self.beside, self.is_beginning(&counted)))
    }

    const fn is_beginning(&self, counted: &Counted) -> bool {
        counted.beginning == self.beginning
    }
}

impl Session {
    /// What was counted so far.
    pub(crate) const fn known_counts(&self) -> Counts {
        self.counts
    }

    /// Takes over what was counted of a prompt that this one begins like.
    pub(crate) const fn take_counts(&mut self, counts: Counts) {
        self.counts = counts;
    }

    /// What stands beside the next prompt is taken off its budget by this bound: instructions, tools.
    pub const fn stands_beside(&mut self, beside: Tokens) {
        self.counts.beside = beside;
    }

    /// The provider counted so many tokens of a prompt of this session and of what stood beside it.
    pub fn reported(&mut self, weight: &PromptWeight, counted: u64) {
        self.counts.take(weight, counted);
    }

    /// A call that was not made here was counted: until one is that was, its rate holds.
    pub fn learn(&mut self, reported: Reported) {
        let beginning = beginning();
        let counted = Counted { prompt: reported, view: reported, beginning };
        self.counts.counted.get_or_insert(counted);
    }

    /// Weight of the next prompt in the provider's tokens, as far as they were counted.
    pub(super) fn weight(&self) -> Tokens {
        self.counts.view(self.total())
    }

    /// The policy in tokens of our bound, by what the provider counted last.
    pub(super) fn scaled_policy(&self) -> Policy {
        let policy = &self.shape.policy;
        self.counts.counted.map_or(*policy, |counted| counted.view.scaled(policy, self.counts.beside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prompt of 12,000 tokens by our bound, of which the provider counts 9,000.
    fn counted() -> (Counts, PromptWeight) {
        let mut counts = Counts::default();
        let ours = Tokens { expected: 10_000, upper: 12_000 };
        let weight = PromptWeight {
            prompt: ours,
            view: ours,
            beside: Tokens::default(),
            varying: 0,
            beginning: counts.beginning,
        };
        counts.take(&weight, 9_000);
        (counts, weight)
    }

    #[test]
    fn a_count_is_exact_for_its_beginning_only() {
        let next = Tokens { expected: 11_000, upper: 13_000 };
        let (exact, rate) = (10_000, 11_376);
        let (counts, weight) = counted();
        let mut broken = counts;
        broken.broke();
        let table = [
            (counts, exact, "what is new, by its bound"),
            (broken, rate, "behind a break the rate holds"),
            (counts.of_fork(true), exact, "a fork at the end of the path begins with the counted prompt"),
            (counts.of_fork(false), rate, "a fork of an earlier entry does not"),
            (broken.of_fork(true), rate, "nor does a fork behind a break"),
        ];
        for (counts, want, why) in table {
            assert_eq!(counts.prompt(next).upper, want, "{why}");
        }
        let mut late = counts;
        late.take(&PromptWeight { view: Tokens { expected: 9_000, upper: 11_000 }, ..weight }, 8_000);
        assert_eq!(late.prompt(next).upper, exact, "an older count that arrives later says less");
        let mut fork = counts.of_fork(true);
        fork.take(&weight, 11_000);
        assert_eq!(fork.prompt(next).upper, exact, "a count of the parent is none of the fork's");
    }
}
