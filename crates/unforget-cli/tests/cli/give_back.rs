//! A session that its host lost is put back, and one is handed over to another agent.

use std::fs;

use serde_json::Value;
use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler as _;

use crate::support::{PI, PI_KEY, Place, example, text};

const BELOW: &str = ".pi/agent/sessions/--srv-x--/session.jsonl";

fn kept_by_a_host() -> Place {
    let place = Place::new();
    fs::create_dir_all(place.path(BELOW).parent().unwrap()).unwrap();
    place.write(BELOW, PI);
    place.run(&["import", "--discover", "--yes", "-q"], 0);
    place
}

#[test]
fn a_lost_session_is_put_back_byte_for_byte() {
    let place = kept_by_a_host();
    let said = text(&place.run(&["give-back", PI_KEY], 0).stdout);
    assert!(said.contains("is there already"), "{said}");
    assert!(text(&place.run(&["give-back", "--lost"], 0).stdout).contains("is there"));
    fs::remove_dir_all(place.path(".pi")).unwrap();
    let lost = text(&place.run(&["give-back", "--lost"], 0).stdout);
    assert!(lost.contains("would be written") && lost.contains(BELOW), "{lost}");
    place.run(&["give-back", PI_KEY, "--dry-run"], 0);
    assert!(!place.path(".pi").exists(), "nothing was written");
    let told: Value = serde_json::from_slice(&place.run(&["give-back", PI_KEY, "--json"], 0).stdout).unwrap();
    assert_eq!(told["sessions"][0]["state"], "written");
    assert_eq!(told["resume"][0], "pi");
    assert_eq!(fs::read_to_string(place.path(BELOW)).unwrap(), PI);
    let again = text(&place.run(&["import", "--discover", "--yes"], 0).stdout);
    assert!(!again.contains("entries new") || again.contains(" 0 entries new"), "{again}");
}

#[test]
fn what_stands_there_is_never_changed() {
    let place = kept_by_a_host();
    let longer = format!("{PI}{{\"type\":\"more\"}}\n");
    let shorter = &PI[..PI.len() / 2];
    for (there, exit, why) in
        [(longer.as_str(), 0, "the host went on"), (shorter, 1, "cut off"), ("", 1, "empty")]
    {
        place.write(BELOW, there);
        place.run(&["give-back", PI_KEY], exit);
        assert_eq!(fs::read_to_string(place.path(BELOW)).unwrap(), there, "{why}");
    }
    place.write(BELOW, PI);
    // Another copy, imported later, is no other place.
    place.write("copy.jsonl", &longer);
    place.run(&["import", "copy.jsonl", "-q"], 0);
    place.run(&["give-back", PI_KEY], 1);
    place.write(BELOW, &longer);
    assert!(text(&place.run(&["give-back", PI_KEY], 0).stdout).contains(BELOW));
    place.run(&["give-back"], 2);
    place.run(&["give-back", "nobody"], 2);
}

#[test]
fn a_session_from_elsewhere_gets_the_place_that_its_host_looks_for() {
    let place = Place::new();
    place.run(&["import", &example("short-claude-code.jsonl"), "-q"], 0);
    let told = text(&place.run(&["give-back", "6f1c"], 0).stdout);
    let path = told.split(": ").nth(1).unwrap().trim();
    let name = place.path(".claude/projects");
    assert!(path.starts_with(name.to_str().unwrap()), "{told}");
    assert_eq!(fs::read(path).unwrap(), fs::read(example("short-claude-code.jsonl")).unwrap());
    place.write("chat.json", crate::support::CHAT);
    place.run(&["import", "chat.json", "-q"], 0);
    let refused = place.run(&["give-back", "openai-chat"], 2);
    assert!(text(&refused.stderr).contains("unforget handoff"), "{}", text(&refused.stderr));
}

#[test]
fn a_handoff_says_what_an_agent_needs_within_its_budget() {
    let place = Place::new();
    place.run(&["import", &example("long-session.jsonl"), "-q"], 0);
    let document = text(&place.run(&["handoff", "0b7e"], 0).stdout);
    for part in [
        "# Handoff: tideboard",
        "## Asked last (e:",
        "## Answered last (e:",
        "## Decisions",
        "## Files changed",
        "## Said by people",
    ] {
        assert!(document.contains(part), "{part}: {document}");
    }
    assert!(document.contains("untrusted"), "{document}");
    for budget in [500, 2_000, 8_000] {
        let budget_text = budget.to_string();
        let told = place.run(&["handoff", "0b7e", "--budget", &budget_text, "--json"], 0).stdout;
        let told: Value = serde_json::from_slice(&told).unwrap();
        assert!(told["tokens"].as_u64().unwrap() <= budget, "{budget}: {}", told["tokens"]);
        assert!(!told["asked"]["text"].as_str().unwrap().is_empty());
        let document = text(&place.run(&["handoff", "0b7e", "--budget", &budget_text], 0).stdout);
        let tokens = ClassEstimate.count(&document).expected;
        assert!(tokens <= budget, "{tokens} tokens for {budget}: {document}");
    }
    place.run(&["reject", "e:0b7e1d:490", "--why", "it was never sent"], 0);
    let after = text(&place.run(&["handoff", "0b7e", "--budget", "8000"], 0).stdout);
    assert!(document.contains("We ship in an hour") && !after.contains("We ship in an hour"), "{after}");
    place.run(&["handoff", "0b7e", "--budget", "10"], 2);
    place.run(&["handoff", "0b7e", "-o", "handoff.md"], 0);
    assert!(fs::read_to_string(place.path("handoff.md")).unwrap().starts_with("# Handoff: tideboard"));
    place.run(&["handoff", "0b7e", "-o", "handoff.md"], 3);
}
