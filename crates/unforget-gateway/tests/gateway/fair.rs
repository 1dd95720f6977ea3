//! Many concurrent calls: lanes take turns, memory is limited, and refused callers are told when to retry.

use crate::support::daemon;
use crate::support::talk;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, user};
use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{Host, LaneKey};
use unforget_gateway::Settings;
use unforget_server::serve::Limits;
use unforget_sim::fault::{FaultStore, Mode};
use unforget_store::{OpenOptions, SqliteStore};
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Dialect;

const CHAT: &str = "chat/completions";

fn asked(text: &str) -> Value {
    body(Dialect::OpenAiChat, &[user(text)], false)
}

fn client(running: &Running, name: &str) -> Client {
    Client::new(&running.url(), Some(name))
}

/// Waits until a condition holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_mins(1), "it never came to this: {what}");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Delays a call while it holds its lane and nothing else.
struct Gate {
    /// Number of clock readings before the delay; 0 for none.
    left: AtomicUsize,
    is_held: AtomicBool,
    opened: Mutex<mpsc::Receiver<()>>,
}

impl Gate {
    fn new() -> (Arc<Self>, mpsc::Sender<()>) {
        let (open, opened) = mpsc::channel();
        let gate =
            Self { left: AtomicUsize::new(0), is_held: AtomicBool::new(false), opened: Mutex::new(opened) };
        (Arc::new(gate), open)
    }

    fn clock(self: &Arc<Self>) -> impl Fn() -> Timestamp + Send + Sync + use<> {
        let gate = Arc::clone(self);
        move || {
            let left = gate.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
            if left == Ok(1) {
                gate.is_held.store(true, Ordering::SeqCst);
                gate.opened.lock().unwrap().recv().ok();
            }
            Timestamp(1_790_000_000_000)
        }
    }
}

struct Place {
    running: Running,
    _upstream: Upstream,
    gate: Arc<Gate>,
    open: mpsc::Sender<()>,
    _folder: tempfile::TempDir,
}

