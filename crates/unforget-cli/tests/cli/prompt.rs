//! Prompts, replays and recall, through the binary.

use crate::support;

use crate::support::{PI, PI_KEY, Place, example, text};

#[test]
fn prompt_is_the_request_on_stdout_and_the_certificate_on_stderr() {
    let place = Place::imported();
    let plain = place.run(&["prompt", "pi:", "--window", "8k"], 0);
    let request: serde_json::Value = serde_json::from_slice(&plain.stdout).unwrap();
    assert_eq!(request["messages"].as_array().unwrap().last().unwrap()["role"], "user");
    assert!(text(&plain.stderr).contains("certificate"));
    let both = place.json(&["prompt", "pi:", "--window", "8k"], 0);
    assert_eq!(both["request"], request, "same history, same request");
    let certificate = &both["certificate"];
    assert!(certificate["total"]["upper"].as_u64() <= certificate["budget"].as_u64(), "{certificate}");
    assert_eq!(certificate["violations"].as_array().unwrap().len(), 0);
    let first = place.json(&["prompt", "pi:", "--at", "1"], 0);
    assert_eq!(first["request"]["messages"].as_array().unwrap().len(), 1, "only the first message was there");
    for turn in ["0", "99"] {
        assert_eq!(place.json(&["prompt", "pi:", "--at", turn], 2)["error"]["kind"], "usage", "turn {turn}");
    }
}

