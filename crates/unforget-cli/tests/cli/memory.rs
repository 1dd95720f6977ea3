//! What sessions left, what somebody rejected, and what a hook tells, through the binary.

use serde_json::{Value, json};

use crate::support::{Place, text};

/// A Claude Code session in `/home/ann/tool`: a rule, a failure that passed later, a decision, and a next step.
pub(crate) fn session(place: &Place) -> String {
    let line = |at: u32, kind: &str, message: Value| {
        let parent = if at == 0 { Value::Null } else { json!(format!("u{}", at - 1)) };
        json!({
            "type": kind, "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "5e55", "cwd": "/home/ann/tool",
            "timestamp": format!("2026-01-01T00:00:{at:02}Z"), "message": message,
        })
        .to_string()
    };
    let user = |content: Value| json!({"role": "user", "content": content});
    let model =
        |at: u32, content: Value| json!({"id": format!("m{at}"), "role": "assistant", "content": content});
    let run = |at: u32| json!([{"type": "tool_use", "id": format!("t{at}"), "name": "Bash", "input": {"command": "make check"}}]);
    let result = |at: u32, is_error: bool, said: &str| json!([{"type": "tool_result", "tool_use_id": format!("t{at}"), "is_error": is_error, "content": said}]);
    let lines = [
        line(0, "user", user(json!("Mend the printer. Never push to main."))),
        line(1, "assistant", model(1, run(1))),
        line(2, "user", user(result(1, true, "Exit code 2\nerror: printer.rs is too wide"))),
        line(3, "assistant", model(3, run(3))),
        line(4, "user", user(result(3, false, "ok"))),
        line(
            5,
            "assistant",
            model(
                5,
                json!([{"type": "text", "text": "I mended it. The check failed because printer.rs wrapped at 80 columns.\n\nA test for wide lines is still missing."}]),
            ),
        ),
    ];
    place.write("session.jsonl", &(lines.join("\n") + "\n"));
    place.json_lines(&["import", place.path("session.jsonl").to_str().unwrap()], 0);
    "claude-code:5e55".to_owned()
}

fn kinds(memory: &Value) -> Vec<&str> {
    memory["items"].as_array().unwrap().iter().map(|item| item["kind"].as_str().unwrap()).collect()
}

/// What the hook prints for an event: nothing, or one JSON value.
fn hook(place: &Place, event: &Value) -> Option<String> {
    hook_with(place, &[], event)
}

fn hook_with(place: &Place, words: &[&str], event: &Value) -> Option<String> {
    let output = place
        .command()
        .arg("hook")
        .args(words)
        .write_stdin(event.to_string())
        .assert()
        .code(0)
        .get_output()
        .clone();
    let said = text(&output.stdout);
    assert!(said.len() < 2_500, "{said}");
    let value: Option<Value> = (!said.trim().is_empty()).then(|| serde_json::from_str(&said).unwrap());
    value.map(|value| {
        let told = &value["hookSpecificOutput"];
        assert_eq!(told["hookEventName"], event["hook_event_name"]);
        told["additionalContext"].as_str().unwrap().to_owned()
    })
}

#[test]
fn a_hook_whose_input_never_ends_ends_by_itself() {
    let place = Place::imported();
    let mut command = std::process::Command::new(crate::support::binary());
    command.args(["hook", "--db"]).arg(place.path("store.sqlite")).env_clear();
    let mut child =
        command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    // The other end of the pipe stays open.
    let input = child.stdin.take();
    let ended = child.wait_with_output().unwrap();
    drop(input);
    assert_eq!((ended.status.code(), text(&ended.stdout).as_str()), (Some(0), ""));
}

