//! Reads a person's message as a request.

use crate::clip::{clip, one_line};
use crate::lines::error_lines;
use crate::sentences::{LineKind, prose};
use crate::spoken::spoken;
use crate::typed::has_wrapper;

/// Most characters of a request.
const ASK_CHARS: usize = 300;
/// Most characters of its end, and of an error line between start and end, where the whole is longer.
const END_CHARS: usize = 120;
const ERROR_CHARS: usize = 100;
/// Most error lines that are looked at for one that is not the person's.
const ERROR_LINES: usize = 4;
/// Fewest words of a person that tell what they ask without the text beside them.
const OWN_WORDS: usize = 6;
/// Stands for what is left out.
const GAP: &str = " … ";

/// A request of a person.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// The person's own words; all words if there are none, or if they end in a colon.
    pub(super) words: String,
    /// The words for the summary: of a long request the start and the end, of a document the
    /// start; beside few own words also the pasted text,
    /// with its first error line.
    pub(super) shown: String,
}

/// The request in a message without wrappers and credentials; `None` if nobody says anything. Cost: linear.
pub(super) fn ask(text: &str) -> Option<Ask> {
    let whole = one_line(text);
    let own = one_line(&spoken(text).join(" "));
    // A text of nothing but tags is no request.
    if whole.is_empty() || (own.is_empty() && whole.starts_with('<') && whole.ends_with('>')) {
        return None;
    }
    let is_few = own.split_whitespace().count() < OWN_WORDS && (own.is_empty() || !has_wrapper(text));
    let needs_all = own.is_empty() || own.ends_with(':');
    let shown = if is_few || needs_all {
        let is_own = |line: &str| own.contains(one_line(line).as_str());
        ends_of(&whole, error_lines(text, ERROR_LINES).into_iter().find(|line| !is_own(line)))
    } else if prose(text).iter().any(|line| line.kind == LineKind::Heading) {
        // A document ends with its details.
        clip(&own, ASK_CHARS).into_owned()
    } else {
        ends_of(&own, None)
    };
    Some(Ask { words: if needs_all { whole } else { own }, shown })
}

/// The start and the end of a text, in whole words.
///
/// * `between` - a line of the text to be kept between the two.
fn ends_of(text: &str, between: Option<&str>) -> String {
    let Some((start, _)) = text.char_indices().rev().nth(END_CHARS - 1) else { return text.to_owned() };
    let end = text.get(start..).and_then(|end| end.split_once(' ')).map(|(_, end)| end);
    let Some(end) = end.filter(|_| text.chars().count() > ASK_CHARS) else {
        return clip(text, ASK_CHARS).into_owned();
    };
    let between = between.map(|line| clip(&one_line(line), ERROR_CHARS).into_owned());
    let between = between.filter(|line| !end.contains(line.as_str()));
    let taken = end.chars().count() + between.as_ref().map_or(0, |line| line.chars().count() + GAP.len());
    let start = clip(text, ASK_CHARS.saturating_sub(taken + GAP.len()));
    let start = start.trim_end_matches('…').trim_end();
    let between = between.filter(|line| !start.contains(line.as_str()));
    [Some(start), between.as_deref(), Some(end)].into_iter().flatten().collect::<Vec<_>>().join(GAP)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ask_table() {
        let log = "line of a log\n".repeat(30);
        let long =
            format!("Mend the reader. {}Could a cache of the hashes do it?", "It reads all. ".repeat(40));
        let table = [
            ("mend it".to_owned(), "mend it", Vec::new(), "few words and nothing else"),
            (
                "mend the reader so that it stops\n> quoted".to_owned(),
                "mend the reader so that it stops",
                vec!["quoted"],
                "enough own words",
            ),
            (
                "mac\n$ run --fast\n\nlinux\n$ run --slow\n\nwhy".to_owned(),
                "mac $ run --fast linux $ run --slow why",
                Vec::new(),
                "few own words with what they are about",
            ),
            (
                format!("=== RUN  TestA\n    {log}--- FAIL: TestA\n    {log}    done"),
                "--- FAIL: TestA",
                Vec::new(),
                "the first error line of a long log",
            ),
            (long.clone(), "Mend the reader.", Vec::new(), "the start of a long request"),
            (long, "Could a cache of the hashes do it?", Vec::new(), "the end of a long request"),
            (
                "yes\n<system-reminder>\nbe good\n</system-reminder>".to_owned(),
                "yes",
                vec!["be good"],
                "a note of the host is not what the words are about",
            ),
        ];
        for (text, has, lacks, why) in table {
            let shown = ask(&text).unwrap().shown;
            assert!(shown.contains(has), "{why}: {shown}");
            assert!(!lacks.iter().any(|word| shown.contains(word)), "{why}: {shown}");
            assert!(shown.chars().count() <= ASK_CHARS, "{why}: {shown}");
        }
        let plan = format!("Implement this plan:\n# Plan\n{}\nSee the log.", "Read it all. ".repeat(40));
        assert!(!ask(&plan).unwrap().shown.contains("See the log"), "a document keeps its start alone");
        assert_eq!(ask("<tag>only</tag>"), None, "tags alone");
        assert_eq!(ask(" \n"), None, "nothing");
        let row = "a".repeat(900);
        assert_eq!(ask(&row).unwrap().shown.chars().count(), ASK_CHARS, "a text without blanks");
    }
}
