//! Runs of words: finds copied and repeated text.

use std::collections::BTreeSet;

/// Length in words of a run that two texts share only by copying.
const RUN: usize = 10;
/// Length in words of a run that reveals repetition.
const SHORT: usize = 4;
/// Drafts with fewer words are neither echo nor repetition.
const WORDS_MIN: usize = 40;

/// Whether a draft repeats its instructions, or is mostly copied from its source.
///
/// Text that the source itself takes from the instructions does not count. Cost: O((source + instructions) log draft).
pub(super) fn is_echo(draft: &str, source: &str, instructions: &str) -> bool {
    let draft = words(draft);
    let runs: BTreeSet<&[&str]> = draft.windows(RUN).collect();
    let source = words(source);
    let copied: BTreeSet<&[&str]> = source.windows(RUN).filter(|run| runs.contains(run)).collect();
    let obeyed = words(instructions);
    let leaked = obeyed.windows(RUN).any(|run| runs.contains(run) && !copied.contains(run));
    leaked || (draft.len() >= WORDS_MIN && copied.len() * 10 >= runs.len() * 9)
}

/// Whether a draft repeats itself again and again.
pub(super) fn repeats(draft: &str) -> bool {
    let draft = words(draft);
    let runs = draft.windows(SHORT);
    let all = runs.len();
    let distinct: BTreeSet<&[&str]> = runs.collect();
    draft.len() >= WORDS_MIN && distinct.len() * 3 < all
}

/// Runs of letters and digits; in scripts without blanks, single characters.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        let alone = matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}');
        let inside = c.is_alphanumeric() && !alone;
        if !inside && let Some(from) = start.take() {
            words.extend(text.get(from..at));
        }
        if alone {
            words.extend(text.get(at..at + c.len_utf8()));
        } else if inside && start.is_none() {
            start = Some(at);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(start: &str, end: &str, count: usize) -> String {
        (0..count).map(|n| format!("{start}{n}{end}")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn echo_table() {
        let orders =
            "Describe in the third person what was asked for, what was decided and what is still open.";
        let source = numbered("word", "", 80);
        let own = numbered("other", "", 80);
        let table = [
            (own.clone(), false, "words of its own"),
            (source.clone(), true, "the source"),
            (source.chars().take(400).collect(), true, "the first part of the source"),
            (format!("{own} {}", &source[..100]), false, "a quotation"),
            (format!("{own} {orders}"), true, "the instructions"),
            (format!("{own} what was asked for"), false, "a few of their words"),
        ];
        for (draft, want, why) in table {
            assert_eq!(is_echo(&draft, &source, orders), want, "{why}");
        }
        let about = format!("{source} {orders}");
        let draft = format!("{own} {orders}");
        assert!(!is_echo(&draft, &about, orders), "a conversation about these instructions");
    }

    #[test]
    fn f031_repetition_table() {
        let table = [
            ("the end. ".repeat(60), true, "the same words"),
            ("测试失败了。".repeat(30), true, "the same without blanks"),
            (numbered("src/file", ".rs", 60), false, "a list of files"),
            ("the end. ".repeat(5), false, "too short to say"),
        ];
        for (draft, want, why) in table {
            assert_eq!(repeats(&draft), want, "{why}");
        }
    }
}
