//! The ledger, through the binary.

use crate::support::{Place, example, text};

#[test]
fn the_ledger_says_what_was_done_and_where() {
    let place = Place::imported();
    let ledger = place.json(&["ledger", "pi:"], 0);
    let rows = ledger["rows"].as_array().unwrap();
    let command = rows.iter().find(|row| row["kind"] == "command").unwrap();
    assert_eq!(command["what"], "ls reeds", "{ledger}");
    assert_eq!((command["call"].as_u64(), command["last"].as_u64()), (Some(2), Some(3)), "linked to entries");
    assert_eq!((command["state"].as_str(), command["times"].as_u64()), (Some("done"), Some(1)));
    let what = place.json(&["describe", "s:3", "--conversation", "pi:"], 0);
    assert_eq!(what["kind"], "entry", "an entry that is named can be looked up");
    assert_eq!(place.json(&["ledger", "pi:", "--kind", "url"], 0)["rows"].as_array().unwrap().len(), 0);
    assert!(text(&place.run(&["ledger", "pi:"], 0).stdout).contains("ls reeds"));
    assert_eq!(place.json(&["ledger", "openai-chat"], 0)["rows"].as_array().unwrap().len(), 0, "no tools");
    place.run(&["ledger", "nobody"], 2);
    place.run(&["ledger", "pi:", "--kind", "dream"], 2);
}

#[test]
fn a_long_session_has_files_and_commands_in_order() {
    let place = Place::new();
    place.run(&["import", "-q", &example("long-session.jsonl")], 0);
    let ledger = place.json(&["ledger", "pi:"], 0);
    let rows = ledger["rows"].as_array().unwrap();
    assert!(rows.len() > 3, "{ledger}");
    for pair in rows.windows(2).filter(|pair| pair[0]["kind"] == pair[1]["kind"]) {
        assert!(pair[0]["last"].as_u64() <= pair[1]["last"].as_u64(), "{pair:?}");
    }
    assert!(rows.iter().all(|row| row["call"].as_u64() <= row["last"].as_u64()));
}

/// Two sessions in one project: both edit a file, one runs a command that fails.
fn two_sessions(place: &Place) {
    for (session, day, asked) in [("aaaa", 1, "mend the parser"), ("bbbb", 2, "make it fast")] {
        let line = |id: u8, kind: &str, message: &str| {
            format!(
                r#"{{"uuid":"{session}{id}","parentUuid":null,"sessionId":"{session}","cwd":"/home/ann/tool","type":"{kind}","timestamp":"2026-04-0{day}T10:00:0{id}Z","message":{message}}}"#
            )
        };
        let call = |id: u8, name: &str, input: &str| {
            let call = format!(
                r#"{{"id":"m{id}","role":"assistant","content":[{{"type":"tool_use","id":"t{id}","name":"{name}","input":{input}}}]}}"#
            );
            line(id, "assistant", &call)
        };
        let result = |id: u8, of: u8, is_error: bool| {
            let result = format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{of}","is_error":{is_error},"content":"error: it is broken"}}]}}"#
            );
            line(id, "user", &result)
        };
        let lines = [
            line(1, "user", &format!(r#"{{"role":"user","content":"{asked}"}}"#)),
            call(2, "Write", r#"{"file_path":"/home/ann/tool/src/parser.rs","content":"x"}"#),
            result(3, 2, false),
            call(4, "Bash", r#"{"command":"cargo test parser"}"#),
            result(5, 4, session == "aaaa"),
        ];
        place.write("s.jsonl", &(lines.join("\n") + "\n"));
        place.run(&["import", "-q", "s.jsonl"], 0);
    }
}

#[test]
fn the_ledgers_of_all_say_who_touched_a_file_and_why() {
    let place = Place::imported();
    two_sessions(&place);
    let done = place.json(&["ledger", "--file", "src/parser.rs"], 0);
    let found: Vec<_> =
        done.as_array().unwrap().iter().map(|one| one["conversation"].as_str().unwrap()).collect();
    assert_eq!(found, ["claude-code:bbbb", "claude-code:aaaa"], "the newest first in a pipe");
    let row = &done[1]["rows"][0];
    assert_eq!((&row["asked"], &row["state"]), (&"mend the parser".into(), &"written".into()), "{done}");
    assert_eq!(
        (&row["entry"], &row["time"]),
        (&"e:claude-code:aaaa:2".into(), &"2026-04-01T10:00:03Z".into()),
        "{done}"
    );
    let said = text(&place.run(&["ledger", "--file", "parser.rs", "--project", "tool"], 0).stdout);
    assert!(
        said.contains("asked: make it fast") && said.contains(" src/parser.rs"),
        "paths from the project: {said}"
    );
    assert!(!said.contains("/home/ann"), "{said}");
    let table: [(&[&str], usize, &str); 7] = [
        (&["--failed"], 1, "what failed"),
        (&["--command", "CARGO"], 2, "commands with a word"),
        (&["--command", "cargo", "--failed"], 1, "commands with a word that failed"),
        (&["--file", "arser.rs"], 0, "no part of a name"),
        (&["--file", "parser.rs", "--since", "2026-04-02"], 1, "since a day"),
        (&["--file", "parser.rs", "--until", "2026-04-02"], 1, "until a day"),
        (&["--host", "pi"], 1, "by host"),
    ];
    for (args, want, why) in table {
        let args: Vec<_> = ["ledger"].iter().chain(args).copied().collect();
        assert_eq!(place.json(&args, 0).as_array().unwrap().len(), want, "{why}");
    }
    let one = place.json(&["ledger", "aaaa", "--failed", "-n", "1"], 0);
    assert_eq!(one["rows"].as_array().unwrap().len(), 1, "of one conversation too: {one}");
    place.run(&["ledger", "--file", "/"], 2);
    place.run(&["ledger", "--project", "elsewhere"], 2);
}
