//! The host's own model, asked over its connection: the questions, and every way in which a host can misbehave.
#![cfg(unix)]
use std::sync::Arc;
use std::thread;
use unforget_store::read_all;

use crate::support::Client;
use serde_json::{Value, json};
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_engine::Engine;
use unforget_engine::host::Host;
use unforget_engine::summarise::{
    CallPolicy, Config, JobOutcome, Priced, Shift, Summarisers, SystemClock, Urgency,
};
use unforget_server::rpc::{CallLimits, Server};

const NOW: Timestamp = Timestamp(1_795_000_000_000);

/// An engine, its server, and the host's own model.
fn serving() -> (Engine, Arc<Server>, Arc<Summarisers>) {
    let engine = Engine::in_memory();
    let server = Server::new(Host::new(engine.clone(), || NOW), CallLimits::default());
    server.may_ask_host(true);
    let calls = CallPolicy { attempts_max: 1, ..CallPolicy::default() };
    let config = Config { calls, ..Config::default() };
    let clock = Arc::new(SystemClock::new());
    let models = Summarisers::new(&engine, Priced::from(server.own_model()), vec![], config, clock).unwrap();
    let models = Arc::new(models);
    server.models().set(Some(Arc::clone(&models)));
    (engine, server, models)
}

/// A host that offers its model.
fn offering(server: &Arc<Server>) -> Client {
    let mut client = Client::of(server);
    let offer = json!({ "protocol": 1, "model": { "name": "mine", "window": 12_000 } });
    assert_eq!(client.call(1, "initialize", &offer)["result"]["asksModel"], true);
    client
}

fn commit(client: &mut Client, key: u64, text: &str) {
    let message = json!({ "role": "user", "content": text });
    let turn =
        json!({ "lane": "a", "form": "pi", "turn": key.to_string(), "messages": [{ "message": message }] });
    assert_eq!(client.call(100 + key, "commitTurn", &turn)["result"]["status"], "committed");
}

/// Sends a question and returns the resulting question to the host's model.
fn ask(client: &mut Client, id: u64, more: &Value) -> Value {
    let mut params = json!({ "lane": "a", "question": "where is the boat", "depth": 0 });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "answer", "params": params }).to_string());
    let asked = client.answer();
    assert_eq!(asked["method"], "complete", "{asked}");
    asked
}

fn says(client: &mut Client, id: &Value, text: &str) {
    client.send(&json!({ "jsonrpc": "2.0", "id": id, "result": { "text": text } }).to_string());
}

