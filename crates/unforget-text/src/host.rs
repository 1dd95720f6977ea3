//! The host's own summary of earlier entries: kept verbatim, and shortened by its own structure.

use std::borrow::Cow;

use unforget_core::entry::{Entry, Part};
use unforget_core::tokens::{Ruler, fair_share};

use crate::clean::clean;
use crate::clip::head;
use crate::sections::Item;

/// Most bytes of a host's summary stored in a summary of ours, and most bytes read of one.
const KEPT_BYTES: usize = 32 << 10;
const READ_BYTES: usize = 1 << 20;

/// Most sections told apart; further text belongs to the last section.
const SECTIONS_MAX: usize = 64;

/// Marks left-out lines of a section.
const CUT: &str = "[…]";

/// Most summaries of branches beside the host's newest summary.
const BRANCHES_MAX: usize = 2;

/// Most repetitions of shortening when the whole weighs more than the sum of its lines.
const ROUNDS: usize = 4;

/// The text of an entry that holds a host's summary.
pub fn host_text(entry: &Entry) -> String {
    let texts = entry.parts.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// The stored form of a host's summary: credentials redacted, and a very long one reduced to the start of each section.
/// Cost: linear in the first megabyte.
pub(crate) fn kept(text: &str) -> String {
    let text = clean(head(text, READ_BYTES));
    within(without_draft(without_closing(&text)), KEPT_BYTES)
}

/// A summary without the draft that a host has the model write before it: what stands between a line `Analysis:` and a line
/// `Summary:` is said again behind the second. Source: Claude Code.
fn without_draft(text: &str) -> &str {
    let is = |line: &str, names: [&str; 2]| names.contains(&line.trim());
    let drafted = text.lines().any(|line| is(line, ["Analysis:", "<analysis>"]));
    let begins = text.lines().rfind(|line| drafted && is(line, ["Summary:", "<summary>"]));
    let at = begins.map(|line| line.as_ptr() as usize - text.as_ptr() as usize + line.len());
    let summary =
        at.and_then(|at| text.get(at..)).map(|rest| rest.trim().trim_end_matches("</summary>").trim_end());
    summary.filter(|summary| !summary.is_empty()).unwrap_or(text)
}

/// Words of headings above what was to be done when a host wrote its summary.
const OUTLOOK: [&str; 7] =
    ["pending", "current work", "in progress", "next step", "next action", "remaining", "open item"];

/// A host's summary without its sections about what was under way and what was to come, for a time when work has gone on. The
/// whole text if nothing else is in it.
///
/// Cost: linear.
pub fn without_outlook(text: &str) -> Cow<'_, str> {
    let mut kept = String::with_capacity(text.len());
    // The kind of heading whose section is left out: a numbered line inside a Markdown section opens none.
    let mut skipped: Option<bool> = None;
    let mut in_code = false;
    for line in text.lines() {
        let is_mark = line.trim_start().starts_with("```");
        if !in_code && is_heading(line) {
            let is_markdown = line.starts_with('#');
            let small = line.to_lowercase();
            if OUTLOOK.iter().any(|word| small.contains(word)) {
                skipped = Some(is_markdown);
            } else if skipped.is_none_or(|markdown| !markdown || is_markdown) {
                skipped = None;
            }
        }
        in_code ^= is_mark;
        if skipped.is_none() {
            kept.extend([line, "\n"]);
        }
    }
    let kept = kept.trim_end();
    if kept.len() == text.trim_end().len() || kept.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(kept.to_owned())
}

/// A text in at most `most` bytes, shortened by its own structure. Cost: linear.
pub(crate) fn within(text: &str, most: usize) -> String {
    shortened(text.trim(), most as u64, &|text| text.len() as u64)
}

/// A host's summary in at most `max_tokens` by `ruler`'s upper bound.
///
/// Credentials are redacted. A summary that is too long is shortened by its own structure: each section (from one
/// heading to the next) keeps its beginning, the longest lose most, and code in them goes first. Empty if nothing fits.
///
/// Cost: linear in the first megabyte, one token count per kept line.
pub fn host_words(text: &str, max_tokens: u64, ruler: &dyn Ruler) -> String {
    shortened(&kept(text), max_tokens, &|text| ruler.count(text).upper)
}

