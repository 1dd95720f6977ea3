//! Text that steers nothing: a terminal or a page shows control characters and marks of direction, and obeys none of them.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Text in which nothing steers a terminal: control characters (C0, C1, DEL), marks of direction and characters without
/// a width are written out. Line ends and tabs stay. O(text), without a copy where nothing changes.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        match one {
            // The end of a line as Windows writes it.
            '\r' if rest.peek() == Some(&'\n') => {}
            '\u{7f}' => out.push('␡'),
            one if (one as u32) < 0x20 && is_harmful(one) => {
                out.push(char::from_u32(0x2400 + one as u32).unwrap_or('\u{fffd}'));
            }
            one if is_harmful(one) => {
                // Writing to a string cannot fail.
                write!(out, "<U+{:04X}>", one as u32).ok();
            }
            one => out.push(one),
        }
    }
    Cow::Owned(out)
}

/// The name of a conversation on one line: as [`visible`], with line ends and tabs written out, and the end of a long one
/// left out. O(`most`).
///
/// * `most` - characters.
pub fn visible_name(name: &str, most: usize) -> String {
    let head: String = name.chars().take(most).collect();
    let more = if head.len() < name.len() { "…" } else { "" };
    let shown = head.replace('\r', "␍").replace('\n', "␊").replace('\t', "␉");
    format!("{}{more}", visible(&shown))
}

/// Whether a character could steer a terminal, or turn or hide what stands beside it.
pub fn is_harmful(one: char) -> bool {
    let code = one as u32;
    (one.is_control() && one != '\n' && one != '\t')
        || matches!(code, 0x061c | 0x200b | 0x200e | 0x200f | 0x2028..=0x202e | 0x2060..=0x2069 | 0xfeff)
        || matches!(code, 0xfdd0..=0xfdef | 0xfff9..=0xfffb | 0xe_0000..=0xe_007f)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_on_one_line() {
        let table = [
            ("claude-code:1b2c", "claude-code:1b2c", "a name stays"),
            ("a\nb\u{1b}[31m\tc\r\nd", "a␊b␛[31m␉c␍␊d", "nothing ends the line"),
            ("12345678901234567890", "1234567890123456…", "too long"),
            ("ü修🦀4567890123456", "ü修🦀4567890123456", "as many letters"),
        ];
        for (name, want, why) in table {
            assert_eq!(visible_name(name, 16), want, "{why}");
        }
        assert_eq!(visible_name(&"x".repeat(100_000), 200).chars().count(), 201);
    }

    #[test]
    fn hostile_text_is_seen() {
        let table = [
            ("plain ü 修 🦀\n\tline", "plain ü 修 🦀\n\tline", "text stays"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "␛]52;c;ZXZpbA==␇", "OSC 52 writes the clipboard"),
            ("a\u{202e}b\u{2066}c", "a<U+202E>b<U+2066>c", "overrides of direction"),
            ("a\u{200b}b\u{e0041}", "a<U+200B>b<U+E0041>", "characters without a width"),
            ("a\r\nb\rc\u{8}", "a\nb␍c␈", "an end of a line, and two that overwrite"),
        ];
        for (text, want, why) in table {
            assert_eq!(visible(text), want, "{why}");
        }
    }
}
