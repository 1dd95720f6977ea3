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
    /// Its simple commands, in order, without those that only display the output of others.
    pub parts: Vec<SimpleCommand>,
    /// Index in `parts` of the command whose failure a failure of the line is; `None` if it is a failure of a look or
    /// unknown.
    pub fails: Option<u64>,
}

impl Command {
    /// Whether the line only looks at things: no work can fail in it.
    pub fn is_look(&self) -> bool {
        self.parts.iter().all(|part| part.purpose == CommandPurpose::Looks)
    }
}

/// What a command is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandPurpose {
    /// Work of its own.
    #[default]
    Work,
    /// A task of the project, such as a check or a build.
    Task,
    /// Tests.
    Tests,
    /// A look or a wait (`grep`, `ls`, `git log`, `sleep`).
    Looks,
    /// A compiler or a linter: silent, or brief, if all is well.
    Check,
}

/// How much of its folder a command works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CommandReach {
    /// A part, by its targets, or an unknown one.
    #[default]
    Part,
    /// Also things that a plain run may leave out: by a second word in the name of its task (`test:integration`), build
    /// tags, features.
    Special,
    /// All of it: no target selects a part.
    Whole,
    /// All of it, by the project's own check (`npm run check`).
    Checked,
    /// All of it, and things that a plain run may leave out (`test:ci`).
    More,
}

/// What a command line shows of the output of one of its commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShownOutput {
    /// All of it.
    #[default]
    Whole,
    /// Its end (`| tail`), where most programs tell how they ended.
    End,
    /// Its start (`| head`).
    Start,
    /// Lines chosen by their words (`| grep`), other words made of it, or nothing (`> file`).
    Chosen,
    /// Only the number of lines that report a fault (`| grep -c error`).
    FaultCount,
    /// Any of it, beside the text of files or pages that the line shows too: words are of unknown origin.
    Mixed,
}

/// One command of a command line, without redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Equal for commands of one program (`git`).
    pub program: Digest,
    /// Equal for commands of one program and verb (`cargo test`, `git push`).
    pub kin: Digest,
    /// Equal for commands of one program that compile their targets first (`go build`, `go vet`, `go test`).
    pub compiles: Option<Digest>,
    /// The folder in which it runs, if the line names one.
    pub folder: Option<CommandTarget>,
    /// Its targets: words other than the program, the verb, flags, and options that set a number.
    pub targets: Vec<CommandTarget>,
    /// What it is for.
    pub purpose: CommandPurpose,
    /// How much of its folder it works on.
    pub reach: CommandReach,
    /// Whether the line can succeed although this command failed (`| tail`, `; echo done`).
    pub hides: bool,
    /// What the line shows of its output.
    pub shown: ShownOutput,
}

impl SimpleCommand {
    /// Whether its failure is a failed check of the work: tests, a task of the project, a compiler, a linter.
    pub const fn is_check(&self) -> bool {
        matches!(self.purpose, CommandPurpose::Tests | CommandPurpose::Task | CommandPurpose::Check)
    }

    /// Equal for commands of equal program, verb, folder and targets, however the targets are ordered.
    pub fn aim(&self) -> Digest {
        let mut names: Vec<Digest> = self.targets.iter().map(|target| target.name).collect();
        names.sort_unstable();
        names.dedup();
        names.push(self.kin);
        names.extend(self.folder.as_ref().map(|folder| folder.name));
        let bytes: Vec<u8> = names.iter().flat_map(|name| name.0).collect();
        Digest::of(&bytes)
    }

