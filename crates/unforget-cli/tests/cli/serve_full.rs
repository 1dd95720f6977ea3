//! The daemon on a full disk: the client is told in its dialect, acknowledged data stays, and with room it continues.

#![cfg(target_os = "linux")]
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Host, LaneKey};
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Format;

/// A small file system that disappears with the value.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`, with a message, where mounting is not permitted.
    fn mount(folder: &'a Path) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", "size=4m", "tmpfs"], folder);
        if !mounted {
            println!("skipped: mounting a tmpfs needs root");
        }
        mounted.then_some(Self(folder))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg("-l").arg(self.0).output().ok();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}

struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

fn daemon(db: &Path, upstream: &str) -> (Killed, String) {
    let mut child = Command::new(assert_cmd::cargo::cargo_bin!("unforget"))
        .arg("--db")
        .arg(db)
        .args(["--json", "serve", "--upstream", upstream, "--listen", "127.0.0.1:0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    (Killed(child), told["url"].as_str().unwrap().to_owned())
}

/// Text that compresses badly.
fn words(turn: usize) -> String {
    let digest = |n: usize| unforget_core::digest::Digest::of(format!("{turn} {n}").as_bytes()).hex();
    (0..300).map(digest).collect::<Vec<_>>().join(" ")
}

#[tokio::test(flavor = "multi_thread")]
async fn f117_a_full_disk_is_told_and_nothing_acknowledged_is_lost() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("small");
    let Some(disk) = SmallDisk::mount(&place) else { return };
    let db = place.join("a.sqlite");
    let script: Script =
        Arc::new(|_, number| Say::text(format!("Answer {number}. {}", words(number + 9_000))));
    let upstream = Upstream::start(10_000_000, script).await;
    let (running, url) = daemon(&db, &upstream.url());
    unforget_gateway::install_crypto();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ask = async |messages: &[Value]| {
        let body = json!({"model": "gpt-4.1", "max_completion_tokens": 100, "messages": messages});
        let request = http.post(format!("{url}/v1/chat/completions")).header("session-id", "s").json(&body);
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json::<Value>().await.ok())
    };
    let turns_ready = async |want: u16| {
        let begun = Instant::now();
        while http.get(format!("{url}/readyz")).send().await.unwrap().status().as_u16() != want {
            assert!(begun.elapsed() < Duration::from_mins(1), "{want} is late");
        }
    };
    turns_ready(200).await;
    let mut messages = Vec::new();
    let mut refused = None;
    for turn in 0..200 {
        messages.push(json!({"role": "user", "content": format!("Question {turn}. {}", words(turn))}));
        match ask(&messages).await {
            (200, Some(answer)) => messages.push(answer["choices"][0]["message"].clone()),
            other => {
                refused = Some(other);
                break;
            }
        }
    }
    let (status, told) = refused.expect("4 MB hold no 200 turns");
    // If the disk fills while the answer arrives, the answer breaks off; if before, there is a fault in its dialect.
    if status != 200 {
        let told = told.unwrap();
        assert_eq!((status, &told["error"]["code"]), (503, &json!("not_stored")), "{told}");
        assert!(told["error"]["message"].as_str().unwrap().contains("disk may be full"), "{told}");
    }
    let (status, told) = ask(&messages).await;
    assert_ne!((status, told.is_some()), (200, true), "it is still full");
    assert!(messages.len() > 4, "something fitted: {}", messages.len());
    turns_ready(503).await;
    assert!(mount(&["-o", "remount,size=64m"], disk.0), "root may mount again");
    turns_ready(200).await;
    let (status, answer) = ask(&messages).await;
    assert_eq!(status, 200, "with room it goes on: {answer:?}");
    messages.push(answer.unwrap()["choices"][0]["message"].clone());
    drop(running);
    let (again, _) = daemon(&db, &upstream.url());
    drop(again);
    let host = Host::new(Engine::open(&db).unwrap(), || Timestamp(0));
    let path = host.path(&LaneKey("gateway/default/s/side".into()), Format::OpenAiChat).unwrap();
    let said = |message: &Value| message["content"].clone();
    let path: Vec<Value> = path.iter().map(|text| said(&serde_json::from_str(text).unwrap())).collect();
    let sent: Vec<Value> = messages.iter().map(said).collect();
    assert!(path == sent, "{} messages for {}", path.len(), sent.len());
    let verified = host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}
