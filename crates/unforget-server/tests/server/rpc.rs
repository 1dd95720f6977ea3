//! Order, deadlines, cancellation, hostile frames: properties for any input of a host.
#![cfg(unix)]
use std::collections::BTreeMap;

use crate::support::{Client, gated, server};
use proptest::prelude::*;
use serde_json::{Value, json};
use unforget_server::rpc::CallLimits;

fn user(text: &str) -> Value {
    json!({ "message": { "role": "user", "content": text } })
}

fn turn(lane: &str, key: usize) -> Value {
    json!({ "lane": lane, "form": "pi", "turn": key.to_string(), "messages": [user(&format!("{lane} {key}"))] })
}

#[test]
fn calls_of_a_lane_are_answered_in_order_over_all_lanes() {
    let mut client = Client::new(CallLimits { workers: 3, ..CallLimits::default() });
    for at in 0..60 {
        let lane = format!("lane {}", at % 4);
        let call = json!({ "jsonrpc": "2.0", "id": at, "method": "commitTurn", "params": turn(&lane, at) });
        client.send(&call.to_string());
    }
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    for _ in 0..60 {
        let answer = client.answer();
        let id = answer["id"].as_u64().unwrap();
        assert_eq!(answer["result"]["status"], "committed", "{answer}");
        assert!(last.insert(id % 4, id).is_none_or(|before| before < id), "{id} came late");
    }
    for lane in 0..4 {
        let params = json!({ "lane": format!("lane {lane}"), "budget": 9_000, "dialect": "pi" });
        let answer = client.call(100 + lane, "assemble", &params);
        let messages = answer["result"]["messages"].as_array().unwrap();
        let said: Vec<_> =
            messages.iter().map(|message| message["content"].as_str().unwrap().to_owned()).collect();
        let want: Vec<_> =
            (0..60).filter(|at| at % 4 == lane).map(|at| format!("lane {lane} {at}")).collect();
        assert_eq!(said, want);
    }
}

/// Through many breaks, the held prompt and the sent rest make up the prompt that another host gets whole.
#[test]
fn what_a_host_holds_and_what_it_is_sent_are_the_prompt() {
    let mut client = Client::new(CallLimits::default());
    let (mut held, mut holds) = (Vec::new(), json!({ "length": 0, "digest": "" }));
    let (mut sent, mut whole) = (0, 0);
    for at in 0..120 {
        let said = format!("turn {at}: {}", "some words of no weight ".repeat(20));
        let turn = json!({ "lane": "a", "form": "pi", "turn": at.to_string(), "messages": [user(&said)] });
        assert_eq!(client.call(3 * at, "commitTurn", &turn)["result"]["status"], "committed");
        let ask = |holds: Value| json!({ "lane": "a", "budget": 4_000, "dialect": "pi", "holds": holds });
        let all = client.call(3 * at + 1, "assemble", &ask(Value::Null))["result"].clone();
        assert!(all.get("same").is_none() && all.get("given").is_none(), "{all}");
        let rest = client.call(3 * at + 2, "assemble", &ask(holds.clone()))["result"].clone();
        let rest_messages = rest["messages"].as_array().unwrap();
        held.truncate(usize::try_from(rest["same"].as_u64().unwrap()).unwrap());
        held.extend(rest_messages.iter().cloned());
        assert_eq!(&held, all["messages"].as_array().unwrap(), "turn {at}");
        holds = rest["given"].clone();
        (sent, whole) = (sent + rest_messages.len(), whole + held.len());
    }
    assert!(sent * 4 < whole, "{sent} messages of {whole} were sent");
}

