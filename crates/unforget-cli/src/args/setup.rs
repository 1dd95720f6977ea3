//! Arguments of `unforget setup`.

use clap::{Args, ValueEnum};

use crate::value::margin;

/// Sets an agent up to be remembered: its sessions are imported when they end, and it can search all of them.
///
/// Shows what would change and asks. Setting up again changes only what is different. Files keep everything else that they hold,
/// and --undo takes out what was put in.
#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(crate) struct SetupArgs {
    /// The agents
    #[arg(value_name = "AGENT", required_unless_present = "service")]
    pub(crate) agents: Vec<SetupAgent>,
    /// Install a service of this user that imports every session while it grows (systemd, launchd)
    #[arg(long)]
    pub(crate) service: bool,
    /// Claude Code: also tell the agent unasked what earlier sessions in the project left: at its start, and after a failure
    /// that was seen before
    #[arg(long, conflicts_with = "undo")]
    pub(crate) hints: bool,
    /// With --hints, also before a command that failed before, before a change of a file about which something was decided,
    /// and about the names in a message: what has at least this relevance (`unforget bench hints` measures it)
    #[arg(long, value_name = "N", value_parser = margin, requires = "hints")]
    pub(crate) margin: Option<f64>,
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
