//! Open failures: what a line's success settles, and what is never open.

use unforget_core::ledger::Failure;

use super::*;

/// Folds command lines with their results: an empty result is a success, `!` a refused call, `!!` a program that is not
/// there, other text a failure with exit code 1.
fn folded(steps: &[(&str, &str)]) -> Ledger {
    let mut ledger = Ledger::default();
    for (at, (line, text)) in steps.iter().enumerate() {
        let at = at as u64 * 2;
        let asked = call("Bash", &json!({"command": line}).to_string());
        let answered = match *text {
            "" => result("done", false, None),
            "!" => result("Exit code 1\nunknown option", true, None),
            "!!" => result("Exit code 127\n(eval):1: command not found: it", true, None),
            text => result(&format!("Exit code 1\n{text}"), true, None),
        };
        ledger.take(Seq(at), &facts(&entry(Role::Assistant, vec![Part::ToolCall(asked)])));
        ledger.take(Seq(at + 1), &facts(&entry(Role::Tool, vec![Part::ToolResult(answered)])));
    }
    ledger
}

const LINE: &str = "pool.go:3:1: undefined: x";
const TEST: &str = "--- FAIL: TestA (0.2s)\n    pool_test.go:9: want 3\nFAIL";

/// A failing line with its result, a later line, whether that settles it, and why.
const SETTLED: &[(&str, &str, &str, bool, &str)] = &[
    (
        "mise run test:ci 2>&1",
        TEST,
        "mise run fmt && mise run lint && mise run test:ci 2>&1 | tail -5",
        true,
        "part of a line",
    ),
    ("mise run test:ci", TEST, "mise run test:unit", false, "another task of the kind"),
    ("mise run lint:full", "!", "mise run lint", true, "a task that is not there"),
    ("go test ./pool -v -run TestA", TEST, "go test ./...", true, "all tests"),
    ("go test ./pool -v", TEST, "go test ./pool -count=1", true, "flags and numbers make no difference"),
    ("go test ./pool", TEST, "go test ./pool -run TestB", false, "another test of it"),
    ("go test ./...", TEST, "go test ./pool", false, "a part of it"),
    (
        "go build -tags=e2e ./e2e/...",
        LINE,
        "go vet -tags=e2e ./e2e/... | tail -20",
        true,
        "compiled by another verb",
    ),
    ("go build ./...", LINE, "gofmt ./...", false, "another program"),
    ("go test ./pool -run TestA", TEST, "go vet ./pool", false, "no test was run"),
    ("cd /srv/shop/api && go test ./pool", LINE, "go test ./shop/api/pool", true, "one folder by two names"),
    ("cd api && npm test", TEST, "cd web && npm test", false, "another package"),
    (
        "git add -A && git commit -m 'one'",
        "lint.go:1:1: too long",
        "git commit -m 'one, mended'",
        true,
        "another message",
    ),
    ("git merge main", "!", "git commit -am 'merge main'", true, "a commit ends a merge"),
    ("go build ./...; CODE=$?; git stash pop; exit $CODE", LINE, "go build ./...", true, "a kept exit code"),
    (
        "go build ./...; CODE=$?; git stash pop; exit $CODE",
        LINE,
        "git stash pop",
        false,
        "is not that of the last command",
    ),
    ("cp $(npm root -g)/dark.json out/", "!", "cp src/dark.json out/", true, "a substitution is one word"),
    (
        "git commit -m \"$(cat <<'EOF'\nit's (not) done\nEOF\n)\"",
        "!",
        "git commit -m x",
        true,
        "a document in a substitution",
    ),
    ("eslint src/a.ts", "src/a.ts(1,2): error: no", "eslint ./src", true, "a folder above"),
    ("eslint ./src", "src/a.ts(1,2): error: no", "eslint src/b.ts", false, "a file below"),
];

#[test]
fn settled_table() {
    for (failed, text, later, is_settled, why) in SETTLED {
        let ledger = folded(&[(failed, text), (later, "")]);
        assert_eq!(ledger.failing().count() == 0, *is_settled, "{why}: {failed} / {later}");
        assert_eq!(ledger.cleared().len(), usize::from(*is_settled), "{why}: {failed} / {later}");
    }
}

