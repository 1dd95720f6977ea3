//! The daemon of `unforget run`: found or started in the background, used for as long as the command runs, and started
//! again if it dies meanwhile.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use unforget_server::serve::TOKEN;
use unforget_server::serve::beside::Beside;
use unforget_server::serve::runs::{CommandJson, DAEMON, RunState};

use crate::commands::logs;
use crate::database::Database;
use crate::failure::{Exit, Failure, Outcome};
use crate::remote::{field, text};

/// Seconds without use after which a daemon that was started here ends.
const UNTIL_UNUSED: u64 = 60;

/// Time limit for an answer of a daemon to an attached command.
const PATIENCE: Duration = Duration::from_secs(10);

/// Pause before another look for a daemon that another command starts at this moment.
const LOOK: Duration = Duration::from_millis(100);

/// Number of such looks.
const LOOKS: u32 = 100;

/// Size of a log that is begun anew, in bytes.
const LOG_MAX: u64 = 4 << 20;

/// The daemon that a command wants.
#[derive(Clone, Debug)]
pub(super) struct WantedDaemon {
    /// The database.
    pub(super) db: Database,
    /// Beside which the daemon's address and log lie.
    pub(super) beside: PathBuf,
    /// Address of a daemon that has to be started; port 0 for a free one.
    pub(super) listen: SocketAddr,
    /// The command.
    pub(super) run: CommandJson,
    /// Whether a daemon that has to be started logs every call.
    pub(super) is_verbose: bool,
}

/// A command's use of a daemon. The connection is the use: the daemon notices its end, whatever ended it.
pub(super) struct Attached {
    wanted: WantedDaemon,
    at: SocketAddr,
    path: String,
    asks_for_token: bool,
    stream: Arc<Mutex<TcpStream>>,
    has_ended: Arc<AtomicBool>,
}

/// A daemon that serves, and the connection by which the command is attached.
struct ReachedDaemon {
    at: SocketAddr,
    /// Path of the command's base URL; empty for a command without settings of its own.
    path: String,
    asks_for_token: bool,
    stream: TcpStream,
}

/// The beginning of a daemon's answer to an attached command.
struct AttachAnswer {
    status: u16,
    /// First line of the body.
    line: String,
    stream: TcpStream,
}

impl WantedDaemon {
    /// Finds a daemon or starts one, and attaches to it.
    ///
    /// # Errors
    /// If the database cannot be opened, or the daemon refuses the command's settings.
    pub(super) fn attach(self) -> Outcome<Attached> {
        let ReachedDaemon { at, path, asks_for_token, stream } = self.reach()?;
        let stream = Arc::new(Mutex::new(stream));
        Ok(Attached { wanted: self, at, path, asks_for_token, stream, has_ended: Arc::default() })
    }

    fn reach(&self) -> Outcome<ReachedDaemon> {
        for look in 0..LOOKS {
            if let Some(reached) = self.found()? {
                return Ok(reached);
            }
            // Another command may be starting a daemon, which then owns the database.
            if look > 0 {
                std::thread::sleep(LOOK);
            }
            match self.start() {
                Err(failure) if failure.kind == "busy" => {}
                other => other?,
            }
        }
        Err(Failure {
            kind: "busy",
            message: format!("{} is in use by a process that is no daemon", self.db),
            hint: "wait for its end, then run the command again".to_owned(),
            exit: Exit::Store,
        })
    }

