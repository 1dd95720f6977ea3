//! Streams that break off: at the client after every event, at the provider after every event. Everything a client got
//! is stored, an answer is complete or marked, and a turn is stored once.

use crate::support::daemon;
use crate::support::talk;

use std::sync::Arc;

use crate::support::daemon::Running;
use crate::support::talk::{APIS, Client, body, chance, read, said, user, values};
use serde_json::{Value, json};
use unforget_engine::host::{Host, LaneKey};
use unforget_testkit::upstream::{Deed, Say, Script, Upstream};
use unforget_wire::exchange::Ended;
use unforget_wire::{Dialect, Format};

/// Number of streams per kind of break: `UNFORGET_CASES`, or few enough for every build.
fn cases() -> u64 {
    std::env::var("UNFORGET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(6)
}

/// The model's streamed output: text, tools, or both.
fn say(seed: u64) -> Say {
    let texts = chance(seed, "text", 3);
    let deeds = chance(seed, "deeds", 4);
    let text = "Word ä\u{1f600} \"quoted\" \\ and\nso on. ".repeat(texts as usize * 2);
    let deed = |index: u64| Deed {
        name: "read".to_owned(),
        arguments: json!({"path": format!("/a/{seed}/{index}"), "lines": [index, 2], "why": "so \"that\""}),
    };
    let text = if text.is_empty() && deeds == 0 { "Only this.".to_owned() } else { text };
    Say { text, deeds: (0..deeds).map(deed).collect(), ..Say::default() }
}

fn expected(say: &Say) -> talk::Said {
    let calls = say.deeds.iter().map(|deed| (deed.name.clone(), deed.arguments.clone())).collect();
    (say.text.clone(), calls)
}

/// The seed is in the newest text of a user.
fn seed_of(request: &Value) -> u64 {
    let messages = request.get("messages").or_else(|| request.get("input")).unwrap();
    let words = messages.as_array().unwrap().iter().rev().find(|message| message["role"] == "user").unwrap();
    let text = words["content"].as_str().unwrap();
    text.split_whitespace().nth(1).unwrap().parse().unwrap()
}

fn form(dialect: Dialect) -> Format {
    daemon::form(dialect)
}

fn lane(conversation: &str) -> LaneKey {
    LaneKey(format!("gateway/default/{conversation}"))
}

fn path(host: &Host, dialect: Dialect, conversation: &str) -> Vec<Value> {
    let path = host.path(&lane(conversation), form(dialect)).unwrap();
    path.iter().map(|text| serde_json::from_str(text).unwrap()).collect()
}

fn users(path: &[Value]) -> Vec<&Value> {
    path.iter().filter(|message| message["role"] == "user").collect()
}

/// No message is stored twice, and the store is sound.
fn sound(host: &Host) {
    let verified = host.engine().verify(&mut |_, _| {}).unwrap();
    assert!(verified.problems.is_empty(), "{:?}", verified.problems);
}

/// The client goes away after `events` events. Then it repeats its request, and continues.
async fn client_goes_away(
    running: &Running,
    (api, dialect): (&str, Dialect),
    seed: u64,
    events: usize,
) -> bool {
    let name = format!("cut-{api}-{seed}-{events}").replace('/', "-");
    let client = Client::new(&running.url(), Some(&name));
    let first = user(&format!("Question {seed} cut {events}"));
    let asked = body(dialect, std::slice::from_ref(&first), true);
    let got = client.cut(api, &asked, events).await.unwrap();
    assert_eq!(got.status, 200, "{}", String::from_utf8_lossy(&got.bytes));
    running.quiet().await;
    let why = format!("{name}: {}", String::from_utf8_lossy(&got.bytes));
    let stored = path(&running.host, dialect, &name);
    assert_eq!(stored.first(), Some(&first), "{why}");
    assert_eq!(said(&stored[1..]), expected(&say(seed)), "the answer is finished: {why}");
    let again = client.ask(api, &asked).await.unwrap();
    assert!(again.is_whole, "{why}");
    running.quiet().await;
    let stored = path(&running.host, dialect, &name);
    assert_eq!(users(&stored).len(), 1, "f042: {why}");
    let answer = values(&read(dialect, &again.bytes, true));
    assert_eq!(stored[1..], answer[..], "what is stored is what the client has: {why}");
    let mut messages = vec![first];
    messages.extend(answer);
    // An item's id implies reasoning before it; these have none.
    for message in &mut messages {
        message.as_object_mut().unwrap().remove("id");
    }
    // Results for the calls, then another question.
    for message in messages.clone() {
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "ok"}));
        }
        if message["type"] == "function_call" {
            messages
                .push(json!({"type": "function_call_output", "call_id": message["call_id"], "output": "ok"}));
        }
    }
    let blocks = messages.last().unwrap()["content"].as_array().cloned().unwrap_or_default();
    let uses = blocks.iter().filter(|block| block["type"] == "tool_use");
    let mut content: Vec<Value> = uses
        .map(|block| json!({"type": "tool_result", "tool_use_id": block["id"], "content": "ok"}))
        .collect();
    if content.is_empty() {
        messages.push(user(&format!("Question {seed} more")));
    } else {
        content.push(json!({"type": "text", "text": format!("Question {seed} more")}));
        messages.push(json!({"role": "user", "content": content}));
        // The script responds to text only.
        return got.is_whole;
    }
    let more = client.ask(api, &body(dialect, &messages, true)).await.unwrap();
    assert_eq!(more.status, 200, "{why}: {}", String::from_utf8_lossy(&more.bytes));
    running.quiet().await;
    let stored = path(&running.host, dialect, &name);
    let (stored, sent) = (&stored[..messages.len()], &messages[..]);
    assert_eq!((said(stored), users(stored)), (said(sent), users(sent)), "{why}");
    got.is_whole
}

