//! A PostgreSQL server of the tests' own: a new cluster in a temporary folder, reached by a socket in that folder alone, so
//! that nobody else can take its place between two starts.
//!
//! The server comes from the system (Debian's package `postgresql`). Where there is none, tests say so and are skipped.
//! `postgres` refuses to run as root, so then it runs as the user `postgres` or `nobody`.
#![allow(clippy::expect_used, reason = "a test cannot go on without its server")]

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Number of the server in the name of its socket. No port is bound.
const PORT: &str = "5432";

/// Password of the cluster's owner, who is named `unforget`.
const PASSWORD: &str = "only for tests";

/// Longest wait for the server to answer or to end.
const PATIENCE: Duration = Duration::from_mins(1);

/// A server. It is stopped, and its folder removed, when the value is dropped.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: PathBuf,
    user: Option<(u32, u32)>,
    settings: &'static [&'static str],
    /// The port of its listener with TLS, if it has one.
    secure: Option<AtomicU16>,
    server: Mutex<Option<Child>>,
    databases: AtomicU32,
}

impl Postgres {
    /// The server that the tests of a process share; `None`, said on stderr, where PostgreSQL is not installed. It syncs
    /// nothing, so only stores that are thrown away may be opened on it.
    ///
    /// # Panics
    /// If PostgreSQL is installed and does not start.
    pub fn shared() -> Option<Arc<Self>> {
        static SHARED: Mutex<Weak<Postgres>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(server) = shared.upgrade() {
            return Some(server);
        }
        let server = Arc::new(Self::with(&["fsync=off", "full_page_writes=off"])?);
        *shared = Arc::downgrade(&server);
        Some(server)
    }

    /// A server of its own, as people run it; `None`, said on stderr, where PostgreSQL is not installed.
    ///
    /// # Panics
    /// If PostgreSQL is installed and does not start.
    pub fn new() -> Option<Self> {
        Self::with(&[])
    }

