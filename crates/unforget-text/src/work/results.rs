//! Reads results: the outcome of a call.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use unforget_core::digest::Digest;
use unforget_core::entry::ToolResult;
use unforget_core::ledger::{Answered, Commit, FailureKind, FaultPlace, Outcome, RunEvidence};

use super::calls::content_digest;
use super::evidence::{evidence, failed_package, passed_packages};
use super::fault::{Fault, fault, is_bare, is_misuse};
use crate::anchors::CUT;
use crate::clean::without_blobs;
use crate::clip::{clip, head, one_line, pattern, tail};
use crate::lines::{error_lines, without_codes};
use crate::preview::{counts_text, result_text, test_counts};
use crate::secret::redact;
use crate::typed::without_reminder;

/// Most bytes of a result that are read closely, from either end.
const RESULT_BYTES: usize = 8 << 10;

/// Most bytes from either end in which credentials are looked for: more than any of them takes.
const REDACTED_BYTES: usize = 64 << 10;

/// First words of results that hosts write for calls that were never run.
const NOT_RUN: &[&str] = &[
    "The user doesn't want to proceed with this tool use",
    "The user doesn't want to take this action",
    "[Request interrupted by user for tool use]",
    "The tool call was rejected",
    "exec command rejected by user",
    "command rejected by user",
    "patch rejected by user",
    "Tool execution was skipped",
    "Skipped due to queued user message",
    "Operation aborted",
];

/// First words of failed results, from hosts that do not mark failures.
const FAILED: &[&str] = &[
    "apply_patch verification failed",
    "execution error:",
    "exec_command failed",
    "failed to parse function arguments",
    "unsupported call:",
    "aborted by user after",
    "command timed out after",
    "<tool_use_error>",
];

/// Exit codes of a shell that could not start a command, or whose command was interrupted.
const STOPPED: [i64; 3] = [126, 127, 130];

/// Last lines of commands that a person aborted.
const ABORTED: [&str; 2] = ["Command aborted", "[Request interrupted by user]"];

/// First words of lines that hosts put around an output: Claude Code's, then Codex's.
const FRAME: &[&str] = &[
    "Exit code",
    "Chunk ID: ",
    "Wall time: ",
    "Process exited with code ",
    "Original token count: ",
    "Total output lines: ",
    "Output:",
];

/// Lines that hosts put in place of an empty output.
const SILENT: [&str; 5] = [
    "(no output)",
    "(no content)",
    "<no output>",
    "(Bash completed with no output)",
    "Tool ran without output or errors",
];

/// The report of `git commit` and similar commands.
static COMMIT: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?m)^\[[^\]\n]{1,160} ([0-9a-f]{7,40})\] (.{1,400})$"));

/// The id of a new task, in Claude Code's words.
static TASK: LazyLock<Option<Regex>> = LazyLock::new(|| pattern(r"^Task #([\w-]{1,40}) created"));

/// The statement of how a command ended: a separate line, first or last.
static ENDED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)^[<\[(]?(?:command |process )?(?:exited|finished)(?: with)? (?:exit )?code:? (-?\d{1,6})[>\])]?\.?$|^Exit code:? (-?\d{1,6})$",
    )
});

/// Reads a result.
pub(super) fn read(result: &ToolResult) -> Answered {
    let text = result_text(result);
    let shown_text = without_codes(&text);
    let ends = ends_of(&shown_text);
    let exit = result.exit_code.or_else(|| told_exit(&ends));
    let start = ends.trim_start();
    let starts = |known: &[&str]| known.iter().any(|known| start.starts_with(known));
    let failed = result.is_error || exit.is_some_and(|code| code != 0) || starts(FAILED);
    let outcome = match failed {
        _ if starts(NOT_RUN) => Outcome::NotRun,
        true => Outcome::Failed,
        false => Outcome::Done,
    };
    let (lines, tests) = (numbered(&text), test_counts(&ends));
    let failing = tests.filter(|tests| tests.failed > 0);
    let seen = evidence(ends.lines().filter(|line| !is_frame(line.trim())), tests);
    let is_telling = failed || seen.says == RunEvidence::Fault;
    let fault = if is_telling {
        // How a failed command ended is known; where the end is hidden, the line that tells of it is the report.
        let counts = failing.map(counts_text);
        let closing = seen.line.or(counts.as_deref()).filter(|_| !failed);
        Some(fault_of(&shown_text, &ends, closing))
    } else {
        let line = seen.line.or_else(|| error_lines(&ends, 1).first().copied());
        line.map(refused)
    };
    let kind = match fault.as_ref().map(|fault| (fault.kind, &fault.told)) {
        _ if exit.is_some_and(|code| STOPPED.contains(&code)) || stopped(&ends) => FailureKind::Stopped,
        Some((FailureKind::Refused | FailureKind::Misused, told)) if failing.is_some() => {
            FailureKind::Test(Digest::of(told.as_bytes()))
        }
        Some((kind, _)) => kind,
        None => FailureKind::default(),
    };
    let told = fault.as_ref().map(|fault| shown(&fault.told));
    let file = fault.map(|fault| fault.file).unwrap_or_default();
    let content: Cow<'_, str> = match lines {
        Some(_) => unnumbered(without_reminder(&text)).into(),
        None => text.as_ref().into(),
    };
    Answered {
        call_id: result.call_id.clone(),
        outcome,
        exit,
        content: content_digest(&content),
        lines,
        tests,
        error: told,
        kind,
        place: FaultPlace { file, package: if is_telling { failed_package(&ends) } else { String::new() } },
        evidence: seen.says,
        passed: passed_packages(&ends),
        commits: commits(&ends),
        task: TASK.as_ref().and_then(|task| Some(task.captures(start)?.get(1)?.as_str().to_owned())),
    }
}