/// Of a host's summaries of a history, oldest first, those that still count: the newest, which repeats the content of
/// the earlier ones, and later summaries of branches.
///
/// A summary with an author belongs to an abandoned branch and replaces no other.
pub(crate) fn newest(mut items: Vec<Item>) -> Vec<Item> {
    items.sort_by_key(|item| item.seqs.last().copied());
    let main = items.iter().rposition(|item| item.author.is_none());
    let mut kept = items.split_off(main.unwrap_or(0));
    let branches = kept.iter().filter(|item| item.author.is_some()).count();
    let mut excess = branches.saturating_sub(BRANCHES_MAX);
    kept.retain(|item| {
        let goes = item.author.is_some() && excess > 0;
        excess -= usize::from(goes);
        !goes
    });
    kept
}

/// A summary of numbered sections with indented bodies, without the paragraphs at the margin behind the last section: what a
/// host says to the model at the moment of its summary is no part of the summary.
fn without_closing(text: &str) -> &str {
    let is_margin = |line: &str| line.chars().next().is_some_and(char::is_alphabetic);
    let is_section = |line: &str| line.starts_with(|c: char| c.is_ascii_digit()) && is_heading(line);
    let mut sections = 0;
    let (mut is_indented, mut closing) = (false, None);
    for line in text.lines() {
        if is_section(line) {
            (sections, is_indented, closing) = (sections + 1, false, None);
        } else if line.starts_with([' ', '\t', '-', '*']) {
            (is_indented, closing) = (true, None);
        } else if is_margin(line) && closing.is_none() {
            closing = Some(line.as_ptr() as usize - text.as_ptr() as usize);
        }
    }
    closing.filter(|_| sections > 1 && is_indented).and_then(|at| text.get(..at)).unwrap_or(text)
}

/// Shortens a text to `max` in a given measure.
fn shortened(text: &str, max: u64, cost: &dyn Fn(&str) -> u64) -> String {
    if cost(text) <= max {
        return text.to_owned();
    }
    let sections = sections(text, cost);
    let mut room = max;
    for _ in 0..ROUNDS {
        let short = joined(&sections, room, cost);
        let over = cost(&short).saturating_sub(max);
        if over == 0 {
            return short;
        }
        room = room.saturating_sub(over + over / 4 + 1);
    }
    String::new()
}

/// A part of a text under one heading.
struct HostSection<'a> {
    lines: Vec<HostLine<'a>>,
    cost: u64,
}

struct HostLine<'a> {
    text: &'a str,
    cost: u64,
    /// Whether it belongs to a block of code, the block's marks included.
    is_code: bool,
}

fn sections<'a>(text: &'a str, cost: &dyn Fn(&str) -> u64) -> Vec<HostSection<'a>> {
    let mut sections: Vec<HostSection<'a>> = Vec::new();
    let mut in_code = false;
    for text in text.lines() {
        let is_mark = text.trim_start().starts_with("```");
        let is_new = !in_code && is_heading(text) && sections.len() < SECTIONS_MAX;
        let line = HostLine { text, cost: cost(text) + 1, is_code: in_code || is_mark };
        in_code ^= is_mark;
        match sections.last_mut().filter(|_| !is_new) {
            Some(section) => {
                section.cost += line.cost;
                section.lines.push(line);
            }
            None => sections.push(HostSection { cost: line.cost, lines: vec![line] }),
        }
    }
    sections
}

/// Whether a line opens a section: a Markdown heading, or a short numbered line at the margin that ends in a colon.
fn is_heading(line: &str) -> bool {
    let short = line.len() <= 120;
    let title = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered =
        title.len() < line.len() && title.starts_with(['.', ')']) && line.trim_end().ends_with(':');
    let hashes = line.len() - line.trim_start_matches('#').len();
    short
        && ((1..=4).contains(&hashes) && line.get(hashes..).is_some_and(|rest| rest.starts_with(' '))
            || is_numbered)
}

