//! Texts whose words another text repeats.

use std::collections::{BTreeMap, BTreeSet};

/// Number of words in a row that make a repetition.
const RUN: usize = 3;

/// Minimum length of a single word that makes a repetition, in characters: an identifier, a path, a credential.
const LONG_WORD: usize = 12;

/// The words of a few texts, to be looked for in many others.
#[derive(Debug, Default)]
pub struct RepeatedWords {
    /// Runs of words, and the texts that have them.
    runs: BTreeMap<String, BTreeSet<usize>>,
}

impl RepeatedWords {
    /// Takes the texts. A text of fewer words than a run counts as a whole.
    ///
    /// Cost: O(bytes).
    pub fn new<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let mut of = Self::default();
        for (index, text) in texts.into_iter().enumerate() {
            let words = words(text);
            let length = RUN.min(words.len().max(1));
            let long = words.iter().filter(|word| is_long(word)).cloned();
            for run in words.windows(length).map(|run| run.join(" ")).chain(long) {
                of.runs.entry(run).or_default().insert(index);
            }
        }
        of
    }

    /// Indexes of the texts that share three words in a row or one long word with `said`, whatever their case and the signs
    /// around them; texts of one or two words, that stand in `said`.
    ///
    /// Cost: O(bytes × log runs).
    pub fn in_text(&self, said: &str) -> BTreeSet<usize> {
        if self.runs.is_empty() {
            return BTreeSet::new();
        }
        let words = words(said);
        let runs = (1..=RUN).flat_map(|length| words.windows(length));
        runs.filter_map(|run| self.runs.get(&run.join(" "))).flatten().copied().collect()
    }
}

/// The words of a text, in lower case, without the signs around them.
fn words(text: &str) -> Vec<String> {
    let bare = |word: &str| word.trim_matches(|letter: char| !letter.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

fn is_long(word: &str) -> bool {
    word.chars().count() >= LONG_WORD
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_words_table() {
        let texts = ["Never push to main.", "token: hunter2-hunter2", "be brief", ""];
        let repeated = RepeatedWords::new(texts);
        let table: [(&str, &[usize]); 9] = [
            ("", &[]),
            ("never push", &[]),
            ("You must NEVER push  to\nthe fork", &[0]),
            ("push to main", &[0]),
            ("the old one was `hunter2-hunter2`, drop it", &[1]),
            ("hunter2", &[]),
            ("Please, be brief!", &[2]),
            ("be very brief", &[]),
            ("be brief, never push to", &[0, 2]),
        ];
        for (said, want) in table {
            assert_eq!(repeated.in_text(said), want.iter().copied().collect(), "{said}");
        }
    }
}
