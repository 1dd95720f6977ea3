//! The options of the command line that override settings.

#![allow(clippy::doc_markdown, reason = "doc comments are the help texts, which have no markup")]

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::output::Color;
use crate::value::{Dialect, address, model_window, tokens, window};

/// Options of every command.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Global {
    /// The database, a file or postgres://… [env: UNFORGET_DB]
    /// [default: unforget/unforget.sqlite in your data folder]
    #[arg(long, global = true, value_name = "PATH", help_heading = "Everywhere")]
    pub(crate) db: Option<PathBuf>,
    /// Print JSON on stdout, and nothing else there
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub(crate) json: bool,
    /// Show no progress and no remarks
    #[arg(short, long, global = true, help_heading = "Everywhere")]
    pub(crate) quiet: bool,
    /// When to use colours [env: UNFORGET_COLOR, NO_COLOR] [default: auto]
    #[arg(long, global = true, value_name = "WHEN", help_heading = "Everywhere")]
    pub(crate) color: Option<Color>,
}

/// The target of prompts.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ShapeArgs {
    /// The model's window in tokens: 32000, 32k, 200k, 1m [env: UNFORGET_WINDOW] [default: 200k]
    #[arg(long, value_name = "N", value_parser = window)]
    pub(crate) window: Option<u64>,
    /// The model, for its tokeniser [env: UNFORGET_MODEL] [default: that of the dialect]
    #[arg(long, value_name = "NAME")]
    pub(crate) model: Option<String>,
    /// Form of the request: anthropic, openai-chat, openai-responses, pi, gemini or bedrock-converse
    /// [env: UNFORGET_DIALECT] [default: that of the transcript's host]
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<Dialect>,
}

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
    #[arg(long = "window", value_name = "MODEL=TOKENS", value_parser = model_window)]
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
