//! The content of calls and results, as plain values.

use crate::digest::Digest;

/// Lines of a file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lines {
    /// The first.
    pub first: u64,
    /// The last; `None` for the end of the file.
    pub last: Option<u64>,
}

impl Lines {
    /// From the first line to the end.
    pub const WHOLE: Self = Self { first: 1, last: None };
    /// Unknown lines: they cover nothing, and nothing is known to cover them.
    pub const SOME: Self = Self { first: 0, last: Some(0) };

    /// The last `count` lines of a file of unknown length. They lie at the far end of the numbers, so that only a range
    /// that runs to the end covers them.
    pub const fn ending(count: u64) -> Self {
        Self { first: u64::MAX - count, last: None }
    }

    /// Whether all of `other` lies within these lines.
    pub fn covers(self, other: Self) -> bool {
        let to_end = match (self.last, other.last) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(mine), Some(others)) => mine >= others,
        };
        self.first <= other.first && to_end
    }
}

/// How a file was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileChange {
    /// All of its content was replaced.
    Whole,
    /// Some of its content was changed.
    Part,
    /// It was deleted, or moved away.
    Gone,
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// As asked.
    Done,
    /// The tool or the command failed.
    Failed,
    /// The call was never run: a person refused it, or it was stopped before.
    NotRun,
}

/// A command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its text, shortened, without credentials.
    pub text: String,
    /// Equal for equal command lines.
    pub same: Digest,
    /// Equal for command lines that do the same work but show it differently (`| tail`, `cd … &&`).
    pub work: Digest,
    /// Whether it runs tests.
    pub tests: bool,
    /// Whether it makes commits.
    pub commits: bool,
    /// The meaning of its exit code.
    pub tells: Tells,
}

/// The meaning of a command line's exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tells {
    /// 1 is an answer and no failure (`grep`, `diff`, `test`).
    pub asks: bool,
    /// Exit code 0 proves little: the last command only shows output (`| tail`, `; echo done`) and hides the outcome of
    /// the work before it.
    pub hides: bool,
}

/// The state of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaskState {
    /// Not begun.
    #[default]
    Open,
    /// Begun.
    Active,
    /// Finished.
    Done,
    /// Taken off the list without being finished.
    Dropped,
}

/// A change of the task list by a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskDeed {
    /// The whole list.
    List(Vec<(String, TaskState)>),
    /// A new task; the result has its id.
    Open(String),
    /// A change of the task with this id.
    Mark {
        /// The host's id.
        id: String,
        /// The new text, if it changed.
        text: Option<String>,
        /// The new state, if it changed.
        state: Option<TaskState>,
    },
}

/// One action of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads a file.
    Read {
        /// The file, as the call names it.
        path: String,
        /// The requested lines.
        lines: Lines,
    },
    /// Writes a file.
    Wrote {
        /// The file, as the call names it.
        path: String,
        /// The kind of change.
        change: FileChange,
        /// Digest of the new content, if the call has all of it.
        content: Option<Digest>,
    },
    /// Runs a command.
    Ran(Command),
    /// Fetches an address.
    Fetched(String),
    /// Changes the list of tasks.
    Tasks(TaskDeed),
}

/// Whether a later call can repeat the information of a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Telling {
    /// Each call tells something else: an answer of a person, new output of a running process.
    #[default]
    Once,
    /// A repeated call tells the same, newer: searches, commands.
    Again,
    /// Lines of files and nothing else.
    Shows,
}

/// A call after reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The call's id; may repeat across turns.
    pub id: String,
    /// Name and aim in a few words.
    pub what: String,
    /// Equal for calls of one tool with equal arguments.
    pub print: Digest,
    /// Whether a later call can stand for it.
    pub telling: Telling,
    /// Its actions, in order.
    pub deeds: Vec<Deed>,
}

/// Figures of a test run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestCounts {
    /// Number of tests passed.
    pub passed: u64,
    /// Number of tests that failed or could not run.
    pub failed: u64,
    /// Number of tests skipped.
    pub skipped: u64,
}

/// A commit that a result reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, as abbreviated as it was reported.
    pub hash: String,
    /// The first line of its message.
    pub subject: String,
}

/// A result after reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// Id of the answered call.
    pub call_id: String,
    /// Its outcome.
    pub outcome: Outcome,
    /// The exit code, where reported.
    pub exit: Option<i64>,
    /// Digest of the content without line numbers.
    pub content: Digest,
    /// The first and last line number, where the content is numbered.
    pub lines: Option<(u64, u64)>,
    /// Test figures, where a test runner reported them.
    pub tests: Option<TestCounts>,
    /// The first words about a failure. Also present where the outcome is [`Outcome::Done`], since some command lines
    /// hide their failure.
    pub error: Option<String>,
    /// Commits that it reports.
    pub commits: Vec<Commit>,
    /// The id of a new task.
    pub task: Option<String>,
}

/// The information of one part of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A call was made.
    Called(Called),
    /// A call was answered.
    Answered(Answered),
}
