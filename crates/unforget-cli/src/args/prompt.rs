//! Arguments of the commands that make prompts.

use std::path::PathBuf;

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use super::At;
use crate::completed::conversations;
use crate::overrides::ShapeArgs;

/// Makes the request that would be sent now.
///
/// The request goes to stdout, its certificate to stderr; with --json both to stdout as
/// {"request": ..., "certificate": ...}. The same history and the same options give the same bytes.
#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// The target of the prompt.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// The prompt when this turn began, counted from 1; or rN: the exact bytes that a live host was given
    #[arg(long, value_name = "TURN|rN")]
    pub(crate) at: Option<At>,
    /// Do not start a pager
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// Summarises everything of a conversation that is old enough.
#[derive(Debug, Args)]
pub(crate) struct CompactArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// The target of prompts.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// Let models write waiting and abandoned summaries now, regardless of breakers
    #[arg(long)]
    pub(crate) force: bool,
}

/// Jobs of models.
#[derive(Debug, Args)]
pub(crate) struct JobsArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Write all of them now, including waiting and abandoned ones
    #[arg(long, conflicts_with = "clear")]
    pub(crate) run: bool,
    /// Delete these jobs
    #[arg(long)]
    pub(crate) clear: bool,
}

/// Lists what was decided: one row per turn of a live host, one per break, one per job.
#[derive(Debug, Args)]
pub(crate) struct DecisionsArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Number of decisions to list, the newest ones
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
}

/// Drives a recorded session through the whole engine, call by call, and reports.
///
/// Before every recorded model call the prompt is made, admitted and validated as a live host would have
/// it made, and compared with sending everything and with a sliding window. The store that it fills is
/// deleted at the end, unless --db names a file for it; entries that this file has already are not stored again.
#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// The transcript
    pub(crate) file: PathBuf,
    /// The target of prompts.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// Write the report as one self-contained page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Do not render and validate the prompts
    #[arg(long)]
    pub(crate) no_validate: bool,
}