#[test]
fn the_end_of_input_leaves_nothing_unanswered() {
    let mut client = Client::new(CallLimits::default());
    for at in 0..40 {
        let call = json!({ "jsonrpc": "2.0", "id": at, "method": "commitTurn", "params": turn("a", at) });
        client.send(&call.to_string());
    }
    client.bytes(br#"{"jsonrpc":"2.0","id":40,"method":"status","params":{"lane":"a"}}"#);
    client.finish();
    let answers: Vec<Value> = (0..41).map(|_| client.answer()).collect();
    assert_eq!(answers[40]["result"]["path"], 40, "the last line needs no end");
    assert!(client.line().is_empty());
}

#[test]
fn calls_that_wait_can_be_taken_back_and_expire() {
    let (server, gate) = gated(CallLimits::default());
    let mut client = Client::of(&server);
    client.send(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "commitTurn", "params": turn("a", 1) }).to_string(),
    );
    gate.wait();
    client.send(
        r#"{"jsonrpc":"2.0","id":"x","method":"event","params":{"lane":"a","event":{"name":"reset"}}}"#,
    );
    client.send(r#"{"jsonrpc":"2.0","method":"$/cancel","params":{"id":"x"}}"#);
    let taken_back = client.answer();
    assert_eq!((&taken_back["id"], &taken_back["error"]["code"]), (&json!("x"), &json!(-32_800)));
    client.send(r#"{"jsonrpc":"2.0","id":"y","method":"event","params":{"lane":"a","deadlineMs":1,"event":{"name":"reset"}}}"#);
    assert_eq!(client.answer()["error"]["data"]["kind"], "deadline", "at once, although the lane is busy");
    for id in ["1", "\"gone\""] {
        client.send(&format!(r#"{{"jsonrpc":"2.0","method":"$/cancel","params":{{"id":{id}}}}}"#));
    }
    assert_eq!(client.call(2, "status", &json!({}))["result"]["running"], 2, "others do not wait");
    gate.open();
    let begun = client.answer();
    assert_eq!(
        (&begun["id"], &begun["result"]["late"]),
        (&json!(1), &json!("cancelled")),
        "it finished: {begun}"
    );
    assert_eq!(begun["result"]["added"], 1);
    let status = client.call(3, "status", &json!({ "lane": "a" }));
    assert_eq!(
        (&status["result"]["path"], &status["result"]["generation"]),
        (&json!(1), &json!(0)),
        "no reset was done"
    );
}

#[test]
fn bad_frames_are_answered_and_the_connection_goes_on() {
    let mut client = Client::new(CallLimits { frame_bytes: 4_096, ..CallLimits::default() });
    let long = "x".repeat(5_000);
    let deep =
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"open","params":{{"lane":{}}}}}"#, "[".repeat(2_000));
    let deep_message = format!(
        r#"{{"jsonrpc":"2.0","id":2,"method":"catchUp","params":{{"lane":"a","form":"pi","messages":[{{"message":{{"role":"user","x":{}1{}}}}}]}}}}"#,
        "[".repeat(1_500),
        "]".repeat(1_500)
    );
    let table: [(&[u8], &str, &str); 11] = [
        (b"{\"jsonrpc\":\"2.0\"", "parse", "half a frame"),
        (b"\xff\xfe{}", "parse", "not UTF-8"),
        (b"\x00\x01", "parse", "not text"),
        (long.as_bytes(), "invalid", "too long"),
        (deep.as_bytes(), "parse", "deep and unfinished"),
        (b"[]", "invalid", "a batch"),
        (b"null", "invalid", "not an object"),
        (br#"{"jsonrpc":"1.0","id":1,"method":"status"}"#, "invalid", "another version"),
        (br#"{"jsonrpc":"2.0","id":[1],"method":"status"}"#, "invalid", "an odd id"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"open","params":{"lane":7}}"#, "params", "a lane is a string"),
        (br#"{"jsonrpc":"2.0","id":1,"method":"open","params":{"lane":""}}"#, "params", "and has a name"),
    ];
    for (bytes, kind, why) in table {
        client.bytes(bytes);
        client.bytes(b"\n");
        let answer = client.answer();
        assert_eq!(answer["error"]["data"]["kind"], kind, "{why}: {answer}");
        assert_eq!(answer["error"]["data"]["stored"], false, "{why}");
    }
    client.send(&deep_message);
    assert!(client.answer()["id"] == 2, "deep nesting is read or refused, and overflows nothing");
    assert_eq!(client.call(3, "status", &json!({}))["result"]["protocol"], 1);
}

#[test]
fn f118_a_host_that_speaks_something_else_is_told_so() {
    let told = |params: Value| Client::new(CallLimits::default()).call(1, "initialize", &params);
    for params in [json!({}), json!({ "protocol": 1 }), json!({ "protocol": 1, "newField": [1] })] {
        let answer = told(params);
        assert_eq!(answer["result"]["protocol"], 1, "{answer}");
        // A host can see the available calls before it relies on them.
        let verbs = answer["result"]["verbs"].as_array().unwrap();
        for verb in ["catchUp", "commitTurn", "assemble", "compact", "search"] {
            assert!(verbs.contains(&json!(verb)), "{verb}: {answer}");
        }
    }
    for params in [json!({ "protocol": 0 }), json!({ "protocol": 2 })] {
        let answer = told(params.clone());
        assert_eq!(answer["error"]["data"]["kind"], "protocol", "{params}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("does not speak version"), "{answer}");
    }
    for params in [json!({ "protocol": "1" }), json!([]), json!({ "protocol": -1 })] {
        assert!(told(params.clone())["error"].is_object(), "{params}");
    }
}

#[test]
fn an_id_is_its_own_until_it_is_answered() {
    let (server, gate) = gated(CallLimits::default());
    let mut client = Client::of(&server);
    client.send(
        &json!({ "jsonrpc": "2.0", "id": 1, "method": "commitTurn", "params": turn("a", 1) }).to_string(),
    );
    client.send(r#"{"jsonrpc":"2.0","id":1,"method":"status","params":{"lane":"a"}}"#);
    gate.wait();
    let refused = client.answer();
    assert_eq!(
        (&refused["id"], &refused["error"]["data"]["kind"]),
        (&Value::Null, &json!("invalid")),
        "{refused}"
    );
    gate.open();
    assert_eq!(client.answer()["result"]["added"], 1);
    assert_eq!(
        client.call(1, "status", &json!({ "lane": "a" }))["result"]["path"],
        1,
        "then it is free again"
    );
}

#[test]
fn bytes_are_stored_and_given_back_as_they_came() {
    let mut client = Client::new(CallLimits::default());
    let body = r#"{"role":"user", "content":"a\u00e9 \ud83d\ude00 1.0e3","timestamp":1795000000000,"n":1.50,"a":{"b" : [1 ,2]}}"#;
    client.send(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"catchUp","params":{{"lane":"a","form":"pi","messages":[{{"message":{body}}}]}}}}"#
    ));
    assert_eq!(client.answer()["result"]["added"], 1);
    client.send(
        r#"{"jsonrpc":"2.0","id":2,"method":"assemble","params":{"lane":"a","budget":9000,"dialect":"pi"}}"#,
    );
    assert!(client.line().contains(&format!("\"messages\":[{body}]")));
}

#[test]
fn a_second_connection_sees_the_same_lanes() {
    let server = server(CallLimits::default());
    let (mut one, mut two) = (Client::of(&server), Client::of(&server));
    assert_eq!(one.call(1, "commitTurn", &turn("a", 1))["result"]["added"], 1);
    assert_eq!(two.call(1, "commitTurn", &turn("a", 1))["result"]["status"], "duplicate");
    drop(one);
    assert_eq!(two.call(2, "status", &json!({ "lane": "a" }))["result"]["path"], 1);
    assert_eq!(two.call(3, "shutdown", &json!({}))["result"]["done"], true);
    assert!(two.is_at_end());
    let mut late = Client::of(&server);
    assert_eq!(late.call(1, "status", &json!({}))["error"]["data"]["kind"], "shuttingDown");
}

/// A model supplies the name, and may have invented it or read it somewhere.
#[test]
fn names_of_other_lanes_are_not_known_in_a_lane() {
    let mut client = Client::new(CallLimits::default());
    for lane in ["agent:main:x", "agent:main:y"] {
        assert_eq!(client.call(1, "commitTurn", &turn(lane, 1))["result"]["added"], 1);
    }
    let table = [
        (json!({ "lane": "agent:main:y", "name": "e:journal:agent:main:x:0" }), false, "another lane's key"),
        (json!({ "lane": "agent:main:y", "name": "e:journal:agent:main:x:0-3" }), false, "a range of it"),
        (json!({ "lane": "agent:main:y", "name": "e:agent:main:x:0" }), false, "a part of its key"),
        (
            json!({ "conversation": "journal:agent:main:y", "name": "e:journal:agent:main:x:0" }),
            false,
            "by key",
        ),
        (json!({ "lane": "agent:main:y", "name": "e:journal:agent:main:y:0" }), true, "its own key"),
        (json!({ "lane": "agent:main:y", "name": "s:0" }), true, "its own place"),
        (json!({ "name": "e:journal:agent:main:x:0" }), true, "no lane, no bounds"),
    ];
    for (params, is_told, why) in table {
        for verb in ["describe", "expand"] {
            let answer = client.call(2, verb, &params);
            assert_eq!(answer["error"]["data"]["kind"] == "usage", !is_told, "{why}: {verb}: {answer}");
        }
    }
}

#[test]
fn lanes_that_are_not_used_leave_memory_and_come_back() {
    let mut client = Client::new(CallLimits { lanes: 2, ..CallLimits::default() });
    for round in 0..3 {
        for lane in 0..6 {
            let answer =
                client.call(round * 6 + lane, "commitTurn", &turn(&format!("lane {lane}"), round as usize));
            assert_eq!(answer["result"]["added"], 1, "{answer}");
        }
    }
    let status = client.call(100, "status", &json!({ "lane": "lane 3" }));
    assert_eq!(status["result"]["path"], 3);
}

#[test]
fn too_much_that_waits_is_refused() {
    let (server, gate) = gated(CallLimits { queued: 5, ..CallLimits::default() });
    let mut client = Client::of(&server);
    for id in 0..30 {
        client.send(
            &json!({ "jsonrpc": "2.0", "id": id, "method": "commitTurn", "params": turn("a", id) })
                .to_string(),
        );
        if id == 0 {
            gate.wait();
        }
    }
    let refused: Vec<Value> = (6..30).map(|_| client.answer()).collect();
    assert!(refused.iter().all(|answer| answer["error"]["data"]["kind"] == "busy"), "{refused:?}");
    gate.open();
    let done: Vec<Value> = (0..6).map(|_| client.answer()["id"].clone()).collect();
    assert_eq!(done, [0, 1, 2, 3, 4, 5]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any input, every line is answered once and the server survives.
    #[test]
    fn every_line_is_answered(lines in prop::collection::vec(any_line(), 1..12)) {
        let mut client = Client::new(CallLimits { frame_bytes: 512, ..CallLimits::default() });
        for line in &lines {
            client.bytes(line);
            client.bytes(b"\n");
        }
        for _ in &lines {
            let answer = client.answer();
            prop_assert!(answer["result"].is_object() || answer["error"]["data"]["hint"].is_string(), "{}", answer);
        }
        prop_assert!(client.is_at_end());
    }
}

fn any_line() -> impl Strategy<Value = Vec<u8>> {
    let verb = prop::sample::select(vec![
        "open",
        "catchUp",
        "commitTurn",
        "assemble",
        "event",
        "expand",
        "compact",
        "nope",
    ]);
    let params = prop::sample::select(vec![
        r#"{"lane":"a","form":"pi"}"#,
        r#"{"lane":"a","turn":"t","messages":[{"message":{"role":"user","content":"x"}}]}"#,
        r#"{"lane":"b","form":"anthropic","budget":5000,"dialect":"anthropic","live":{"messages":[{"digest":"00"}]}}"#,
        r#"{"lane":"a","event":{"name":"rewind","to":"x"}}"#,
        r#"{"name":"s:99999999999999999999"}"#,
        r#"{"lane":"a","array":{"base":{"length":18446744073709551615,"digest":""},"messages":[]}}"#,
        "[]",
        "7",
    ]);
    let call = (0..1_000_000_u64, verb, params).prop_map(|(id, verb, params)| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{verb}","params":{params}}}"#).into_bytes()
    });
    let noise = prop::collection::vec(any::<u8>().prop_filter("a line", |byte| *byte != b'\n'), 1..700)
        .prop_filter("not blank", |line| !line.iter().all(u8::is_ascii_whitespace));
    prop_oneof![3 => call, 1 => noise]
}

/// No method takes a path: a host can have words pinned, and no file read.
#[test]
fn no_host_can_have_a_file_read() {
    let mut client = Client::new(CallLimits::default());
    client.call(1, "commitTurn", &turn("a", 1));
    for name in ["file", "path"] {
        let answer = client.call(2, "pin", &json!({ "lane": "a", "form": "pi", name: "/etc/hostname" }));
        assert_eq!(answer["error"]["message"], "the method needs `text` or `entry`", "{answer}");
    }
    let pinned =
        client.call(3, "pin", &json!({ "lane": "a", "form": "pi", "text": "x", "file": "/etc/hostname" }));
    assert_eq!(pinned["result"]["pin"], 1, "{pinned}");
    let list = client.call(4, "pins", &json!({ "lane": "a", "form": "pi" }));
    let pin = &list["result"]["pins"][0];
    assert_eq!((&pin["text"], &pin["file"]), (&json!("x"), &Value::Null), "{list}");
}
