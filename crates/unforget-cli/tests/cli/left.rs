//! What a prompt does not show any more, through the binary.

use serde_json::Value;

use crate::support::{Place, text};

/// A long session with a rule and a path per turn, and its key.
fn long(place: &Place) -> String {
    let mut lines = Vec::new();
    for turn in 0..60 {
        let words = format!("word{turn} ").repeat(120);
        let ask = if turn == 3 { "Never push to the branch release. ".to_owned() } else { String::new() };
        lines.push(format!(
            r#"{{"role":"user","content":"{ask}Question {turn}, see src/part_{turn}.rs: {words}"}}"#
        ));
        lines.push(format!(r#"{{"role":"assistant","content":"Answer {turn}. {words}"}}"#));
    }
    place.write("long.jsonl", &lines.join("\n"));
    place.run(&["import", "long.jsonl", "-q"], 0);
    let list = place.json(&["list"], 0);
    list[0]["conversation"].as_str().unwrap().to_owned()
}

fn things(told: &Value) -> &[Value] {
    told["things"].as_array().unwrap()
}

#[test]
fn one_command_tells_what_a_call_does_not_show_and_how_to_get_it_back() {
    let place = Place::new();
    let key = long(&place);
    let of = ["left", &key, "--call", "40", "--window", "8k"];
    let told = place.json(&of, 0);
    assert_eq!((told["call"].as_str(), told["calls"].as_str()), (Some("40"), Some("played")), "{told}");
    let whys = told["why"].as_array().unwrap();
    assert!(whys.len() > 1 && told["entries"].as_u64() > Some(20), "{told}");
    for why in whys.iter().filter(|why| why["why"] == "summarised") {
        let words = why["words"].as_str().unwrap();
        assert!(
            words.contains(&format!("break {}, at call {}", why["break"], why["call"].as_str().unwrap())),
            "{words}"
        );
    }
    let path = things(&told).iter().find(|thing| thing["kind"] == "path").unwrap();
    assert_eq!(path["reachable"].as_bool(), Some(true), "{path}");
    let words = format!("see {}", path["text"].as_str().unwrap());
    // Its command gives the words.
    let how: Vec<&str> = path["how"].as_str().unwrap().split(' ').skip(1).collect();
    assert!(text(&place.run(&how, 0).stdout).contains(&words), "{how:?}");
    let back: Vec<&str> = path["put_back"].as_str().unwrap().split(' ').skip(1).collect();
    place.run(&back, 0);
    let prompt = place.json(&["prompt", &key, "--window", "8k", "--dialect", "anthropic"], 0);
    assert!(prompt["request"].to_string().contains(&words), "it stands in the next prompt again");

    let rules = place.json(&[&of[..], &["--kind", "rule", "--standing"]].concat(), 0);
    assert!(things(&rules).iter().all(|thing| thing["kind"] == "rule"));
    assert!(
        things(&rules).iter().any(|thing| thing["text"] == "Never push to the branch release."),
        "{rules}"
    );
    let people = text(&place.run(&of, 0).stdout);
    for words in [
        "call 40 of ",
        "do not stand there word for word",
        "since break 1, at call ",
        "Paths (files and addresses): ",
        "unforget expand e:",
    ] {
        assert!(people.contains(words), "{words}: {people}");
    }
}

#[test]
fn a_break_tells_what_left_at_it() {
    let place = Place::new();
    let key = long(&place);
    let told = place.json(&["left", &key, "--break", "2", "--window", "8k", "-n", "3", "--standing"], 0);
    assert_eq!(told["cause"], "compaction", "{told}");
    assert!(told["before"].is_string() && told["entries"].as_u64() > Some(0), "{told}");
    let paths = &told["counts"].as_array().unwrap().iter().find(|count| count["kind"] == "path").unwrap();
    assert_eq!(paths["listed"].as_u64().unwrap(), paths["things"].as_u64().unwrap().min(3), "{paths}");
    let list = place.json(&["uncompact", &key, "--break", "2", "--window", "8k"], 0);
    let first = list["raised"][0]["first"].as_u64().unwrap();
    let newest = place.json(&["left", &key, "--call", told["before"].as_str().unwrap(), "--window", "8k"], 0);
    let spans = newest["why"].to_string();
    assert!(!spans.contains(&format!(":{first}-")), "what left at it stood there one call before: {spans}");
}

#[test]
fn the_last_line_names_a_command_that_works() {
    let place = Place::new();
    let key = long(&place);
    let shape = ["--window", "8k", "--dialect", "openai-chat"];
    for more in [&[][..], &["--break", "1"]] {
        let told = text(&place.run(&[&["left", &key], more, &shape].concat(), 0).stderr);
        let command = told.split_once("unforget uncompact ").unwrap().1.split_once(';').unwrap().0;
        assert!(command.ends_with("--window 8000 --dialect openai-chat"), "{told}");
        let back: Vec<&str> = std::iter::once("uncompact").chain(command.split(' ')).collect();
        assert!(
            place.json(&back, 0)["raised"].as_array().is_some_and(|raised| !raised.is_empty()),
            "{back:?}"
        );
    }
    let large = place.json(&["uncompact", &key, "--break", "1", "--window", "1m"], 2);
    assert!(large["error"]["message"].as_str().unwrap().contains("a window of 1,000,000 tokens"), "{large}");
}

#[test]
fn nothing_left_is_said_and_what_is_not_there_is_wrong_usage() {
    let place = Place::new();
    let key = long(&place);
    let told = place.json(&["left", &key, "--window", "1m"], 0);
    assert_eq!((told["entries"].as_u64(), things(&told).len()), (Some(0), 0), "{told}");
    let people = text(&place.run(&["left", &key, "--window", "1m"], 0).stdout);
    assert!(people.contains("nothing: every entry before it stands in the prompt word for word"), "{people}");
    let absent = place.json(&["left", &key, "--call", "500", "--window", "8k"], 2);
    assert!(absent["error"]["hint"].as_str().unwrap().starts_with("calls go from 1 to "), "{absent}");
    let absent = place.json(&["left", &key, "--break", "99", "--window", "8k"], 2);
    assert!(
        absent["error"]["hint"].as_str().unwrap().contains("breaks at which entries left: 1, 2"),
        "{absent}"
    );
    place.json(&["left", &key, "--kind", "nonsense"], 2);
    place.json(&["pin", &key, &"never touch it ".repeat(260)], 0);
    let tight = place.json(&["left", &key, "--window", "1k"], 3);
    assert!(tight["needs"].as_u64() > Some(0), "{tight}");
}
