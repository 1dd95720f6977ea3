//! `unforget run`: an agent with the gateway in front of its model.

mod clients;

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use unforget_server::serve::PATIENCE;

use super::serve;
use crate::app::App;
use crate::args::{RunArgs, ServeArgs};
use crate::config::process_env;
use crate::failure::{Exit, Failure, Outcome};
use clients::{CLIENTS, SDKS, Way, filled};

/// Runs a command to its end. The exit code is the command's.
pub(crate) fn run(app: &mut App, args: &RunArgs) -> Outcome {
    let way = way(args)?;
    let mut serving = app.settings.serve.with(&args.serve, &process_env)?;
    // The command is on this machine and knows no certificate of ours.
    serving.tls = None;
    let is_any_good = ServeArgs { listen: None, ..args.serve.clone() } == ServeArgs::default();
    if is_any_good && is_serving(serving.listen) {
        let mut child = start(args, way, &format!("http://{}", serving.listen))?;
        let status = child.wait()?;
        return ended(app, status);
    }
    // Nobody has to know the address but the command.
    if args.serve.listen.is_none() {
        serving.listen.set_port(0);
    }
    // The terminal is the command's.
    let telemetry = serve::Telemetry::begin(args.serve.log_json, "off")?;
    let opened = serve::open(app, &args.serve, serving)?;
    let serve::Opened { runtime, daemon, listener, listen, api, left } = opened;
    let mut child = start(args, way, &format!("http://{listen}"))?;
    let pid = child.id();
    let ending = CancellationToken::new();
    let served = runtime.spawn(daemon.serve(listener, ending.clone(), PATIENCE));
    runtime.spawn(pass_signals_on(pid));
    let status = child.wait()?;
    api.close();
    ending.cancel();
    runtime.block_on(served).map_err(std::io::Error::other)??;
    drop((left, telemetry));
    ended(app, status)
}

/// How the command is told where the daemon is.
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
        return Err(Failure::usage("this client cannot be told", ""));
    };
    let (name, rest) = args.command.split_first().ok_or_else(|| Failure::usage("no command", ""))?;
    let mut command = Command::new(name);
    command.args(arguments.iter().map(|argument| filled(argument, url))).args(rest);
    command.envs(variables.iter().map(|(name, value)| (name, filled(value, url))));
    command.spawn().map_err(|error| {
        let hint = if error.kind() == ErrorKind::NotFound { "is it installed, and on the PATH?" } else { "" };
        Failure::usage(format!("{}: {error}", name.to_string_lossy()), hint)
    })
}

/// Whether a daemon of ours answers there.
fn is_serving(listen: SocketAddr) -> bool {
    const PATIENT: Duration = Duration::from_millis(500);
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

/// A person's Ctrl-C reaches the command by itself and must not end the daemon before it. What is sent to us alone is passed
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
                    // It fails only if the command has ended, and so does the daemon then.
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

/// Ends as the command did.
fn ended(app: &mut App, status: ExitStatus) -> Outcome {
    app.out.flush()?;
    #[cfg(unix)]
    let by_signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let by_signal = None;
    match status.code().or(by_signal).unwrap_or(1) {
        0 => Ok(Exit::Done),
        // Codes of commands are not ours.
        code => std::process::exit(code),
    }
}
