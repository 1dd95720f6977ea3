//! Arguments of the commands that keep the store.

use std::path::{Path, PathBuf};

use clap::Args;
use clap_complete::engine::ArgValueCompleter;

use crate::completed::conversations;
use crate::overrides::ShapeArgs;
use crate::value::EntryRange;

/// Takes transcripts into the store.
///
/// Importing a file again changes nothing: stored entries are recognised, new ones are added, and a file that
/// was rewritten opens a new generation. With --json: one JSON object per line, for one file each.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(crate) struct ImportArgs {
    /// Transcript files, and folders of them
    #[arg(value_name = "FILE|DIR")]
    pub(crate) paths: Vec<PathBuf>,
    /// Find the histories of known agents in their usual places
    #[arg(long, conflicts_with = "paths")]
    pub(crate) discover: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
    /// Go on in the background: for hooks of agents, which end without waiting. Failures are in `unforget logs`
    #[arg(long, hide = true)]
    pub(crate) detach: bool,
    /// Read files again whose size and time did not change
    #[arg(long)]
    pub(crate) force: bool,
}

/// Counts what is stored; of one conversation, shows its facts, generations and saves.
#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    /// Only this conversation
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// List these of its entries too
    #[arg(long, value_name = "A-B", requires = "conversation")]
    pub(crate) entries: Option<EntryRange>,
}

/// Writes a transcript as it was imported.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// An earlier save, by its number in `stats`
    #[arg(long, value_name = "N")]
    pub(crate) snapshot: Option<u64>,
    /// Write to a file instead of stdout; - is stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Write one HTML page to read and share: turns, and the window over the session
    #[arg(long, conflicts_with = "snapshot")]
    pub(crate) html: bool,
    /// Replace credentials in the page by their kinds
    #[arg(long, requires = "html")]
    pub(crate) mask: bool,
    /// Encrypt the page with the first line of this file as its passphrase; a browser asks for it
    #[arg(long, requires = "html", value_name = "FILE")]
    pub(crate) encrypt: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
}

impl ExportArgs {
    /// The file to write; `None` for stdout.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.output.as_deref().filter(|path| *path != Path::new("-"))
    }
}

/// Reads everything back and checks it.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {}

/// Copies new entries from the place to this machine, and from this machine to the place.
///
/// A folder is a shared one, a mounted cloud drive or a disk; another machine is reached by ssh and has `unforget` too. Every
/// record is checked before it is stored. Where two machines went on with one session, both paths are kept. Lanes of the
/// gateway and of live hosts stay on their machine, as do pins and other decisions of a person.
#[derive(Debug, Args)]
pub(crate) struct SyncArgs {
    /// A folder, or user@host
    #[arg(value_name = "FOLDER|USER@HOST", required_unless_present = "serve")]
    pub(crate) place: Option<String>,
    /// Encrypt the folder with the first line of this file as its passphrase
    #[arg(long, value_name = "FILE")]
    pub(crate) encrypt: Option<PathBuf>,
    /// Also purge here what was purged on another machine; otherwise that is only told
    #[arg(long)]
    pub(crate) purges: bool,
    /// Show what would be copied, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The command that reaches other machines [default: ssh -T]; host and program follow it
    #[arg(long, value_name = "COMMAND")]
    pub(crate) ssh: Option<String>,
    /// How `unforget` is called at the other machine [default: unforget]
    #[arg(long, value_name = "COMMAND")]
    pub(crate) program: Option<String>,
    /// Answer another machine on stdin and stdout: the other end of ssh
    #[arg(long, conflicts_with_all = ["place", "encrypt"])]
    pub(crate) serve: bool,
}

/// Takes every conversation of one database to another one: a file, or postgres://USER@HOST/DATABASE.
///
/// Nothing changes in FROM. The command may be stopped at any time and goes on when it is called again; what TO has already
/// is not written twice. At the end every conversation is read back from both and compared. A conversation that is another
/// one in TO is refused and named, and the others go. Stop the daemons and nodes of both databases before.
#[derive(Debug, Args)]
pub(crate) struct MigrateArgs {
    /// The database that has the conversations
    #[arg(value_name = "FROM")]
    pub(crate) from: PathBuf,
    /// Target database, created if there is none
    #[arg(value_name = "TO")]
    pub(crate) to: PathBuf,
    /// Only compare, and write nothing
    #[arg(long)]
    pub(crate) check: bool,
}

/// Writes a verified copy of the database.
#[derive(Debug, Args)]
pub(crate) struct BackupArgs {
    /// The copy; there must be no such file yet
    pub(crate) file: PathBuf,
}

/// Puts a verified copy in the place of the database. What was there is kept beside it.
#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// A copy made by `backup`
    pub(crate) file: PathBuf,
    /// Replace the database that is there
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Removes entries for good.
///
/// Their bytes, the summaries over them and their places in the search index are removed. Tombstones stay,
/// so that `verify` still proves the rest.
#[derive(Debug, Args)]
pub(crate) struct PurgeArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Only these entries, by seq, both ends included
    #[arg(long, value_name = "A-B")]
    pub(crate) entries: Option<EntryRange>,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Gives entries their vectors now, newest first, by the model in the table `meaning` of the settings file. A daemon does
/// the same in the background. What is stored is not made again, so the command may be stopped at any time.
#[derive(Debug, Args)]
pub(crate) struct EmbedArgs {
    /// Only this conversation
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Make none: only show how many entries wait
    #[arg(long)]
    pub(crate) count: bool,
    /// Drop the stored vectors first, and those pieces that the model failed on
    #[arg(long, conflicts_with = "count")]
    pub(crate) again: bool,
}

/// Builds the search index again. It is derived: nothing is lost when it is.
#[derive(Debug, Args)]
pub(crate) struct ReindexArgs {
    /// Only this conversation
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
}
