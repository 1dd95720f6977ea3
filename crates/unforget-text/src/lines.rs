//! Lines that report an error or the end of a command.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use crate::clip::pattern;

/// Matches error lines in the output of common tools. Linear time on any text.
static ERROR: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"(?m)(?:^|[\s\[(:|])(?:error|Error|ERROR|fatal|FATAL|Fatal|FAILED|FAIL|panic|PANIC|CRITICAL|E)(?:\[[A-Z]?\d+\])?:",
        r"|\bERROR\b|\bFATAL\b|^Traceback \(most recent|panicked at|\b[A-Z]\w*(?:Error|Exception)\b:",
        r"|\b(?:[Nn]o such file or directory|[Pp]ermission denied|command not found|[Ss]egmentation fault)\b",
        r"|^npm ERR!|^make: \*\*\*|^\S+ \.\.\. FAILED|^FAILED |^--- FAIL",
    ))
});

/// Matches lines that tell how a command ended.
static ENDING: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(r"(?mi)^.{0,40}\b(?:exit(?:ed)?(?: with)?(?: code| status)|exit_code|return code)\b\W{0,3}-?\d+")
});

/// Colours and other codes for terminals.
static CODES: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]{0,400}(?:\x07|\x1b\\))"));

/// `text` without colours and other codes for terminals. Cost: linear, no copy without codes.
pub(crate) fn without_codes(text: &str) -> Cow<'_, str> {
    if memchr::memchr(0x1b, text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    CODES.as_ref().map_or(Cow::Borrowed(text), |codes| codes.replace_all(text, ""))
}

/// Longest stretch read from either end of a text, in bytes.
const LOOK_BYTES: usize = 1 << 20;

/// The first lines of `text` that report an error, at most `max`, without duplicates, in order.
///
/// Reads the first and the last megabyte. Cost: linear.
pub(crate) fn error_lines(text: &str, max: usize) -> Vec<&str> {
    matching(text, &ERROR, max)
}

/// The lines of `text` that name an exit code, at most `max`.
pub(crate) fn ending_lines(text: &str, max: usize) -> Vec<&str> {
    matching(text, &ENDING, max)
}

fn matching<'a>(text: &'a str, wanted: &LazyLock<Option<Regex>>, max: usize) -> Vec<&'a str> {
    let Some(wanted) = wanted.as_ref() else { return Vec::new() };
    let mut lines = Vec::new();
    let (first, second) = if text.len() <= 2 * LOOK_BYTES {
        (text, "")
    } else {
        (crate::clip::head(text, LOOK_BYTES), crate::clip::tail(text, LOOK_BYTES))
    };
    for part in [first, second] {
        let mut at = 0;
        while lines.len() < max {
            let Some(found) = wanted.find_at(part, at) else { break };
            let place = found.end().max(found.start() + 1).min(part.len());
            let bytes = part.as_bytes();
            // The match may begin with the line end before the matching line.
            let inside = found.end().saturating_sub(1);
            let start =
                memchr::memrchr(b'\n', bytes.get(..inside).unwrap_or_default()).map_or(0, |at| at + 1);
            let end = memchr::memchr(b'\n', bytes.get(inside..).unwrap_or_default())
                .map_or(part.len(), |at| at + inside);
            let line = part.get(start..end).unwrap_or_default().trim();
            if !line.is_empty() && !lines.contains(&line) {
                lines.push(line);
            }
            at = end.max(place);
            if at >= part.len() {
                break;
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_line_table() {
        let table = [
            ("ok\nerror[E0308]: mismatched types\n", Some("error[E0308]: mismatched types"), "rustc"),
            ("Traceback (most recent call last):\n", Some("Traceback (most recent call last):"), "python"),
            ("x\nValueError: bad\n", Some("ValueError: bad"), "python's last line"),
            ("2026-01-01 ERROR db down", Some("2026-01-01 ERROR db down"), "log"),
            (
                "thread 'main' panicked at src/a.rs:1",
                Some("thread 'main' panicked at src/a.rs:1"),
                "rust panic",
            ),
            ("bash: foo: command not found", Some("bash: foo: command not found"), "shell"),
            ("no errors, all is well", None, "prose about errors is not one"),
            ("0 errors", None, "a count"),
        ];
        for (text, want, why) in table {
            assert_eq!(error_lines(text, 1).first().copied(), want, "{why}");
        }
    }

    #[test]
    fn terminal_code_table() {
        let table = [
            ("\u{1b}[31mred\u{1b}[0m", "red", "a colour"),
            ("\u{1b}[1;38;5;196merror\u{1b}[K", "error", "many parts, and an erased line"),
            ("\u{1b}]8;;https://a.b/c\u{7}name\u{1b}]8;;\u{7}", "name", "a link"),
            ("a[0m", "a[0m", "no code"),
            ("\u{1b}", "\u{1b}", "half a code"),
        ];
        for (text, want, why) in table {
            assert_eq!(without_codes(text), want, "{why}");
        }
    }

    #[test]
    fn ending_line_table() {
        let table = [
            ("done\nexit code: 3", Some("exit code: 3"), "plain"),
            ("Process exited with code 1", Some("Process exited with code 1"), "codex"),
            ("the exit is to the left", None, "prose"),
        ];
        for (text, want, why) in table {
            assert_eq!(ending_lines(text, 1).first().copied(), want, "{why}");
        }
    }
}
