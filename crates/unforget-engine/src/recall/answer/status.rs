//! Questions about the state of the work, answered from ledgers and from what sessions left, across sessions.
//!
//! The rows are made from the log already; an answer shows them word for word, each with the entry that it is from. What the
//! words of the question name narrows them; without a subject the newest session answers.

use std::ops::Range;

use unforget_core::estimate::ClassEstimate;
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::ledger::{CommandRow, Failure, FileChange, Ledger, Outcome, TaskState};
use unforget_core::tokens::Ruler as _;
use unforget_recall::coverage::{Coverage, TermWeight};
use unforget_recall::query::{Kind, Query, time_range};
use unforget_recall::terms::Analyser;
use unforget_store::Conversation;
use unforget_text::{MemoryKind, QuoteKind, StatusKind, StatusQuestion};
use unforget_wire::{Format, decode};

use super::gather::{Gathered, ReadExtent};
use super::standing::standing;
use super::{AnswerLine, Evidence};
use crate::internal::is_internal;
use crate::ledger::Folded;
use crate::recall::text;
use crate::recall::verdict::VerdictCache;
use crate::rows::{stored_raw, stored_row};
use crate::{Engine, EngineError};

/// Number of sessions that are asked, the newest first.
const SESSIONS_MAX: usize = 50;

/// Entries that are folded for one question, of all sessions together: about half a second. Sessions behind them answer from
/// what is kept.
const FOLD_MAX: u64 = 10_000;

/// Most lines of an answer about the state.
const LINES_MAX: usize = 12;

/// Most tokens of these lines together.
const LINES_TOKENS: u64 = 450;

/// Share of the question's subject that a row holds at least.
const SHARE_MIN: f32 = 0.5;

/// Most characters of an entry that stands behind a line.
const PASSAGE_CHARS: usize = 400;

/// What is known of the state of the work.
#[derive(Default)]
pub(super) struct StatusLines {
    /// In order of weight.
    pub(super) lines: Vec<AnswerLine>,
    /// Entries of sessions that were not read.
    pub(super) behind: u64,
    /// Whether they are the whole answer, even if there are none: passages with the question's letters would be no answer.
    pub(super) is_whole: bool,
}

/// A row that answers.
pub(super) struct StatusRow {
    pub(super) kind: QuoteKind,
    pub(super) text: String,
    pub(super) seq: Seq,
    /// Whether the subject of the question is in it, or in what it belongs to.
    pub(super) is_about: bool,
}

/// The subject of a question.
struct Subject {
    coverage: Option<Coverage>,
    /// The name of a file in it.
    file: Option<String>,
    analyser: Analyser,
}

impl Subject {
    fn of(question: &StatusQuestion) -> Self {
        let mut analyser = Analyser::new();
        let parsed = Query::parse(&mut analyser, &question.about, None).ok();
        let terms: Vec<_> = parsed.map(|query| query.terms).unwrap_or_default();
        let weights: Vec<_> = terms
            .iter()
            .filter(|term| term.kind != Kind::Stop)
            .map(|term| TermWeight { term: term.term, weight: term.weight })
            .collect();
        // Near words would take one test for another.
        let coverage = (!weights.is_empty()).then(|| Coverage::new(&weights, 0.0));
        let is_file = |word: &&str| {
            word.contains('/') || (word.len() > 3 && word.get(1..).is_some_and(|rest| rest.contains('.')))
        };
        let file = question.about.split_whitespace().find(is_file).map(str::to_owned);
        Self { coverage, file, analyser }
    }

    /// Whether the question names no subject.
    const fn is_all(&self) -> bool {
        self.coverage.is_none()
    }

    fn is_in(&mut self, text: &str) -> bool {
        let Some(coverage) = &self.coverage else { return true };
        coverage.of(&mut self.analyser, text) >= SHARE_MIN
    }

