//! The daemon is killed while clients talk through it: they retry as SDKs do, and every turn is stored once.

#![cfg(target_os = "linux")]
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Host, LaneKey};
use unforget_testkit::Port;
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Format;

const CLIENTS: usize = 8;

/// Kills: `UNFORGET_KILLS`, or few enough for every build.
fn kills() -> u64 {
    std::env::var("UNFORGET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(8)
}

/// Starts the daemon and waits until it listens.
fn daemon(db: &Path, port: u16, upstream: &str) -> Child {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("unforget"))
        .arg("--db")
        .arg(db)
        .args(["--json", "serve", "--upstream", upstream, "--window", "*=8k", "--listen"])
        .arg(format!("127.0.0.1:{port}"))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("127.0.0.1"), "{line:?}: {:?}", child.wait());
    child
}

/// A client's final state.
struct Had {
    name: String,
    messages: Vec<Value>,
    /// Beginnings of answers that it received but did not keep.
    partial: Vec<String>,
    retries: usize,
}

/// The received text of a stream, and whether the stream was complete.
fn text(bytes: &[u8]) -> (String, bool) {
    let stream = String::from_utf8_lossy(bytes);
    let events =
        stream.split_inclusive("\n\n").filter_map(|event| event.strip_suffix("\n\n")?.strip_prefix("data: "));
    let read = |event: &str| serde_json::from_str::<Value>(event).ok();
    let said = events
        .filter_map(read)
        .map(|event| event["choices"][0]["delta"]["content"].as_str().unwrap_or_default().to_owned());
    (said.collect(), stream.contains("data: [DONE]\n\n"))
}

async fn client(name: String, url: String, ending: Arc<AtomicBool>) -> Had {
    unforget_gateway::install_crypto();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut had = Had { name: name.clone(), messages: Vec::new(), partial: Vec::new(), retries: 0 };
    let mut turn = 0;
    while !ending.load(Ordering::Relaxed) {
        turn += 1;
        had.messages.push(json!({"role": "user", "content": format!("Question {turn} of {name}.")}));
        let body =
            json!({"model": "m", "stream": true, "max_completion_tokens": 100, "messages": had.messages});
        for retry in 0.. {
            let request = http
                .post(format!("{url}/v1/chat/completions"))
                .header("session-id", &name)
                .header("x-stainless-retry-count", retry)
                .json(&body);
            let mut bytes = Vec::new();
            if let Ok(mut response) = request.send().await {
                let status = response.status();
                while let Ok(Some(chunk)) = response.chunk().await {
                    bytes.extend_from_slice(&chunk);
                }
                assert!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&bytes));
            }
            let (said, is_whole) = text(&bytes);
            if is_whole {
                had.messages.push(json!({"role": "assistant", "content": said}));
                break;
            }
            had.partial.push(said);
            had.retries += 1;
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    had
}

#[tokio::test(flavor = "multi_thread")]
async fn f044_a_killed_daemon_loses_no_turn() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.sqlite");
    let script: Script = Arc::new(|_, number| Say {
        pause: Duration::from_micros(500),
        ..Say::text(format!("Answer {number} says much. ").repeat(12))
    });
    let upstream = Upstream::start(8_000, script).await;
    // No other process gets the port between two daemons.
    let held = Port::hold();
    let port = held.address().port();
    let (url, ending) = (format!("http://127.0.0.1:{port}"), Arc::new(AtomicBool::new(false)));
    let mut child = daemon(&db, port, &upstream.url());
    let clients: Vec<_> = (0..CLIENTS)
        .map(|n| tokio::spawn(client(format!("client-{n}"), url.clone(), Arc::clone(&ending))))
        .collect();
    for n in 0..kills() {
        // The same moments in every run, from the very start to well after it.
        let until = Instant::now() + Duration::from_millis(n * 7919 % 400);
        tokio::time::sleep_until(until.into()).await;
        child.kill().unwrap();
        child.wait().unwrap();
        child = daemon(&db, port, &upstream.url());
    }
    ending.store(true, Ordering::Relaxed);
    let mut had = Vec::new();
    for client in clients {
        had.push(client.await.unwrap());
    }
    // Killed once more, so that the last run ends like the others.
    child.kill().unwrap();
    child.wait().unwrap();
    let mut last = daemon(&db, port, &upstream.url());
    last.kill().unwrap();
    last.wait().unwrap();
    let came = upstream.came().clone();
    assert!(came.iter().all(|came| came.status == 200 && came.violations.is_empty()));
    let host = Host::new(Engine::open(&db).unwrap(), || Timestamp(0));
    let store = host.engine().store();
    let exported: String = unforget_store::read_all(|page| store.conversations(page))
        .unwrap()
        .iter()
        .map(|conversation| {
            let mut text = Vec::new();
            host.engine().export(conversation.id, None, &mut text).unwrap();
            String::from_utf8(text).unwrap()
        })
        .collect();
    let (mut turns, mut retries) = (0, 0);
    for had in &had {
        let lane = LaneKey(format!("gateway/default/{}/side", had.name));
        let path = host.path(&lane, Format::OpenAiChat).unwrap();
        let path: Vec<Value> = path.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
        let said = |message: &Value| (message["role"].clone(), message["content"].clone());
        let (path, sent): (Vec<_>, Vec<_>) =
            (path.iter().map(said).collect(), had.messages.iter().map(said).collect());
        let differs = path.iter().zip(&sent).position(|(one, other)| one != other);
        assert_eq!((differs, path.len()), (None, sent.len()), "{}", had.name);
        for partial in &had.partial {
            assert!(exported.contains(partial.as_str()), "{}: delivered and not stored: {partial}", had.name);
        }
        turns += sent.len() / 2;
        retries += had.retries;
    }
    println!("{} kills, {turns} turns, {retries} retries, {} calls upstream", kills(), came.len());
    assert!(turns >= CLIENTS);
    let verified = host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}