#[tokio::test(flavor = "multi_thread")]
async fn f043_the_client_goes_away_at_every_event() {
    let folder = tempfile::tempdir().unwrap();
    let script: Script = Arc::new(|request, _| say(seed_of(request)));
    let upstream = Upstream::start(100_000, script).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 100_000).await;
    let mut cuts = 0;
    for seed in 0..cases() {
        let api = APIS[(seed % 3) as usize];
        let mut events = 0;
        while !client_goes_away(&running, api, seed, events).await {
            events += 1;
        }
        cuts += events;
    }
    assert!(cuts as u64 > cases() * 3, "{cuts} cuts");
    println!("{cuts} cuts of {} streams", cases());
    assert!(upstream.came().iter().all(|came| came.violations.is_empty()));
    let host = Arc::clone(&running.host);
    running.end().await;
    sound(&host);
}

#[tokio::test(flavor = "multi_thread")]
async fn f043_the_provider_goes_away_at_every_event() {
    let folder = tempfile::tempdir().unwrap();
    // The number of events is the third word; the provider answers a repeated request.
    let script: Script = Arc::new(|request, _| {
        let text = request.to_string();
        let cut = text.split("cut ").nth(1).and_then(|rest| rest.split('"').next()?.parse().ok());
        Say { cut_after: cut.filter(|cut| *cut < 1_000), ..say(seed_of(request)) }
    });
    let upstream = Upstream::start(100_000, script).await;
    let running = Running::start(&folder.path().join("a.db"), &upstream.url(), 100_000).await;
    for seed in 0..cases() {
        let (api, dialect) = APIS[(seed % 3) as usize];
        for events in 1..200 {
            let name = format!("broken-{seed}-{events}");
            let client = Client::new(&running.url(), Some(&name));
            let first = user(&format!("Question {seed} cut {events}"));
            let asked = body(dialect, std::slice::from_ref(&first), true);
            let got = client.ask(api, &asked).await.unwrap();
            running.quiet().await;
            let told = read(dialect, &got.bytes, true);
            let stored = path(&running.host, dialect, &name);
            assert_eq!(stored.first(), Some(&first), "{name}");
            assert_eq!(said(&stored[1..]), said(&values(&told)), "stored is what was delivered: {name}");
            if told.ended == Ended::Complete {
                break;
            }
        }
    }
    let host = Arc::clone(&running.host);
    running.end().await;
    sound(&host);
}
