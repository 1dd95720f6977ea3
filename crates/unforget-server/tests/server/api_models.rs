//! Models in the HTTP API: who may request their work, its limits, and who waits for it.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use crate::support::served::Served;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use unforget_engine::host::{Delivered, LaneKey};
use unforget_engine::summarise::{
    Answer, Callback, Config, Model, Priced, Stop, Summarisers, SystemClock, Usage,
};
use unforget_wire::Format;

const GOOD: &str = "The parser kept the last line again";
const ANN: &str = "journal%3Agateway%2Fann%2F1";

fn answer() -> Answer {
    let text = format!(r#"{{"title":"{GOOD}"}}"#);
    Answer { text, usage: Usage::default(), stop: Stop::End, model: None }
}

/// Sets a model with this answer.
fn with_model(served: &Served, says: impl Fn() -> Answer + Send + Sync + 'static) {
    let model: Arc<dyn Model> = Arc::new(Callback::new("test", "writer", move |_| Ok(says())));
    let clock = Arc::new(SystemClock::new());
    let priced = Priced::from(model);
    let models = Summarisers::new(served.engine(), priced, vec![], Config::default(), clock).unwrap();
    served.engine().want_models(true);
    served.models.set(Some(Arc::new(models)));
}

/// A model that waits for its release, and reports when it was asked.
fn with_gate(served: &Served) -> (std::sync::mpsc::Sender<()>, Receiver<()>) {
    let ((asked, heard), (go, gate)) = (channel(), channel::<()>());
    let (asked, gate) = (Mutex::new(asked), Mutex::new(gate));
    with_model(served, move || {
        asked.lock().unwrap().send(()).ok();
        // Released at the end of the test at the latest.
        gate.lock().unwrap().recv().ok();
        answer()
    });
    (go, heard)
}

/// A conversation of a gateway's client that is worth summaries.
fn deliver(served: &Served, lane: &str) {
    let turn = |turn: u64| {
        let asks = format!("Look at src/part_{turn}.rs, its parser loses the last line again. ").repeat(6);
        let tells = format!("I read src/part_{turn}.rs: the loop ended one line early. ").repeat(6);
        [json!({"role": "user", "content": asks}), json!({"role": "assistant", "content": tells})]
    };
    let messages = (0..40).flat_map(turn).map(|message| Delivered::new(message.to_string())).collect();
    served.engine_host().sync(&LaneKey(lane.to_owned()), Format::OpenAiChat, messages).unwrap();
}

async fn ended(served: &Served, tenant: &str, begun: reqwest::Response) -> Value {
    assert_eq!(begun.status(), StatusCode::ACCEPTED);
    assert!(begun.headers()["location"].to_str().unwrap().starts_with("/api/v1/tasks/"));
    let task: Value = begun.json().await.unwrap();
    let place = format!("tasks/{}", task["task"].as_str().unwrap());
    loop {
        let now = served.as_tenant(tenant, Method::GET, &place).send().await.unwrap();
        let now: Value = now.json().await.unwrap();
        if now["state"] != "running" {
            return now;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn i18_what_models_do_for_a_tenant_is_theirs() {
    let served = Served::with_tenants(&["ann", "bob"]).await;
    deliver(&served, "gateway/ann/1");
    with_model(&served, answer);
    let compact = format!("conversations/{ANN}/compact?window=2000");
    let (run, jobs) = (format!("conversations/{ANN}/jobs/run"), format!("conversations/{ANN}/jobs"));
    for (method, place) in [(Method::POST, &compact), (Method::POST, &run), (Method::DELETE, &jobs)] {
        let ask = |tenant| served.as_tenant(tenant, method.clone(), place).send();
        for (tenant, status) in [("bob", 404), ("ann_reads", 403), ("bob_reads", 403), ("nobody", 401)] {
            let refused = ask(tenant).await.unwrap();
            assert_eq!(refused.status().as_u16(), status, "{tenant} {place}");
            assert_eq!(refused.headers()["content-type"], "application/problem+json");
        }
    }
    let begun = served.as_tenant("ann", Method::POST, &compact).send().await.unwrap();
    let done = ended(&served, "ann", begun).await;
    assert_eq!((&done["kind"], &done["state"]), (&json!("compact"), &json!("done")), "{done}");
    assert!(done["result"]["by_model"].as_u64() > Some(3), "{done}");
    assert_eq!((&done["done"], done["total"].as_u64() > Some(3)), (&done["total"], true), "{done}");

    // The task, its events' names and its result are visible to her.
    let name = done["task"].as_str().unwrap();
    let theirs = served.as_tenant("bob", Method::GET, &format!("tasks/{name}")).send().await.unwrap();
    assert_eq!(theirs.status(), StatusCode::NOT_FOUND);
    let listed = |tenant: &'static str| served.as_tenant(tenant, Method::GET, &jobs).send();
    let hers: Value = listed("ann").await.unwrap().json().await.unwrap();
    let owners: Value = listed("default").await.unwrap().json().await.unwrap();
    assert_eq!((hers["accounts"].clone(), owners["accounts"].as_array().unwrap().len()), (json!([]), 1));
    let summary = hers["jobs"][0]["name"].as_str().unwrap();
    let describe = format!("describe?id={summary}");
    let told = served.as_tenant("ann", Method::GET, &describe).send().await.unwrap().text().await.unwrap();
    assert!(told.contains(GOOD), "{told}");
    let theirs = served.as_tenant("bob", Method::GET, &describe).send().await.unwrap();
    assert!(theirs.status().is_client_error());
    assert!(!theirs.text().await.unwrap().contains(GOOD));
    let question = json!({"question": "what was wrong with part_7", "from": [summary]});
    let asked = served.as_tenant("bob_reads", Method::POST, "answer").json(&question).send().await.unwrap();
    assert!(asked.status().is_client_error() && !asked.text().await.unwrap().contains("part_"));
    let asked = served.as_tenant("ann_reads", Method::POST, "answer").json(&question).send().await.unwrap();
    assert_eq!(asked.status(), StatusCode::OK, "a question only reads");
    served.end().await;
}

#[allow(clippy::type_complexity, reason = "a table")]
#[tokio::test(flavor = "multi_thread")]
async fn hostile_requests_are_refused_before_anything_is_done() {
    let served = Served::start().await;
    deliver(&served, "gateway/ann/1");
    let run = served.ask(Method::POST, &format!("conversations/{ANN}/jobs/run")).send().await.unwrap();
    assert_eq!(run.status(), StatusCode::CONFLICT);
    assert_eq!(run.json::<Value>().await.unwrap()["kind"], "no-model");
    with_model(&served, || panic!("nobody is asked"));
    let compact = |query: &str| format!("conversations/{ANN}/compact?{query}");
    let long = "x".repeat(20_000);
    let table: Vec<(Method, String, Option<Value>, u16)> = vec![
        (Method::POST, compact("window=0"), None, 400),
        (Method::POST, compact("window=-1"), None, 400),
        (Method::POST, compact("window=1e9"), None, 400),
        (Method::POST, compact("window=99999999999999999999"), None, 400),
        (Method::POST, compact("window=2000&window=3000"), None, 400),
        (Method::POST, compact("force=maybe"), None, 400),
        (Method::POST, compact("dialect=klingon"), None, 400),
        (Method::GET, compact(""), None, 405),
        (Method::POST, "conversations/..%2F..%2Fetc/compact".into(), None, 404),
        (Method::POST, format!("conversations/{long}/compact"), None, 404),
        (Method::POST, "conversations/%00/jobs/run".into(), None, 404),
        (Method::POST, "conversations/%FF/jobs/run".into(), None, 400),
        (Method::PUT, format!("conversations/{ANN}/jobs"), None, 405),
        (Method::POST, "answer".into(), Some(json!([])), 400),
        (Method::POST, "answer".into(), Some(json!({"question": 7})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "depth": 9})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "within": 601})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "tokens": u64::MAX})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "tokens": -1})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "from": vec!["s:1"; 65]})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "from": [long]})), 400),
        (Method::POST, "answer".into(), Some(json!({"question": "x", "conversation": "nosuch"})), 404),
    ];
    for (method, place, body, status) in table {
        let mut request = served.ask(method, &place);
        if let Some(body) = body {
            request = request.json(&body);
        }
        let told = request.send().await.unwrap();
        assert_eq!(told.headers()["content-type"], "application/problem+json", "{place:.80}");
        let (found, text) = (told.status().as_u16(), told.text().await.unwrap());
        assert_eq!(found, status, "{place:.80}: {text:.300}");
    }
    let stale = served.ask(Method::POST, &compact("")).header("if-match", "\"stale\"").send().await.unwrap();
    assert_eq!(stale.status(), StatusCode::PRECONDITION_FAILED);
    assert_eq!(served.json("tasks").await["items"], json!([]), "nothing was begun");
    served.end().await;
}