#[test]
fn never_open_table() {
    let table = [
        ("grep -n pool src/a.rs", "grep: src/a.rs: No such file or directory", "a search"),
        ("cd /srv && wc -l src/a.rs | sort", "wc: src/a.rs: open: No such file or directory", "a count"),
        ("sleep 5", "Command aborted", "a wait"),
        ("git log --oneline && git show abc", "fatal: bad object abc", "history"),
        ("git -C /srv/shop branch -a", "fatal: not a git repository", "branches"),
        ("git branch --list 'mend/*' -vv", "fatal: not a git repository", "a list of branches"),
        ("gh pr view 12", "no pull requests found", "a look at a page"),
        ("bat --version", "!!", "a version"),
        ("it run ./...", "!!", "a program that is not there"),
        ("echo a; find . -name b", "find: .: Permission denied", "a look at the end of a line"),
        ("curl -s https://shop.example/x", "curl: (22) 404", "a fetch"),
        ("npm test", "the log begins\nCommand aborted", "aborted by a person"),
    ];
    for (line, text, why) in table {
        let open: Vec<Failure> = folded(&[(line, text)]).failing().cloned().collect();
        assert_eq!(open, [], "{why}: {line}");
    }
    let acts = [
        "find . -name b -delete",
        "sed -i s/a/b/ c.rs",
        "git branch -D x",
        "curl -X POST https://shop.example/x",
        "cat a > b",
    ];
    for line in acts {
        assert_eq!(folded(&[(line, "!")]).failing().count(), 1, "{line}");
    }
}

#[test]
fn tools_that_look_leave_nothing_open() {
    for (name, arguments) in [
        ("Read", json!({"file_path": "/srv/a.rs"})),
        ("Grep", json!({"pattern": "x", "path": "srv"})),
        ("WebFetch", json!({"url": "https://shop.example/x"})),
    ] {
        let mut ledger = Ledger::default();
        let asked = entry(Role::Assistant, vec![Part::ToolCall(call(name, &arguments.to_string()))]);
        ledger.take(Seq(0), &facts(&asked));
        let answered = result("<tool_use_error>does not exist</tool_use_error>", true, None);
        ledger.take(Seq(1), &facts(&entry(Role::Tool, vec![Part::ToolResult(answered)])));
        assert_eq!(ledger.failing().count(), 0, "{name}");
    }
}

#[test]
fn an_error_line_tells_the_fault() {
    let text =
        "[build] $ go build\n# shop.example/cart\npool.go:3:1: undefined: x\n[build] ERROR task failed";
    let text = render_ledger(&folded(&[("mise run build", text)]), 2_000, &ClassEstimate);
    assert!(
        text.starts_with("Open failures (later work may have cleared them):\n- Bash mise run build: pool.go:3:1: undefined: x (s:1)"),
        "{text}"
    );
}

/// One line with its output and without an exit code, after a failure of `earlier` if that is not empty.
struct Hidden {
    earlier: &'static str,
    line: &'static str,
    text: &'static str,
}

const fn hidden(earlier: &'static str, line: &'static str, text: &'static str) -> Hidden {
    Hidden { earlier, line, text }
}

const TYPES: &str = "src/wrap.ts(7,5): error TS2353: no such property";
const BROKEN: &str = "pool.go:14:9: no new variables on left side of :=\nFAIL\tshop.example/pool [build failed]\n[test] ERROR task failed";
const PASSED: &str = "ok  \tshop.example/pool\t0.4s";

/// What is open behind a line whose exit code is hidden.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Open {
    Nothing,
    /// The failure before.
    Earlier,
    /// The line itself.
    Line,
}

