//! `unforget engine`, as hosts run it: over stdio and over a socket.
#![cfg(unix)]
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value, json};

fn engine(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("unforget"));
    command.arg("engine").args(arguments).arg("--db").arg(folder.join("db.sqlite"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn call(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string() + "\n"
}

fn turn(lane: &str, key: u64) -> Value {
    let message = json!({ "role": "user", "content": format!("turn {key} of {lane}") });
    json!({ "lane": lane, "form": "pi", "turn": key.to_string(), "messages": [{ "message": message }] })
}

/// Gives the engine its whole input and waits for its end.
fn run(folder: &Path, input: &str) -> (Vec<Value>, Output) {
    let mut child = engine(folder, &["--stdio"]).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let answers = String::from_utf8(output.stdout.clone()).unwrap();
    (answers.lines().map(|line| serde_json::from_str(line).unwrap()).collect(), output)
}

#[test]
fn what_is_told_over_stdio_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let input: String = (0..20).map(|key| call(key, "commitTurn", &turn("main", key))).collect();
    let (answers, output) = run(folder.path(), &input);
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    let ids: Vec<_> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..20).collect::<Vec<_>>(), "the queue was finished, in order");
    assert!(answers.iter().all(|answer| answer["result"]["status"] == "committed"));
    let input = call(1, "commitTurn", &turn("main", 7))
        + &call(2, "assemble", &json!({ "lane": "main", "budget": 8_000, "dialect": "pi" }));
    let (answers, _) = run(folder.path(), &input);
    assert_eq!(answers[0]["result"]["status"], "duplicate");
    let messages = answers[1]["result"]["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 20);
    assert_eq!(messages[19]["content"], "turn 19 of main");
}

#[test]
fn a_killed_engine_lost_nothing_that_it_had_answered() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = engine(folder.path(), &["--stdio"]).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    for key in 0..5 {
        input.write_all(call(key, "beginTurn", &turn("main", key)).as_bytes()).unwrap();
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.contains(r#""added":1"#), "{line}");
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let (answers, _) = run(folder.path(), &call(1, "status", &json!({ "lane": "main", "form": "pi" })));
    assert_eq!(answers[0]["result"]["path"], 5);
}

#[test]
fn a_transcript_is_taken_from_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session.jsonl");
    let lines = [
        r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00Z","cwd":"/"}"#,
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}"#,
        r#"{"type":"message","id":"b","parentId":"a","message":{"role":"user","content":"two"}}"#,
    ];
    std::fs::write(&path, lines.join("\n")).unwrap();
    let catch_up = json!({ "lane": "main", "form": "pi", "file": path });
    let (answers, _) = run(folder.path(), &(call(1, "catchUp", &catch_up) + &call(2, "catchUp", &catch_up)));
    assert_eq!(
        answers[0]["result"]["file"],
        json!({ "records": 3, "delivered": 2, "offPath": 0, "beforeReset": 0, "other": 1 })
    );
    assert_eq!((&answers[0]["result"]["added"], &answers[1]["result"]["added"]), (&json!(2), &json!(0)));
}

/// An engine on a socket, ended together with its test.
struct Serving(Child);

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut child = engine(folder, &["--socket", folder.join("s").to_str().unwrap()]).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("serving on"), "{line}");
        Self(child)
    }
}

struct Host(BufReader<UnixStream>);

impl Host {
    fn connect(folder: &Path) -> Self {
        Self(BufReader::new(UnixStream::connect(folder.join("s")).unwrap()))
    }

    fn call(&mut self, id: u64, method: &str, params: &Value) -> Value {
        self.0.get_mut().write_all(call(id, method, params).as_bytes()).unwrap();
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

#[test]
fn a_socket_serves_many_hosts_and_is_not_stolen() {
    let folder = tempfile::tempdir().unwrap();
    let mut serving = Serving::start(folder.path());
    let mode = std::fs::metadata(folder.path().join("s")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let (mut one, mut two) = (Host::connect(folder.path()), Host::connect(folder.path()));
    assert_eq!(one.call(1, "commitTurn", &turn("main", 1))["result"]["status"], "committed");
    assert_eq!(two.call(1, "commitTurn", &turn("main", 1))["result"]["status"], "duplicate");
    let second =
        engine(folder.path(), &["--socket", folder.path().join("s").to_str().unwrap()]).output().unwrap();
    assert!(!second.status.success(), "the database and the socket are taken");
    assert_eq!(
        one.call(2, "status", &json!({ "lane": "main" }))["result"]["path"],
        1,
        "and nothing happened to them"
    );
    drop(one);
    assert_eq!(two.call(2, "shutdown", &json!({}))["result"]["done"], true);
    assert!(serving.0.wait().unwrap().success());
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_dead_engines_socket_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    drop(Serving::start(folder.path()));
    assert!(folder.path().join("s").exists(), "it was killed");
    let _serving = Serving::start(folder.path());
    assert_eq!(Host::connect(folder.path()).call(1, "status", &json!({}))["result"]["protocol"], 1);
}

#[test]
fn wrong_use_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let neither = engine(folder.path(), &[]).output().unwrap();
    assert_eq!(neither.status.code(), Some(2));
    let file = folder.path().join("file");
    std::fs::write(&file, "mine").unwrap();
    let taken = engine(folder.path(), &["--socket", file.to_str().unwrap()]).output().unwrap();
    assert!(!taken.status.success() && std::fs::read(&file).unwrap() == b"mine");
    let schema = engine(folder.path(), &["--schema"]).output().unwrap();
    let schema: Value = serde_json::from_slice(&schema.stdout).unwrap();
    assert_eq!(schema["protocol"], 1);
}
