//! Tables of calls, results, command lines, and the rendered ledger.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod failures;
mod project;

use proptest::prelude::*;
use serde_json::json;
use unforget_core::entry::{Entry, Origin, Part, Role, Status, ToolCall, ToolResult};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::ledger::{Called, Deed, Fact, FileChange, Ledger, Lines, Outcome, Telling, TestCounts};
use unforget_core::tokens::Ruler as _;

use super::*;

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: "c".into(), name: name.into(), arguments: arguments.into(), complete: true, raw: None }
}

fn result(text: &str, is_error: bool, exit_code: Option<i64>) -> ToolResult {
    let content = vec![Part::Text(text.into())];
    ToolResult { call_id: "c".into(), name: String::new(), content, is_error, exit_code }
}

fn lines(lines: Lines) -> String {
    match (lines.first, lines.last) {
        (0, _) => "?".into(),
        (1, None) => String::new(),
        (first, None) if first > 1 << 60 => format!("-{}", u64::MAX - first),
        (first, None) => format!("{first}+"),
        (first, Some(last)) => format!("{first}-{last}"),
    }
}

/// Deeds in few letters; of a command line only its kind.
fn show(called: &Called) -> String {
    let deed = |deed: &Deed| match deed {
        Deed::Read { path, lines: read } => format!("r {path} {}", lines(*read)),
        Deed::Wrote { path, change, .. } => {
            let how = match change {
                FileChange::Whole => "w",
                FileChange::Part => "e",
                FileChange::Gone => "d",
            };
            format!("{how} {path}")
        }
        Deed::Ran(command) => {
            let marks = [
                (command.tests, "t"),
                (command.commits, "c"),
                (command.tells.asks, "?"),
                (command.tells.hides, "|"),
            ];
            format!("x{}", marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect::<String>())
        }
        Deed::Fetched(url) => format!("u {url}"),
        Deed::Tasks(deed) => format!("{deed:?}"),
    };
    let deeds: Vec<String> = called.deeds.iter().map(|item| deed(item).trim().to_owned()).collect();
    let telling = match called.telling {
        Telling::Once => "",
        Telling::Again => " again",
        Telling::Shows => " shows",
    };
    format!("{}{telling}", deeds.join(", "))
}

const PATCH: &str = "*** Begin Patch\n*** Update File: a.rs\n@@\n-*** Add File: no.rs\n*** Move to: b.rs\n*** Add File: c.rs\n+x\n*** Delete File: d.rs\n*** End Patch";

fn check_calls(table: &[(&str, serde_json::Value, &str, &str)]) {
    for (name, arguments, want, why) in table {
        let called = calls::read(&call(name, &arguments.to_string()));
        assert_eq!(show(&called), *want, "{why}: {name} {arguments}");
    }
}

#[test]
fn file_call_table() {
    check_calls(&[
        ("Read", json!({"file_path": "/a.rs"}), "r /a.rs shows", "Claude Code"),
        (
            "Read",
            json!({"file_path": "/a.rs", "offset": 10, "limit": 5}),
            "r /a.rs 10-14 shows",
            "lines by count",
        ),
        ("read", json!({"path": "./a.rs", "offset": 0}), "r a.rs shows", "pi"),
        ("view", json!({"path": "a.rs", "view_range": [3, 9]}), "r a.rs 3-9 shows", "Copilot"),
        ("view", json!({"path": "a.rs", "view_range": [3, -1]}), "r a.rs 3+ shows", "to the end"),
        (
            "str_replace_editor",
            json!({"command": "view", "path": "a.rs"}),
            "r a.rs shows",
            "one tool for all: view",
        ),
        (
            "str_replace_editor",
            json!({"command": "create", "path": "a.rs", "file_text": "x"}),
            "w a.rs",
            "create",
        ),
        ("str_replace_editor", json!({"command": "str_replace", "path": "a.rs"}), "e a.rs", "replace"),
        ("mcp__files__read_file", json!({"path": "a.rs"}), "r a.rs shows", "behind a server's name"),
        ("Write", json!({"file_path": "/a.rs", "content": "x"}), "w /a.rs", "Claude Code"),
        ("MultiEdit", json!({"file_path": "/a.rs", "edits": []}), "e /a.rs", "Claude Code"),
    ]);
}

