//! Extracts a person's own words from a message, without pasted, quoted or code text.

use std::sync::LazyLock;

use regex::Regex;

use crate::clip::pattern;
use crate::lines::error_lines;
use crate::sentences::is_code_fence;

/// First characters of lines from a screen, which nobody types.
const SCREEN: [char; 20] =
    ['>', '|', '[', '{', '}', '\u{1b}', '❯', '➜', '⎿', '⏺', '●', '│', '╭', '╰', '─', '┃', '✓', '✗', '⠇', '⚠'];

/// Marks of a screen within a line: the text behind them was not typed either.
const WITHIN: [char; 4] = ['❯', '⎿', '➜', '⏺'];

/// Lines written by programs: prompts, logs, places in files, diffs, code.
static PASTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:\$ |% |\S+@\S+[ :].*[%$#] |\S+ \S+ % |@@ |\+\+\+ |--- |=== (?:RUN|NAME|PAUSE|CONT)\b|\+\s{2}|-\s{4}|diff --git |index [0-9a-f]{7}|commit [0-9a-f]{7}|\d{4}-\d\d-\d\d[T ]|\d\d:\d\d:\d\d|[+-] *\d+ |\d+[→:│|]|[\w./-]+\.\w{1,5}:\d+|\w[\w.]*(?:Error|Exception)\b|API Error|Caused by|\?\? |\}|\))",
        r"|[{;]$|=> |\}\)|^\w+\(.*\)$|^[A-Z_]+=|\\n|^(?:Medium|High|Low|Critical) Severity$",
    ))
});

/// Lines that may be a program's or a person's: words of both, at the start.
static EITHER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"^(?:at \S+[(:]|File |error\b|warning:|npm |FAIL|PASS|ok  )",
        r"|^(?:import|export|const|func|fn|def|class|return|let|var) .*(?:[=({]|:$)",
    ))
});

/// Most lines of a paragraph that decide on a line of [`EITHER`].
const DECIDING_MAX: usize = 16;

/// How a person introduces another person's text, which may be long.
static REVIEWED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"(?i)\b(?:feedback|comments?|reviews?|copilot|transcript)\b[^:]{0,60}:$"));

/// How a person introduces the words of another person or program.
static INTRODUCED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:errors?|output|logs?|traces?|stack ?traces?|transcript|messages?|says|said|got|seeing|shows?|prints?|throw(?:s|ing)|fail(?:s|ing|ed)|feedback|comments?|reviews?|copilot|response|reply|replied|agent|wrote|reported|reports)\b[^:]{0,60}:$",
    )
});

