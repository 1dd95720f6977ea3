//! The transcript formats, one module each.
//!
//! A module provides three functions: `looks_like` (does this head have the format?), `identity` (which conversation is
//! it?) and `decode` (the content of one record). They keep no state between records; the few facts that depend on the
//! order (ids of pi v1, Claude Code's inline sidechains) are in `follow`.

pub(crate) mod ai_sdk;
pub(crate) mod amp;
pub(crate) mod anthropic;
pub(crate) mod claude_code;
pub(crate) mod claude_stream;
pub(crate) mod cline;
pub(crate) mod codex;
pub(crate) mod codex_exec;
pub(crate) mod continue_dev;
pub(crate) mod copilot_cli;
pub(crate) mod crush;
pub(crate) mod cursor;
pub(crate) mod follow;
pub(crate) mod gemini_cli;
pub(crate) mod goose;
pub(crate) mod hermes;
pub(crate) mod journal;
pub(crate) mod openai_agents;
pub(crate) mod openai_chat;
pub(crate) mod openai_responses;
pub(crate) mod openclaw;
pub(crate) mod opencode;
pub(crate) mod openhands;
pub(crate) mod pi;
pub(crate) mod pydantic_ai;
pub(crate) mod qwen_code;
pub(crate) mod rows;
pub(crate) mod swe_agent;
pub(crate) mod tau_bench;
pub(crate) mod unknown;
pub(crate) mod zed;

use unforget_core::entry::{Entry, Origin};

use crate::json::{self, Object, Tape, Value};

/// A transcript format. Detected by content, never by file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Format {
    /// pi and OpenClaw session JSONL, versions 1 to 3.
    Pi,
    /// Claude Code JSONL.
    ClaudeCode,
    /// Codex rollout JSONL, both layouts.
    Codex,
    /// OpenAI Chat messages: a JSON array, an object with `messages`, or JSONL.
    OpenAiChat,
    /// OpenAI Responses items: a JSON array.
    OpenAiResponses,
    /// Anthropic messages: a JSON array, an object with `messages`, or JSONL.
    AnthropicMessages,
    /// Gemini CLI, JSON and JSONL.
    GeminiCli,
    /// Copilot CLI events.
    CopilotCli,
    /// opencode: the rows of its database, and what `opencode export` prints.
    Opencode,
    /// OpenClaw from 2026.7.2 on: the rows of an agent's database.
    OpenClaw,
    /// Crush: the rows of a project's database.
    Crush,
    /// Goose: the rows of its database, and its older files.
    Goose,
    /// Hermes: the rows of its database.
    Hermes,
    /// Cursor: the rows of its database.
    Cursor,
    /// Zed: the rows of the database of its agent.
    Zed,
    /// OpenAI Agents SDK: the rows of the database of a session.
    OpenAiAgents,
    /// Messages of the Vercel AI SDK.
    AiSdk,
    /// Messages of Pydantic AI.
    PydanticAi,
    /// SWE-agent trajectories.
    SweAgent,
    /// OpenHands events and evaluation output.
    OpenHands,
    /// tau-bench results: one thread per task.
    TauBench,
    /// Amp threads.
    Amp,
    /// What `claude --output-format stream-json` prints.
    ClaudeStream,
    /// Cline, Roo Code and Kilo Code: messages with a time each.
    Cline,
    /// What `codex exec --json` prints.
    CodexExec,
    /// Continue sessions.
    ContinueDev,
    /// Qwen Code JSONL.
    QwenCode,
    /// Our own journal of what a live host delivered.
    Journal,
    /// JSON lines of an unknown format: kept, found by `grep`, never shown to a model.
    Unknown,
}

impl Format {
    /// Every format, in the order in which detection tries them.
    pub const ALL: [Self; 29] = [
        Self::Journal,
        Self::Opencode,
        Self::OpenClaw,
        Self::Crush,
        Self::Goose,
        Self::Hermes,
        Self::Cursor,
        Self::Zed,
        Self::OpenAiAgents,
        Self::AiSdk,
        Self::PydanticAi,
        Self::Pi,
        Self::QwenCode,
        Self::ClaudeStream,
        Self::ClaudeCode,
        Self::OpenAiResponses,
        Self::CodexExec,
        Self::Codex,
        Self::CopilotCli,
        Self::Amp,
        Self::ContinueDev,
        Self::Cline,
        Self::GeminiCli,
        Self::SweAgent,
        Self::OpenHands,
        Self::TauBench,
        Self::AnthropicMessages,
        Self::OpenAiChat,
        Self::Unknown,
    ];