/// Calls that wait for a model delay neither readers nor each other's conversation.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_a_model_keeps_nobody_else_waiting() {
    let served = Served::start().await;
    deliver(&served, "gateway/ann/1");
    let (go, heard) = with_gate(&served);
    let compact = format!("conversations/{ANN}/compact?window=2000");
    let begun = served.ask(Method::POST, &compact).send().await.unwrap();
    assert_eq!(begun.status(), StatusCode::ACCEPTED);
    heard.recv().unwrap();
    // The break is there before any model has answered.
    let shown = served.json(&format!("conversations/{ANN}")).await;
    assert!(shown["summaries"].as_u64() > Some(3), "{shown}");
    let questions: Vec<_> = (0..12)
        .map(|n| {
            let body = json!({"question": format!("what was wrong with part_{n}"), "within": 60});
            tokio::spawn(served.ask(Method::POST, "answer").json(&body).send())
        })
        .collect();
    heard.recv().unwrap();
    for _ in 0..20 {
        assert_eq!(served.json("search?q=parser&limit=1").await["results"].as_array().unwrap().len(), 1);
    }
    let other = served.ask(Method::POST, &format!("conversations/{ANN}/jobs/run")).send().await.unwrap();
    let other = served.wait(&other.json().await.unwrap()).await;
    assert_eq!((&other["state"], &other["problem"]["kind"]), (&json!("failed"), &json!("busy")), "{other}");
    // Clients that went away ask no more.
    questions.iter().for_each(tokio::task::JoinHandle::abort);
    drop(go);
    let done = served.wait(&begun.json().await.unwrap()).await;
    assert_eq!(done["state"], "done", "{done}");
    let after = served.ask(Method::POST, &format!("conversations/{ANN}/jobs/run")).send().await.unwrap();
    let after = served.wait(&after.json().await.unwrap()).await;
    assert_eq!((&after["state"], &after["result"]["ran"]), (&json!("done"), &json!([])), "{after}");
    served.end().await;
}

