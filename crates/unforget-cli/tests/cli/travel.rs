//! Past prompts, through the binary: a host drives the engine, then a person inspects.

use crate::support::{Place, text};
use serde_json::{Value, json};

const LANE: &str = "journal:agent:past";

/// A host that goes through turns until the context breaks. Returns the prompts that it received.
fn drive(place: &Place, turns: i64) -> Vec<Value> {
    let mut calls = String::new();
    let mut call = |id: i64, method: &str, params: Value| {
        let call = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        calls.push_str(&call.to_string());
        calls.push('\n');
    };
    call(1, "open", json!({ "lane": "agent:past", "form": "openai-chat" }));
    let long = "a line that says something about the harbour\n".repeat(40);
    for n in 0..turns {
        let asked = json!({ "message": { "role": "user", "content": format!("question {n} {long}") } });
        let said = json!({ "message": { "role": "assistant", "content": format!("answer {n}") } });
        call(
            n * 10 + 10,
            "beginTurn",
            json!({ "lane": "agent:past", "turn": n.to_string(), "messages": [asked] }),
        );
        if n == 2 {
            call(
                n * 10 + 11,
                "pin",
                json!({ "lane": "agent:past", "text": "Never touch the boathouse.", "entry": "s:1" }),
            );
        }
        call(
            n * 10 + 12,
            "assemble",
            json!({ "lane": "agent:past", "budget": 4_500, "dialect": "openai-chat" }),
        );
        call(
            n * 10 + 13,
            "commitTurn",
            json!({ "lane": "agent:past", "turn": n.to_string(), "messages": [asked, said] }),
        );
    }
    let output = place.command().args(["engine", "--stdio"]).write_stdin(calls).output().unwrap();
    let answers = text(&output.stdout);
    let answers = answers.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    answers.filter(|answer| answer["id"].as_i64().is_some_and(|id| id % 10 == 2)).collect()
}

#[test]
fn what_was_sent_is_composed_again_compared_and_explained() {
    let place = Place::new();
    let sent = drive(&place, 14);
    assert_eq!(sent.len(), 14);
    let prompts = place.json(&["prompts", LANE], 0);
    let rows = prompts["prompts"].as_array().unwrap();
    assert_eq!(rows.len(), 14, "{prompts}");
    for (row, sent) in rows.iter().zip(&sent) {
        let number = format!("r{}", row["prompt"]);
        let again = place.json(&["prompt", LANE, "--at", &number], 0);
        assert_eq!(again["same"], true, "{number}");
        assert_eq!(again["messages"], sent["result"]["messages"], "{number}");
    }
    let broken = |cause: &str| rows.iter().any(|row| row["broken"] == cause);
    assert!(broken("first") && broken("pins") && broken("compaction"), "{prompts}");
    let diff = place.json(&["diff", LANE, "r1", "r14"], 0);
    let causes: Vec<_> = diff["breaks"].as_array().unwrap().iter().map(|one| one["cause"].clone()).collect();
    assert!(causes.contains(&json!("pins")) && causes.contains(&json!("compaction")), "{diff}");
    assert_eq!(diff["pinned"], json!([1]));
    assert!(
        diff["changed"][0]["is"]["summary"].as_str().is_some_and(|name| name.starts_with("sum:")),
        "{diff}"
    );
    assert!(diff["from"]["tokens"].as_u64() < diff["to"]["tokens"].as_u64());
    let why = place.json(&["why", "s:1", "--conversation", LANE], 0);
    assert_eq!((&why["part"]["how"], &why["pins"]), (&json!("summary"), &json!([1])), "{why}");
    assert_eq!(why["since"]["broken"], "compaction", "{why}");
    let last = rows[13]["head"].as_u64().unwrap().to_string();
    assert_eq!(place.json(&["why", &last, "--conversation", LANE], 0)["part"]["how"], "whole");
    assert!(text(&place.run(&["why", &format!("e:{LANE}:1")], 0).stdout).contains("since r"));
    assert!(text(&place.run(&["diff", LANE, "r1", "r14"], 0).stdout).contains("break at r"));
    assert!(text(&place.run(&["prompts", LANE], 0).stdout).contains("compaction"));
    assert!(text(&place.run(&["prompt", LANE, "--at", "r3"], 0).stderr).contains("byte for byte"));
    for args in [
        &["prompt", LANE, "--at", "r99"][..],
        &["prompt", LANE, "--at", "x"],
        &["diff", LANE, "r3", "r3"],
        &["diff", LANE, "r1", "r99"],
        &["why", "s:9999", "--conversation", LANE],
        &["why", "s:1"],
    ] {
        place.run(args, 2);
    }
}

#[test]
fn status_says_what_left_why_and_how_to_get_it_back() {
    let place = Place::new();
    drive(&place, 14);
    let status = place.json(&["status", LANE], 0);
    let newest = &status["prompt"];
    assert_eq!((&newest["prompt"], &newest["rung"]), (&json!(14), &json!("assembled")), "{status}");
    let used = newest["tokens_upper"].as_f64().unwrap() / newest["budget"].as_f64().unwrap();
    assert!((newest["used"].as_f64().unwrap() - used).abs() < 1e-9 && used <= 1.0, "{status}");
    let left = status["left"].as_array().unwrap();
    assert!(left.iter().any(|one| one["how"] == "summary"), "{status}");
    for one in left {
        let all = place.json(&["expand", one["expand"].as_str().unwrap(), "--conversation", LANE], 0);
        assert!(all.to_string().contains("harbour"), "{one} gives it back");
    }
    let breaks = status["breaks"].as_array().unwrap();
    let causes: Vec<_> = breaks.iter().map(|one| one["cause"].as_str().unwrap()).collect();
    assert!(causes.contains(&"compaction") && causes.contains(&"pins"), "{status}");
    assert_eq!((&status["kept"], &status["live"]), (&json!(14), &Value::Null), "nobody else was asked");
    let said = text(&place.run(&["status", LANE], 0).stdout);
    assert!(said.contains("unforget expand sum:") && said.contains("older entries are summarised"), "{said}");
    let all = place.json(&["status"], 0);
    assert_eq!(all["conversations"][0]["conversation"], LANE, "{all}");
    let name = place.json(&["list"], 0)[0]["name"].as_str().unwrap().to_owned();
    assert!(text(&place.run(&["status"], 0).stdout).contains(&name));
    place.run(&["status", "nobody"], 2);
}

#[test]
fn a_conversation_without_kept_prompts_is_looked_at_as_it_would_be_sent() {
    let place = Place::imported();
    assert_eq!(place.json(&["prompts", "pi:"], 0)["prompts"].as_array().unwrap().len(), 0);
    let why = place.json(&["why", "s:1", "--conversation", "pi:", "--window", "8k"], 0);
    assert_eq!((&why["prompt"], &why["since"]), (&Value::Null, &Value::Null), "{why}");
    assert!(why["part"]["how"].is_string(), "{why}");
    assert!(text(&place.run(&["why", "e:pi::1"], 0).stdout).contains("made now"));
    let status = place.json(&["status", "pi:"], 0);
    assert_eq!((&status["prompt"], &status["left"]), (&Value::Null, &json!([])), "{status}");
    assert!(text(&place.run(&["status", "pi:"], 0).stdout).contains("none was made"));
}
