//! The ledger as rows.

use serde::{Deserialize, Serialize};
use unforget_core::ledger::{FileChange, Ledger, Outcome, TaskState, WorkPlace};
use utoipa::ToSchema;

/// Kinds of rows, in the order in which they are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LedgerKind {
    /// Files read and written
    File,
    /// Commands run
    Command,
    /// Failures, open and cleared
    Failure,
    /// Addresses fetched
    Url,
    /// Commits made
    Commit,
    /// Tasks of the host's list
    Task,
}

impl LedgerKind {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::File, Self::Command, Self::Failure, Self::Url, Self::Commit, Self::Task];

    /// For scripts.
    pub const fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Command => "command",
            Self::Failure => "failure",
            Self::Url => "url",
            Self::Commit => "commit",
            Self::Task => "task",
        }
    }

    /// The kind with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The output of `ledger`.
#[derive(Debug, Serialize, ToSchema)]
pub struct LedgerJson {
    /// Key of the conversation.
    pub conversation: String,
    /// By kind, then by entry.
    pub rows: Vec<LedgerRow>,
    /// Number of older rows dropped because a kind had too many.
    pub dropped: u64,
}

/// A row of the ledger.
#[derive(Debug, Serialize, ToSchema)]
pub struct LedgerRow {
    /// Its kind.
    pub kind: LedgerKind,
    /// The path, command, address or text.
    pub what: String,
    /// Of a file `read`, `written`, `edited`, `removed`; of a command or address `done`, `failed`, `not-run`; of a failure `open`, `cleared`; of a task `open`, `active`, `done`, `dropped`.
    pub state: &'static str,
    /// Number of times.
    pub times: u64,
    /// Exit code of a command, if reported.
    exit: Option<i64>,
    /// Numbers of tests passed, failed and skipped.
    #[schema(value_type = Option<Vec<u64>>, min_items = 3, max_items = 3)]
    tests: Option<(u64, u64, u64)>,
    /// The report about a failure.
    told: Option<String>,
    /// Entry of the most recent call.
    call: u64,
    /// Entry of its result.
    pub last: u64,
    /// Entry of the result that cleared a failure.
    cleared: Option<u64>,
}

impl LedgerRow {
    /// The report about a failure.
    pub fn told(&self) -> Option<&str> {
        self.told.as_deref()
    }
}

fn row(kind: LedgerKind, what: &str, state: &'static str, times: u64, at: WorkPlace) -> LedgerRow {
    LedgerRow {
        kind,
        what: what.to_owned(),
        state,
        times,
        exit: None,
        tests: None,
        told: None,
        call: at.call.0,
        last: at.answer.0,
        cleared: None,
    }
}

const fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Done => "done",
        Outcome::Failed => "failed",
        Outcome::NotRun => "not-run",
    }
}

/// All rows by kind, and within a kind in the order of their most recent entries.
pub fn ledger_rows(ledger: &Ledger) -> Vec<LedgerRow> {
    let mut rows = files(ledger);
    rows.extend(ledger.commands().map(|command| LedgerRow {
        exit: command.exit,
        tests: command.tests.map(|tests| (tests.passed, tests.failed, tests.skipped)),
        ..row(LedgerKind::Command, &command.text, outcome(command.outcome), command.runs.into(), command.at)
    }));
    let failures = ledger.failing().map(|failure| (failure, "open"));
    let failures = failures.chain(ledger.cleared().iter().map(|failure| (failure, "cleared")));
    rows.extend(failures.map(|(failure, state)| LedgerRow {
        told: Some(failure.told.clone()),
        cleared: failure.cleared.map(|place| place.answer.0),
        ..row(LedgerKind::Failure, &failure.what, state, failure.times.into(), failure.last)
    }));
    let urls = ledger.urls();
    rows.extend(
        urls.map(|(url, seen)| row(LedgerKind::Url, url, outcome(seen.outcome), seen.times.into(), seen.at)),
    );
    rows.extend(ledger.commits().iter().map(|commit| {
        let what = format!("{} {}", commit.commit.hash, commit.commit.subject);
        row(LedgerKind::Commit, &what, "done", 1, commit.at)
    }));
    rows.extend(ledger.tasks().iter().map(|task| {
        let state = match task.state {
            TaskState::Open => "open",
            TaskState::Active => "active",
            TaskState::Done => "done",
            TaskState::Dropped => "dropped",
        };
        row(LedgerKind::Task, &task.text, state, 1, task.changed)
    }));
    rows.sort_by(|a, b| (a.kind, a.last, &a.what).cmp(&(b.kind, b.last, &b.what)));
    rows
}

fn files(ledger: &Ledger) -> Vec<LedgerRow> {
    let rows = ledger.files().filter_map(|(path, file)| {
        let (state, at) = match file.put {
            Some(put) => {
                let state = match put.change {
                    FileChange::Whole => "written",
                    FileChange::Part => "edited",
                    FileChange::Gone => "removed",
                };
                (state, put.at)
            }
            None => ("read", file.looks.last()?.at),
        };
        let times = if file.put.is_some() { file.writes } else { file.reads };
        Some(row(LedgerKind::File, path, state, times.into(), at))
    });
    rows.collect()
}
