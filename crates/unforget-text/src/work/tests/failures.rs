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
        "go vet -tags=e2e ./e2e/... | head -20",
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
        text.starts_with("Open failures:\n- Bash mise run build: pool.go:3:1: undefined: x (s:1)"),
        "{text}"
    );
}