    /// Whether a path ends in the named file.
    fn is_file(&mut self, path: &str) -> bool {
        match &self.file {
            Some(file) => {
                let file = file.trim_start_matches("./");
                path.strip_suffix(file)
                    .is_some_and(|before| before.is_empty() || before.ends_with(['/', '\\']))
            }
            None => self.is_in(path),
        }
    }
}

/// Answers a question about the state of the work. Each line's entry becomes a passage.
///
/// * `text` - the question; only work of the time that it names answers.
///
/// Cost: one row for each of the newest 50 sessions, and at most [`FOLD_MAX`] entries that no session's rows have yet.
pub(super) fn status(
    gathered: &mut Gathered<'_>,
    text: &str,
    question: &StatusQuestion,
    scope: Option<ConversationId>,
) -> Result<StatusLines, EngineError> {
    let engine = gathered.engine;
    let mut sessions = engine.conversations_in(scope)?;
    sessions.retain(|one| scope.is_some() || (!is_internal(&one.key) && one.parent.is_none()));
    sessions.sort_by_key(|one| std::cmp::Reverse((one.time.map(|(_, last)| last), one.id)));
    let within = gathered.now.and_then(|now| time_range(text, now));
    let is_within = |one: &Conversation| match (&within, one.time) {
        (Some(within), Some((first, last))) => first < within.end && last >= within.start,
        (within, _) => within.is_none(),
    };
    sessions.retain(is_within);
    let has_time = within.is_some();
    let mut asking = StatusReading {
        gathered,
        within,
        subject: Subject::of(question),
        verdicts: VerdictCache::default(),
        left: LINES_TOKENS,
        found: StatusLines::default(),
    };
    let mut folds = FOLD_MAX;
    for stored in sessions.iter().take(SESSIONS_MAX) {
        if asking.is_full(question.kind) || asking.gathered.is_over() {
            break;
        }
        let rows = asking.rows(stored, question.kind, &mut folds)?;
        for row in rows.into_iter().filter(|row| row.is_about) {
            asking.add(stored, row)?;
        }
    }
    // Passages would add what has the letters of `open` and `next` in it.
    let is_of_session = question.kind.is_of_left_work();
    let is_answered = !asking.found.lines.is_empty();
    let is_closed = is_of_session || has_time;
    asking.found.is_whole =
        if asking.subject.is_all() { is_answered || is_closed } else { is_answered && is_closed };
    Ok(asking.found)
}

struct StatusReading<'a, 'g> {
    gathered: &'a mut Gathered<'g>,
    /// The time that the question names.
    within: Option<Range<Timestamp>>,
    subject: Subject,
    verdicts: VerdictCache,
    left: u64,
    found: StatusLines,
}

impl StatusReading<'_, '_> {
    /// Whether no further session is asked: an older one may have left open what a newer one did.
    fn is_full(&self, kind: StatusKind) -> bool {
        let newest_answers = kind.is_of_left_work() || self.subject.is_all();
        self.found.lines.len() >= LINES_MAX || (newest_answers && !self.found.lines.is_empty())
    }

    /// The rows of a session, the weightiest first.
    fn rows(
        &mut self,
        stored: &Conversation,
        kind: StatusKind,
        folds: &mut u64,
    ) -> Result<Vec<StatusRow>, EngineError> {
        let engine = self.gathered.engine;
        let memory = engine.session_memory(stored, *folds)?;
        self.found.behind += memory.behind;
        let mut rows = Vec::new();
        let is_left = kind.is_of_left_work();
        // A person names a session by its title or its project; what it left need not repeat the words.
        let is_named = is_left && !self.subject.is_all() && {
            let facts = engine.facts_of(stored)?;
            let names = facts.title().map(|title| title.text).into_iter().chain(facts.project());
            names.into_iter().any(|name| self.subject.is_in(name))
        };
        if is_left {
            for item in memory.items.iter().filter(|item| item.kind == MemoryKind::Open) {
                let Some(seq) = item.seq else { continue };
                let is_about = self.subject.is_in(&item.text);
                rows.push(StatusRow { kind: QuoteKind::Open, text: item.text.clone(), seq, is_about });
            }
        }
        if memory.behind == 0 {
            let mut folded = Folded::default();
            engine.fold_ledger(stored.id, Thread(0), &mut folded)?;
            rows.extend(self.work(&folded.ledger, kind));
        }
        if is_left {
            for mut row in standing(engine, stored)? {
                row.is_about = self.subject.is_in(&row.text);
                rows.push(row);
            }
        }
        for row in &mut rows {
            row.is_about |= is_named;
        }
        *folds = folds.saturating_sub(memory.folded);
        Ok(rows)
    }

