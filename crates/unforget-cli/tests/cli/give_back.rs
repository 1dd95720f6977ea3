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
fn the_next_step_is_that_of_the_written_file_in_its_folder() {
    let place = Place::new();
    place.write("elsewhere.jsonl", PI);
    place.run(&["import", "elsewhere.jsonl", "-q"], 0);
    for why in ["the imported file is there", "it is gone"] {
        let back = place.run(&["give-back", PI_KEY], 0);
        let (told, written) = (text(&back.stderr), text(&back.stdout));
        let path = written.trim().rsplit(": ").next().unwrap();
        assert!(path.contains(".pi/agent/sessions/"), "{why}: {written}");
        assert!(told.contains(&format!("go on with it: cd /srv/x && pi --session {path}")), "{why}: {told}");
        assert!(told.contains("there is no folder /srv/x"), "{why}: {told}");
        fs::remove_file(place.path("elsewhere.jsonl")).ok();
    }
    let told: Value = serde_json::from_slice(&place.run(&["give-back", PI_KEY, "--json"], 0).stdout).unwrap();
    assert_eq!(told["folder"], "/srv/x");
    place.run(&["import", &example("short-claude-code.jsonl"), "-q"], 0);
    let told = text(&place.run(&["give-back", "6f1c"], 0).stderr);
    assert!(told.contains("&& claude --resume 6f1c") && told.contains("go on with it: cd /"), "{told}");
}

/// The output of `give-back` with these arguments. What opencode has to take in is a problem: there is no opencode here.
fn given(place: &Place, arguments: &[&str]) -> Value {
    let all = [&["give-back"], arguments, &["--json"]].concat();
    let exit = i32::from(arguments.contains(&"opencode"));
    serde_json::from_slice(&place.run(&all, exit).stdout).unwrap()
}

