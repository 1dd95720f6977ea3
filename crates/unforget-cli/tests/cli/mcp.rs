//! `unforget mcp` as clients run it: beside imports, beside an owner of the database, with a narrowed scope.
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

#[cfg(unix)]
use crate::support::daemon::Daemon;
#[cfg(unix)]
use crate::support::models;
use crate::support::{CHAT, PI, PI_KEY};
use serde_json::{Value, json};
use unforget_engine::Engine;
#[cfg(unix)]
use unforget_testkit::provider::{Provider, openai};

/// A client that writes its protocol lines by hand.
struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    calls: u64,
}

fn command(db: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("unforget"));
    command.arg("mcp").args(arguments).arg("--db").arg(db).env("XDG_CONFIG_HOME", db.parent().unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Client {
    fn begin(db: &Path, arguments: &[&str]) -> Self {
        let mut child = command(db, arguments).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut client = Self { child, input, output, calls: 0 };
        let hello = json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
        assert_eq!(client.call("initialize", &hello)["serverInfo"]["name"], "unforget");
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn call(&mut self, method: &str, params: &Value) -> Value {
        self.calls += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.calls, "method": method, "params": params }));
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let mut answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], self.calls, "{answer}");
        answer["result"].take()
    }

    /// Calls a tool and returns its text.
    fn tool(&mut self, name: &str, arguments: &Value) -> String {
        let result = self.call("tools/call", &json!({ "name": name, "arguments": arguments }));
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// Disconnects: the server ends without error and has written nothing outside the protocol.
    fn end(self) {
        drop(self.input);
        let output = self.child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(),
            "{output:?}"
        );
    }
}

#[test]
fn what_is_imported_while_a_client_is_there_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("unforget.db");
    drop(Engine::open(&db).unwrap());
    let (mut one, mut two) = (Client::begin(&db, &[]), Client::begin(&db, &[]));
    assert!(one.tool("search", &json!({ "query": "heron" })).contains("Searched 0 of 0 entries"));
    // Neither client owns the database.
    let engine = Engine::open(&db).unwrap();
    engine.import_reader(PI.as_bytes(), "pi").unwrap();
    for client in [&mut one, &mut two] {
        let found = client.tool("search", &json!({ "query": "where does the heron nest" }));
        assert!(found.contains("nest-7741") && found.contains(PI_KEY), "{found}");
    }
    // Another client may start while another process owns it.
    let mut three = Client::begin(&db, &[]);
    assert!(three.tool("grep", &json!({ "pattern": "nest-[0-9]+" })).contains("nest-7741"));
    // Without a model, the answer is what the entries say.
    let answer = three.tool("answer", &json!({ "question": "where does the heron nest?" }));
    let stated =
        answer.contains("No model was asked") && answer.contains("nest-7741") && answer.contains(PI_KEY);
    assert!(stated, "{answer}");
    let nothing = three.tool("answer", &json!({ "question": "zeppelin quota?" }));
    assert!(nothing.starts_with("Nothing found"), "{nothing}");
    [one, two, three].into_iter().for_each(Client::end);
}

#[test]
fn a_client_that_is_confined_sees_one_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("unforget.db");
    let engine = Engine::open(&db).unwrap();
    engine.import_reader(PI.as_bytes(), "pi").unwrap();
    engine.import_reader(CHAT.as_bytes(), "chat").unwrap();
    drop(engine);
    let mut client = Client::begin(&db, &["--conversation", PI_KEY]);
    assert!(!client.tool("search", &json!({ "query": "capital of the otters" })).contains("Riverbend"));
    assert!(client.tool("describe", &json!({})).contains("of 1 conversation,"));
    client.end();
    let output = command(&db, &["--conversation", "nobody"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(output.stdout.is_empty() && String::from_utf8_lossy(&output.stderr).contains("nobody"));
}

#[test]
fn a_client_that_never_begins_is_no_failure() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("unforget.db");
    drop(Engine::open(&db).unwrap());
    let output = command(&db, &[]).stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{output:?}");
}

/// Codex gives its servers no environment: the database that `UNFORGET_DB` names is not looked for.
#[test]
fn without_its_database_it_says_which_one_and_how_to_name_another() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("none").join("unforget.db");
    let output = command(&db, &[]).stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{said}");
    for want in [db.to_str().unwrap(), "that --db names", r#"["mcp", "--db", "PATH"]"#, "unforget import"] {
        assert!(said.contains(want), "{want}: {said}");
    }
    assert!(output.stdout.is_empty() && !db.parent().unwrap().exists(), "nothing is made");
    let output = Command::new(assert_cmd::cargo::cargo_bin!("unforget"))
        .arg("mcp")
        .env_clear()
        .env("HOME", folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("unless --db, UNFORGET_DB or the settings file names another"), "{said}");
}

/// A client beside a daemon uses the daemon's models, and content outside the client's scope never reaches a model.
#[cfg(unix)]
#[test]
fn a_question_goes_to_the_daemon_that_owns_the_database() {
    let provider = Provider::always(openai::text("It was the loop [1]."));
    let place = models::place(&[&provider.address()]);
    place.write("chat.json", CHAT);
    place.run(&["import", "chat.json", "-q"], 0);
    // The client's own settings name a model, but the daemon's model is asked.
    std::fs::create_dir_all(place.path("unforget")).unwrap();
    let nobody =
        "[[summariser.models]]\nkind = \"openai\"\nmodel = \"m\"\nbase = \"http://127.0.0.1:9/v1\"\n";
    place.write("unforget/config.toml", nobody);
    let daemon = Daemon::start(&place);
    let (db, first) = (place.path("store.sqlite"), format!("e:{}:8", models::KEY));
    let mut client = Client::begin(&db, &[]);
    let told =
        client.tool("answer", &json!({ "question": "what was wrong with part_7", "from": [first.as_str()] }));
    assert!(told.starts_with("It was the loop [1].") && told.contains(&format!("[1] {first}")), "{told}");
    let told = client.tool("answer", &json!({ "question": "what?", "from": ["e:pi:nosuch:1"] }));
    assert!(told.contains("nosuch") && told.contains("Next:"), "{told}");
    client.end();
    assert_eq!(provider.heard().len(), 1);
    let mut confined = Client::begin(&db, &["--conversation", models::KEY]);
    let told = confined.tool("answer", &json!({ "question": "the capital of the otters, and the parser" }));
    assert!(told.starts_with("It was the loop"), "{told}");
    confined.end();
    let heard = provider.heard();
    assert_eq!(heard.len(), 2);
    assert!(!String::from_utf8_lossy(&heard[1].body).contains("Riverbend"), "out of its scope");
    daemon.end();
}
