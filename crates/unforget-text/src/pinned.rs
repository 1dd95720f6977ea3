//! Pinned files: whether another text contains them, and their beginning where the room is short.

use unforget_core::tokens::Ruler;

use crate::clip::{grouped, head};

/// Whether a text contains these words verbatim, on lines of their own. White space around the words does not count.
///
/// Cost: O(text).
pub fn stands_in(words: &str, text: &str) -> bool {
    let words = words.trim();
    let is_alone = |at: usize| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + words.len()..).unwrap_or_default();
        (before.is_empty() || before.ends_with('\n')) && (after.is_empty() || after.starts_with(['\n', '\r']))
    };
    !words.is_empty() && text.match_indices(words).any(|(at, _)| is_alone(at))
}

/// The beginning of a file, and its length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beginning {
    /// The beginning, and a line that tells how much of the file it is.
    pub text: String,
    /// Number of bytes of the file in it.
    pub bytes: usize,
}

/// The beginning of a file that fits so many tokens, in whole lines unless one line is most of it.
///
/// * `path` - path of the file, for that line. The line stands even if it needs more room than there is.
pub fn beginning(file: &str, path: &str, tokens: u64, ruler: &dyn Ruler) -> Beginning {
    let told = |bytes: usize| {
        let (shown, all) = (grouped(bytes), grouped(file.len()));
        format!("[shortened for room: the first {shown} of the {all} bytes of {path}]")
    };
    let whole = ruler.count(file).upper.max(1);
    let mut bytes = usize::try_from(file.len() as u64 * tokens / whole).unwrap_or(usize::MAX);
    while bytes > 0 {
        let cut = head(file, bytes);
        let lines = cut.rfind('\n').map_or(0, |at| at + 1);
        let cut = if lines * 2 >= cut.len() { head(cut, lines) } else { cut };
        let text = format!("{}\n{}", cut.trim_end_matches('\n'), told(cut.len()));
        if !cut.is_empty() && ruler.count(&text).upper <= tokens {
            return Beginning { text, bytes: cut.len() };
        }
        bytes = bytes / 8 * 7;
    }
    Beginning { text: told(0), bytes: 0 }
}

#[cfg(test)]
mod tests {
    use unforget_core::tokens::Tokens;

    use super::*;

    struct Bytes;

    impl Ruler for Bytes {
        fn count(&self, text: &str) -> Tokens {
            Tokens::exact(text.len() as u64)
        }

        fn name(&self) -> &'static str {
            "bytes"
        }
    }

    #[test]
    fn stands_in_table() {
        let table = [
            ("be brief\n", "Rules:\n\nbe brief\n\nThat is all.", true, "on a line of its own"),
            ("a\nb", "a\nb", true, "all of it"),
            ("a\nb", "<i>\r\na\nb\r\n</i>", true, "lines of another system"),
            ("be brief", "don't be brief", false, "within a sentence"),
            ("be brief", "be briefer\nbe brief", true, "the second time"),
            ("be brief", "be briefer", false, "a word that begins alike"),
            ("a\nb", "a\n\nb", false, "not verbatim"),
            (" \n", "a", false, "nothing to look for"),
        ];
        for (words, text, want, why) in table {
            assert_eq!(stands_in(words, text), want, "{why}: {words:?} {text:?}");
        }
    }

    #[test]
    fn beginnings_table() {
        let lines = "one rule\ntwo rules\n".repeat(20);
        let table = [
            (lines.as_str(), 200, Some("one rule\n["), "whole lines"),
            (&"ä".repeat(200), 160, Some("ä\n["), "between characters where there are no lines"),
            (&lines, 20, None, "no room: only that it is so"),
        ];
        for (file, tokens, want, why) in table {
            let begun = beginning(file, "/w/A.md", tokens, &Bytes);
            let Some(want) = want else {
                assert_eq!((begun.bytes, begun.text.starts_with("[shortened")), (0, true), "{why}");
                continue;
            };
            assert!(begun.text.len() as u64 <= tokens && begun.text.contains(want), "{why}: {begun:?}");
            let (cut, _) = begun.text.rsplit_once('\n').unwrap_or_default();
            assert!(begun.bytes > 40 && file.starts_with(cut), "{why}: {begun:?}");
        }
    }
}
