//! Finds the line of a failed result that says what failed, before lines that only name a package, a task or a test.

use std::sync::LazyLock;

use regex::Regex;
use unforget_core::digest::Digest;
use unforget_core::ledger::FailureKind;

use crate::clip::{head, pattern, tail};
use crate::lines::error_lines;

/// A line that reports a failure.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    /// The line; below the name of a test, what the test said.
    pub(super) told: String,
    /// Whether it names a test or a line of a file.
    pub(super) kind: FailureKind,
    /// The file with the named line; empty if none is named.
    pub(super) file: String,
}

/// `src/a.rs:3:5: words`, `src/a.ts(3,5): words` and `src/a.ts:3:5 - words` at the start of a line, also behind the name
/// of a task or a tool.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)^(?:\[[\w:.-]{1,40}\] )?(?:\w{1,12}: )?((?:[A-Za-z]:)?[\w./@+~\\-]{0,400}\w\.[A-Za-z]\w{0,7})",
        r"(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):|:\d+:\d+ -) .*\p{Alphabetic}.*$"
    ))
});

/// A place and words, indented below the name of a test.
static INSIDE: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^\s+[\w./@+~\\-]{0,400}\w\.[A-Za-z]\w{0,7}:\d+(?::\d+)?: .*\p{Alphabetic}"));

/// Places without words: of compilers, tracebacks and linters.
static POINTER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"(?m)^\s*--> (\S+?):\d|^\s*File "([^<"\n][^"\n]*)", line \d|\bpanicked at (\S+?):\d|^\s+\d+:\d+\s+error\s"#,
    )
});

/// A program does not know a task, a verb or an option of the call.
static MISUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:unknown|unrecogni[sz]ed|unexpected|invalid|no such|missing|undefined) ",
        r"(?:\w+ )?(?:command|subcommand|option|flag|argument|arguments|task|target|recipe|script|verb|switch)\b",
        r"|\bno (?:task|rule|recipe|script)s? .{0,80}\b(?:found|to make|named)\b|\bdoes not contain recipe\b",
        r"|\bflag provided but not defined\b|\bis not a \S+ command\b|^usage: ",
    ))
});

/// The name of a failing test.
const TEST: &str = "--- FAIL: ";

/// Longest stretch read from either end of a result, in bytes, and most candidates for the telling line.
const LOOK_BYTES: usize = 1 << 20;
const CANDIDATES: usize = 16;

/// Longest name of a file that is kept, in bytes.
const FILE_BYTES_MAX: usize = 400;

/// Most lines below the name of a test that may belong to it.
const BELOW_MAX: usize = 64;

/// The telling line of a failed result. `None` if no line looks like a report.
///
/// In this order: a place with words, a failing test with its first place, an error with words, any error.
///
/// Cost: linear in the first and the last megabyte.
pub(super) fn fault(text: &str) -> Option<Fault> {
    let ends = [head(text, LOOK_BYTES), if text.len() > LOOK_BYTES { tail(text, LOOK_BYTES) } else { "" }];
    let equal = |told: &str| Digest::of(told.trim().as_bytes());
    if let Some(line) = ends.iter().find_map(|part| place(part)) {
        let kind = FailureKind::Line(equal(without_task(line)));
        return Some(Fault { told: line.trim().to_owned(), kind, file: file_of(line) });
    }
    if let Some(told) = ends.iter().find_map(|part| test(part)) {
        // The time that a test took stands behind its name.
        let name = told.strip_prefix(TEST).and_then(|rest| rest.split_whitespace().next()).unwrap_or(&told);
        return Some(Fault { kind: FailureKind::Test(equal(name)), told, file: String::new() });
    }
    let lines = error_lines(text, CANDIDATES);
    let told = lines.iter().find(|line| !is_bare(line) && !line.ends_with(':')).or_else(|| lines.first())?;
    let told = if told.ends_with(':') { with_next(text, told) } else { (*told).to_owned() };
    let pointed = POINTER.as_ref().and_then(|pointer| ends.iter().find_map(|part| pointer.captures(part)));
    let Some(groups) = pointed else {
        let kind = if is_misuse(&told) { FailureKind::Misused } else { FailureKind::Refused };
        return Some(Fault { told, kind, file: String::new() });
    };
    let file = (1..=3).find_map(|at| groups.get(at)).map_or("", |file| file.as_str());
    Some(Fault { kind: FailureKind::Line(equal(&told)), told, file: plain_file(file) })
}

/// A line without the name of the task before it, as in `[lint] a.go:3:1: words`.
pub(super) fn without_task(line: &str) -> &str {
    let behind = line.strip_prefix('[').and_then(|rest| rest.split_once("] "));
    let is_name = |name: &str| {
        !name.is_empty() && name.len() <= 40 && !name.contains(|c: char| c.is_whitespace() || c == '[')
    };
    behind.filter(|(name, _)| is_name(name)).map_or(line, |(_, rest)| rest)
}

