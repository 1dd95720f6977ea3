//! Arguments of the benches, the engine, MCP and shell integration.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use crate::value::{margin, tokens};

/// Measures on this machine.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) command: BenchCommand,
}

/// What can be measured.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// How import, turns, prompts, search, grep and size grow with the history
    Growth(GrowthArgs),
    /// Import, compared in one run with raw SQLite and FTS5 over the same text
    Import(ImportBenchArgs),
    /// grep, compared with ripgrep over the JSONL if it is installed
    Grep(ImportBenchArgs),
    /// Overhead of a call of `unforget engine --stdio` over an equal call in this process
    Rpc(RpcArgs),
    /// Overhead of a call through `unforget serve` over an equal call straight to the provider
    Gateway(GatewayBenchArgs),
    /// Recall of known evidence: LoCoMo, BEAM, LongMemEval, items of agents' sessions, beside SQLite's FTS5
    Recall(RecallArgs),
    /// Cache hits and costs of recorded sessions, compared with other ways to keep a prompt small
    Policies(PoliciesArgs),
    /// Which content of recorded sessions is still reachable after some breaks: in the prompt, by expand, by search
    Needles(NeedlesArgs),
    /// How much of recorded sessions is still told after their hosts compacted them: by the host's summary, by ours
    Summaries(SummariesArgs),
    /// Sixty questions about recorded sessions, made by rules and drawn by seed, asked of search, answer and ledger
    Questions(QuestionsArgs),
    /// What the hooks of `setup claude --hints` would have told recorded sessions, how often, and how often rightly
    Hints(HintsArgs),
}

/// Sessions to ask about.
#[derive(Debug, Args)]
pub(crate) struct QuestionsArgs {
    /// Transcripts, or folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Only questions about this half of the sessions: the first, third, fifth file, or the others. All are searched
    #[arg(long, value_enum)]
    pub(crate) half: Option<Half>,
    /// Number of questions, of the five kinds in turn as far as the sessions give any
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) questions: usize,
    /// Seed of the drawing
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
    /// Print every question, and who answered it
    #[arg(long)]
    pub(crate) show: bool,
}

/// How much a hint has to do with the moment at which it is told.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Least relevance of what is told before a call and about a message: rare names in common, added up (1 is little, 6
    /// is much). Without it, nothing is told there: see `unforget bench hints`
    #[arg(long, value_name = "N", value_parser = margin)]
    pub(crate) margin: Option<f64>,
}

/// Sessions to look at.
#[derive(Debug, Args)]
pub(crate) struct HintsArgs {
    /// Transcripts, or folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Only moments in this half of the sessions: the first, third, fifth file, or the others. Hints come from all
    #[arg(long, value_enum)]
    pub(crate) half: Option<Half>,
    /// Margins of relevance to try where a person sent a message
    #[arg(long, value_name = "N,...", value_parser = margin, value_delimiter = ',', default_value = "1,2,3,4,5,6,8")]
    pub(crate) margin: Vec<f64>,
    /// Print every hint that was told, and whether it was right
    #[arg(long)]
    pub(crate) each: bool,
}

/// Sessions to ask about, and what for.
#[derive(Debug, Args)]
pub(crate) struct SummariesArgs {
    /// Transcripts, or folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Window of the prompts
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "32k")]
    pub(crate) window: u64,
    /// Seed of the questions
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
    /// Only this half of the files, by their names: one to develop against, the other to report
    #[arg(long, value_enum)]
    pub(crate) half: Option<Half>,
}

/// A half of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Half {
    /// To develop against
    Dev,
    /// To report
    Report,
}

/// Sessions to play, and what for.
#[derive(Debug, Args)]
pub(crate) struct NeedlesArgs {
    /// Transcripts, or folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Window of the prompts
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "32k")]
    pub(crate) window: u64,
    /// Seed of the drawn needles
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
}

/// Sessions to replay.
#[derive(Debug, Args)]
pub(crate) struct PoliciesArgs {
    /// Transcripts, or folders of them
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Windows of the prompts
    #[arg(
        long,
        value_name = "N,...",
        value_parser = tokens,
        value_delimiter = ',',
        default_value = "32k,200k"
    )]
    pub(crate) window: Vec<u64>,
}

