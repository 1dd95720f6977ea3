//! Finds contents of a text that a later question can ask for, by rules of the bench itself and not of the product.
//!
//! A line is split at blanks and at `()[]{}<>"'` and commas; the pieces are paths, numbers or ids by their form. Rules,
//! decisions and negations are found by English words, and are represented by some surrounding words.

use std::collections::BTreeSet;

use crate::Random;

/// The kind of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProbeKind {
    /// A file or folder.
    Path,
    /// At least three digits, or two with a unit or a decimal point.
    Number,
    /// A digest, a ticket, a name with `_` or `::`.
    Id,
    /// Words from a `not` on.
    Negation,
    /// A sentence in which a person gives a rule.
    Rule,
    /// Words around a decision or a cause.
    Decision,
}

impl ProbeKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Path, Self::Number, Self::Id, Self::Negation, Self::Rule, Self::Decision];

    /// Name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Path => "path",
            Self::Number => "number",
            Self::Id => "id",
            Self::Negation => "negation",
            Self::Rule => "rule",
            Self::Decision => "decision",
        }
    }
}

/// The speaker of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Voice {
    /// A person.
    Person,
    /// The model, calls of tools included.
    Model,
    /// A tool's output.
    Tool,
}

/// A content of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Its kind.
    pub kind: ProbeKind,
    /// Its letters; blanks are single spaces.
    pub text: String,
    /// Words of its sentence, and of neighbouring lines if those are few, in order. A probe of one word is left out; of
    /// a longer probe, every second word is included. In lower case; only words of three or more letters that are not
    /// among the most common.
    pub context: Vec<String>,
}

/// Most words of a question.
const QUESTION: usize = 8;

/// Fewest words of context that make a question.
const QUESTION_MIN: usize = 3;

/// Longest line read, in bytes: longer ones are data.
const LINE_BYTES: usize = 2_000;

impl Probe {
    /// The question: words of the context in any order, without the content itself. `None` if there are too few.
    pub fn question(&self, random: &mut Random) -> Option<String> {
        let mut words = self.context.clone();
        for at in (1..words.len()).rev() {
            words.swap(at, random.below(at + 1));
        }
        words.truncate(QUESTION);
        (words.len() >= QUESTION_MIN).then(|| words.join(" "))
    }
}

/// All probes of `text`, without duplicates. Cost: linear.
pub fn probes(text: &str, voice: Voice) -> Vec<Probe> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let lines: Vec<&str> = text.lines().filter(|line| line.len() <= LINE_BYTES).collect();
    for (at, line) in lines.iter().enumerate() {
        if voice == Voice::Tool && is_listing(line) {
            continue;
        }
        let beside = [at.checked_sub(1), Some(at + 1)];
        let beside = || beside.iter().filter_map(|at| lines.get((*at)?).copied());
        for sentence in sentences(line) {
            let single = identifiers(sentence);
            let phrases = if voice == Voice::Tool { Vec::new() } else { phrases(sentence, voice) };
            for (kind, text) in single.into_iter().chain(phrases) {
                if seen.insert(text.clone()) {
                    let context = context(sentence, beside(), &text);
                    found.push(Probe { kind, text, context });
                }
            }
        }
    }
    found
}

/// Paths, numbers and ids of a text, in order, verbatim.
pub fn identifiers(text: &str) -> Vec<(ProbeKind, String)> {
    let is_gap = |c: char| c.is_whitespace() || "()[]{}<>\"'`,;|=*\\“”‘’…".contains(c);
    let trim = |word: &str| word.trim_matches([':', '.', '!', '?', '-', '&', '+']).to_owned();
    let words = text.split(is_gap).map(trim);
    words.filter_map(|word| Some((shape(&word)?, word))).collect()
}

/// Whether a line is a numbered line of a file, as tools list it.
fn is_listing(line: &str) -> bool {
    let rest = line.trim_start();
    let number = rest.bytes().take_while(u8::is_ascii_digit).count();
    number > 0 && rest.get(number..).is_some_and(|rest| rest.starts_with(['→', '\t', ':', '|']))
}

fn sentences(line: &str) -> impl Iterator<Item = &str> {
    let ends = [". ", "! ", "? ", "。"];
    let mut rest = line.trim();
    std::iter::from_fn(move || {
        let end = ends.iter().filter_map(|end| Some(rest.find(end)? + end.len())).min();
        let end = end.unwrap_or(rest.len());
        let (sentence, after) = rest.split_at(end);
        rest = after.trim_start();
        (!sentence.is_empty()).then(|| sentence.trim())
    })
}

