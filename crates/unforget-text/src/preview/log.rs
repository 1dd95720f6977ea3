//! Logs and reports of test runs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use unforget_core::ledger::TestCounts;

use super::{Kind, some};
use crate::clip::{clip, grouped, head, one_line, pattern};
use crate::lines::error_lines;

static LEVEL: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r#"(?m)^.{0,80}?(?:\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b|\[(trace|debug|info|notice|warn|warning|error|fatal|critical)\]|level"?[=:] ?"?(\w{4,8})\b)"#,
    )
});

/// Summary lines of test runners.
static SUMMARY: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)^\s*(?:test result: .*|=+ .*\b\d+ (?:passed|failed|errors?|skipped)\b.*|Tests?: .*\b\d+ (?:passed|failed|total)\b.*",
        r"|\d+ (?:passing|failing|pending)\b.*|Ran \d+ tests? in .*|FAILED \((?:failures|errors)=.*|(?:\d+ doctests?, )?\d+ tests?, \d+ (?:failures?|assertions).*",
        r"|\d+ passed(?:,| in|$).*|--- (?:PASS|FAIL|SKIP): .*|# (?:pass|fail|tests) \d+|Summary \[.*\] \d+ tests? run: .*|Tests run: \d+, Failures: .*)$",
    ))
});

static COUNT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(\d+) (passed|passing|failed|failing|failures?|errors?|skipped|ignored|pending)\b",
        r"|(?i)\b(failures|errors|skipped|pass|fail)(?:=|: ?| )(\d+)|--- (PASS|FAIL|SKIP)|^\s*Ran (\d+) tests?|Tests run: (\d+)|\b(\d+) tests?,",
    ))
});

/// Numbers of passed and failed tests; `None` without a test runner's summary. Packages count where Go names no tests.
pub(crate) fn test_counts(text: &str) -> Option<TestCounts> {
    let (summary, count) = (SUMMARY.as_ref()?, COUNT.as_ref()?);
    let (mut passed, mut failed, mut skipped, mut ran) = (0u64, 0u64, 0u64, 0u64);
    let mut seen = false;
    for line in summary.find_iter(text) {
        for groups in count.captures_iter(head(line.as_str(), 1024)) {
            let group = |at: usize| groups.get(at).map_or("", |group| group.as_str());
            let number =
                [1, 4, 6, 7, 8].into_iter().find_map(|at| group(at).parse::<u64>().ok()).unwrap_or(1);
            let word = [2, 3, 5]
                .into_iter()
                .map(group)
                .find(|word| !word.is_empty())
                .unwrap_or("ran")
                .to_ascii_lowercase();
            let slot = match word.as_str() {
                "passed" | "passing" | "pass" => &mut passed,
                "skipped" | "ignored" | "pending" | "skip" => &mut skipped,
                "ran" => &mut ran,
                _ => &mut failed,
            };
            *slot = slot.saturating_add(number);
            seen = true;
        }
    }
    let passed = if passed == 0 { ran.saturating_sub(failed).saturating_sub(skipped) } else { passed };
    seen.then_some(TestCounts { passed, failed, skipped })
}

/// Test figures, as `12 passed, 1 failed`.
pub(crate) fn counts_text(counts: TestCounts) -> String {
    let skips = if counts.skipped > 0 { format!(", {} skipped", counts.skipped) } else { String::new() };
    format!("{} passed, {} failed{skips}", counts.passed, counts.failed)
}

/// The report of a test run: figures and failed tests.
pub(super) fn tests(text: &str) -> Option<(Kind, String)> {
    let counts = counts_text(test_counts(text)?);
    let failing: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter_map(|line| {
            line.strip_suffix(" ... FAILED")
                .map(|name| name.trim_start_matches("test "))
                .or_else(|| line.strip_prefix("FAILED "))
                .or_else(|| line.strip_prefix("--- FAIL: "))
                .or_else(|| line.strip_prefix("✕ "))
        })
        .map(|name| head(name, 200))
        .collect();
    let failing = if failing.is_empty() { String::new() } else { format!("; failed: {}", some(&failing, 4)) };
    Some((Kind::Tests, format!("test run: {counts}{failing}")))
}

/// A log: number of lines per level, and the first error.
pub(super) fn describe(text: &str) -> Option<(Kind, String)> {
    let level = LEVEL.as_ref()?;
    let mut sampled = 0;
    let with_level = text
        .lines()
        .take(200)
        .inspect(|_| sampled += 1)
        .filter(|line| level.is_match(head(line, 400)))
        .count();
    if with_level < 3 || with_level * 10 < sampled * 3 {
        return None;
    }
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for groups in level.captures_iter(text) {
        let word = (1..=3).find_map(|at| groups.get(at)).map_or("", |group| group.as_str());
        let word = word.to_ascii_uppercase();
        let names = [
            ("ERR", "1 error"),
            ("FATA", "0 fatal"),
            ("CRIT", "0 fatal"),
            ("WARN", "2 warn"),
            ("NOTI", "3 info"),
            ("INFO", "3 info"),
            ("DEBU", "4 debug"),
            ("TRAC", "5 trace"),
        ];
        if let Some((_, name)) = names.into_iter().find(|(start, _)| word.starts_with(start)) {
            *counts.entry(name).or_default() += 1;
        }
    }
    let counts: Vec<String> = counts
        .into_iter()
        .map(|(name, count)| format!("{} {}", grouped(count), name.get(2..).unwrap_or(name)))
        .collect();
    let first = error_lines(text, 1)
        .first()
        .map(|line| format!("; first: {}", clip(&one_line(head(line, 1024)), 140)))
        .unwrap_or_default();
    Some((Kind::Log, format!("log: {}{first}", counts.join(", "))))
}
