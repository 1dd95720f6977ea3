//! Text that cannot steer a terminal, and styles that only this program can write.
//!
//! A transcript may hold anything: its session id, a path or the name of a tool may hold a sequence that writes the clipboard or
//! turns the direction of a line. Everything written for a person passes [`unforget_text::visible`]. Styles pass it as marks with a
//! random number of this process, which nothing stored can know; [`rendered`] turns these marks, and no others, into the
//! sequences of a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use anstyle::Style;
use unforget_text::is_harmful;

pub(crate) use unforget_text::visible;

/// Begins and ends a mark, and stands for an escape in it: characters that no text has.
const MARK: char = '\u{fdd0}';
const MARK_END: char = '\u{fdd1}';
const ESCAPE: &str = "\u{fdd2}";

/// Begins every mark of this process. `RandomState` is seeded by the operating system.
static OURS: LazyLock<String> =
    LazyLock::new(|| format!("{MARK}{:016x}", RandomState::new().hash_one(std::process::id())));

/// A text in a style; unchanged if the style is empty. It is meant for [`rendered`].
pub(crate) fn paint(style: Style, text: impl std::fmt::Display) -> String {
    if style.is_plain() {
        return text.to_string();
    }
    let escaped = |style: String| style.replace('\u{1b}', ESCAPE);
    let (on, off) = (escaped(style.to_string()), escaped(format!("{style:#}")));
    let ours = OURS.as_str();
    format!("{ours}{on}{MARK_END}{text}{ours}{off}{MARK_END}")
}

/// Text with every control character made visible, and with the styles of [`paint`].
pub(crate) fn rendered(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut pieces = text.split(OURS.as_str());
    out.push_str(&visible(pieces.next().unwrap_or_default()));
    for piece in pieces {
        match piece.split_once(MARK_END) {
            Some((style, rest)) => {
                out.push_str(&style.replace(ESCAPE, "\u{1b}"));
                out.push_str(&visible(rest));
            }
            None => out.push_str(&visible(piece)),
        }
    }
    out
}

/// A line of a log: colours stay, everything else is made visible.
pub(super) fn log_line(text: &str) -> String {
    let mut pieces = text.split('\u{1b}');
    let mut out = visible(pieces.next().unwrap_or_default()).into_owned();
    for piece in pieces {
        let is_colour = piece.strip_prefix('[').is_some_and(|rest| {
            rest.trim_start_matches(|one: char| one.is_ascii_digit() || one == ';').starts_with('m')
        });
        out.push(if is_colour { '\u{1b}' } else { '␛' });
        out.push_str(&visible(piece));
    }
    out
}

/// JSON in which nothing steers a terminal either: the same values, with more escapes.
pub(super) fn visible_json(text: &str) -> Cow<'_, str> {
    let is_raw = |one: char| is_harmful(one) && (one as u32) >= 0x7f;
    if !text.contains(is_raw) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for one in text.chars() {
        if is_raw(one) {
            for unit in one.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                write!(out, "\\u{unit:04x}").ok();
            }
        } else {
            out.push(one);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use anstyle::AnsiColor;

    use super::*;

    #[test]
    fn hostile_text_is_seen_and_steers_nothing() {
        let table = [
            ("plain ü 修 🦀\n\tline", "plain ü 修 🦀\n\tline", "text stays"),
            ("\u{1b}]52;c;ZXZpbA==\u{7}", "␛]52;c;ZXZpbA==␇", "OSC 52 writes the clipboard"),
            ("a\u{1b}[2Jb", "a␛[2Jb", "CSI"),
            ("\u{9b}31m\u{9d}0;t\u{9c}", "<U+009B>31m<U+009D>0;t<U+009C>", "C1"),
            ("a\u{202e}b\u{2066}c", "a<U+202E>b<U+2066>c", "overrides of direction"),
            ("a\u{200b}b\u{e0041}", "a<U+200B>b<U+E0041>", "characters without a width"),
            ("a\r\nb\rc\u{8}", "a\nb␍c␈", "an end of a line, and two that overwrite"),
            ("\u{7f}\u{0}", "␡␀", "the ends of C0"),
            (
                "\u{fdd0}0000000000000000[31m\u{fdd1}",
                "<U+FDD0>0000000000000000[31m<U+FDD1>",
                "a guessed mark",
            ),
            ("👩\u{200d}💻", "👩\u{200d}💻", "joined characters stay joined"),
        ];
        for (text, want, why) in table {
            assert_eq!(visible(text), want, "{why}");
            assert_eq!(rendered(text), want, "{why}");
        }
    }

    #[test]
    fn only_our_styles_are_rendered() {
        let red = AnsiColor::Red.on_default();
        let hostile = paint(red, "a\u{1b}[0m\u{9b}1m");
        assert_eq!(rendered(&hostile), "\u{1b}[31ma␛[0m<U+009B>1m\u{1b}[0m");
        assert_eq!(rendered(&paint(Style::new(), "a")), "a");
        assert_eq!(rendered(&paint(red.bold(), "a")), "\u{1b}[1m\u{1b}[31ma\u{1b}[0m");
        let twice = paint(red, paint(Style::new().bold(), "a"));
        assert_eq!(rendered(&twice), "\u{1b}[31m\u{1b}[1ma\u{1b}[0m\u{1b}[0m");
    }

    #[test]
    fn a_log_keeps_its_colours_only() {
        assert_eq!(log_line("\u{1b}[32mINFO\u{1b}[0m a\u{1b}]0;t\u{7}"), "\u{1b}[32mINFO\u{1b}[0m a␛]0;t␇");
    }

    #[test]
    fn json_keeps_its_values() {
        let hostile = "a\u{9b}b\u{202e}\u{e0041}\u{7f}ü";
        let json = serde_json::to_string(hostile).unwrap_or_default();
        let safe = visible_json(&json);
        assert!(safe.chars().all(|one| !is_harmful(one)), "{safe}");
        assert_eq!(serde_json::from_str::<String>(&safe).ok().as_deref(), Some(hostile));
    }
}