    /// The name used in keys, on the command line and in the store.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pi => "pi",
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic",
            Self::GeminiCli => "gemini-cli",
            Self::CopilotCli => "copilot-cli",
            Self::Opencode => "opencode",
            Self::OpenClaw => openclaw::HOST,
            Self::Crush => crush::HOST,
            Self::Goose => goose::HOST,
            Self::Hermes => hermes::HOST,
            Self::Cursor => cursor::HOST,
            Self::Zed => zed::HOST,
            Self::OpenAiAgents => openai_agents::HOST,
            Self::AiSdk => "ai-sdk",
            Self::PydanticAi => "pydantic-ai",
            Self::SweAgent => "swe-agent",
            Self::OpenHands => "openhands",
            Self::TauBench => "tau-bench",
            Self::Amp => "amp",
            Self::ClaudeStream => "claude-stream",
            Self::Cline => "cline",
            Self::CodexExec => "codex-exec",
            Self::ContinueDev => "continue",
            Self::QwenCode => "qwen-code",
            Self::Journal => "journal",
            Self::Unknown => "unknown",
        }
    }

    /// Whether its records are rows of a host's database. Some of them take earlier records back.
    pub(crate) const fn is_rows(self) -> bool {
        matches!(
            self,
            Self::Opencode
                | Self::Crush
                | Self::Goose
                | Self::Hermes
                | Self::Cursor
                | Self::Zed
                | Self::OpenAiAgents
        )
    }

    /// The format with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }
}

/// Keys of the arrays in a document whose elements are its records, at the top of the document.
/// Gemini CLI, OpenAI and Anthropic, OpenHands and SWE-agent, exported Claude Code sessions.
pub(crate) const RECORD_KEYS: [&str; 4] = ["messages", "history", "trajectory", "loglines"];

/// Key of the array of records inside each element of a document that is an array (tau-bench).
pub(crate) const TASK_KEY: &str = "traj";

/// The layout of a file's records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One record per line.
    Lines,
    /// The elements of a top-level array.
    Array,
    /// The elements of an array in an object: one of [`RECORD_KEYS`] or [`TASK_KEY`].
    Under(&'static str),
}

/// The start of a transcript: everything that detection and naming may use.
pub(crate) struct Head<'a> {
    /// The layout of the first records.
    pub(crate) layout: Layout,
    /// The document's fields in front of its records; `None` for lines and plain arrays.
    pub(crate) header: Option<Object<'a>>,
    /// The first records that are objects, in order.
    pub(crate) records: Vec<Object<'a>>,
}

/// A transcript's identity, as far as its head shows it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Identity {
    /// The host's session id, with a suffix `/agent-…` for a sub-agent. Without an id the key is a digest.
    pub(crate) session: Option<String>,
    /// The host's session id of the parent conversation.
    pub(crate) parent: Option<String>,
    /// A title for people.
    pub(crate) title: Option<String>,
}

/// Finds the format of a transcript. [`Format::Unknown`] if no module knows it.
pub(crate) fn detect(head: &Head<'_>) -> Format {
    Format::ALL.into_iter().find(|&format| looks_like(format, head)).unwrap_or(Format::Unknown)
}

fn looks_like(format: Format, head: &Head<'_>) -> bool {
    match format {
        Format::Pi => pi::looks_like(head),
        Format::ClaudeCode => claude_code::looks_like(head),
        Format::Codex => codex::looks_like(head),
        Format::OpenAiChat => openai_chat::looks_like(head),
        Format::OpenAiResponses => openai_responses::looks_like(head),
        Format::AnthropicMessages => anthropic::looks_like(head),
        Format::GeminiCli => gemini_cli::looks_like(head),
        Format::CopilotCli => copilot_cli::looks_like(head),
        Format::Opencode => opencode::looks_like(head),
        Format::Goose => goose::looks_like(head),
        Format::OpenClaw
        | Format::Crush
        | Format::Hermes
        | Format::Cursor
        | Format::Zed
        | Format::OpenAiAgents => rows::is_of(head, format.name()),
        Format::AiSdk => ai_sdk::looks_like(head),
        Format::PydanticAi => pydantic_ai::looks_like(head),
        Format::SweAgent => swe_agent::looks_like(head),
        Format::OpenHands => openhands::looks_like(head),
        Format::TauBench => tau_bench::looks_like(head),
        Format::Amp => amp::looks_like(head),
        Format::ClaudeStream => claude_stream::looks_like(head),
        Format::Cline => cline::looks_like(head),
        Format::CodexExec => codex_exec::looks_like(head),
        Format::ContinueDev => continue_dev::looks_like(head),
        Format::QwenCode => qwen_code::looks_like(head),
        Format::Journal => journal::looks_like(head),
        Format::Unknown => true,
    }
}

