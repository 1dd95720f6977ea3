//! The ledger of tool work: files, commands, tests, failures, addresses, commits and tasks.
//!
//! `unforget-text` reads calls and results into [`Fact`]s. The [`Ledger`] folds the facts, one entry after another, and
//! holds a row per thing, not per call. Nothing here looks into text: digests are compared for equality, and
//! names of files and packages also by their ends.
//! Like all derived data, a ledger can be dropped and folded again from the log.
//!
//! Source: issue "ledger"; field notes A6 (an index of artifacts is what summaries lack most), B3.

mod ending;
mod fact;
mod row;
mod superseded;
#[cfg(test)]
mod tests;

pub use ending::WorkEnding;
pub use fact::{
    Answered, Called, Command, CommandPurpose, CommandReach, CommandTarget, Commit, Deed, Fact, FailureKind,
    FaultPlace, FileChange, Lines, Outcome, RunEvidence, ShownOutput, SimpleCommand, TaskDeed, TaskState,
    Telling, Tells, TestCounts,
};
pub use row::{
    CommandRow, CommitRow, Failure, FileRow, Look, Put, Rows, Subject, TaskRow, UrlRow, WorkPlace,
};
pub use superseded::{Superseded, SupersededWhy, superseded};

use std::collections::BTreeMap;

