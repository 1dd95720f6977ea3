//! Arguments of the commands with which a person finds a conversation, reads it and goes on with it.

use clap::{ArgGroup, Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;

use crate::completed::{conversations, hosts, projects};
use crate::failure::Outcome;
use crate::reading::ToolsShown;
use crate::recognised::PlaceFilter;
use crate::value::{Agent, some, window};

/// Lists the conversations, the newest last on a terminal.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only conversations with this word in title, project, branch or key
    pub(crate) word: Option<String>,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only those that went on since then: 7d, yesterday, 2026-03-02, in your time zone
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only those that began before
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Only those with a star
    #[arg(long)]
    pub(crate) starred: bool,
    /// Only those with this tag; of several, with all
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Only the newest N
    #[arg(short = 'n', long = "limit", value_name = "N", value_parser = some::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Show sub-agents too, under the conversations that started them
    #[arg(long)]
    pub(crate) tree: bool,
    /// Show models and cost, as the transcripts record them: reads every transcript
    #[arg(long)]
    pub(crate) cost: bool,
}

/// Gives a conversation a title of your own, a star or tags; without any, shows them.
///
/// They are yours: imports and hosts do not change them, and the transcript stays as it is. `list` filters by --starred and --tag.
#[derive(Debug, Args)]
pub(crate) struct LabelArgs {
    /// Its id in `list`, or its key
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// The title, at most 200 characters; "" takes it away
    #[arg(long, value_name = "TEXT")]
    pub(crate) title: Option<String>,
    /// Give it a star
    #[arg(long)]
    pub(crate) star: bool,
    /// Take the star away
    #[arg(long, conflicts_with = "star")]
    pub(crate) no_star: bool,
    /// Add a tag, a word of at most 40 characters; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(crate) tag: Vec<String>,
    /// Take a tag away; may be given several times
    #[arg(long, value_name = "TAG")]
    pub(crate) untag: Vec<String>,
}

/// Where conversations ran.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct PlaceArgs {
    /// Only conversations of this project: its name, its folder, or . for this one
    #[arg(long, value_name = "NAME|FOLDER", add = ArgValueCompleter::new(projects))]
    pub(crate) project: Option<String>,
    /// Only conversations of this host, such as claude or codex
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(hosts))]
    pub(crate) host: Option<String>,
    /// Only conversations on this branch
    #[arg(long, value_name = "NAME")]
    pub(crate) branch: Option<String>,
}

impl PlaceArgs {
    /// The filter that takes these conversations.
    ///
    /// # Errors
    /// If the project is a folder that cannot be told.
    pub(crate) fn filter(&self) -> Outcome<PlaceFilter> {
        PlaceFilter::new(self.project.as_deref(), self.host.as_deref(), self.branch.as_deref())
    }
}

/// Reads a conversation as its turns, in a pager on a terminal.
///
/// Tools are one line each, with their outcome; what has no words is left out. `stats` has the facts.
#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    /// Its id in `list`, its key, or enough of either to be unique
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Only the last N turns
    #[arg(long, value_name = "N", value_parser = some::<u64>, conflicts_with = "from")]
    pub(crate) last: Option<u64>,
    /// Only turn N and what follows; turns count from 1
    #[arg(long, value_name = "N")]
    pub(crate) from: Option<u64>,
    /// How much of tools to show
    #[arg(long, value_name = "HOW", default_value = "line")]
    pub(crate) tools: ToolsShown,
    /// Show entries without words too: bookkeeping, copies, instructions of the host
    #[arg(long)]
    pub(crate) all: bool,
    /// The form of the output
    #[arg(long, value_name = "FORM")]
    pub(crate) format: Option<ReadFormat>,
    /// Do not start a pager
    #[arg(long)]
    pub(crate) no_pager: bool,
}

/// A form to read a conversation in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReadFormat {
    /// For a terminal
    Text,
    /// Markdown
    Md,
    /// A page for a browser
    Html,
    /// JSON
    Json,
}

/// Puts you back into the agent at a conversation, in its folder.
#[derive(Debug, Args)]
pub(crate) struct ResumeArgs {
    /// Its id in `list`, or its key; without one, the newest of this project
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Print the command instead of running it
    #[arg(long)]
    pub(crate) print: bool,
}

/// Puts sessions back where an agent resumes them: as they were, small, or for another agent.
///
/// What stands there is never changed. Without --small and --to the file is the agent's own, byte for byte, for
/// sessions that it deleted or lost. With --small or --to a new session is written, and a list tells what it cannot carry.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("form").args(["small", "to"]).multiple(true)))]
#[allow(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(crate) struct GiveBackArgs {
    /// Its id in `list`, or its key; its sub-agents come along as they were
    #[arg(add = ArgValueCompleter::new(conversations), required_unless_present = "lost")]
    pub(crate) conversation: Option<String>,
    /// As a new session: summaries of what is old, and the newest messages verbatim
    #[arg(long, conflicts_with = "lost")]
    pub(crate) small: bool,
    /// For another agent: claude, codex, opencode or pi; small if all of it would leave no room to go on
    #[arg(long, value_name = "AGENT", conflicts_with = "lost")]
    pub(crate) to: Option<Agent>,
    /// The window of the agent's model in tokens, for --small and --to [default: that of `config`]
    #[arg(long, value_name = "N", value_parser = window, conflicts_with = "lost", requires = "form")]
    pub(crate) window: Option<u64>,
    /// List all whose file is gone from its agent's folder; with --yes, put all of them back
    #[arg(long, conflicts_with = "conversation")]
    pub(crate) lost: bool,
    /// Put back all that --lost lists
    #[arg(long, requires = "lost", conflicts_with = "conversation")]
    pub(crate) yes: bool,
    /// Write nothing: say what would be written
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// Opens the transcript of a conversation in your editor (VISUAL, EDITOR).
#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Its id in `list`, or its key
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: String,
    /// Print the path instead of opening it
    #[arg(long)]
    pub(crate) print: bool,
}