#[test]
fn a_prompt_without_a_message_says_so() {
    let place = Place::imported();
    place.write("head.jsonl", &PI.lines().next().unwrap().replace("aaaa1111", "bbbb2222"));
    place.write("system.json", r#"[{"role":"system","content":"Be brief."}]"#);
    let keys = place.json_lines(&["import", "head.jsonl", "system.json"], 0);
    for key in keys.iter().map(|imported| imported["conversation"].as_str().unwrap()) {
        let prompt = place.json(&["prompt", key], 0);
        assert_eq!(prompt["certificate"]["empty"], true, "{prompt}");
        assert!(prompt["request"].to_string().contains("[no new input]"), "{prompt}");
        assert!(text(&place.run(&["prompt", key], 0).stderr).contains("EMPTY"), "{key}");
    }
    assert_eq!(place.json(&["prompt", PI_KEY], 0)["certificate"]["empty"], false);
    assert!(!text(&place.run(&["prompt", PI_KEY], 0).stderr).contains("EMPTY"));
}

#[test]
fn every_dialect_makes_a_valid_prompt() {
    let place = Place::imported();
    for dialect in ["anthropic", "openai-chat", "openai-responses", "pi", "gemini", "bedrock-converse"] {
        let prompt = place.json(&["prompt", "pi:", "--dialect", dialect], 0);
        assert_eq!(prompt["certificate"]["dialect"], dialect);
    }
    assert_eq!(
        place.json(&["prompt", "openai-chat"], 0)["certificate"]["dialect"],
        "openai-chat",
        "its host's"
    );
    place.run(&["prompt", "pi:", "--dialect", "klingon"], 2);
    place.run(&["prompt", "pi:", "--window", "much"], 2);
}

#[test]
fn compact_says_what_it_did() {
    let place = Place::imported();
    let done = place.json(&["compact", "pi:", "--window", "8k"], 0);
    assert!(done["after"].as_u64() <= done["before"].as_u64(), "{done}");
    place.run(&["compact", "pi:", "--window", "8k"], 0);
    place.run(&["compact", "nobody"], 2);
}

#[test]
fn search_has_receipts_and_negative_evidence() {
    let place = Place::imported();
    let found = place.json(&["search", "where", "does", "the", "heron", "nest"], 0);
    let first = &found["results"][0];
    assert_eq!((first["conversation"].as_str(), first["host_id"].as_str()), (Some(PI_KEY), Some("00000001")));
    for field in ["seq", "bytes", "score", "text"] {
        assert!(!first[field].is_null(), "{field} is missing: {first}");
    }
    assert!(found["searched"].as_u64() <= found["total"].as_u64());
    let nothing = place.json(&["search", "zeppelin"], 0);
    assert_eq!(nothing["results"].as_array().unwrap().len(), 0);
    assert!(nothing["total"].as_u64() > Some(0), "what was searched is said: {nothing}");
    assert!(text(&place.run(&["search", "otters"], 0).stdout).contains("otters"));
    place.run(&["search", "x", "--since", "soonish"], 2);
}

#[test]
fn f106_ranking_in_one_conversation_is_the_same_whether_another_exists() {
    let place = Place::new();
    place.run(&["import", "-q", &example("long-session.jsonl")], 0);
    let questions = ["which port does staging use", "read the file again", "error in the build"];
    let ask = |conversation: &str| {
        questions.map(|question| {
            place
                .run(&["search", question, "--conversation", conversation, "--limit", "20", "--json"], 0)
                .stdout
        })
    };
    let alone = ask("pi:0b7e");
    let mut other = Vec::new();
    unforget_bench::write_workload(&mut other, 400, 7).unwrap();
    place.write("other.jsonl", std::str::from_utf8(&other).unwrap());
    let key = place.json(&["import", "other.jsonl"], 0)["conversation"].as_str().unwrap().to_owned();
    let of_other = ask(&key);
    assert!(of_other.iter().any(|found| text(found).contains("\"score\"")), "the words are in the other too");
    assert_eq!(ask("pi:0b7e").map(|found| text(&found)), alone.map(|found| text(&found)));
}

#[test]
fn grep_finds_bytes_and_survives_bad_patterns() {
    let place = Place::imported();
    let found = place.json(&["grep", "nest-[0-9]{4}"], 0);
    assert_eq!(found["results"].as_array().unwrap().len(), 2, "{found}");
    assert_eq!(found["results"][0]["match"], "nest-7741");
    assert_eq!(place.json(&["grep", "HERON", "-i"], 0)["results"].as_array().unwrap().len(), 1);
    assert_eq!(place.json(&["grep", "-F", "nest-[0-9]"], 0)["results"].as_array().unwrap().len(), 0);
    let error = place.json(&["grep", "("], 2);
    assert_eq!(error["error"]["kind"], "usage");
}

#[test]
fn describe_and_expand_go_down_to_the_words() {
    let place = Place::imported();
    let id = format!("e:{PI_KEY}:1-4");
    let what = place.json(&["describe", &id], 0);
    assert_eq!((what["entries"].as_u64(), what["kind"].as_str()), (Some(4), Some("entries")));
    let page = place.json(&["expand", &id, "--page", "64"], 0);
    assert!(page["items"][0]["text"].as_str().unwrap().contains("heron"));
    let short = place.json(&["expand", "s:1", "--conversation", "pi:"], 0);
    assert_eq!(short["items"][0]["host_id"], "00000001");
    assert!(text(&place.run(&["expand", &id, "--raw"], 0).stdout).contains("\"toolCallId\":\"call_1\""));
    place.run(&["describe", "e:nobody:1"], 2);
    place.run(&["expand", "sum:none"], 2);
    place.run(&["expand", &id, "--raw", "--json"], 2);
}

#[test]
fn stored_text_cannot_steer_the_terminal() {
    let place = Place::imported();
    for args in [&["search", "Riverbend"][..], &["grep", "Riverbend"][..]] {
        let output = place.run(args, 0);
        assert!(!output.stdout.contains(&0x1b), "{args:?}: {}", text(&output.stdout));
    }
}

#[test]
fn replay_reports_and_keeps_nothing_unless_told_to() {
    let place = Place::new();
    place.write("pi.jsonl", support::PI);
    let report = place.json(&["replay", "pi.jsonl", "--window", "32k"], 0);
    assert_eq!(report["calls"].as_array().unwrap().len(), 2);
    assert_eq!(report["totals"]["calls"], 2);
    assert_eq!(report["totals"]["rejected"].as_array().unwrap().len(), 0);
    assert!(!place.path("store.sqlite").exists(), "a variable does not make it keep the store");
    let left: Vec<_> =
        std::fs::read_dir(place.path("")).unwrap().map(|file| file.unwrap().file_name()).collect();
    assert_eq!(left, ["pi.jsonl"], "the temporary store is gone");
    place.run(&["replay", "pi.jsonl", "--db", "kept.sqlite", "-q"], 0);
    place.run(&["replay", "pi.jsonl", "--db", "kept.sqlite", "-q"], 0);
    assert_eq!(
        place.json(&["list", "--db", "kept.sqlite"], 0)[0]["entries"],
        6,
        "gone through again, stored once"
    );
    assert_eq!(place.json(&["list", "--db", "kept.sqlite"], 0).as_array().unwrap().len(), 1);
    place.run(&["replay", "nowhere.jsonl"], 3);
}

#[test]
fn replay_of_the_example_draws_a_chart_and_a_page() {
    let place = Place::new();
    let example = example("long-session.jsonl");
    let output = place.run(&["replay", &example, "--window", "32k", "--html", "report.html"], 0);
    let shown = text(&output.stdout);
    for part in
        ["Prompt tokens per model call", "window 32k", "sliding window", "every prompt fits the window"]
    {
        assert!(shown.contains(part), "{part} is missing:\n{shown}");
    }
    let page = std::fs::read_to_string(place.path("report.html")).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.contains("<svg id=\"prompts\""));
}
