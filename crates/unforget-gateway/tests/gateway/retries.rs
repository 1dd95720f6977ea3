//! Clients that ask again: a repeated turn stays one turn, for any client and any number of repetitions.

use crate::support::daemon;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use unforget_store::read_all;

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, read, said, user, values};
use serde_json::{Value, json};
use unforget_engine::host::LaneKey;
use unforget_gateway::Settings;
use unforget_testkit::upstream::{Say, Script, Upstream};
use unforget_wire::Dialect;

struct Place {
    running: Running,
    upstream: Upstream,
    folder: tempfile::TempDir,
}

async fn place(pause: Duration) -> Place {
    place_with(Say { pause, ..Say::default() }).await
}

/// A place whose provider answers with a number, in this manner.
async fn place_with(manner: Say) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(move |_, number| Say {
        text: format!("Answer {number}, in some words more."),
        ..manner.clone()
    });
    let upstream = Upstream::start(1_000_000, script).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 1_000_000).await;
    Place { running, upstream, folder }
}

impl Place {
    async fn quiet(&self) {
        self.running.quiet().await;
    }

    async fn nobody_reads(&self) {
        while self.running.gateway.readers() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn calls(&self) -> usize {
        self.upstream.came().len()
    }

    /// Lanes with their paths.
    fn lanes(&self) -> Vec<(String, Vec<Value>)> {
        lanes(&self.running)
    }
}

fn lanes(running: &Running) -> Vec<(String, Vec<Value>)> {
    let all = read_all(|page| running.host.engine().store().conversations(page)).unwrap();
    let keys = all.iter().filter_map(|one| one.key.0.strip_prefix("journal:gateway/default/"));
    keys.map(|key| {
        let lane = LaneKey(format!("gateway/default/{key}"));
        let of = |dialect: &(&str, Dialect)| running.host.path(&lane, daemon::form(dialect.1)).ok();
        let path = APIS.iter().find_map(of).unwrap();
        (key.to_owned(), path.iter().map(|text| serde_json::from_str(text).unwrap()).collect())
    })
    .collect()
}

const CHAT: &str = "chat/completions";

fn asked(text: &str) -> Value {
    body(Dialect::OpenAiChat, &[user(text)], true)
}

#[tokio::test(flavor = "multi_thread")]
async fn f042_one_key_is_one_call() {
    let place = place(Duration::from_millis(2)).await;
    let mut client = Client::new(&place.running.url(), None);
    client.headers.push(("idempotency-key", "k1".into()));
    let question = asked("Hello");
    let (one, other) = tokio::join!(client.ask(CHAT, &question), client.ask(CHAT, &question));
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_eq!((one.status, &one.bytes), (200, &other.bytes), "both get the running answer");
    let kept = client.ask(CHAT, &question).await.unwrap();
    assert_eq!(kept.bytes, one.bytes, "and later the kept one");
    assert_eq!(place.calls(), 1);
    assert_eq!(client.ask(CHAT, &asked("Other")).await.unwrap().status, 409);
    let mut stranger = Client::new(&place.running.url(), None);
    stranger.headers = vec![("authorization", "Bearer another".into()), ("idempotency-key", "k1".into())];
    assert_eq!(stranger.ask(CHAT, &asked("Other")).await.unwrap().status, 200, "keys are of a caller");
    assert_eq!(place.calls(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn f042_a_failed_call_is_not_kept() {
    let folder = tempfile::tempdir().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    // The first answer breaks off.
    let script: Script = Arc::new(move |_, _| {
        let number = counted.fetch_add(1, Ordering::SeqCst);
        Say { cut_after: (number == 0).then_some(2), ..Say::text("Answer.") }
    });
    let upstream = Upstream::start(1_000_000, script).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 1_000_000).await;
    let mut client = Client::new(&running.url(), None);
    client.headers.push(("idempotency-key", "k".into()));
    let short = client.ask(CHAT, &asked("Hello")).await.unwrap();
    assert!(!String::from_utf8_lossy(&short.bytes).contains("[DONE]"));
    let whole = client.ask(CHAT, &asked("Hello")).await.unwrap();
    assert!(String::from_utf8_lossy(&whole.bytes).contains("[DONE]"), "asked for again");
    assert_eq!(client.ask(CHAT, &asked("Hello")).await.unwrap().bytes, whole.bytes, "and kept then");
    assert_eq!(upstream.came().len(), 2);
}

/// A key outlives the daemon: the client that missed the answer gets that one, and the provider is not asked again.
#[tokio::test(flavor = "multi_thread")]
async fn f042_a_key_is_known_after_a_restart() {
    let (folder, upstream) = (tempfile::tempdir().unwrap(), {
        let script: Script = Arc::new(|_, _| Say::text("Answer."));
        Upstream::start(1_000_000, script).await
    });
    let db = folder.path().join("a.db");
    let keyed = |url: &str, key: &str| {
        let mut client = Client::new(url, None);
        client.headers.push(("idempotency-key", key.to_owned()));
        client
    };
    let streamed = asked("Hello");
    let whole = body(Dialect::OpenAiResponses, &[user("Hello")], false);
    let running = Running::start(&db, &upstream.url(), 1_000_000).await;
    let one = keyed(&running.url(), "k1").ask(CHAT, &streamed).await.unwrap();
    let other = keyed(&running.url(), "k2").ask("responses", &whole).await.unwrap();
    running.end().await;
    let calls = upstream.came().len();
    for round in 0..2 {
        let running = Running::start(&db, &upstream.url(), 1_000_000).await;
        let again = keyed(&running.url(), "k1").ask(CHAT, &streamed).await.unwrap();
        assert_eq!((again.status, &again.bytes), (one.status, &one.bytes), "{round}");
        let again = keyed(&running.url(), "k2").ask("responses", &whole).await.unwrap();
        assert_eq!((again.status, &again.bytes), (other.status, &other.bytes), "{round}");
        assert_eq!(upstream.came().len(), calls, "{round}: the provider is not asked again");
        let conflict = keyed(&running.url(), "k1").ask(CHAT, &asked("Other")).await.unwrap();
        assert_eq!(conflict.status, 409, "{round}: a key is of one request");
        running.end().await;
    }
    // Behind the window nothing is left of it.
    let settings = Settings { retry_window: Duration::ZERO, ..Settings::default() };
    let running = Running::start_with(&db, &upstream.url(), 1_000_000, settings).await;
    let left = std::fs::read_dir(daemon::spool(&db)).unwrap().flatten();
    let left: Vec<_> = left
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|kind| kind == "repeat"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    keyed(&running.url(), "k1").ask(CHAT, &streamed).await.unwrap();
    assert_eq!(upstream.came().len(), calls + 1, "asked anew");
    running.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn f042_two_clients_at_once_are_both_served() {
    let place = place(Duration::from_millis(2)).await;
    let client = Client::new(&place.running.url(), None);
    for round in 0..10 {
        let question = asked(&format!("Hello {round}"));
        let (one, other, third) = tokio::join!(
            client.ask(CHAT, &question),
            client.ask(CHAT, &question),
            client.ask(CHAT, &question)
        );
        for got in [&one, &other, &third] {
            let got = got.as_ref().unwrap();
            assert_eq!((got.status, got.is_whole), (200, true));
        }
    }
    place.quiet().await;
    let lanes = place.lanes();
    assert_eq!(lanes.len(), 10, "one lane for each question: {lanes:?}");
    for (name, path) in lanes {
        assert_eq!(path.iter().filter(|one| one["role"] == "user").count(), 1, "{name}: {path:?}");
        assert_eq!(path.len(), 2, "{name}: {path:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn f042_a_client_that_went_away_gets_the_same_answer() {
    let (open, gate) = tokio::sync::watch::channel(false);
    let place = place_with(Say { gate: Some(gate), ..Say::default() }).await;
    for (is_told, is_again) in [(false, false), (true, true)] {
        open.send_replace(false);
        let mut client = Client::new(&place.running.url(), None);
        let question = asked(&format!("Hello {is_told}"));
        let before = place.calls();
        client.cut(CHAT, &question, 1).await.unwrap();
        // Without an announcement, the client must be gone for the daemon too, before it could receive the rest.
        place.nobody_reads().await;
        open.send_replace(true);
        if !is_told {
            place.quiet().await;
        }
        client.headers.push(("x-stainless-retry-count", if is_told { "1" } else { "0" }.into()));
        let got = client.ask(CHAT, &question).await.unwrap();
        assert!(got.is_whole);
        assert_eq!(place.calls(), before + 1, "the same call");
        place.quiet().await;
        // The client has the answer now: without an announcement a repetition asks for another one; with it, it is a
        // retry.
        client.ask(CHAT, &question).await.unwrap();
        assert_eq!(place.calls() == before + 1, is_again);
    }
    place.quiet().await;
    for (name, path) in place.lanes() {
        assert_eq!(path.len(), 2, "{name}: {path:?}");
    }
}

/// A question in one conversation is never answered with an answer from another.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_words_in_two_conversations_are_two_calls() {
    let place = place(Duration::from_millis(1)).await;
    let question = asked("Continue.");
    for header in ["x-unforget-conversation", "x-claude-code-session-id"] {
        for name in ["a", "b"] {
            let mut client = Client::new(&place.running.url(), None);
            client.headers.push((header, format!("{name}-{header}")));
            client.cut(CHAT, &question, 1).await.unwrap();
        }
    }
    place.quiet().await;
    let lanes = place.lanes();
    assert_eq!((place.calls(), lanes.len()), (4, 4), "{lanes:?}");
    assert!(lanes.iter().all(|(_, path)| path.len() == 2));
}

#[tokio::test(flavor = "multi_thread")]
async fn f042_a_restart_between_is_no_new_turn() {
    let mut place = place(Duration::from_millis(1)).await;
    let question = asked("Hello");
    let client = Client::new(&place.running.url(), None);
    client.cut(CHAT, &question, 1).await.unwrap();
    place.quiet().await;
    for _ in 0..3 {
        let again = Running::start(&place.folder.path().join("b.db"), &place.upstream.url(), 1_000_000).await;
        std::mem::replace(&mut place.running, again).end().await;
        let db = place.folder.path().join("a.db");
        let again = Running::start(&db, &place.upstream.url(), 1_000_000).await;
        std::mem::replace(&mut place.running, again).end().await;
        Client::new(&place.running.url(), None).ask(CHAT, &question).await.unwrap();
        place.quiet().await;
    }
    let lanes = place.lanes();
    assert_eq!(lanes.len(), 1, "{lanes:?}");
    assert_eq!(lanes[0].1.len(), 2, "{lanes:?}");
}

/// Clients cannot take over our names.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_of_one_conversation() {
    let place = place(Duration::ZERO).await;
    let plain = Client::new(&place.running.url(), None);
    let response = plain.send(CHAT, &asked("Nobody's")).await.unwrap();
    let given = response.headers()["x-unforget-conversation"].to_str().unwrap().to_owned();
    let answer = values(&read(Dialect::OpenAiChat, &response.bytes().await.unwrap(), true));
    place.quiet().await;
    // The name that we gave leads back to the conversation.
    let named = Client::new(&place.running.url(), Some(&given));
    let messages = [vec![user("Nobody's")], answer, vec![user("More")]].concat();
    let response = named.send(CHAT, &body(Dialect::OpenAiChat, &messages, true)).await.unwrap();
    assert_eq!(response.headers()["x-unforget-conversation"].to_str().unwrap(), given);
    response.bytes().await.unwrap();
    for name in ["register", "default/register", "../register", "call-3", "s", "s/2", "s/3", "%2e%2e"] {
        let client = Client::new(&place.running.url(), Some(name));
        for turn in 0..2 {
            let got = client.ask(CHAT, &asked(&format!("In {name} {turn}"))).await.unwrap();
            assert_eq!(got.status, 200, "{name}: {}", String::from_utf8_lossy(&got.bytes));
        }
    }
    for session in ["s", "s", "register"] {
        let mut client = Client::new(&place.running.url(), None);
        client.headers.push(("session-id", session.into()));
        client.ask(CHAT, &asked("Side request of a session")).await.unwrap();
    }
    place.quiet().await;
    let lanes = place.lanes();
    for (name, path) in &lanes {
        assert!(path.iter().filter(|one| one["role"] == "user").count() <= 2, "{name}: {path:?}");
    }
    let verified = place.running.host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
    let nobodys = lanes.iter().find(|(name, _)| *name == given).unwrap();
    assert_eq!(nobodys.1.len(), 4, "{nobodys:?}");
}

/// A client may continue from an answer by its id as soon as it knows that the answer is complete.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_can_be_named_as_soon_as_it_is_whole() {
    let place = place(Duration::ZERO).await;
    let client = Client::new(&place.running.url(), None);
    let (api, dialect) = APIS[2];
    for is_streamed in [true, false] {
        for round in 0..10 {
            let mut asked = body(dialect, &[user(&format!("Hello {round} {is_streamed}"))], is_streamed);
            asked["store"] = json!(true);
            let mut response = client.send(api, &asked).await.unwrap();
            let lane = response.headers()["x-unforget-conversation"].clone();
            let mut bytes = Vec::new();
            while let Some(chunk) = response.chunk().await.unwrap() {
                bytes.extend_from_slice(&chunk);
                if is_streamed && String::from_utf8_lossy(&bytes).contains("event: response.completed") {
                    break;
                }
            }
            let answer = read(dialect, &bytes, is_streamed);
            let mut more = body(dialect, &[user("And more?")], is_streamed);
            more["previous_response_id"] = json!(answer.id.unwrap());
            more["store"] = json!(true);
            let response = client.send(api, &more).await.unwrap();
            assert_eq!(response.status(), 200);
            assert_eq!(
                response.headers()["x-unforget-conversation"],
                lane,
                "round {round}, streamed {is_streamed}"
            );
            response.bytes().await.unwrap();
        }
    }
    place.quiet().await;
    for (name, path) in place.lanes() {
        assert_eq!(path.len(), 4, "{name}: {path:?}");
        assert!(!said(&path[1..2]).0.is_empty());
    }
}

/// A name given by the client takes precedence over the answer that the call continues.
#[tokio::test(flavor = "multi_thread")]
async fn a_named_conversation_is_exactly_that_one() {
    let place = place(Duration::ZERO).await;
    let (api, dialect) = APIS[2];
    let ask = async |name: &str, text: &str, behind: Option<&str>| {
        let mut call = body(dialect, &[user(text)], false);
        if let Some(behind) = behind {
            call["previous_response_id"] = json!(behind);
        }
        let response = Client::new(&place.running.url(), Some(name)).send(api, &call).await.unwrap();
        assert_eq!(response.status(), 200, "{text}");
        assert_eq!(response.headers()["x-unforget-conversation"], name, "{text}");
        read(dialect, &response.bytes().await.unwrap(), false).id.unwrap()
    };
    let one = ask("one", "First", None).await;
    let other = ask("other", "Begins from there", Some(&one)).await;
    ask("one", "Goes on", Some(&one)).await;
    ask("other", "Goes on too", Some(&other)).await;
    place.quiet().await;
    let mut lanes: Vec<_> = place.lanes().into_iter().filter(|(name, _)| name != "register").collect();
    lanes.sort_by(|one, other| one.0.cmp(&other.0));
    let asked =
        |path: &[Value]| path.iter().filter(|one| one["role"] == "user").map(|one| said([one]).0).collect();
    let lanes: Vec<(&str, Vec<String>)> = lanes.iter().map(|(name, path)| (&**name, asked(path))).collect();
    let words = |two: [&str; 2]| two.map(str::to_owned).to_vec();
    assert_eq!(
        lanes,
        [("one", words(["First", "Goes on"])), ("other", words(["Begins from there", "Goes on too"]))]
    );
    let verified = place.running.host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}
