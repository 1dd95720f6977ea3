//! Arguments of `unforget usage`.

use clap::{Args, ValueEnum};

/// Counts tokens and cost as the transcripts of Claude Code, Codex, pi, OpenClaw and Gemini CLI record them. A call that stands
/// in several transcripts counts once.
#[derive(Debug, Args)]
pub(crate) struct UsageArgs {
    /// What a row stands for
    #[arg(long, value_name = "GROUP", default_value = "day")]
    pub(crate) by: UsageGroup,
    /// Only calls from then on: 7d, yesterday, 2026-03-02, 2026-03-02T09:00, in your time zone
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// Only calls before this day or time
    #[arg(long, value_name = "WHEN")]
    pub(crate) until: Option<String>,
}

/// What a row of usage stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum UsageGroup {
    /// A day of your time zone.
    Day,
    /// A model.
    Model,
    /// A folder in which agents worked.
    Project,
    /// A host, such as Claude Code.
    Host,
    /// A conversation.
    Conversation,
}