#[test]
fn other_call_table() {
    check_calls(&[
        ("apply_patch", json!({"input": PATCH}), "d a.rs, w b.rs, w c.rs, d d.rs", "Codex, custom tool"),
        (
            "shell",
            json!({"command": ["bash", "-lc", format!("apply_patch <<'EOF'\n{PATCH}\nEOF")]}),
            "x, d a.rs, w b.rs, w c.rs, d d.rs again",
            "Codex, in a shell",
        ),
        ("exec_command", json!({"cmd": "cargo test -p a", "workdir": "/w"}), "xt again", "Codex"),
        ("Grep", json!({"pattern": "x", "path": "src"}), " again", "a search reads no file"),
        ("WebFetch", json!({"url": "https://a.b/c", "prompt": "p"}), "u https://a.b/c again", "an address"),
        (
            "TodoWrite",
            json!({"todos": [{"content": "a", "status": "completed"}]}),
            "List([(\"a\", Done)])",
            "a whole list",
        ),
        (
            "update_plan",
            json!({"plan": [{"step": "a", "status": "in_progress"}]}),
            "List([(\"a\", Active)])",
            "Codex",
        ),
        ("TaskCreate", json!({"subject": "a", "description": "b"}), "Open(\"a\")", "one more"),
        (
            "TaskUpdate",
            json!({"taskId": "1", "status": "completed"}),
            "Mark { id: \"1\", text: None, state: Some(Done) }",
            "a mark",
        ),
        ("get_weather", json!({"path": "src"}), "", "a name that says nothing"),
        ("save_note", json!({"path": "n.md"}), "e n.md", "by the words of an unknown name"),
        ("BashOutput", json!({"bash_id": "1"}), "", "new output each time"),
        ("Read", json!({"file_path": 7}), " shows", "a path that is none"),
        ("Read", json!([]), " shows", "arguments that are none"),
        ("Bash", json!({}), "", "a command that is none"),
    ]);
    assert_eq!(
        show(&calls::read(&call("apply_patch", PATCH))),
        "d a.rs, w b.rs, w c.rs, d d.rs",
        "bare text"
    );
    assert_eq!(
        show(&calls::read(&call("exec_command", "[REDACTED len=3]"))),
        "x again",
        "arguments that are no JSON"
    );
}

#[test]
fn command_table() {
    let table = [
        ("cat a.rs", "x, r a.rs shows", "a file"),
        ("cd /w && cat a.rs b.rs", "x, r a.rs, r b.rs shows", "two files"),
        ("cat a.rs | head -50", "x|, r a.rs 1-50 shows", "its first lines"),
        ("nl -ba a.rs | sed -n '10,20p'", "x|, r a.rs 10-20 shows", "some lines"),
        ("sed -n '10,20p' a.rs", "x, r a.rs 10-20 shows", "the same"),
        ("sed -n '10,20p;40p' a.rs", "x, r a.rs ? again", "some lines, not known which"),
        (
            "head -n 5 a.rs && tail -n +9 a.rs; tail -3 a.rs",
            "x|, r a.rs 1-5, r a.rs 9+, r a.rs -3 shows",
            "ends of a file",
        ),
        ("cat a.rs | grep foo", "x?|, r a.rs ? again", "lines that match"),
        ("cat $F *.rs `ls`", "x again", "no plain words"),
        ("echo hi > out.txt", "x, w out.txt again", "into a file"),
        ("cargo build >> log.txt 2>&1", "x, e log.txt again", "behind a file"),
        ("cargo build > /dev/null 2> err.txt", "x again", "into nothing, and errors aside"),
        (
            "cat > a.py <<'EOF'\nrm -rf b.py\nEOF",
            "x, w a.py again",
            "what stands in a here-document is content",
        ),
        ("sed -i 's/a/b/' src/a.rs", "x, e src/a.rs again", "in place"),
        (
            "rm -f a.rs && mv b.rs c.rs && cp c.rs d.rs",
            "x, d a.rs, d b.rs, w c.rs, w d.rs again",
            "gone and moved",
        ),
        ("echo x | tee -a a.log", "x, e a.log again", "tee"),
        ("cd x && cargo test 2>&1 | tail -20", "xt| again", "a pipe hides how tests ended"),
        ("npm run test:unit -- --watch=false", "xt again", "npm"),
        ("python3 -m pytest -q tests", "xt again", "pytest"),
        ("RUST_LOG=debug timeout 60 go test ./...", "xt again", "behind assignments and wrappers"),
        ("npx vitest run", "xt again", "vitest"),
        ("cargo build; echo done", "x| again", "the last command hides the first"),
        ("cargo build || true", "x| again", "so does this"),
        ("cargo build && echo done", "x again", "this does not"),
        ("grep -rn test src", "x? again", "a question, and no test run"),
        ("git add . && git commit -m 'cargo test'", "xc again", "words in quotes are no command"),
        ("git -C /w commit -am x", "xc again", "git elsewhere"),
        ("git diff --stat", "x? again", "a question"),
        ("curl -s 'https://a.b/c' | jq .", "x|, u https://a.b/c again", "an address"),
        ("echo https://a.b/c", "x again", "an address that is only said"),
        ("echo 'unterminated", "x again", "an open quotation"),
        ("", "", "nothing"),
    ];
    for (line, want, why) in table {
        let called = calls::read(&call("bash", &json!({"command": line}).to_string()));
        assert_eq!(show(&called), want, "{why}: {line}");
    }
    let work = |line: &str| match &calls::read(&call("bash", &json!({"command": line}).to_string())).deeds[0]
    {
        Deed::Ran(command) => command.work,
        _ => panic!("no command"),
    };
    assert_eq!(work("cd a && cargo test 2>&1 | tail -5"), work("cargo test"), "shown otherwise");
    assert_ne!(work("cargo test -p a"), work("cargo test -p b"), "other work");
    assert_ne!(work("curl x | jq a"), work("curl x | jq b"), "jq does work");
}

