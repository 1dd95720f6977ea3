//! Cuts an entry's text into pieces, the most telling first.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unforget_core::entry::Origin;

use crate::anchors::{anchors, is_gap};
use crate::clip::{head, pattern};
use crate::discourse::is_intention;
use crate::sentences::split_line;

/// Most bytes of an opening.
const OPENING: usize = 72;

/// Longest line with sentences, in bytes: longer ones are data.
const LINE: usize = 2_000;

/// Most bytes of a rule that is quoted whole.
const RULE: usize = 260;

/// Words quoted before and from a cue on.
const BEFORE: usize = 2;
const AFTER: usize = 7;

/// Fewest digits of a bare number that is quoted.
const DIGITS: usize = 3;

/// Most bytes of a piece of running text.
const RUN: usize = 120;

/// Words of a rule, from a person.
static RULES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:must|never|always|don['’]t|do not|should|only|ensure|avoid|make sure|prefer|nie|niemals|immer)\b|不要|必须|禁止|必ず|しないで",
    )
});

/// Words of a decision or a cause.
static DECISIONS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:decided|decision|instead of|rather than|root cause|because|going with|went with|switch(?:ed)? to|chose|let['’]s use|the (?:fix|problem|issue|bug|reason|cause) (?:is|was))\b|因为|原因|决定",
    )
});

/// Words of a denial.
static DENIALS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(
        r"(?i)\b(?:not|never|cannot|without|neither|(?:do|does|did|is|are|was|were|has|have|had|ca|could|wo|would|should)n['’]t)\b|没有|不能|ない",
    )
});

/// The pieces of a text as ranges of bytes, the most telling first: how it begins, what a person demands, what is
/// decided and denied, identifiers that nothing before has shown, then the text from its start.
///
/// * `seen` - identifiers shown so far; those of this text are added.
///
/// Pieces may overlap. Cost: linear.
pub(super) fn pieces(origin: Origin, text: &str, seen: &mut HashSet<String>) -> Vec<Range<usize>> {
    let is_output = origin == Origin::Tool;
    let mut found = Vec::new();
    if !is_output {
        found.extend(opening(origin, text));
        statements(origin, text, &mut found);
    }
    identifiers(text, seen, &mut found);
    runs(origin, text, &mut found);
    found
}

/// The range of a part of `text`.
fn range(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

/// The first words that are not about the model's next action.
fn opening(origin: Origin, text: &str) -> Option<Range<usize>> {
    let mut told = text.lines().flat_map(|line| told(origin, line));
    told.next().map(|words| range(text, whole_words(words, OPENING)))
}

/// What a line says: of a model's line the sentences that are not about its next action, else the whole line.
fn told(origin: Origin, line: &str) -> Vec<&str> {
    let mut told = vec![line.trim()];
    if origin == Origin::Model && line.len() <= LINE {
        told.clear();
        split_line(line, &mut told);
        told.retain(|sentence| !is_intention(sentence));
    }
    told.retain(|words| !words.is_empty());
    told
}

/// The start of a line of at most `most` bytes, ending behind a word where there is one.
fn whole_words(line: &str, most: usize) -> &str {
    if line.len() <= most {
        return line;
    }
    let start = head(line, most);
    let words = start.trim_end_matches(|c: char| !c.is_whitespace()).trim_end();
    if words.is_empty() { start } else { words }
}

/// Rules of a person; decisions and denials of anyone.
fn statements(origin: Origin, text: &str, found: &mut Vec<Range<usize>>) {
    let mut sentences = Vec::new();
    for line in text.lines().filter(|line| line.len() <= LINE) {
        split_line(line, &mut sentences);
    }
    let is_person = origin == Origin::Human;
    for sentence in &sentences {
        let is_rule = is_person && sentence.len() <= RULE && first(&RULES, sentence).is_some();
        if is_rule {
            found.push(range(text, sentence));
            continue;
        }
        for cue in [&DECISIONS, &DENIALS] {
            if let Some(at) = first(cue, sentence) {
                let window = window(sentence, at);
                found.push(range(text, window));
            }
        }
    }
}

fn first(cue: &LazyLock<Option<Regex>>, sentence: &str) -> Option<usize> {
    cue.as_ref()?.find(sentence).map(|found| found.start())
}

/// The words around a byte of a sentence.
fn window(sentence: &str, at: usize) -> &str {
    let (before, after) = sentence.split_at_checked(at).unwrap_or((sentence, ""));
    let is_gap = |c: char| c.is_whitespace();
    let start = before.trim_end().rmatch_indices(is_gap).nth(BEFORE - 1);
    let start = start.map_or(0, |(at, gap)| at + gap.len());
    let end = after.match_indices(is_gap).nth(AFTER - 1).map_or(sentence.len(), |(end, _)| at + end);
    sentence.get(start..end).unwrap_or(sentence)
}

/// Identifiers and long numbers that were not shown before.
fn identifiers(text: &str, seen: &mut HashSet<String>, found: &mut Vec<Range<usize>>) {
    let named: Vec<&str> = anchors(text).map(|anchor| anchor.text).collect();
    let numbers = text.split(is_gap).map(|word| word.trim_matches([':', '.', '!', '?', '-', '+']));
    let numbers = numbers.filter(|word| is_number(word));
    for word in named.into_iter().chain(numbers) {
        if seen.insert(word.to_owned()) {
            found.push(range(text, word));
        }
    }
}

/// Whether a word is a number of some digits, perhaps with a unit or a currency.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".%$".contains(&byte));
    let is_long = digits >= DIGITS || (digits + 1 == DIGITS && word.len() > digits);
    plain && letters <= 3 && word.len() <= 24 && is_long
}

/// The text from its start, in pieces of a line or less, without what the model says of its next action.
fn runs(origin: Origin, text: &str, found: &mut Vec<Range<usize>>) {
    for mut rest in text.lines().flat_map(|line| told(origin, line)) {
        while !rest.is_empty() {
            let run = whole_words(rest, RUN);
            found.push(range(text, run));
            rest = rest.get(run.len()..).unwrap_or_default().trim_start();
        }
    }
}