    /// Whether a success of this command settles a failure of another one.
    ///
    /// Both commands must be of one kin. Each target of the failed command must be a target of this one, or lie in a target
    /// folder of this one. Words after `cargo test` select tests: fewer words cover more. A program that compiled a target
    /// can compile the target in its other commands too.
    ///
    /// * `fault` - the failure of the other one.
    pub fn settles(&self, other: &Self, fault: FailureKind) -> bool {
        let in_folder = match (&self.folder, &other.folder) {
            (Some(own), Some(others)) => own.is_on_way(others),
            _ => true,
        };
        let is_named =
            |own: &CommandTarget| own.is_root || other.targets.iter().any(|target| own.holds(target));
        let names_fewer = self.targets.iter().all(is_named);
        let covers = |target: &CommandTarget| self.targets.iter().any(|own| own.holds(target));
        in_folder
            && match self.kin == other.kin {
                // The call was made again in another form.
                true if fault.is_refusal() => true,
                true if self.purpose == CommandPurpose::Tests => names_fewer,
                true => {
                    self.targets.is_empty() == other.targets.is_empty() && other.targets.iter().all(covers)
                }
                false => {
                    let is_compiled = self.compiles.is_some() && self.compiles == other.compiles;
                    is_compiled && matches!(fault, FailureKind::Line(_)) && names_fewer
                }
            }
    }
}

/// A target of a command: a file, a folder, the name of a task or a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTarget {
    /// Equal for equal words.
    pub name: Digest,
    /// Names of folders that hold it, whole or without their start.
    pub above: Vec<Digest>,
    /// Whether it is the working folder.
    pub is_root: bool,
}

impl CommandTarget {
    /// Whether it is another target, or a folder that holds it.
    pub(super) fn holds(&self, other: &Self) -> bool {
        self.name == other.name || other.above.contains(&self.name)
    }

    /// Whether one of two folders holds the other.
    fn is_on_way(&self, other: &Self) -> bool {
        self.holds(other) || other.holds(self)
    }
}

/// The content of a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FailureKind {
    /// The command was stopped, or could not be started. Such a failure says nothing about the work.
    Stopped,
    /// No place is named. Mostly the call itself was refused: a missing file, no permission.
    #[default]
    Refused,
    /// The program does not know a word of the call: a task, a verb, an option.
    Misused,
    /// A line of a file is at fault; equal for equal lines with equal words.
    Line(Digest),
    /// A test failed; equal for equal names, or for equal words without a name.
    Test(Digest),
}

impl FailureKind {
    /// The fault, if its place is known.
    pub const fn fault(self) -> Option<Digest> {
        match self {
            Self::Line(fault) | Self::Test(fault) => Some(fault),
            Self::Stopped | Self::Refused | Self::Misused => None,
        }
    }

    /// Whether the call was refused, and says nothing about the work.
    pub const fn is_refusal(self) -> bool {
        matches!(self, Self::Refused | Self::Misused)
    }
}

/// Where a failure lies, as far as its report names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultPlace {
    /// The file with the line at fault, as the report names it; empty if none is named.
    pub file: String,
    /// The package whose tests failed, as the test runner names it; empty if none is named.
    pub package: String,
}

/// What an output says about the end of a run, whatever the exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RunEvidence {
    /// There is no output.
    #[default]
    Nothing,
    /// Nothing about the end.
    Words,
    /// Errors are mentioned, which may be no failure of the run.
    Doubt,
    /// A number greater than 0, and nothing else.
    Number,
    /// The run says that it succeeded, and no failure is reported.
    Success,
    /// A failure is reported.
    Fault,
}

/// The meaning of a command line's exit code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tells {
    /// 1 is an answer and no failure (`grep`, `diff`, `test`).
    pub asks: bool,
    /// Exit code 0 proves little: a later command (`| tail`, `; echo done`) hides the outcome of an earlier one.
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
    /// Equal for calls of one tool.
    pub tool: Digest,
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
    /// The content of a failure.
    pub kind: FailureKind,
    /// Where the failure lies.
    pub place: FaultPlace,
    /// What the output says about the end of the run.
    pub evidence: RunEvidence,
    /// The packages whose tests passed, where the test runner names packages.
    pub passed: Vec<String>,
    /// Commits that it reports.
    pub commits: Vec<Commit>,
    /// The id of a new task.
    pub task: Option<String>,
}

/// The information of one part of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A person said something.
    Asked,
    /// A call was made.
    Called(Called),
    /// A call was answered.
    Answered(Answered),
}