#[test]
fn result_table() {
    let table = [
        ("ok", false, None, Outcome::Done, None, "nothing special"),
        ("Exit code 101\nerror: x", true, None, Outcome::Failed, Some(101), "Claude Code"),
        ("x\n\nCommand exited with code 2", true, None, Outcome::Failed, Some(2), "pi"),
        ("x\n<exited with exit code 1>", false, None, Outcome::Failed, Some(1), "Copilot"),
        ("x", false, Some(0), Outcome::Done, Some(0), "told by the format"),
        ("x", false, Some(3), Outcome::Failed, Some(3), "told by the format"),
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected",
            true,
            None,
            Outcome::NotRun,
            None,
            "refused",
        ),
        ("apply_patch verification failed: x", false, None, Outcome::Failed, None, "Codex"),
        (
            "the docs say: Exit code 3 means x\nmore",
            false,
            None,
            Outcome::Done,
            None,
            "prose about exit codes",
        ),
    ];
    for (text, is_error, code, outcome, exit, why) in table {
        let read = results::read(&result(text, is_error, code));
        assert_eq!((read.outcome, read.exit), (outcome, exit), "{why}: {text}");
    }
    let tests = |text: &str| results::read(&result(text, false, None)).tests;
    let counts = |passed, failed, skipped| Some(TestCounts { passed, failed, skipped });
    assert_eq!(
        tests("test result: ok. 42 passed; 0 failed; 1 ignored; finished in 1s"),
        counts(42, 0, 1),
        "cargo"
    );
    assert_eq!(tests("==== 3 failed, 10 passed, 2 skipped in 1.2s ===="), counts(10, 3, 2), "pytest");
    assert_eq!(tests("Tests:       1 failed, 12 passed, 13 total"), counts(12, 1, 0), "jest");
    assert_eq!(tests("--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL"), counts(1, 1, 0), "go");
    assert_eq!(tests("397 tests, 2 failures"), counts(395, 2, 0), "mix");
    assert_eq!(tests("all is well"), None, "prose");
    let commit =
        results::read(&result("[main (root-commit) 0a1b2c3] first\n 1 file changed", false, None)).commits;
    assert_eq!((commit[0].hash.as_str(), commit[0].subject.as_str()), ("0a1b2c3", "first"));
    let shown = results::read(&result(
        "    10→fn a() {\n    11→}\n\n<system-reminder>\nbe good\n</system-reminder>",
        false,
        None,
    ));
    assert_eq!(shown.lines, Some((10, 11)), "numbered lines");
    assert_eq!(shown.content, calls::content_digest("fn a() {\n}\n"), "equal to what was written");
    assert_eq!(results::read(&result("1\tone\n5\tfive", false, None)).lines, None, "a table");
}

fn entry(role: Role, parts: Vec<Part>) -> Entry {
    Entry { role, parts, ..Entry::bare(Origin::Tool) }
}

