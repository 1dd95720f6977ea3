//! Arguments of the commands about pins and about what was done.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap_complete::engine::ArgValueCompleter;
use unforget_server::json::LedgerKind;
use unforget_text::MemoryKind;

use super::PlaceArgs;
use crate::completed::conversations;
use crate::overrides::ShapeArgs;
use crate::value::some;

/// Pins words: they stand, verbatim, in every prompt of the conversation from now on.
///
/// With --file, the pin follows the file: it is read again at the next break of a prompt and when a prompt is opened, and a
/// changed text replaces the old text. If the file cannot be read, its last text stays pinned; `pins` and `status` tell why.
#[derive(Debug, Args)]
pub(crate) struct PinArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// The words [default: those of --entry or --file]
    #[arg(required_unless_present_any = ["entry", "file"])]
    pub(crate) text: Option<String>,
    /// The entry that the words come from: s:12
    #[arg(long, value_name = "ID")]
    pub(crate) entry: Option<String>,
    /// Pin the text of this file and follow the file: at most 32 KiB
    #[arg(long, value_name = "FILE", conflicts_with_all = ["text", "entry"])]
    pub(crate) file: Option<PathBuf>,
    /// Replace the pin with this number
    #[arg(long, value_name = "PIN")]
    pub(crate) supersedes: Option<u64>,
}

/// Takes a pin out of the prompts. Its words stay on record.
#[derive(Debug, Args)]
pub(crate) struct UnpinArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Number of the pin
    pub(crate) pin: u64,
}

/// Lists pins, and sentences that you may want to pin.
#[derive(Debug, Args)]
pub(crate) struct PinsArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Look for sentences that you may want to pin
    #[arg(long)]
    pub(crate) proposals: bool,
    /// Pin this proposal, by its number; may be given several times
    #[arg(long, value_name = "NUMBER")]
    pub(crate) accept: Vec<u64>,
}

/// Marks something that was found as wrong or superseded: it stays stored, and is no longer recalled as true.
///
/// The verdict is shown beside the entry. A whole entry that is rejected ranks behind everything else, is quoted by no
/// answer, and is never offered unasked.
#[derive(Debug, Args)]
pub(crate) struct RejectArgs {
    /// The entry: e:KEY:12; or a summary, sum:..., with --line. With --list or --undo, its conversation
    pub(crate) name: String,
    /// The reason
    #[arg(long, value_name = "TEXT", required_unless_present_any = ["list", "undo"])]
    pub(crate) why: Option<String>,
    /// Only these words of the entry are meant, or this line of the summary
    #[arg(long, value_name = "TEXT")]
    pub(crate) line: Option<String>,
    /// The entry that holds now: e:KEY:40
    #[arg(long, value_name = "ID")]
    pub(crate) instead: Option<String>,
    /// The author of the verdict [default: the user's name]
    #[arg(long = "by", value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// List the verdicts of the conversation
    #[arg(long, conflicts_with_all = ["why", "line", "instead", "author", "undo"])]
    pub(crate) list: bool,
    /// Take back the verdict with this number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["why", "line", "instead", "author"])]
    pub(crate) undo: Option<u64>,
}

/// Puts entries back that a compaction took out of the prompt.
///
/// From the next prompt on they stand there word for word, behind the summaries that cover them, until --undo. Together they may
/// take an eighth of the room; the newest decision comes first, and of a span its newest entries. What has no room is told.
#[derive(Debug, Args)]
pub(crate) struct UncompactArgs {
    /// The conversation's key, or enough of it to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// An entry or a span: 120, or 120-130; may be given several times
    #[arg(long, value_name = "SPAN", required_unless_present_any = ["broke", "list", "undo"])]
    pub(crate) entries: Vec<String>,
    /// The entries that left the prompt at this break, counted from 1
    #[arg(long = "break", value_name = "N", conflicts_with = "entries")]
    pub(crate) broke: Option<u32>,
    /// The prompts whose breaks are counted, if none is kept.
    #[command(flatten)]
    pub(crate) shape: ShapeArgs,
    /// Who decides [default: the user's name]
    #[arg(long = "by", value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// List what was put back
    #[arg(long, conflicts_with_all = ["entries", "broke", "author", "undo"])]
    pub(crate) list: bool,
    /// Take the entries of this number away again
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["entries", "broke", "author"])]
    pub(crate) undo: Option<u64>,
}

/// Shows what earlier sessions in a project left: rules, open items, decisions with their reasons, failures and what
/// passed after them, commands that work.
///
/// Read from the stored sessions, without a model; each line names its entry. `reject` takes a line out, `pin` puts a
/// rule in.
#[derive(Debug, Args)]
pub(crate) struct MemoryArgs {
    /// The project: its name, its folder, or . for this one [default: .]
    #[arg(long, value_name = "NAME|FOLDER")]
    pub(crate) project: Option<String>,
    /// Only this kind; may be given several times
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(MemoryKind::ALL.map(MemoryKind::name)).try_map(memory_kind))]
    pub(crate) kind: Vec<MemoryKind>,
    /// Most lines of a kind [default: 8]
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = some::<usize>)]
    pub(crate) limit: Option<usize>,
}

fn memory_kind(name: String) -> Result<MemoryKind, String> {
    MemoryKind::by_name(&name).ok_or(name)
}

/// Lists what was done with tools: files, commands, failures, addresses, commits, tasks.
///
/// Read from the calls and results of conversations, without a model. Each row names its entries; without a conversation, also when it was
/// done, and what had been asked for.
#[derive(Debug, Args)]
pub(crate) struct LedgerArgs {
    /// Only this conversation [default: all of them]
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Only work on this file; the end of its path is enough
    #[arg(long, value_name = "PATH", conflicts_with_all = ["command", "failed"])]
    pub(crate) file: Option<String>,
    /// Only commands with this word in them
    #[arg(long, value_name = "WORD")]
    pub(crate) command: Option<String>,
    /// Only what failed; with --command, only commands that did
    #[arg(long)]
    pub(crate) failed: bool,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only what was done since then: 7d, yesterday, 2026-03-02, in your time zone
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only what was done before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only the newest N rows of each conversation
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = some::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Only rows of this kind; may be given several times
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(LedgerKind::ALL.map(LedgerKind::name)).try_map(kind))]
    pub(crate) kind: Vec<LedgerKind>,
}

fn kind(name: String) -> Result<LedgerKind, String> {
    LedgerKind::by_name(&name).ok_or(name)
}
