//! `unforget run`: commands that share a daemon, their settings, and what happens when any of them is killed.
#![cfg(target_os = "linux")]
use crate::support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::support::{Place, text};
use serde_json::Value;

/// Settings of a daemon for other machines, with a token and a missing upstream.
fn place(listen: &str) -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.path(".config/unforget")).unwrap();
    let digest = "0".repeat(64);
    place.write(
        ".config/unforget/config.toml",
        &format!(
            "[serve]\nlisten = \"{listen}\"\n[[serve.tokens]]\ntenant = \"ann\"\ndigest = \"{digest}\"\n\
             [[serve.upstreams]]\nname = \"nobody\"\nurl = \"http://127.0.0.1:1\"\n"
        ),
    );
    place
}

fn unforget(place: &Place) -> Command {
    let mut command = Command::new(support::binary());
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap());
    command.env("HOME", place.path("")).env("UNFORGET_DB", place.path("store.sqlite"));
    command
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

/// Prints the base URL, and stays until its input ends.
const SAYS: [&str; 3] = ["sh", "-c", "echo $ANTHROPIC_BASE_URL; cat"];

fn asked_below(at: SocketAddr, path: &str) -> std::io::Result<String> {
    asked_for(at, &format!("{path}/v1/models"))
}

fn asked_for(at: SocketAddr, path: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at)?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

/// A command of `unforget run` that printed its base URL, and runs until its input ends.
struct Running {
    child: Killed,
    at: SocketAddr,
    path: String,
}

impl Running {
    fn start(place: &Place, options: &[&str]) -> Self {
        let mut command = unforget(place);
        command.arg("run").args(options).arg("--").args(SAYS).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Killed(command.spawn().unwrap());
        let mut line = String::new();
        BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("http://").unwrap();
        let (at, path) = url.split_at(url.find('/').unwrap_or(url.len()));
        Self { child, at: at.parse().unwrap(), path: path.to_owned() }
    }

    fn end(mut self) {
        drop(self.child.0.stdin.take());
        assert_eq!(self.child.0.wait().unwrap().code(), Some(0));
    }

    /// The answer to a call of the command.
    fn asked(&self) -> std::io::Result<String> {
        asked_below(self.at, &self.path)
    }
}

/// A daemon in the background, ended with the test.
struct Background<'a>(&'a Place);

impl Background<'_> {
    fn daemon(&self) -> Value {
        let output = unforget(self.0).args(["--json", "status"]).output().unwrap();
        serde_json::from_slice::<Value>(&output.stdout).unwrap()["daemon"].take()
    }

    fn stop(&self, options: &[&str]) -> std::process::Output {
        unforget(self.0).arg("stop").args(options).output().unwrap()
    }

    /// Whether the daemon has ended.
    fn is_gone(&self) -> bool {
        self.daemon().is_null()
    }
}

impl Drop for Background<'_> {
    fn drop(&mut self) {
        self.stop(&["--force"]);
    }
}

#[test]
fn the_daemon_of_a_command_is_for_this_machine() {
    // Nobody listens at the configured port.
    let place = place("0.0.0.0:1");
    let _background = Background(&place);
    let running = Running::start(&place, &[]);
    let at = running.at;
    assert!(at.ip().is_loopback(), "{at}");
    // A daemon that listens on all addresses listens on this one too.
    let elsewhere = SocketAddr::from(([127, 0, 0, 2], at.port()));
    assert!(TcpStream::connect(elsewhere).is_err(), "{elsewhere}");
    let said = running.asked().unwrap();
    assert!(said.starts_with("HTTP/1.1 502"), "no token is asked for: {said}");
    running.end();
    let failed = unforget(&place).args(["run", "--listen", "0.0.0.0:0", "--"]).args(SAYS).output().unwrap();
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("127.0.0.1"), "{}", text(&failed.stderr));
}