    /// Attaches to the daemon that owns the database, if there is one.
    fn found(&self) -> Outcome<Option<ReachedDaemon>> {
        let Some(beside) = Beside::read(&self.beside) else { return Ok(None) };
        let Some(at) = beside.url.strip_prefix("http://").and_then(|at| at.parse().ok()) else {
            return Ok(None);
        };
        // The file of a killed daemon stays: nobody listens there, or another program.
        match post(at, &beside.token, &self.run) {
            Ok(AttachAnswer { status: 200, line, stream }) => match serde_json::from_str(&line) {
                Ok(RunState::Attached { path, asks_for_token }) => {
                    Ok(Some(ReachedDaemon { at, path, asks_for_token, stream }))
                }
                _ => Ok(None),
            },
            Ok(AttachAnswer { status: 400, line, .. }) => {
                let problem: Value = serde_json::from_str(&line).unwrap_or_default();
                Err(Failure::usage(text(&problem, "detail").to_owned(), text(&problem, "next").to_owned()))
            }
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// Starts a daemon in the background, and waits until it serves.
    fn start(&self) -> Outcome<()> {
        let log = log(&self.beside)?;
        let listen = self.listen.to_string();
        let until = UNTIL_UNUSED.to_string();
        let failed = |error: io::Error| Failure {
            kind: "daemon",
            message: format!("the daemon cannot be started: {error}"),
            hint: String::new(),
            exit: Exit::Store,
        };
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        match &self.db {
            Database::File(path) => command.arg("--db").arg(path),
            // Arguments are shown to everyone on the machine, and the address may hold a password.
            Database::Server(place) => command.env("UNFORGET_DB", place.with_password()),
        };
        command.args(["--json", "serve", "--listen", &listen, "--until-unused", &until]);
        command.args(self.is_verbose.then_some("--verbose"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(log);
        // Its own process group: a Ctrl-C of this terminal is for the command.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut daemon = command.spawn().map_err(failed)?;
        let mut line = String::new();
        let said = daemon.stdout.take().map(BufReader::new).map(|mut said| said.read_line(&mut line));
        said.transpose().map_err(failed)?;
        let told: Value = serde_json::from_str(&line).unwrap_or_default();
        if told.get("listen").is_some() {
            return Ok(());
        }
        daemon.wait().map_err(failed)?;
        let error = field(&told, "error");
        let kind = if text(&error, "kind") == "busy" { "busy" } else { "daemon" };
        let message = match text(&error, "message") {
            "" => "the daemon ended before it served: unforget logs shows its last words",
            message => message,
        };
        Err(Failure {
            kind,
            message: message.to_owned(),
            hint: text(&error, "hint").to_owned(),
            exit: Exit::Store,
        })
    }
}

impl Attached {
    /// The base URL for the command.
    pub(super) fn url(&self) -> String {
        format!("http://{}{}", self.at, self.path)
    }

    /// Whether the daemon asks the command's calls for a token of ours.
    pub(super) const fn asks_for_token(&self) -> bool {
        self.asks_for_token
    }

    /// Lets a child inherit the connection, so that the daemon stays even if this process is killed.
    ///
    /// * `start` - starts the child.
    pub(super) fn shared<T>(&self, start: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
        let stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(unix)]
        {
            use rustix::io::{FdFlags, fcntl_setfd};
            fcntl_setfd(&*stream, FdFlags::empty()).map_err(io::Error::from)?;
            let started = start();
            fcntl_setfd(&*stream, FdFlags::CLOEXEC).map_err(io::Error::from)?;
            started
        }
        #[cfg(not(unix))]
        {
            drop(stream);
            start()
        }
    }

    /// Starts the daemon again at the same address whenever it dies, in a thread of its own.
    pub(super) fn keep(&self) -> Outcome<()> {
        let (wanted, at) = (WantedDaemon { listen: self.at, ..self.wanted.clone() }, self.at);
        let (current, has_ended) = (Arc::clone(&self.stream), Arc::clone(&self.has_ended));
        let mut stream = lock(&current).try_clone()?;
        std::thread::spawn(move || {
            while !was_told_to_end(&stream) && !has_ended.load(Ordering::Relaxed) {
                match wanted.reach() {
                    Ok(again) if again.at == at => {
                        let Ok(clone) = again.stream.try_clone() else { return };
                        *lock(&current) = clone;
                        stream = again.stream;
                    }
                    // The terminal belongs to the command, and its address cannot be changed any more.
                    Ok(_) | Err(_) => return,
                }
            }
        });
        Ok(())
    }

    /// Ends the use, also where a descendant of the command has inherited the connection.
    pub(super) fn end(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
        // Fails only if the connection is closed already.
        lock(&self.stream).shutdown(Shutdown::Both).ok();
    }
}

fn lock(stream: &Mutex<TcpStream>) -> std::sync::MutexGuard<'_, TcpStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for the end of a connection. False if the daemon died.
fn was_told_to_end(stream: &TcpStream) -> bool {
    let mut line = String::new();
    let read = BufReader::new(stream).read_line(&mut line);
    read.is_ok() && matches!(serde_json::from_str(&line), Ok(RunState::Ending))
}

/// Attaches a command: status, first line of the answer, and the connection. HTTP/1.0, whose answers have no chunks.
fn post(at: SocketAddr, token: &str, run: &CommandJson) -> io::Result<AttachAnswer> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let body = serde_json::to_string(run)?;
    write!(
        stream,
        "POST {DAEMON}/runs HTTP/1.0\r\nHost: {at}\r\n{TOKEN}: {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )?;
    // Byte by byte: what follows is for a later reader.
    let mut lines = Lines { stream: &stream };
    let status = lines.next_line()?;
    let status = status.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    while !lines.next_line()?.is_empty() {}
    let line = lines.next_line()?;
    stream.set_read_timeout(None)?;
    Ok(AttachAnswer { status, line, stream })
}

struct Lines<'a> {
    stream: &'a TcpStream,
}

impl Lines<'_> {
    /// The next line, or what there is before the end.
    fn next_line(&mut self) -> io::Result<String> {
        const LINE_MAX: usize = 64 << 10;
        let mut line = Vec::new();
        let mut byte = [0];
        while self.stream.read(&mut byte)? == 1 && byte != *b"\n" {
            if line.len() > LINE_MAX {
                return Err(io::ErrorKind::InvalidData.into());
            }
            line.extend(byte);
        }
        Ok(String::from_utf8_lossy(&line).trim_end().to_owned())
    }
}

/// The file for the daemon's log, readable by its owner only. What works in the background for the database logs there too.
pub(in crate::commands) fn log(db: &Path) -> Outcome<File> {
    let path = logs::place(db);
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    }
    let is_long = std::fs::metadata(&path).is_ok_and(|meta| meta.len() > LOG_MAX);
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(&path).map_err(|error| Failure::file(&path, &error))?;
    if is_long {
        file.set_len(0)?;
    }
    Ok(file)
}
