//! Entries that are put back into the prompt, through the binary.

use serde_json::Value;

use crate::support::{Place, text};

/// A long session, and its key.
fn long(place: &Place) -> String {
    let mut lines = Vec::new();
    for turn in 0..60 {
        let words = format!("word{turn} ").repeat(120);
        lines.push(format!(r#"{{"role":"user","content":"Question {turn}: {words}"}}"#));
        lines.push(format!(r#"{{"role":"assistant","content":"Answer {turn}. {words}"}}"#));
    }
    place.write("long.jsonl", &lines.join("\n"));
    place.run(&["import", "long.jsonl", "-q"], 0);
    let list = place.json(&["list"], 0);
    list[0]["conversation"].as_str().unwrap().to_owned()
}

fn prompt(place: &Place, key: &str) -> Value {
    place.json(&["prompt", key, "--window", "8k", "--dialect", "anthropic"], 0)
}

#[test]
fn what_left_is_put_back_until_it_is_undone() {
    let place = Place::new();
    let key = long(&place);
    let before = prompt(&place, &key);
    assert_eq!(before["certificate"]["raised"], serde_json::json!({"whole": 0, "short": 0, "left_out": 0}));
    let list = place.json(&["uncompact", &key, "--entries", "4-5", "--entries", "9", "--by", "ann"], 0);
    assert_eq!(
        (list["raised"][0]["first"].as_u64(), list["raised"][1]["last"].as_u64()),
        (Some(4), Some(9)),
        "{list}"
    );
    assert_eq!(
        (list["raised"][0]["author"].as_str(), list["raised"][0]["entries"].as_u64()),
        (Some("ann"), Some(2))
    );
    let after = prompt(&place, &key);
    let request = after["request"].to_string();
    assert_eq!(request.matches(r#"<entry id=\"s:9\""#).count(), 1, "{request}");
    assert!(after["certificate"]["sections"]["raised"]["upper"].as_u64() > Some(0), "{after}");
    let raised = &after["certificate"]["raised"];
    let all = ["whole", "short", "left_out"].map(|name| raised[name].as_u64().unwrap()).iter().sum::<u64>();
    assert_eq!(all, 3, "{raised}");
    assert!(text(&place.run(&["prompt", &key, "--window", "8k"], 0).stderr).contains("  put back   "));
    assert!(text(&place.run(&["uncompact", &key, "--list"], 0).stdout).contains("stands"));
    place.run(&["uncompact", &key, "--undo", "1"], 0);
    place.run(&["uncompact", &key, "--undo", "2"], 0);
    assert_eq!(prompt(&place, &key)["request"], before["request"], "as before");
    assert!(text(&place.run(&["uncompact", &key, "--list"], 0).stdout).contains("taken away"));
}

#[test]
fn the_span_before_a_break_is_put_back() {
    let place = Place::new();
    let key = long(&place);
    let list = place.json(&["uncompact", &key, "--break", "2", "--window", "8k"], 0);
    let (first, last) =
        (list["raised"][0]["first"].as_u64().unwrap(), list["raised"][0]["last"].as_u64().unwrap());
    assert!(first > 0 && last > first, "{list}");
    assert!(
        prompt(&place, &key)["certificate"]["raised"]["left_out"].as_u64() > Some(0),
        "it is more than fits"
    );
    let unknown = place.json(&["uncompact", &key, "--break", "900", "--window", "8k"], 2);
    assert!(unknown["error"]["hint"].as_str().unwrap().contains("1, 2"), "{unknown}");
}

#[test]
fn unusable_spans_are_wrong_usage_and_change_nothing() {
    let place = Place::imported();
    let table: &[&[&str]] = &[
        &["uncompact", "pi:"],
        &["uncompact", "pi:", "--entries", "900-990"],
        &["uncompact", "pi:", "--entries", "9-3"],
        &["uncompact", "pi:", "--entries", "x"],
        &["uncompact", "pi:", "--undo", "7"],
        &["uncompact", "pi:", "--list", "--undo", "7"],
        &["uncompact", "pi:", "--break", "1"],
        &["uncompact", "nobody", "--list"],
    ];
    for args in table {
        place.run(args, 2);
    }
    assert_eq!(place.json(&["uncompact", "pi:", "--list"], 0)["raised"].as_array().unwrap().len(), 0);
}
