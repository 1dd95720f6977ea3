//! `unforget serve`: the daemon, as described in `docs/serve.md`.

mod spool_folder;
mod telemetry;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;
use unforget_core::digest::Digest;
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_engine::index::IndexNews;
use unforget_engine::meaning::EmbedNews;
use unforget_engine::prompt::WholeNews;
use unforget_engine::summarise::{Current, News};
use unforget_gateway::Gateway;
use unforget_server::api::{self, Api, Events, Figures};
use unforget_server::mcp::ConversationTools;
use unforget_server::serve::beside::{Beside, Left};
use unforget_server::serve::runs::{self, DaemonTerms, Runs};
use unforget_server::serve::{Daemon, Limits, PATIENCE, PREFIX, Scope, Token};
use unforget_server::work;
use unforget_web::{Site, SiteSettings};

use spool_folder::SpoolFolder;
pub(super) use spool_folder::spool_folders;
pub(super) use telemetry::Telemetry;

use super::behind::{self, Behind, Listeners, Shared};
use super::engine::now;
use crate::app::App;
use crate::config::{Serving, Watched, process_env};
use crate::failure::{Exit, Failure, Outcome};
use crate::overrides::ServeArgs;

/// The level of a log with a line for every call.
const CALLS_TOO: &str = "info,unforget::call=debug";

/// The first line on stdout with `--json`.
#[derive(Serialize)]
struct ServingJson {
    listen: SocketAddr,
    url: String,
    db: Option<String>,
}

/// Serves until asked to end.
pub(crate) fn run(app: &mut App, args: &ServeArgs) -> Outcome {
    if args.openapi {
        write!(app.out, "{}", api::document())?;
        return Ok(Exit::Done);
    }
    if let Some(tenant) = &args.new_token {
        return new_token(app, tenant);
    }
    let telemetry = Telemetry::begin(args.log_json, if args.verbose { CALLS_TOO } else { "info" })?;
    let serving = app.settings.serve.with(args, &process_env)?;
    for doubt in &serving.doubts {
        tracing::warn!(setting = doubt.setting, "{}: {}", doubt.what, doubt.next);
    }
    let scheme = if serving.tls.is_some() { "https" } else { "http" };
    let serving = if args.until_unused.is_some() { for_commands(serving, args)? } else { serving };
    let opened = open(app, args, serving)?;
    let listen = opened.listen;
    let url = format!("{scheme}://{listen}");
    if app.out.json {
        let db = (!args.in_memory).then(|| app.settings.db.value.to_string());
        app.out.json(&ServingJson { listen, url, db })?;
        app.out.flush()?;
    } else {
        app.out.note(format_args!(
            "serving on {url}: open it in a browser, set it as the base URL of your client, and see docs/serve.md"
        ));
    }
    opened.until_ended()?;
    drop(telemetry);
    Ok(Exit::Done)
}

impl Opened {
    /// Serves until asked to end.
    pub(super) fn until_ended(self) -> Outcome<()> {
        let Self { runtime, daemon, listener, api, behind, left, ending, .. } = self;
        let asked = ending.clone();
        runtime.block_on(async move {
            tokio::spawn(async move {
                tokio::select! {
                    () = asked_to_end() => {}
                    () = asked.cancelled() => {}
                }
                tracing::info!("stopping: waiting for running calls");
                api.close();
                asked.cancel();
            });
            daemon.serve(listener, ending, PATIENCE).await
        })?;
        drop((behind, left));
        Ok(())
    }
}

/// The settings of a daemon for commands on this machine: it knows no certificate and has no token of ours.
///
/// # Errors
/// If `--listen` names an address that other machines can reach.
pub(super) fn for_commands(mut serving: Serving, args: &ServeArgs) -> Outcome<Serving> {
    serving.listen = of_this_machine(args.listen)?;
    serving.tls = None;
    serving.guard.tokens.clear();
    Ok(serving)
}

