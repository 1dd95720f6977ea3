//! Finding a conversation, reading it, going on with it.

use serde_json::Value;

use unicode_width::UnicodeWidthStr;

use crate::support::{PI, PI_KEY, Place, text};

/// A session of Claude Code in a folder, with a command of the host, what a person typed, work that fails, and a sub-agent.
fn claude(place: &Place, folder: &str) {
    let line = |id: &str, more: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":null,"sessionId":"4a36aaaa","cwd":"{folder}","gitBranch":"fix","timestamp":"2026-04-01T10:00:0{id}Z",{more}}}"#
        )
    };
    let lines = [
        line(
            "1",
            r#""type":"user","message":{"role":"user","content":"<command-name>/clear</command-name>"}"#,
        ),
        line(
            "2",
            r#""type":"user","message":{"role":"user","content":"<system-reminder>be good</system-reminder>\nWhy does the parser\tfail on \"quotes\"?"}"#,
        ),
        line(
            "3",
            r##""type":"assistant","message":{"id":"m1","role":"assistant","content":[{"type":"thinking","thinking":"I wonder.","signature":"s"},{"type":"text","text":"# Plan\nI run the tests."},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"cargo test parser"}}]}"##,
        ),
        line(
            "4",
            r#""type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":"error: quotes are wrong\nquotes again"}]}"#,
        ),
        line("5", r#""type":"progress","data":{"type":"hook_progress"}"#),
        line("6", r#""type":"user","message":{"role":"user","content":"Then mend it."}"#),
    ];
    place.write("4a36aaaa.jsonl", &(lines.join("\n") + "\n"));
    let agent = format!(
        r#"{{"uuid":"9","parentUuid":null,"sessionId":"4a36aaaa","agentId":"77aabb","isSidechain":true,"cwd":"{folder}","type":"user","timestamp":"2026-04-01T10:00:05Z","message":{{"role":"user","content":"Look for quotes."}}}}"#
    );
    place.write("agent.jsonl", &(agent + "\n"));
    place.run(&["import", "-q", "4a36aaaa.jsonl", "agent.jsonl"], 0);
}

fn filled() -> Place {
    let place = Place::imported();
    claude(&place, "/home/ann/tool");
    place
}

fn out(place: &Place, args: &[&str]) -> String {
    text(&place.run(args, 0).stdout)
}

#[test]
fn every_conversation_has_a_title_a_project_and_a_short_name() {
    let place = filled();
    let list = place.json(&["list"], 0);
    let of = |key: &str| -> Value {
        list.as_array().unwrap().iter().find(|one| one["conversation"] == key).unwrap().clone()
    };
    let claude = of("claude-code:4a36aaaa");
    assert_eq!(claude["title"], "Why does the parser fail on \"quotes\"?");
    assert_eq!(
        (&claude["project"], &claude["branch"], &claude["titled_by"]),
        (&"tool".into(), &"fix".into(), &"words".into())
    );
    assert_eq!(
        (&claude["name"], &claude["turns"], &claude["host"]),
        (&"4a36aa".into(), &3.into(), &"claude-code".into())
    );
    assert_eq!(of(PI_KEY)["title"], "Where does the heron nest? Never touch the boathouse.");
    for one in list.as_array().unwrap() {
        let name = one["name"].as_str().unwrap();
        assert_eq!(place.json(&["stats", name], 0)["conversation"], one["conversation"], "{name}");
    }
}

#[test]
fn list_fits_every_width_and_filters() {
    let place = filled();
    for width in [60, 80, 120, 200] {
        let output = place.command().args(["list"]).env("COLUMNS", width.to_string()).output().unwrap();
        let list = text(&output.stdout);
        assert_eq!(list.lines().count(), 3, "one line each, sub-agents under their parents: {list}");
        for line in list.lines() {
            assert!(line.chars().count() <= width, "{width}: {line}");
        }
        assert!(list.contains("Why does"), "{list}");
    }
    assert_eq!(out(&place, &["list", "--tree"]).lines().count(), 4);
    assert!(out(&place, &["list", "--tree"]).contains("└ Look for quotes."));
    let table: [(&[&str], usize, &str); 13] = [
        (&["--project", "tool"], 2, "by name"),
        (&["--project", "/home/ann"], 2, "by folder"),
        (&["--project", "/wor"], 0, "a folder is no beginning of a name"),
        (&["--project", "."], 0, "not here"),
        (&["--host", "claude"], 2, "by host"),
        (&["--host", "claude-code"], 2, "by the whole name of a host"),
        (&["--host", "copilot"], 0, "a host of which nothing is stored"),
        (&["--branch", "fix"], 1, "by branch: the sub-agent tells none"),
        (&["--since", "2026-03-15"], 2, "since a day"),
        (&["--until", "2026-03-15"], 1, "until a day; a conversation without a time began never"),
        (&["--since", "1d"], 0, "since yesterday"),
        (&["-n", "1"], 1, "the newest"),
        (&["HERON"], 1, "a word"),
    ];
    for (args, want, why) in table {
        let args: Vec<_> = ["list"].iter().chain(args).copied().collect();
        let list = place.json(&args, 0);
        assert_eq!(list.as_array().unwrap().len(), want, "{why}: {list}");
    }
    place.run(&["list", "--since", "soonish"], 2);
    for none in
        [["list", "-n", "0"].as_slice(), &["search", "heron", "-n", "0"], &["show", "5e55", "--last", "0"]]
    {
        let said = text(&place.run(none, 2).stderr);
        assert!(said.contains("write a number from 1 on"), "{none:?}: {said}");
    }
}

/// A name that nothing has is a slip: an empty answer would read as if nothing had been said there.
#[test]
fn unknown_projects_hosts_and_branches_are_told() {
    let place = filled();
    let table: [(&[&str], &str); 10] = [
        (&["list", "--project", "nope"], "no project is called nope"),
        (&["search", "quotes", "--project", "nope"], "no project is called nope"),
        (&["grep", "quotes", "--project", "nope"], "there is tool"),
        (&["pack", "quotes", "--project", "nope"], "no project is called nope"),
        (&["ledger", "--project", "nope"], "no project is called nope"),
        (&["memory", "--project", "nope"], "no project is called nope"),
        (&["list", "--host", "clode"], "no conversation is of a host called clode"),
        (&["search", "quotes", "--branch", "nope"], "no conversation is on a branch called nope"),
        (&["grep", "quotes", "--branch", "nope"], "there is fix"),
        (&["list", "--branch", "nope"], "no conversation is on a branch called nope"),
    ];
    for (args, want) in table {
        let said = text(&place.run(args, 2).stderr);
        assert!(said.contains(want), "{args:?}: {said}");
    }
}

#[test]
fn the_project_of_a_folder_is_the_repository_around_it() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("repo/.git")).unwrap();
    std::fs::create_dir_all(place.path("repo/src")).unwrap();
    let repository = std::fs::canonicalize(place.path("repo")).unwrap();
    claude(&place, &repository.display().to_string());
    let mut command = place.command();
    command.args(["list", "--project", ".", "--json"]).current_dir(repository.join("src"));
    let list: Value = serde_json::from_slice(&command.output().unwrap().stdout).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
}

