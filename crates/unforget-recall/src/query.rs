//! Queries: turns a person's or a model's words into weighted terms. Any text is a query; there is no syntax to get
//! wrong. Words in quotes and identifiers weigh more, stop words less. Only [`Query::only`] excludes entries.

use std::ops::Range;

use unforget_core::id::Timestamp;

use crate::calendar::Day;
use crate::fields::{author_word_term, day_term, month_name_term, month_term, year_term};
use crate::terms::{Analyser, Shape, Sink, Term};
use crate::words;

mod dates;

/// Weight of an identifier, a quoted word, or a single ideograph beside a pair, where a plain word has 1.
const WHOLE_WEIGHT: f32 = 2.0;
const QUOTED_WEIGHT: f32 = 1.5;
const SINGLE_WEIGHT: f32 = 0.3;

/// Most distinct terms of a query that are looked up. See [`Query::ignored`].
pub const TERMS_MAX: usize = 256;

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The terms to look for, with weights above 0, without duplicates.
    pub terms: Vec<QueryTerm>,
    /// Entries with such a term are likelier: days, months.
    pub hints: Vec<Hint>,
    /// Whether the query asks for failures, so that entries that failed are likelier.
    pub asks_failures: bool,
    /// Entries must have all of these: role, author, tool. Empty for no restriction.
    pub only: Vec<Term>,
    /// Number of terms beyond [`TERMS_MAX`], which are not looked up. 0 for any query written by a person.
    pub ignored: usize,
}

/// One term to look for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueryTerm {
    /// The term.
    pub term: Term,
    /// Its weight; 1 for a plain word.
    pub weight: f32,
    /// How the ranking treats it.
    pub kind: Kind,
    /// The author term, if the word is a name.
    pub author: Option<Term>,
}

/// How the ranking treats a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A word of a language: entries near a match are likelier too.
    Word,
    /// A word with little content: like [`Kind::Word`], with a small weight.
    Stop,
    /// An identifier, a number, or quoted text: only entries that contain it are meant.
    Exact,
}

/// A property that makes entries likelier without a common word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hint {
    /// The field term.
    pub term: Term,
    /// How much likelier, from 0 to 1.
    pub strength: f32,
}

/// Why a query cannot be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It has no letter, digit, ideograph or emoji.
    #[error("the query has no words; use grep to search for punctuation")]
    Empty,
}

/// The time that a text names, `yesterday` or `in May 2023`, in UTC: the first that stands in it; `None` for a month of any year.
///
/// * `now` - reference of relative words.
pub fn time_range(text: &str, now: Timestamp) -> Option<Range<Timestamp>> {
    dates::spans(text, Some(Day::of(now))).into_iter().find_map(|(span, _)| span.range())
}

impl Query {
    /// Reads a query.
    ///
    /// * `now` - reference for `yesterday` and `last week`; `None` treats these as plain words.
    ///
    /// # Errors
    /// [`QueryError::Empty`] if there is nothing to look for.
    pub fn parse(analyser: &mut Analyser, text: &str, now: Option<Timestamp>) -> Result<Self, QueryError> {
        let mut query = Self::default();
        for (part, quoted) in split_quotes(text) {
            analyser.text(part, &mut Reader { query: &mut query, quoted });
        }
        for (days, strength) in dates::spans(text, now.map(Day::of)) {
            query.hint(days, strength);
        }
        if query.terms.is_empty() && query.hints.is_empty() { Err(QueryError::Empty) } else { Ok(query) }
    }

    /// Restricts the search to entries that have all of these field terms.
    #[must_use]
    pub fn only(mut self, terms: impl IntoIterator<Item = Term>) -> Self {
        self.only.extend(terms);
        self
    }

    fn add(&mut self, new: QueryTerm) {
        if let Some(known) = self.terms.iter_mut().find(|known| known.term == new.term) {
            if new.weight > known.weight {
                *known = new;
            }
        } else if self.terms.len() < TERMS_MAX {
            self.terms.push(new);
        } else {
            self.ignored += 1;
        }
    }

    fn hint(&mut self, span: dates::Span, strength: f32) {
        let terms: Vec<(Term, f32)> = match span {
            dates::Span::Days(first, count) => {
                // Events are often reported on their day or some days later.
                let after = [0.6, 0.4, 0.3, 0.2, 0.2, 0.1, 0.1];
                let inside = (0..count).map(|add| (add, 1.0));
                let later = (count..).zip(after);
                inside
                    .chain(later)
                    .map(|(add, part)| (day_term(Day::from_number(first.number() + add)), part))
                    .collect()
            }
            dates::Span::Month(day) => vec![(month_term(day), 1.0)],
            dates::Span::MonthName(month) => vec![(month_name_term(month), 1.0)],
            dates::Span::Year(year) => vec![(year_term(year), 0.5)],
        };
        for (term, part) in terms {
            if self.hints.len() < TERMS_MAX {
                self.hints.push(Hint { term, strength: strength * part });
            } else {
                self.ignored += 1;
            }
        }
    }
}

/// Collects the terms of one part of a query.
struct Reader<'a> {
    query: &'a mut Query,
    quoted: bool,
}

impl Sink for Reader<'_> {
    fn term(&mut self, term: Term, shape: Shape, source: &[u8]) {
        let stop =
            || std::str::from_utf8(source).is_ok_and(|word| words::is_stop(&word.to_ascii_lowercase()));
        let is_failure =
            || std::str::from_utf8(source).is_ok_and(|word| words::is_failure(&word.to_ascii_lowercase()));
        if matches!(shape, Shape::Word | Shape::Piece) && is_failure() {
            self.query.asks_failures = true;
        }
        let (weight, kind) = match shape {
            Shape::Word | Shape::Piece if stop() => (1.0, Kind::Stop),
            Shape::Word | Shape::Piece | Shape::Pair => (1.0, Kind::Word),
            Shape::Number => (1.0, Kind::Exact),
            Shape::Whole => (WHOLE_WEIGHT, Kind::Exact),
            Shape::Also => (SINGLE_WEIGHT, Kind::Word),
        };
        let (weight, kind) = match kind {
            Kind::Word | Kind::Exact if self.quoted => (weight * QUOTED_WEIGHT, Kind::Exact),
            kind => (weight, kind),
        };
        let author = (kind == Kind::Word && shape != Shape::Also).then(|| author_word_term(term));
        self.query.add(QueryTerm { term, weight, kind, author });
    }
}

/// Splits at double quotes of all kinds: parts, and whether they are quoted. An unpaired quote extends to the end of
/// the text.
fn split_quotes(text: &str) -> impl Iterator<Item = (&str, bool)> {
    let quote = |c| matches!(c, '"' | '\u{201C}' | '\u{201D}' | '\u{201E}' | '\u{00AB}' | '\u{00BB}' | '`');
    text.split(quote).enumerate().map(|(index, part)| (part, index % 2 == 1))
}

#[cfg(test)]
mod tests;
