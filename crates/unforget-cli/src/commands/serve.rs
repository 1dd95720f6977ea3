//! `unforget serve`: the daemon, as `docs/serve.md` says.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_server::gateway::Gateway;
use unforget_server::serve::{Daemon, PATIENCE, PREFIX};

use super::engine::now;
use crate::app::App;
use crate::args::ServeArgs;
use crate::config::{Serving, process_env};
use crate::failure::{Exit, Failure, Outcome};

/// The first line on stdout with `--json`.
#[derive(Serialize)]
struct ServingJson {
    listen: SocketAddr,
    url: String,
    db: Option<String>,
}

/// Serves until it is asked to end.
pub(crate) fn run(app: &mut App, args: &ServeArgs) -> Outcome {
    if let Some(tenant) = &args.new_token {
        return new_token(app, tenant);
    }
    log(args.log_json, "info");
    let serving = app.settings.serve.with(args, &process_env)?;
    let opened = open(app, args, serving)?;
    let url = opened.url();
    if app.out.json {
        let db = (!args.in_memory).then(|| app.settings.db.value.display().to_string());
        app.out.json(&ServingJson { listen: opened.listen, url, db })?;
        app.out.flush()?;
    } else {
        app.out.note(format_args!(
            "serving on {url}: set it as the base URL of your client, and see docs/serve.md"
        ));
    }
    let ending = CancellationToken::new();
    let asked = ending.clone();
    opened.runtime.block_on(async move {
        tokio::spawn(async move {
            asked_to_end().await;
            tracing::info!("asked to end: finishing calls that run");
            asked.cancel();
        });
        opened.daemon.serve(opened.listener, ending, PATIENCE).await
    })?;
    Ok(Exit::Done)
}

/// A daemon that is ready to serve.
pub(super) struct Opened {
    pub(super) runtime: Runtime,
    pub(super) daemon: Daemon,
    pub(super) listener: TcpListener,
    pub(super) listen: SocketAddr,
    /// Where the spool of a daemon without a database is; it goes with this.
    pub(super) folder: Option<TempDir>,
}

impl Opened {
    /// Where it listens, as a base URL.
    pub(super) fn url(&self) -> String {
        format!("http://{}", self.listen)
    }
}

/// Opens the database and the listener.
pub(super) fn open(app: &mut App, args: &ServeArgs, serving: Serving) -> Outcome<Opened> {
    let engine = if args.in_memory { Engine::in_memory() } else { app.open()? };
    let folder = args.in_memory.then(tempfile::tempdir).transpose()?;
    let spool =
        folder.as_ref().map_or_else(|| spool(&app.settings.db.value), |folder| folder.path().to_owned());
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let more = super::mcp::routes(&app.settings.summariser, &engine);
    let host = Arc::new(Host::new(engine, now));
    let gateway = {
        let _inside = runtime.enter();
        Gateway::open(host, serving.gateway, spool)?
    };
    let listener = runtime.block_on(TcpListener::bind(serving.listen)).map_err(|error| {
        let hint = "is another daemon running there? name another address with --listen";
        Failure::input("listen", format!("cannot listen on {}: {error}", serving.listen), hint)
    })?;
    let listen = listener.local_addr()?;
    let daemon = Daemon { gateway, guard: serving.guard, more };
    Ok(Opened { runtime, daemon, listener, listen, folder })
}

/// A new token, with `--json`.
#[derive(Serialize)]
struct TokenJson<'a> {
    tenant: &'a str,
    token: String,
    digest: String,
}

/// Makes a token. Only its digest is meant to be kept here.
fn new_token(app: &mut App, tenant: &str) -> Outcome {
    let random: [u8; 32] = rand()?;
    let token = format!("{PREFIX}{}", Digest(random).hex());
    let digest = Digest::of(token.as_bytes()).hex();
    if app.out.json {
        app.out.json(&TokenJson { tenant, token, digest })?;
        return Ok(Exit::Done);
    }
    writeln!(app.out, "{token}")?;
    app.out.note(format_args!("it is not shown again; for the settings file:\n"));
    app.out.note(format_args!("[[serve.tokens]]\ntenant = \"{tenant}\"\ndigest = \"{digest}\""));
    Ok(Exit::Done)
}

/// Bytes that nobody can guess.
fn rand() -> Outcome<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// The folder of answers that arrive, beside the database.
fn spool(db: &Path) -> PathBuf {
    let mut name = db.file_name().unwrap_or_default().to_owned();
    name.push(".spool");
    db.with_file_name(name)
}

/// Waits for Ctrl-C, or for the signal by which service managers end a process.
async fn asked_to_end() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut terminate) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
            return;
        }
    }
    // Without signals only the end of the process ends it.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

/// The log goes to stderr; `UNFORGET_LOG` says how much of it.
pub(super) fn log(is_json: bool, level: &str) {
    let filter = EnvFilter::try_from_env("UNFORGET_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // It fails only if a log is set already, which is then as good.
    let set = if is_json {
        log.json().try_init()
    } else {
        log.with_ansi(std::io::stderr().is_terminal()).with_target(false).try_init()
    };
    set.ok();
}
