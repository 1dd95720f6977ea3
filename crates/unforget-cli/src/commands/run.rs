//! `unforget run`: an agent with the gateway in front of its model.

mod clients;

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unforget_server::serve::PATIENCE;
use unforget_server::serve::beside::Beside;

use super::serve::{self, here};
use crate::app::App;
use crate::args::{RunArgs, ServeArgs};
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use clients::{CLIENTS, SDKS, Way, filled};

/// Runs a command to its end. The exit code is the command's.
pub(crate) fn run(app: &mut App, args: &RunArgs) -> Outcome {
    let way = way(args)?;
    let mut serving = app.settings.serve.with(&args.serve, &process_env)?;
    if let Some(at) = daemon(app, args, serving.listen) {
        if !serving.guard.tokens.is_empty() {
            let what = "the daemon asks for a token: the command has to send one, as its API key or as x-unforget-token";
            app.out.note(format_args!("{what}"));
        }
        let mut child = start(args, way, &format!("http://{at}"))?;
        let status = child.wait()?;
        return ended(app, status);
    }
    // The listener is only for the command, which runs on this machine, knows no certificate and has no token of ours.
    serving.listen = own(args.serve.listen)?;
    serving.tls = None;
    serving.guard.tokens.clear();
    // The terminal belongs to the command.
    let telemetry = serve::Telemetry::begin(args.serve.log_json, "off")?;
    let opened = serve::open(app, &args.serve, serving)?;
    let serve::Opened { runtime, daemon, listener, listen, api, behind, left } = opened;
    let mut child = start(args, way, &format!("http://{listen}"))?;
    let pid = child.id();
    let ending = CancellationToken::new();
    let served = runtime.spawn(daemon.serve(listener, ending.clone(), PATIENCE));
    runtime.spawn(pass_signals_on(pid));
    let status = child.wait()?;
    api.close();
    ending.cancel();
    runtime.block_on(served).map_err(std::io::Error::other)??;
    drop((behind, left, telemetry));
    ended(app, status)
}

/// The address of a daemon that the command can use: one that owns the database, or one at the configured address.
fn daemon(app: &App, args: &RunArgs, listen: SocketAddr) -> Option<SocketAddr> {
    let is_any_good = ServeArgs { listen: None, ..args.serve.clone() } == ServeArgs::default();
    // A daemon with TLS listens for its own machine at another address, given only in this file.
    let beside = Beside::read(&app.settings.db.value).filter(|_| args.serve.listen.is_none());
    let beside = beside.and_then(|beside| beside.url.strip_prefix("http://")?.parse().ok());
    let places = beside.into_iter().chain([here(listen)]);
    places.into_iter().find(|at| is_any_good && is_serving(*at))
}

/// The address of the command's own daemon: on this machine, known to the command only.
///
/// * `asked` - the address from the command line.
fn own(asked: Option<SocketAddr>) -> Outcome<SocketAddr> {
    match asked {
        Some(asked) if !asked.ip().is_loopback() => Err(Failure::usage(
            format!("{asked} can be reached by other machines, and `run` serves one command of this one"),
            "leave --listen out, name an address of 127.0.0.1, or start `unforget serve` there",
        )),
        asked => Ok(asked.unwrap_or(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))),
    }
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

/// A person's Ctrl-C reaches the command directly and must not end the daemon before it. Signals to us alone are passed
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
                    // Fails only if the command has ended, which also ends the daemon.
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
