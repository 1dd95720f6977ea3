//! What a newcomer tries: small mistakes, odd folders, names that are only in the head.

use crate::support::{PI, PI_KEY, Place, text};

fn out(place: &Place, args: &[&str]) -> String {
    text(&place.run(args, 0).stdout)
}

fn err(place: &Place, args: &[&str], exit: i32) -> String {
    text(&place.run(args, exit).stderr)
}

#[test]
fn an_import_says_what_it_passed_over() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("opencode")).unwrap();
    place.write("opencode/birds.db", "herons, storks");
    place.write(
        "opencode/notes.md",
        "# Notes\n\n```json\n{\"role\":\"user\",\"content\":\"x\"}\n```\n\nmore\nand more\n",
    );
    let said = err(&place, &["import", "opencode"], 0);
    assert!(said.contains("no transcript was found") && said.contains("birds.db"), "{said}");
    assert!(said.contains("notes.md"), "a page is no transcript because it shows one: {said}");
    assert!(err(&place, &["import"], 2).contains("--discover"));
    assert!(place.run(&["import", "opencode", "-q"], 0).stderr.is_empty());
    place.write("opencode/opencode.db", "SQLite format 3\u{0}…");
    let said = err(&place, &["import", "opencode"], 3);
    assert!(said.contains("damaged or cut off") && said.contains(".recover"), "{said}");
}

#[test]
fn a_file_of_an_import_has_one_line() {
    let place = Place::new();
    let folder = "a-folder-with-a-long-name/and-another-folder-in-it/and-one-more";
    std::fs::create_dir_all(place.path(folder)).unwrap();
    place.write(&format!("{folder}/session.jsonl"), PI);
    for width in [60, 80, 120, 200] {
        let mut command = place.command();
        command.args(["import", "--force", folder]).env("COLUMNS", width.to_string());
        let said = text(&command.assert().code(0).get_output().stdout);
        assert!(said.lines().all(|line| line.chars().count() <= width), "{width}: {said}");
        assert!(said.contains("session.jsonl"), "{width}: {said}");
    }
    let whole = out(&place, &["import", "--force", folder]);
    assert!(whole.contains(PI_KEY) && whole.contains(folder), "for a program, all of it: {whole}");
}

#[test]
fn doctor_and_watch_refuse_a_path_that_is_not_there() {
    let place = Place::imported();
    for args in [&["doctor", "nowhere"][..], &["watch", "nowhere"], &["watch", "--once", "nowhere"]] {
        let output = place.run(args, 3);
        assert!(text(&output.stderr).contains("there is no such file or folder"), "{args:?}");
        assert!(output.stdout.is_empty(), "no green sum: {args:?}");
    }
}

#[test]
fn small_mistakes_name_the_next_step() {
    let place = Place::imported();
    let table: [(&[&str], i32, &str); 9] = [
        (&["prompt", "pi:", "--window", "12"], 2, "at least 1,000 tokens"),
        (&["prompt", "pi:", "--model", "gpt-9000"], 0, "gpt-9000 is no model that is known here"),
        (&["show", ""], 2, "the name of a conversation is empty"),
        (&["show", "heron"], 2, "stands in what these are about"),
        (&["serve", "--listen", "localhost"], 2, "a port of this machine"),
        (&["prompts", "pi:"], 0, "no prompt of it is kept"),
        (&["backup", "pi.jsonl"], 3, "there is a file of this name already"),
        (&["export", "pi:", "-o", "pi.jsonl"], 3, "there is a file of this name already"),
        (&["expand", "heron"], 2, "e:KEY:12"),
    ];
    for (args, exit, want) in table {
        let said = err(&place, args, exit);
        assert!(said.contains(want), "{args:?}: {said}");
    }
    assert!(out(&place, &["version"]).starts_with("unforget "));
    assert_eq!(out(&place, &["ls"]), out(&place, &["list"]));
}

#[test]
fn several_conversations_stand_on_a_line_each() {
    let place = Place::new();
    for session in ["aaaa-1", "aaaa-2"] {
        let line = format!(
            r#"{{"uuid":"1","parentUuid":null,"sessionId":"{session}","type":"user","timestamp":"2026-04-01T10:00:00Z","message":{{"role":"user","content":"about {session}"}}}}"#
        );
        place.write("s.jsonl", &(line + "\n"));
        place.run(&["import", "-q", "s.jsonl"], 0);
    }
    let said = err(&place, &["show", "aaaa"], 2);
    assert!(said.contains("\n  aaaa-1  about aaaa-1") && said.contains("\n  aaaa-2  about aaaa-2"), "{said}");
}

#[test]
fn expand_and_describe_take_a_conversation() {
    let place = Place::imported();
    let all = out(&place, &["expand", "pi:", "--page", "100000"]);
    assert!(all.contains("Where does the heron nest?"), "{all}");
    assert!(!all.contains("\"type\":\"session\""), "bookkeeping is left out: {all}");
    assert!(out(&place, &["expand", "pi:", "--all", "--page", "100000"]).len() > all.len());
    assert!(out(&place, &["describe", "pi:"]).contains("entries"));
    let page = place.json(&["expand", "pi:"], 0);
    assert!(page["id"].as_str().unwrap().starts_with(&format!("e:{PI_KEY}:0-")), "{page}");
}

