//! Describes a long text in a few words.

mod code;
mod json;
mod log;
mod table;

use std::borrow::Cow;

use unforget_core::entry::{Part, ToolResult};

use crate::clean::without_blobs;
use crate::clip::{clip, grouped, head, one_line, tail};
use crate::secret::redact;

pub(crate) use log::{counts_text, test_counts};

/// The kind of a text, recognised by its structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nothing but blanks.
    Empty,
    /// A single JSON value.
    Json,
    /// A JSON value per line.
    JsonLines,
    /// Values separated by commas, tabs or semicolons.
    Table,
    /// A unified diff.
    Diff,
    /// The report of a test run.
    Tests,
    /// Lines with levels.
    Log,
    /// Paths, or search hits by path.
    Listing,
    /// Source code.
    Code,
    /// Anything else.
    Text,
}

/// A short description of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// Its kind.
    pub kind: Kind,
    /// At most [`PREVIEW_CHARS`] characters, one line or a few; credentials redacted.
    pub text: String,
}

/// Most characters of a preview.
pub const PREVIEW_CHARS: usize = 320;
/// Longer texts are described by their first and last bytes, this many each.
const LOOK_BYTES: usize = 1 << 20;

/// Describes `text`: kind, size and content. Cost: linear.
pub fn preview(text: &str) -> Preview {
    let size = size(text);
    if text.trim().is_empty() {
        return Preview { kind: Kind::Empty, text: format!("empty ({} bytes)", text.len()) };
    }
    let seen: Cow<'_, str> = if text.len() <= 2 * LOOK_BYTES {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(format!("{}\n{}", head(text, LOOK_BYTES), tail(text, LOOK_BYTES)))
    };
    let plain = unnumbered(&seen);
    let found = json::describe(text)
        .or_else(|| diff(&plain))
        .or_else(|| log::tests(&plain))
        .or_else(|| log::describe(&plain))
        .or_else(|| table::listing(&plain))
        .or_else(|| code::describe(&plain))
        .or_else(|| table::describe(&plain));
    let (kind, words) = found.unwrap_or_else(|| (Kind::Text, ends(&seen)));
    let words = without_blobs(&redact(&format!("{words} ({size})")));
    let text = if words.chars().count() > PREVIEW_CHARS {
        format!("{} ({size})", clip(&words, PREVIEW_CHARS - size.chars().count() - 3))
    } else {
        words
    };
    Preview { kind, text }
}

/// The text parts of a result as one text; other parts appear as their kind in brackets.
pub(crate) fn result_text(result: &ToolResult) -> Cow<'_, str> {
    if let [Part::Text(text)] = result.content.as_slice() {
        return Cow::Borrowed(text);
    }
    let parts = result.content.iter().map(|part| match part {
        Part::Text(text) => text.clone(),
        Part::Media(media) => {
            format!("[{}]", if media.mime.is_empty() { "media" } else { media.mime.as_str() })
        }
        _ => "[other]".to_owned(),
    });
    Cow::Owned(parts.collect::<Vec<_>>().join("\n"))
}

fn size(text: &str) -> String {
    let lines = memchr::memchr_iter(b'\n', text.as_bytes()).count()
        + usize::from(!text.is_empty() && !text.ends_with('\n'));
    let plural =
        |count: usize, one: &str| format!("{} {one}{}", grouped(count), if count == 1 { "" } else { "s" });
    format!("{}, {}", plural(lines, "line"), plural(text.len(), "byte"))
}

/// First and last line.
fn ends(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let short = |line: &str| clip(&one_line(head(line, 1024)), 110).into_owned();
    let first = lines.next().map(short).unwrap_or_default();
    match lines.next_back().map(short) {
        Some(last) => format!("text: \"{first}\" … \"{last}\""),
        None => format!("text: \"{first}\""),
    }
}

/// Files and changed lines of a unified diff.
fn diff(text: &str) -> Option<(Kind, String)> {
    let (mut files, mut added, mut removed, mut hunks) = (Vec::new(), 0, 0, 0);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("+++ ") {
            files.push(name.split('\t').next().unwrap_or(name).trim_start_matches("b/"));
        } else if line.starts_with("@@ ") {
            hunks += 1;
        } else if hunks > 0 && line.starts_with('+') {
            added += 1;
        } else if hunks > 0 && line.starts_with('-') && !line.starts_with("--- ") {
            removed += 1;
        }
    }
    if hunks == 0 || files.is_empty() {
        return None;
    }
    let plural = if files.len() == 1 { "" } else { "s" };
    Some((
        Kind::Diff,
        format!("diff: {} file{plural}, +{added} -{removed}: {}", files.len(), some(&files, 8)),
    ))
}

/// The first `max` names, and how many more there are.
fn some<T: AsRef<str>>(names: &[T], max: usize) -> String {
    let shown: Vec<Cow<'_, str>> = names.iter().take(max).map(|name| clip(name.as_ref(), 60)).collect();
    let more = names.len().saturating_sub(max);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{rest}", shown.join(", "))
}

/// Removes the line numbers that file-reading tools put before each line (`   12→`, `12\t`).
fn unnumbered(text: &str) -> Cow<'_, str> {
    let strip = |line: &str| -> Option<usize> {
        let digits = line.trim_start_matches(' ').trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = digits
            .strip_prefix('→')
            .or_else(|| digits.strip_prefix('\t'))
            .or_else(|| digits.strip_prefix(": "))?;
        (line.len() > digits.len() && line.trim_start().len() > digits.len())
            .then_some(line.len() - rest.len())
    };
    let numbered = text.lines().take(10).filter(|line| strip(line).is_some()).count();
    if numbered < 3 || numbered * 2 < text.lines().take(10).count() {
        return Cow::Borrowed(text);
    }
    let lines = text.lines().map(|line| strip(line).and_then(|at| line.get(at..)).unwrap_or(line));
    Cow::Owned(lines.collect::<Vec<_>>().join("\n"))
}