/// Sizes to measure.
#[derive(Debug, Args)]
pub(crate) struct GrowthArgs {
    /// Messages of the generated histories
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1000,10000,56000")]
    pub(crate) sizes: Vec<usize>,
    /// Turns that are appended and prompted after each import
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    pub(crate) turns: usize,
    /// Window of the prompts
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "200k")]
    pub(crate) window: u64,
    /// Seed of the generator
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
}

/// One size to measure.
#[derive(Debug, Args)]
pub(crate) struct ImportBenchArgs {
    /// Messages of the generated history
    #[arg(long, value_name = "N", default_value_t = 56_000)]
    pub(crate) messages: usize,
    /// Measure a transcript of your own instead
    #[arg(long, value_name = "FILE", conflicts_with = "messages")]
    pub(crate) file: Option<PathBuf>,
    /// Seed of the generator
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
}

/// Where the questions are.
#[derive(Debug, Args)]
pub(crate) struct RecallArgs {
    /// Files of data sets, transcripts, or folders of both
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Only this half of each set: one to develop against, the other to report
    #[arg(long, value_enum)]
    pub(crate) half: Option<Half>,
    /// Seed of the items that are drawn from transcripts
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
    /// Change weights of our ranking, such as `b=0.6,user=0`
    #[arg(long, value_name = "NAME=WEIGHT,...", value_delimiter = ',')]
    pub(crate) set: Vec<String>,
    /// A row for each kind of question
    #[arg(long)]
    pub(crate) kinds: bool,
    /// A row that ranks by meaning too, by the local model in this folder
    #[arg(long, value_name = "FOLDER")]
    pub(crate) meaning: Option<PathBuf>,
    /// Keep the vectors of turns in this file for the next run
    #[arg(long, value_name = "FILE", requires = "meaning")]
    pub(crate) vectors: Option<PathBuf>,
}

/// Where calls come from.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(crate) struct EngineArgs {
    /// Take calls from stdin and answer on stdout, until stdin ends
    #[arg(long, conflicts_with = "socket", required_unless_present_any = ["socket", "schema"])]
    pub(crate) stdio: bool,
    /// Take calls from connections to a Unix socket, which only this user may open
    #[arg(long, value_name = "PATH", conflicts_with = "schema")]
    pub(crate) socket: Option<PathBuf>,
    /// Print the JSON Schema of the protocol and end
    #[arg(long, conflicts_with = "stdio")]
    pub(crate) schema: bool,
    /// Largest call, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 64 << 20)]
    pub(crate) frame_max: usize,
    /// Keep everything in memory, and lose it at the end
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Pin every sentence that `pins --proposals` would list, without asking
    #[arg(long)]
    pub(crate) auto_pins: bool,
}

/// What an MCP client may read.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Only this conversation, by its key or the start of the key; may be given several times
    #[arg(long, value_name = "KEY")]
    pub(crate) conversation: Vec<String>,
}

/// Calls to measure.
#[derive(Debug, Args)]
pub(crate) struct GatewayBenchArgs {
    /// Streams at once
    #[arg(long, value_name = "N", default_value_t = 64)]
    pub(crate) streams: usize,
    /// Turns per second of all streams together
    #[arg(long, value_name = "N", default_value_t = 200.0)]
    pub(crate) rate: f64,
    /// How long, in seconds
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) seconds: u64,
    /// Idle connections beside them
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) idle: usize,
    /// Tokens of one long history, which is then continued by turns
    #[arg(long, value_name = "N", value_parser = tokens)]
    pub(crate) history: Option<u64>,
    /// Turns after the long history
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) turns: usize,
}

/// Turns to measure.
#[derive(Debug, Args)]
pub(crate) struct RpcArgs {
    /// Messages of the generated history
    #[arg(long, value_name = "N", default_value_t = 56_000)]
    pub(crate) messages: usize,
    /// Turns that are committed and prompted behind it
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) turns: usize,
    /// Budget of the prompts
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "160k")]
    pub(crate) budget: u64,
    /// Seed of the generator
    #[arg(long, default_value_t = 20_250_615)]
    pub(crate) seed: u64,
}

/// Prints the man page, with every command in it.
#[derive(Debug, Args)]
pub(crate) struct ManArgs {
    /// Write a page per command into this folder instead: unforget.1, unforget-import.1 and so on
    pub(crate) folder: Option<PathBuf>,
}

/// Prints the completion script of a shell. It completes names of conversations, projects and hosts too.
///
/// In bash: source <(unforget completions bash)
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
}