#[test]
fn stats_of_a_conversation_have_the_totals_of_all() {
    let place = Place::imported();
    let (all, one) = (place.json(&["stats"], 0), place.json(&["stats", "pi:"], 0));
    for field in ["db", "conversations", "entries", "tokens", "raw_bytes", "stored_bytes", "ratio", "formats"]
    {
        assert!(all.get(field).is_some() && one.get(field).is_some(), "{field}: {one}");
    }
    assert_eq!((&one["conversations"], &one["raw_bytes"]), (&1.into(), &one["bytes"]));
}

#[test]
fn commands_of_a_host_are_shown_as_they_were_typed() {
    let place = Place::new();
    let line = |id: &str, content: &str| {
        format!(
            r#"{{"uuid":"{id}","parentUuid":null,"sessionId":"4a36","type":"user","timestamp":"2026-04-01T10:00:00Z","message":{{"role":"user","content":"{content}"}}}}"#
        )
    };
    let lines = [
        line("1", "/mode"),
        line("2", r"<command-name>/review</command-name>\n<command-args>the parser</command-args>"),
        line("3", "<local-command-caveat>Caveat: for the model</local-command-caveat>"),
    ];
    place.write("s.jsonl", &(lines.join("\n") + "\n"));
    place.run(&["import", "-q", "s.jsonl"], 0);
    let shown = out(&place, &["show", "4a36"]);
    assert!(shown.contains("/review the parser") && !shown.contains("command-name"), "{shown}");
    assert!(
        !shown.contains("Caveat") && out(&place, &["show", "4a36", "--all"]).contains("Caveat"),
        "{shown}"
    );
    assert_eq!(place.json(&["list"], 0)[0]["title"], "/review the parser", "not /mode");
}

#[test]
fn without_a_command_a_program_gets_the_help() {
    let place = Place::imported();
    let help = out(&place, &[]);
    assert!(help.contains("Find:\n  search ") && help.contains("--json"), "{help}");
    let failed = place.json(&[], 2);
    assert!(failed["error"]["hint"].as_str().unwrap().contains("--help"), "{failed}");
}

#[test]
fn grep_numbers_lines_of_the_text() {
    let place = Place::new();
    place.write("c.json", r#"[{"role":"user","content":"one\n\ntwo herons\nthree"}]"#);
    place.run(&["import", "-q", "c.json"], 0);
    assert!(out(&place, &["grep", "-n", "herons"]).contains("    3:two herons\n"));
    assert!(out(&place, &["grep", "-n", "-C", "1", "herons"]).contains("    4-three\n"));
    assert!(!out(&place, &["grep", "herons"]).contains("3:"));
}

#[test]
fn list_knows_models_and_cost_where_they_are_recorded() {
    let place = Place::new();
    let line = r#"{"uuid":"1","parentUuid":null,"sessionId":"4a36","type":"assistant","timestamp":"2026-04-01T10:00:00Z","message":{"id":"m1","model":"claude-opus-4-5-20251101","role":"assistant","content":[{"type":"text","text":"Hello."}],"usage":{"input_tokens":1000000,"output_tokens":0}}}"#;
    place.write("s.jsonl", &format!("{line}\n"));
    place.run(&["import", "-q", "s.jsonl"], 0);
    let list = place.json(&["list", "--cost"], 0);
    assert_eq!(list[0]["models"][0], "claude-opus-4-5-20251101");
    assert!(list[0]["dollars"].as_f64().unwrap() > 0.0, "{list}");
    assert!(place.json(&["list"], 0)[0].get("dollars").is_none(), "nobody asked");
    assert!(out(&place, &["list", "--cost"]).contains("claude-opus-4-5"));
}

#[test]
fn a_page_per_command_and_words_of_the_database_for_a_shell() {
    let place = Place::imported();
    place.run(&["man", "pages"], 0);
    for page in ["unforget.1", "unforget-import.1", "unforget-replay.1"] {
        assert!(place.path("pages").join(page).is_file(), "{page}");
    }
    place.run(&["man", "--json"], 2);
    let script = out(&place, &["completions", "bash"]);
    assert!(script.contains("UNFORGET_COMPLETE"), "{script}");
    assert!(place.json(&["completions", "zsh"], 0)["script"].as_str().unwrap().contains("UNFORGET_COMPLETE"));
    let complete = |words: &[&str]| {
        let mut command = place.command();
        command.env("UNFORGET_COMPLETE", "bash").env("_CLAP_COMPLETE_INDEX", (words.len() - 1).to_string());
        command.env("_CLAP_IFS", "\n").env("_CLAP_COMPLETE_COMP_TYPE", "9").args(["--"]).args(words);
        text(&command.output().unwrap().stdout)
    };
    assert!(complete(&["unforget", "sho"]).contains("show"));
    let name = place.json(&["list", "--host", "pi"], 0)[0]["name"].as_str().unwrap().to_owned();
    assert!(complete(&["unforget", "show", ""]).lines().any(|line| line.starts_with(&name)), "{name}");
    assert!(complete(&["unforget", "list", "--host", "p"]).contains("pi"));
}
