//! What calls and results tell, as plain values.

use crate::digest::Digest;

/// Lines of a file, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lines {
    /// The first.
    pub first: u64,
    /// The last; `None` is to the end.
    pub last: Option<u64>,
}

impl Lines {
    /// From the first line to the end.
    pub const WHOLE: Self = Self { first: 1, last: None };
    /// Some lines, it is not known which: they cover nothing, and nothing is known to cover them.
    pub const SOME: Self = Self { first: 0, last: Some(0) };

    /// The last `count` lines of a file whose length is not known: at the far end of the numbers, so that only
    /// what runs to the end covers them.
    pub const fn ending(count: u64) -> Self {
        Self { first: u64::MAX - count, last: None }
    }

    /// Whether all of `other` is in these.
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
pub enum Change {
    /// All of its content was written.
    Whole,
    /// Some of its content was changed.
    Part,
    /// It was deleted, or moved away.
    Gone,
}

/// How a call came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// As asked.
    Done,
    /// The tool or the command failed.
    Failed,
    /// Nobody ran it: a person refused it, or it was stopped before.
    NotRun,
}

/// A command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its words, shortened, without credentials.
    pub text: String,
    /// Equal for equal command lines.
    pub same: Digest,
    /// Equal for command lines that do the same work and show it otherwise (`| tail`, `cd … &&`).
    pub work: Digest,
    /// Whether it runs tests.
    pub tests: bool,
    /// Whether it makes commits.
    pub commits: bool,
    /// What its exit code tells.
    pub tells: Tells,
}

/// What the exit code of a command line tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tells {
    /// 1 is an answer and no failure (`grep`, `diff`, `test`).
    pub asks: bool,
    /// 0 proves little: what comes last only shows (`| tail`, `; echo done`) and hides how the work before it ended.
    pub hides: bool,
}

/// How a task stands.
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

/// What a call does to the list of tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskDeed {
    /// Here is the whole list.
    List(Vec<(String, TaskState)>),
    /// One more; the answer has its id.
    Open(String),
    /// A change of the task with this id.
    Mark {
        /// The host's id.
        id: String,
        /// Other words, if they changed.
        text: Option<String>,
        /// Another state, if it changed.
        state: Option<TaskState>,
    },
}

/// One thing that a call does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Deed {
    /// Reads a file.
    Read {
        /// The file, as the call names it.
        path: String,
        /// Which lines were asked for.
        lines: Lines,
    },
    /// Writes a file.
    Wrote {
        /// The file, as the call names it.
        path: String,
        /// How.
        change: Change,
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

/// What a call tells, as far as later calls can tell it again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Telling {
    /// Each time something else: an answer of a person, new output of a running process.
    #[default]
    Once,
    /// The same again, newer: searches, commands.
    Again,
    /// Lines of files and nothing else.
    Shows,
}

/// A call, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// The call's id; may repeat across turns.
    pub id: String,
    /// Name and aim in few words.
    pub what: String,
    /// Equal for equal tool and arguments.
    pub print: Digest,
    /// What a later call can stand for.
    pub telling: Telling,
    /// What it does, in order.
    pub deeds: Vec<Deed>,
}

/// Numbers of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TestCounts {
    /// Passed.
    pub passed: u64,
    /// Failed, or could not run.
    pub failed: u64,
    /// Left out.
    pub skipped: u64,
}

/// A commit that a result reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its hash, as short as it was reported.
    pub hash: String,
    /// The first line of its message.
    pub subject: String,
}

/// A result, read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The call that it answers.
    pub call_id: String,
    /// How it came out.
    pub outcome: Outcome,
    /// The exit code, where it is told.
    pub exit: Option<i64>,
    /// Digest of the content without line numbers.
    pub content: Digest,
    /// The first and last line, where the content is numbered.
    pub lines: Option<(u64, u64)>,
    /// Tests, where a runner summed up.
    pub tests: Option<TestCounts>,
    /// The first words about a failure; also where the outcome is [`Outcome::Done`], since some command lines hide
    /// how they ended.
    pub error: Option<String>,
    /// Commits that it reports.
    pub commits: Vec<Commit>,
    /// The id that a new task got.
    pub task: Option<String>,
}

/// What one part of an entry tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A call was made.
    Called(Called),
    /// A call was answered.
    Answered(Answered),
}