/// The address of a daemon for commands on this machine; a free port by default.
///
/// # Errors
/// If other machines can reach the address.
pub(super) fn of_this_machine(asked: Option<SocketAddr>) -> Outcome<SocketAddr> {
    match asked {
        Some(asked) if !asked.ip().is_loopback() => Err(Failure::usage(
            format!("{asked} can be reached by other machines, and `run` serves commands of this one"),
            "leave --listen out, name an address of 127.0.0.1, or start `unforget serve` there",
        )),
        asked => Ok(asked.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))),
    }
}

/// A daemon that is ready to serve.
pub(super) struct Opened {
    pub(super) runtime: Runtime,
    pub(super) daemon: Daemon,
    pub(super) listener: TcpListener,
    pub(super) listen: SocketAddr,
    pub(super) api: Arc<Api>,
    /// The models that write summaries, until dropped.
    pub(super) behind: Behind,
    /// Files that are removed at the end.
    pub(super) left: (Option<Left>, SpoolFolder),
    /// Cancelled to end it.
    pub(super) ending: CancellationToken,
}

/// Opens the database and the listener.
pub(super) fn open(app: &mut App, args: &ServeArgs, mut serving: Serving) -> Outcome<Opened> {
    let db = &app.settings.db.value;
    let path = if args.in_memory { PathBuf::new() } else { db.local_path()?.into_owned() };
    let engine = if args.in_memory { Engine::in_memory() } else { app.open()? };
    let folder = if args.in_memory {
        SpoolFolder::temporary()?
    } else {
        SpoolFolder::beside(&path, engine.peers().is_some())?
    };
    let spool = folder.path().to_owned();
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    Figures::collect();
    runtime.spawn(Figures::fold());
    let events = Arc::new(Events::default());
    let engine = events.on(engine);
    let models = Current::default();
    let mut more = super::mcp::routes(models.clone(), &engine);
    let host = Arc::new(Host::new(engine, now));
    let seal = host.engine().peers().map(|peers| peers.secret()).transpose()?;
    let settings = api::Settings { seal, ..api_settings(app, &serving, &spool) };
    let api = Api::new(Arc::clone(&host), settings, models.clone(), events);
    let shared = Shared { current: &models, cancel: api.cancel() };
    let behind = models_behind(app, host.engine(), &shared)?;
    more = more.merge(api::routes(Arc::clone(&api)));
    let settings = SiteSettings { seal, ..site_settings(app, &serving) };
    more = more.merge(Site::new(host.engine().clone(), settings).routes());
    let gateway = {
        let _inside = runtime.enter();
        Gateway::open(host, Arc::new(ConversationTools), serving.gateway, spool)?
    };
    api.show_caches(gateway.caches());
    let ending = CancellationToken::new();
    let until_unused = args.until_unused;
    let used = DaemonTerms { until_unused, asks_for_token: !serving.guard.tokens.is_empty() };
    let runs = Runs::new(Arc::clone(&gateway), now(), used, ending.clone());
    more = more.merge(runs::routes(runs));
    let listener = runtime.block_on(TcpListener::bind(serving.listen)).map_err(|error| {
        let hint = "is another daemon running there? name another address with --listen";
        Failure::input("listen", format!("cannot listen on {}: {error}", serving.listen), hint)
    })?;
    let listen = listener.local_addr()?;
    let own = format!("{PREFIX}{}", Digest(random()?).hex());
    serving.guard.own = (!args.in_memory).then(|| Digest::of(own.as_bytes()));
    serving.guard.tokens = with_own(serving.guard.tokens, &own);
    // A certificate is for other names: the command line of this machine gets a separate plain listener.
    let local = serving.tls.is_some().then(|| runtime.block_on(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))));
    let local = local.transpose()?;
    let reached = here(local.as_ref().map_or(Ok(listen), TcpListener::local_addr)?);
    let beside = (!args.in_memory).then_some(Beside { url: format!("http://{reached}"), token: own });
    let left =
        beside.map(|beside| beside.leave(&path)).transpose().map_err(|error| Failure::file(&path, &error))?;
    let Serving { guard, tls, .. } = serving;
    let daemon = Daemon {
        gateway,
        guard,
        limits: Limits::default(),
        tls,
        local,
        until_unused: until_unused.map(Duration::from_secs),
        more,
    };
    Ok(Opened { runtime, daemon, listener, listen, api, behind, left: (left, folder), ending })
}

