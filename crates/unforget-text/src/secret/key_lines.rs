//! Private keys line by line: as files show them, and as tools print them, with line numbers, file names or quote marks in front.

use std::ops::Range;

/// Letters of a line of a key in PEM, `OpenSSH`, PGP and `PuTTY` files, but for the last one.
const LINE_LETTERS: Range<usize> = 60..79;

/// Most letters that a tool prints before a line of a file.
const PREFIX_MAX: usize = 200;

/// Fewest whole lines that are known as a key without their first and last line.
const LINES: usize = 2;

/// Fewest letters of a line that are taken if words stand behind them.
const LINE_BEGINNING: usize = 16;

/// Fewest letters of the line beside whole ones that is taken with them.
const REST: usize = 8;

/// Headers of PEM and PGP files between the first line and the letters.
const HEADERS: [&str; 6] = ["Proc-Type: ", "DEK-Info: ", "Version: ", "Comment: ", "Hash: ", "Charset: "];

/// End of a private key whose first line begins at `start`: behind its last line, or behind what there is of it.
///
/// * `start` - at `-----BEGIN `, in a line that says `PRIVATE KEY`.
pub(super) fn key_end(text: &str, start: usize) -> usize {
    let mut end = start;
    for (number, line) in lines(text, start).enumerate() {
        let words = text.get(line.clone()).unwrap_or_default();
        if number == 0 {
            end = first_line_end(words).map_or(line.end, |length| start + length);
            continue;
        }
        if let Some(at) = words.find("-----END ") {
            let rest = words.get(at + 9..).unwrap_or_default();
            return line.start + at + 9 + rest.find("-----").map_or(rest.len(), |closing| closing + 5);
        }
        let Some(letters) = key_letters(words) else {
            // Words behind the letters of a line end the key.
            let gap = words.len() - words.trim_start().len();
            let run = words.trim_start().bytes().take_while(|byte| is_key_byte(*byte)).count();
            return if run >= LINE_BEGINNING { line.start + gap + run } else { end };
        };
        end = line.start + letters.end;
    }
    end
}

/// End of what stands in the first line, if the whole key stands in it.
fn first_line_end(line: &str) -> Option<usize> {
    let closing = line.find("-----END ")?;
    let rest = line.get(closing + 9..)?;
    Some(closing + 9 + rest.find("-----").map_or(rest.len(), |at| at + 5))
}

/// The next lines of a key without its beginning, from a place on: at least two whole ones, with the shorter lines beside them.
///
/// Cost: linear, and a sixtieth of that for texts without long runs of letters, which most are.
pub(super) fn next_block(text: &str, from: usize) -> Option<Range<usize>> {
    if !has_long_run(text.as_bytes().get(from..).unwrap_or_default()) {
        return None;
    }
    let (mut block, mut whole): (Option<Range<usize>>, usize) = (None, 0);
    for line in lines(text, from) {
        let words = text.get(line.clone()).unwrap_or_default();
        let letters =
            block_letters(words).map(|letters| line.start + letters.start..line.start + letters.end);
        if let Some(letters) = letters {
            let is_whole = LINE_LETTERS.contains(&letters.len());
            let begun = block.get_or_insert(letters.clone());
            begun.end = letters.end;
            whole += usize::from(is_whole);
            if is_whole || whole == 0 {
                if !is_whole {
                    // A shorter line may be the rest of one, but only the one before the first whole line.
                    block = Some(letters);
                }
                continue;
            }
        }
        if whole >= LINES {
            return block;
        }
        (block, whole) = (None, 0);
    }
    block.filter(|_| whole >= LINES)
}

/// Whether a text has as many letters of a key in a row as a whole line has.
fn has_long_run(text: &[u8]) -> bool {
    let least = LINE_LETTERS.start;
    let mut at = least - 1;
    while let Some(byte) = text.get(at) {
        if !is_key_byte(*byte) {
            at += least;
            continue;
        }
        let before = text
            .get(..at)
            .unwrap_or_default()
            .iter()
            .rev()
            .take_while(|byte| is_key_byte(**byte))
            .take(least);
        let before = before.count();
        let behind =
            text.get(at..).unwrap_or_default().iter().take_while(|byte| is_key_byte(**byte)).take(least);
        let behind = behind.count();
        if before + behind >= least {
            return true;
        }
        at += behind + least;
    }
    false
}

/// The lines of a text, without their ends. In escaped text, the two letters of an escaped line break end a line too.
fn lines(text: &str, from: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = Some(from);
    std::iter::from_fn(move || {
        let start = next?;
        let rest = text.get(start..)?;
        let mut ends = rest.match_indices(['\n', '\\']);
        let end = ends.find_map(|(at, end)| match end {
            "\n" => Some((at, 1)),
            _ => rest.get(at..)?.starts_with("\\n").then_some((at, 2)),
        });
        let (mut length, mut gap) = end.unwrap_or((rest.len(), 0));
        if gap == 2 && rest.get(..length).is_some_and(|line| line.ends_with("\\r")) {
            (length, gap) = (length - 2, gap + 2);
        }
        next = (gap > 0).then_some(start + length + gap);
        Some(start..start + length)
    })
}