const HIDDEN: &[(Hidden, Open, &str)] = &[
    (hidden("", "npm run check 2>&1 | grep wrap", TYPES), Open::Line, "a check with chosen lines"),
    (hidden("npm run check", "npm run check 2>&1 | grep wrap", TYPES), Open::Line, "after a failure"),
    (hidden("", "npm run check 2>&1 | tail -5", "npm error command failed"), Open::Line, "the end of npm"),
    (hidden("", "npm run check 2>&1 | grep -c 'error TS'", "11"), Open::Line, "a number of errors"),
    (hidden("", "npm run check 2>&1 | grep 'error TS' | wc -l", "      11"), Open::Line, "in other words"),
    (hidden("", "npm run check 2>&1 | grep -c 'error TS'", "0"), Open::Nothing, "no errors"),
    (
        hidden("npm run check", "npm run check 2>&1 | grep -c 'error TS'", "0"),
        Open::Earlier,
        "which may be others",
    ),
    (hidden("", "npm run check 2>&1 | grep -c 'warning'", "11"), Open::Nothing, "a number of warnings"),
    (hidden("", "npm run check 2>&1 | wc -l", "11"), Open::Nothing, "a number of lines"),
    (hidden("", "grep -c error app.log", "11"), Open::Nothing, "a count in a file"),
    (hidden("", "mise run test 2>&1 | tail -20", BROKEN), Open::Line, "a package does not compile"),
    (hidden("", "mise run test 2>&1 | tail -20; echo done", BROKEN), Open::Line, "hidden twice"),
    (hidden("", "(cd api && go test ./...) 2>&1 | tail", BROKEN), Open::Line, "a group"),
    (hidden("", "bash -lc 'mise run test 2>&1 | tail -20'", BROKEN), Open::Line, "in a script"),
    (hidden("", "bash -c 'cd api && go test ./...' | tail -20", BROKEN), Open::Line, "around a script"),
    (
        hidden("mise run test", "bash -lc 'mise run test | tail'", PASSED),
        Open::Nothing,
        "in a script that succeeds",
    ),
    (hidden("mise run test", "mise run test | grep -A 5 TestPool", ""), Open::Earlier, "no chosen line"),
    (hidden("mise run test", "mise run test | grep -E 'ok|FAIL'", PASSED), Open::Nothing, "a chosen success"),
    (hidden("mise run test", "mise run test | head -3", "[test] $ go test ./..."), Open::Earlier, "a start"),
    (hidden("mise run test", "mise run test | tail -3", "[test] Finished in 2.1s"), Open::Nothing, "an end"),
    (hidden("mise run test", "mise run test | awk '{print $2}'", "shop"), Open::Earlier, "other words"),
    (hidden("mise run test", "mise run test | sed -n '1,5p'", "[test] $ go"), Open::Earlier, "some lines"),
    (
        hidden("mise run test", "mise run test | python3 count.py", "all is well"),
        Open::Earlier,
        "a program reads it",
    ),
    (hidden("mise run test", "mise run test > out.log; echo done", "done"), Open::Earlier, "into a file"),
    (hidden("", "mise run test > out.log 2>&1; tail -5 out.log", BROKEN), Open::Line, "and shown from there"),
    (hidden("go build ./...", "go build ./... 2>&1 | head -20", ""), Open::Nothing, "a silent compiler"),
    (
        hidden("go build ./...", "go build ./... 2>/dev/null | head", ""),
        Open::Earlier,
        "whose errors are dropped",
    ),
    (
        hidden("", "go build ./... 2>&1 | head -20", "# shop.example/pool\npool.go:3:1: undefined: x"),
        Open::Line,
        "one that is not",
    ),
    (hidden("", "npx tsc --noEmit | head -20", TYPES), Open::Line, "a launched compiler"),
    (hidden("", "gcc -c a.c 2>&1 | head", "a.c:1:2: warning: unused"), Open::Nothing, "a warning at a place"),
    (hidden("", "cat old.log | tail -20", BROKEN), Open::Nothing, "an old log"),
    (hidden("", "grep -n undefined old.log | head", TYPES), Open::Nothing, "a search"),
    (hidden("", "npm run check | tail -3; cat old.log", TYPES), Open::Nothing, "beside an old log"),
    (
        hidden("npm run check", "npm run check | tail -3; cat old.log", "0 issues"),
        Open::Earlier,
        "which may be the one that is well",
    ),
    (hidden("", "npm run dev 2>&1 | head -20", "src/server.ts:3:1: listening"), Open::Nothing, "a server"),
    (hidden("", "python3 report.py | tail", TYPES), Open::Nothing, "work prints what it likes"),
    (
        hidden(
            "",
            "cargo test 2>&1 | tail -20",
            "error: refused\ntest result: ok. 5 passed; 0 failed; 0 ignored",
        ),
        Open::Nothing,
        "what passing tests print",
    ),
    (hidden("", "npm run lint | tail", "✖ 3 problems (0 errors, 3 warnings)"), Open::Nothing, "warnings"),
    (
        hidden("", "npm run lint | tail", "✖ 3 problems (1 error, 2 warnings)"),
        Open::Line,
        "an error among warnings",
    ),
    (
        hidden("go vet ./...", "set -o pipefail; go vet ./... | grep -v '^#'; echo", ""),
        Open::Earlier,
        "hidden by the end",
    ),
    (
        hidden("go vet ./...", "set -o pipefail && go vet ./... | cat", ""),
        Open::Nothing,
        "a pipe that hides nothing",
    ),
];

