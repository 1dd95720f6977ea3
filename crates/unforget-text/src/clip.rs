//! Cuts text to a length without breaking a character.

use std::borrow::Cow;

use regex::Regex;

/// The first `max` characters of `text`, the last of which is `…` if anything was cut off. Prefers to cut after a whole
/// word, so that no identifier is left half written.
///
/// Cost: O(max).
pub(crate) fn clip(text: &str, max: usize) -> Cow<'_, str> {
    let Some((end, _)) = text.char_indices().nth(max) else { return Cow::Borrowed(text) };
    let last = text.char_indices().nth(max.saturating_sub(1)).map_or(end, |(at, _)| at);
    if max == 0 {
        return Cow::Borrowed("");
    }
    let head = text.get(..last).unwrap_or_default();
    let word = head.trim_end_matches(|c: char| !c.is_whitespace());
    let head = if word.len() * 2 >= head.len() { word } else { head };
    Cow::Owned(format!("{}…", head.trim_end()))
}

/// The longest start of `text` of at most `max` bytes that ends between characters.
pub(crate) fn head(text: &str, max: usize) -> &str {
    let mut end = max.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}

/// The longest end of `text` of at most `max` bytes that starts between characters.
pub(crate) fn tail(text: &str, max: usize) -> &str {
    let mut start = text.len().saturating_sub(max);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    text.get(start..).unwrap_or_default()
}

/// `text` on one line: each run of white space and control characters becomes one space, with none at the ends.
pub(crate) fn one_line(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    let mut gap = false;
    for c in text.chars() {
        if c.is_whitespace() || c.is_control() {
            gap = true;
        } else {
            if gap && !line.is_empty() {
                line.push(' ');
            }
            gap = false;
            line.push(c);
        }
    }
    line
}

/// A number with a comma after each group of three digits.
pub(crate) fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Compiles a pattern with ASCII classes and boundaries, which stays fast on any text; `None` if it is invalid.
pub(crate) fn pattern(pattern: &str) -> Option<Regex> {
    let classes = [(r"\b", r"(?-u:\b)"), (r"\w", "0-9A-Za-z_"), (r"\d", "0-9"), (r"\s", r" \t\r\n")];
    let mut ascii = String::with_capacity(pattern.len() * 2);
    let mut in_class = false;
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let class = classes.iter().find(|(name, _)| rest.starts_with(name));
        match class {
            Some((r"\b", boundary)) => ascii.push_str(boundary),
            Some((_, letters)) if in_class => ascii.push_str(letters),
            Some((_, letters)) => ascii.extend(["[", letters, "]"]),
            None => {}
        }
        let taken = if class.is_some() || c == '\\' {
            1 + rest.chars().nth(1).map_or(0, char::len_utf8)
        } else {
            c.len_utf8()
        };
        let (head, tail) = rest.split_at_checked(taken)?;
        if class.is_none() {
            in_class = (in_class || c == '[') && c != ']';
            ascii.push_str(head);
        }
        rest = tail;
    }
    Regex::new(&ascii).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn clip_table() {
        let table = [
            ("abc", 3, "abc", "fits"),
            ("abcd", 3, "ab…", "one word is cut where it must be"),
            (
                "read the file src/main.rs now",
                24,
                "read the file…",
                "an identifier is never left half written",
            ),
            ("日本語テキスト", 4, "日本語…", "counts characters, not bytes"),
            ("abc", 0, "", "nothing"),
        ];
        for (text, max, want, why) in table {
            assert_eq!(clip(text, max), want, "{why}");
        }
    }

    proptest! {
        #[test]
        fn clip_keeps_its_limit(text in "\\PC{0,60}", max in 0usize..50) {
            prop_assert!(clip(&text, max).chars().count() <= max);
            prop_assert!(head(&text, max).len() <= max);
            prop_assert!(text.starts_with(head(&text, max)));
            prop_assert!(text.ends_with(tail(&text, max)));
        }
    }
}