fn shape(word: &str) -> Option<ProbeKind> {
    if !(3..=120).contains(&word.len()) || !word.is_ascii() || word.contains("://") {
        return None;
    }
    let count = |is: fn(&u8) -> bool| word.bytes().filter(is).count();
    let (digits, letters) = (count(u8::is_ascii_digit), count(u8::is_ascii_alphabetic));
    let plain = word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-:#@%$~".contains(&byte));
    if !plain || word.contains("//") {
        return None;
    }
    if word.contains('/') {
        let parts = word.split('/').filter(|part| !part.is_empty()).count();
        let is_file = word.rsplit('/').next().is_some_and(|name| name.trim_start_matches('.').contains('.'));
        return (letters >= 3 && parts >= 2 && (is_file || parts >= 3)).then_some(ProbeKind::Path);
    }
    if letters <= 3 && digits > 0 {
        let is_number = word.bytes().next().is_some_and(|first| first.is_ascii_digit() || first == b'$')
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".%$".contains(&byte));
        let is_long = digits >= 3 || (digits >= 2 && word.len() > digits);
        if is_number {
            return is_long.then_some(ProbeKind::Number);
        }
    }
    let hex = word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_digest = hex && digits > 0 && letters > 0 && word.len() >= 7;
    let inner = word.trim_matches('_');
    let is_name = word.len() >= 6 && letters >= 3 && (inner.contains('_') || inner.contains("::"));
    let ticket = word.split_once('-').or_else(|| word.split_once('#'));
    let is_ticket = ticket.is_some_and(|(name, number)| {
        number.bytes().all(|byte| byte.is_ascii_digit())
            && !number.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_uppercase())
    });
    (is_digest || is_name || is_ticket).then_some(ProbeKind::Id)
}

const NEGATIONS: &[&str] = &[
    "not",
    "never",
    "don't",
    "doesn't",
    "didn't",
    "can't",
    "cannot",
    "won't",
    "isn't",
    "wasn't",
    "aren't",
    "shouldn't",
    "without",
    "neither",
];

const RULES: &[&str] = &["must", "never", "always", "don't", "should", "only", "ensure", "avoid"];

const DECISIONS: &[&str] = &[
    "decided",
    "instead of",
    "rather than",
    "root cause",
    "going with",
    "switch to",
    "switched to",
    "chose",
    "let's use",
    "the fix is",
    "the problem is",
    "the issue is",
];

/// Rules, decisions and negations of a sentence, with their representing words.
fn phrases(sentence: &str, voice: Voice) -> Vec<(ProbeKind, String)> {
    let words: Vec<&str> = sentence.split_whitespace().collect();
    if !(5..=60).contains(&words.len()) || sentence.starts_with(['|', '<', '/']) {
        return Vec::new();
    }
    let small: Vec<String> = words.iter().map(|word| plain(word)).collect();
    let at = |marks: &[&str]| small.iter().position(|word| marks.contains(&word.as_str()));
    let some = |from: usize, to: usize| words.get(from..to.min(words.len())).unwrap_or_default().join(" ");
    let mut found = Vec::new();
    if voice == Voice::Person && words.len() <= 40 && at(RULES).is_some() {
        found.push((ProbeKind::Rule, some(0, words.len())));
    }
    let joined = format!(" {} ", small.join(" "));
    if let Some(mark) = DECISIONS.iter().find(|mark| joined.contains(&format!(" {mark} "))) {
        let first = mark.split(' ').next().unwrap_or(mark);
        let from = small.iter().position(|word| word == first).unwrap_or(0).saturating_sub(2);
        found.push((ProbeKind::Decision, some(from, from + 8)));
    }
    if let Some(from) = at(NEGATIONS).filter(|from| words.len() - from >= 4) {
        found.push((ProbeKind::Negation, some(from, from + 6)));
    }
    found
}

/// A lower-case word without surrounding punctuation.
fn plain(word: &str) -> String {
    word.trim_matches(|c: char| !c.is_alphanumeric()).replace('’', "'").to_lowercase()
}

const COMMON: &[&str] = &[
    "the", "and", "for", "that", "this", "with", "you", "are", "was", "has", "have", "can", "from", "will",
    "but", "its", "all", "let", "now", "any", "our", "also", "then", "there", "into",
];

