//! Reads what an output says about the end of a run, whatever the exit code.

use std::sync::LazyLock;

use regex::Regex;
use unforget_core::ledger::{RunEvidence, TestCounts};

use super::fault::{place, without_task};
use crate::clip::{head, pattern};
use crate::lines::error_lines;

/// What an output says about the end of a run.
#[derive(Debug)]
pub(super) struct OutputEvidence<'a> {
    pub(super) says: RunEvidence,
    /// The line that reports a failure, or stands for its number.
    pub(super) line: Option<&'a str>,
}

/// Starts and ends of lines by which runners, compilers and linters end a run that failed.
const FAILED_STARTS: [&str; 12] = [
    "npm error",
    "npm ERR!",
    "error: could not compile",
    "error: aborting due to",
    "error: test failed",
    "error: Recipe `",
    "error Command failed with exit code",
    "error: script \"",
    "FAILURE: Build failed",
    "[ERROR] BUILD FAILURE",
    "== Compilation error in file",
    "** (Mix) ",
];
const FAILED_ENDS: [&str; 4] = ["[build failed]", "[setup failed]", "ERROR task failed", "Build FAILED."];

/// Lines by which they end a run that succeeded.
const SUCCESSES: [&str; 10] = [
    "All checks passed",
    "All matched files use",
    "All tests passed",
    "BUILD SUCCESSFUL",
    "Build succeeded",
    "Compiled successfully",
    "No issues found",
    "Success: no issues found",
    "done (passed successfully)",
    "[INFO] BUILD SUCCESS",
];

/// A number of faults at the start of a line, or behind their name: `✖ 5 problems (0 errors, 5 warnings)`,
/// `Found 3 errors in 2 files`, `0 issues.`, `Total errors: 1`.
static TALLY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:\W{0,4}|Found |Total:? )(\d{1,6}) (?:errors?|issues?|problems?)\b",
        r"|^(?:Total )?[Ee]rrors?: {1,4}(\d{1,6})\b",
    ))
});

/// A number of errors beside a number of problems of any kind.
static ERRORS: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"\b(\d{1,6}) errors?\b"));

/// An error of a compiler, by code or at the start of a line.
static ERROR: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"^error(?:\[[A-Z]\d+\])?: |\berror TS\d{3,6}: "));

/// Longest line that is read, in bytes.
const LINE_BYTES: usize = 1_024;

/// Most names of packages that are kept of one result.
const PACKAGES_MAX: usize = 256;

/// Reads an output.
///
/// A closing line of a runner decides first, then counts of tests, so that a failure that passing tests print is none;
/// then numbers of faults, places with words that are no warning, and errors of compilers.
///
/// * `lines` - without the lines of the host.
/// * `tests` - the counts of tests in the output.
///
/// Cost: linear in the lines.
pub(super) fn evidence<'a>(
    lines: impl Iterator<Item = &'a str>,
    tests: Option<TestCounts>,
) -> OutputEvidence<'a> {
    let mut found = Found::default();
    for line in lines {
        found.take(line);
    }
    if tests.is_some_and(|tests| tests.failed > 0) || found.failed.is_some() {
        return OutputEvidence { says: RunEvidence::Fault, line: found.reported.or(found.failed) };
    }
    let passed = tests.is_some_and(|tests| tests.passed > 0);
    if (passed || found.passed.is_some()) && !found.in_package {
        return OutputEvidence { says: RunEvidence::Success, line: None };
    }
    if let Some(line) = found.reported.or(found.counted) {
        return OutputEvidence { says: RunEvidence::Fault, line: Some(line) };
    }
    let says = match found.only {
        _ if found.succeeded.is_some() => RunEvidence::Success,
        None => RunEvidence::Nothing,
        Some(line) if is_number(line) && found.lines == 1 => RunEvidence::Number,
        Some(_) if found.doubted.is_some() => RunEvidence::Doubt,
        Some(_) => RunEvidence::Words,
    };
    OutputEvidence { says, line: found.only.filter(|_| says == RunEvidence::Number) }
}

