//! What an answer leaves open: the items of its lists of next steps, boxes that are not ticked, and sentences about what
//! remains.

use std::sync::LazyLock;

use super::cues::{Cue, is};
use super::{Class, POINT_CHARS, answer, without_emphasis};
use crate::clip::{clip, one_line, pattern};
use crate::sentences::{LineKind, prose, split_line};

/// Most items of one answer.
const ITEMS_MAX: usize = 12;

/// A heading, or the words before a colon, above things that are not done.
static LABEL: Cue = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:\W*(?:the|my|our|your|some|any|suggested|recommended|possible|potential|remaining|open|pending|immediate|future|optional|likely|known)\s+)*",
        r"(?:next(?: up| steps?| actions?| tasks?)?|what['’]?s (?:next|left|missing|remaining|still open)|what (?:is|remains|comes)(?: still)? (?:next|left|open|to (?:do|be done)|missing|remaining)?|what remains|",
        r"remaining(?: work| tasks?| items?| issues?| steps?| todos?| gaps?)?|to-?dos?(?: list| items?)?|(?:still )?(?:left )?to do|left(?: open| over)?|still (?:open|to do|missing|pending|left|needed|todo)|",
        r"open(?: items?| tasks?| issues?| points?| todos?| work| ends)?|(?:work|tasks?|items?|issues?|steps?) (?:left|remaining|still open)|not (?:yet )?(?:done|implemented|started|covered|addressed|included|finished)(?: yet)?|",
        r"follow[- ]?ups?(?: work| items?| tasks?)?|pending(?: work| tasks?| items?)?|outstanding(?: work| tasks?| items?| issues?)?|unfinished(?: work| tasks?)?|deferred(?: work| items?)?|",
        r"nächste schritte|offen|noch offen|prochaines étapes|reste à faire|próximos pasos|pendientes?|次のステップ|残り|下一步|剩余|待办)",
        r"(?:\s+(?:is|are|include|includes))?(?:\s+(?:for|in|on|before|after|until|from|of|to|with)\b.{0,60}|\s*\([^)]{0,60}\))?\s*$",
    ))
});

/// An item that says that nothing is left.
static NOTHING: Cue = LazyLock::new(|| {
    pattern(
        r"(?i)^(?:none|nothing|n/?a|no|nil|-)\b[^a-z]{0,3}(?:.{0,20})$|\b(?:no|nothing|none|zero|without)\b.{0,24}\b(?:remain(?:s|ing)?|left|open|to-?dos?|next steps?|follow-?ups?|pending|outstanding)\b|\bnothing (?:else )?(?:to do|is missing)\b",
    )
});

/// A box before an item that is ticked, or another mark of what is done.
static TICKED: Cue = LazyLock::new(|| pattern(r"^(?:\[[xX✓✔]\]|✅|☑|✔|✓|~~)|(?i)\b(?:done|completed?)\W*$"));

/// A box before an item that is not ticked.
static BOX: Cue = LazyLock::new(|| pattern(r"^(?:\[ ?\]|☐|⬜|◻|🔲)\s*"));

/// The things that a turn's last text leaves open, in order: each a statement of its own, at most [`POINT_CHARS`] long.
///
/// Options that a person may choose from are not open work: their lists have other labels. Cost: linear.
pub(crate) fn open_items(text: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    let mut is_open = false;
    for line in prose(text) {
        let words = one_line(&without_emphasis(line.text));
        match line.kind {
            LineKind::Heading => is_open = label(&words, &mut items),
            LineKind::Bullet { inner } => {
                let boxed = BOX.as_ref().and_then(|mark| mark.find(&words)).map(|found| found.end());
                if !is(&TICKED, &words) && (boxed.is_some() || (is_open && !inner)) {
                    add(words.get(boxed.unwrap_or(0)..).unwrap_or_default(), &mut items);
                } else if !inner && boxed.is_none() && !is_open {
                    // `- Remaining: the docs` in a list of results.
                    label(&words, &mut items);
                }
            }
            LineKind::Prose => {
                let mut told = Vec::new();
                split_line(&words, &mut told);
                is_open = told.into_iter().fold(false, |_, sentence| label(sentence, &mut items));
            }
        }
    }
    // Sentences that say so without a list.
    for point in answer(text).points.into_iter().filter(|point| point.class == Class::Next) {
        // A list without such a label is about something else, whatever word is in it.
        let is_told =
            point.text.contains("; ") || items.iter().any(|item| point.text.contains(item.as_str()));
        if !is_told && !is_bare(&point.text) && !is_denied(&point.text) {
            add(&point.text, &mut items);
        }
    }
    items.truncate(ITEMS_MAX);
    items
}