#[test]
fn a_host_writes_summaries_with_its_own_model() {
    let (engine, server, models) = serving();
    let mut client = offering(&server);
    for key in 0..40 {
        commit(
            &mut client,
            key,
            &format!("turn {key}: {}", "the boat is in the shed behind the house. ".repeat(12)),
        );
        let prompt = json!({ "lane": "a", "budget": 2_000, "dialect": "pi" });
        client.call(500 + key, "assemble", &prompt);
    }
    let id = engine.store().find(&ConversationKey("journal:a".to_owned())).unwrap().unwrap().id;
    assert!(
        read_all(|page| engine.store().jobs(id, page)).unwrap().len() > 2,
        "offering a model is enough for jobs to be left"
    );
    let shift = Shift { limit: 2, urgency: Urgency::Normal };
    let (worker, reader) = (engine.clone(), Arc::clone(&models));
    let work = thread::spawn(move || worker.work(id, &reader, NOW, shift).unwrap());
    let mut asked = 0;
    while asked < 2 {
        let question = client.answer();
        let params = &question["params"];
        let length =
            (params["system"].as_str().unwrap().len() + params["user"].as_str().unwrap().len()) as u64;
        assert!(length / 8 + params["outputTokensMax"].as_u64().unwrap() < 12_000, "the host's window");
        // While the question is open, other calls are served.
        assert_eq!(client.call(900 + asked, "status", &json!({ "lane": "a" }))["result"]["path"], 40);
        says(&mut client, &question["id"], r#"{"title":"The boat is in the shed"}"#);
        asked += 1;
    }
    let reports = work.join().unwrap();
    assert!(reports.iter().all(|report| report.ended == JobOutcome::Written), "{reports:?}");
    assert!(client.is_at_end());
    assert!(!models.is_there() && models.may_ask().unwrap_err().is_absent, "it went with its connection");
}

#[test]
fn what_a_host_says_wrong_is_told_and_the_passages_are_left() {
    let (_, server, _) = serving();
    let mut client = offering(&server);
    commit(&mut client, 1, "the boat is in the shed");
    let huge = "x".repeat((1 << 20) + 1);
    let table = [
        (json!({ "result": { "text": "In the shed [1]." } }), "answered", ""),
        (json!({ "result": { "text": "In the shed." } }), "uncited", ""),
        (json!({ "result": { "text": huge } }), "partial", "more than"),
        (json!({ "result": { "text": ["no"] } }), "partial", "not understood"),
        (json!({ "result": [] }), "partial", "not understood"),
        (json!({ "result": { "text": "In the", "stop": "max-tokens" } }), "partial", "not whole"),
        (
            json!({ "error": { "code": 1, "message": "busy", "data": { "kind": "rate-limited" } } }),
            "partial",
            "limited",
        ),
        (json!({ "error": 7 }), "partial", "unknown error"),
        (json!({ "error": { "code": 1, "data": { "kind": "auth" } } }), "partial", "credential"),
    ];
    for (at, (said, ended, why)) in (10..).zip(table) {
        let question = ask(&mut client, at, &json!({}));
        let mut line = said;
        line["jsonrpc"] = "2.0".into();
        line["id"] = question["id"].clone();
        client.send(&line.to_string());
        let given = client.answer();
        assert_eq!((&given["id"], &given["result"]["ended"]), (&json!(at), &json!(ended)), "{given}");
        assert!(given["result"]["why"].as_str().unwrap_or_default().contains(why), "{given}");
        assert_eq!(given["result"]["passages"][0]["text"], "the boat is in the shed", "{given}");
    }
    // On a busy machine the time may be over before the model is asked; then it gets more.
    let asked = [(30, 200), (31, 2_000), (32, 20_000)].into_iter().find_map(|(id, within)| {
        let params =
            json!({ "lane": "a", "question": "where is the boat", "depth": 0, "deadlineMs": within });
        client.send(&json!({ "jsonrpc": "2.0", "id": id, "method": "answer", "params": params }).to_string());
        let told = client.answer();
        (told["method"] == "complete").then_some((id, told))
    });
    let (id, silent) = asked.unwrap();
    let given = client.answer();
    assert_eq!((&given["id"], &given["result"]["ended"]), (&json!(id), &json!("partial")), "{given}");
    says(&mut client, &silent["id"], "too late");
    assert_eq!(client.answer()["error"]["data"]["kind"], "invalid", "nobody waits for it any more");
}

#[test]
fn an_answer_counts_once_and_from_whoever_was_asked() {
    let (_, server, _) = serving();
    let mut client = offering(&server);
    commit(&mut client, 1, "the boat is in the shed");
    let mut other = Client::of(&server);
    let question = ask(&mut client, 10, &json!({}));
    for id in [json!("u999"), json!(10), json!("")] {
        says(&mut client, &id, "wrong");
        let refused = client.answer();
        assert_eq!(
            (&refused["id"], &refused["error"]["data"]["kind"]),
            (&Value::Null, &json!("invalid")),
            "{refused}"
        );
    }
    says(&mut other, &question["id"], "I am the host");
    assert_eq!(other.answer()["error"]["data"]["kind"], "invalid", "another connection");
    says(&mut client, &question["id"], "In the shed [1].");
    assert_eq!(client.answer()["result"]["text"], "In the shed [1].");
    says(&mut client, &question["id"], "twice");
    assert_eq!(client.answer()["error"]["data"]["kind"], "invalid");
}

#[test]
fn an_answer_never_asks_for_another_and_blocks_nobody() {
    let (engine, server, _) = serving();
    let mut client = offering(&server);
    commit(&mut client, 1, "the boat is in the shed");
    let question = ask(&mut client, 10, &json!({}));
    let nested = json!({ "lane": "a", "question": "where is the boat" });
    assert_eq!(client.call(11, "answer", &nested)["error"]["data"]["kind"], "refused");
    commit(&mut client, 2, "the lane goes on");
    let found = client.call(12, "search", &json!({ "query": "boat" }));
    assert_eq!(found["result"]["results"][0]["seq"], 1, "{found}");
    says(&mut client, &question["id"], "In the shed [1].");
    let given = client.answer();
    let grants = engine.store().grants().unwrap();
    assert_eq!((grants.len(), &given["result"]["grant"]), (1, &json!(1)), "{grants:?}");
    let (grant, (_, how)) = (&grants[0], grants[0].ended.clone().unwrap());
    assert_eq!((how.as_str(), grant.used.calls, grant.most.calls), ("answered", 1, 1));
    assert!(grant.scope.is_some() && grant.used.tokens <= grant.most.tokens);
}

#[test]
fn what_a_call_names_is_read_first_and_of_its_lane_only() {
    let (engine, server, _) = serving();
    let mut client = offering(&server);
    commit(&mut client, 1, "the boat is in the shed");
    commit(&mut client, 2, "the oars are under the porch");
    let other = json!({ "role": "user", "content": "a boat of others" });
    let turn = json!({ "lane": "b", "form": "pi", "turn": "1", "messages": [{ "message": other }] });
    assert_eq!(client.call(90, "commitTurn", &turn)["result"]["status"], "committed");

    let question = ask(&mut client, 10, &json!({ "from": ["e:journal:a:3", "s:1"] }));
    let user = question["params"]["user"].as_str().unwrap();
    let (oars, boat) = (user.find("the oars are under").unwrap(), user.find("the boat is in").unwrap());
    assert!(oars < boat && user.matches("the oars are under").count() == 1, "{user}");
    says(&mut client, &question["id"], "Under the porch [1].");
    let given = client.answer();
    assert_eq!(given["result"]["passages"][0]["name"], "e:journal:a:3", "{given}");
    let receipt = |name: &str| json!({ "name": name, "entries": 1, "read": 1, "cut": 0, "purged": 0 });
    assert_eq!(given["result"]["from"], json!([receipt("e:journal:a:3"), receipt("s:1")]));

    let many = vec!["s:1"; 5_000];
    let table = [
        (json!(["s:1", "e:journal:b:1"]), "usage", "e:journal:b:1 in journal:a"),
        (json!(["e:journal:c:1"]), "usage", "e:journal:c:1 in journal:a"),
        (json!(["sum:1.0.000000000000"]), "usage", "sum:1.0.000000000000"),
        (json!(["s:99"]), "usage", "no entry 99"),
        (json!(["\u{0}"]), "usage", "\u{0}"),
        (json!(many), "usage", "5000 names"),
        (json!("s:1"), "params", ""),
        (json!([1]), "params", ""),
        (json!({ "s:1": 1 }), "params", ""),
        (json!(null), "params", ""),
    ];
    for (at, (from, kind, what)) in (20..).zip(table) {
        let params = json!({ "lane": "a", "question": "where is the boat", "from": from });
        let refused = client.call(at, "answer", &params);
        assert_eq!(refused["error"]["data"]["kind"], kind, "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(what), "{refused}");
    }
    let anywhere = json!({ "question": "boat", "from": ["e:journal:b:1", "e:journal:a:3"], "model": false });
    let given = client.call(40, "answer", &anywhere);
    assert_eq!(given["result"]["passages"][0]["text"], "a boat of others", "without a lane: {given}");
    assert_eq!(engine.store().grants().unwrap().len(), 1, "what is refused reads nothing");
}

#[test]
fn a_host_that_goes_away_or_ends_the_server_leaves_nobody_waiting() {
    let (_, server, _) = serving();
    let (mut offers, mut asks) = (offering(&server), Client::of(&server));
    commit(&mut asks, 1, "the boat is in the shed");
    asks.send(r#"{"jsonrpc":"2.0","id":10,"method":"answer","params":{"lane":"a","question":"the boat","depth":0}}"#);
    assert_eq!(offers.answer()["method"], "complete");
    assert!(offers.is_at_end());
    let given = asks.answer();
    assert_eq!(given["result"]["ended"], "partial", "{given}");
    assert!(given["result"]["why"].as_str().unwrap().contains("broke off"), "{given}");
    let given = asks.call(11, "answer", &json!({ "lane": "a", "question": "the boat" }));
    assert_eq!(given["result"]["ended"], "no-model", "nobody is there: {given}");

    let mut again = offering(&server);
    let question = ask(&mut again, 12, &json!({}));
    assert_eq!(question["method"], "complete");
    again.send(r#"{"jsonrpc":"2.0","id":13,"method":"shutdown"}"#);
    let (one, two) = (again.answer(), again.answer());
    assert_eq!((&one["id"], &one["result"]["ended"]), (&json!(12), &json!("partial")), "{one}");
    assert_eq!((&two["id"], &two["result"]["done"]), (&json!(13), &json!(true)), "{two}");
}

#[test]
fn a_model_that_is_not_wanted_is_not_asked() {
    let (_, server, models) = serving();
    server.may_ask_host(false);
    let mut client = Client::of(&server);
    let offer = json!({ "model": {} });
    assert_eq!(client.call(1, "initialize", &offer)["result"]["asksModel"], false);
    assert!(!models.is_there());
    server.may_ask_host(true);
    let small = client.call(3, "initialize", &json!({ "model": { "window": 100 } }));
    assert_eq!(small["error"]["data"]["kind"], "params", "{small}");
    assert!(models.is_there(), "settings may change");
    assert_eq!(client.call(2, "initialize", &json!({}))["result"]["asksModel"], false);
    assert!(!models.is_there(), "the offer was taken back");
}
