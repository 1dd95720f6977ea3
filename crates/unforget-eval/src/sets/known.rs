//! Known items: a text of an agent's session, given back whole or in part, must find its entry. Drawn by seed.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use unforget_bench::{Random, identifiers};
use unforget_core::entry::{Entry, Origin, Part};
use unforget_wire::Reader;

use super::SetError;
use crate::case::{Case, Question, Turn};

/// Number of items of each kind.
const ITEMS: usize = 120;

/// Number of draws of each kind: persons' messages are few among the calls and results of tools.
const DRAWS_MAX: usize = 20_000;

/// Longest text that is given back whole, in characters: people paste no more into a search.
const WHOLE_CHARS: usize = 2_000;

/// Shortest word of an item, in letters.
const WORD_LETTERS: usize = 4;

/// How a text is given back.
#[derive(Clone, Copy)]
enum Kind {
    /// A message that a person typed, whole.
    Whole,
    /// The rarest words of an entry.
    ThreeWords,
    /// Any words of an entry, in their order.
    FiveWords,
    /// Consecutive words.
    Phrase,
    /// A path, number or id.
    Identifier,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Whole, Self::ThreeWords, Self::FiveWords, Self::Phrase, Self::Identifier];

    const fn name(self) -> &'static str {
        match self {
            Self::Whole => "whole message",
            Self::ThreeWords => "three words",
            Self::FiveWords => "five words",
            Self::Phrase => "phrase",
            Self::Identifier => "identifier",
        }
    }
}

/// All transcripts in one index, and the drawn items; `None` without entries.
///
/// # Errors
/// [`SetError::Read`] for a transcript.
pub(super) fn case(paths: &[PathBuf], seed: u64) -> Result<Option<Case>, SetError> {
    let mut items = Vec::new();
    for (session, path) in paths.iter().enumerate() {
        read(path, session, &mut items)?;
    }
    let typed: Vec<bool> = items.iter().map(|item| item.is_typed).collect();
    let turns: Vec<Turn> = items.into_iter().map(|item| item.turn).collect();
    if turns.is_empty() {
        return Ok(None);
    }
    let questions = Drawing::new(&turns, &typed, seed).questions();
    Ok(Some(Case { turns, questions }))
}

/// A turn of a transcript.
struct Item {
    turn: Turn,
    is_typed: bool,
}

fn read(path: &Path, session: usize, items: &mut Vec<Item>) -> Result<(), SetError> {
    let failed = |source| SetError::Read { path: path.to_path_buf(), source };
    let broken = |source| SetError::Transcript { path: path.to_path_buf(), source };
    let mut reader = Reader::open(BufReader::new(File::open(path).map_err(failed)?)).map_err(broken)?;
    while let Some(record) = reader.next_record().map_err(broken)? {
        let entry = record.entry;
        let text = words(&entry);
        if entry.origin.is_visible() && !text.trim().is_empty() {
            let author = entry.author.unwrap_or_default();
            let turn = Turn { author, role: entry.role, time: entry.time, session, text };
            items.push(Item { turn, is_typed: entry.origin == Origin::Human });
        }
    }
    Ok(())
}

/// The text of an entry, as the search index reads it.
fn words(entry: &Entry) -> String {
    fn add(text: &mut String, part: &Part) {
        match part {
            Part::Text(words) | Part::Thinking { text: words, .. } => text.push_str(words),
            Part::ToolCall(call) => {
                text.push_str(&call.name);
                text.push(' ');
                text.push_str(&call.arguments);
            }
            Part::ToolResult(result) => result.content.iter().for_each(|part| add(text, part)),
            Part::Media(_) | Part::Opaque { .. } => return,
        }
        text.push('\n');
    }
    let mut text = String::new();
    entry.parts.iter().for_each(|part| add(&mut text, part));
    text
}

/// Draws items from turns.
struct Drawing<'a> {
    turns: &'a [Turn],
    /// Whether a person typed the turn, by place.
    typed: &'a [bool],
    /// Number of turns with a word.
    counts: HashMap<String, usize>,
    random: Random,
}

impl<'a> Drawing<'a> {
    fn new(turns: &'a [Turn], typed: &'a [bool], seed: u64) -> Self {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for turn in turns {
            let mut own: Vec<String> = plain_words(&turn.text).collect();
            own.sort_unstable();
            own.dedup();
            for word in own {
                *counts.entry(word).or_default() += 1;
            }
        }
        Self { turns, typed, counts, random: Random::new(seed) }
    }

