//! Makes a conversation's title from its first words.

use crate::clip::{clip, head, one_line};
use crate::redact;
use crate::spoken::spoken;
use crate::typed::{is_bare_command, typed};

/// Most characters of a title.
pub const TITLE_CHARS: usize = 80;

/// Most bytes read: more never becomes a title.
const LOOKED_AT: usize = 4_096;

/// Most words of a short name, and most characters.
const WORDS: usize = 6;
const NAME_CHARS: usize = 40;

/// The first words as a title: one line, without credentials; `None` without words.
///
/// Cost: O(bytes read).
pub fn title(words: &str) -> Option<String> {
    let line = one_line(&redact(head(words.trim_start(), LOOKED_AT)));
    let title = clip(line.trim(), TITLE_CHARS).into_owned();
    (!title.is_empty()).then_some(title)
}

/// A title from a person's message: their own words if it has any, otherwise its beginning. `None` for a message that
/// begins with a tag or a bracket, as programs write them, and has no words of the person, and for a command of the host
/// without arguments.
///
/// Cost: O(bytes read).
pub fn title_of_message(text: &str) -> Option<String> {
    let text = typed(head(text.trim_start(), LOOKED_AT));
    let text = text.as_ref();
    if is_bare_command(text) {
        return None;
    }
    let typed = title(&spoken(text).join(" "));
    typed.or_else(|| title(text).filter(|_| !text.starts_with(['<', '['])))
}

/// A title as a short name for use in a header, an address and a command: ASCII letters and digits separated by
/// hyphens. `None` if nothing of the title remains.
pub fn short_name(title: &str) -> Option<String> {
    let words = title.split(|one: char| !one.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = String::new();
    for word in words.take(WORDS) {
        let hyphen = usize::from(!name.is_empty());
        if name.len() + hyphen + word.len() > NAME_CHARS {
            break;
        }
        if hyphen > 0 {
            name.push('-');
        }
        name.push_str(&word.to_ascii_lowercase());
    }
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_of_messages_table() {
        let table = [
            ("fix the parser", Some("fix the parser"), "words"),
            (
                "<system-reminder>\nbe good\n</system-reminder>\nfix it",
                Some("fix it"),
                "behind what a host injected",
            ),
            (
                "<command-name>/init</command-name>\n<command-args></command-args>",
                None,
                "a command of the host",
            ),
            (
                "<command-name>/review</command-name>\n<command-args>the parser</command-args>",
                Some("/review the parser"),
                "a command that says what about",
            ),
            ("/mode", None, "a command says nothing about the work"),
            ("[Request interrupted by user]", None, "a mark of the host"),
            ("error: cannot find `x`", Some("error: cannot find `x`"), "only pasted text"),
            ("look:\n```\nlet a = 1;\n```\nwhy?", Some("look: why?"), "around code"),
        ];
        for (text, want, why) in table {
            assert_eq!(title_of_message(text).as_deref(), want, "{why}");
        }
    }

    #[test]
    fn titles_table() {
        let long = "word ".repeat(2_000);
        let table = [
            ("Fix the login test", Some("Fix the login test"), Some("fix-the-login-test"), "words"),
            ("\n\n  Fix\nit,  please\t", Some("Fix it, please"), Some("fix-it-please"), "one line"),
            ("", None, None, "nothing"),
            (" \n ", None, None, "nothing that is seen"),
            ("…", Some("…"), None, "no letter"),
            ("Löse das Rätsel", Some("Löse das Rätsel"), Some("l-se-das-r-tsel"), "beyond ASCII"),
            ("修复测试", Some("修复测试"), None, "nothing of it can stand in a header"),
            ("a/b ../c", Some("a/b ../c"), Some("a-b-c"), "no steps"),
            (
                "one two three four five six seven",
                Some("one two three four five six seven"),
                Some("one-two-three-four-five-six"),
                "six words",
            ),
        ];
        for (words, want, name, why) in table {
            let made = title(words);
            assert_eq!(made.as_deref(), want, "{why}");
            assert_eq!(made.as_deref().and_then(short_name).as_deref(), name, "{why}");
        }
        assert!(title(&long).is_some_and(|title| title.chars().count() <= TITLE_CHARS));
        let secret = title("Use sk-ant-REDACTED0123456789 for it").unwrap_or_default();
        assert!(!secret.contains("REDACTED0123"), "{secret}");
        assert_eq!(short_name(&"a".repeat(NAME_CHARS + 1)), None, "one word without end");
    }
}