#[test]
fn show_reads_the_turns() {
    let place = filled();
    let shown = out(&place, &["show", "4a36"]);
    for part in [
        "Why does the parser",
        "you",
        "Plan",
        "I wonder.",
        "✗",
        "cargo test parser",
        "error: quotes are wrong",
    ] {
        assert!(shown.contains(part), "{part} is missing: {shown}");
    }
    for part in ["hook_progress", "quotes again", "\"command\""] {
        assert!(!shown.contains(part), "{part} is no word for a person: {shown}");
    }
    let last = out(&place, &["show", "4a36", "--last", "1"]);
    assert!(last.contains("Then mend it.") && !last.contains("Why does the parser\t"), "{last}");
    assert_eq!(last, out(&place, &["show", "4a36", "--from", "3"]));
    place.run(&["show", "4a36", "--from", "9"], 2);
    let full = out(&place, &["show", "4a36", "--tools", "full"]);
    assert!(full.contains("\"command\":\"cargo test parser\"") && full.contains("quotes again"), "{full}");
    let page = out(&place, &["show", "4a36", "--format", "html"]);
    assert!(
        page.starts_with("<!doctype html>")
            && page.contains("&quot;quotes&quot;?")
            && page.ends_with("</html>\n")
    );
    let markdown = out(&place, &["show", "4a36", "--format", "md"]);
    assert!(markdown.starts_with("# Why does") && markdown.contains("- ✗ `"), "{markdown}");
    let turns = place.json_lines(&["show", "4a36"], 0);
    assert_eq!(turns.len(), 3);
    let tool = turns[1]["blocks"].as_array().unwrap().iter().find(|block| block["kind"] == "tool").unwrap();
    assert_eq!((&tool["name"], &tool["outcome"]), (&"Bash".into(), &"failed".into()));
}

#[test]
fn search_and_grep_show_lines_of_conversations() {
    let place = filled();
    let found = out(&place, &["search", "quotes"]);
    assert!(found.contains("tool · claude-code"), "the conversation above its results: {found}");
    assert!(found.contains("e:4a36aa:"), "a short id: {found}");
    let coloured = text(&place.run(&["search", "quotes", "--color", "always"], 0).stdout);
    assert!(coloured.contains("\u{1b}[1m\u{1b}[31mquotes") || coloured.contains("31mquotes"), "{coloured:?}");
    assert!(!out(&place, &["search", "quotes", "--host", "codex"]).contains("e:4a36"));
    let lines = out(&place, &["grep", "quotes"]);
    assert!(
        lines.contains("    error: quotes are wrong\n    quotes again\n"),
        "decoded, each line once: {lines}"
    );
    assert!(!lines.contains(r"\n"), "{lines}");
    assert_eq!(out(&place, &["grep", "-o", "parse[a-z]+", "--in", "4a36"]).lines().next(), Some("parser"));
    assert!(out(&place, &["grep", "-c", "quotes", "--in", "4a36aaaa"]).trim_start().starts_with("3  4a36aa"));
    assert_eq!(out(&place, &["grep", "-l", "quotes"]).lines().count(), 2);
    assert_eq!(out(&place, &["grep", "-w", "quote"]), "");
    assert_eq!(
        out(&place, &["grep", "-w", "-F", "-o", "-i", "QUOTES", "--project", "tool", "-m", "1"]).trim(),
        "quotes"
    );
    assert!(out(&place, &["grep", "-C", "1", "again"]).contains("error: quotes are wrong"));
}