/// The first place with words that is no warning and no note.
pub(super) fn place(text: &str) -> Option<&str> {
    const MARKS: [&str; 7] = ["warning", "warn", "note", "info", "hint", "help", "remark"];
    let is_error = |line: &&str| {
        let said = |mark: &&str| line.contains(&format!(": {mark}")) || line.contains(&format!(" - {mark}"));
        !MARKS.iter().any(said)
    };
    PLACE.as_ref()?.find_iter(text).map(|found| found.as_str()).take(CANDIDATES).find(is_error)
}

/// The file that a place names.
fn file_of(line: &str) -> String {
    let groups = PLACE.as_ref().and_then(|place| place.captures(line));
    groups.and_then(|groups| groups.get(1)).map_or_else(String::new, |file| plain_file(file.as_str()))
}

/// A file's name without `./` and `../` at its start, as far as it is short.
fn plain_file(name: &str) -> String {
    let mut name = name;
    while let Some(rest) = name.strip_prefix("./").or_else(|| name.strip_prefix("../")) {
        name = rest;
    }
    if name.len() <= FILE_BYTES_MAX { name.to_owned() } else { String::new() }
}

/// Whether a program says that it does not know a word of the call.
pub(super) fn is_misuse(told: &str) -> bool {
    MISUSE.as_ref().is_some_and(|misuse| misuse.is_match(told))
}

/// The first failing test with words at a place below it, or else the first failing test.
fn test(text: &str) -> Option<String> {
    let mut lines = text.lines();
    let mut first = None;
    while let Some(line) = lines.find(|line| line.trim_start().starts_with(TEST)) {
        let below = lines.clone().take(BELOW_MAX);
        let mut own = below.take_while(|line| line.is_empty() || line.starts_with([' ', '\t']));
        let is_said = |line: &&str| INSIDE.as_ref().is_some_and(|inside| inside.is_match(line));
        if let Some(said) = own.find(is_said) {
            return Some(format!("{}: {}", line.trim(), said.trim()));
        }
        first = first.or(Some(line));
    }
    first.map(|line| line.trim().to_owned())
}

/// A line that ends in a colon, with the next line.
fn with_next(text: &str, line: &str) -> String {
    let behind = text.split_once(line).map_or("", |(_, behind)| behind);
    let next = behind.lines().map(str::trim).find(|next| !next.is_empty()).unwrap_or_default();
    format!("{line} {next}").trim().to_owned()
}

