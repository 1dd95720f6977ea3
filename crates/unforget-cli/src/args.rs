//! The command line as types. Nothing here decides anything.

#![allow(clippy::doc_markdown, reason = "doc comments are the help texts, which have no markup")]

mod groups;
mod guard;
mod look;
mod operate;
mod pins;
mod prompt;
mod recall;
mod serve;
mod setup;
mod tools;
mod travel;
mod tui;
mod usage;

use std::ffi::OsString;

use clap::{Parser, Subcommand};

use crate::overrides::{Global, ServeArgs};

pub(crate) use groups::grouped;
pub(crate) use guard::{DoctorArgs, KeepArgs, RepairArgs, WatchArgs};
pub(crate) use look::{
    GiveBackArgs, LabelArgs, ListArgs, OpenArgs, PlaceArgs, ReadFormat, ResumeArgs, ShowArgs,
};
pub(crate) use operate::{
    BackupArgs, EmbedArgs, ExportArgs, ImportArgs, MigrateArgs, PurgeArgs, ReindexArgs, RestoreArgs,
    StatsArgs, SyncArgs, VerifyArgs,
};
pub(crate) use pins::{LedgerArgs, MemoryArgs, PinArgs, PinsArgs, RejectArgs, UncompactArgs, UnpinArgs};
pub(crate) use prompt::{CompactArgs, DecisionsArgs, JobsArgs, PromptArgs, ReplayArgs};
pub(crate) use recall::{
    AnswerArgs, DescribeArgs, ExpandArgs, GrepArgs, HandoffArgs, PackArgs, Role, SearchArgs,
};
pub(crate) use serve::{ConfigArgs, ConfigCommand, LogsArgs, RunArgs, StopArgs, WebArgs};
pub(crate) use setup::{SetupAgent, SetupArgs};
pub(crate) use tools::{
    BenchArgs, BenchCommand, CompletionsArgs, EngineArgs, GatewayBenchArgs, GrowthArgs, Half, HintsArgs,
    HookArgs, ImportBenchArgs, ManArgs, McpArgs, NeedlesArgs, PoliciesArgs, QuestionsArgs, RecallArgs,
    RpcArgs, SummariesArgs,
};
pub(crate) use travel::{At, DiffArgs, LeftArgs, PromptNumber, PromptsArgs, StatusArgs, WhyArgs};
pub(crate) use tui::TuiArgs;
pub(crate) use usage::{UsageArgs, UsageGroup};

/// Shown under `--help` and in the man page.
pub(crate) const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  problems were found (verify, doctor, config check, watch --once, repair that was only planned, and
     replay if a prompt was not valid)
  2  wrong usage, or a name that no conversation, entry or pin has
  3  bad input: a file that cannot be read, or that has another format than expected
  4  the store is busy, full or damaged

Environment:
  UNFORGET_DB       the database
  UNFORGET_WINDOW, UNFORGET_MODEL, UNFORGET_DIALECT, UNFORGET_COLOR
                    defaults for the options of these names
  UNFORGET_LISTEN, UNFORGET_UPSTREAM, UNFORGET_TLS_CERT, UNFORGET_TLS_KEY
                    the same for serve
  NO_COLOR          no colours

Every command takes --json; stdout is then JSON and nothing else. Start with:
  unforget import --discover
  unforget search WORDS";