#[test]
fn a_project_remembers_what_its_sessions_left_until_it_is_rejected() {
    let place = Place::new();
    let key = session(&place);
    let memory = place.json(&["memory", "--project", "tool"], 0);
    assert_eq!(kinds(&memory), ["rule", "open", "decision", "fixed", "works"], "{memory}");
    assert_eq!(memory["items"][0]["id"], format!("e:{key}:0"));
    let shown = text(&place.run(&["memory", "--project", "tool"], 0).stdout);
    assert!(shown.contains("Never push to main.") && shown.contains("80 columns"), "{shown}");
    let id = memory["items"][2]["id"].as_str().unwrap();
    let line = "The check failed because printer.rs wrapped at 80 columns.";
    let verdicts = place.json(&["reject", id, "--line", line, "--why", "it was a tab"], 0);
    assert_eq!(verdicts["verdicts"][0]["why"], "it was a tab", "{verdicts}");
    let after = place.json(&["memory", "--project", "tool"], 0);
    assert_eq!(
        (kinds(&after), after["rejected"].as_u64()),
        (vec!["rule", "open", "fixed", "works"], Some(1)),
        "{after}"
    );
    let hits = place.json(&["search", "check failed wrapped columns"], 0);
    assert_eq!(hits["results"][0]["verdict"]["why"], "it was a tab", "{hits}");
    let said = text(&place.run(&["search", "check failed wrapped columns"], 0).stdout);
    assert!(said.contains("it was a tab"), "{said}");
    assert!(text(&place.run(&["reject", &key, "--list"], 0).stdout).contains("stands"));
    place.run(&["reject", &key, "--undo", "1"], 0);
    assert_eq!(kinds(&place.json(&["memory", "--project", "tool"], 0)).len(), 5, "as before");
    place.run(&["reject", &key, "--undo", "1"], 2);
    place.run(&["reject", id], 2);
    place.run(&["pin", &key, "Ask before you commit."], 0);
    let pinned = place.json(&["memory", "--project", "tool", "--kind", "rule"], 0);
    assert_eq!(pinned["items"][0]["text"], "Ask before you commit.", "{pinned}");
    assert_eq!(pinned["items"][0]["id"], Value::Null, "no entry says it: {pinned}");
    let shown = text(&place.run(&["memory", "--project", "tool", "--kind", "rule"], 0).stdout);
    assert!(shown.contains("Ask before you commit.\n    pinned"), "{shown}");
    // A folder in which no agent ran has no memory; a name that nothing has is a slip.
    let nothing = place.json(&["memory", "--project", "/home/ann/elsewhere"], 0);
    assert_eq!((nothing["sessions"].as_u64(), kinds(&nothing).len()), (Some(0), 0));
    place.run(&["memory", "--project", "elsewhere"], 2);
}

#[test]
fn a_hook_tells_what_is_known_and_never_fails() {
    let place = Place::new();
    let event = |name: &str, more: Value| {
        let mut event = json!({"hook_event_name": name, "session_id": "new", "cwd": "/home/ann/tool"});
        event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        event
    };
    let bash = |command: &str| json!({"tool_name": "Bash", "tool_input": {"command": command}});
    assert_eq!(hook(&place, &event("SessionStart", json!({}))), None, "there is no database");
    session(&place);
    place.json(&["memory", "--project", "tool"], 0);
    let told = hook(&place, &event("SessionStart", json!({}))).unwrap();
    assert!(told.contains("Never push to main.") && told.contains("wide lines"), "{told}");
    let margin = ["--margin", "0.5"];
    let told = hook_with(&place, &margin, &event("PreToolUse", bash("make check"))).unwrap();
    assert!(told.contains("too wide") && !told.contains("Never push"), "{told}");
    let edit = json!({"tool_name": "Edit", "tool_input": {"file_path": "/home/ann/tool/src/printer.rs", "old_string": "a", "new_string": "b"}});
    let edit = event("PreToolUse", edit);
    assert!(hook_with(&place, &margin, &edit).unwrap().contains("80 columns"));
    assert_eq!(hook_with(&place, &["--margin", "9"], &edit), None, "one name in common is not as relevant");
    let asked = |more: Value| {
        let mut asked = event("UserPromptSubmit", json!({"prompt": "why is printer.rs so slow?"}));
        asked.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        asked
    };
    let told = hook_with(&place, &margin, &asked(json!({}))).unwrap();
    assert!(told.contains("80 columns") && !told.contains("Never push"), "{told}");
    let plain = event("UserPromptSubmit", json!({"prompt": "mend the printer, it wraps columns"}));
    assert_eq!(hook_with(&place, &margin, &plain), None, "nothing is named");
    // What the session's transcript shows at its end is not told again.
    place.write("now.jsonl", &format!("{}\n", json!({"attachment": told})));
    let seen = asked(json!({"transcript_path": place.path("now.jsonl")}));
    assert_eq!(hook_with(&place, &margin, &seen), None);
    let odd = ["/dev/zero", "nowhere.jsonl"].map(|path| asked(json!({"transcript_path": path})));
    assert!(odd.iter().all(|odd| hook_with(&place, &margin, odd).is_some()), "no file is read that is none");
    let mut failed = bash("make check");
    failed["error"] = json!("Exit code 2\nerror: printer.rs is too wide");
    assert!(hook(&place, &event("PostToolUseFailure", failed.clone())).unwrap().contains("too wide"));
    failed["error"] = json!("Exit code 1\nerror: another one");
    let quiet = [
        event("PreToolUse", bash("make")),
        event("PreToolUse", bash("make check")),
        edit,
        event("PostToolUse", bash("make check")),
        event("PostToolUseFailure", failed),
        event("UserPromptSubmit", json!({"prompt": "mend the printer"})),
        json!({"hook_event_name": "SessionStart", "session_id": "5e55", "cwd": "/home/ann/tool"}),
        json!({"hook_event_name": "SessionStart", "cwd": "/home/ann/other"}),
        json!([1, 2]),
        json!("x"),
    ];
    for event in quiet {
        assert_eq!(hook(&place, &event), None, "{event}");
    }
}