/// Whether a host put this line around an output, or in place of an empty one.
pub(crate) fn is_frame(line: &str) -> bool {
    FRAME.iter().any(|start| line.starts_with(start)) || SILENT.contains(&line)
}

/// The exit code in the first or the last line.
fn told_exit(ends: &str) -> Option<i64> {
    let ended = ENDED.as_ref()?;
    let mut lines = ends.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next();
    let last = lines.next_back();
    [first, last].into_iter().flatten().find_map(|line| {
        let groups = ended.captures(line)?;
        groups.get(1).or_else(|| groups.get(2))?.as_str().parse().ok()
    })
}

/// Whether a command was ended from outside, in the last line of its output.
fn stopped(ends: &str) -> bool {
    let last = ends.trim_end().lines().next_back().unwrap_or_default().trim();
    ABORTED.contains(&last) || ends.trim_start().starts_with("aborted by user after")
}

/// The telling line of a failure, or else the line by which its run ended, or its first line with more content than a
/// code.
///
/// * `closing` - the line that says that the run failed, if there is one.
fn fault_of(text: &str, ends: &str, closing: Option<&str>) -> Fault {
    let said = |line: &&str| line.chars().any(char::is_alphabetic) && !is_frame(line);
    let lines = || ends.lines().map(str::trim).filter(said);
    let first = || lines().find(|line| !is_bare(line)).or_else(|| lines().next()).unwrap_or("failed");
    match fault(text) {
        Some(fault) if closing.is_none() || !is_bare(&fault.told) => fault,
        Some(fault) => Fault { told: closing.map_or(fault.told, str::to_owned), ..fault },
        None => refused(closing.unwrap_or_else(first)),
    }
}

/// A failure that names no place.
fn refused(told: &str) -> Fault {
    let kind = if is_misuse(told) { FailureKind::Misused } else { FailureKind::Refused };
    Fault { told: told.to_owned(), kind, file: String::new() }
}

/// A report as it is kept: one short line without credentials.
fn shown(told: &str) -> String {
    let words = head(told, 4_096);
    let words = words.trim_start_matches("<tool_use_error>").trim_end_matches("</tool_use_error>");
    clip(&one_line(&without_blobs(&redact(words))), 200).into_owned()
}

fn commits(ends: &str) -> Vec<Commit> {
    let Some(commit) = COMMIT.as_ref() else { return Vec::new() };
    let group =
        |groups: &regex::Captures<'_>, at| groups.get(at).map_or("", |group| group.as_str()).to_owned();
    let found = commit.captures_iter(ends).take(32).map(|groups| Commit {
        hash: group(&groups, 1),
        subject: clip(&one_line(&redact(&group(&groups, 2))), 160).into_owned(),
    });
    found.collect()
}

/// The first and last line number of a consecutively numbered text.
fn numbered(text: &str) -> Option<(u64, u64)> {
    let mut lines = text.lines();
    let first = number(lines.next()?)?;
    if lines.next().is_some_and(|line| number(line) != Some(first + 1)) {
        return None;
    }
    // Hosts append a few lines of their own to the file.
    let last = text.lines().rev().take(64).find_map(number)?;
    (last >= first).then_some((first, last))
}

fn number(line: &str) -> Option<u64> {
    numbered_line(line).map(|(number, _)| number)
}

/// The number before a line and the line, in the form `   12→` or `12\t`.
fn numbered_line(line: &str) -> Option<(u64, &str)> {
    let line = line.trim_start_matches(' ');
    let end = line.find(|c: char| !c.is_ascii_digit())?;
    let (digits, rest) = line.split_at(end);
    let rest = rest.strip_prefix('→').or_else(|| rest.strip_prefix('\t'))?;
    Some((digits.parse().ok()?, rest))
}

/// A text without the numbers before its lines.
pub(crate) fn unnumbered(text: &str) -> String {
    let lines: Vec<&str> =
        text.lines().map(|line| numbered_line(line).map_or(line, |(_, rest)| rest)).collect();
    lines.join("\n")
}

/// As [`ends_of`], without credentials, also where one begins before the last bytes.
pub(crate) fn safe_ends_of(text: &str) -> String {
    if text.len() <= 2 * REDACTED_BYTES {
        return ends_of(&redact(text));
    }
    let start = redact(head(text, REDACTED_BYTES)).into_owned();
    ends_of(&format!("{start}{CUT}\n{CUT}{}", redact(tail(text, REDACTED_BYTES))))
}

/// The first and the last bytes of a long result. A mark shows cut words, which are no identifiers.
pub(crate) fn ends_of(text: &str) -> String {
    if text.len() <= 2 * RESULT_BYTES {
        return text.to_owned();
    }
    format!("{}{CUT}\n{CUT}{}", head(text, RESULT_BYTES), tail(text, RESULT_BYTES))
}