#[test]
fn a_session_is_written_for_every_agent_that_resumes_it() {
    let place = Place::new();
    fs::create_dir_all(place.path("bin")).unwrap();
    place.run(&["import", &example("long-session.jsonl"), "-q"], 0);
    let whole: Value = serde_json::from_slice(&place.run(&["list", "--json"], 0).stdout).unwrap();
    let whole_tokens = whole[0]["tokens"].as_u64().unwrap();
    for (host, command, below) in [
        ("claude", "claude --resume", ".claude/projects/"),
        ("codex", "codex resume", ".codex/sessions/"),
        ("opencode", "opencode --session", "given-back/ses_"),
        ("pi", "pi --session", ".pi/agent/sessions/"),
    ] {
        let told = given(&place, &["0b7e", "--to", host, "--small", "--window", "32k"]);
        assert_eq!(
            (&told["host"], &told["form"], &told["state"]),
            (&host.into(), &"small".into(), &"written".into())
        );
        assert!(told["tokens"].as_u64().unwrap() < 32_000.min(whole_tokens / 4), "{told}");
        let path = told["path"].as_str().unwrap();
        assert!(path.contains(below), "{path}");
        let resume: Vec<&str> =
            told["resume"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert!(resume.join(" ").starts_with(command), "{resume:?}");
        let written = fs::read_to_string(path).unwrap();
        assert!(
            written.contains("history-summary") && written.contains("unforget expand e:0b7e1d:12"),
            "{host}"
        );
        let again = given(&place, &["0b7e", "--to", host, "--small", "--window", "32k"]);
        assert_eq!(
            (&again["state"], &again["session"]),
            (&"kept".into(), &told["session"]),
            "{host}: the same again"
        );
        // The agent went on with it: what it wrote stays.
        let longer = format!("{written}{{\"more\":1}}\n");
        fs::write(path, &longer).unwrap();
        assert_eq!(given(&place, &["0b7e", "--to", host, "--small", "--window", "32k"])["state"], "kept");
        assert_eq!(fs::read_to_string(path).unwrap(), longer);
        fs::write(path, "another").unwrap();
        place.run(&["give-back", "0b7e", "--to", host, "--small", "--window", "32k"], 1);
        assert_eq!(fs::read_to_string(path).unwrap(), "another", "it is left alone");
        // What was written is imported as a conversation with a summary of its host.
        fs::write(path, &written).unwrap();
        let imported = place.run(&["import", path, "--json"], 0).stdout;
        let imported: Value = serde_json::from_slice(&imported).unwrap();
        assert!(
            imported["conversation"].as_str().unwrap().ends_with(told["session"].as_str().unwrap()),
            "{imported}"
        );
    }
}

#[test]
fn all_of_a_session_is_carried_if_it_leaves_room() {
    let place = Place::new();
    place.run(&["import", &example("short-claude-code.jsonl"), "-q"], 0);
    let told = given(&place, &["6f1c", "--to", "codex"]);
    assert_eq!((&told["form"], &told["state"]), (&"whole".into(), &"written".into()));
    let first = fs::read_to_string(told["path"].as_str().unwrap()).unwrap();
    assert!(!first.contains("compacted"), "{first}");
    // Back again: the same words, in the form of the first agent.
    place.run(&["import", told["path"].as_str().unwrap(), "-q"], 0);
    let key = format!("codex:{}", told["session"].as_str().unwrap());
    let back = given(&place, &[&key, "--to", "claude"]);
    place.run(&["import", back["path"].as_str().unwrap(), "-q"], 0);
    let words = |name: &str| text(&place.run(&["show", name, "--no-pager", "--format", "md"], 0).stdout);
    let spoken = |name: &str| -> Vec<String> {
        words(name)
            .lines()
            .filter(|line| !line.starts_with('#') && !line.is_empty())
            .map(str::to_owned)
            .collect()
    };
    // The first line tells folder and id.
    let again = format!("claude-code:{}", back["session"].as_str().unwrap());
    assert_eq!(spoken("claude-code:6f1c")[1..3], spoken(&again)[1..3]);
    let dry = given(&place, &["6f1c", "--to", "pi", "--dry-run"]);
    assert_eq!(dry["state"], "missing");
    assert!(!place.path(".pi").exists());
}

#[test]
fn what_cannot_be_given_is_refused() {
    let place = Place::new();
    place.write("chat.json", crate::support::CHAT);
    place.run(&["import", "chat.json", "-q"], 0);
    let refused = text(&place.run(&["give-back", "openai-chat", "--small"], 2).stderr);
    assert!(refused.contains("--to") && refused.contains("claude, codex, opencode, pi"), "{refused}");
    place.run(&["give-back", "openai-chat", "--to", "codex"], 0);
    let unknown = text(&place.run(&["give-back", "openai-chat", "--to", "cursor"], 2).stderr);
    assert!(unknown.contains("claude, codex, opencode, pi"), "{unknown}");
    place.run(&["give-back", "--lost", "--small"], 2);
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

/// A chat with a call, whose arguments are spelled on three lines, and its result.
fn with_a_call(result: &str) -> String {
    format!(
        r#"[{{"role":"user","content":"go"}},{{"role":"assistant","content":null,"tool_calls":[{{"id":"c1","type":"function","function":{{"name":"f","arguments":"{{\n \"a\": 1.0\n}}"}}}}]}},{{"role":"tool","tool_call_id":"c1","content":"{result}"}},{{"role":"assistant","content":"bye"}}]"#
    )
}

#[test]
fn arguments_on_several_lines_are_given_on_one() {
    let place = Place::new();
    place.write("chat.json", &with_a_call("r1"));
    place.run(&["import", "chat.json", "-q"], 0);
    for host in ["claude", "pi", "codex"] {
        let told = given(&place, &["openai-chat", "--to", host]);
        let path = told["path"].as_str().unwrap();
        let written = fs::read_to_string(path).unwrap();
        for line in written.lines() {
            assert!(serde_json::from_str::<Value>(line).is_ok(), "{host}: {line}");
        }
        assert!(!written.contains("1970-01-01"), "{host}: the time of the file: {written}");
        let imported = place.json(&["import", path], 0);
        let key = imported["conversation"].as_str().unwrap();
        let shown = text(&place.run(&["show", key, "--no-pager", "--format", "md"], 0).stdout);
        assert!(shown.contains("✓ `f`") && shown.contains("bye"), "{host}: the call and its result: {shown}");
    }
}

#[test]
fn a_session_is_whole_by_its_window_and_cuts_are_told() {
    let place = Place::new();
    // Some 130,000 tokens: more than a prompt grows to on a cold cache, less than a window of 400,000 holds.
    place.write("chat.json", &with_a_call(&"one two three four five six seven. ".repeat(16_000)));
    place.run(&["import", "chat.json", "-q"], 0);
    let whole = given(&place, &["openai-chat", "--to", "pi", "--window", "400k"]);
    assert_eq!(whole["form"], "whole", "{whole}");
    assert!(whole["tokens"].as_u64().unwrap() > 104_000, "{whole}");
    assert!(!whole["not_carried"].to_string().contains("shortened"), "{whole}");
    let small = given(&place, &["openai-chat", "--to", "pi", "--window", "64k"]);
    assert_eq!(small["form"], "small", "{small}");
    let cuts = small["not_carried"].as_array().unwrap().iter();
    let cut = cuts.clone().find(|lost| lost["what"].as_str().unwrap().contains("shortened"));
    assert_eq!(cut.unwrap()["count"], 1, "{small}");
    let written = fs::read_to_string(small["path"].as_str().unwrap()).unwrap();
    assert!(written.contains("expand s:") && written.contains("unforget expand e:"), "{written}");
}

#[test]
fn another_folder_and_other_words_are_another_session() {
    let place = Place::new();
    let key = "claude-code:6f1c";
    place.run(&["import", &example("short-claude-code.jsonl"), "-q"], 0);
    fs::create_dir_all(place.path("other")).unwrap();
    for host in ["codex", "pi"] {
        let first = given(&place, &[key, "--to", host]);
        let there = ["give-back", key, "--to", host, "--json"];
        let elsewhere = place.command().current_dir(place.path("other")).args(there).output().unwrap();
        assert!(elsewhere.status.success(), "{host}: {}", text(&elsewhere.stderr));
        let elsewhere: Value = serde_json::from_slice(&elsewhere.stdout).unwrap();
        assert_eq!(elsewhere["state"], "written", "{elsewhere}");
        assert_ne!(elsewhere["session"], first["session"]);
    }
    place.run(&["purge", key, "--entries", "0-3", "--yes"], 0);
    let purged = given(&place, &[key, "--to", "pi"]);
    assert_eq!(purged["state"], "written", "{purged}");
    let path = purged["path"].as_str().unwrap();
    fs::write(path, "mine").unwrap();
    let other = text(&place.run(&["give-back", key, "--to", "pi"], 1).stderr);
    assert!(other.contains("move it away") && other.contains("mv "), "{other}");
}

#[cfg(unix)]
#[test]
fn opencode_is_asked_only_to_take_in_what_is_written() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.run(&["import", &example("short-claude-code.jsonl"), "-q"], 0);
    fs::create_dir_all(place.path("bin")).unwrap();
    let run = |script: &str, more: &[&str]| {
        place.write(
            "bin/opencode",
            &format!("#!/bin/sh\necho ran >> '{}'\n{script}\n", place.path("ran").display()),
        );
        fs::set_permissions(place.path("bin/opencode"), fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", place.path("bin").display(), std::env::var("PATH").unwrap_or_default());
        let all = [&["give-back", "6f1c", "--to", "opencode", "--json"], more].concat();
        let output = place.command().env("PATH", path).args(all).output().unwrap();
        let told: Value = serde_json::from_slice(&output.stdout).unwrap();
        let ran = fs::read_to_string(place.path("ran")).unwrap_or_default().lines().count();
        (output.status.code().unwrap(), ran, told)
    };
    let (exit, ran, told) = run("exit 0", &["--dry-run"]);
    assert_eq!(
        (exit, ran, &told["state"], &told["imported"]),
        (0, 0, &"missing".into(), &Value::Null),
        "{told}"
    );
    let (exit, ran, told) = run("exit 0", &[]);
    assert_eq!(
        (exit, ran, &told["imported"], &told["import_error"]),
        (0, 1, &true.into(), &Value::Null),
        "{told}"
    );
    let (exit, ran, told) = run("exit 0", &["--dry-run"]);
    assert_eq!(
        (exit, ran, &told["state"], &told["imported"]),
        (0, 1, &"kept".into(), &Value::Null),
        "{told}"
    );
    let (exit, ran, told) = run("echo 'the disk is full' >&2; exit 1", &[]);
    assert_eq!((exit, ran, &told["imported"]), (1, 2, &false.into()), "{told}");
    assert!(told["import_error"].as_str().unwrap().contains("the disk is full"), "{told}");
}

#[test]
fn options_without_effect_are_refused() {
    let place = Place::imported();
    place.run(&["give-back", PI_KEY, "--window", "32k"], 2);
    place.run(&["give-back", PI_KEY, "--yes"], 2);
    place.run(&["keep", "--quiet-for", "3"], 2);
}

#[test]
fn a_folder_that_is_not_absolute_is_not_taken_over() {
    let place = Place::new();
    place.write("s.jsonl", &PI.replacen("\"cwd\":\"", "\"cwd\":\"../../../", 1));
    place.run(&["import", "s.jsonl", "-q"], 0);
    let told = given(&place, &[PI_KEY, "--to", "codex"]);
    let here = fs::canonicalize(place.path("")).unwrap();
    let folder = fs::canonicalize(told["folder"].as_str().unwrap()).unwrap();
    assert_eq!(folder, here, "{told}");
}
