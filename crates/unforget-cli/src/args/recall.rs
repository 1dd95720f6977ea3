//! Arguments of the recall commands.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::engine::ArgValueCompleter;
use unforget_engine::recall::HANDOFF_TOKENS;

use super::PlaceArgs;
use crate::completed::conversations;
use crate::value::{some, tokens};

/// Finds entries by words, best first. Every result says where it is from.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// Words, in any order; a question is fine
    #[arg(required = true, num_args = 1..)]
    pub(crate) query: Vec<String>,
    /// Only this conversation
    #[arg(long = "in", alias = "conversation", value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Most results to show
    /// [default: 10, or as many as the budget holds]
    #[arg(short = 'n', long, value_name = "N", value_parser = some::<usize>)]
    pub(crate) limit: Option<usize>,
    /// Lines to show around a line with words of the query
    #[arg(short = 'C', long, value_name = "LINES", default_value_t = 1)]
    pub(crate) context: usize,
    /// As many results as fit into this many tokens
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) budget: Option<u64>,
    /// Only entries of this role
    #[arg(long)]
    pub(crate) role: Option<Role>,
    /// Only entries of this author
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Option<String>,
    /// Only calls and results of this tool
    #[arg(long, value_name = "NAME")]
    pub(crate) tool: Option<String>,
    /// Only from then on: 7d, yesterday, 2026-03-02, 2026-03-02T09:00, in your time zone
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only before this day or time
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
}

/// Who speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Role {
    /// Instructions of the host.
    System,
    /// A person, or the host in their place.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
}

/// Answers a question from the stored conversations, with passages as receipts.
///
/// A configured model reads the passages that are named or found, within limits on tokens, on further requests and on time.
/// Without a model, the passages are the answer.
#[derive(Debug, Args)]
pub(crate) struct AnswerArgs {
    /// The question
    pub(crate) question: String,
    /// Only this conversation
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Id of entries to read before the passages that are found, as for `expand`; may be given several times, in reading order
    #[arg(long, value_name = "ID")]
    pub(crate) from: Vec<String>,
    /// Most tokens of passages to read
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "6000")]
    pub(crate) tokens: u64,
    /// How often the model may ask for more passages
    #[arg(long, value_name = "N", default_value_t = 2)]
    pub(crate) depth: u32,
    /// The longest answer, in tokens
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "1000")]
    pub(crate) output: u64,
    /// Seconds for the whole answer
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    pub(crate) within: u64,
    /// Ask no model: print the passages that are found
    #[arg(long)]
    pub(crate) no_model: bool,
}

/// Writes what another agent needs to go on with a session: state, rules, decisions, files, open work, each with its receipt.
#[derive(Debug, Args)]
pub(crate) struct HandoffArgs {
    /// Its id in `list`, or its key; without one, the newest of this project
    #[arg(add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Most tokens of the document
    #[arg(long, value_name = "TOKENS", value_parser = tokens, default_value_t = HANDOFF_TOKENS)]
    pub(crate) budget: u64,
    /// Write to a new file instead of stdout
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

/// Packs what is known of a question for another agent, as Markdown.
///
/// Rules, decisions, open work, failures, commands, files and passages, each with the entry that it is from, within a budget of tokens. No
/// model is asked.
#[derive(Debug, Args)]
pub(crate) struct PackArgs {
    /// A question, or words
    #[arg(required = true, num_args = 1..)]
    pub(crate) query: Vec<String>,
    /// Only this conversation
    #[arg(long = "in", alias = "conversation", value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Size of the pack in tokens, at most
    #[arg(long, value_name = "TOKENS", value_parser = tokens, default_value = "2000")]
    pub(crate) budget: u64,
}

/// Finds a regular expression in every stored byte.
///
/// Matches in what was said and done are shown as lines of text, each once; matches elsewhere in the records, as they are stored.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches, as of every grep")]
pub(crate) struct GrepArgs {
    /// The pattern, in the syntax of Rust's regex crate
    pub(crate) regex: String,
    /// Ignore upper and lower case
    #[arg(short, long)]
    pub(crate) ignore_case: bool,
    /// Only whole words
    #[arg(short, long)]
    pub(crate) word: bool,
    /// Lines to show around a line that matches
    #[arg(short = 'C', long, value_name = "LINES", default_value_t = 0)]
    pub(crate) context: usize,
    /// Print only the conversations that match
    #[arg(short = 'l', long, conflicts_with_all = ["count", "only_matching"])]
    pub(crate) list: bool,
    /// Print only how many lines match in each conversation
    #[arg(short, long, conflicts_with = "only_matching")]
    pub(crate) count: bool,
    /// Print only what matches, each on a line
    #[arg(short, long)]
    pub(crate) only_matching: bool,
    /// Only this conversation
    #[arg(long = "in", alias = "conversation", value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Where they ran
    #[command(flatten)]
    pub(crate) place: PlaceArgs,
    /// Only entries of this role
    #[arg(long)]
    pub(crate) role: Option<Role>,
    /// Only from then on: 7d, yesterday, 2026-03-02, in your time zone
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only before this day or time
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
    /// Take the pattern literally, not as an expression
    #[arg(short = 'F', long)]
    pub(crate) fixed: bool,
    /// Show the number of each line in the text of its entry
    #[arg(short = 'n', long)]
    pub(crate) line_number: bool,
    /// Most matches to look for
    #[arg(short = 'm', long, alias = "max-count", value_name = "N", value_parser = some::<usize>, default_value_t = 50)]
    pub(crate) limit: usize,
}

/// Describes what an id stands for.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// An id from a prompt, a search or a summary: e:KEY:12, e:KEY:12-40, s:12, sum:...; or a conversation, for all of it
    pub(crate) id: String,
    /// The conversation that ids such as s:12 belong to
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
}

/// Shows the entries behind an id.
#[derive(Debug, Args)]
pub(crate) struct ExpandArgs {
    /// An id from a prompt, a search or a summary: e:KEY:12, e:KEY:12-40, s:12, sum:...; or a conversation, for all of it
    pub(crate) id: String,
    /// The conversation that ids such as s:12 belong to
    #[arg(long, value_name = "NAME", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Show the host's bookkeeping too
    #[arg(long)]
    pub(crate) all: bool,
    /// Tokens per page
    #[arg(long, value_name = "TOKENS", value_parser = tokens, default_value = "2000")]
    pub(crate) page: u64,
    /// Start of the next page, as given on the previous page; 0.0 begins with the words where an outline would come first
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    /// The bytes as they were received
    #[arg(long)]
    pub(crate) raw: bool,
}