/// The identity of a transcript of this format, from its head.
pub(crate) fn identity(format: Format, head: &Head<'_>) -> Identity {
    match format {
        Format::Pi => pi::identity(head),
        Format::ClaudeCode => claude_code::identity(head),
        Format::Codex => codex::identity(head),
        Format::OpenAiChat => openai_chat::identity(head),
        Format::AnthropicMessages => anthropic::identity(head),
        Format::GeminiCli => gemini_cli::identity(head),
        Format::CopilotCli => copilot_cli::identity(head),
        Format::Opencode => opencode::identity(head),
        Format::OpenClaw => openclaw::identity(head),
        Format::Crush => crush::identity(head),
        Format::Goose => goose::identity(head),
        Format::Hermes => hermes::identity(head),
        Format::Cursor => cursor::identity(head),
        Format::Zed => zed::identity(head),
        Format::OpenAiAgents => openai_agents::identity(head),
        Format::AiSdk => ai_sdk::identity(head),
        Format::PydanticAi => pydantic_ai::identity(head),
        Format::SweAgent => swe_agent::identity(head),
        Format::OpenHands => openhands::identity(head),
        Format::TauBench => tau_bench::identity(head),
        Format::Amp => amp::identity(head),
        Format::ClaudeStream => claude_stream::identity(head),
        Format::Cline => cline::identity(head),
        Format::CodexExec => codex_exec::identity(head),
        Format::ContinueDev => continue_dev::identity(head),
        Format::QwenCode => qwen_code::identity(head),
        Format::Journal => journal::identity(head),
        Format::OpenAiResponses | Format::Unknown => Identity::default(),
    }
}

/// Decodes one record. Total: unintelligible bytes give an opaque entry.
///
/// Gives an entry equal to the one from [`crate::Reader`], except for facts that only the whole file provides:
/// `host_id` and `parent` where the format derives them from order, and `thread` where it depends on earlier records.
///
/// Cost: O(bytes).
pub fn decode(format: Format, body: &[u8]) -> Entry {
    let text = String::from_utf8_lossy(body);
    let text = json::trim(&text);
    let mut tape = Tape::default();
    if tape.read(text.as_bytes()) != Ok(text.len()) {
        return Entry::bare(Origin::Opaque);
    }
    let object = tape.value(text).and_then(Value::obj);
    object.map_or_else(|| Entry::bare(Origin::Opaque), |record| decode_object(format, record))
}

/// Decodes one record that is a JSON object.
pub(crate) fn decode_object(format: Format, record: Object<'_>) -> Entry {
    match format {
        Format::Pi => pi::decode(record),
        Format::ClaudeCode => claude_code::decode(record),
        Format::Codex => codex::decode(record),
        Format::OpenAiChat => openai_chat::decode(record),
        Format::OpenAiResponses => openai_responses::decode(record),
        Format::AnthropicMessages => anthropic::decode(record),
        Format::GeminiCli => gemini_cli::decode(record),
        Format::CopilotCli => copilot_cli::decode(record),
        Format::Opencode => opencode::decode(record),
        Format::OpenClaw => openclaw::decode(record),
        Format::Crush => crush::decode(record),
        Format::Goose => goose::decode(record),
        Format::Hermes => hermes::decode(record),
        Format::Cursor => cursor::decode(record),
        Format::Zed => zed::decode(record),
        Format::OpenAiAgents => openai_agents::decode(record),
        Format::AiSdk => ai_sdk::decode(record),
        Format::PydanticAi => pydantic_ai::decode(record),
        Format::SweAgent => swe_agent::decode(record),
        Format::OpenHands => openhands::decode(record),
        Format::TauBench => tau_bench::decode(record),
        Format::Amp => amp::decode(record),
        Format::ClaudeStream => claude_stream::decode(record),
        Format::Cline => cline::decode(record),
        Format::CodexExec => codex_exec::decode(record),
        Format::ContinueDev => continue_dev::decode(record),
        Format::QwenCode => qwen_code::decode(record),
        Format::Journal => journal::decode(record),
        Format::Unknown => unknown::decode(record),
    }
}
