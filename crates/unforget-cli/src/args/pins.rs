//! Arguments of the commands about pins and about what was done.

use clap::{Args, ValueEnum};
use serde::Serialize;

/// Pins words: they stand, verbatim, in every prompt of the conversation from now on.
#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// The conversation's key, or enough of it
    pub(crate) conversation: String,
    /// The words [default: those of --entry]
    #[arg(required_unless_present = "entry")]
    pub(crate) text: Option<String>,
    /// The entry that they come from: s:12
    #[arg(long, value_name = "ID")]
    pub(crate) entry: Option<String>,
    /// Take the place of this pin
    #[arg(long, value_name = "PIN")]
    pub(crate) supersedes: Option<u64>,
}

/// Takes a pin back. Its words stay on record.
#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// The conversation's key, or enough of it
    pub(crate) conversation: String,
    /// Number of the pin
    pub(crate) pin: u64,
}

/// Lists pins, and sentences that you may want to pin.
#[derive(Debug, Args)]
pub(crate) struct PinsArgs {
    /// The conversation's key, or enough of it
    pub(crate) conversation: String,
    /// Look for sentences that you may want to pin
    #[arg(long)]
    pub(crate) proposals: bool,
    /// Pin this proposal, by its number; may be given several times
    #[arg(long, value_name = "NUMBER")]
    pub(crate) accept: Vec<u64>,
}

/// Kind of a row of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LedgerKind {
    /// Files read, written, edited, removed
    File,
    /// Command lines, tests among them
    Command,
    /// What failed, and whether it was cleared
    Failure,
    /// Addresses fetched
    Url,
    /// Commits
    Commit,
    /// Tasks
    Task,
}

impl LedgerKind {
    /// All of them.
    pub(crate) const ALL: [Self; 6] =
        [Self::File, Self::Command, Self::Failure, Self::Url, Self::Commit, Self::Task];

    /// What stands above its rows.
    pub(crate) const fn heading(self) -> &'static str {
        match self {
            Self::File => "files",
            Self::Command => "commands",
            Self::Failure => "failures",
            Self::Url => "addresses",
            Self::Commit => "commits",
            Self::Task => "tasks",
        }
    }
}

/// Lists what was done with tools: files, commands, failures, addresses, commits, tasks.
///
/// Read from the calls and results of the conversation, without a model. Each row names its entries.
#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// The conversation's key, or enough of it
    pub(crate) conversation: String,
    /// Only rows of this kind; may be given several times
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Vec<LedgerKind>,
}
