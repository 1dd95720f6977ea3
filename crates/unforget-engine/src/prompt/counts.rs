//! The provider's counts of a session's prompts, as bounds of the next prompt.

use std::sync::atomic::{AtomicU64, Ordering};

use unforget_core::policy::Policy;
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;

/// Weight of a prompt by our ruler, to be compared with the provider's count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PromptWeight {
    /// Size as admitted.
    prompt: Tokens,
    /// Size by [`super::Session::total`].
    view: Tokens,
    /// Tokens taken off the budget for instructions and tools.
    beside: Tokens,
    /// Tokens by which a text that changes with every call may grow in the next prompt.
    varying: u64,
    /// Number of its beginning.
    beginning: u64,
    /// Digest of its beginning.
    print: u64,
}

impl PromptWeight {
    /// For a prompt with a text that changes with every call, such as recalled words.
    ///
    /// * `most` - tokens of the longest such text.
    #[must_use]
    pub const fn varying(self, most: u64) -> Self {
        Self { varying: most, ..self }
    }
}

/// A prompt that the provider counted, in both measures.
#[derive(Clone, Copy, Debug)]
struct CountedPrompt {
    prompt: Reported,
    view: Reported,
    beginning: u64,
}

/// The newest count of a session's prompts, as the store keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredCount {
    /// The counted prompt, as admitted.
    pub(crate) prompt: Reported,
    /// The counted prompt by [`super::Session::total`].
    pub(crate) view: Reported,
    /// Digest of its beginning; `None` if prompts have begun with something else since.
    pub(crate) beginning: Option<u64>,
}

/// Counts of one session's prompts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PromptCounts {
    /// The newest count.
    counted: Option<CountedPrompt>,
    /// Number of the prompts' present beginning, unique in the process: a late count never belongs to another
    /// beginning.
    beginning: u64,
    /// The first such number of the session: prompts with smaller ones were made before it was opened.
    first: u64,
    /// Tokens taken off the budget for instructions and tools beside the next prompt.
    beside: Tokens,
}

impl Default for PromptCounts {
    fn default() -> Self {
        let first = beginning();
        Self { counted: None, beginning: first, first, beside: Tokens::default() }
    }
}

/// A new number for a beginning.
fn beginning() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl PromptCounts {
    /// Weight of a prompt before its call.
    ///
    /// * `print` - digest of its beginning.
    pub(super) const fn weight(&self, prompt: Tokens, view: Tokens, print: u64) -> PromptWeight {
        let (beside, beginning) = (self.beside, self.beginning);
        PromptWeight { prompt, view, beside, varying: 0, beginning, print }
    }

    /// Whether a prompt was made before the session was opened, in an earlier one.
    pub(super) const fn is_of_before(&self, weight: &PromptWeight) -> bool {
        weight.beginning < self.first
    }

    /// The weight of a prompt of an earlier session, as one of this session if it begins as the next prompt does.
    ///
    /// * `present` - digest of that prompt's beginning.
    pub(super) const fn adopted(&self, weight: &PromptWeight, present: u64) -> PromptWeight {
        let beginning = if weight.print == present { self.beginning } else { weight.beginning };
        PromptWeight { beginning, ..*weight }
    }

    /// Tokens taken off the budget for instructions and tools beside the next prompt.
    pub(super) const fn charged(&self) -> u64 {
        self.beside.upper
    }

    /// The beginning of the prompts changes: no further prompt begins with the counted one.
    pub(super) fn broke(&mut self) {
        self.beginning = beginning();
    }

    /// Takes a count of a prompt. Counts may arrive in any order; a count of a shorter prompt with the same beginning is
    /// ignored.
    pub(super) fn take(&mut self, weight: &PromptWeight, counted: u64) {
        let says_less = |newest: &CountedPrompt| {
            newest.beginning == self.beginning
                && (weight.beginning != self.beginning || weight.view.upper < newest.view.messages().upper)
        };
        if self.counted.as_ref().is_some_and(says_less) {
            return;
        }
        let report = |messages| Reported::of(messages, weight.beside, counted + weight.varying);
        if let Some((prompt, view)) = report(weight.prompt).zip(report(weight.view)) {
            self.counted = Some(CountedPrompt { prompt, view, beginning: weight.beginning });
        }
    }

    /// The newest count, for the store.
    ///
    /// * `beginning` - digest of the prompts' present beginning.
    pub(super) fn to_store(self, beginning: u64) -> Option<StoredCount> {
        let counted = self.counted?;
        let beginning = self.is_beginning(&counted).then_some(beginning);
        Some(StoredCount { prompt: counted.prompt, view: counted.view, beginning })
    }

    /// Takes a stored count. It is exact for prompts that begin as the counted prompt did, and a rate for all others.
    ///
    /// * `present` - digest of the prompts' present beginning.
    pub(super) fn restore(&mut self, stored: &StoredCount, present: u64) {
        let is_same = stored.beginning == Some(present);
        let beginning = if is_same { self.beginning } else { beginning() };
        self.counted = Some(CountedPrompt { prompt: stored.prompt, view: stored.view, beginning });
    }

    /// Weight of a prompt, in the provider's tokens if a count is known.
    ///
    /// * `total` - of its sections, by our ruler.
    pub(super) fn prompt(&self, total: Tokens) -> Tokens {
        self.counted
            .map_or(total, |counted| counted.prompt.next(total, self.beside, self.is_beginning(&counted)))
    }

    /// Weight of a size by [`super::Session::total`], in the same tokens.
    pub(super) fn view(&self, total: Tokens) -> Tokens {
        self.counted
            .map_or(total, |counted| counted.view.next(total, self.beside, self.is_beginning(&counted)))
    }

    const fn is_beginning(&self, counted: &CountedPrompt) -> bool {
        counted.beginning == self.beginning
    }
}

