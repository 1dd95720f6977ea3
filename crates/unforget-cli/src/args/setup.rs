//! Arguments of `unforget setup`.

use clap::{Args, ValueEnum};

/// Sets an agent up to be remembered: its sessions are imported when they end, and it can search all of them.
///
/// Shows what would change and asks. Setting up again changes only what is different. Files keep everything else that they hold,
/// and --undo takes out what was put in.
#[derive(Debug, Args)]
pub(crate) struct SetupArgs {
    /// The agents
    #[arg(value_name = "AGENT", required_unless_present = "service")]
    pub(crate) agents: Vec<SetupAgent>,
    /// Install a service of this user that imports every session while it grows (systemd, launchd)
    #[arg(long)]
    pub(crate) service: bool,
    /// Take out what was put in
    #[arg(long)]
    pub(crate) undo: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    pub(crate) yes: bool,
}

/// An agent that can be set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SetupAgent {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
    /// opencode
    Opencode,
    /// Gemini CLI
    Gemini,
    /// pi
    Pi,
    /// OpenClaw
    Openclaw,
}

impl SetupAgent {
    /// The name in records.
    pub(crate) const fn key(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Gemini => "gemini",
            Self::Pi => "pi",
            Self::Openclaw => "openclaw",
        }
    }
}
