//! The ledger of tool work: files, commands, tests, failures, addresses, commits and tasks.
//!
//! `unforget-text` reads calls and results into [`Fact`]s. The [`Ledger`] folds the facts, one entry after another, and
//! holds a row per thing, not per call. Nothing here looks into text: paths and digests are only compared for equality.
//! Like all derived data, a ledger can be dropped and folded again from the log.
//!
//! Source: issue "ledger"; field notes A6 (an index of artifacts is what summaries lack most), B3.

mod fact;
mod row;
mod superseded;
#[cfg(test)]
mod tests;

pub use fact::{
    Answered, Called, Command, Commit, Deed, Fact, FileChange, Lines, Outcome, TaskDeed, TaskState, Telling,
    Tells, TestCounts,
};
pub use row::{
    CommandRow, CommitRow, Failure, FileRow, Look, Put, Rows, Subject, TaskRow, UrlRow, WorkPlace,
};
pub use superseded::{Superseded, SupersededWhy, superseded};

use std::collections::BTreeMap;

use crate::id::Seq;

/// All rows. Rows of one kind are bounded; the oldest go first and are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ledger(Rows);

/// Maximum number of rows of one kind, and of calls that wait for an answer.
const ROWS_MAX: usize = 4_096;

impl Ledger {
    /// Takes in the facts of the next entry.
    ///
    /// * `seq` - the entry's seq; entries come in order.
    ///
    /// A call counts once it is answered; a call that was never run does not count.
    ///
    /// Cost: O(log rows) per deed, amortised. Source: I22: folding at once or in pieces gives one result.
    pub fn take(&mut self, seq: Seq, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Called(called) => {
                    self.0.pending.insert(called.id.clone(), (seq, called.clone()));
                }
                Fact::Answered(answered) => {
                    if let Some((call, called)) = self.0.pending.remove(&answered.call_id)
                        && answered.outcome != Outcome::NotRun
                    {
                        self.settle(&called, answered, WorkPlace { call, answer: seq });
                    }
                }
            }
        }
        self.trim();
    }

    /// All rows, for storing.
    pub const fn rows(&self) -> &Rows {
        &self.0
    }

    /// Restores a stored ledger. Folding continues as if it had never stopped.
    pub const fn restore(rows: Rows) -> Self {
        Self(rows)
    }

    /// Files by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &FileRow)> {
        self.0.files.iter().map(|(path, row)| (path.as_str(), row))
    }

    /// Command lines, in no particular order.
    pub fn commands(&self) -> impl Iterator<Item = &CommandRow> {
        self.0.commands.values()
    }

    /// Failures without a later success, in no particular order.
    pub fn failing(&self) -> impl Iterator<Item = &Failure> {
        self.0.failing.values()
    }

    /// Failures with a later success, in the order in which they were cleared.
    pub fn cleared(&self) -> &[Failure] {
        &self.0.cleared
    }

    /// Addresses that were fetched, by address.
    pub fn urls(&self) -> impl Iterator<Item = (&str, &UrlRow)> {
        self.0.urls.iter().map(|(url, row)| (url.as_str(), row))
    }

    /// Commits, oldest first.
    pub fn commits(&self) -> &[CommitRow] {
        &self.0.commits
    }

    /// Tasks, in the order in which they were opened.
    pub fn tasks(&self) -> &[TaskRow] {
        &self.0.tasks
    }

    /// Number of rows dropped because a kind had too many.
    pub const fn dropped(&self) -> u64 {
        self.0.dropped
    }

    fn settle(&mut self, called: &Called, answered: &Answered, at: WorkPlace) {
        let subjects = subjects(called);
        match ending(called, answered) {
            WorkEnding::Failed => {
                // A call of several deeds fails as a whole; its first deed names the failure.
                if let Some(subject) = subjects.into_iter().next() {
                    self.fail(subject, called, answered, at);
                }
            }
            WorkEnding::Proven => {
                for subject in subjects {
                    self.clear(subject, at);
                }
            }
            WorkEnding::Unproven => {}
        }
        for deed in &called.deeds {
            self.note(called, deed, answered, at);
        }
    }

    fn fail(&mut self, subject: Subject, called: &Called, answered: &Answered, at: WorkPlace) {
        let told = answered.error.clone().unwrap_or_default();
        let failure = self.0.failing.entry(subject).or_insert_with(|| Failure {
            what: called.what.clone(),
            told: String::new(),
            times: 0,
            first: at,
            last: at,
            cleared: None,
        });
        failure.times = failure.times.saturating_add(1);
        (failure.told, failure.last) = (told, at);
    }

    fn clear(&mut self, subject: Subject, at: WorkPlace) {
        // A successful write also proves that the file can be read.
        let reading = match &subject {
            Subject::Write(path) => Some(Subject::Read(path.clone())),
            _ => None,
        };
        for subject in reading.into_iter().chain([subject]) {
            if let Some(failure) = self.0.failing.remove(&subject) {
                self.0.cleared.push(Failure { cleared: Some(at), ..failure });
            }
        }
    }

    fn note(&mut self, called: &Called, deed: &Deed, answered: &Answered, at: WorkPlace) {
        let done = answered.outcome == Outcome::Done;
        match deed {
            Deed::Ran(command) => self.ran(command, answered, at),
            Deed::Fetched(url) => {
                let row = self.0.urls.entry(url.clone()).or_insert(UrlRow {
                    times: 0,
                    outcome: answered.outcome,
                    at,
                });
                row.times = row.times.saturating_add(1);
                (row.outcome, row.at) = (answered.outcome, at);
            }
            Deed::Read { path, lines } if done => {
                let look = Look { lines: shown(called, *lines, answered), content: answered.content, at };
                self.0.files.entry(path.clone()).or_default().look(look);
            }
            Deed::Wrote { path, change, content } if done => {
                let row = self.0.files.entry(path.clone()).or_default();
                row.writes = row.writes.saturating_add(1);
                row.put = Some(Put { change: *change, content: *content, at });
            }
            Deed::Tasks(deed) if done => self.task(deed, answered, at),
            Deed::Read { .. } | Deed::Wrote { .. } | Deed::Tasks(_) => {}
        }
    }

    fn ran(&mut self, command: &Command, answered: &Answered, at: WorkPlace) {
        let row = self.0.commands.entry(command.same).or_insert_with(|| CommandRow {
            text: command.text.clone(),
            runs: 0,
            outcome: answered.outcome,
            exit: None,
            tests: None,
            is_test: command.tests,
            at,
        });
        row.runs = row.runs.saturating_add(1);
        (row.outcome, row.exit, row.at) = (answered.outcome, answered.exit, at);
        row.tests = answered.tests.filter(|_| command.tests);
        if command.commits {
            for commit in &answered.commits {
                if !self.0.commits.iter().any(|row| row.commit.hash == commit.hash) {
                    self.0.commits.push(CommitRow { commit: commit.clone(), at });
                }
            }
        }
    }

    fn task(&mut self, deed: &TaskDeed, answered: &Answered, at: WorkPlace) {
        match deed {
            TaskDeed::Open(text) => {
                self.0.tasks.push(new_task(answered.task.clone(), text, TaskState::Open, at));
            }
            TaskDeed::Mark { id, text, state } => {
                if let Some(row) = self.0.tasks.iter_mut().rev().find(|row| row.id.as_ref() == Some(id)) {
                    if let Some(text) = text {
                        row.text.clone_from(text);
                    }
                    if let Some(state) = state.filter(|state| *state != row.state) {
                        (row.state, row.changed) = (state, at);
                    }
                }
            }
            TaskDeed::List(list) => {
                for (text, state) in list {
                    let held =
                        self.0.tasks.iter_mut().rev().find(|row| row.id.is_none() && row.text == *text);
                    match held {
                        Some(row) if row.state == *state => {}
                        Some(row) => (row.state, row.changed) = (*state, at),
                        None => self.0.tasks.push(new_task(None, text, *state, at)),
                    }
                }
                let unfinished = |row: &&mut TaskRow| row.id.is_none() && row.state < TaskState::Done;
                for row in self.0.tasks.iter_mut().filter(unfinished) {
                    if !list.iter().any(|(text, _)| *text == row.text) {
                        (row.state, row.changed) = (TaskState::Dropped, at);
                    }
                }
            }
        }
    }

    /// Drops the oldest quarter of a kind's rows when it has too many; a whole quarter, so that it happens rarely.
    fn trim(&mut self) {
        let mut dropped = trim_map(&mut self.0.files, FileRow::newest);
        dropped += trim_map(&mut self.0.commands, |row| row.at.answer);
        dropped += trim_map(&mut self.0.failing, |row| row.last.answer);
        dropped += trim_map(&mut self.0.urls, |row| row.at.answer);
        dropped += trim_map(&mut self.0.pending, |(seq, _)| *seq);
        dropped += trim_list(&mut self.0.cleared) + trim_list(&mut self.0.commits);
        dropped += trim_list(&mut self.0.tasks);
        self.0.dropped += dropped as u64;
    }
}