    /// A server that also listens on a port of 127.0.0.1, with TLS and a certificate of its own for `localhost`; `None`, said
    /// on stderr, where PostgreSQL or openssl is not installed.
    ///
    /// # Panics
    /// If both are installed and the server does not start.
    pub fn secure() -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("skipped: openssl, which makes certificates, is not installed");
            return None;
        }
        Self::made(&["fsync=off"], true)
    }

    fn with(settings: &'static [&'static str]) -> Option<Self> {
        Self::made(settings, false)
    }

    fn made(settings: &'static [&'static str], is_secure: bool) -> Option<Self> {
        let Some(programs) = programs() else {
            eprintln!("skipped: PostgreSQL is not installed (Debian: apt-get install postgresql)");
            return None;
        };
        let user = rustix::process::geteuid().is_root().then(unprivileged);
        if user == Some(None) {
            eprintln!("skipped: PostgreSQL does not run as root, and there is no user postgres or nobody");
            return None;
        }
        let user = user.flatten();
        let folder = folder(user).expect("a temporary folder");
        let new = Self {
            programs,
            folder,
            user,
            settings,
            secure: is_secure.then(|| AtomicU16::new(0)),
            server: Mutex::new(None),
            databases: AtomicU32::new(0),
        };
        new.init();
        if is_secure {
            new.make_certificate();
        }
        new.start();
        Some(new)
    }

    fn init(&self) {
        let secret = self.folder.join("password");
        fs::write(&secret, PASSWORD).expect("the password file");
        if let Some((user, group)) = self.user {
            std::os::unix::fs::chown(&secret, Some(user), Some(group)).expect("the password file's owner");
        }
        let mut command = self.program("initdb");
        command.args(["--username", "unforget", "--auth", "scram-sha-256", "--encoding", "UTF8"]);
        command.args(["--locale", "C", "--pwfile"]).arg(&secret).arg("--pgdata").arg(self.data());
        run(&mut command);
    }

    /// A certificate for `localhost` that nobody else vouches for, and its key.
    fn make_certificate(&self) {
        let form = "[req]\ndistinguished_name=dn\nprompt=no\nx509_extensions=v3\n[dn]\nCN=localhost\n\
            [v3]\nsubjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n";
        let path = self.folder.join("certificate.cnf");
        fs::write(&path, form).expect("the form of a certificate");
        let mut command = Command::new("openssl");
        command
            .args(["req", "-new", "-x509", "-days", "30", "-nodes", "-newkey", "rsa:2048", "-config"])
            .arg(&path);
        command.arg("-keyout").arg(self.folder.join("server.key")).arg("-out").arg(self.certificate());
        if let Some((user, group)) = self.user {
            command.gid(group).uid(user);
        }
        run(&mut command);
    }

    /// The certificate of a [secure](Postgres::secure) server.
    pub fn certificate(&self) -> PathBuf {
        self.folder.join("server.crt")
    }

    /// The address of a database over TLS, without a word on how it is protected.
    ///
    /// * `host` - `localhost`, which the certificate names, or `127.0.0.1`.
    pub fn secure_address(&self, host: &str, name: &str) -> String {
        let (password, port) = (PASSWORD.replace(' ', "%20"), self.secure.as_ref());
        let port = port.map_or(0, |port| port.load(Ordering::Relaxed));
        format!("postgres://unforget:{password}@{host}:{port}/{name}")
    }

    /// Starts the server, and waits until it answers.
    ///
    /// # Panics
    /// If it does not.
    pub fn start(&self) {
        let mut child = self.spawn();
        let since = Instant::now();
        while self.sql("postgres", "SELECT 1").is_err() {
            assert!(since.elapsed() < PATIENCE, "the server does not answer; its log:\n{}", self.said());
            // The processes of a killed server take a moment to notice, and keep a new one from starting.
            if child.try_wait().is_ok_and(|status| status.is_some()) {
                child = self.spawn();
            }
            sleep(Duration::from_millis(50));
        }
        *self.server.lock().unwrap_or_else(PoisonError::into_inner) = Some(child);
    }

    fn spawn(&self) -> Child {
        let log = fs::File::options().create(true).append(true).open(self.log()).expect("a log");
        let mut command = self.program("postgres");
        command.arg("-D").arg(self.data());
        match &self.secure {
            None => drop(command.args(["-p", PORT, "-c", "listen_addresses="])),
            // A port that somebody else takes first ends the server, and the next start has another one.
            Some(port) => {
                port.store(free_port().expect("a free port"), Ordering::Relaxed);
                command.args(["-p", &self.port(), "-c", "listen_addresses=127.0.0.1", "-c", "ssl=on"]);
                command.arg("-c").arg(format!("ssl_cert_file={}", self.certificate().display()));
                command.arg("-c").arg(format!("ssl_key_file={}", self.folder.join("server.key").display()));
            }
        }
        let folder = self.folder.display();
        command.args(["-c", &format!("unix_socket_directories={folder}")]);
        command.args([
            "-c",
            "max_connections=200",
            "-c",
            "shared_buffers=64MB",
            "-c",
            "restart_after_crash=on",
        ]);
        command.args(self.settings.iter().flat_map(|setting| ["-c", setting]));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        command.spawn().expect("postgres starts")
    }

    /// The address of a new, empty database.
    ///
    /// # Panics
    /// If it cannot be made.
    pub fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}")).expect("a new database");
        self.address(&name)
    }

    /// The address of a database.
    pub fn address(&self, name: &str) -> String {
        let password = PASSWORD.replace(' ', "%20");
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://unforget:{password}@{folder}:{}/{name}", self.port())
    }

    /// Runs a statement with `psql` and returns what it prints, without headers.
    ///
    /// # Errors
    /// The words of `psql`.
    pub fn sql(&self, database: &str, statement: &str) -> Result<String, String> {
        let mut command = self.program("psql");
        command.arg("-h").arg(&self.folder).args(["-p", &self.port(), "-U", "unforget", "-d", database]);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statement]);
        command.env("PGPASSWORD", PASSWORD).env("PGCONNECT_TIMEOUT", "10");
        let output = command.output().map_err(|error| error.to_string())?;
        if output.status.success() {
            Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }

    /// Ends the server at once, without a shutdown. [`Postgres::start`] brings it back.
    pub fn kill(&self) {
        self.end(Signal::KILL);
    }

    fn end(&self, signal: Signal) {
        let child = self.server.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut child) = child else { return };
        if let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
            kill_process(pid, signal).ok();
        }
        child.wait().ok();
    }

    /// The number in the name of its socket.
    fn port(&self) -> String {
        self.secure.as_ref().map_or_else(|| PORT.to_owned(), |port| port.load(Ordering::Relaxed).to_string())
    }

    fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        command.env_clear().env("LC_ALL", "C").env("PATH", &self.programs).current_dir(&self.folder);
        if let Some((user, group)) = self.user {
            command.gid(group).uid(user);
        }
        command
    }

    fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The server's log.
    pub fn said(&self) -> String {
        fs::read_to_string(self.log()).unwrap_or_default()
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // SIGINT: a fast shutdown, without waiting for clients.
        self.end(Signal::INT);
        fs::remove_dir_all(&self.folder).ok();
    }
}

/// The folder of the server's programs: of the newest version.
fn programs() -> Option<PathBuf> {
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.sort_by_key(|folder| version(folder));
    folders.reverse();
    folders.extend(std::env::var_os("PATH").iter().flat_map(std::env::split_paths));
    folders
        .into_iter()
        .find(|folder| ["initdb", "postgres", "psql"].iter().all(|one| folder.join(one).exists()))
}

fn version(folder: &Path) -> u32 {
    let name = folder.parent().and_then(Path::file_name).and_then(OsStr::to_str);
    name.and_then(|name| name.parse().ok()).unwrap_or(0)
}

/// User and group of somebody who may run a server.
fn unprivileged() -> Option<(u32, u32)> {
    let users = fs::read_to_string("/etc/passwd").unwrap_or_default();
    ["postgres", "nobody"].into_iter().find_map(|name| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2);
        Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
    })
}

/// A new folder that only the user may enter.
fn folder(user: Option<(u32, u32)>) -> io::Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("unforget-postgres-{}-{number}", std::process::id()));
    fs::create_dir(&folder)?;
    if let Some((user, group)) = user {
        std::os::unix::fs::chown(&folder, Some(user), Some(group))?;
    }
    Ok(folder)
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn run(command: &mut Command) {
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
