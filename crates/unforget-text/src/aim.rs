//! The newest request of a summary, with what a person agreed to or chose by a word or two.

use crate::sections::{AGREED, CHOSEN, EARLIER, Item, SectionKind, State, Summary};

/// Maximum number of requests shown as the newest: a few short ones, and the longer request before them.
const REQUESTS_MAX: usize = 3;

/// Words from which a request says something by itself.
const WORDS_MIN: usize = 4;

impl Summary {
    /// Index, among the requests, of the first of the newest ones: back to one with more content than `yes, do it`, and
    /// further while the request before was not answered.
    pub(crate) fn aim(&self) -> usize {
        let asks = self.items(SectionKind::Goal);
        let last = asks.len().saturating_sub(1);
        let telling = asks.iter().rposition(|ask| !is_short(ask));
        let at = telling.filter(|at| last - at < REQUESTS_MAX).unwrap_or(last);
        let is_left = |ask: &Item| ask.text != EARLIER && matches!(ask.state, State::Open | State::Fact);
        let before = asks.get((last + 1).saturating_sub(REQUESTS_MAX)..at).unwrap_or_default();
        at - before.iter().rev().take_while(|ask| is_left(ask)).count()
    }

    /// Whether a text is what one of the newest requests replies to.
    pub(crate) fn is_reply_of_aim(&self, text: &Item) -> bool {
        let newest = self.items(SectionKind::Goal).iter().skip(self.aim());
        text.seqs.get(1).is_some_and(|asked| newest.flat_map(|ask| &ask.seqs).any(|seq| seq == asked))
    }

    /// Whether a text is what a request without an answer replies to.
    pub(crate) fn is_open_reply(&self, text: &Item) -> bool {
        let is_open = |ask: &Item| ask.state == State::Open;
        self.is_reply_of_aim(text) && self.items(SectionKind::Goal).last().is_some_and(is_open)
    }

    /// Whether a decision is what one of the newest requests agreed to or chose.
    pub(crate) fn is_of_aim(&self, decision: &Item) -> bool {
        let newest = self.items(SectionKind::Goal).iter().skip(self.aim());
        let is_made_by_a_word = decision.text.starts_with(AGREED) || decision.text.starts_with(CHOSEN);
        is_made_by_a_word && newest.flat_map(|ask| &ask.seqs).any(|asked| decision.seqs.contains(asked))
    }
}

/// Whether a request says little by itself.
pub(crate) fn is_short(ask: &Item) -> bool {
    ask.text == EARLIER || (ask.text.is_ascii() && ask.text.split_whitespace().count() < WORDS_MIN)
}