/// What the lines of an output say, each by its first line.
#[derive(Default)]
struct Found<'a> {
    /// A run ended with a failure.
    failed: Option<&'a str>,
    /// A fault is at a place, or an error is named.
    reported: Option<&'a str>,
    /// Faults are counted.
    counted: Option<&'a str>,
    /// Tests passed.
    passed: Option<&'a str>,
    /// A run ended well.
    succeeded: Option<&'a str>,
    /// An error is mentioned.
    doubted: Option<&'a str>,
    /// The newest line is the name of a package before its faults.
    is_head: bool,
    /// A fault stands behind the name of a package, as `go` tells of one that does not compile.
    in_package: bool,
    /// The first line with words, and the number of such lines.
    only: Option<&'a str>,
    lines: usize,
}

impl<'a> Found<'a> {
    fn take(&mut self, line: &'a str) {
        let line = head(line.trim_end(), LINE_BYTES);
        let said = without_task(line);
        let words = said.trim_start();
        if words.is_empty() {
            return;
        }
        self.lines += 1;
        self.only = self.only.or(Some(words));
        if is_failed(said) {
            self.failed = self.failed.or(Some(words));
        } else if is_passed(said) {
            self.passed = Some(words);
        } else if let Some(count) = tally(words) {
            let place = if count == 0 { &mut self.succeeded } else { &mut self.counted };
            *place = place.or(Some(words));
        } else if is_report(line) {
            self.in_package |= self.is_head;
            self.reported = self.reported.or(Some(words));
        } else if SUCCESSES.iter().any(|start| words.starts_with(start)) {
            self.succeeded = Some(words);
        } else if self.doubted.is_none() {
            self.doubted = error_lines(line, 1).first().copied();
        }
        self.is_head = said.starts_with("# ") && said.contains(['/', '.']);
    }
}

/// Whether a line is a runner's word that something failed: `FAIL\tshop/cart\t0.4s`, `FAILED (failures=1)`.
fn is_failed(line: &str) -> bool {
    let is_end = |rest: &str| rest.is_empty() || rest.starts_with([' ', '\t', ':']);
    let is_word = ["FAILED", "FAIL"].iter().any(|word| line.strip_prefix(word).is_some_and(is_end));
    let is_make = line.starts_with("make") && line.contains(": *** ");
    let starts = FAILED_STARTS.iter().any(|start| line.starts_with(start));
    is_word || is_make || starts || FAILED_ENDS.iter().any(|end| line.ends_with(end))
}

/// Whether a line is a runner's word that tests passed: `ok  \tshop/cart\t0.4s`, `test result: ok. 5 passed`.
fn is_passed(line: &str) -> bool {
    package_of(line, "ok").is_some() || line.starts_with("test result: ok") || line.starts_with("PASS src/")
}

/// The number of faults that a line counts; of problems the errors among them.
fn tally(line: &str) -> Option<u64> {
    if !line.contains(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let groups = TALLY.as_ref()?.captures(line)?;
    let all = groups.get(1).or_else(|| groups.get(2))?.as_str();
    let errors = ERRORS.as_ref().and_then(|errors| Some(errors.captures(line)?.get(1)?.as_str()));
    errors.unwrap_or(all).parse().ok()
}

/// Whether a line reports a fault at a place, or an error of a compiler.
fn is_report(line: &str) -> bool {
    let is_place = || line.contains([':', '(']) && place(line).is_some();
    is_place() || ERROR.as_ref().is_some_and(|error| error.is_match(without_task(line)))
}

fn is_number(line: &str) -> bool {
    line.len() <= 9 && line.parse().is_ok_and(|number: u64| number > 0)
}

/// The package that Go's test runner names behind a word. Packages without tests that ran have not passed.
fn package_of<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(word).filter(|rest| rest.starts_with([' ', '\t']))?;
    let name = rest.split_whitespace().next()?;
    let is_name = name.contains('/') && !name.starts_with('/');
    (is_name && !rest.contains("[no test")).then_some(name)
}

/// The names of the packages whose tests passed, in order.
pub(super) fn passed_packages(text: &str) -> Vec<String> {
    let names = text.lines().filter_map(|line| package_of(without_task(line), "ok"));
    names.take(PACKAGES_MAX).map(str::to_owned).collect()
}