#[test]
fn a_hook_ends_well_whatever_it_is_given() {
    let place = Place::new();
    session(&place);
    let folder = place.path("config/unforget");
    std::fs::create_dir_all(&folder).unwrap();
    let (lost, broken) = ([("UNFORGET_WINDOW", "wide")], [("XDG_CONFIG_HOME", place.path("config"))]);
    place.write("config/unforget/config.toml", "window = [");
    #[allow(clippy::type_complexity, reason = "a table")]
    let table: [(&[&str], &[(&str, std::path::PathBuf)], &str); 6] = [
        (&["hook", "--margin", "x"], &[], "a margin that is no number"),
        (&["hook", "--margin", "-1"], &[], "a margin below zero"),
        (&["hook", "--nonsense"], &[], "an unknown option"),
        (&["--color", "pink", "hook", "more"], &[], "a wrong value before the command"),
        (&["hook"], &lost.map(|(name, value)| (name, value.into())), "a variable of no use"),
        (&["hook"], &broken, "a settings file that cannot be read"),
    ];
    for (words, variables, why) in table {
        let mut command = place.command();
        command.args(words).envs(variables.iter().cloned()).write_stdin("{}");
        let output = command.assert().code(0).get_output().clone();
        assert!(output.stdout.is_empty() && !output.stderr.is_empty(), "{why}: {output:?}");
    }
    place.run(&["search", "--margin", "x"], 2);
}

#[test]
fn a_long_session_is_told_once_a_quiet_import_has_read_it() {
    let place = Place::new();
    let line = |at: u32| {
        let parent = if at == 0 { Value::Null } else { json!(format!("u{}", at - 1)) };
        let content = if at == 0 { "Never push to main.".to_owned() } else { format!("Go on, step {at}.") };
        json!({
            "type": "user", "uuid": format!("u{at}"), "parentUuid": parent, "sessionId": "1on9", "cwd": "/home/ann/long",
            "timestamp": "2026-01-01T00:00:00Z", "message": {"role": "user", "content": content},
        })
        .to_string()
            + "\n"
    };
    let path = place.path("long.jsonl");
    let event = json!({"hook_event_name": "SessionStart", "session_id": "new", "cwd": "/home/ann/long"});
    place.write("long.jsonl", &(0..300).map(line).collect::<String>());
    place.run(&["import", path.to_str().unwrap()], 0);
    let output =
        place.command().arg("hook").write_stdin(event.to_string()).assert().code(0).get_output().clone();
    assert!(output.stdout.is_empty(), "too much to read while the host waits");
    assert!(
        text(&output.stderr).contains("1 session of this project not read to the end"),
        "{}",
        text(&output.stderr)
    );
    place.write("long.jsonl", &(0..310).map(line).collect::<String>());
    place.run(&["--quiet", "import", path.to_str().unwrap()], 0);
    assert!(hook(&place, &event).unwrap().contains("Never push to main."));
}

/// The hooks that `setup claude --hints` puts in tell what is known, as the agent would run them.
#[cfg(unix)]
#[test]
fn hooks_of_setup_tell_what_is_known() {
    let place = Place::new();
    session(&place);
    place.run(&["setup", "codex", "--hints", "--yes"], 2);
    place.run(&["setup", "claude", "--yes"], 0);
    let settings = || std::fs::read_to_string(place.path(".claude/settings.json")).unwrap();
    assert!(!settings().contains("PreToolUse"), "nobody asked for hints");
    place.run(&["setup", "claude", "--hints", "--yes"], 0);
    assert!(
        settings().contains("PostToolUseFailure") && !settings().contains("PreToolUse"),
        "nobody named a margin"
    );
    place.run(&["setup", "claude", "--hints", "--margin", "0.5", "--yes"], 0);
    let hooks: Value = serde_json::from_str::<Value>(&settings()).unwrap()["hooks"].take();
    assert!(hooks["PreToolUse"][0]["matcher"].as_str().unwrap().contains("Bash"), "{hooks}");
    for event in ["SessionStart", "PreToolUse", "PostToolUseFailure", "UserPromptSubmit"] {
        let command = hooks[event][0]["hooks"][0]["command"].as_str().unwrap();
        let input = json!({
            "hook_event_name": event, "session_id": "new", "cwd": "/home/ann/tool", "tool_name": "Bash",
            "tool_input": {"command": "make check"}, "prompt": "look at printer.rs", "error": "Exit code 2\nerror: printer.rs is too wide",
        });
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", command]).env("HOME", place.path(""));
        shell.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = shell.spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success() && text(&output.stdout).contains("additionalContext"), "{event}");
    }
    place.run(&["setup", "claude", "--margin", "1", "--yes"], 2);
    for margin in ["--margin=0", "--margin=-1", "--margin=nan", "--margin=inf"] {
        place.run(&["setup", "claude", "--hints", margin, "--yes"], 2);
        let said = place.run(&["hook", margin], 0);
        assert!(text(&said.stderr).contains("--margin"), "told, and no order to the host: {margin}");
        place.run(&["bench", "hints", margin, "no-file"], 2);
    }
    place.run(&["setup", "claude", "--yes"], 0);
    assert!(!settings().contains("PreToolUse"), "hints are taken out where nobody asks for them any more");
    place.run(&["setup", "claude", "--undo", "--yes"], 0);
    assert!(!place.path(".claude/settings.json").exists());
}