    /// The rows of a ledger that answer, the newest first.
    fn work(&mut self, ledger: &Ledger, kind: StatusKind) -> Vec<StatusRow> {
        match kind {
            StatusKind::Open | StatusKind::Next => self.unfinished(ledger),
            StatusKind::Changed => self.changed(ledger),
            StatusKind::Fixed => self.fixed(ledger),
            StatusKind::Failed => self.failed(ledger),
        }
    }

    fn unfinished(&mut self, ledger: &Ledger) -> Vec<StatusRow> {
        let mut rows = Vec::new();
        let open =
            ledger.tasks().iter().filter(|task| matches!(task.state, TaskState::Open | TaskState::Active));
        for task in open {
            let is_about = self.subject.is_in(&task.text);
            let seq = task.changed.answer;
            rows.push(StatusRow { kind: QuoteKind::Open, text: task.text.clone(), seq, is_about });
        }
        // Of what failed, a test that still fails is open; a look at a file that is not there is none. A longer command line may
        // have run it again.
        let passed_later = |failed: &CommandRow| {
            let is_later = |row: &&CommandRow| row.outcome == Outcome::Done && row.at.call > failed.at.answer;
            ledger.commands().filter(is_later).any(|row| row.text.contains(failed.text.trim()))
        };
        let tests: Vec<_> = ledger
            .commands()
            .filter(|row| row.is_test && row.outcome == Outcome::Failed && !passed_later(row))
            .map(|row| row.at.answer)
            .collect();
        let is_test = |failure: &&Failure| is_telling(failure) && tests.contains(&failure.last.answer);
        let mut failing: Vec<&Failure> = ledger.failing().filter(is_test).collect();
        failing.sort_by_key(|failure| std::cmp::Reverse(failure.last.answer));
        rows.extend(failing.into_iter().take(3).map(|failure| self.failure(failure)));
        rows
    }

    fn failure(&mut self, failure: &Failure) -> StatusRow {
        let text = told(failure);
        let is_about = self.subject.is_in(&text);
        StatusRow { kind: QuoteKind::Failed, text, seq: failure.last.answer, is_about }
    }

    fn failed(&mut self, ledger: &Ledger) -> Vec<StatusRow> {
        let mut failures: Vec<&Failure> =
            ledger.failing().chain(ledger.cleared()).filter(|failure| is_telling(failure)).collect();
        // What still fails first, then the newest.
        failures.sort_by_key(|failure| (failure.cleared.is_some(), std::cmp::Reverse(failure.last.answer)));
        failures.into_iter().map(|failure| self.failure(failure)).collect()
    }

    /// What cleared failures: the failure, the files that were changed meanwhile, and the run that passed.
    fn fixed(&mut self, ledger: &Ledger) -> Vec<StatusRow> {
        let mut rows = Vec::new();
        for failure in ledger.cleared().iter().rev().filter(|failure| is_telling(failure)) {
            let Some(by) = failure.cleared else { continue };
            let first = self.failure(failure);
            let is_about = first.is_about;
            rows.push(first);
            let between = failure.first.answer..by.call;
            let mut changed: Vec<_> =
                ledger.files().filter_map(|(path, row)| Some((path, row.put?))).collect();
            changed.retain(|(_, put)| between.contains(&put.at.answer));
            changed.sort_by_key(|(_, put)| std::cmp::Reverse(put.at.answer));
            for (path, put) in changed.into_iter().take(3) {
                let text = format!("{} {path}", change(put.change));
                rows.push(StatusRow { kind: QuoteKind::Done, text, seq: put.at.answer, is_about });
            }
            let text = format!("{} passed", failure.what);
            rows.push(StatusRow { kind: QuoteKind::Done, text, seq: by.answer, is_about });
        }
        rows
    }

