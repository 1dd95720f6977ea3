//! Decides whether a text holds an answer: letter by letter, or by most of its words close together.

use std::collections::{BTreeMap, BTreeSet};

/// The required content of an answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::bench) enum Answer {
    /// All of these, letter by letter, as whole words.
    All(Vec<String>),
    /// Most of these content words, close together.
    Near(Vec<String>),
}

/// Size of the window for an answer, in content words.
const WINDOW: usize = 50;

/// Required share of an answer's words, in percent.
const SHARE: usize = 60;

/// Number of letters compared per word, so that endings do not count.
const LETTERS: usize = 6;

/// The most common words of four letters and more, which mean nothing.
const COMMON: [&str; 56] = [
    "about", "after", "again", "also", "because", "been", "before", "being", "both", "cannot", "could",
    "does", "doing", "done", "each", "every", "from", "have", "here", "instead", "into", "just", "like",
    "made", "make", "more", "most", "need", "never", "only", "other", "over", "same", "should", "some",
    "sure", "than", "that", "their", "them", "then", "there", "these", "they", "this", "those", "want",
    "were", "what", "when", "where", "which", "will", "with", "would", "your",
];

/// A text prepared for questions.
pub(in crate::bench) struct Page {
    blanks: String,
    words: Vec<String>,
}

impl Page {
    pub(in crate::bench) fn new(text: &str) -> Self {
        let blanks = text.split_whitespace().collect::<Vec<_>>().join(" ");
        Self { words: words(text).collect(), blanks }
    }

    /// Whether the text holds the answer.
    pub(in crate::bench) fn tells(&self, answer: &Answer) -> bool {
        match answer {
            Answer::All(names) => names.iter().all(|name| super::super::needles::says(&self.blanks, name)),
            Answer::Near(wanted) => self.has_near(wanted),
        }
    }

    /// Slides a window over the words.
    fn has_near(&self, wanted: &[String]) -> bool {
        let wanted: BTreeSet<&str> = wanted.iter().map(String::as_str).collect();
        let least = (wanted.len() * SHARE).div_ceil(100);
        let mut inside: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, word) in self.words.iter().enumerate() {
            if let Some(old) = at.checked_sub(WINDOW).and_then(|old| self.words.get(old))
                && let Some(count) = inside.get_mut(old.as_str())
            {
                *count -= 1;
                if *count == 0 {
                    inside.remove(old.as_str());
                }
            }
            if wanted.contains(word.as_str()) {
                *inside.entry(word).or_default() += 1;
                if inside.len() >= least {
                    return true;
                }
            }
        }
        false
    }
}

/// The distinct content words of a sentence, in the form for comparison.
pub(in crate::bench) fn content_words(text: &str) -> Vec<String> {
    words(text).collect::<BTreeSet<_>>().into_iter().collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= 4);
    let words = words.map(str::to_lowercase).filter(|word| !COMMON.contains(&word.as_str()));
    words.map(|word| word.chars().take(LETTERS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn telling_table() {
        let all = |names: &[&str]| Answer::All(names.iter().map(|name| (*name).to_owned()).collect());
        let near = |text: &str| Answer::Near(content_words(text));
        let far =
            format!("cache {} expired {} session {} token", "x ", "filler ".repeat(80), "filler ".repeat(80));
        let sentence = "The session cache expired because the token clock drifted";
        let table = [
            (all(&["store.rs"]), "changed `store.rs` twice", true, "a whole word"),
            (all(&["store.rs"]), "changed restore.rs", false, "a part of another word"),
            (all(&["it_opens", "store.rs"]), "it_opens passes", false, "both are wanted"),
            (near(sentence), "token clocks drift, so the cache of sessions expires", true, "in other words"),
            (near(sentence), far.as_str(), false, "its words, far apart"),
            (near(sentence), "the cache is fine", false, "one of its words"),
        ];
        for (answer, text, want, why) in table {
            assert_eq!(Page::new(text).tells(&answer), want, "{why}: {text}");
        }
    }
}
