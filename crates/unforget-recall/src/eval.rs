//! Measures recall: questions with known evidence, asked over the turns of a conversation.
//!
//! Independent of files and clocks; the caller reads the data set and passes plain values.

use unforget_core::id::Timestamp;

use crate::calendar::{Day, month_named};
use crate::fields::DocTerms;
use crate::query::Query;
use crate::rank::{Limits, Tuning, search};
use crate::source::MemoryIndex;
use crate::terms::Analyser;

/// Sizes of the ranking's head that are reported, in entries.
pub const HEADS: [usize; 3] = [5, 10, 20];
/// Sizes of the ranking's head that are reported, in tokens (characters / 4).
pub const BUDGETS: [u64; 4] = [500, 1000, 2000, 4000];

/// A conversation with questions about it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// Its turns, oldest first.
    pub turns: Vec<Turn>,
    /// The questions.
    pub questions: Vec<Question>,
}

/// One turn.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Its name in the data set.
    pub id: String,
    /// Who speaks.
    pub author: String,
    /// The time, if known.
    pub time: Option<Timestamp>,
    /// The spoken text and shown content.
    pub text: String,
}

/// One question.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its text, which is all that the search gets.
    pub text: String,
    /// Its kind, for the report.
    pub category: String,
    /// Evidence in the data set's notation. See [`evidence`].
    pub evidence: Vec<String>,
}

/// Means over the questions of a category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Number of questions.
    pub questions: usize,
    /// Mean share of a question's evidence in the first [`HEADS`] hits.
    pub recall: [f64; HEADS.len()],
    /// Mean share of a question's evidence in the hits that fill the first [`BUDGETS`] tokens.
    pub within: [f64; BUDGETS.len()],
}

/// A whole evaluation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// By category, in order of name.
    pub categories: Vec<(String, Row)>,
    /// Over all questions.
    pub all: Row,
    /// Questions skipped because their evidence names no turn.
    pub skipped: usize,
    /// Time of each search in the caller's unit, ascending.
    pub times: Vec<f64>,
}

impl Report {
    /// Adds the result of one question.
    ///
    /// * `gold` - the turns that are evidence, at least one, without duplicates.
    /// * `ranked` - turns, best first.
    /// * `tokens_of` - tokens of a turn in its shown form.
    pub fn add(
        &mut self,
        category: &str,
        gold: &[usize],
        ranked: &[usize],
        tokens_of: impl Fn(usize) -> u64,
    ) {
        let share = |head: &[usize]| {
            gold.iter().filter(|turn| head.contains(turn)).count() as f64 / gold.len().max(1) as f64
        };
        let recall = HEADS.map(|head| share(ranked.get(..head).unwrap_or(ranked)));
        let within = BUDGETS.map(|budget| {
            let mut used = 0;
            let fits = ranked.iter().take_while(|&&turn| {
                used += tokens_of(turn);
                used <= budget
            });
            share(ranked.get(..fits.count()).unwrap_or_default())
        });
        let at = self.categories.binary_search_by(|row| row.0.as_str().cmp(category)).unwrap_or_else(|at| {
            self.categories.insert(at, (category.to_owned(), Row::default()));
            at
        });
        for row in self.categories.get_mut(at).map(|row| &mut row.1).into_iter().chain([&mut self.all]) {
            row.questions += 1;
            let weight = 1.0 / row.questions as f64;
            row.recall.iter_mut().zip(recall).for_each(|(mean, value)| *mean += (value - *mean) * weight);
            row.within.iter_mut().zip(within).for_each(|(mean, value)| *mean += (value - *mean) * weight);
        }
    }
}

/// Indexes each conversation by turn, asks its questions, and reports the results.
///
/// * `clock` - the current time in any increasing unit; a constant where time is irrelevant.
pub fn run(cases: &[Case], tuning: Tuning, clock: &mut dyn FnMut() -> f64) -> Report {
    let mut report = Report::default();
    let mut analyser = Analyser::new();
    for case in cases {
        let mut index = index(&mut analyser, &case.turns);
        for question in &case.questions {
            let gold = evidence(&question.evidence, &case.turns);
            if gold.is_empty() {
                report.skipped += 1;
                continue;
            }
            let started = clock();
            let limits = Limits { hits: 500, tuning, ..Limits::default() };
            let ranked = match Query::parse(&mut analyser, &question.text, None) {
                Ok(query) => {
                    let Ok(ranked) = search(&query, &mut index, &limits);
                    ranked.hits.iter().map(|hit| hit.seq as usize).collect()
                }
                Err(_) => Vec::new(),
            };
            report.times.push(clock() - started);
            let tokens_of = |turn: usize| {
                case.turns.get(turn).map_or(0, |turn: &Turn| turn.text.chars().count() as u64 / 4)
            };
            report.add(&question.category, &gold, &ranked, tokens_of);
        }
    }
    report.times.sort_by(f64::total_cmp);
    report
}