/// Whether a line is a label of open work. What stands behind its colon is an item.
fn label(line: &str, items: &mut Vec<String>) -> bool {
    let plain = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let Some((before, behind)) = plain.split_once([':', '：']) else { return is(&LABEL, plain) };
    if !is(&LABEL, before) {
        return false;
    }
    let behind = behind.trim();
    if behind.is_empty() {
        return true;
    }
    for item in behind.split(';') {
        add(item, items);
    }
    false
}

/// Whether a statement only announces what is not there.
fn is_bare(text: &str) -> bool {
    text.split_whitespace().count() < 4 || text.ends_with([':', '：'])
}

/// Whether a labelled line says that nothing is left: `Next steps: none`.
fn is_denied(text: &str) -> bool {
    text.split_once([':', '：'])
        .is_some_and(|(before, behind)| is(&LABEL, before) && is(&NOTHING, behind.trim()))
}

fn add(text: &str, items: &mut Vec<String>) {
    let mut told = Vec::new();
    split_line(text.trim().trim_end_matches([':', '：']), &mut told);
    let Some(first) = told.first() else { return };
    let item = first.trim().trim_end_matches('.');
    let is_question = item.ends_with(['?', '？']);
    if item.chars().filter(|c| c.is_alphanumeric()).count() < 3 || is(&NOTHING, item) || is_question {
        return;
    }
    let item = clip(item, POINT_CHARS).into_owned();
    if !items.contains(&item) {
        items.push(item);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_items_table() {
        let table: [(&str, &[&str], &str); 18] = [
            (
                "Done.\n\n## Next steps\n\n1. Write the docs\n2. Run the benches on Linux. It takes an hour.",
                &["Write the docs", "Run the benches on Linux"],
                "a numbered list under a heading",
            ),
            (
                "**Remaining:**\n- docs\n- a test for `--json`\n\nAll else is in.",
                &["docs", "a test for `--json`"],
                "bold",
            ),
            (
                "The parser works. Remaining work: the lexer; the printer.",
                &["the lexer", "the printer"],
                "on the line",
            ),
            ("TODO:\n- [ ] rename the flag\n- [x] write the test", &["rename the flag"], "boxes"),
            ("Status:\n- [x] parser\n- [ ] lexer", &["lexer"], "a box needs no label"),
            ("What's left:\n- ✅ parser\n- lexer", &["lexer"], "a tick is as good as a box"),
            ("Still open:\n- none", &[], "nothing is left"),
            ("Next steps: nothing, all is done.", &[], "nothing, in a sentence"),
            ("There are no remaining failures.", &[], "a denial"),
            (
                "The docs are not yet written for `serve`.",
                &["The docs are not yet written for `serve`"],
                "a sentence",
            ),
            ("Options:\n- use a mutex\n- use a channel", &[], "options are no work"),
            ("Changes:\n- added `a.rs`\n- Remaining: the docs", &["the docs"], "a label in a list"),
            (
                "Next steps:\n- add a test\n  - in a.rs\n\nThanks.\n- a list behind it",
                &["add a test"],
                "details, another list",
            ),
            ("Open questions for you:\n- Which port?", &[], "questions are asked, not left"),
            ("Next steps (when you are back):\n- deploy to staging", &["deploy to staging"], "in brackets"),
            ("The remaining tasks are:\n- the lexer", &["the lexer"], "in a sentence with a colon"),
            ("下一步：\n- 写文档", &["写文档"], "another language"),
            ("```\nTODO:\n- in code\n```", &[], "code is not prose"),
        ];
        for (text, want, why) in table {
            assert_eq!(open_items(text), want, "{why}: {text}");
        }
    }
}