/// The models that work in the background of the gateway.
fn models_behind(app: &App, engine: &Engine, shared: &Shared<'_>) -> Outcome<Behind> {
    let settings = app.settings.models();
    let looked = |_: &Watched, changed: Option<Outcome<()>>| match changed {
        None => {}
        Some(Ok(())) => tracing::info!("the settings of models changed"),
        Some(Err(failure)) => tracing::warn!("the previous models stay in use: {}", failure.message),
    };
    let told = |news: News<'_>| work::note(&news);
    let vectors = |news: EmbedNews<'_>| tracing::warn!("{news}");
    let histories = |news: WholeNews<'_>| match news {
        WholeNews::Made { .. } => tracing::info!("{news}"),
        WholeNews::Failed(_) => tracing::error!("{news}"),
    };
    let index = |news: IndexNews<'_>| match news {
        IndexNews::Kept { .. } => tracing::debug!("{news}"),
        IndexNews::Failed { .. } | IndexNews::Unlisted(_) => tracing::warn!("{news}"),
    };
    behind::start(settings, engine, shared, None, Listeners { looked, told, vectors, histories, index })
}

/// The settings for the API.
fn api_settings(app: &App, serving: &Serving, spool: &Path) -> api::Settings {
    let settings = &app.settings;
    api::Settings {
        db: settings.db.value.to_string(),
        config: super::config::of(settings),
        backups: serving.backups.clone(),
        uploads: spool.join("uploads"),
        upload_max: serving.upload_max,
        seal: None,
        window: settings.window.value,
        model: settings.model.value.clone(),
        dialect: settings.dialect.value.map(|dialect| dialect.0),
    }
}

/// The settings for the page.
fn site_settings(app: &App, serving: &Serving) -> SiteSettings {
    let settings = &app.settings;
    SiteSettings {
        db: settings.db.value.to_string(),
        config: super::config::of(settings),
        window: settings.window.value,
        model: settings.model.value.clone(),
        dialect: settings.dialect.value.map(|dialect| dialect.0),
        asks_for_token: !serving.guard.tokens.is_empty(),
        is_secure: serving.tls.is_some(),
        seal: None,
    }
}

/// Adds the token of our own command line, if tokens are required. It is stored beside the database, and whoever can
/// read it there can read the database anyway.
fn with_own(mut tokens: Vec<Token>, own: &str) -> Vec<Token> {
    if !tokens.is_empty() {
        let scopes = vec![Scope::Read, Scope::Admin];
        tokens.push(Token { tenant: "default".into(), scopes, digest: Digest::of(own.as_bytes()) });
    }
    tokens
}

/// The address of a daemon from its own machine.
pub(super) fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// A new token, with `--json`.
#[derive(Serialize)]
struct TokenJson<'a> {
    tenant: &'a str,
    token: String,
    digest: String,
}

/// Makes a token. Only its digest is to be kept here.
fn new_token(app: &mut App, tenant: &str) -> Outcome {
    if tenant.is_empty() || tenant.chars().any(|one| one.is_control() || matches!(one, '"' | '\\')) {
        let what = format!("{tenant:?} is no name of a tenant");
        return Err(Failure::usage(what, "use letters, digits and signs other than quotes and backslashes"));
    }
    let token = format!("{PREFIX}{}", Digest(random()?).hex());
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

/// Unguessable bytes.
pub(super) fn random<const BYTES: usize>() -> Outcome<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| std::io::Error::other(error.to_string()))?;
    Ok(bytes)
}

/// Waits for Ctrl-C, or for the signal with which service managers end a process.
pub(crate) async fn asked_to_end() {
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
    // Without signals, only the end of the process ends it.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