#[test]
fn resume_and_open_name_the_command_and_the_file() {
    let place = Place::new();
    let folder = std::fs::canonicalize(place.path("")).unwrap();
    claude(&place, &folder.display().to_string());
    let want = format!("cd {} && claude --resume 4a36aaaa\n", folder.display());
    assert_eq!(out(&place, &["resume", "4a36", "--print"]), want);
    assert_eq!(out(&place, &["resume", "--print"]), want, "the newest of this project");
    assert_eq!(place.json(&["resume", "4a36"], 0)["command"][1], "--resume");
    place.run(&["resume", "agent-77", "--print"], 2);
    let path = out(&place, &["open", "4a36", "--print"]);
    assert!(path.trim_end().ends_with("4a36aaaa.jsonl"), "{path}");
    place.run(&["open", "4a36"], 2);
    std::fs::remove_file(place.path("4a36aaaa.jsonl")).unwrap();
    place.run(&["open", "4a36", "--print"], 2);
}

#[test]
fn a_session_id_is_no_option_and_no_path_of_an_agent() {
    let place = Place::new();
    for session in ["--dangerously", "a b", "../x"] {
        let line = format!(
            r#"{{"uuid":"1","parentUuid":null,"sessionId":"{session}","type":"user","timestamp":"2026-04-01T10:00:00Z","message":{{"role":"user","content":"hello"}}}}"#
        );
        place.write("s.jsonl", &(line + "\n"));
        place.run(&["import", "-q", "s.jsonl"], 0);
        place.run(&["resume", &format!("claude-code:{session}"), "--print"], 2);
    }
}

#[test]
fn sessions_of_openclaw_are_told_from_those_of_pi() {
    let place = Place::new();
    let folder = ".openclaw/agents/main/sessions";
    std::fs::create_dir_all(place.path(folder)).unwrap();
    place.write(&format!("{folder}/c.jsonl"), PI);
    place.run(&["import", "-q", "--discover", "--yes"], 0);
    let list = place.json(&["list", "--host", "openclaw"], 0);
    assert_eq!((&list[0]["host"], &list[0]["conversation"]), (&"openclaw".into(), &PI_KEY.into()), "{list}");
    assert_eq!(place.json(&["list", "--host", "pi"], 0).as_array().map(Vec::len), Some(0));
    assert_eq!(place.json(&["usage", "--by", "host"], 0)["rows"][0]["name"], "openclaw");
    let said = text(&place.run(&["resume", "--print", PI_KEY], 2).stderr);
    assert!(said.contains("OpenClaw"), "{said}");
}

#[test]
fn histories_that_a_variable_moved_are_found() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("moved/sessions/--srv-x--")).unwrap();
    place.write("moved/sessions/--srv-x--/s.jsonl", PI);
    let discover = || {
        let mut command = place.command();
        command
            .args(["import", "--discover", "--yes", "--json"])
            .env("PI_CODING_AGENT_DIR", place.path("moved"));
        text(&command.assert().code(0).get_output().stdout)
    };
    assert!(discover().contains(PI_KEY));
    std::fs::remove_dir_all(place.path("moved")).unwrap();
    let mut command = place.command();
    command.args(["give-back", PI_KEY]).env("PI_CODING_AGENT_DIR", place.path("moved")).assert().code(0);
    assert_eq!(std::fs::read_to_string(place.path("moved/sessions/--srv-x--/s.jsonl")).unwrap(), PI);
}

#[test]
fn found_lines_are_broken_between_words() {
    let place = Place::new();
    let words: Vec<String> = (0..60).map(|at| format!("heron{at:02}x")).collect();
    place.write("c.json", &format!(r#"[{{"role":"user","content":"nest {}"}}]"#, words.join(" ")));
    place.run(&["import", "-q", "c.json"], 0);
    for args in [&["search", "nest"][..], &["grep", "-n", "nest"]] {
        let whole = out(&place, args);
        for width in [60, 80, 120, 200] {
            let mut command = place.command();
            command.args(args).env("COLUMNS", width.to_string());
            let shown = text(&command.assert().code(0).get_output().stdout);
            for line in shown.lines() {
                assert!(line.width() <= width, "{width}: {line:?}");
            }
            // Titles are cut to fit, found lines are not.
            let words = |text: &str| -> Vec<String> {
                let found = text.lines().filter(|line| line.starts_with("    "));
                found.flat_map(str::split_whitespace).map(str::to_owned).collect()
            };
            assert_eq!(words(&shown), words(&whole), "no word is broken at {width}");
        }
    }
}
