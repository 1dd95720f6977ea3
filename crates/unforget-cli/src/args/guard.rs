//! Arguments of the commands that look after hosts' own transcripts.

use std::path::PathBuf;

use clap::Args;

/// Reports problems and the command that mends them.
///
/// Without a path it looks at the database. With paths it inspects transcripts of agent hosts, and changes
/// nothing: orphaned calls and results, aborted calls that were filled in, repeated ids, lost parents, cut and
/// glued lines, compactions that part a call from its result. With --json: one object per file, then a sum.
#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Transcripts, and folders of them
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
}

/// Mends transcripts of agent hosts in place.
///
/// Shows what would change and writes nothing, unless --write is given. Then: the host's lock, a copy with the
/// changes in the same folder, a check of the copy, a backup beside the file, a check that nobody wrote
/// meanwhile, one rename. Lines that are not changed stay as they are, byte for byte.
#[derive(Debug, Args)]
pub(crate) struct RepairArgs {
    /// Transcripts
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Write the changes
    #[arg(long)]
    pub(crate) write: bool,
    /// Put the original back, if nothing was written since the repair
    #[arg(long, conflicts_with = "write")]
    pub(crate) undo: bool,
}

/// Shows which sessions of this machine are kept, and which their agent will delete before; or keeps them.
///
/// Without --foreground nothing is imported. It ends with 1 if an agent deletes a session within a week that is not in
/// the database as it is now. `unforget setup --service` has --foreground run all the time.
#[derive(Debug, Args)]
pub(crate) struct KeepArgs {
    /// Import every session of every known agent while it grows, until ended
    #[arg(long)]
    pub(crate) foreground: bool,
    /// How long a session must have been left alone before it is imported; a minute is the most
    #[arg(long, value_name = "SECS", default_value_t = 5, requires = "foreground")]
    pub(crate) quiet_for: u64,
}

/// Watches folders of transcripts: reports or mends damage in them.
///
/// Files are looked at when nobody has written to them for a while. Only one watch runs per set of folders.
/// See docs/guardian.md for a systemd unit and a cron line.
#[derive(Debug, Args)]
pub(crate) struct WatchArgs {
    /// Folders of transcripts
    #[arg(value_name = "DIR", required = true)]
    pub(crate) folders: Vec<PathBuf>,
    /// Look at everything once and end, for cron
    #[arg(long)]
    pub(crate) once: bool,
    /// Mend what breaks a session or hides a part of it
    #[arg(long)]
    pub(crate) repair: bool,
    /// How long a file must have been left alone before it is inspected
    #[arg(long, value_name = "SECS", default_value_t = 30)]
    pub(crate) quiet_for: u64,
    /// Keep counters in this file, as Prometheus text
    #[arg(long, value_name = "PATH")]
    pub(crate) metrics: Option<PathBuf>,
}