#[test]
fn cut_off_calls_are_no_facts() {
    let part = || Part::ToolCall(call("Read", "{\"file_path\":\"/a\"}"));
    assert_eq!(facts(&entry(Role::Assistant, vec![part()])).len(), 1);
    let aborted = Entry { status: Status::Aborted, ..entry(Role::Assistant, vec![part()]) };
    assert_eq!(facts(&aborted), vec![]);
    let half = ToolCall { complete: false, ..call("Read", "{\"file_path\":\"/a\"}") };
    assert_eq!(facts(&entry(Role::Assistant, vec![Part::ToolCall(half)])), vec![]);
}

/// A ledger of some work.
fn worked() -> Ledger {
    let key = ["sk-ant-", "api03-abcdEFGH1234abcdEFGH1234"].concat();
    let steps = [
        ("Read", json!({"file_path": "/src/a.rs", "offset": 1, "limit": 40}), "fn a() {}", false),
        ("Edit", json!({"file_path": "/src/a.rs"}), "ok", false),
        (
            "Bash",
            json!({"command": "cargo test"}),
            "Exit code 101\ntest result: FAILED. 1 passed; 2 failed;",
            true,
        ),
        ("Read", json!({"file_path": "/src/b.rs"}), "fn b() {}", false),
        (
            "Bash",
            json!({"command": format!("curl -X POST -H 'x-api-key: {key}' https://a.b/c")}),
            "{}",
            false,
        ),
        ("Bash", json!({"command": "git commit -am x"}), "[main 0a1b2c3] wrap the pool", false),
        (
            "TodoWrite",
            json!({"todos": [{"content": "mend the tests", "status": "in_progress"}, {"content": "read", "status": "completed"}]}),
            "ok",
            false,
        ),
        (
            "Read",
            json!({"file_path": "/src/c.rs"}),
            "<tool_use_error>File does not exist.</tool_use_error>",
            true,
        ),
        ("Write", json!({"file_path": "/src/c.rs", "content": "x"}), "ok", false),
    ];
    let mut ledger = Ledger::default();
    for (at, (name, arguments, text, is_error)) in steps.into_iter().enumerate() {
        let at = at as u64 * 2;
        ledger.take(
            Seq(at),
            &facts(&entry(Role::Assistant, vec![Part::ToolCall(call(name, &arguments.to_string()))])),
        );
        ledger.take(
            Seq(at + 1),
            &facts(&entry(Role::Tool, vec![Part::ToolResult(result(text, is_error, None))])),
        );
    }
    ledger
}

#[test]
fn rendered_ledger() {
    let want = "\
Open failures (later work may have cleared them):
- Bash cargo test: test result: FAILED. 1 passed; 2 failed; (s:5)
Tasks:
- begun: mend the tests (s:13)
- done: read (s:13)
Files changed:
- /src/c.rs written (s:17)
- /src/a.rs edited (s:3)
Files read:
- /src/b.rs (s:7)
Tests and commands:
- cargo test: exit 101, 1 passed, 2 failed (s:5)
- curl -X POST -H 'x-api-key: [secret: credential]' https://a.b/c: ok (s:9)
Commits:
- 0a1b2c3 wrap the pool (s:11)
Addresses fetched:
- https://a.b/c (s:9)";
    let text = render_ledger(&worked(), 2_000, &ClassEstimate);
    assert_eq!(text, want);
    assert_eq!(render_ledger(&Ledger::default(), 2_000, &ClassEstimate), "");
}

/// Many closed tasks do not take the room of other rows.
#[test]
fn few_closed_tasks_are_named() {
    let mut ledger = Ledger::default();
    let mut take = |at: u64, todos: Vec<serde_json::Value>| {
        let called = Part::ToolCall(call("TodoWrite", &json!({ "todos": todos }).to_string()));
        ledger.take(Seq(at), &facts(&entry(Role::Assistant, vec![called])));
        ledger
            .take(Seq(at + 1), &facts(&entry(Role::Tool, vec![Part::ToolResult(result("ok", false, None))])));
    };
    let todo = |at: u64, done: u64| {
        let state = if at < done { "completed" } else { "pending" };
        json!({"content": format!("step {at}"), "status": state})
    };
    for done in 0..=9 {
        take(done * 2, (0..10).map(|at| todo(at, done)).collect());
    }
    let text = render_ledger(&ledger, 2_000, &ClassEstimate);
    assert!(text.contains("open: step 9") && text.contains("done: step 8"), "{text}");
    assert_eq!(text.matches("done: step").count(), 6, "{text}");
    assert!(text.contains("(3 older rows are left out)"), "{text}");
}

