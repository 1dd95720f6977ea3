//! The newest request of a summary, with what a person agreed to or chose by a word or two.

use crate::sections::{AGREED, CHOSEN, EARLIER, Item, SectionKind, Summary};

/// Maximum number of requests shown as the newest: a few short ones, and the longer request before them.
const REQUESTS_MAX: usize = 3;

/// Words from which a request says something by itself.
const WORDS_MIN: usize = 4;

impl Summary {
    /// Index, among the requests, of the first of the newest ones: back to one with more content than `yes, do it`.
    pub(crate) fn aim(&self) -> usize {
        let asks = self.items(SectionKind::Goal);
        let telling = asks.iter().rposition(|ask| !is_short(ask));
        let last = asks.len().saturating_sub(1);
        telling.filter(|at| last - at < REQUESTS_MAX).unwrap_or(last)
    }

    /// Whether a decision is what one of the newest requests agreed to or chose.
    pub(crate) fn is_of_aim(&self, decision: &Item) -> bool {
        let newest = self.items(SectionKind::Goal).iter().skip(self.aim());
        let is_made_by_a_word = decision.text.starts_with(AGREED) || decision.text.starts_with(CHOSEN);
        is_made_by_a_word
            && newest.filter_map(|ask| ask.seqs.first()).any(|asked| decision.seqs.contains(asked))
    }
}

/// Whether a request says little by itself.
pub(crate) fn is_short(ask: &Item) -> bool {
    ask.text == EARLIER || (ask.text.is_ascii() && ask.text.split_whitespace().count() < WORDS_MIN)
}
