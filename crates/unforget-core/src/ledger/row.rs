//! The rows of a ledger.

use std::collections::BTreeMap;

use super::{Called, Change, Commit, Lines, Outcome, TaskState, TestCounts};
use crate::digest::Digest;
use crate::id::Seq;

/// What a failure is of: a success of the same clears it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Reading a file.
    Read(String),
    /// Changing a file.
    Write(String),
    /// Work that a command does.
    Work(Digest),
    /// Fetching an address.
    Url(String),
    /// A call that is about nothing known, by tool and arguments.
    Call(Digest),
}

/// All that a ledger holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Files by path.
    pub files: BTreeMap<String, FileRow>,
    /// Command lines by [`super::Command::same`].
    pub commands: BTreeMap<Digest, CommandRow>,
    /// Failures that nothing cleared.
    pub failing: BTreeMap<Subject, Failure>,
    /// Failures that were cleared, in the order of that.
    pub cleared: Vec<Failure>,
    /// Addresses.
    pub urls: BTreeMap<String, UrlRow>,
    /// Commits, oldest first.
    pub commits: Vec<CommitRow>,
    /// Tasks, in the order of being opened.
    pub tasks: Vec<TaskRow>,
    /// Calls that are not answered, by their ids, with the entry of each.
    pub pending: BTreeMap<String, (Seq, Called)>,
    /// Rows that were dropped because there were too many of a kind.
    pub dropped: u64,
}

impl Rows {
    /// How many there are, of all kinds.
    pub fn len(&self) -> usize {
        let maps = self.files.len() + self.commands.len() + self.failing.len() + self.urls.len();
        maps + self.pending.len() + self.cleared.len() + self.commits.len() + self.tasks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The entries in which something was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The entry with the call.
    pub call: Seq,
    /// The entry with its result.
    pub answer: Seq,
}

/// A stretch of a file that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which lines.
    pub lines: Lines,
    /// Digest of what was shown.
    pub content: Digest,
    /// When it was read last.
    pub at: Place,
}

/// The newest change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// How.
    pub change: Change,
    /// Digest of the new content, if the call had all of it.
    pub content: Option<Digest>,
    /// Where.
    pub at: Place,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRow {
    /// Stretches that were read, the newest last, at most [`FileRow::LOOKS_MAX`].
    pub looks: Vec<Look>,
    /// The newest change.
    pub put: Option<Put>,
    /// How often it was read.
    pub reads: u32,
    /// How often it was changed.
    pub writes: u32,
}

impl FileRow {
    /// Most stretches that a row keeps.
    pub const LOOKS_MAX: usize = 8;

    /// The newest entry that touched it.
    pub fn newest(&self) -> Seq {
        let looked = self.looks.iter().map(|look| look.at.answer);
        looked.chain(self.put.map(|put| put.at.answer)).max().unwrap_or_default()
    }

    pub(super) fn look(&mut self, look: Look) {
        self.reads = self.reads.saturating_add(1);
        self.looks.retain(|old| old.lines != look.lines);
        self.looks.push(look);
        let excess = self.looks.len().saturating_sub(Self::LOOKS_MAX);
        self.looks.drain(..excess);
    }
}

/// A command line and how it came out last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its words, shortened.
    pub text: String,
    /// How often it ran.
    pub runs: u32,
    /// How it came out last.
    pub outcome: Outcome,
    /// Its exit code then, where it was told.
    pub exit: Option<i64>,
    /// Its tests then, where a runner summed up.
    pub tests: Option<TestCounts>,
    /// Whether it runs tests at all.
    pub is_test: bool,
    /// When it ran last.
    pub at: Place,
}

/// Something that failed, once or again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name and aim of the call, in few words.
    pub what: String,
    /// What was told about it last.
    pub told: String,
    /// How often it failed before it was cleared.
    pub times: u32,
    /// When it failed first.
    pub first: Place,
    /// When it failed last.
    pub last: Place,
    /// The success that cleared it.
    pub cleared: Option<Place>,
}

/// An address that was fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlRow {
    /// How often.
    pub times: u32,
    /// Whether it answered last.
    pub outcome: Outcome,
    /// When last.
    pub at: Place,
}

/// A commit, with where it was reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRow {
    /// The commit.
    pub commit: Commit,
    /// Where.
    pub at: Place,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The host's id, where it gives one.
    pub id: Option<String>,
    /// Its words.
    pub text: String,
    /// How it stands.
    pub state: TaskState,
    /// Where it was opened.
    pub opened: Place,
    /// Where its state changed last.
    pub changed: Place,
}
