//! `unforget run`: an agent with the gateway in front of its model.

mod attached;
mod clients;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use tokio::runtime::Builder;
use unforget_server::serve::PATIENCE;
use unforget_server::serve::runs::CommandJson;

use super::serve::{self, here};
use crate::app::App;
use crate::args::RunArgs;
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use crate::overrides::ServeArgs;
use crate::remote::Remote;
use attached::WantedDaemon;
pub(super) use attached::log;
use clients::{CLIENTS, SDKS, Way, filled};

/// Runs a command to its end. The exit code is the command's.
pub(crate) fn run(app: &mut App, args: &RunArgs) -> Outcome {
    let way = way(args)?;
    find_program(args)?;
    if args.in_memory {
        return alone(app, args, way);
    }
    if let Some(at) = elsewhere(app, args)? {
        let status = wait(start(args, way, &format!("http://{at}"))?)?;
        return ended(app, status);
    }
    let attached = wanted(app, args)?.attach()?;
    if attached.asks_for_token() {
        tokens_note(app);
    }
    let child = attached.shared(|| start(args, way, &attached.url()))?;
    attached.keep()?;
    let status = wait(child)?;
    attached.end();
    ended(app, status)
}

/// A daemon of another database at the configured address, if no daemon has this command's database. It can be used by
/// a command without settings of its own.
fn elsewhere(app: &mut App, args: &RunArgs) -> Outcome<Option<SocketAddr>> {
    let is_plain =
        args.upstream.is_none() && args.windows.is_empty() && args.cap.is_none() && args.listen.is_none();
    if !is_plain || Remote::of(&app.settings.db.value).is_some() {
        return Ok(None);
    }
    let serving = app.settings.serve.with(&ServeArgs::default(), &process_env)?;
    let at = here(serving.listen);
    if !is_serving(at) {
        return Ok(None);
    }
    if !serving.guard.tokens.is_empty() {
        tokens_note(app);
    }
    Ok(Some(at))
}

fn tokens_note(app: &App) {
    let what =
        "the daemon asks for a token: the command has to send one, as its API key or as x-unforget-token";
    app.out.note(format_args!("{what}"));
}

/// Runs a command whose conversations are kept in memory, with a gateway inside this process.
fn alone(app: &mut App, args: &RunArgs, way: &Way) -> Outcome {
    let served = ServeArgs {
        listen: args.listen,
        upstream: args.upstream.clone(),
        windows: args.windows.clone(),
        cap: args.cap,
        in_memory: true,
        ..ServeArgs::default()
    };
    let serving = serve::for_commands(app.settings.serve.with(&served, &process_env)?, &served)?;
    // The terminal belongs to the command.
    let telemetry = serve::Telemetry::begin(false, "off")?;
    let opened = serve::open(app, &served, serving)?;
    let serve::Opened { runtime, daemon, listener, listen, api, behind, left, ending } = opened;
    let child = start(args, way, &format!("http://{listen}"))?;
    let served = runtime.spawn(daemon.serve(listener, ending.clone(), PATIENCE));
    let status = wait(child)?;
    api.close();
    ending.cancel();
    runtime.block_on(served).map_err(std::io::Error::other)??;
    drop((behind, left, telemetry));
    ended(app, status)
}

/// Waits for the end of the command.
fn wait(mut child: Child) -> Outcome<ExitStatus> {
    let pid = child.id();
    let signals = Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    signals.spawn(pass_signals_on(pid));
    Ok(child.wait()?)
}

/// The daemon for a command.
fn wanted(app: &App, args: &RunArgs) -> Outcome<WantedDaemon> {
    let name = args.command.first().map(|name| name.to_string_lossy().chars().take(40).collect::<String>());
    let run = CommandJson {
        id: format!("{:016x}", u64::from_le_bytes(serve::random()?)),
        command: name.unwrap_or_default(),
        pid: std::process::id(),
        upstream: args.upstream.clone(),
        windows: args.windows.iter().cloned().collect(),
        cap: args.cap,
    };
    let listen = serve::of_this_machine(args.listen)?;
    Ok(WantedDaemon {
        db: app.settings.db.value.clone(),
        beside: app.settings.db.value.local_path()?.into_owned(),
        listen,
        run,
        is_verbose: args.verbose,
    })
}
/// How to tell the command the daemon's address.
fn way(args: &RunArgs) -> Outcome<&'static Way> {
    let known = || CLIENTS.iter().map(|client| client.names.join(", ")).collect::<Vec<_>>().join(", ");
    let command = args.command.first().map(|command| command.to_string_lossy()).unwrap_or_default();
    let client = match &args.client {
        Some(name) => Some(clients::of(name).ok_or_else(|| {
            Failure::usage(format!("no client is called {name}"), format!("known are: {}", known()))
        })?),
        None => clients::of(&command),
    };
    match client.map_or(&SDKS, |client| &client.way) {
        Way::Not(instead) => Err(Failure::usage(format!("{command} cannot be run this way"), *instead)),
        way @ Way::Told { .. } => Ok(way),
    }
}

