//! Arguments of the daemon.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::value::tokens;

/// What to serve.
#[derive(Clone, Debug, Default, PartialEq, Args)]
#[allow(clippy::struct_excessive_bools, reason = "switches that do not depend on each other")]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; port 0 takes a free one [env: UNFORGET_LISTEN]
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(crate) listen: Option<SocketAddr>,
    /// Send every call here, whatever its API and model [env: UNFORGET_UPSTREAM]
    #[arg(long, value_name = "URL")]
    pub(crate) upstream: Option<String>,
    /// Speak TLS with this certificate chain, PEM [env: UNFORGET_TLS_CERT]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of the certificate, PEM [env: UNFORGET_TLS_KEY]
    #[arg(long, value_name = "FILE")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Window of a model; a `*` at the end stands for every model whose name begins so
    #[arg(long = "window", value_name = "MODEL=TOKENS", value_parser = window)]
    pub(crate) windows: Vec<(String, u64)>,
    /// Most tokens of a prompt, whatever the window of the model
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) cap: Option<u64>,
    /// Keep everything in memory, and lose it at the end
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Print the description of the HTTP API, as OpenAPI 3.1, and end
    #[arg(long)]
    pub(crate) openapi: bool,
    /// Make a token for this name, print it and the lines for the settings file, and end
    #[arg(long, value_name = "TENANT")]
    pub(crate) new_token: Option<String>,
    /// Log a line for every call too
    #[arg(short, long)]
    pub(crate) verbose: bool,
    /// Print the log as JSON
    #[arg(long)]
    pub(crate) log_json: bool,
    /// End when nobody has used the daemon for this many seconds. `unforget run` starts such a daemon, without the
    /// tokens and the certificate of the settings
    #[arg(long, value_name = "SECONDS", hide = true)]
    pub(crate) until_unused: Option<u64>,
}

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
    #[arg(long = "window", value_name = "MODEL=TOKENS", value_parser = window)]
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

/// An address, or a port of this machine alone.
fn address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.trim_start_matches(':').parse::<u16>() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse()
        .map_err(|_| "write ADDRESS:PORT, such as 127.0.0.1:8787, or a port of this machine".to_owned())
}

fn window(text: &str) -> Result<(String, u64), String> {
    let (model, window) = text.split_once('=').ok_or("write MODEL=TOKENS, such as claude-*=64k")?;
    Ok((model.to_owned(), super::value::window(window)?))
}
