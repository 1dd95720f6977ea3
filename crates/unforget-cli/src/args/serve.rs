//! Arguments of the daemon.

use std::net::SocketAddr;

use clap::{Args, Subcommand};
use clap_complete::engine::ArgValueCompleter;

use crate::completed::conversations;
use crate::overrides::ServeArgs;
use crate::value::{address, model_window, tokens};

/// Settings.
#[derive(Debug, Args)]
pub(crate) struct ConfigArgs {
    /// What to do with the settings [default: show them]
    #[command(subcommand)]
    pub(crate) command: Option<ConfigCommand>,
}

/// What to do with settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Read the settings as `serve` would, with these options, and report all problems; exit code 1 if there are any
    Check(ServeArgs),
}

/// What to run.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Address of this machine for a daemon that this command starts; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Send the calls of this command here, whatever their API and model
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Window of a model in this command; a `*` at the end stands for every model whose name begins so
    #[arg(long = "window", value_name = "MODEL=TOKENS", value_parser = model_window)]
    pub(crate) windows: Vec<(String, u64)>,
    /// Most tokens of a prompt of this command, whatever the window of the model
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) cap: Option<u64>,
    /// Keep everything of this command in memory, and lose it at the end
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Have the daemon that this command starts log a line for every call: see `unforget logs`
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// The client that the command runs, if the command's name does not tell
    #[arg(long = "as", value_name = "CLIENT")]
    pub(crate) client: Option<String>,
    /// The command and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<std::ffi::OsString>,
}

/// Opens the page in a browser: conversations, what the model saw at any call, what left its context.
///
/// Uses the daemon that serves the database, or serves it on this machine alone until Ctrl-C. The page only reads.
#[derive(Debug, Args)]
pub(crate) struct WebArgs {
    /// The conversation to begin with: its key, or enough of it to be unique
    #[arg(value_name = "CONVERSATION", add = ArgValueCompleter::new(conversations))]
    pub(crate) conversation: Option<String>,
    /// Address of this machine for a page that this command serves; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Print the address, and start no browser
    #[arg(long, visible_alias = "print")]
    pub(crate) no_open: bool,
}

/// Ends the daemon.
#[derive(Debug, Args)]
pub(crate) struct StopArgs {
    /// Also if commands of `unforget run` use it
    #[arg(long)]
    pub(crate) force: bool,
}

/// The daemon's log.
#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Go on with what the daemon writes from now, until Ctrl-C
    #[arg(short, long)]
    pub(crate) follow: bool,
}
