//! Several daemons on one PostgreSQL database, behind a balancer: the same prompts as with a file, and nothing lost when they
//! are killed. Skipped where PostgreSQL is not installed.
#![cfg(target_os = "linux")]
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Host, LaneKey};
use unforget_store_pg::{PgOptions, PgPlace, PgStore};
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_testkit::{Port, Postgres};
use unforget_wire::Format;

use crate::support::equal_bodies::{compare, within_a_minute};
use crate::support::{Place, binary, text};

/// A daemon of a machine of its own: it has its own home folder, and keeps its port over restarts.
pub(crate) struct Node {
    home: TempDir,
    port: Port,
    pub(crate) db: String,
    upstream: String,
    child: Option<Child>,
}

impl Node {
    /// * `db` - a file, or the address of a server.
    pub(crate) fn new(db: &str, upstream: &str) -> Self {
        let (home, port) = (tempfile::tempdir().unwrap(), Port::hold());
        let mut node = Self { home, port, db: db.to_owned(), upstream: upstream.to_owned(), child: None };
        node.start();
        node
    }

    pub(crate) fn start(&mut self) {
        let mut command = Command::new(binary());
        command.current_dir(self.home.path()).env_clear();
        command.env("HOME", self.home.path()).env("UNFORGET_DB", &self.db);
        command.args(["--json", "serve", "--window", "*=8k", "--upstream", &self.upstream]);
        command.args(["--listen", &self.address().to_string()]);
        let log = std::fs::File::options().create(true).append(true).open(self.home.path().join("log"));
        let mut child = command.stdout(Stdio::piped()).stderr(log.unwrap()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.contains("127.0.0.1"), "{line:?}: {}", self.log());
        self.child = Some(child);
    }

    fn address(&self) -> SocketAddr {
        self.port.address()
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("log")).unwrap_or_default()
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().and_then(|()| child.wait()).ok();
        }
    }
}

/// Gives each connection to the next node that takes it, byte by byte. Returns its address.
async fn balance(nodes: Vec<SocketAddr>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for turn in 0.. {
            let (mut client, _) = listener.accept().await.unwrap();
            let nodes = nodes.clone();
            tokio::spawn(async move {
                for at in 0..nodes.len() {
                    if let Ok(mut node) = TcpStream::connect(nodes[(turn + at) % nodes.len()]).await {
                        tokio::io::copy_bidirectional(&mut client, &mut node).await.ok();
                        return;
                    }
                }
            });
        }
    });
    format!("http://{address}")
}

/// A client that opens a connection for each request.
fn http() -> reqwest::Client {
    unforget_gateway::install_crypto();
    reqwest::Client::builder().no_proxy().pool_max_idle_per_host(0).build().unwrap()
}

/// A database on a server with tables of ours.
fn database(place: &Place, server: &Postgres) -> String {
    let address = server.database();
    place.write("chat.json", crate::support::CHAT);
    place.run(&["import", "chat.json", "-q", "--db", &address], 0);
    address
}

fn engine(address: &str) -> Engine {
    let place: PgPlace = address.parse().unwrap();
    let store = Arc::new(PgStore::open(&place, PgOptions::default()).unwrap());
    Engine::on(Arc::clone(&store) as Arc<dyn unforget_store::Store>).with_peers(store)
}

/// Long answers, so that prompts have to leave something out soon.
pub(crate) fn script() -> Script {
    Arc::new(|request, _| {
        let turn = request["messages"].as_array().map_or(0, Vec::len);
        Say::text(
            format!("Answer to message {turn}: the otters keep their stones under the left arm. ").repeat(30),
        )
    })
}

/// A conversation with a client of one API.
#[derive(Clone, Copy)]
pub(crate) enum Talk {
    Chat,
    Anthropic,
}

impl Talk {
    const fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Anthropic => "/v1/messages",
        }
    }

    fn body(self, messages: &[Value]) -> Value {
        match self {
            Self::Chat => json!({"model": "m", "max_completion_tokens": 600, "messages": messages}),
            Self::Anthropic => json!({"model": "m", "max_tokens": 600, "messages": messages,
                "system": "Answer in whole sentences."}),
        }
    }

    fn answer(self, answered: &Value) -> Value {
        match self {
            Self::Chat => answered["choices"][0]["message"].clone(),
            Self::Anthropic => json!({"role": "assistant", "content": answered["content"]}),
        }
    }
}

