//! What a search found of the known evidence.
//!
//! Independent of files and clocks; the caller reads the data sets and passes plain values.

use crate::arms::Arm;
use crate::case::{Case, Question, Turn};

/// Sizes of the ranking's head that are reported, in entries.
pub const HEADS: [usize; 4] = [1, 5, 10, 20];
/// Sizes of the ranking's head that are reported, in tokens (characters / 4).
pub const BUDGETS: [u64; 4] = [500, 1000, 2000, 4000];

/// Number of results asked of an arm.
const RESULTS: usize = 500;

/// Means over the questions of a category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Number of questions.
    pub questions: usize,
    /// Mean share of a question's evidence in the first [`HEADS`] hits.
    pub recall: [f64; HEADS.len()],
    /// Mean share of a question's evidence in the hits that fill the first [`BUDGETS`] tokens.
    pub within: [f64; BUDGETS.len()],
    /// Share of the questions whose whole evidence is in the first ten hits.
    pub all_in_ten: f64,
    /// Share of the questions whose first session has evidence.
    pub session_first: f64,
    /// Share of the questions with evidence in the first five sessions.
    pub session_five: f64,
    /// Mean of 1 / place of the first session with evidence.
    pub session_rank: f64,
}

impl Row {
    /// Takes one more question into the means.
    fn add(&mut self, one: &Self) {
        self.questions += 1;
        let weight = 1.0 / self.questions as f64;
        let step = |mean: &mut f64, value: f64| *mean += (value - *mean) * weight;
        self.recall.iter_mut().zip(one.recall).for_each(|(mean, value)| step(mean, value));
        self.within.iter_mut().zip(one.within).for_each(|(mean, value)| step(mean, value));
        step(&mut self.all_in_ten, one.all_in_ten);
        step(&mut self.session_first, one.session_first);
        step(&mut self.session_five, one.session_five);
        step(&mut self.session_rank, one.session_rank);
    }
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
    /// Adds the result of one question about the turns of a case.
    ///
    /// * `ranked` - turns by place, best first.
    pub fn add(&mut self, turns: &[Turn], question: &Question, ranked: &[usize]) {
        let one = measured(turns, question, ranked);
        let category = question.category.as_str();
        let at = self.categories.binary_search_by(|row| row.0.as_str().cmp(category)).unwrap_or_else(|at| {
            self.categories.insert(at, (category.to_owned(), Row::default()));
            at
        });
        for row in self.categories.get_mut(at).map(|row| &mut row.1).into_iter().chain([&mut self.all]) {
            row.add(&one);
        }
    }
}

/// The measures of one question.
fn measured(turns: &[Turn], question: &Question, ranked: &[usize]) -> Row {
    let share = |head: &[usize]| {
        let found = question.evidence.iter().filter(|turn| head.contains(turn)).count();
        let wanted = if question.any { 1 } else { question.evidence.len().max(1) };
        (found as f64 / wanted as f64).min(1.0)
    };
    let head = |most: usize| share(ranked.get(..most).unwrap_or(ranked));
    let within = BUDGETS.map(|budget| {
        let mut used = 0;
        let fits = ranked.iter().take_while(|turn| {
            used += turns.get(**turn).map_or(0, |turn| turn.text.chars().count() as u64 / 4);
            used <= budget
        });
        share(ranked.get(..fits.count()).unwrap_or_default())
    });
    let session = |turn: &usize| turns.get(*turn).map(|turn| turn.session);
    let mut sessions: Vec<usize> = Vec::new();
    for found in ranked.iter().filter_map(session) {
        if !sessions.contains(&found) {
            sessions.push(found);
        }
    }
    let wanted: Vec<usize> = question.evidence.iter().filter_map(session).collect();
    let place = sessions.iter().position(|found| wanted.contains(found));
    Row {
        questions: 1,
        recall: HEADS.map(head),
        within,
        all_in_ten: f64::from(u8::from(head(10) >= 1.0)),
        session_first: f64::from(u8::from(place == Some(0))),
        session_five: f64::from(u8::from(place.is_some_and(|place| place < 5))),
        session_rank: place.map_or(0.0, |place| 1.0 / (place + 1) as f64),
    }
}

/// Asks the questions of a case and adds the results to a report.
///
/// * `clock` - the current time in any increasing unit; a constant where time is irrelevant.
///
/// # Errors
/// Those of the arm. The report then holds the questions before.
pub fn run(
    case: &Case,
    arm: &mut dyn Arm,
    clock: &mut dyn FnMut() -> f64,
    report: &mut Report,
) -> Result<(), String> {
    for question in &case.questions {
        if question.evidence.is_empty() {
            report.skipped += 1;
            continue;
        }
        let started = clock();
        let ranked = arm.ask(&question.text, RESULTS)?;
        report.times.push(clock() - started);
        report.add(&case.turns, question, &ranked);
    }
    report.times.sort_by(f64::total_cmp);
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::float_cmp, clippy::unwrap_used, reason = "tests")]
    use unforget_core::entry::Role;
    use unforget_recall::tuning::Tuning;

    use super::*;
    use crate::arms::{FullText, Ranking};

    fn turn(session: usize, text: &str) -> Turn {
        Turn { author: "Ann".into(), role: Role::None, time: None, session, text: text.into() }
    }

    fn question(category: &str, evidence: &[usize], any: bool) -> Question {
        Question {
            text: "Where is the cat?".into(),
            category: category.into(),
            evidence: evidence.to_vec(),
            any,
        }
    }

    #[test]
    fn means_are_over_questions() {
        let turns: Vec<Turn> = (0..9).map(|at| turn(at / 3, &"abcd".repeat(at * 100))).collect();
        let mut report = Report::default();
        report.add(&turns, &question("b", &[1], false), &[5, 1]);
        report.add(&turns, &question("a", &[7, 8], false), &[1, 2, 3, 4, 5, 7]);
        assert_eq!(report.all.recall, [0.0, 0.5, 0.75, 0.75]);
        assert_eq!(report.all.within, [0.0, 0.5, 0.5, 0.75], "hits of 100 tokens and more");
        assert_eq!(
            (report.all.all_in_ten, report.all.session_first, report.all.session_five),
            (0.5, 0.0, 1.0)
        );
        assert_eq!(report.all.session_rank, f64::midpoint(1.0 / 2.0, 1.0 / 3.0));
        let names: Vec<&str> = report.categories.iter().map(|row| row.0.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }

    #[test]
    fn one_of_equal_turns_is_enough() {
        let turns = [turn(0, "a"), turn(0, "a"), turn(0, "b")];
        let recall = |any| measured(&turns, &question("a", &[0, 1], any), &[1, 2]).recall[0];
        assert_eq!((recall(true), recall(false)), (1.0, 0.5));
    }

    #[test]
    fn a_case_runs() {
        let turns = vec![turn(0, "Hello there"), turn(0, "The cats sleep on the roof")];
        let case = Case { turns, questions: vec![question("1", &[1], false), question("1", &[], false)] };
        let arms: [Box<dyn Arm>; 2] = [
            Box::new(Ranking::new(&case.turns, Tuning::default())),
            Box::new(FullText::new(&case.turns).unwrap()),
        ];
        for mut arm in arms {
            let mut report = Report::default();
            run(&case, arm.as_mut(), &mut || 0.0, &mut report).unwrap();
            assert_eq!((report.skipped, report.all.questions, report.all.recall), (1, 1, [1.0; 4]));
        }
    }
}
