//! Pins, through the binary.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use support::{Place, text};

#[test]
fn what_is_pinned_stands_in_every_prompt_until_it_is_taken_back() {
    let place = Place::imported();
    let pinned = place.json(&["pin", "pi:", "Never touch the \"boathouse\"."], 0);
    assert_eq!((pinned["pin"].as_u64(), pinned["state"].as_str()), (Some(1), Some("active")), "{pinned}");
    let again = place.json(&["pin", "pi:", "Never touch the \"boathouse\"."], 0);
    assert_eq!(again, pinned, "twice is one pin");
    for dialect in ["anthropic", "openai-chat", "openai-responses", "pi", "gemini", "bedrock-converse"] {
        let prompt = place.json(&["prompt", "pi:", "--dialect", dialect, "--window", "2k"], 0);
        let request = prompt["request"].to_string();
        assert!(request.contains(r#"Never touch the \"boathouse\"."#), "{dialect}: {request}");
        assert_eq!(prompt["certificate"]["pins"], serde_json::json!([1]));
        assert!(prompt["certificate"]["sections"]["pins"]["upper"].as_u64() > Some(0));
    }
    assert!(text(&place.run(&["prompt", "pi:"], 0).stderr).contains("1 active pin, verbatim"));
    let by = place.json(&["pin", "pi:", "Ask first.", "--supersedes", "1", "--entry", "s:1"], 0);
    assert_eq!((by["pin"].as_u64(), by["seq"].as_u64()), (Some(2), Some(1)), "{by}");
    let list = place.json(&["pins", "pi:"], 0);
    assert_eq!(
        (&list["pins"][0]["state"], &list["pins"][0]["superseded_by"]),
        (&"superseded".into(), &2.into())
    );
    assert_eq!(place.json(&["unpin", "pi:", "2"], 0)["state"], "retired");
    let prompt = place.json(&["prompt", "pi:"], 0);
    assert!(!prompt["request"].to_string().contains("Ask first."), "{prompt}");
    assert!(text(&place.run(&["pins", "pi:"], 0).stdout).contains("superseded by 2"));
}

#[test]
fn entries_can_be_pinned_and_proposals_accepted() {
    let place = Place::imported();
    let pinned = place.json(&["pin", "pi:", "--entry", "s:5"], 0);
    assert_eq!((pinned["text"].as_str(), pinned["seq"].as_u64()), (Some("Thank you."), Some(5)), "{pinned}");
    let list = place.json(&["pins", "pi:", "--proposals"], 0);
    let proposal = &list["proposals"][0];
    assert_eq!(proposal["text"], "Never touch the boathouse.", "{list}");
    assert_eq!((proposal["number"].as_u64(), proposal["kind"].as_str()), (Some(1), Some("prohibition")));
    let list = place.json(&["pins", "pi:", "--accept", "1", "--proposals"], 0);
    assert_eq!(list["pins"][1]["text"], "Never touch the boathouse.");
    assert_eq!(list["proposals"].as_array().unwrap().len(), 0, "{list}");
}

#[test]
fn unusable_pins_are_wrong_usage_and_change_nothing() {
    let place = Place::imported();
    let long = "x".repeat(5_000);
    let table: &[&[&str]] = &[
        &["pin", "pi:"],
        &["pin", "pi:", "  "],
        &["pin", "pi:", &long],
        &["pin", "pi:", "--entry", "s:99"],
        &["pin", "pi:", "--entry", "s:1-2"],
        &["pin", "pi:", "x", "--supersedes", "7"],
        &["unpin", "pi:", "7"],
        &["pins", "pi:", "--accept", "9"],
        &["pins", "nobody"],
    ];
    for args in table {
        place.run(args, 2);
    }
    assert_eq!(place.json(&["pins", "pi:"], 0)["pins"].as_array().unwrap().len(), 0);
}

#[test]
fn pins_that_leave_no_room_are_named() {
    let place = Place::imported();
    place.json(&["pin", "pi:", &"never touch it ".repeat(260)], 0);
    let error = place.json(&["prompt", "pi:", "--window", "1k"], 3);
    assert_eq!(error["error"]["kind"], "irreducible");
    assert!(error["error"]["message"].as_str().unwrap().contains("1 pins"), "{error}");
}