/// Holds a conversation of so many turns, each of which must succeed at the first try, behind a call of `before`.
pub(crate) async fn hold(
    url: &str,
    talk: Talk,
    turns: usize,
    mut before: impl AsyncFnMut(usize),
) -> Vec<Value> {
    let http = http();
    let mut messages = Vec::new();
    for turn in 0..turns {
        before(turn).await;
        let question = format!("Question {turn}: how do otters keep their stones, number {turn}?");
        messages.push(json!({"role": "user", "content": question}));
        let request = http.post(format!("{url}{}", talk.path())).header("session-id", "otters");
        let answer = request.json(&talk.body(&messages)).send().await.unwrap();
        let status = answer.status();
        let body = answer.text().await.unwrap();
        assert!(status.is_success(), "turn {turn}: {status} {body}");
        messages.push(talk.answer(&serde_json::from_str(&body).unwrap()));
    }
    messages
}

/// Waits until a daemon is done with all calls: one that has its database alone stores an answer behind its last byte.
pub(crate) async fn is_done(url: &str) {
    let running = async || {
        let ready = http().get(format!("{url}/readyz")).send().await.unwrap().text().await.unwrap();
        serde_json::from_str::<Value>(&ready).unwrap()["running"].as_u64()
    };
    while running().await != Some(0) {
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_daemon_on_a_server_serves_as_on_a_file() {
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = database(&place, &server);
    let upstream = Upstream::start(8_000, script()).await;
    let node = Node::new(&address, &upstream.url());
    let said = hold(&node.url(), Talk::Chat, 4, async |_| ()).await;
    // Another process finds what was said.
    let found = text(&place.run(&["search", "stones", "--json", "--db", &address], 0).stdout);
    assert!(found.contains("Question 3"), "{found}");
    let get = async |path: &str| {
        let answer = http().get(format!("{}{path}", node.url())).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (status, listed) = get("/api/v1/conversations").await;
    assert!(status == 200 && listed.contains("otters"), "{status} {listed}");
    let (status, page) = get("/").await;
    assert!(status == 200 && page.contains("<html"), "{status} {page}");
    let (status, ready) = get("/readyz").await;
    assert!(status == 200, "{status} {ready}");
    // The command line of its machine finds it.
    let told = Command::new(binary())
        .env_clear()
        .env("HOME", node.home.path())
        .args(["status", "--json", "--db", &address])
        .output()
        .unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    assert_eq!(told["daemon"]["pid"], node.child.as_ref().unwrap().id(), "{told}");
    let store = engine(&address);
    let problems = store.verify(&mut |_, _| {}).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(said.len(), 8);
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_that_take_turns_send_what_a_daemon_on_a_file_sends() {
    for talk in [Talk::Chat, Talk::Anthropic] {
        within_a_minute(async || take_turns(talk).await).await;
    }
}

async fn take_turns(talk: Talk) -> Result<(), String> {
    let Some(server) = Postgres::new() else { return Ok(()) };
    let (place, turns) = (Place::new(), 24);
    let alone = Upstream::start(8_000, script()).await;
    let daemon = Node::new(place.path("alone.sqlite").to_str().unwrap(), &alone.url());
    let want_said = hold(&daemon.url(), talk, turns, async |_| is_done(&daemon.url()).await).await;
    let address = database(&place, &server);
    let shared = Upstream::start(8_000, script()).await;
    let mut nodes = [Node::new(&address, &shared.url()), Node::new(&address, &shared.url())];
    let url = balance(nodes.iter().map(Node::address).collect()).await;
    let said = hold(&url, talk, turns, async |turn| {
        // The node that served the last call: the next one is the other's.
        if turn % 3 == 2 {
            let node = &mut nodes[(turn + 1) % 2];
            node.kill();
            node.start();
        }
    })
    .await;
    assert_eq!(said, want_said);
    compare(&alone.came(), &shared.came())
}

/// A client that asks on until it is told to end, and retries as SDKs do.
struct Had {
    name: String,
    messages: Vec<Value>,
    retries: usize,
}

async fn client(name: String, url: String, ending: Arc<AtomicBool>, asked: Arc<AtomicUsize>) -> Had {
    let http = http();
    let mut had = Had { name: name.clone(), messages: Vec::new(), retries: 0 };
    let mut turn = 0;
    while !ending.load(Ordering::Relaxed) {
        turn += 1;
        had.messages.push(json!({"role": "user", "content": format!("Question {turn} of {name}.")}));
        let body =
            json!({"model": "m", "stream": true, "max_completion_tokens": 300, "messages": had.messages});
        loop {
            asked.fetch_add(1, Ordering::Relaxed);
            let request = http.post(format!("{url}/v1/chat/completions")).header("session-id", &name);
            let mut bytes = Vec::new();
            if let Ok(mut response) = request.json(&body).send().await {
                let status = response.status();
                while let Ok(Some(chunk)) = response.chunk().await {
                    bytes.extend_from_slice(&chunk);
                }
                let is_healed = status.is_success() || status.is_server_error();
                assert!(is_healed, "{status}: {}", String::from_utf8_lossy(&bytes));
            }
            if let Some(said) = streamed(&bytes) {
                had.messages.push(json!({"role": "assistant", "content": said}));
                break;
            }
            had.retries += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    had
}

/// The text of a complete stream.
fn streamed(bytes: &[u8]) -> Option<String> {
    let stream = String::from_utf8_lossy(bytes);
    let events =
        stream.split_inclusive("\n\n").filter_map(|event| event.strip_suffix("\n\n")?.strip_prefix("data: "));
    let read = |event: &str| serde_json::from_str::<Value>(event).ok();
    let words = events
        .filter_map(read)
        .map(|event| event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned());
    let words: String = words.collect();
    stream.contains("data: [DONE]\n\n").then_some(words)
}

fn kills() -> usize {
    std::env::var("UNFORGET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(6)
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_nodes_lose_no_turn_and_store_none_twice() {
    const CLIENTS: usize = 6;
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = database(&place, &server);
    let script: Script = Arc::new(|_, number| Say {
        pause: Duration::from_micros(500),
        ..Say::text(format!("Answer {number} says much. ").repeat(12))
    });
    let upstream = Upstream::start(8_000, script).await;
    let mut nodes = [Node::new(&address, &upstream.url()), Node::new(&address, &upstream.url())];
    let url = balance(nodes.iter().map(Node::address).collect()).await;
    let (ending, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| {
            tokio::spawn(client(format!("client-{n}"), url.clone(), Arc::clone(&ending), Arc::clone(&asked)))
        })
        .collect();
    for kill in 0..kills() {
        // After every few calls, in the middle of others.
        let until = asked.load(Ordering::Relaxed) + 2 * CLIENTS + kill % 5;
        while asked.load(Ordering::Relaxed) < until {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let node = &mut nodes[kill % 2];
        node.kill();
        node.start();
    }
    ending.store(true, Ordering::Relaxed);
    let mut all = Vec::new();
    for client in clients {
        all.push(client.await.unwrap());
    }
    // What killed nodes left in their spools is stored by their next starts.
    for node in &mut nodes {
        node.kill();
        node.start();
        node.kill();
    }
    let came = upstream.came().clone();
    assert!(came.iter().all(|came| came.status == 200 && came.violations.is_empty()));
    check(&engine(&address), &all);
    let retries: usize = all.iter().map(|had| had.retries).sum();
    println!("{} kills, {} calls upstream, {retries} retries", kills(), came.len());
}

/// Each client's conversation is stored as the client has it, each question once.
fn check(engine: &Engine, all: &[Had]) {
    let host = Host::new(engine.clone(), || Timestamp(0));
    for had in all {
        let lane = LaneKey(format!("gateway/default/{}/side", had.name));
        let path = host.path(&lane, Format::OpenAiChat).unwrap();
        let path: Vec<Value> = path.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let said = |message: &Value| (message["role"].clone(), message["content"].clone());
        let (path, sent): (Vec<_>, Vec<_>) =
            (path.iter().map(said).collect(), had.messages.iter().map(said).collect());
        let differs = path.iter().zip(&sent).position(|(one, other)| one != other);
        assert_eq!((differs, path.len()), (None, sent.len()), "{}", had.name);
        let journal = engine.resolve(&format!("gateway/default/{}/side", had.name)).unwrap().conversation;
        let mut exported = Vec::new();
        engine.export(journal.id, None, &mut exported).unwrap();
        let exported = text(&exported);
        for question in sent.iter().filter(|(role, _)| role == "user") {
            let question = question.1.as_str().unwrap();
            assert_eq!(exported.matches(question).count(), 1, "{question} is stored once");
        }
    }
    let verified = engine.verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    assert!(all.iter().map(|had| had.messages.len()).sum::<usize>() > 2 * all.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_of_a_client_is_known_to_all_nodes() {
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = database(&place, &server);
    let script: Script = Arc::new(|_, number| Say {
        pause: Duration::from_millis(2),
        ..Say::text(format!("Answer {number}. ").repeat(40))
    });
    let upstream = Upstream::start(8_000, script).await;
    let nodes = [Node::new(&address, &upstream.url()), Node::new(&address, &upstream.url())];
    let ask = async |node: usize, question: &str| {
        let messages = json!([{"role": "user", "content": question}]);
        let request = http().post(format!("{}/v1/chat/completions", nodes[node].url()));
        let request = request.header("idempotency-key", "a key of theirs");
        let body = json!({"model": "m", "stream": true, "max_completion_tokens": 300, "messages": messages});
        let answer = request.json(&body).send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    };
    let (one, other) = tokio::join!(ask(0, "Who is it?"), ask(1, "Who is it?"));
    assert_eq!(one, other, "one call, asked of two nodes at once");
    assert_eq!(one.0, 200);
    assert_eq!(ask(0, "Who is it?").await, one, "and again");
    assert_eq!(ask(1, "Who is it?").await, one);
    assert_eq!(upstream.came().len(), 1);
    assert_eq!(ask(1, "Who was it?").await.0, 409, "the key belongs to another question");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_by_one_node_is_an_event_of_the_other() {
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = database(&place, &server);
    let upstream = Upstream::start(8_000, script()).await;
    let nodes = [Node::new(&address, &upstream.url()), Node::new(&address, &upstream.url())];
    let mut events = http().get(format!("{}/api/v1/events", nodes[1].url())).send().await.unwrap();
    hold(&nodes[0].url(), Talk::Chat, 1, async |_| ()).await;
    let mut heard = String::new();
    while !(heard.contains("event: entries") && heard.contains("otters")) {
        let chunk = tokio::time::timeout(Duration::from_secs(30), events.chunk()).await;
        heard.push_str(&text(
            &chunk.unwrap_or_else(|_| panic!("nothing more than {heard}")).unwrap().unwrap(),
        ));
    }
}

/// One turn by each of two engines in turn, each started for its turn alone.
fn turns(db: &str, home: &Path, count: u64) -> Vec<Value> {
    let call = |id: u64, method: &str, params: Value| {
        json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string() + "\n"
    };
    let mut prompts = Vec::new();
    for turn in 0..count {
        let words = format!("turn {turn}: the otters keep their stones. ").repeat(60);
        let said = json!({"role": "user", "content": words, "timestamp": turn});
        let turn =
            json!({"lane": "main", "form": "pi", "turn": turn.to_string(), "messages": [{"message": said}]});
        let ask = json!({"lane": "main", "budget": 4_000, "dialect": "pi"});
        let mut command = Command::new(binary());
        command.env_clear().env("HOME", home).args(["engine", "--stdio", "--db", db]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let input = call(1, "commitTurn", turn) + &call(2, "assemble", ask);
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
        let output = text(&child.wait_with_output().unwrap().stdout);
        let answers: Vec<Value> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(answers[0]["result"]["status"], "committed", "{output}");
        prompts.push(answers[1]["result"]["messages"].clone());
    }
    prompts
}

#[test]
fn engines_that_take_turns_make_the_prompts_of_a_file() {
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = database(&place, &server);
    let file = place.path("engine.sqlite");
    let want = turns(file.to_str().unwrap(), &place.path(""), 12);
    assert_eq!(turns(&address, &place.path(""), 12), want);
    assert!(want[11].to_string().contains("history-summary"), "some are left out");
}

#[test]
fn run_starts_a_node_of_its_machine_that_stop_ends() {
    let Some(server) = Postgres::new() else { return };
    let place = Place::new();
    let address = server.database();
    let run = place.run(&["run", "--db", &address, "--", "sh", "-c", "echo $OPENAI_BASE_URL"], 0);
    assert!(text(&run.stdout).starts_with("http://127.0.0.1:"), "{run:?}");
    let again = place.run(&["run", "--db", &address, "--", "sh", "-c", "echo $OPENAI_BASE_URL"], 0);
    assert_eq!(text(&again.stdout), text(&run.stdout), "the node that runs");
    let status = place.json(&["status", "--db", &address], 0);
    let pid = status["daemon"]["pid"].as_u64().unwrap();
    let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!text(&command).contains("only%20for"), "no password where everyone can read it");
    assert_eq!(place.json(&["stop", "--db", &address], 0)["stopped"]["pid"], pid);
    assert!(!text(&place.run(&["logs", "--db", &address], 0).stdout).contains("only%20for"));
}
