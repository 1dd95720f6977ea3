//! Titles, stars and tags, through the binary.

use serde_json::Value;

use crate::support::{Place, text};

/// Two conversations whose ids begin alike, and their names in the list.
fn alike() -> (Place, Vec<String>) {
    let place = Place::new();
    for number in 1..=2 {
        let id = format!("11111111-0000-4000-8000-00000000000{number}");
        let line = format!(
            r#"{{"uuid":"u{number}","parentUuid":null,"sessionId":"{id}","cwd":"/home/ann/tool","type":"user","timestamp":"2026-04-01T10:00:0{number}Z","message":{{"role":"user","content":"Question {number}"}}}}"#
        );
        place.write(&format!("{id}.jsonl"), &(line + "\n"));
        place.run(&["import", "-q", &format!("{id}.jsonl")], 0);
    }
    let list = place.json(&["list"], 0);
    let names = list.as_array().unwrap().iter().rev().map(|one| one["name"].as_str().unwrap().to_owned());
    (place, names.collect())
}

fn of(place: &Place, name: &str) -> Value {
    let list = place.json(&["list"], 0);
    list.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap().clone()
}

#[test]
fn a_label_is_kept_shown_and_filtered_by() {
    let (place, names) = alike();
    assert_eq!(names, ["000001", "000002"], "ids that begin alike are told apart by their ends");
    let first = names[0].as_str();
    let blank = place.json(&["label", first], 0);
    assert_eq!(
        (&blank["title"], &blank["starred"], &blank["changed"]),
        (&Value::Null, &Value::Bool(false), &Value::Null)
    );
    let label = place
        .json(&["label", first, "--title", "The parser", "--star", "--tag", "Later", "--tag", "infra"], 0);
    assert_eq!(label["tags"], serde_json::json!(["infra", "later"]), "{label}");
    assert!(label["changed"].is_string());
    let listed = of(&place, first);
    assert_eq!((&listed["title"], &listed["titled_by"]), (&Value::from("The parser"), &Value::from("label")));
    let shown = text(&place.run(&["list"], 0).stdout);
    assert!(shown.contains("★ #infra #later The parser") && shown.contains("Question 2"), "{shown}");
    for args in
        [&["list", "--starred"][..], &["list", "--tag", "LATER", "--tag", "infra"], &["list", "parser"]]
    {
        assert_eq!(place.json(args, 0).as_array().unwrap().len(), 1, "{args:?}");
    }
    assert_eq!(place.json(&["list", "--tag", "other"], 0), serde_json::json!([]));
    place.run(&["import", "-q", "11111111-0000-4000-8000-000000000001.jsonl"], 0);
    assert_eq!(of(&place, first)["title"], "The parser", "an import changes nothing");
    let bytes = place.run(&["export", first], 0).stdout;
    assert!(!text(&bytes).contains("The parser"), "nor is the transcript changed");
    place.run(&["label", first, "--title", "", "--no-star", "--untag", "later", "--untag", "infra"], 0);
    let listed = of(&place, first);
    assert_eq!((&listed["title"], &listed["starred"]), (&Value::from("Question 1"), &Value::Bool(false)));
}

#[test]
fn hostile_labels_are_refused_with_their_place() {
    let (place, names) = alike();
    let first = names[0].as_str();
    let long = "x".repeat(100_000);
    let many: Vec<String> = (0..100).flat_map(|at| ["--tag".to_owned(), format!("t{at}")]).collect();
    let mut tags = vec!["label", first];
    tags.extend(many.iter().map(String::as_str));
    let table: [(&[&str], &str); 6] = [
        (&["label", first, "--title", &long], "100000 bytes, at most 200 characters"),
        (&["label", first, "--title", "a\u{1b}[2J"], "U+001B at byte 1"),
        (&["label", first, "--title", "\u{202e}x"], "U+202E at byte 0"),
        (&["label", first, "--tag", "two words"], "one word"),
        (&tags, "100 tags are too many"),
        (&["label", "nosuch", "--star"], "no conversation is called nosuch"),
    ];
    for (args, want) in table {
        let error = text(&place.run(args, 2).stderr);
        assert!(error.contains(want), "{want}: {error}");
        assert!(error.len() < 1_000, "{want}: what was refused is not repeated");
    }
    assert_eq!(place.json(&["label", first], 0)["changed"], Value::Null, "nothing was written");
}