/// The conclusion from a result.
enum WorkEnding {
    Failed,
    Proven,
    Unproven,
}

fn ending(called: &Called, answered: &Answered) -> WorkEnding {
    let told = called.deeds.iter().find_map(|deed| match deed {
        Deed::Ran(command) => Some((command.tells, command.tests)),
        _ => None,
    });
    let (tells, tests) = told.unwrap_or_default();
    let failing = tests && answered.tests.is_some_and(|tests| tests.failed > 0);
    let unclear = tells.hides && answered.error.is_some();
    match answered.outcome {
        _ if tells.hides && failing => WorkEnding::Failed,
        Outcome::Failed if tells.asks && answered.exit == Some(1) => WorkEnding::Unproven,
        Outcome::Failed => WorkEnding::Failed,
        Outcome::Done | Outcome::NotRun if unclear => WorkEnding::Unproven,
        Outcome::Done | Outcome::NotRun => WorkEnding::Proven,
    }
}

/// What a call is about: each of its deeds, or the call itself.
fn subjects(called: &Called) -> Vec<Subject> {
    let ran = called.deeds.iter().find_map(|deed| match deed {
        Deed::Ran(command) => Some(Subject::Work(command.work)),
        _ => None,
    });
    if let Some(ran) = ran {
        return vec![ran];
    }
    let mut subjects: Vec<Subject> = called
        .deeds
        .iter()
        .filter_map(|deed| match deed {
            Deed::Read { path, .. } => Some(Subject::Read(path.clone())),
            Deed::Wrote { path, .. } => Some(Subject::Write(path.clone())),
            Deed::Fetched(url) => Some(Subject::Url(url.clone())),
            Deed::Ran(_) | Deed::Tasks(_) => None,
        })
        .collect();
    if subjects.is_empty() {
        subjects.push(Subject::Call(called.print));
    }
    subjects
}

fn new_task(id: Option<String>, text: &str, state: TaskState, at: WorkPlace) -> TaskRow {
    TaskRow { id, text: text.to_owned(), state, opened: at, changed: at }
}

/// The lines that a result shows, if it has line numbers and shows a single file; otherwise the requested lines.
fn shown(called: &Called, asked: Lines, answered: &Answered) -> Lines {
    let numbered = answered.lines.filter(|_| called.deeds.len() == 1);
    numbered.map_or(asked, |(first, last)| Lines { first, last: Some(last) })
}

fn trim_map<K: Ord + Clone, V>(rows: &mut BTreeMap<K, V>, age: impl Fn(&V) -> Seq) -> usize {
    if rows.len() <= ROWS_MAX {
        return 0;
    }
    let mut ages: Vec<(Seq, K)> = rows.iter().map(|(key, row)| (age(row), key.clone())).collect();
    ages.sort_unstable();
    ages.truncate(ROWS_MAX / 4);
    for (_, key) in &ages {
        rows.remove(key);
    }
    ages.len()
}

fn trim_list<V>(rows: &mut Vec<V>) -> usize {
    let excess = if rows.len() > ROWS_MAX { ROWS_MAX / 4 } else { 0 };
    rows.drain(..excess);
    excess
}