    fn changed(&mut self, ledger: &Ledger) -> Vec<StatusRow> {
        let mut rows = Vec::new();
        for (path, row) in ledger.files() {
            let Some(put) = row.put else { continue };
            let is_about = self.subject.is_file(path);
            let times = if row.writes > 1 { format!(", {} times", row.writes) } else { String::new() };
            let text = format!("{} {path}{times}", change(put.change));
            rows.push(StatusRow { kind: QuoteKind::Done, text, seq: put.at.answer, is_about });
        }
        for row in ledger.commits() {
            let text = format!("committed {} {}", row.commit.hash, row.commit.subject);
            let is_about = self.subject.is_in(&text);
            rows.push(StatusRow { kind: QuoteKind::Done, text, seq: row.at.answer, is_about });
        }
        rows.sort_by_key(|row| std::cmp::Reverse(row.seq));
        rows
    }

    /// Takes a row as a line, with its entry as a passage.
    fn add(&mut self, stored: &Conversation, row: StatusRow) -> Result<(), EngineError> {
        let tokens = ClassEstimate.count(&row.text).expected;
        let is_known = self.found.lines.iter().any(|line| line.text == row.text);
        if is_known || self.found.lines.len() >= LINES_MAX || tokens > self.left {
            return Ok(());
        }
        if self.verdicts.rejects(self.gathered.engine, stored.id, row.seq, &row.text)? {
            return Ok(());
        }
        let known = self
            .gathered
            .evidence
            .iter()
            .find(|one| one.conversation == stored.key && one.seq == row.seq)
            .map(|one| one.number);
        let number = if let Some(number) = known {
            number
        } else {
            let Some(passage) = passage(self.gathered.engine, stored, row.seq, &row.text)? else {
                return Ok(());
            };
            let is_within =
                |within: &Range<Timestamp>| passage.time.is_some_and(|time| within.contains(&time));
            if !self.within.as_ref().is_none_or(is_within) {
                return Ok(());
            }
            if !self.gathered.add(passage, ReadExtent::Part) {
                return Ok(());
            }
            self.gathered.evidence.len() as u32
        };
        self.left -= tokens;
        self.found.lines.push(AnswerLine { kind: row.kind, text: row.text, number });
        Ok(())
    }
}

/// Whether a failure says what went wrong.
fn is_telling(failure: &Failure) -> bool {
    !failure.told.trim().is_empty()
}

fn told(failure: &Failure) -> String {
    let times = if failure.times > 1 { format!(" ({} times)", failure.times) } else { String::new() };
    let told = failure.told.split_whitespace().collect::<Vec<_>>().join(" ");
    let told: String = told.chars().take(200).collect();
    format!("{}{times}: {told}", failure.what)
}

const fn change(change: FileChange) -> &'static str {
    match change {
        FileChange::Whole => "wrote",
        FileChange::Part => "edited",
        FileChange::Gone => "removed",
    }
}

/// The entry behind a line; `None` if it was purged.
fn passage(
    engine: &Engine,
    stored: &Conversation,
    seq: Seq,
    about: &str,
) -> Result<Option<Evidence>, EngineError> {
    let Some(row) = stored_row(engine.store(), stored.id, seq)? else { return Ok(None) };
    let Some(raw) = stored_raw(engine.store(), stored.id, seq)? else { return Ok(None) };
    let format = Format::by_name(&stored.format).unwrap_or(Format::Unknown);
    let whole = text::text(&decode(format, &raw.body));
    let shown = text::snippet(&whole, about, PASSAGE_CHARS);
    Ok(Some(Evidence::of_entry(stored, row, shown)))
}