    fn questions(mut self) -> Vec<Question> {
        let mut questions: Vec<Question> = Vec::new();
        for kind in Kind::ALL {
            // Some draws give nothing: a turn without words, a text that was drawn before.
            let mut drawn: Vec<Question> = Vec::new();
            for _ in 0..DRAWS_MAX {
                if drawn.len() == ITEMS {
                    break;
                }
                let place = self.random.below(self.turns.len());
                if matches!(kind, Kind::Whole) && !self.typed.get(place).is_some_and(|typed| *typed) {
                    continue;
                }
                let new = self.turns.get(place).and_then(|turn| self.item(kind, turn));
                drawn.extend(new.filter(|new| drawn.iter().all(|old| old.text != new.text)));
            }
            questions.extend(drawn);
        }
        questions
    }

    /// An item of a turn; `None` if the turn has none of this kind.
    fn item(&mut self, kind: Kind, turn: &Turn) -> Option<Question> {
        let text = turn.text.trim();
        let (asked, evidence) = match kind {
            Kind::Whole => {
                let is_short = text.chars().count() <= WHOLE_CHARS;
                (is_short && plain_words(text).count() > 0)
                    .then(|| (text.to_owned(), self.places(|other| other.text.trim() == text)))?
            }
            Kind::ThreeWords => {
                let mut words: Vec<String> = plain_words(text).collect();
                words.sort_unstable();
                words.dedup();
                words.sort_by_key(|word| self.counts.get(word).copied().unwrap_or_default());
                words.truncate(3);
                let has_all = |other: &Turn| {
                    let theirs: Vec<String> = plain_words(&other.text).collect();
                    words.iter().all(|word| theirs.contains(word))
                };
                (words.len() == 3).then(|| (words.join(" "), self.places(has_all)))?
            }
            Kind::FiveWords => {
                let mut words: Vec<String> = plain_words(text).collect();
                words.dedup();
                while words.len() > 5 {
                    words.remove(self.random.below(words.len()));
                }
                (words.len() == 5)
                    .then(|| (words.join(" "), self.places(|other| other.text.trim() == text)))?
            }
            Kind::Phrase => {
                let words: Vec<&str> = text.split_whitespace().collect();
                let start = self.random.below(words.len().saturating_sub(6));
                let phrase = words.get(start..start + 6)?.join(" ");
                let has = |other: &Turn| squeezed(&other.text).contains(&phrase);
                (plain_words(&phrase).count() > 2).then(|| (phrase.clone(), self.places(has)))?
            }
            Kind::Identifier => {
                let all = identifiers(text);
                let (_, name) = all.get(self.random.below(all.len()))?.clone();
                let has = |other: &Turn| other.text.contains(&name);
                (name.len() > 5 && name.len() < 80).then(|| (name.clone(), self.places(has)))?
            }
        };
        Some(Question { text: asked, category: kind.name().to_owned(), evidence, any: true })
    }

    fn places(&self, is_wanted: impl Fn(&Turn) -> bool) -> Vec<usize> {
        (0..).zip(self.turns).filter(|(_, turn)| is_wanted(turn)).map(|(place, _)| place).collect()
    }
}

/// Words of letters, long enough to ask for, in lower case, in order.
fn plain_words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let is_plain =
        |word: &&str| word.chars().count() >= WORD_LETTERS && word.chars().all(char::is_alphabetic);
    words.filter(is_plain).map(str::to_lowercase)
}

/// The text with single spaces.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use unforget_core::entry::Role;

    use super::*;

    #[test]
    fn every_kind_finds_its_turn() {
        let text = |at: usize| {
            let word = |number: usize| {
                char::from_digit(10 + (number % 26) as u32, 36)
                    .map(|c| c.to_string().repeat(5))
                    .unwrap_or_default()
            };
            format!(
                "{} {} please check src/part_{at}.rs for broken handles once more",
                word(at),
                word(at * 7 + 3)
            )
        };
        let turn = |at: usize| Turn {
            author: String::new(),
            role: Role::User,
            time: None,
            session: 0,
            text: text(at),
        };
        let turns: Vec<Turn> = (0..20).map(turn).collect();
        let questions = Drawing::new(&turns, &[true; 20], 7).questions();
        for kind in Kind::ALL {
            let own: Vec<&Question> = questions.iter().filter(|one| one.category == kind.name()).collect();
            assert!(!own.is_empty(), "{}", kind.name());
            assert!(own.iter().all(|one| !one.evidence.is_empty() && one.any), "{}", kind.name());
        }
        assert_eq!(
            Drawing::new(&turns, &[true; 20], 7).questions().len(),
            questions.len(),
            "equal seeds draw equally"
        );
    }
}