/// Whether a line names only a package, a task or a code, and no reason: without brackets, names and numbers, nothing
/// is left of it but words for an end.
pub(super) fn is_bare(line: &str) -> bool {
    let is_name = |word: &str| {
        word.contains(['/', '`', '[', ']', '(', ')']) || word.contains(|c: char| c.is_ascii_digit())
    };
    let mut words = line.split_whitespace().filter(|word| !is_name(word));
    words.all(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_ascii_lowercase();
        matches!(
            word.as_str(),
            "" | "error"
                | "err"
                | "fail"
                | "failed"
                | "failure"
                | "fatal"
                | "task"
                | "exit"
                | "exited"
                | "status"
                | "code"
                | "make"
                | "npm"
                | "command"
                | "recipe"
                | "target"
                | "with"
                | "on"
                | "line"
                | "signal"
                | "ok"
                | "build"
        )
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    /// A result, the told line, its kind, and why.
    const FAULTS: &[(&str, &str, &str, &str)] = &[
        (
            "# shop.example/cart/e2e\nenv.go:42:26: undefined: agent\n",
            "env.go:42:26: undefined: agent",
            "line",
            "a package stands first",
        ),
        (
            "[build] $ go build\n# shop.example/cart\npool/rules.go:19:10: undefined: errors\n[build] ERROR task failed",
            "pool/rules.go:19:10: undefined: errors",
            "line",
            "the task's end says nothing",
        ),
        (
            "[lint] pool.go:3:1: exported (revive)\n",
            "[lint] pool.go:3:1: exported (revive)",
            "line",
            "behind a task's name",
        ),
        (
            "vet: ./pool.go:3:1: undefined: x",
            "vet: ./pool.go:3:1: undefined: x",
            "line",
            "behind a tool's name",
        ),
        ("src/a.ts(3,5): error TS2322: no", "src/a.ts(3,5): error TS2322: no", "line", "TypeScript"),
        (
            "a.c:1:2: warning: unused\na.c:3:4: error: no type",
            "a.c:3:4: error: no type",
            "line",
            "a warning is no error",
        ),
        (
            "=== RUN TestA\n    a_test.go:9: begun\n--- FAIL: TestA (0.2s)\n    a_test.go:42: want 3, have 4\nFAIL",
            "--- FAIL: TestA (0.2s): a_test.go:42: want 3, have 4",
            "test",
            "what the failing test said",
        ),
        (
            "--- FAIL: TestA (0.2s)\n--- FAIL: TestB (0.1s)\n    b_test.go:7: no row\nFAIL",
            "--- FAIL: TestB (0.1s): b_test.go:7: no row",
            "test",
            "the first test that said something",
        ),
        ("--- FAIL: TestA (0.2s)\nFAIL", "--- FAIL: TestA (0.2s)", "test", "a test that said nothing"),
        (
            "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in f\nValueError: bad",
            "ValueError: bad",
            "line",
            "the end of a traceback",
        ),
        (
            "Traceback (most recent call last):\n  File \"<string>\", line 3, in f\nValueError: bad",
            "ValueError: bad",
            "",
            "a script without a file",
        ),
        (
            "error[E0308]: mismatched types\n --> src/a.rs:3:5",
            "error[E0308]: mismatched types",
            "line",
            "rustc",
        ),
        (
            "make: *** [Makefile:12: test] Error 2",
            "make: *** [Makefile:12: test] Error 2",
            "",
            "nothing better",
        ),
        (
            "error: these are ignored:\ndocs/a.md\n",
            "error: these are ignored: docs/a.md",
            "",
            "a heading with its first line",
        ),
        (
            "grep: src/a.rs: No such file or directory",
            "grep: src/a.rs: No such file or directory",
            "",
            "a name without a line",
        ),
    ];

    #[test]
    fn fault_table() {
        for (text, told, kind, why) in FAULTS {
            let found = fault(text).unwrap();
            let shown = match found.kind {
                FailureKind::Line(_) => "line",
                FailureKind::Test(_) => "test",
                FailureKind::Misused => "misused",
                FailureKind::Stopped | FailureKind::Refused => "",
            };
            assert_eq!((found.told.as_str(), shown), (*told, *kind), "{why}");
        }
        assert_eq!(fault("all is well at 12:30: yes"), None, "no failure");
    }

    #[test]
    fn file_table() {
        let table = [
            ("./pool/rules.go:19:10: undefined: errors", "pool/rules.go", "with the working folder"),
            ("[lint:go] pool.go:3:1: exported (revive)", "pool.go", "behind a task's name"),
            ("../tui/src/a.ts(3,5): error TS2322: no", "tui/src/a.ts", "beside the working folder"),
            ("src/a.ts:3:5 - error TS2322: no", "src/a.ts", "TypeScript for people"),
            ("error[E0308]: mismatched types\n --> src/a.rs:3:5", "src/a.rs", "rustc"),
            (
                "Traceback (most recent call last):\n  File \"/srv/a.py\", line 3, in f\nValueError: bad",
                "/srv/a.py",
                "python",
            ),
            (
                "--- FAIL: TestA (0.2s)\n    a_test.go:42: want 3",
                "",
                "where a test looks is not where the fault is",
            ),
            ("error: no such column", "", "no file"),
        ];
        for (text, want, why) in table {
            assert_eq!(fault(text).unwrap().file, want, "{why}");
        }
    }

    #[test]
    fn misuse_table() {
        let table = [
            ("mise ERROR no task lint:full found", true, "a task"),
            ("npm ERR! Missing script: \"lnt\"", true, "a script"),
            ("make: *** No rule to make target 'chek'.  Stop.", true, "a target"),
            ("error: unexpected argument '--al' found", true, "an option"),
            ("error: failed to push some refs", false, "a refusal about the work"),
            ("bash: ./run: Permission denied", false, "no permission"),
            ("fatal: invalid object name", false, "an unknown thing, not a word of the program"),
        ];
        for (text, want, why) in table {
            assert_eq!(is_misuse(text), want, "{why}");
        }
    }

    #[test]
    fn equal_faults_table() {
        let kind = |text: &str| fault(text).unwrap().kind;
        let table = [
            ("a.go:3:1: undefined: x", "[build] a.go:3:1: undefined: x", true, "behind a task's name"),
            ("a.go:3:1: undefined: x", "a.go:4:1: undefined: x", false, "another line"),
            ("--- FAIL: TestA (0.2s)", "=== RUN\n--- FAIL: TestA (3.1s)", true, "in another time"),
            ("--- FAIL: TestA (0.2s)", "--- FAIL: TestB (0.2s)", false, "another test"),
        ];
        for (one, other, want, why) in table {
            assert_eq!(kind(one) == kind(other), want, "{why}");
        }
    }

    #[test]
    fn bare_line_table() {
        let table = [
            ("# shop.example/cart/e2e", true, "a package"),
            ("[build] ERROR task failed", true, "a task"),
            ("FAIL\tshop.example/cart\t0.42s", true, "a package and its time"),
            ("exit status 1", true, "a code"),
            ("error: no such column", false, "a reason"),
            ("undefined: agent", false, "a reason too"),
        ];
        for (line, want, why) in table {
            assert_eq!(is_bare(line), want, "{why}");
        }
    }
}