/// The sections within `room`: as much of each as the largest equal share allows.
fn joined(sections: &[HostSection<'_>], room: u64, cost: &dyn Fn(&str) -> u64) -> String {
    let share = fair_share(sections.iter().map(|section| section.cost).collect(), room).unwrap_or(room);
    let mut text = String::new();
    for section in sections {
        start_of(section, share, cost, &mut text);
    }
    text.truncate(text.trim_end().len());
    text
}

/// Writes the start of a section, without its code if the code is too long; a mark shows omissions.
fn start_of(section: &HostSection<'_>, share: u64, cost: &dyn Fn(&str) -> u64, text: &mut String) {
    let is_whole = section.cost <= share;
    let mut left = if is_whole { share } else { share.saturating_sub(cost(CUT) + 1) };
    let mut is_cut = false;
    for line in &section.lines {
        let is_dropped = !is_whole && line.is_code;
        if is_dropped || line.cost > left {
            if !is_cut && !is_dropped {
                // Part of a long line is better than none.
                let bytes = (line.text.len() as u64 * left / line.cost.max(1)) as usize;
                let start = head(line.text, bytes);
                if start.chars().count() > 40 {
                    text.push_str(start);
                    text.push('\n');
                }
            }
            is_cut = true;
            if is_dropped {
                continue;
            }
            break;
        }
        left -= line.cost;
        text.push_str(line.text);
        text.push('\n');
    }
    if is_cut && left > 0 && share > cost(CUT) {
        text.push_str(CUT);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unforget_core::id::Seq;

    use super::*;

    /// Counts bytes.
    struct Bytes;

    impl Ruler for Bytes {
        fn count(&self, text: &str) -> unforget_core::tokens::Tokens {
            unforget_core::tokens::Tokens::exact(text.len() as u64)
        }

        fn name(&self) -> &'static str {
            "bytes"
        }
    }

    const TEXT: &str = "Intro line.\n\n1. Intent:\n   Build the thing.\n   And ship it.\n\n2. Files:\n   - src/a.rs\n```rust\n\
        fn long() { let a = 1; let b = 2; let c = 3; }\n```\n   - src/b.rs\n\n3. Next:\n   Run the tests.\n";

    #[test]
    fn shortening_table() {
        let table: &[(u64, &[&str], &[&str], &str)] = &[
            (
                10_000,
                &["Intro", "fn long()", "src/b.rs", "Run the tests."],
                &["[…]"],
                "what fits stays as it is",
            ),
            (
                150,
                &["Build the thing.", "src/a.rs", "src/b.rs", "Run the tests.", "[…]"],
                &["fn long()"],
                "code goes first",
            ),
            (
                90,
                &["1. Intent:", "2. Files:", "3. Next:"],
                &["fn long()"],
                "every section keeps its beginning",
            ),
            (0, &[], &["Intro"], "no room, no words"),
        ];
        for (max, has, lacks, why) in table {
            let short = host_words(TEXT, *max, &Bytes);
            assert!(short.len() as u64 <= *max, "{why}: {short}");
            for word in *has {
                assert!(short.contains(word), "{why}: {word} is missing in {short}");
            }
            for word in *lacks {
                assert!(!short.contains(word), "{why}: {word} is in {short}");
            }
        }
    }

    #[test]
    fn drafts_and_outlooks_table() {
        let drafted = "It goes on from before:\nAnalysis:\nLet me look.\n1. **First**: a reader\n\nSummary:\n1. Intent:\n   \
             Build it.\n";
        assert_eq!(kept(drafted), "1. Intent:\n   Build it.");
        assert_eq!(
            kept("Summary:\n1. Intent:\n   Build it."),
            "Summary:\n1. Intent:\n   Build it.",
            "no draft"
        );
        assert_eq!(kept("Analysis:\nall of it\nSummary:\n"), "Analysis:\nall of it\nSummary:", "no summary");
        let table = [
            (
                "1. Intent:\n   Build.\n7. Pending Tasks:\n   - ship\n8. Current Work:\n   tests\n9. Files:\n   a.rs",
                "1. Intent:\n   Build.\n9. Files:\n   a.rs",
                "numbered sections",
            ),
            (
                "## Goal\nBuild.\n### In Progress\n- [ ] ship\n## Next Steps\n1. Tests:\n   run\n## Files\na.rs",
                "## Goal\nBuild.\n## Files\na.rs",
                "a numbered line of a Markdown section is no heading",
            ),
            ("## Next Steps\nship", "## Next Steps\nship", "nothing else is in it"),
            ("We build it. Next step: ship.", "We build it. Next step: ship.", "no sections"),
        ];
        for (text, want, why) in table {
            assert_eq!(without_outlook(text), want, "{why}");
        }
    }

    #[test]
    fn heading_table() {
        let table = [
            ("## Goal", true, "Markdown"),
            ("#[derive(Debug)]", false, "an attribute"),
            ("1. Primary Request and Intent:", true, "Claude Code"),
            ("1. Run the tests", false, "an item of a list"),
            ("   2. Indented:", false, "inside a section"),
            ("", false, "nothing"),
        ];
        for (line, want, why) in table {
            assert_eq!(is_heading(line), want, "{why}: {line}");
        }
    }

    #[test]
    fn closing_table() {
        let table = [
            (TEXT.trim(), TEXT.trim(), "a summary"),
            (
                "1. Intent:\n   Build.\n\n2. Next:\n   Test.\n\nGo on at once.\nAsk nothing.",
                "1. Intent:\n   Build.\n\n2. Next:\n   Test.",
                "words to the model",
            ),
            (
                "## Intent\nBuild.\n\n## Next\nTest.",
                "## Intent\nBuild.\n\n## Next\nTest.",
                "bodies at the margin",
            ),
            (
                "1. Intent:\nBuild.\n\n2. Next:\nTest.",
                "1. Intent:\nBuild.\n\n2. Next:\nTest.",
                "numbered, too",
            ),
            (
                "1. Intent:\r\n   Build.\r\n\r\n2. Next:\r\n   Test.\r\n\r\nGo on at once.",
                "1. Intent:\r\n   Build.\r\n\r\n2. Next:\r\n   Test.",
                "line ends of Windows",
            ),
            ("Go on.", "Go on.", "no sections"),
        ];
        for (text, want, why) in table {
            assert_eq!(kept(text), want, "{why}");
        }
    }

    #[test]
    fn a_credential_is_redacted() {
        let key = format!("sk-ant-api03-{}", "a1B2".repeat(20));
        let words = host_words(&format!("The key is {key}."), 10_000, &Bytes);
        assert!(!words.contains(&key), "{words}");
    }

    #[test]
    fn the_newest_stands_for_those_before_it() {
        let main = |seq| Item::new("main", Seq(seq));
        let branch = |seq| Item { author: Some("branch".to_owned()), ..Item::new("branch", Seq(seq)) };
        let seqs = |items: Vec<Item>| newest(items).iter().map(|item| item.seqs[0].0).collect::<Vec<_>>();
        let table: Vec<(Vec<Item>, Vec<u64>, &str)> = vec![
            (vec![main(1), main(5)], vec![5], "the newest"),
            (vec![main(5), main(1)], vec![5], "whatever their order"),
            (vec![branch(1), main(5)], vec![5], "a branch before it is in it"),
            (vec![main(1), branch(5)], vec![1, 5], "a branch stands beside it"),
            (vec![main(1), branch(2), branch(3), branch(4)], vec![1, 3, 4], "few branches"),
            (vec![branch(2)], vec![2], "a branch alone"),
            (vec![], vec![], "nothing"),
        ];
        for (items, want, why) in table {
            assert_eq!(seqs(items), want, "{why}");
        }
    }

    proptest! {
        /// For any text, the room is respected, and shortening again changes nothing that fits.
        #[test]
        fn the_room_holds(text in "([#0-9.: a-z`\n]{0,40}\n){0,20}", max in 0_u64..400) {
            let short = host_words(&text, max, &Bytes);
            prop_assert!(short.len() as u64 <= max);
            prop_assert_eq!(host_words(&short, max, &Bytes), short.trim());
        }
    }
}