/// The lines that a person wrote, in order. A program's line takes the rest of its paragraph with it; a line that may be
/// either's does so if at least half of the lines from it on look like a program's. A line that introduces other words
/// takes the next paragraph; a line that introduces a review takes everything that follows.
///
/// Cost: linear, except for at most [`TAGS_MAX`] searches for the end of a tag.
pub(crate) fn spoken(text: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let (mut in_code, mut pasted, mut awaits) = (false, false, false);
    let mut tag: Option<String> = None;
    let mut tags = 0;
    let mut rest = text;
    while let Some((raw, behind)) = next_line(rest) {
        rest = behind;
        let line = raw.trim();
        if let Some(name) = &tag {
            if line.contains(name.as_str()) {
                tag = None;
            }
            continue;
        }
        if is_code_fence(line) {
            in_code = !in_code;
        } else if in_code || line.is_empty() {
            pasted &= in_code || awaits;
        } else if let Some(end) = opened(line).filter(|_| tags < TAGS_MAX) {
            tags += 1;
            // Text behind a tag on the tag's own line is ignored.
            tag = Some(end.clone()).filter(|_| !line.contains(end.as_str()) && behind.contains(end.as_str()));
        } else {
            pasted |= is_pasted(raw) || (matches(&EITHER, line) && is_mostly_pasted(raw, behind));
            awaits = false;
            if !pasted {
                lines.push(line.split(WITHIN).next().unwrap_or_default().trim());
                pasted = line.contains(WITHIN);
                if matches(&REVIEWED, line) {
                    break;
                }
                awaits = matches(&INTRODUCED, line);
                pasted |= awaits;
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// Most tags whose ends are searched for.
const TAGS_MAX: usize = 16;

fn next_line(text: &str) -> Option<(&str, &str)> {
    (!text.is_empty()).then(|| text.split_once('\n').unwrap_or((text, "")))
}

/// The end of the tag at the start of a line.
fn opened(line: &str) -> Option<String> {
    let rest = line.strip_prefix('<')?;
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '-' | '_')))?;
    let name = rest.get(..end).filter(|name| !name.is_empty())?;
    rest.get(end..)?.starts_with(['>', ' ']).then(|| format!("</{name}>"))
}

fn is_pasted(raw: &str) -> bool {
    let line = raw.trim();
    let indent = raw.len() - raw.trim_start().len();
    let is_item = line.starts_with(['-', '*', '•']) || line.starts_with(|c: char| c.is_ascii_digit());
    line.starts_with(SCREEN)
        || (indent > 3 && !is_item)
        || matches(&PASTED, line)
        || !error_lines(line, 1).is_empty()
}

/// Whether at least half of a paragraph look like a program's lines.
///
/// * `first` - its first line in question, and `behind` the text behind it.
fn is_mostly_pasted(first: &str, behind: &str) -> bool {
    let ends = |line: &&str| line.trim().is_empty() || is_code_fence(line.trim());
    let lines = std::iter::once(first).chain(behind.lines()).take(DECIDING_MAX);
    let (mut all, mut pasted) = (0, 0);
    for line in lines.take_while(|line| !ends(line)) {
        all += 1;
        pasted += usize::from(is_pasted(line) || matches(&EITHER, line.trim()));
    }
    pasted * 2 >= all
}

fn matches(wanted: &LazyLock<Option<Regex>>, line: &str) -> bool {
    wanted.as_ref().is_some_and(|wanted| wanted.is_match(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spoken_table() {
        let table: [(&str, &[&str], &str); 20] = [
            ("fix it\nplease", &["fix it", "please"], "own words"),
            (
                "it fails:\n\nmust have a key\n\nalways see",
                &["it fails:", "always see"],
                "what is introduced is somebody else's",
            ),
            ("got this feedback:\nmust\n\nalways", &["got this feedback:"], "a review may be long"),
            (
                "look\nerror: must not\nnever go\n\nalways test",
                &["look", "always test"],
                "a pasted paragraph",
            ),
            ("why? ❯ never push\n  always\n\nok", &["why?", "ok"], "the screen of a host"),
            ("a\n```\nnever b\n```\nc", &["a", "c"], "code"),
            ("> never\nso\n\nyes", &["yes"], "a quotation, and what goes on in its paragraph"),
            ("<note>\nnever\n</note>\nyes", &["yes"], "a tag's inside"),
            ("<b>never</b>\nyes", &["yes"], "a tag on one line"),
            ("<open>\nalways test", &["always test"], "a tag that nothing closes"),
            ("do:\n- never push\n  - always test", &["do:", "- never push", "- always test"], "a list"),
            (
                "accent aabbcc\nerror cc6666\nuser 343541\npending 282832",
                &["accent aabbcc", "error cc6666", "user 343541", "pending 282832"],
                "one line of four has a program's word",
            ),
            ("it says\nerror one\nerror two\nthree", &["it says"], "most of the lines have one"),
            ("fix\nerror two words", &["fix"], "the only line behind it has one"),
            ("let me know when it works", &["let me know when it works"], "a word of code in a sentence"),
            ("see\nlet a = b", &["see"], "code"),
            ("class names should be short", &["class names should be short"], "no code"),
            ("=== NAME  TestA\n    a_test.go:3: x\n\nwhy?", &["why?"], "the log of a test"),
            ("+       a, b = c\n+       d\n\nwhy twice?", &["why twice?"], "added lines"),
            ("see\n      indented far", &["see"], "indented like output"),
        ];
        for (text, want, why) in table {
            assert_eq!(spoken(text), want, "{why}");
        }
    }
}
