//! The order of a ledger's rows, and the work hidden in code mode.

use super::*;

/// A ledger of calls with their results, one after another.
fn ledger(steps: &[(&str, serde_json::Value, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (at, (name, arguments, text)) in steps.iter().enumerate() {
        let at = at as u64 * 2;
        let asked = entry(Role::Assistant, vec![Part::ToolCall(call(name, &arguments.to_string()))]);
        let answered = entry(Role::Tool, vec![Part::ToolResult(result(text, false, None))]);
        ledger.take(Seq(at), &facts(&asked));
        ledger.take(Seq(at + 1), &facts(&answered));
    }
    ledger
}

fn edit(path: &str) -> (&'static str, serde_json::Value, &'static str) {
    ("Edit", json!({"file_path": path}), "ok")
}

#[test]
fn files_of_the_project_stand_by_their_last_changes_and_the_number_of_them() {
    let steps = [
        edit("/home/ann/shop/src/once.rs"),
        edit("/home/ann/shop/src/gone.rs"),
        edit("/home/ann/shop/src/pool.rs"),
        edit("/home/ann/shop/src/pool.rs"),
        edit("/home/ann/shop/src/pool.rs"),
        edit("/home/ann/shop/src/twice.rs"),
        edit("/home/ann/shop/src/twice.rs"),
        edit("/home/ann/shop/src/a.rs"),
        edit("/home/ann/shop/src/a.rs"),
        edit("/home/ann/shop/src/b.rs"),
        edit("/home/ann/shop/src/c.rs"),
        edit("/home/ann/shop/src/lib.rs"),
        ("Bash", json!({"command": "rm /home/ann/shop/src/gone.rs"}), ""),
        edit("/tmp/try/a.rs"),
        edit("/tmp/try/a.rs"),
        edit("/tmp/try/a.rs"),
        edit("/tmp/try/a.rs"),
    ];
    let text = render_ledger(&ledger(&steps), 2_000, &ClassEstimate);
    let want = "\
Files changed (below /home/ann/shop/src):
- lib.rs edited (s:23)
- c.rs edited (s:21)
- b.rs edited (s:19)
- a.rs edited, 2 changes (s:17)
- pool.rs edited, 3 changes (s:9)
- twice.rs edited, 2 changes (s:13)
- once.rs edited (s:1)
- /tmp/try/a.rs edited, 4 changes (s:33)
- gone.rs removed, 2 changes (s:25)";
    assert!(text.starts_with(want), "{text}");
}

#[test]
fn only_rooted_names_are_said_to_be_below_the_folder() {
    let read = |path: &str| ("Read", json!({"file_path": path}), "x");
    let show = |steps: &[_]| render_ledger(&ledger(steps), 2_000, &ClassEstimate);
    let mixed = [edit("/home/ann/shop/src/pool.rs"), read("README.md"), read("/home/ann/shop/a.rs")];
    let want = "\
Files changed (below /home/ann/shop/src):
- pool.rs edited (s:1)
Files read:
- README.md (relative name) (s:3)
- /home/ann/shop/a.rs (s:5)";
    assert_eq!(show(&mixed), want);
    let relative = [read("src/a.rs"), read("src/b.rs"), read("/home/ann/cache/plugins/c.md")];
    let want = "\
Files read:
- /home/ann/cache/plugins/c.md (s:5)
- src/b.rs (s:3)
- src/a.rs (s:1)";
    assert_eq!(show(&relative), want);
}

#[test]
fn commands_that_only_look_are_no_rows() {
    let run = |line: &str| ("Bash", json!({"command": line}), "x");
    let text = render_ledger(
        &ledger(&[run("nl -ba src/a.rs"), run("git status && ls"), run("make")]),
        2_000,
        &ClassEstimate,
    );
    assert!(text.contains("Tests and commands:\n- make: ok (s:5)"), "{text}");
    assert!(!text.contains("git status") && !text.contains("nl -ba"), "{text}");
}

#[test]
fn commits_of_throwaway_repositories_stand_last() {
    let steps = [
        edit("/home/ann/shop/src/pool.rs"),
        ("Bash", json!({"command": "git commit -m 'mend the pool'"}), "[main 0a1b2c3] mend the pool"),
        (
            "Bash",
            json!({"command": "cd /tmp/try && git init -q && git commit -m initial"}),
            "[main (root-commit) 5dffb3a] initial",
        ),
    ];
    let text = render_ledger(&ledger(&steps), 2_000, &ClassEstimate);
    let (real, other) = (text.find("- 0a1b2c3"), text.find("- 5dffb3a"));
    assert!(real.is_some() && real < other, "{text}");
    let only = render_ledger(&ledger(&steps[2..]), 2_000, &ClassEstimate);
    assert!(only.contains("- 5dffb3a initial"), "nothing else is there: {only}");
}

#[test]
fn failing_tests_behind_a_pipe_are_a_failure() {
    let command = json!({"command": "mise run test:integration 2>&1 | grep -E 'PASS|FAIL'"});
    let steps = [("Bash", command, "--- FAIL: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL")];
    let text = render_ledger(&ledger(&steps), 2_000, &ClassEstimate);
    assert!(
        text.starts_with(
            "Open failures (later work may have cleared them):\n- Bash mise run test:integration"
        ),
        "{text}"
    );
    assert!(text.contains(": failed, 0 passed, 2 failed (s:1)"), "{text}");
}

#[test]
fn code_mode_is_read_as_the_commands_in_it() {
    let script = "// @exec: {\"yield_time_ms\": 1000}\nconst r = await tools.exec_command({cmd: \"cargo test -p pool\"});\ntext(r.output ?? r);";
    let patch = "const p = \"*** Begin Patch\\n*** Update File: src/pool.rs\\n@@\\n-a\\n+b\\n*** End Patch\";\nawait tools.apply_patch(p);";
    for arguments in [script.to_owned(), json!({"source": script}).to_string()] {
        let read = calls::read(&call("exec", &arguments));
        assert_eq!(
            (read.what.as_str(), show(&read)),
            ("exec cargo test -p pool", "xt again".into()),
            "{arguments}"
        );
    }
    let read = calls::read(&call("functions.exec", patch));
    assert_eq!(show(&read), "e src/pool.rs");
    assert_eq!(read.what, "functions.exec src/pool.rs");
}

/// A ledger of calls with their results; `""` as the name of a tool is a request of a person.
fn told(steps: &[(&str, serde_json::Value, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (at, (name, arguments, text)) in steps.iter().enumerate() {
        let at = at as u64 * 2;
        if name.is_empty() {
            let asked = Entry { parts: vec![Part::Text("go on".into())], ..Entry::bare(Origin::Human) };
            ledger.take(Seq(at), &facts(&asked));
            continue;
        }
        let asked = entry(Role::Assistant, vec![Part::ToolCall(call(name, &arguments.to_string()))]);
        let answered = entry(Role::Tool, vec![Part::ToolResult(result(text, false, None))]);
        ledger.take(Seq(at), &facts(&asked));
        ledger.take(Seq(at + 1), &facts(&answered));
    }
    ledger
}

#[test]
fn rows_leave_with_the_requests_that_do_not_need_them() {
    let request = || ("", json!({}), "");
    let read = |path: &str| ("Read", json!({"file_path": path}), "x");
    let todo = |state: &str| ("TodoWrite", json!({"todos": [{"content": "mend", "status": state}]}), "ok");
    let fetch = || ("WebFetch", json!({"url": "https://shop.example/a"}), "ok");
    let table = [
        (vec![read("a.rs"), request()], "a.rs", true, "one request later"),
        (vec![read("a.rs"), request(), request()], "a.rs", false, "two requests later"),
        (vec![request(), read("a.rs"), request()], "a.rs", true, "since the request before"),
        (
            vec![request(), request(), edit("a.rs"), request(), request()],
            "a.rs",
            true,
            "a changed file stays",
        ),
        (vec![edit("/tmp/a.rs"), request(), request()], "/tmp/a.rs", false, "a temporary one does not"),
        (vec![edit("/tmp/a.rs"), request()], "/tmp/a.rs", true, "at once"),
        (vec![fetch(), request(), request()], "shop.example", false, "an address"),
        (vec![request(), todo("completed")], "done: mend", true, "a task closed since the request"),
        (vec![todo("completed"), request()], "done: mend", false, "before it"),
        (vec![todo("pending"), request(), request()], "open: mend", true, "an open task"),
    ];
    for (mut steps, word, is_shown, why) in table {
        // Something is always told.
        steps.push(("Bash", json!({"command": "make"}), "built"));
        let text = render_ledger(&told(&steps), 2_000, &ClassEstimate);
        assert_eq!(text.contains(word), is_shown, "{why}: {text}");
        assert_eq!(text.contains("(1 older rows are left out)"), !is_shown, "{why}: {text}");
    }
}

#[test]
fn a_commit_is_told_once() {
    let run = |line: &str, text: &'static str| ("Bash", json!({"command": line}), text);
    let report = "[main 0a1b2c3] mend the pool";
    let table = [
        ("git commit -am x", report, false, "a commit with a row"),
        (
            "cd /srv/shop && git add -A && git commit -m 'x y' 2>&1 | tail -3",
            report,
            false,
            "and what prepares it",
        ),
        ("git commit -am x", "nothing to commit", true, "no commit was made"),
        ("make && git commit -am x", report, true, "other work"),
        ("git commit -am x && git push", report, true, "more than the commit"),
    ];
    for (line, text, is_shown, why) in table {
        let text = render_ledger(&told(&[run("make", "built"), run(line, text)]), 2_000, &ClassEstimate);
        assert_eq!(text.contains(": ok (s:3)") || text.contains(": ran (s:3)"), is_shown, "{why}: {text}");
    }
    let added = [run("git add -A", ""), run("git commit -m x", report), run("git add b.rs", "")];
    let text = render_ledger(&told(&added), 2_000, &ClassEstimate);
    assert!(!text.contains("git add -A"), "before a commit: {text}");
    assert!(text.contains("git add b.rs: ok (s:5)"), "behind the last one: {text}");
}
