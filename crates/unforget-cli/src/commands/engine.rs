//! `unforget engine`: the engine for an agent host, as described in `docs/protocol.md`.

use std::io::{Read, Write};
use std::sync::Arc;

use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_engine::index::IndexNews;
use unforget_engine::meaning::EmbedNews;
use unforget_engine::prompt::WholeNews;
use unforget_engine::summarise::{Cancel, News};
use unforget_server::rpc::{CallLimits, Server, protocol};

use super::behind::{self, Behind, Listeners, Shared};
use crate::app::App;
use crate::args::EngineArgs;
use crate::config::Watched;
use crate::failure::{Exit, Failure, Outcome};
use crate::output::remark;

/// Serves until the input ends or a host ends it.
pub(crate) fn run(app: &mut App, args: &EngineArgs) -> Outcome {
    if args.schema {
        app.out.json(&protocol::schema())?;
        return Ok(Exit::Done);
    }
    let engine = if args.in_memory { Engine::in_memory() } else { app.open()? };
    let engine = if args.auto_pins { engine.with_automatic_pins() } else { engine };
    let host = Host::new(engine.clone(), now);
    let server = Server::new(host, CallLimits { frame_bytes: args.frame_max, ..CallLimits::default() });
    let _background = models_behind(app, &engine, &server)?;
    if let Some(path) = &args.socket {
        return socket(app, &server, path);
    }
    let (input, output) = stdio()?;
    server.serve(input, output);
    server.end();
    Ok(Exit::Done)
}

/// Models that work in the background of a server, including the host's own.
fn models_behind(app: &App, engine: &Engine, server: &Arc<Server>) -> Outcome<Behind> {
    let settings = app.settings.models();
    let (current, own) = (server.models(), server.own_model());
    let server = Arc::downgrade(server);
    let looked = move |watched: &Watched, changed: Option<Outcome<()>>| {
        match changed {
            None => {}
            Some(Ok(())) => remark(format_args!("unforget: the settings of models changed")),
            Some(Err(failure)) => {
                remark(format_args!("unforget: the previous models stay in use: {}", failure.message));
            }
        }
        if let Some(server) = server.upgrade() {
            server.may_ask_host(watched.asks_host());
        }
    };
    let told = |news: News<'_>| {
        if let News::Failed(error) = news {
            remark(format_args!("unforget: summaries: {error}"));
        }
    };
    let shared = Shared { current: &current, cancel: &Cancel::default() };
    let vectors = |news: EmbedNews<'_>| remark(format_args!("unforget: {news}"));
    let histories = |news: WholeNews<'_>| remark(format_args!("unforget: {news}"));
    let index = |news: IndexNews<'_>| {
        if !matches!(news, IndexNews::Kept { .. }) {
            remark(format_args!("unforget: {news}"));
        }
    };
    let listeners = Listeners { looked, told, vectors, histories, index };
    behind::start(settings, engine, &shared, Some(own), listeners)
}

/// The current time for the engine's records. No rule depends on it.
pub(crate) fn now() -> Timestamp {
    unforget_server::work::now()
}

/// Stdin and stdout without the standard library's buffers: ours are larger.
#[cfg(unix)]
fn stdio() -> Outcome<(impl Read, impl Write + Send)> {
    use std::fs::File;
    use std::os::fd::AsFd;
    let failed = |error: std::io::Error| Failure::from(error);
    let input = std::io::stdin().as_fd().try_clone_to_owned().map_err(failed)?;
    let output = std::io::stdout().as_fd().try_clone_to_owned().map_err(failed)?;
    Ok((File::from(input), File::from(output)))
}

#[cfg(not(unix))]
fn stdio() -> Outcome<(impl Read, impl Write + Send)> {
    Ok((std::io::stdin(), std::io::stdout()))
}

#[cfg(unix)]
fn socket(app: &mut App, server: &Arc<Server>, path: &std::path::Path) -> Outcome {
    use unforget_server::rpc::{SocketError, listen};
    let listening = listen(path).map_err(|error| {
        let hint = match &error {
            SocketError::Live { .. } => "use that server, or name another path",
            SocketError::NotASocket { .. } => "name another path",
            _ => "check the path; the path of a socket may have about 100 bytes",
        };
        Failure::input("socket", error.to_string(), hint)
    })?;
    app.out.note(format_args!("serving on {}", path.display()));
    listening.serve(server).map_err(|error| Failure::file(path, &error))?;
    server.end();
    Ok(Exit::Done)
}

#[cfg(not(unix))]
fn socket(_: &mut App, _: &Arc<Server>, path: &std::path::Path) -> Outcome {
    Err(Failure::usage(format!("{}: this system has no Unix sockets", path.display()), "use --stdio"))
}