impl PromptCounts {
    /// Sets the bound of instructions and tools beside the next prompt. It is taken off the prompt's budget.
    pub(super) const fn set_beside(&mut self, beside: Tokens) {
        self.beside = beside;
    }

    /// Takes the count of a call that was not made here. Its rate holds until a call of this session is counted.
    pub(super) fn learn(&mut self, reported: Reported) {
        let beginning = beginning();
        let counted = CountedPrompt { prompt: reported, view: reported, beginning };
        self.counted.get_or_insert(counted);
    }

    /// The policy in tokens of our bound, by the newest count.
    pub(super) fn scaled(&self, policy: &Policy) -> Policy {
        self.counted.map_or(*policy, |counted| counted.view.scaled(policy, self.beside))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prompt of 12,000 tokens by our bound, of which the provider counts 9,000.
    fn counted() -> (PromptCounts, PromptWeight) {
        let mut counts = PromptCounts::default();
        let ours = Tokens { expected: 10_000, upper: 12_000 };
        let weight = PromptWeight {
            prompt: ours,
            view: ours,
            beside: Tokens::default(),
            varying: 0,
            beginning: counts.beginning,
            print: 7,
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
        let table =
            [(counts, exact, "what is new, by its bound"), (broken, rate, "behind a break the rate holds")];
        for (counts, want, why) in table {
            assert_eq!(counts.prompt(next).upper, want, "{why}");
        }
        let restored = |present: u64| {
            let stored = counts.to_store(7).unwrap();
            let mut opened = PromptCounts::default();
            opened.restore(&stored, present);
            opened.prompt(next).upper
        };
        assert_eq!((restored(7), restored(8)), (exact, rate), "a stored count belongs to its beginning");
        assert_eq!(broken.to_store(7).unwrap().beginning, None, "which is over behind a break");
        let mut late = counts;
        late.take(&PromptWeight { view: Tokens { expected: 9_000, upper: 11_000 }, ..weight }, 8_000);
        assert_eq!(late.prompt(next).upper, exact, "an older count that arrives later says less");
        let mut again = PromptCounts::default();
        assert!(again.is_of_before(&weight) && !counts.is_of_before(&weight));
        let counted = |present: u64| {
            let mut again = again;
            again.take(&again.adopted(&weight, present), 9_000);
            again.prompt(next).upper
        };
        assert_eq!((counted(7), counted(8)), (exact, rate), "a count of a prompt of an earlier session");
        again.broke();
        assert!(again.is_of_before(&weight));
    }
}
