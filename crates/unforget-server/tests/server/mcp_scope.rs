//! I18: no client can read, count or guess anything outside its scope, whatever it asks.
use std::collections::BTreeSet;

use crate::mcp_common::{Client, call, client, discover, import, run, text, value};
use proptest::prelude::*;
use rmcp::model::ReadResourceRequestParams;
use serde_json::{Value, json};
use unforget_engine::Engine;
use unforget_engine::recall::summary_name;
use unforget_server::mcp::{Memory, RecallScope};
use unforget_store::{SummaryKey, SummaryRow, read_all};

const CONVERSATIONS: usize = 4;

/// Conversations whose texts and key suffixes name their owner. No question contains either.
fn engine() -> Engine {
    let engine = Engine::in_memory();
    for number in 0..CONVERSATIONS {
        let said = format!("fox{number} of all says mark{number}end");
        import(&engine, &format!("c{number}-hidden{number}key"), &[&said, "noted", &said]);
        let found = engine.resolve(&format!("pi:c{number}-")).unwrap().conversation;
        let row = |end| SummaryRow {
            key: SummaryKey { thread: unforget_core::id::Thread(0), grain: 8_000, level: 0, end },
            span: (unforget_core::id::Seq(0), unforget_core::id::Seq(2)),
            count: 2,
            sources: Vec::new(),
            writer: "deterministic/1".to_owned(),
            body: format!("mark{number}end in short"),
            tokens: (10, 5),
            time: unforget_core::id::Timestamp(0),
        };
        let end = unforget_core::digest::Digest::of(&[number as u8]);
        engine.store().put_summaries(found.id, &[row(end)], None).unwrap();
    }
    engine
}

/// All names within one conversation.
fn names(engine: &Engine, number: usize) -> Vec<String> {
    let found = engine.resolve(&format!("pi:c{number}-")).unwrap().conversation;
    let mut names: Vec<String> = read_all(|page| engine.store().summaries(found.id, page))
        .unwrap()
        .iter()
        .map(|row| summary_name(&row.key))
        .collect();
    // Prefixes of keys: a whole key would be in the answer because it was in the question.
    names.extend(
        ["", "c", &format!("c{number}"), &format!("c{number}-hid")].map(|start| format!("pi:{start}")),
    );
    names.extend(["c", &format!("c{number}-hid")].map(str::to_owned));
    names.extend([
        format!("e:pi:c{number}-hid:1"),
        format!("e:c{number}:0-9"),
        "s:1".to_owned(),
        "s:0-3".to_owned(),
    ]);
    names
}

/// Everything a client gets from a call, text and JSON.
async fn told(client: &Client, tool: &str, arguments: &Value) -> String {
    let result = call(client, tool, arguments).await;
    format!("{}\n{}", text(&result), value(&result))
}

/// Every call that could reach into conversation `number`.
fn calls(engine: &Engine, number: usize, own: Option<&str>) -> Vec<(&'static str, Value)> {
    let mut calls = vec![
        ("search", json!({ "query": format!("fox{number} mark") })),
        ("search", json!({ "query": "noted all says" })),
        ("search", json!({ "query": "all", "since": "2020-01-01", "until": "2030-01-01", "role": "user" })),
        ("search", json!({ "query": "all", "cursor": "1.999" })),
        ("grep", json!({ "pattern": "mark.end" })),
        ("grep", json!({ "pattern": "(?s).*", "cursor": "1.999" })),
        ("describe", json!({})),
        ("describe", json!({ "cursor": "1.1" })),
        ("answer", json!({ "question": "what says the fox?" })),
    ];
    for name in names(engine, number) {
        calls.push(("describe", json!({ "name": name })));
        calls.push(("expand", json!({ "name": name })));
        calls.push(("search", json!({ "query": "all", "conversation": name })));
        calls.push(("grep", json!({ "pattern": "all", "conversation": name })));
        calls.push(("expand", json!({ "name": name, "conversation": own })));
        calls.push(("expand", json!({ "name": name, "cursor": "1.0" })));
    }
    calls
}

async fn leaks(engine: &Engine, scope: RecallScope, number: usize, own: Option<&str>) -> Vec<String> {
    let client = client(Memory::new(engine.clone(), scope), discover()).await;
    let mut all = Vec::new();
    for (tool, arguments) in calls(engine, number, own) {
        all.push(format!("{tool} {arguments}: {}", told(&client, tool, &arguments).await));
    }
    all.push(format!("{:?}", client.list_all_resources().await.unwrap()));
    for name in names(engine, number) {
        for kind in ["conversation", "entry"] {
            let uri = format!("unforget://{kind}/{name}");
            all.push(format!("{:?}", client.read_resource(ReadResourceRequestParams::new(uri)).await));
        }
    }
    let marks = [format!("mark{number}end"), format!("hidden{number}key")];
    all.retain(|told| marks.iter().any(|mark| told.contains(mark)));
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn f110_nothing_outside_of_a_scope_is_told(inside in proptest::collection::btree_set(0..CONVERSATIONS, 0..CONVERSATIONS), number in 0..CONVERSATIONS) {
        let engine = engine();
        let id = |number: &usize| engine.resolve(&format!("pi:c{number}-")).unwrap().conversation;
        let scope = RecallScope::Only(inside.iter().map(|number| id(number).id).collect());
        let own = inside.first().map(|number| id(number).key.0);
        let found = run(leaks(&engine, scope, number, own.as_deref()));
        prop_assert_eq!(found.is_empty(), !inside.contains(&number), "{:?}", found.first());
    }
}

/// The check above can fail: with everything in scope, these calls reveal every conversation.
#[test]
fn the_same_calls_tell_what_is_in_scope() {
    let engine = engine();
    for number in 0..CONVERSATIONS {
        let found = run(leaks(&engine, RecallScope::All, number, None));
        assert!(found.len() > 12, "{number}: {found:?}");
    }
}

#[test]
fn what_is_searched_is_counted_within_the_scope() {
    let engine = engine();
    let one = RecallScope::Only(BTreeSet::from([engine.resolve("pi:c1-").unwrap().conversation.id]));
    run(async {
        let client = client(Memory::new(engine.clone(), one), discover()).await;
        for (tool, arguments) in
            [("search", json!({ "query": "nobody" })), ("search", json!({ "query": "noted" }))]
        {
            let result = call(&client, tool, &arguments).await;
            assert_eq!((&value(&result)["searched"], &value(&result)["total"]), (&json!(3), &json!(3)));
        }
        let result = call(&client, "grep", &json!({ "pattern": "noted" })).await;
        assert_eq!(value(&result)["total"], 4, "the record of the session has no words");
        // With a single conversation in scope, names of a prompt need no key.
        let result = call(&client, "expand", &json!({ "name": "s:1" })).await;
        assert!(text(&result).contains("mark1end"), "{}", text(&result));
    });
}
