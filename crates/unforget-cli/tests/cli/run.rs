//! `unforget run`: the address of its gateway, its users, and the daemon that it may use instead.
#![cfg(target_os = "linux")]
use crate::support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
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

fn asked(at: SocketAddr) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(at)?;
    write!(stream, "GET /v1/models HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")?;
    let mut said = String::new();
    stream.read_to_string(&mut said)?;
    Ok(said)
}

#[test]
fn its_own_gateway_is_for_the_command_alone() {
    // Nobody listens at the configured port.
    let place = place("0.0.0.0:1");
    let mut command = unforget(&place);
    command.args(["run", "--"]).args(SAYS).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = Killed(command.spawn().unwrap());
    let mut line = String::new();
    BufReader::new(child.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let at: SocketAddr = line.trim().strip_prefix("http://").unwrap().parse().unwrap();
    assert!(at.ip().is_loopback(), "{at}");
    // A daemon that listens on all addresses listens on this one too.
    let elsewhere = SocketAddr::from(([127, 0, 0, 2], at.port()));
    assert!(TcpStream::connect(elsewhere).is_err(), "{elsewhere}");
    let said = asked(at).unwrap();
    assert!(said.starts_with("HTTP/1.1 502"), "no token is asked for: {said}");
    drop(child.0.stdin.take());
    assert_eq!(child.0.wait().unwrap().code(), Some(0));
    let failed = unforget(&place).args(["run", "--listen", "0.0.0.0:0", "--"]).args(SAYS).output().unwrap();
    assert_eq!(failed.status.code(), Some(2), "{}", text(&failed.stderr));
    assert!(text(&failed.stderr).contains("127.0.0.1"), "{}", text(&failed.stderr));
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