/// The bench plays what hooks would have told: a session that ended before a second one tells it of a failure and of a
/// file, and what the second one does next says whether that was right.
#[test]
fn hints_are_measured_by_what_a_session_does_next() {
    let place = Place::new();
    session(&place);
    let line = |at: u32, kind: &str, message: Value| {
        let parent = if at == 0 { Value::Null } else { json!(format!("v{}", at - 1)) };
        json!({
            "type": kind, "uuid": format!("v{at}"), "parentUuid": parent, "sessionId": "6e66", "cwd": "/home/ann/tool",
            "timestamp": format!("2026-01-02T00:00:{at:02}Z"), "message": message,
        })
        .to_string()
            + "\n"
    };
    let said = |text: &str| json!({"role": "user", "content": text});
    let call = |at: u32, name: &str, input: Value| {
        let call = json!({"type": "tool_use", "id": format!("t{at}"), "name": name, "input": input});
        json!({"id": format!("n{at}"), "role": "assistant", "content": [call]})
    };
    let result = |at: u32, is_error: bool, said: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": format!("t{at}"), "is_error": is_error, "content": said}]});
    let lines = [
        line(0, "user", said("Why is printer.rs slow?")),
        line(1, "assistant", call(1, "Bash", json!({"command": "make check"}))),
        line(2, "user", result(1, true, "Exit code 2\nerror: printer.rs is too wide")),
        line(
            3,
            "assistant",
            call(
                3,
                "Edit",
                json!({"file_path": "/home/ann/tool/src/printer.rs", "old_string": "a", "new_string": "b"}),
            ),
        ),
        line(4, "user", result(3, false, "ok")),
    ];
    place.write("later.jsonl", &lines.concat());
    let files = ["session.jsonl", "later.jsonl"].map(|name| place.path(name).to_str().unwrap().to_owned());
    let bench = |more: &[&str]| {
        let mut words = vec!["bench", "hints", &files[0], &files[1], "--margin", "0.5,9"];
        words.extend(more);
        place.json(&words, 0)
    };
    let json = bench(&[]);
    let rows = json["rows"].as_array().unwrap();
    let row = |event: &str, margin: Value| {
        rows.iter().find(|row| row["event"] == event && row["margin"] == margin).unwrap()
    };
    let counts = |row: &Value| ["moments", "shown", "items", "right"].map(|name| row[name].as_u64().unwrap());
    // The first session hears nothing: none ended before it. The second runs the command that failed, and it fails.
    assert_eq!(counts(row("command", Value::Null)), [3, 1, 1, 1], "{json}");
    assert_eq!(counts(row("failure", Value::Null)), [2, 0, 0, 0], "told before the call already: {json}");
    assert_eq!(counts(row("edit", json!(0.5))), [1, 0, 0, 0], "told with the message already: {json}");
    assert_eq!(counts(row("edit", json!(9.0))), [1, 0, 0, 0], "{json}");
    assert_eq!(counts(row("prompt", json!(0.5)))[..2], [2, 1], "{json}");
    let half = bench(&["--half", "report"]);
    assert_eq!((half["sessions"].as_u64(), half["measured"].as_u64()), (Some(2), Some(1)), "{half}");
    place.run(&["bench", "hints", &files[0], "--margin", "0.5", "--each"], 0);
    place.write("none.jsonl", "{}\n");
    place.run(&["bench", "hints", place.path("none.jsonl").to_str().unwrap()], 3);
}
