//! The content of an entry as one text for people.

use unforget_core::entry::{Entry, Part};
use unforget_text::{title_of_message, typed};

/// Maximum characters of a snippet.
const SNIPPET_CHARS: usize = 600;

/// Minimum length of a query word for the position of a snippet.
const WORD_CHARS: usize = 3;

/// All text of an entry: words, reasoning, calls as `name arguments`, results.
pub(crate) fn text(entry: &Entry) -> String {
    let mut out = String::new();
    for part in &entry.parts {
        add(&mut out, part);
    }
    out
}

/// Whether a person's own words are in an entry. A host also writes marks in a person's name: `[Request interrupted by user]`.
pub(crate) fn is_typed(entry: &Entry) -> bool {
    let mut texts = entry.parts.iter();
    texts.any(|part| matches!(part, Part::Text(text) if title_of_message(text).is_some()))
}

/// What an entry says, without the wrappers of its host.
pub(crate) fn words(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(typed(text)),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n").trim().to_owned()
}

fn add(out: &mut String, part: &Part) {
    match part {
        Part::Text(text) | Part::Thinking { text, .. } => line(out, text),
        Part::ToolCall(call) => {
            line(out, &call.name);
            out.push(' ');
            out.push_str(&call.arguments);
        }
        Part::ToolResult(result) => result.content.iter().for_each(|inner| match inner {
            Part::Text(text) => line(out, text),
            Part::Media(media) => line(out, &format!("[{}]", media.mime)),
            _ => (),
        }),
        Part::Media(media) => line(out, &format!("[{}]", media.mime)),
        Part::Opaque { raw, .. } => line(out, raw),
    }
}

fn line(out: &mut String, text: &str) {
    if !out.is_empty() && !text.is_empty() {
        out.push('\n');
    }
    out.push_str(text);
}

/// The part of `text` with the most words of `query`, marked with `…` where it was cut; the whole text if it has at
/// most `chars` characters.
///
/// Cost: O(text × words).
pub(super) fn snippet(text: &str, query: &str, chars: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(chars) else { return text.to_owned() };
    let chars = chars.min(SNIPPET_CHARS);
    let end = text.char_indices().nth(chars).map_or(end, |(end, _)| end);
    cut(text, best(text, query, end), chars)
}

/// Start, in characters, of the part of about `chars` characters with the most words of `query`. Near the end of the
/// text the part starts earlier, so that it keeps its length.
///
/// Cost: O(text × words).
pub(super) fn start(text: &str, query: &str, chars: usize) -> usize {
    let Some((end, _)) = text.char_indices().nth(chars) else { return 0 };
    let at = best(text, query, end);
    let before = text.get(..at).map_or(0, |before| before.chars().count());
    before.saturating_sub(chars / 6).min(text.chars().count().saturating_sub(chars))
}

/// Byte offset of the part with the most words of `query`.
///
/// * `end` - length of a part in bytes.
fn best(text: &str, query: &str, end: usize) -> usize {
    let places = places(text, query);
    // Of all windows that start at a query word, take the one with the most distinct words.
    let mut best = (0, 0);
    for (index, (at, _)) in places.iter().enumerate() {
        let mut seen = 0_u64;
        for (_, word) in places.iter().skip(index).take_while(|(other, _)| other - at < end) {
            seen |= 1 << (word % 64);
        }
        if seen.count_ones() > best.0 {
            best = (seen.count_ones(), *at);
        }
    }
    best.1
}

/// Byte offsets of query words in the text, ascending, with the index of the word; inflected forms count. Bounded.
fn places(text: &str, query: &str) -> Vec<(usize, usize)> {
    const PLACES_MAX: usize = 2000;
    let folded = text.to_lowercase();
    // Case folding can change lengths, which would make the offsets wrong; then only the start is shown.
    if folded.len() != text.len() {
        return Vec::new();
    }
    let mut places = Vec::new();
    let query = query.to_lowercase();
    let words = query.split(|c: char| !c.is_alphanumeric()).filter(|word| word.chars().count() >= WORD_CHARS);
    for (number, word) in words.enumerate().take(64) {
        let stem = word.char_indices().nth(5).map_or(word, |(at, _)| word.get(..at).unwrap_or(word));
        places.extend(folded.match_indices(stem).take(PLACES_MAX / 64).map(|(at, _)| (at, number)));
    }
    places.sort_unstable();
    places
}

/// Cuts `chars` characters starting a little before the byte `at`.
fn cut(text: &str, at: usize, chars: usize) -> String {
    let before = text.get(..at).map_or(0, |before| before.chars().count());
    let skip = before.saturating_sub(chars / 6);
    let mut out = String::new();
    if skip > 0 {
        out.push('…');
    }
    let mut rest = text.chars().skip(skip);
    out.extend(rest.by_ref().take(chars));
    if rest.next().is_some() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snippet_table() {
        let long = format!("{} the retry limit is seven {}", "alpha ".repeat(300), "omega ".repeat(300));
        let table = [
            ("short", "nothing", "short", "all of a short text"),
            (long.as_str(), "retry limits", "retry limit is seven", "around the words"),
            (long.as_str(), "zebra", "alpha alpha", "the start, if no word is there"),
            (long.as_str(), "", "alpha alpha", "the start, without words"),
        ];
        for (text, query, want, why) in table {
            let shown = snippet(text, query, 200);
            assert!(shown.contains(want), "{why}: {shown}");
            assert!(shown.chars().count() <= 202, "{why}: {shown}");
        }
    }

    #[test]
    fn f062_cuts_fall_between_characters() {
        let text = "añ€😀".repeat(500);
        for query in ["€", "añ€", "😀😀😀"] {
            assert!(snippet(&text, query, 50).chars().count() <= 52);
        }
    }
}