fn context<'a>(sentence: &str, beside: impl Iterator<Item = &'a str>, text: &str) -> Vec<String> {
    let is_phrase = text.contains(' ');
    let own: Vec<String> = text.split(' ').map(plain).collect();
    let mut kept: Vec<String> = Vec::new();
    let take = |line: &str, kept: &mut Vec<String>| {
        let mut skipped = 0;
        for word in line.split_whitespace() {
            let small = plain(word);
            let is_own = if is_phrase { own.contains(&small) } else { word.contains(text) };
            skipped += usize::from(is_own);
            let is_word = small.chars().count() >= 3 && small.chars().all(|c| c.is_alphabetic() || c == '\'');
            let is_left_out = is_own && (!is_phrase || skipped % 2 == 1);
            if is_word && !is_left_out && !COMMON.contains(&small.as_str()) && !kept.contains(&small) {
                kept.push(small);
            }
        }
    };
    take(sentence, &mut kept);
    for line in beside {
        if kept.len() > QUESTION_MIN {
            break;
        }
        take(line, &mut kept);
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::type_complexity, clippy::indexing_slicing, reason = "tests")]

    use super::*;

    type Probes<'a> = &'a [(ProbeKind, &'a str)];

    #[test]
    fn identifier_table() {
        let table: &[(&str, Probes<'_>, &str)] = &[
            ("see `src/a.rs`.", &[(ProbeKind::Path, "src/a.rs")], "in quotes, before a full stop"),
            ("either/or, 12/24, a/b", &[], "words with a slash are no paths"),
            (
                "/srv/app/data and ./x/y.py",
                &[(ProbeKind::Path, "/srv/app/data"), (ProbeKind::Path, "/x/y.py")],
                "rooted",
            ),
            (
                "took 3.5s of 1200ms, 12 left",
                &[(ProbeKind::Number, "3.5s"), (ProbeKind::Number, "1200ms")],
                "numbers",
            ),
            ("commit 3fa9c1d fixes PAR-17", &[(ProbeKind::Id, "3fa9c1d"), (ProbeKind::Id, "PAR-17")], "ids"),
            (
                "max_tokens of core::admit",
                &[(ProbeKind::Id, "max_tokens"), (ProbeKind::Id, "core::admit")],
                "names",
            ),
            ("https://example.org/a/b.html a well-known e-mail", &[], "nothing"),
        ];
        for (text, want, why) in table {
            let want: Vec<_> = want.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
            assert_eq!(identifiers(text), want, "{why}");
        }
    }

    #[test]
    fn phrase_table() {
        let table: &[(&str, Voice, Probes<'_>, &str)] = &[
            (
                "Please never push to the main branch.",
                Voice::Person,
                &[
                    (ProbeKind::Rule, "Please never push to the main branch."),
                    (ProbeKind::Negation, "never push to the main branch."),
                ],
                "a rule is a sentence",
            ),
            (
                "I decided to compare with the length instead of the capacity here",
                Voice::Model,
                &[(ProbeKind::Decision, "I decided to compare with the length instead")],
                "a decision",
            ),
            ("The file does not exist", Voice::Tool, &[], "tools decide nothing"),
            ("do not", Voice::Person, &[], "too short"),
        ];
        for (text, voice, want, why) in table {
            let found: Vec<_> =
                probes(text, *voice).into_iter().map(|probe| (probe.kind, probe.text)).collect();
            let want: Vec<_> = want.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect();
            assert_eq!(found, want, "{why}");
        }
    }

    #[test]
    fn a_question_has_words_around_the_thing_and_never_the_thing() {
        let found = probes("The parser loses a line, see src/parser.rs for the broken loop.", Voice::Model);
        let question = found[0].question(&mut Random::new(1)).unwrap_or_default();
        assert!(!question.contains("src/parser.rs") && question.contains("broken"), "{question}");
        assert_eq!(found[0].question(&mut Random::new(1)).unwrap_or_default(), question, "seeded");
        let lonely = probes("src/parser.rs", Voice::Model);
        assert_eq!(lonely[0].question(&mut Random::new(1)), None, "no words, no question");
        let rule = probes(
            "You must never touch generated files in this repository, whatever happens.",
            Voice::Person,
        );
        let question = rule[0].question(&mut Random::new(1)).unwrap_or_default();
        assert!(
            question.split(' ').count() <= 8 && !question.contains("never touch generated"),
            "{question}"
        );
    }
}