/// The letters of a line within a key, behind what a tool prints before it; `None` for a line that is no part of a key.
fn key_letters(line: &str) -> Option<Range<usize>> {
    let body = body(line);
    let words = line.get(body.clone())?;
    let is_header = HEADERS.iter().any(|header| words.contains(header));
    let is_letters = words.bytes().all(is_key_byte);
    (is_header || is_letters).then_some(body)
}

/// The letters of a line that may stand in the middle of a key: Base64 of several kinds, nothing else.
fn block_letters(line: &str) -> Option<Range<usize>> {
    let body = body(line);
    let words = line.get(body.clone())?.as_bytes();
    let has = |kind: fn(&u8) -> bool| words.iter().any(kind);
    let is_mixed = has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase) && has(u8::is_ascii_digit);
    let is_letters = words.iter().all(|byte| is_key_byte(*byte));
    (is_letters && words.len() >= REST && (is_mixed || words.len() < LINE_LETTERS.start)).then_some(body)
}

fn is_key_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The part of a line behind a line number, the name of a file, a quote mark or an arrow, without white space around.
fn body(line: &str) -> Range<usize> {
    let end = line
        .trim_end_matches(|letter: char| letter.is_whitespace() || matches!(letter, '"' | '\\' | '\''))
        .len();
    let front = line.get(..end).unwrap_or_default();
    let letters = front.bytes().rev().take_while(|byte| is_key_byte(*byte)).count();
    let start = end - letters;
    let before = front.get(..start).unwrap_or_default().trim();
    // A line of a key stands alone behind its prefix; words before it are no prefix.
    let is_prefix = before.len() <= PREFIX_MAX
        && (before.bytes().all(|byte| byte.is_ascii_digit())
            || before.ends_with(['→', ':', '|', '>', '-', '+', '"', '\'']))
        && before.split_whitespace().count() <= 2;
    if is_prefix { start..end } else { 0..end }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Letters of a line of a key.
    const LINE: &str = "MIIEowIBAAKCAQEAx7Qp0sV9tY3kZ5nR8mW2bL4cH6jD1fG0uTqXeSiNoKvPaByC";

    #[test]
    fn ends_table() {
        let table = [
            (
                format!("-----BEGIN PRIVATE KEY-----\n{LINE}\nab==\n-----END PRIVATE KEY-----\nafter"),
                "\nafter",
                "a file",
            ),
            (
                format!(
                    "-----BEGIN PRIVATE KEY-----\n     2→{LINE}\n     3→ab==\n     4→-----END PRIVATE KEY-----\n     5→after"
                ),
                "\n     5→after",
                "a file as an agent reads it",
            ),
            (
                format!(
                    "-----BEGIN RSA PRIVATE KEY-----\nk.pem:2:Proc-Type: 4,ENCRYPTED\nk.pem:3:\nk.pem:4:{LINE}\nafter that"
                ),
                "\nafter that",
                "grep of a key without its end",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----\n> {LINE}\n> -----END PRIVATE KEY----- and"),
                " and",
                "a quote",
            ),
            (
                format!("-----BEGIN PRIVATE KEY-----\\n{LINE}\\n-----END PRIVATE KEY-----\\n\", \"x\": 1"),
                "\\n\", \"x\": 1",
                "in JSON",
            ),
            (
                format!(
                    "-----BEGIN PRIVATE KEY-----\\r\\n{LINE}\\r\\n{LINE}\\r\\n-----END PRIVATE KEY-----\\r\\n\""
                ),
                "\\r\\n\"",
                "in JSON, from Windows",
            ),
            (
                "-----BEGIN PRIVATE KEY----- is its first line.\nMore words.".to_owned(),
                "\nMore words.",
                "words about keys",
            ),
        ];
        for (text, rest, why) in table {
            assert_eq!(text.get(key_end(&text, 0)..), Some(rest), "{why}");
        }
    }

    #[test]
    fn blocks_table() {
        let block = |text: &str| next_block(text, 0).and_then(|found| text.get(found)).map(str::to_owned);
        let lower = LINE.to_lowercase();
        let table = [
            (
                format!("x\n{LINE}\n{LINE}\nab12CD34==\ny"),
                Some(format!("{LINE}\n{LINE}\nab12CD34==")),
                "the end of a key",
            ),
            (
                format!("  14→{LINE}\n  15→{LINE}\n  16→done."),
                Some(format!("{LINE}\n  15→{LINE}")),
                "its middle",
            ),
            (
                format!("9tY3kZ5nR8mW2\n{LINE}\n{LINE}"),
                Some(format!("9tY3kZ5nR8mW2\n{LINE}\n{LINE}")),
                "cut in front",
            ),
            (
                format!("x\\r\\n{LINE}\\r\\n{LINE}\\r\\ny z"),
                Some(format!("{LINE}\\r\\n{LINE}")),
                "in JSON, from Windows",
            ),
            (format!("{LINE}\nwords between them\n{LINE}"), None, "single lines, such as digests"),
            (format!("{lower}\n{lower}\n{lower}"), None, "letters of one kind"),
            ("one\ntwo\nthree".to_owned(), None, "words"),
            (format!("{}{LINE}\n{LINE}", "words before. ".repeat(9)), None, "one whole line"),
            (
                format!("{}\n{LINE}\n{LINE}", "words before. ".repeat(9)),
                Some(format!("{LINE}\n{LINE}")),
                "far behind",
            ),
        ];
        for (text, want, why) in table {
            assert_eq!(block(&text), want, "{why}");
        }
    }
}