/// Cancelling a task ends it early: written summaries stay, the rest waits for another time.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_ends_early_when_it_is_told_to() {
    let served = Served::with_tenants(&["ann", "bob"]).await;
    deliver(&served, "gateway/ann/1");
    let (go, heard) = with_gate(&served);
    let compact = format!("conversations/{ANN}/compact?window=2000");
    let begun = served.as_tenant("ann", Method::POST, &compact).send().await.unwrap();
    let place = begun.headers()["location"].to_str().unwrap().trim_start_matches("/api/v1/").to_owned();
    heard.recv().unwrap();
    let end = |tenant| served.as_tenant(tenant, Method::DELETE, &place).send();
    for (tenant, status) in [("bob", 404), ("ann_reads", 403), ("ann", 200), ("ann", 200)] {
        assert_eq!(end(tenant).await.unwrap().status().as_u16(), status, "{tenant}");
    }
    go.send(()).unwrap();
    let done = ended(&served, "ann", begun).await;
    let result = &done["result"];
    assert_eq!(
        (&done["state"], &result["held"]),
        (&json!("done"), &json!("the work was told to end")),
        "{done}"
    );
    assert!(result["ran"].as_array().is_some_and(|ran| ran.len() < 2), "{done}");
    let jobs =
        served.as_tenant("ann", Method::GET, &format!("conversations/{ANN}/jobs")).send().await.unwrap();
    let jobs: Value = jobs.json().await.unwrap();
    assert!(jobs["jobs"].as_array().unwrap().iter().all(|job| job["state"] == "waiting"), "{jobs}");
    assert_eq!(end("ann").await.unwrap().status(), StatusCode::OK, "it has ended already");
    served.end().await;
}