/// Keeps every message an agent ever saw, and makes the prompt that fits.
///
/// Imports the histories of agent hosts byte for byte, shows what a long session costs with and without
/// compaction, makes prompts that are proved to fit, and finds anything again.
#[derive(Debug, Parser)]
#[command(name = "unforget", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    /// The options of every command.
    #[command(flatten)]
    pub(crate) global: Global,
    /// The command; without one, a person picks a conversation.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Drive a recorded session through the whole engine and report
    Replay(ReplayArgs),
    /// Take transcripts into the store, exactly once
    Import(ImportArgs),
    /// List the conversations: what, where, when
    #[command(visible_alias = "ls")]
    List(ListArgs),
    /// Give a conversation a title of your own, a star, tags
    Label(LabelArgs),
    /// Read a conversation
    Show(ShowArgs),
    /// Go on with a conversation in its agent
    Resume(ResumeArgs),
    /// Put a session back where its agent resumes it
    GiveBack(GiveBackArgs),
    /// Look at conversations and prompts in the terminal
    Tui(TuiArgs),
    /// Look at conversations and prompts in a browser
    Web(WebArgs),
    /// Open the transcript of a conversation in your editor
    Open(OpenArgs),
    /// Show how much is stored, or the facts of one conversation
    Stats(StatsArgs),
    /// Find entries by words, best first
    Search(SearchArgs),
    /// Find a regular expression in every stored byte
    Grep(GrepArgs),
    /// Describe the entries or the summary behind an id
    Describe(DescribeArgs),
    /// Show the entries behind an id, word for word, long spans in outline
    Expand(ExpandArgs),
    /// Make the request that would be sent now, with its certificate
    Prompt(PromptArgs),
    /// Summarise everything of a conversation that is old enough
    Compact(CompactArgs),
    /// Pin words: they stand in every prompt, verbatim
    Pin(PinArgs),
    /// Take a pin out of the prompts
    Unpin(UnpinArgs),
    /// List pins, and sentences that you may want to pin
    Pins(PinsArgs),
    /// Put entries back that a compaction took out of the prompt
    Uncompact(UncompactArgs),
    /// Mark something that was found as wrong or superseded
    Reject(RejectArgs),
    /// Show what earlier sessions in a project left: rules, decisions, open items
    Memory(MemoryArgs),
    /// Pack what is known of a question for another agent, as Markdown
    Pack(PackArgs),
    /// Write what another agent needs to go on with a session
    Handoff(HandoffArgs),
    /// Tell an agent what is known, for the hooks of agent hosts
    ///
    /// Reads the event of a host as JSON on standard input and prints a hint of at most 1,500 bytes, or nothing. Always
    /// exits with 0.
    Hook(HookArgs),
    /// List the work done with tools: files, commands, failures, commits, tasks
    Ledger(LedgerArgs),
    /// Count tokens and cost by day, model, project or host, as the transcripts record them
    Usage(UsageArgs),
    /// List the prompts that a live host was given
    Prompts(PromptsArgs),
    /// Show what the prompt leaves out, why, and how to get it back; the provider's cache
    Status(StatusArgs),
    /// Show what a prompt does not show any more, why, and how to get it back
    Left(LeftArgs),
    /// Show the differences between two prompts, and their reasons
    Diff(DiffArgs),
    /// Show how an entry is represented in the newest prompt, and since when
    Why(WhyArgs),
    /// Answer a question from the stored conversations
    Answer(AnswerArgs),
    /// List the summaries that models should write, or have them written
    Jobs(JobsArgs),
    /// List the decisions about prompts and summaries, with their reasons
    Decisions(DecisionsArgs),
    /// Write a transcript as it was imported, byte for byte
    Export(ExportArgs),
    /// Read everything back and check it
    Verify(VerifyArgs),
    /// Report problems of the database or of transcripts, and the command that mends them
    Doctor(DoctorArgs),
    /// Mend transcripts of agent hosts in place, with a backup and undo
    Repair(RepairArgs),
    /// Show which sessions are kept and which their agent will delete, or keep them
    Keep(KeepArgs),
    /// Watch folders of transcripts, and mend them if asked to
    Watch(WatchArgs),
    /// Have the same sessions on several machines: by a shared folder, or by ssh
    Sync(SyncArgs),
    /// Take all conversations to another database: from a file to PostgreSQL, or back
    Migrate(MigrateArgs),
    /// Write a verified copy of the database
    Backup(BackupArgs),
    /// Put a verified copy in the place of the database
    Restore(RestoreArgs),
    /// Remove entries for good: the only deletion there is
    Purge(PurgeArgs),
    /// Build the search index again
    Reindex(ReindexArgs),
    /// Give entries their vectors now, so that search finds them by meaning too
    Embed(EmbedArgs),
    /// Have an agent import its sessions and search them, or start a service that imports
    Setup(SetupArgs),
    /// Show every setting and where it came from, or check them
    Config(ConfigArgs),
    /// Serve the engine to an agent host: calls in, answers out
    Engine(EngineArgs),
    /// Serve recall to an MCP client on stdin and stdout
    Mcp(McpArgs),
    /// Serve a gateway in front of LLM APIs
    Serve(ServeArgs),
    /// Run an agent with the gateway in front of its model
    Run(RunArgs),
    /// End the daemon that owns the database
    Stop(StopArgs),
    /// Show the log of the daemon that `run` started
    Logs(LogsArgs),
    /// Measure speed, size and recall on this machine
    Bench(BenchArgs),
    /// Print the completion script of a shell
    Completions(CompletionsArgs),
    /// Print the man page, or write one page per command
    Man(ManArgs),
    /// Print the version
    #[command(hide = true)]
    Version,
}

/// Whether a command line names the command `hook`, however wrong its other words are.
///
/// * `words` - those behind the name of the program.
pub(crate) fn is_hook(words: impl IntoIterator<Item = OsString>) -> bool {
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word.to_str() {
            // The next word is the value of the option.
            Some("--db" | "--color") => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => return other == Some("hook"),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_table() {
        let table: [(&[&str], bool, &str); 7] = [
            (&["hook"], true, "the command"),
            (&["-q", "--db", "x", "--color=never", "hook", "--margin", "x"], true, "behind options"),
            (&["--nonsense", "hook"], true, "behind a wrong option"),
            (&["search", "hook"], false, "a word of another command"),
            (&["--db", "hook", "list"], false, "a value"),
            (&["--db"], false, "a value that is missing"),
            (&[], false, "nothing"),
        ];
        for (words, want, why) in table {
            assert_eq!(is_hook(words.iter().map(OsString::from)), want, "{why}");
        }
    }
}