#[test]
fn rendered_ledger_is_bounded_and_says_what_it_leaves_out() {
    let ledger = worked();
    for max in 0..400 {
        let text = render_ledger(&ledger, max, &ClassEstimate);
        assert!(ClassEstimate.count(&text).upper <= max, "{max}: {text}");
    }
    let short = render_ledger(&ledger, 120, &ClassEstimate);
    assert!(
        short.starts_with("Open failures (later work may have cleared them):\n- Bash cargo test"),
        "what is unresolved stands first: {short}"
    );
    assert!(short.ends_with("older rows are left out)"), "{short}");
}

proptest! {
    /// Any call and any result is read without panic, twice with an equal result.
    #[test]
    fn any_call_is_read(name in "\\PC{0,12}", line in "[a-z0-9 <>|&;'\"\\\\$#\n/.*=()-]{0,80}", text in "(?s).{0,80}") {
        let read = calls::read(&call("bash", &json!({"command": line}).to_string()));
        prop_assert_eq!(&read, &calls::read(&call("bash", &json!({"command": line}).to_string())));
        calls::read(&call(&name, &text));
        calls::read(&call("bash", &text));
        let facts = [Fact::Called(read), Fact::Answered(results::read(&result(&text, false, None)))];
        let mut ledger = Ledger::default();
        ledger.take(Seq(0), &facts);
        render_ledger(&ledger, 500, &ClassEstimate);
    }
}

/// A summary's files are those of the ledger over its entries: read or written by tools or command lines, and no
/// others.
#[test]
fn summaries_name_the_files_of_the_ledger() {
    use crate::sections::SectionKind;
    use crate::{Source, summarise};
    let call = |id: &str, name: &str, arguments: &str| {
        Part::ToolCall(ToolCall {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            complete: true,
            raw: None,
        })
    };
    let result = |id: &str, text: &str, is_error: bool| {
        Part::ToolResult(ToolResult {
            call_id: id.into(),
            name: String::new(),
            content: vec![Part::Text(text.into())],
            is_error,
            exit_code: None,
        })
    };
    let said = |origin, part| Entry { role: Role::Assistant, parts: vec![part], ..Entry::bare(origin) };
    let calls = [
        ("a", "read", r#"{"path":"src/read.rs"}"#, "fn a() {}", false),
        ("b", "edit", r#"{"path":"src/edited.rs","oldText":"a","newText":"b"}"#, "done", false),
        ("c", "bash", r#"{"command":"cat src/shown.rs > src/copied.rs"}"#, "", false),
        ("d", "read", r#"{"path":"src/missing.rs"}"#, "no such file", true),
        (
            "e",
            "apply_patch",
            r#"{"input":"*** Begin Patch\n*** Add File: src/added.rs\n+x\n*** End Patch"}"#,
            "Done!",
            false,
        ),
    ];
    let pairs = calls.iter().flat_map(|(id, name, arguments, text, failed)| {
        [said(Origin::Model, call(id, name, arguments)), said(Origin::Tool, result(id, text, *failed))]
    });
    let entries: Vec<Entry> = pairs.collect();
    let mut ledger = Ledger::default();
    for (seq, entry) in (0..).map(Seq).zip(&entries) {
        ledger.take(seq, &facts(entry));
    }
    let sources: Vec<_> = (0..).map(Seq).zip(&entries).map(|(seq, entry)| Source { seq, entry }).collect();
    let summary = summarise(&sources);
    let named = |kind| -> Vec<String> {
        let mut named: Vec<_> = summary.items(kind).iter().map(|item| item.text.clone()).collect();
        named.sort();
        named
    };
    let rows = |is_of: fn(&unforget_core::ledger::FileRow) -> bool| -> Vec<String> {
        ledger.files().filter(|(_, row)| is_of(row)).map(|(path, _)| path.to_owned()).collect()
    };
    assert_eq!(named(SectionKind::FilesRead), ["src/read.rs", "src/shown.rs"]);
    assert_eq!(named(SectionKind::FilesRead), rows(|row| row.reads > 0));
    assert_eq!(named(SectionKind::FilesWritten), ["src/added.rs", "src/copied.rs", "src/edited.rs"]);
    assert_eq!(named(SectionKind::FilesWritten), rows(|row| row.writes > 0));
}
