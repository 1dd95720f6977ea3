//! The rows of a ledger.

use std::collections::BTreeMap;
use std::path::Path;

use super::{
    Called, Commit, FailureKind, FaultPlace, FileChange, Lines, Outcome, SimpleCommand, TaskState, TestCounts,
};
use crate::digest::Digest;
use crate::id::Seq;

/// The subject of a failure: a later success with an equal subject clears it. Looks have none: a file that is not there
/// or a search without a match leaves nothing to be done.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Changing a file.
    Write(String),
    /// The work of a command, by [`SimpleCommand::aim`].
    Work(Digest),
    /// A call without a known subject, by tool and arguments.
    Call(Digest),
}

/// All rows of a ledger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// Files by path.
    pub files: BTreeMap<String, FileRow>,
    /// Command lines by [`super::Command::same`].
    pub commands: BTreeMap<Digest, CommandRow>,
    /// Failures without a later success.
    pub failing: BTreeMap<Subject, Failure>,
    /// Failures with a later success, in the order in which they were cleared.
    pub cleared: Vec<Failure>,
    /// Addresses.
    pub urls: BTreeMap<String, UrlRow>,
    /// Commits, oldest first.
    pub commits: Vec<CommitRow>,
    /// Tasks, in the order in which they were opened.
    pub tasks: Vec<TaskRow>,
    /// Unanswered calls by their ids, with the entry of each.
    pub pending: BTreeMap<String, (Seq, Called)>,
    /// Number of rows dropped because a kind had too many.
    pub dropped: u64,
    /// The entries of a person's newest requests, the newest last, at most [`Rows::ASKED_MAX`].
    pub asked: Vec<Seq>,
}

impl Rows {
    /// Most requests that are remembered.
    pub const ASKED_MAX: usize = 2;

    /// Number of rows of all kinds.
    pub fn len(&self) -> usize {
        let maps = self.files.len() + self.commands.len() + self.failing.len() + self.urls.len();
        maps + self.pending.len() + self.cleared.len() + self.commits.len() + self.tasks.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The entries in which a piece of work was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WorkPlace {
    /// The entry with the call.
    pub call: Seq,
    /// The entry with its result.
    pub answer: Seq,
}

/// A read stretch of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Which lines.
    pub lines: Lines,
    /// Digest of the shown content.
    pub content: Digest,
    /// Place of the last read.
    pub at: WorkPlace,
}

/// The newest change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The kind of change.
    pub change: FileChange,
    /// Digest of the new content, if the call had all of it.
    pub content: Option<Digest>,
    /// Place of the change.
    pub at: WorkPlace,
}

/// A file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileRow {
    /// Read stretches, the newest last, at most [`FileRow::LOOKS_MAX`].
    pub looks: Vec<Look>,
    /// The newest change.
    pub put: Option<Put>,
    /// Number of reads.
    pub reads: u32,
    /// Number of changes.
    pub writes: u32,
}

impl FileRow {
    /// Most read stretches per row.
    pub const LOOKS_MAX: usize = 8;

    /// The newest entry that read or changed it.
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

/// A command line and its last outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandRow {
    /// Its text, shortened.
    pub text: String,
    /// Number of runs.
    pub runs: u32,
    /// Outcome of the last run.
    pub outcome: Outcome,
    /// Exit code of the last run, where reported.
    pub exit: Option<i64>,
    /// Test figures of the last run, where reported.
    pub tests: Option<TestCounts>,
    /// Whether it runs tests.
    pub is_test: bool,
    /// Whether it only looks at things.
    pub is_look: bool,
    /// Place of the last run.
    pub at: WorkPlace,
}

/// Work that failed, once or repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Name and aim of the last call that failed, in a few words.
    pub what: String,
    /// Equal for calls of one tool.
    pub tool: Digest,
    /// The last report about it.
    pub told: String,
    /// The content of the last report.
    pub kind: FailureKind,
    /// Where the failure lies, by the last report.
    pub place: FaultPlace,
    /// The command that failed; `None` for other calls.
    pub part: Option<SimpleCommand>,
    /// Number of failures before it was cleared.
    pub times: u32,
    /// Place of the first failure.
    pub first: WorkPlace,
    /// Place of the last failure.
    pub last: WorkPlace,
    /// The success that cleared it.
    pub cleared: Option<WorkPlace>,
}

impl Failure {
    /// Whether the failure is over once a person has spoken: a call that was refused and not made again, unless a check
    /// of the work failed by it. The person was told, or nobody needed it.
    pub(super) fn lapses(&self) -> bool {
        let is_check = self.part.as_ref().is_some_and(|part| part.is_check() || part.compiles.is_some());
        let is_once = self.times == 1 || self.part.is_none();
        match self.kind {
            FailureKind::Misused => true,
            FailureKind::Refused => is_once && !is_check,
            FailureKind::Stopped | FailureKind::Line(_) | FailureKind::Test(_) => false,
        }
    }

    /// Whether a file is the one with the line at fault: its last steps are those of the file that the report names.
    ///
    /// * `path` - as a call names the file.
    pub fn is_in(&self, path: &str) -> bool {
        !self.place.file.is_empty() && Path::new(path).ends_with(&self.place.file)
    }

    /// Whether the tests of the fault's package passed, or those of the folder of its file.
    ///
    /// * `passed` - names of packages.
    pub(super) fn is_among(&self, passed: &[String]) -> bool {
        let FaultPlace { file, package } = &self.place;
        let folder = Path::new(file).parent().filter(|folder| !folder.as_os_str().is_empty());
        let in_folder = |name: &String| folder.is_some_and(|folder| Path::new(name).ends_with(folder));
        passed.iter().any(|name| if package.is_empty() { in_folder(name) } else { name == package })
    }
}

/// A fetched address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UrlRow {
    /// Number of fetches.
    pub times: u32,
    /// Outcome of the last fetch.
    pub outcome: Outcome,
    /// Place of the last fetch.
    pub at: WorkPlace,
}

/// A commit and the place of its report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRow {
    /// The commit.
    pub commit: Commit,
    /// Place of the report.
    pub at: WorkPlace,
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRow {
    /// The host's id, where it gives one.
    pub id: Option<String>,
    /// Its text.
    pub text: String,
    /// Its state.
    pub state: TaskState,
    /// Place of its opening.
    pub opened: WorkPlace,
    /// Place of its last change of state.
    pub changed: WorkPlace,
}
