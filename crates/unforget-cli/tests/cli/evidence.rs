//! Clues beside the hits, packs for other agents, and questions about the state of the work, through the binary.

use serde_json::Value;

use crate::memory::session;
use crate::support::{Place, text};

fn list<'a>(value: &'a Value, name: &str) -> &'a Vec<Value> {
    value[name].as_array().unwrap_or_else(|| panic!("{name}: {value}"))
}

/// The lines of a kind.
fn lines(value: &Value, kind: &str) -> Vec<String> {
    let of_kind = list(value, "lines").iter().filter(|line| line["kind"] == kind);
    of_kind.map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_search_tells_what_is_kept_beside_the_hits() {
    let place = Place::new();
    let key = session(&place);
    place.run(&["pin", &key, "Ask Ann before you commit."], 0);
    let found = place.json(&["search", "ask before commit"], 0);
    let clue = &found["clues"]["found"][0];
    assert_eq!((clue["from"].as_str(), clue["row"].as_str()), (Some("pin"), Some("pin:1")), "{found}");
    assert!(list(clue, "entries").is_empty() && clue["conversation"] == key, "typed by hand: {clue}");
    let said = text(&place.run(&["search", "ask before commit"], 0).stdout);
    assert!(said.contains("from: pin pin:1") && said.contains("Ask Ann before you commit."), "{said}");
    let nothing = place.json(&["search", "zebra"], 0);
    assert!(list(&nothing["clues"], "found").is_empty() && list(&nothing, "results").is_empty());
    assert!(nothing["evidence"].as_str().unwrap().contains("nowhere: zebra"), "{nothing}");
    let scoped = place.json(&["search", "ask before commit", "--role", "tool"], 0);
    assert_eq!(scoped["clues"]["rows"], 0, "a pin has no role");
}

#[test]
fn a_pack_is_cited_and_within_its_budget() {
    let place = Place::new();
    let key = session(&place);
    place.json(&["memory", "--project", "tool"], 0);
    let ask = ["pack", "why did the check fail", "--project", "tool"];
    let pack = place.json(&ask, 0);
    let decided = lines(&pack, "decision").join("\n");
    assert!(decided.contains("wrapped at 80 columns"), "{pack}");
    assert_eq!(lines(&pack, "rule"), ["Never push to main."], "of the project, whatever is asked");
    for line in list(&pack, "lines") {
        let receipts = list(line, "receipts");
        assert!(
            receipts.iter().all(|name| name.as_str().unwrap().starts_with(&format!("e:{key}:"))),
            "{line}"
        );
        for name in receipts {
            place.run(&["expand", name.as_str().unwrap()], 0);
        }
    }
    assert!(!list(&pack, "passages").is_empty() && pack["tokens"].as_u64().unwrap() <= 2_000, "{pack}");
    let said = text(&place.run(&ask, 0).stdout);
    assert!(said.contains("## Decisions and reasons") && said.contains("untrusted"), "{said}");
    let small = place.json(&["pack", "why did the check fail", "--budget", "200"], 0);
    assert!(small["tokens"].as_u64().unwrap() <= 200 && small["left_out"].as_u64().unwrap() > 0, "{small}");
    place.run(&["pack", "check", "--budget", "100"], 2);
    let nothing = place.json(&["pack", "zebra"], 0);
    assert!(nothing["negative"].as_str().unwrap().contains("nowhere: zebra"), "{nothing}");
}

#[test]
fn questions_about_the_state_of_the_work_are_answered_from_it() {
    let place = Place::new();
    session(&place);
    let table = [
        ("What is still open?", "open", "A test for wide lines is still missing", "the newest answer"),
        (
            "What is left of mending the printer?",
            "open",
            "A test for wide lines is still missing",
            "by its title",
        ),
        ("What is next?", "open", "A test for wide lines is still missing", "the same"),
        ("What failed?", "failed", "Bash make check: error: printer.rs is too wide", "a failure"),
        ("Which command fixed make check?", "done", "Bash make check passed", "what cleared it"),
    ];
    for (question, kind, words, why) in table {
        let answer = place.json(&["answer", question, "--no-model", "--project", "tool"], 0);
        let told = lines(&answer, kind);
        assert!(told.iter().any(|line| line.contains(words)), "{why}: {answer}");
        let line = list(&answer, "lines").iter().find(|line| line["text"].as_str().unwrap().contains(words));
        let number = &line.unwrap()["number"];
        let passage = list(&answer, "passages").iter().find(|one| one["number"] == *number).unwrap();
        place.run(&["expand", passage["id"].as_str().unwrap()], 0);
    }
    place.run(&["answer", "What failed?", "--no-model", "--project", "other"], 2);
}