#[test]
fn commands_share_a_daemon_that_outlives_each_of_them() {
    let place = place("127.0.0.1:1");
    let background = Background(&place);
    let first = Running::start(&place, &[]);
    let mut second = Running::start(&place, &[]);
    let third = Running::start(&place, &["--cap", "9000"]);
    assert_eq!((first.at, second.at), (second.at, third.at), "one daemon");
    assert_eq!(background.daemon()["runs"].as_array().unwrap().len(), 3, "{}", background.daemon());
    first.end();
    assert!(second.asked().unwrap().starts_with("HTTP/1.1 502"), "the daemon of the first command stays");
    second.child.0.kill().unwrap();
    second.child.0.wait().unwrap();
    assert!(third.asked().unwrap().starts_with("HTTP/1.1 502"), "whatever ends a command");
    let refused = background.stop(&[]);
    assert_eq!(refused.status.code(), Some(2), "it is in use: {}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("--force"), "{}", text(&refused.stderr));
    third.end();
    // The killed command's own child has its connection until it notices the end of its input.
    while background.stop(&[]).status.code() != Some(0) {}
    while !background.is_gone() {}
    assert!(text(&unforget(&place).arg("logs").output().unwrap().stdout).contains("stopping"));
}

#[test]
fn a_command_brings_settings_of_its_own() {
    let place = place("127.0.0.1:1");
    let _background = Background(&place);
    let plain = Running::start(&place, &[]);
    let provider = TcpListener::bind("127.0.0.1:0").unwrap();
    let upstream = format!("http://{}", provider.local_addr().unwrap());
    let own = Running::start(&place, &["--upstream", &upstream]);
    assert_eq!(plain.path, "");
    assert!(own.path.starts_with("/run/"), "{}", own.path);
    let answers = std::thread::spawn(move || {
        let (mut stream, _) = provider.accept().unwrap();
        let mut head = String::new();
        BufReader::new(stream.try_clone().unwrap()).read_line(&mut head).unwrap();
        write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{{}}").unwrap();
        head
    });
    let said = own.asked().unwrap();
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(answers.join().unwrap(), "GET /v1/models HTTP/1.1\r\n", "the provider sees its own path");
    assert!(
        plain.asked().unwrap().starts_with("HTTP/1.1 502"),
        "the other command keeps the daemon's upstream"
    );
    let alive = asked_for(own.at, &format!("{}/healthz", own.path)).unwrap();
    assert!(alive.starts_with("HTTP/1.1 200") && alive.ends_with("ok\n"), "below its own base URL: {alive}");
    let unknown = asked_below(own.at, "/run/0000000000000000").unwrap();
    assert!(unknown.starts_with("HTTP/1.1 404"), "{unknown}");
    let path = own.path.clone();
    let at = own.at;
    own.end();
    while !asked_below(at, &path).unwrap().starts_with("HTTP/1.1 404") {}
    plain.end();
}

#[test]
fn a_killed_daemon_is_started_again_at_its_address() {
    let place = place("127.0.0.1:1");
    let background = Background(&place);
    let running = Running::start(&place, &["--cap", "9000"]);
    let killed = background.daemon()["pid"].as_u64().unwrap();
    assert!(Command::new("kill").args(["-9", &killed.to_string()]).status().unwrap().success());
    while !running.asked().is_ok_and(|said| said.starts_with("HTTP/1.1 502")) {}
    let daemon = background.daemon();
    assert_ne!(daemon["pid"].as_u64().unwrap(), killed);
    assert_eq!(daemon["runs"].as_array().unwrap().len(), 1, "{daemon}");
    // A daemon that was told to end stays ended.
    assert_eq!(background.stop(&["--force"]).status.code(), Some(0));
    while !background.is_gone() {}
    running.end();
    assert!(background.is_gone());
}

#[test]
fn a_daemon_that_nobody_uses_ends() {
    let place = place("127.0.0.1:1");
    let output = unforget(&place).args(["--json", "serve", "--until-unused", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("nobody uses"), "{}", text(&output.stderr));
}

#[test]
fn a_daemon_with_tls_is_found() {
    let place = place("127.0.0.1:0");
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../unforget-server/tests/data");
    let mut command = unforget(&place);
    command.args(["--json", "serve", "--tls-cert"]).arg(data.join("tls-one.pem"));
    command.arg("--tls-key").arg(data.join("tls-one.key"));
    let mut daemon = Killed(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(daemon.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("https://"), "{line}");
    let beside = std::fs::read(place.path("store.sqlite.daemon")).unwrap();
    let beside: Value = serde_json::from_slice(&beside).unwrap();
    let output = unforget(&place).args(["run", "--"]).args(SAYS).stdin(Stdio::null()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(text(&output.stdout).trim(), beside["url"].as_str().unwrap());
    assert!(text(&output.stderr).contains("token"), "it needs one there: {}", text(&output.stderr));
}

#[test]
fn a_program_that_is_not_there_starts_no_daemon() {
    let place = Place::new();
    for name in ["nosuchprogram", "./nosuch/program"] {
        let failed = unforget(&place).args(["run", "--", name]).output().unwrap();
        assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
        assert!(text(&failed.stderr).contains(name), "{}", text(&failed.stderr));
        assert!(!place.path("store.sqlite").exists(), "nothing was started for it");
    }
}