/// Looks for the program before anything is started for it.
#[cfg(unix)]
fn find_program(args: &RunArgs) -> Outcome<()> {
    let Some(name) = args.command.first() else { return Ok(()) };
    let is_path = name.as_encoded_bytes().contains(&b'/');
    // Without a search path the system has one of its own.
    let folders = std::env::var_os("PATH").filter(|_| !is_path);
    let is_there = match folders {
        Some(folders) => std::env::split_paths(&folders).any(|folder| folder.join(name).exists()),
        None => !is_path || std::path::Path::new(name).exists(),
    };
    if is_there {
        return Ok(());
    }
    let what = format!("there is no program {}", name.to_string_lossy());
    Err(Failure::usage(what, "is it installed, and on the PATH?"))
}

#[cfg(not(unix))]
fn find_program(_: &RunArgs) -> Outcome<()> {
    Ok(())
}

/// Starts the command.
fn start(args: &RunArgs, way: &Way, url: &str) -> Outcome<Child> {
    let Way::Told { variables, arguments } = way else {
        return Err(Failure::usage("this client cannot be configured", ""));
    };
    let (name, rest) = args
        .command
        .split_first()
        .ok_or_else(|| Failure::usage("no command is given", "name one: unforget run -- claude"))?;
    let mut command = Command::new(name);
    command.args(arguments.iter().map(|argument| filled(argument, url))).args(rest);
    command.envs(variables.iter().map(|(name, value)| (name, filled(value, url))));
    command.spawn().map_err(|error| {
        let hint = if error.kind() == ErrorKind::NotFound { "is it installed, and on the PATH?" } else { "" };
        Failure::usage(format!("{}: {error}", name.to_string_lossy()), hint)
    })
}

/// Whether a daemon of ours answers at an address.
fn is_serving(listen: SocketAddr) -> bool {
    const PATIENT: Duration = Duration::from_secs(5);
    let ask = || -> std::io::Result<bool> {
        let mut stream = TcpStream::connect_timeout(&listen, PATIENT)?;
        stream.set_read_timeout(Some(PATIENT))?;
        write!(stream, "GET /healthz HTTP/1.1\r\nHost: {listen}\r\nConnection: close\r\n\r\n")?;
        let mut said = String::new();
        stream.take(4_096).read_to_string(&mut said)?;
        Ok(said.starts_with("HTTP/1.1 200") && said.ends_with("\r\n\r\nok\n"))
    };
    ask().unwrap_or(false)
}

/// A person's Ctrl-C reaches the command directly and must not end this process before it. Signals to us alone are passed
/// on.
async fn pass_signals_on(child: u32) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process};
        use tokio::signal::unix::{SignalKind, signal};
        let pid = i32::try_from(child).ok().and_then(Pid::from_raw);
        let signals = (signal(SignalKind::interrupt()), signal(SignalKind::terminate()));
        if let ((Ok(mut interrupt), Ok(mut terminate)), Some(pid)) = (signals, pid) {
            loop {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    // Fails only if the command has ended, which also ends this process.
                    _ = terminate.recv() => { kill_process(pid, Signal::TERM).ok(); }
                }
            }
        }
    }
    #[cfg(not(unix))]
    loop {
        if tokio::signal::ctrl_c().await.is_err() {
            return;
        }
    }
}

/// Ends with the command's result.
fn ended(app: &mut App, status: ExitStatus) -> Outcome {
    app.out.flush()?;
    #[cfg(unix)]
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let by_signal = None;
    match status.code().or(by_signal).unwrap_or(1) {
        0 => Ok(Exit::Done),
        // The exit codes of commands are not ours.
        code => std::process::exit(code),
    }
}