/// A daemon with one completed call of lane `a`, whose next call is delayed.
async fn held_back(settings: Settings) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|_, _| Say::text("Yes."));
    let upstream = Upstream::start(1_000_000, script).await;
    let (gate, open) = Gate::new();
    let engine = Engine::open(&folder.path().join("a.db")).unwrap();
    let on = (Arc::new(Host::new(engine, gate.clock())), folder.path().join("spool"));
    let running = Running::start_on(on, &upstream.url(), 1_000_000, (settings, Limits::default())).await;
    assert_eq!(client(&running, "a").ask(CHAT, &asked("0")).await.unwrap().status, 200);
    until("the first is stored", || running.gateway.running() == 0).await;
    // A named lane is looked up first, and then used.
    gate.left.store(2, Ordering::SeqCst);
    Place { running, _upstream: upstream, gate, open, _folder: folder }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lane_with_many_calls_keeps_no_other_waiting() {
    let place = held_back(Settings::default()).await;
    let many = client(&place.running, "a");
    let first = tokio::spawn({
        let many = many.clone();
        async move { many.ask(CHAT, &asked("1")).await.unwrap().status }
    });
    until("it is held back", || place.gate.is_held.load(Ordering::SeqCst)).await;
    let calls: Vec<_> = (2..=60)
        .map(|n| {
            let many = many.clone();
            tokio::spawn(async move { many.ask(CHAT, &asked(&n.to_string())).await.unwrap().status })
        })
        .collect();
    until("all are there", || place.running.gateway.running() == 60).await;
    let other = client(&place.running, "b");
    let question = asked("Hello");
    let answer = tokio::time::timeout(Duration::from_mins(1), other.ask(CHAT, &question)).await;
    assert_eq!(answer.expect("another lane is served meanwhile").unwrap().status, 200);
    place.open.send(()).unwrap();
    assert_eq!(first.await.unwrap(), 200);
    assert!(
        join_all(calls).await.into_iter().all(|status| status.unwrap() == 200),
        "and they are in the end"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_of_a_lane_than_may_wait_are_told() {
    for (api, dialect) in APIS {
        let place = held_back(Settings { lane_calls_max: 2, ..Settings::default() }).await;
        let lane = client(&place.running, "a");
        let first = tokio::spawn({
            let lane = lane.clone();
            async move { lane.ask(CHAT, &asked("1")).await.unwrap().status }
        });
        until("it is held back", || place.gate.is_held.load(Ordering::SeqCst)).await;
        let question = |n: usize| body(dialect, &[user(&format!("More {n}"))], false);
        let refusals = Arc::new(AtomicUsize::new(0));
        let calls: Vec<_> = (0..5)
            .map(|n| {
                let (lane, question, refusals) = (lane.clone(), question(n), Arc::clone(&refusals));
                tokio::spawn(async move {
                    let answer = lane.send(api, &question).await.unwrap();
                    refusals.fetch_add(usize::from(answer.status() == 429), Ordering::SeqCst);
                    let again = answer.headers().get("retry-after").cloned();
                    (answer.status().as_u16(), again, answer.json::<Value>().await.unwrap())
                })
            })
            .collect();
        until("three are refused", || refusals.load(Ordering::SeqCst) == 3).await;
        place.open.send(()).unwrap();
        assert_eq!(first.await.unwrap(), 200);
        let answers: Vec<_> = join_all(calls).await.into_iter().map(Result::unwrap).collect();
        let refused: Vec<_> = answers.iter().filter(|(status, ..)| *status == 429).collect();
        assert_eq!(refused.len(), 3, "{answers:?}");
        for (_, again, told) in refused {
            assert!(again.is_some(), "when to come again");
            let kind = if dialect == Dialect::Anthropic { "rate_limit_error" } else { "requests" };
            assert_eq!(told["error"]["type"], kind, "{told}");
            assert_eq!(told["type"] == "error", dialect == Dialect::Anthropic, "{told}");
        }
        let after = lane.ask(api, &question(9)).await.unwrap();
        assert_eq!(after.status, 200, "then there is room again");
    }
}

/// A client that has sent a part of its body and nothing more.
async fn half(running: &Running, bytes: usize) -> TcpStream {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let head = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b' '; bytes]).await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_wait_for_room_and_are_refused_in_the_end() {
    for (wait, want) in [(Duration::from_secs(30), 200), (Duration::from_millis(50), 503)] {
        let folder = tempfile::tempdir().unwrap();
        let script: Script = Arc::new(|_, _| Say::text("Yes."));
        let upstream = Upstream::start(1_000_000, script).await;
        let settings = Settings { body_max: 1 << 20, bodies_max: 1_200_000, wait, ..Settings::default() };
        let db = folder.path().join("a.db");
        let running = Running::start_with(&db, &upstream.url(), 1_000_000, settings).await;
        let others = [half(&running, 600_000).await, half(&running, 600_000).await];
        until("it is full", || running.gateway.held().0 == 1_200_000).await;
        let late = tokio::spawn({
            let lane = client(&running, "late");
            async move {
                let answer = lane.send(CHAT, &asked("Hello")).await.unwrap();
                (answer.status().as_u16(), answer.headers().get("retry-after").cloned())
            }
        });
        if want == 503 {
            let (status, again) = late.await.unwrap();
            assert_eq!((status, again.is_some()), (503, true));
            drop(others);
        } else {
            // It waits; only memory returned by the others lets it continue.
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!late.is_finished() && upstream.came().is_empty());
            drop(others);
            assert_eq!(late.await.unwrap().0, 200);
        }
        until("all of it is given back", || running.gateway.held().0 == 0).await;
        assert_eq!(client(&running, "after").ask(CHAT, &asked("Hello")).await.unwrap().status, 200);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn packed_bodies_count_as_what_they_unpack_to() {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|_, _| Say::text("Yes."));
    let upstream = Upstream::start(1_000_000, script).await;
    let wait = Duration::from_millis(50);
    let settings = Settings { body_max: 1 << 20, bodies_max: 700_000, wait, ..Settings::default() };
    let running =
        Running::start_with(&folder.path().join("a.db"), &upstream.url(), 1_000_000, settings).await;
    let other = half(&running, 400_000).await;
    until("there is little room", || running.gateway.held().0 == 400_000).await;
    let large = asked(&"word ".repeat(80_000)).to_string();
    let packed = zstd::encode_all(large.as_bytes(), 3).unwrap();
    assert!(packed.len() < 100_000);
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let send = async || {
        let request = http.post(format!("{}/v1/{CHAT}", running.url())).header("content-encoding", "zstd");
        request.body(packed.clone()).send().await.unwrap().status().as_u16()
    };
    assert_eq!(send().await, 503);
    drop(other);
    until("the other is gone", || running.gateway.held().0 == 0).await;
    assert_eq!(send().await, 200);
}

/// Clients that take nothing cost no more memory than configured, and get every byte once they read.
#[tokio::test(flavor = "multi_thread")]
async fn answers_that_nobody_takes_are_read_back_from_the_spool() {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|_, _| Say::text("word ".repeat(15_000)));
    let upstream = Upstream::start(100_000_000, script).await;
    let settings = Settings { answers_max: 1 << 20, ..Settings::default() };
    let running =
        Running::start_with(&folder.path().join("a.db"), &upstream.url(), 1_000_000, settings).await;
    let question = body(Dialect::OpenAiChat, &[user("Hello")], true);
    let mut waiting = Vec::new();
    for n in 0..4 {
        let mut lane = client(&running, &format!("lane-{n}"));
        lane.headers.push(("idempotency-key", format!("key-{n}")));
        let answer = lane.send(CHAT, &question).await.unwrap();
        // Another client reads the answer from its beginning, as soon as there is room for it.
        let again = lane.send(CHAT, &question).await.unwrap();
        waiting.push((answer, again));
    }
    let (mut most, begun) = (0, Instant::now());
    while running.gateway.running() > 0 {
        most = most.max(running.gateway.held().1);
        assert!(begun.elapsed() < Duration::from_mins(1));
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
    let direct = Client::new(&upstream.url(), None).ask(CHAT, &question).await.unwrap().bytes;
    assert!(direct.len() > 500_000, "{} bytes each", direct.len());
    assert!(most <= 1 << 20, "{most} bytes were in memory");
    let text = |bytes: &[u8]| talk::said(&talk::values(&talk::read(Dialect::OpenAiChat, bytes, true))).0;
    for (answer, again) in waiting {
        let got = answer.bytes().await.unwrap();
        assert_eq!(got.len(), direct.len(), "all of it");
        assert_eq!(text(&got), "word ".repeat(15_000));
        let again = again.bytes().await.unwrap();
        assert!(again == got, "and once more: {} for {}", again.len(), got.len());
    }
    assert_eq!(upstream.came().len(), 5, "nobody asked twice");
}

/// Without room for its answer, a call is not sent.
#[tokio::test(flavor = "multi_thread")]
async fn calls_without_room_for_their_answer_are_not_sent() {
    let folder = tempfile::tempdir().unwrap();
    // The first two continue as long as the test wants.
    let (open, gate) = tokio::sync::watch::channel(false);
    let script: Script =
        Arc::new(move |_, _| Say { gate: Some(gate.clone()), ..Say::text("word ".repeat(1_000)) });
    let upstream = Upstream::start(1_000_000, script).await;
    let wait = Duration::from_millis(50);
    let settings = Settings { answers_max: 40_000, wait, ..Settings::default() };
    let running =
        Running::start_with(&folder.path().join("a.db"), &upstream.url(), 1_000_000, settings).await;
    let question = body(Dialect::OpenAiChat, &[user("Hello")], true);
    let one = client(&running, "1").send(CHAT, &question).await.unwrap();
    let other = client(&running, "2").send(CHAT, &question).await.unwrap();
    let (api, dialect) = APIS[0];
    let third = client(&running, "3").send(api, &body(dialect, &[user("Hello")], true)).await.unwrap();
    assert_eq!(third.status().as_u16(), 529, "in the words of its dialect");
    assert!(third.headers().contains_key("retry-after"));
    assert_eq!(upstream.came().len(), 2);
    drop((one, other, open));
}

/// If storing an answer fails, the daemon stores it later.
#[tokio::test(flavor = "multi_thread")]
async fn f044_an_answer_that_could_not_be_stored_is_stored_later() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("a.db");
    let store = Arc::new(FaultStore::new(Arc::new(SqliteStore::open(&db, &OpenOptions::default()).unwrap())));
    let armed = Arc::clone(&store);
    let script: Script = Arc::new(move |_, number| {
        // The next write is the answer's.
        if number == 0 {
            armed.arm(1, Mode::ErrorBefore);
        }
        Say::text(format!("Answer {number}."))
    });
    let upstream = Upstream::start(1_000_000, script).await;
    let settings = Settings { store_again: Duration::from_millis(20), ..Settings::default() };
    let on = (daemon::host(Engine::on(store.clone())), daemon::spool(&db));
    let running = Running::start_on(on, &upstream.url(), 1_000_000, (settings, Limits::default())).await;
    let answer = client(&running, "a").ask(CHAT, &asked("Hello")).await.unwrap();
    assert_eq!(answer.status, 200, "the client has it nevertheless");
    let files = || daemon::spooled(&db);
    until("it is stored after all", || {
        store.disarm() && files() == 0 || files() == 0 && running.gateway.running() == 0
    })
    .await;
    let lane = LaneKey("gateway/default/a".to_owned());
    let path = || running.host.path(&lane, daemon::form(Dialect::OpenAiChat)).unwrap();
    let said: Vec<Value> = path().iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert_eq!(said[1]["content"], json!("Answer 0."));
    // The conversation continues as if nothing had happened.
    let mut messages = said;
    messages.push(user("And now?"));
    let next = client(&running, "a").ask(CHAT, &body(Dialect::OpenAiChat, &messages, false)).await.unwrap();
    assert_eq!(next.status, 200);
    until("that is stored", || running.gateway.running() == 0 && files() == 0).await;
    assert_eq!(path().len(), 4);
}