#[test]
fn hidden_ends_table() {
    for (Hidden { earlier, line, text }, open, why) in HIDDEN {
        let before = [(*earlier, LINE)];
        let mut ledger = folded(if earlier.is_empty() { &[] } else { &before });
        let asked = call("Bash", &json!({"command": line}).to_string());
        ledger.take(Seq(10), &facts(&entry(Role::Assistant, vec![Part::ToolCall(asked)])));
        let answered = result(text, false, None);
        ledger.take(Seq(11), &facts(&entry(Role::Tool, vec![Part::ToolResult(answered)])));
        let newest = ledger.failing().map(|failure| failure.last.answer.0).max();
        let found = newest.map_or(Open::Nothing, |at| if at == 11 { Open::Line } else { Open::Earlier });
        assert_eq!(found, *open, "{why}: {line}");
        let row = ledger.commands().find(|row| row.at.answer == Seq(11)).unwrap();
        assert_eq!(row.outcome == Outcome::Failed, *open == Open::Line, "{why}: the row of {line}");
    }
}

/// Failures that the later work of a session ends, told as the ledger tells them.
#[test]
fn failures_that_are_over() {
    let broken = "session/context.go:4:2: \"context\" imported and not used\nFAIL\tshop.example/session [build failed]";
    let run = |line: &str, text: &str, is_error: bool| {
        ("Bash", json!({"command": line}), text.to_owned(), is_error)
    };
    let fails = |line: &str, text: &str| run(line, &format!("Exit code 1\n{text}"), true);
    let edit = || ("Edit", json!({"file_path": "/home/ann/shop/session/context.go"}), "ok".to_owned(), false);
    let check = |steps: Vec<(&str, serde_json::Value, String, bool)>, open: &[&str], why: &str| {
        let mut ledger = Ledger::default();
        for (at, (name, arguments, text, is_error)) in steps.into_iter().enumerate() {
            let at = at as u64 * 2;
            let asked = entry(Role::Assistant, vec![Part::ToolCall(call(name, &arguments.to_string()))]);
            ledger.take(Seq(at), &facts(&asked));
            let answered = vec![Part::ToolResult(result(&text, is_error, None))];
            ledger.take(Seq(at + 1), &facts(&entry(Role::Tool, answered)));
        }
        let rows: Vec<&str> = ledger.failing().map(|failure| failure.what.as_str()).collect();
        assert_eq!(rows, open, "{why}");
        render_ledger(&ledger, 2_000, &ClassEstimate)
    };
    let test = "go test ./session -run TestA";
    let first = || fails(test, broken);
    let all = |text: &str| run("mise run test 2>&1 | tail -20", text, false);
    let open = format!("Bash {test}");
    let open = [open.as_str()];
    check(
        vec![first(), edit(), all("ok  \tshop.example/session\t0.4s")],
        &[],
        "mended, and its package passed",
    );
    check(vec![first(), all("ok  \tshop.example/session\t0.4s")], &[], "its package passed");
    let text = check(vec![first(), edit(), all("ok  \tshop.example/pool\t0.4s")], &open, "another package");
    assert!(text.contains("imported and not used (s:1; file changed since, not seen to pass)"), "{text}");
    check(vec![first(), edit(), run("go test ./pool", PASSED, false)], &open, "a part of the tests");
    check(vec![first(), edit(), run("mise run fmt", "", false)], &open, "a task that checks nothing");
    check(vec![first(), edit(), run("mise run lint", "0 issues.", false)], &[], "a check of all");
    check(vec![first(), run("mise run lint", "0 issues.", false)], &open, "nobody mended it");
    check(vec![first(), edit(), run("mise run lint | grep pool", "0 issues.", false)], &open, "chosen lines");
    let task = || fails("mise run lint:full", "mise ERROR no task lint:full found");
    check(vec![task(), run("mise run test", PASSED, false)], &[], "a task that is not there");
    check(vec![task(), run("go test ./...", PASSED, false)], &["Bash mise run lint:full"], "another program");
    let refused = || {
        let text = "<tool_use_error>File has not been read yet.</tool_use_error>".to_owned();
        ("Edit", json!({"file_path": "/home/ann/shop/pool.go"}), text, true)
    };
    check(vec![refused(), refused(), edit()], &[], "a refused edit, and the tool works");
    let script = || fails("./scripts/all.sh", "bash: ./scripts/all.sh: Permission denied");
    check(vec![script(), run("bash scripts/all.sh", "done", false)], &[], "the program runs by its shell");
    check(
        vec![script(), run("bash scripts/one.sh", "done", false)],
        &["Bash ./scripts/all.sh"],
        "another script",
    );
}
