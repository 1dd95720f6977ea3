//! Arguments of the daemon.

use std::net::SocketAddr;

use clap::Args;

use super::value::tokens;

/// What to serve.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Address and port to listen on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", env = "UNFORGET_LISTEN")]
    pub(crate) listen: Option<SocketAddr>,
    /// Send every call here, whatever its API and model
    #[arg(long, value_name = "URL", env = "UNFORGET_UPSTREAM")]
    pub(crate) upstream: Option<String>,
    /// Window of a model, `*` at its end for any that begin so
    #[arg(long = "window", value_name = "MODEL=TOKENS", value_parser = window)]
    pub(crate) windows: Vec<(String, u64)>,
    /// No prompt is larger than this, whatever the window
    #[arg(long, value_name = "TOKENS", value_parser = tokens)]
    pub(crate) cap: Option<u64>,
    /// Keep everything in memory and forget it at the end
    #[arg(long)]
    pub(crate) in_memory: bool,
    /// Print the description of the HTTP API, as OpenAPI 3.1, and end
    #[arg(long)]
    pub(crate) openapi: bool,
    /// Make a token for this name, print it and the lines for the settings file, and end
    #[arg(long, value_name = "TENANT")]
    pub(crate) new_token: Option<String>,
    /// Print the log as JSON
    #[arg(long)]
    pub(crate) log_json: bool,
}

fn window(text: &str) -> Result<(String, u64), String> {
    let (model, window) = text.split_once('=').ok_or("write MODEL=TOKENS, such as claude-*=64k")?;
    Ok((model.to_owned(), tokens(window)?))
}