/// An index with one entry per turn, numbered from 0.
pub fn index(analyser: &mut Analyser, turns: &[Turn]) -> MemoryIndex {
    let mut index = MemoryIndex::new();
    let mut doc = DocTerms::new();
    for (seq, turn) in (0..).zip(turns) {
        doc.clear();
        doc.text(analyser, &turn.text);
        doc.author(analyser, &turn.author);
        if let Some(time) = turn.time {
            doc.time(time);
        }
        // The numbers ascend, so no entry is refused.
        let added = index.add(seq, &doc);
        debug_assert!(added.is_ok());
    }
    index
}

/// The turns named by the evidence, ascending, without duplicates.
///
/// Reads LoCoMo's strings, malformed ones included: several ids in one string (`D8:6; D9:17`), a stray colon
/// (`D:11:26`), leading zeros (`D30:05`). Text that names no turn is left out.
pub fn evidence(raw: &[String], turns: &[Turn]) -> Vec<usize> {
    let names = raw.iter().flat_map(|one| one.split(|c: char| c == ';' || c == ',' || c.is_whitespace()));
    let mut found: Vec<usize> = names
        .filter_map(numbers)
        .filter_map(|name| turns.iter().position(|turn| numbers(&turn.id) == Some(name)))
        .collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// `D3:7` as (3, 7).
fn numbers(id: &str) -> Option<(u32, u32)> {
    let (session, turn) = id.trim().strip_prefix('D')?.trim_start_matches(':').split_once(':')?;
    Some((session.parse().ok()?, turn.parse().ok()?))
}

/// Parses a time in LoCoMo's notation, `1:56 pm on 8 May, 2023`, as UTC.
pub fn spoken_time(text: &str) -> Option<Timestamp> {
    let (clock, date) = text.split_once(" on ")?;
    let (time, half) = clock.trim().split_once(' ')?;
    let (hour, minute) = time.split_once(':')?;
    let (hour, minute): (i64, i64) = (hour.parse().ok()?, minute.parse().ok()?);
    let hour = hour % 12 + if half.eq_ignore_ascii_case("pm") { 12 } else { 0 };
    let mut parts = date.split([' ', ',']).filter(|part| !part.is_empty());
    let day = parts.next()?.parse().ok()?;
    let month = month_named(&parts.next()?.to_lowercase())?;
    let year = parts.next()?.parse().ok()?;
    let start = Day { year, month, day }.start();
    Some(Timestamp(start.0 + (hour * 60 + minute) * 60_000))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, reason = "tests")]
    use super::*;

    fn turn(id: &str, text: &str) -> Turn {
        Turn { id: id.into(), author: "Ann".into(), time: None, text: text.into() }
    }

    #[test]
    fn evidence_table() {
        let turns = [turn("D8:6", ""), turn("D9:17", ""), turn("D11:26", ""), turn("D30:5", "")];
        let table: [(&[&str], &[usize], &str); 6] = [
            (&["D8:6; D9:17"], &[0, 1], "two in one string"),
            (&["D9:17 D8:6 D8:6"], &[0, 1], "spaces, and one twice"),
            (&["D:11:26"], &[2], "stray colon"),
            (&["D30:05"], &[3], "leading zero"),
            (&["D", "D10:19", ""], &[], "names no turn"),
            (&[], &[], "none at all"),
        ];
        for (raw, want, why) in table {
            let raw: Vec<String> = raw.iter().map(|&one| one.to_owned()).collect();
            assert_eq!(evidence(&raw, &turns), want, "{why}");
        }
    }

    #[test]
    fn time_table() {
        let table = [
            ("1:56 pm on 8 May, 2023", Some(1_683_554_160_000), "afternoon"),
            ("12:09 am on 13 September, 2023", Some(1_694_563_740_000), "midnight"),
            ("12:30 pm on 1 January, 1970", Some(45_000_000), "noon"),
            ("8 May 2023", None, "no time"),
        ];
        for (text, want, why) in table {
            assert_eq!(spoken_time(text), want.map(Timestamp), "{why}");
        }
    }

    #[test]
    fn means_are_over_questions() {
        let mut report = Report::default();
        report.add("b", &[1], &[1, 2], |_| 600);
        report.add("a", &[7, 8], &[1, 2, 3, 4, 5, 7], |_| 100);
        assert_eq!(report.all.recall, [0.5, 0.75, 0.75]);
        assert_eq!(report.all.within, [0.0, 0.75, 0.75, 0.75]);
        let names: Vec<&str> = report.categories.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn a_case_runs() {
        let questions = vec![
            Question {
                text: "Where is the cat?".into(),
                category: "1".into(),
                evidence: vec!["D1:2".into()],
            },
            Question { text: "Why?".into(), category: "1".into(), evidence: vec!["D9:9".into()] },
        ];
        let turns = vec![turn("D1:1", "Hello there"), turn("D1:2", "The cats sleep on the roof")];
        let report = run(&[Case { turns, questions }], Tuning::default(), &mut || 0.0);
        assert_eq!((report.skipped, report.all.questions, report.all.recall), (1, 1, [1.0; 3]));
    }
}