use crate::digest::Digest;
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
                Fact::Asked => self.asked(seq),
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

    /// The entries of a person's newest requests, the newest last, at most [`Rows::ASKED_MAX`].
    pub fn asked_at(&self) -> &[Seq] {
        &self.0.asked
    }

    /// Whether the file at fault was changed after the failure's last report.
    ///
    /// Cost: O(files); nothing if no file is named.
    pub fn is_edited_since(&self, failure: &Failure) -> bool {
        let is_later = |row: &FileRow| row.put.is_some_and(|put| put.at.answer > failure.last.answer);
        !failure.place.file.is_empty()
            && self.0.files.iter().any(|(path, row)| is_later(row) && failure.is_in(path))
    }

    fn asked(&mut self, seq: Seq) {
        self.0.failing.retain(|_, failure| !failure.lapses());
        if self.0.asked.last() != Some(&seq) {
            self.0.asked.push(seq);
            let excess = self.0.asked.len().saturating_sub(Rows::ASKED_MAX);
            self.0.asked.drain(..excess);
        }
    }

    fn settle(&mut self, called: &Called, answered: &Answered, at: WorkPlace) {
        match ran(called) {
            Some(command) => self.settle_command(command, called, answered, at),
            None if answered.outcome == Outcome::Failed && answered.kind == FailureKind::Stopped => {}
            None if answered.outcome == Outcome::Failed => {
                // A call of several deeds fails as a whole; its first deed names the failure.
                if let Some(subject) = subjects(called).into_iter().next() {
                    self.fail(subject, failure(called, answered, at));
                }
            }
            None => {
                for subject in subjects(called) {
                    self.clear(&subject, at);
                }
                // The tool works, and nobody made the refused call again.
                self.lapse(at, |failure| failure.part.is_none() && failure.tool == called.tool);
            }
        }
        for deed in &called.deeds {
            self.note(called, deed, answered, at);
        }
    }

    /// A line fails by one of its commands, and succeeds by each of them that it does not hide.
    fn settle_command(&mut self, command: &Command, called: &Called, answered: &Answered, at: WorkPlace) {
        match command.ending(answered) {
            WorkEnding::Failed(part) => {
                if answered.kind.fault().is_some() {
                    // Refused calls were made again in this form. A failure of its own keeps its count.
                    let own = Subject::Work(part.aim());
                    self.0.failing.retain(|subject, failure| {
                        if *subject == own {
                            return true;
                        }
                        let failed = failure.part.as_ref().filter(|_| failure.kind.is_refusal());
                        !failed.is_some_and(|failed| part.settles(failed, failure.kind))
                    });
                }
                let failure = Failure { part: Some(part.clone()), ..failure(called, answered, at) };
                self.fail(Subject::Work(part.aim()), failure);
            }
            WorkEnding::Unproven => {}
            WorkEnding::Proven => {
                for part in command.parts.iter().filter(|part| part.is_proven(answered.evidence)) {
                    self.clear_command(part, at);
                    self.clear_verified(part, answered, at);
                    if part.purpose != CommandPurpose::Looks {
                        let is_same = |failed: &SimpleCommand| failed.program == part.program;
                        self.lapse(at, |failure| {
                            failure.kind == FailureKind::Misused && failure.part.as_ref().is_some_and(is_same)
                        });
                    }
                }
                let is_clean = !matches!(answered.evidence, RunEvidence::Doubt | RunEvidence::Fault);
                if is_clean || !command.tells.hides {
                    for subject in written(called) {
                        self.clear(&subject, at);
                    }
                }
            }
        }
    }

    /// Drops refused calls that a call at `at` shows to be over, if they were refused before it was made.
    fn lapse(&mut self, at: WorkPlace, is_over: impl Fn(&Failure) -> bool) {
        let goes = |failure: &Failure| {
            failure.kind.is_refusal() && failure.last.answer < at.call && is_over(failure)
        };
        self.0.failing.retain(|_, failure| !goes(failure));
    }

    /// Clears failures of other commands that a run of all tests or a task shows to be mended.
    ///
    /// Cost: O(open failures × files).
    fn clear_verified(&mut self, part: &SimpleCommand, answered: &Answered, at: WorkPlace) {
        let goes = |failure: &Failure| part.verifies(failure, answered, self.is_edited_since(failure));
        let subjects = self.0.failing.iter().filter(|(_, failure)| goes(failure));
        let subjects: Vec<Subject> = subjects.map(|(subject, _)| subject.clone()).collect();
        for subject in &subjects {
            self.clear(subject, at);
        }
    }

    /// Holds a failure; its row keeps the count and the place of earlier failures of the same subject.
    fn fail(&mut self, subject: Subject, failure: Failure) {
        let held = self.0.failing.get(&subject);
        let (times, first) = held.map_or((0, failure.first), |held| (held.times, held.first));
        self.0.failing.insert(subject, Failure { times: times.saturating_add(1), first, ..failure });
    }

    fn clear(&mut self, subject: &Subject, at: WorkPlace) {
        if let Some(failure) = self.0.failing.remove(subject) {
            self.0.cleared.push(Failure { cleared: Some(at), ..failure });
        }
    }

    /// Clears what a command's success settles, and other failures with the same fault.
    ///
    /// Cost: O(open failures).
    fn clear_command(&mut self, part: &SimpleCommand, at: WorkPlace) {
        let is_settled = |failure: &Failure| {
            failure.part.as_ref().is_some_and(|failed| part.settles(failed, failure.kind))
        };
        let settled = self.0.failing.values().filter(|failure| is_settled(failure));
        let faults: Vec<Digest> = settled.filter_map(|failure| failure.kind.fault()).collect();
        let goes = |failure: &Failure| {
            is_settled(failure) || failure.kind.fault().is_some_and(|fault| faults.contains(&fault))
        };
        let subjects = self.0.failing.iter().filter(|(_, failure)| goes(failure));
        let subjects: Vec<Subject> = subjects.map(|(subject, _)| subject.clone()).collect();
        for subject in &subjects {
            self.clear(subject, at);
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
        // A line may succeed although one of its commands failed.
        let is_failed = matches!(command.ending(answered), WorkEnding::Failed(_));
        let outcome = if is_failed { Outcome::Failed } else { answered.outcome };
        let row = self.0.commands.entry(command.same).or_insert_with(|| CommandRow {
            text: command.text.clone(),
            runs: 0,
            outcome,
            exit: None,
            tests: None,
            is_test: command.tests,
            is_look: command.is_look(),
            at,
        });
        row.runs = row.runs.saturating_add(1);
        (row.outcome, row.exit, row.at) = (outcome, answered.exit, at);
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

fn ran(called: &Called) -> Option<&Command> {
    called.deeds.iter().find_map(|deed| match deed {
        Deed::Ran(command) => Some(command),
        _ => None,
    })
}

/// What a call other than a command line changes: each of its files, or for a tool that nobody knows the call itself.
fn subjects(called: &Called) -> Vec<Subject> {
    // A call that can be made again is a search, a look or a fetch.
    if called.telling == Telling::Once && called.deeds.is_empty() {
        return vec![Subject::Call(called.print)];
    }
    written(called).collect()
}

fn written(called: &Called) -> impl Iterator<Item = Subject> {
    called.deeds.iter().filter_map(|deed| match deed {
        Deed::Wrote { path, .. } => Some(Subject::Write(path.clone())),
        Deed::Read { .. } | Deed::Ran(_) | Deed::Fetched(_) | Deed::Tasks(_) => None,
    })
}

/// One failure of a call.
fn failure(called: &Called, answered: &Answered, at: WorkPlace) -> Failure {
    Failure {
        what: called.what.clone(),
        told: answered.error.clone().unwrap_or_default(),
        tool: called.tool,
        kind: answered.kind,
        place: answered.place.clone(),
        part: None,
        times: 1,
        first: at,
        last: at,
        cleared: None,
    }
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