/// The first package whose tests failed; empty if none is named.
pub(super) fn failed_package(text: &str) -> String {
    let mut names = text.lines().filter_map(|line| package_of(without_task(line), "FAIL"));
    names.next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preview::test_counts;

    #[test]
    fn evidence_table() {
        use RunEvidence::{Doubt, Fault, Nothing, Number, Success, Words};
        let table = [
            ("", Nothing, "no output"),
            ("\n \n", Nothing, "blank lines"),
            ("11", Number, "a number"),
            ("0", Words, "no faults are no number of them"),
            ("11\n12", Words, "two numbers"),
            ("built in 3s", Words, "words"),
            ("src/a.ts(3,5): error TS2353: no such property", Fault, "a place"),
            ("Object: error TS2353: no such property", Fault, "a code of TypeScript"),
            ("error[E0308]: mismatched types", Fault, "a code of Rust"),
            ("pool.go:14:9: no new variables on left side of :=", Fault, "a place without the word"),
            ("[lint] pool.go:14:9: exported (revive)", Fault, "behind a task"),
            ("[test] ERROR task failed", Fault, "a task"),
            (
                "FAIL\tshop.example/cart [build failed]\nok  \tshop.example/pool\t0.1s",
                Fault,
                "one of two packages",
            ),
            ("npm error Lifecycle script `check` failed", Fault, "npm"),
            ("make[1]: *** [Makefile:3: all] Error 2", Fault, "make"),
            ("make[1]: Entering directory '/srv'", Words, "make at work"),
            ("5 issues:\n* revive: 5", Fault, "a number of issues"),
            ("✖ 5 problems (2 errors, 3 warnings)", Fault, "errors among problems"),
            ("✖ 3 problems (0 errors, 3 warnings)", Success, "warnings"),
            ("Found 3 errors in 2 files.", Fault, "errors"),
            ("Total errors: 1, Skipped: 0", Fault, "a number behind its name"),
            ("Total errors: 0, Skipped: 0", Success, "none of them"),
            ("[lint] 0 issues.", Success, "no issues"),
            ("ok  \tshop.example/cart\t0.4s", Success, "a package"),
            ("ok  \tshop.example/cart\t0.4s [no tests to run]", Words, "no test ran"),
            ("test result: ok. 5 passed; 0 failed", Success, "counts"),
            (
                "error: no such row\nsrc/a.rs:3:5: refused\ntest result: ok. 5 passed; 0 failed",
                Success,
                "failures that passing tests print",
            ),
            ("2 errors\n5 passed in 0.1s", Success, "so with their numbers"),
            ("--- FAIL: TestA (0.2s)", Fault, "a failing test"),
            ("5 passed, 1 failed in 0.1s", Fault, "a failing test among others"),
            (
                "# shop.example/cart\ncart.go:3:1: undefined: x\nok  \tshop.example/pool\t0.1s",
                Fault,
                "a package does not compile, and its end is cut off",
            ),
            ("src/a.c:1:2: warning: unused", Words, "a warning at a place"),
            ("src/a.ts:1:2 - warning TS6133: unused", Words, "in other words"),
            ("2026-01-01 ERROR db down", Doubt, "a line of a log"),
            ("see /srv/errors/5 issues", Words, "prose"),
            ("ok 1 - the cart is empty", Words, "a single test"),
        ];
        for (text, want, why) in table {
            let seen = evidence(text.lines(), test_counts(text));
            assert_eq!(seen.says, want, "{why}: {text}");
            let has_line = matches!(want, Fault | Number) && test_counts(text).is_none();
            assert!(!has_line || seen.line.is_some(), "{why}: {text}");
        }
    }

    #[test]
    fn package_table() {
        let text = "FAIL\nok  \tshop.example/a\t0.1s\n[test] ok  \tshop.example/b\t(cached)\n\
                    ok  \tshop.example/c\t0.1s [no tests to run]\nFAIL\tshop.example/d\t0.2s\n\
                    FAIL\tshop.example/e [build failed]\nok 2 - x\nok /srv/f";
        assert_eq!(passed_packages(text), ["shop.example/a", "shop.example/b"]);
        assert_eq!(failed_package(text), "shop.example/d");
        assert_eq!(failed_package("FAIL\n"), "");
    }
}
