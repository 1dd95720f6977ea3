//! The identifiers of a text, and whether another text contains them.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::anchors::{CUT, anchors_and_cut, is_gap, is_unit, raw_words, trim, without_line};
use crate::clip::pattern;

/// Most steps of a part of a path or scoped name that is indexed on its own; the whole always is.
const STEPS_MAX: usize = 24;

/// Long and short names of units.
const LONG_UNITS: &[(&str, &str)] = &[
    ("second", "s"),
    ("sec", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("day", "d"),
    ("millisecond", "ms"),
    ("percent", "%"),
];

/// Numbers with groups of three digits, and the unit behind them.
static GROUPED: LazyLock<Option<Regex>> =
    LazyLock::new(|| pattern(r"\b(\d{1,3}(?:[,_]\d{3})+) ?([A-Za-z%]{1,6}\b)?"));

/// Words of code, and numbers that a neighbouring word makes an identifier.
static NAMED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    pattern(concat!(
        r"`([^`\s]{3,160})`",
        r"|\b([A-Za-z_][A-Za-z0-9_]{2,80})\(\)",
        r"|\b([a-z]{2,40}[A-Z][A-Za-z]{2,80})\b",
        r"|(?i:\b(?:code|status|exit|error|port|http|line|signal)(?: code| status)?:? #?(\d{1,6})\b)",
        r"|\b(\d[\d.]* [A-Za-z%]{1,6})\b",
    ))
});

/// The identifiers of a draft: those of [`crate::anchors`], and text that the draft marks as code or as an error code.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    // A word cut off by its writer keeps its mark: `has` then compares only the start.
    let marked = |word: &str, cut: bool| if cut { format!("{word}{CUT}") } else { word.to_owned() };
    let mut found: Vec<String> =
        anchors_and_cut(text).map(|(anchor, cut)| marked(anchor.text, cut)).collect();
    let Some(named) = NAMED.as_ref() else { return found };
    for groups in named.captures_iter(text) {
        let group = |at: usize| groups.get(at).map(|group| group.as_str());
        let cut = text.get(groups.get_match().end()..).is_some_and(|rest| rest.starts_with(CUT));
        if let Some(code) = group(1) {
            let code = trim(code.trim_end_matches("()"));
            let is_word = !code.is_empty() && !code.contains(is_gap);
            found.extend(
                (is_word && code.bytes().any(|byte| byte.is_ascii_alphanumeric())).then(|| code.to_owned()),
            );
        } else if let Some(measured) = group(5) {
            let unit = measured.rsplit(' ').next().unwrap_or_default();
            found.extend(is_unit(unit).then(|| measured.replace(' ', "")));
        } else {
            found.extend((2..=4).find_map(group).map(|word| marked(word, cut)));
        }
    }
    found
}

/// The words of a text, for testing whether it contains an identifier.
pub(super) struct Known<'a> {
    words: BTreeSet<&'a str>,
    /// Words that do not appear as one in the text: digit groups, a number with its unit, hex in lower case.
    made: BTreeSet<String>,
    /// Steps of paths that are followed by another step.
    folders: BTreeSet<&'a str>,
}

impl<'a> Known<'a> {
    /// Cost: O(text log text).
    pub(super) fn of(text: &'a str) -> Self {
        let mut known = Self { words: BTreeSet::new(), made: BTreeSet::new(), folders: BTreeSet::new() };
        let mut before = "";
        // `12→` is a tool's number of a line.
        for raw in raw_words(text).flat_map(|raw| raw.split('→')) {
            // The name of an option counts as a word.
            let word = trim(raw.trim_start_matches('-'));
            known.add(word);
            known.add(without_line(word));
            if before.bytes().next_back().is_some_and(|byte| byte.is_ascii_digit()) {
                known.measure(plain(before), word);
            }
            if !word.is_empty() {
                before = word;
            }
            let names = word.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            let names = names.filter(|name| name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'));
            known.words.extend(names);
            // In escaped text, `\n` and `\t` stand before words: the backslash is a gap, the letter is not.
            if let Some(rest) = word.strip_prefix(['n', 't', 'r']) {
                known.add(rest);
            }
        }
        if let Some(grouped) = GROUPED.as_ref() {
            for groups in grouped.captures_iter(text) {
                let group = |at: usize| groups.get(at).map_or("", |group| group.as_str());
                let number: String = group(1).chars().filter(char::is_ascii_digit).collect();
                known.made.insert(format!("{number}{}", group(2)));
                known.made.insert(number);
            }
        }
        known
    }

    fn add(&mut self, word: &'a str) {
        if word.is_empty() || !self.words.insert(word) {
            return;
        }
        let word = plain(word);
        self.words.insert(word);
        if is_hex(word) {
            self.made.insert(word.to_ascii_lowercase());
        }
        self.add_steps(word, |c| matches!(c, '/' | ':' | '#' | '@'));
        if word.split('.').all(|step| step.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')) {
            self.add_steps(word, |c| matches!(c, '.' | '/' | ':'));
        }
    }

    /// Adds a number with the word behind it.
    fn measure(&mut self, number: &str, word: &str) {
        if is_unit(word) {
            self.made.insert(format!("{number}{word}"));
        }
        let one = word.strip_suffix('s').unwrap_or(word);
        if let Some((_, unit)) = LONG_UNITS.iter().find(|(long, _)| *long == one) {
            self.made.insert(format!("{number}{unit}"));
        }
    }

    /// Adds every run of whole steps of a path, up to [`STEPS_MAX`] of them.
    fn add_steps(&mut self, word: &'a str, is_edge: fn(char) -> bool) {
        let mut starts = vec![0];
        let mut ends = Vec::new();
        for (at, c) in word.char_indices().filter(|(_, c)| is_edge(*c)) {
            ends.push(at);
            starts.push(at + c.len_utf8());
        }
        if ends.is_empty() {
            return;
        }
        let folders = starts.iter().zip(&ends).filter_map(|(start, end)| word.get(*start..*end));
        self.folders.extend(folders.filter(|step| !step.is_empty()));
        ends.push(word.len());
        for (from, &start) in starts.iter().enumerate() {
            for &end in ends.iter().skip(from).take(STEPS_MAX) {
                self.words.extend(word.get(start..end).filter(|step| !step.is_empty()).map(plain));
                // A rooted path keeps its slash.
                self.words.extend(start.checked_sub(1).and_then(|at| word.get(at..end)));
            }
        }
    }

    /// Whether an identifier stands in the text, or consists of identifiers that do.
    pub(super) fn has(&self, id: &str) -> bool {
        let id = id.rsplit('→').next().unwrap_or(id);
        if let Some(start) = id.strip_suffix(CUT) {
            let start = plain(start);
            return self.words.range(start..).next().is_some_and(|word| word.starts_with(start));
        }
        let id = plain(trim(id));
        self.words.contains(id)
            || self.made.contains(id)
            || (is_hex(id) && self.has_hash(id))
            || self.has_parts(id)
    }

    /// Whether an identifier is a known one followed by a known line or an arity, a known member of a known name, or a
    /// list of known words separated by a slash with which no path in the text begins.
    fn has_parts(&self, id: &str) -> bool {
        let has = |word: &str| self.words.contains(word);
        let digits = |word: &str| {
            !word.is_empty() && word.len() <= 6 && word.bytes().all(|byte| byte.is_ascii_digit())
        };
        let placed = id.rsplit_once(':').is_some_and(|(path, line)| {
            let (first, last) = line.split_once('-').unwrap_or((line, line));
            has(path) && digits(first) && digits(last) && has(first) && has(last)
        });
        let arity =
            id.rsplit_once('/').is_some_and(|(name, arity)| digits(arity) && arity.len() < 3 && has(name));
        let member = id.split_once('.').is_some_and(|(owner, name)| {
            has(owner) && has(name) && !has_extension(id) && !owner.bytes().any(|byte| byte == b'/')
        });
        let steps = || id.split(['/', ':']);
        let plain_words = steps().count() > 1
            && steps().all(|step| !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_alphabetic()));
        let list = plain_words && steps().all(has) && !steps().any(|step| self.folders.contains(step));
        placed || arity || member || list
    }

    /// Whether the text contains a hash, or one that begins with it.
    fn has_hash(&self, id: &str) -> bool {
        let small = id.to_ascii_lowercase();
        let longer = self.made.range(small.clone()..).next();
        longer.is_some_and(|longer| longer.starts_with(&small))
    }
}

/// An identifier without irrelevant parts: `./` before it, a slash behind it, a sign or `v` before a digit.
fn plain(word: &str) -> &str {
    let word = word.strip_prefix("./").unwrap_or(word);
    let word = if word.len() > 1 { word.trim_end_matches('/') } else { word };
    let signed = word.strip_prefix(['v', 'V', '~', '$', '€', '£', '^', '#']);
    signed.filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit())).unwrap_or(word)
}

/// Whether a word ends like a file name: a full stop and a few lower-case letters.
fn has_extension(word: &str) -> bool {
    word.rsplit_once('.').is_some_and(|(_, end)| {
        end.len() <= 4 && end.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
    })
}

/// Whether a word is a hash or the start of one: at least seven hex digits, one of them decimal.
fn is_hex(word: &str) -> bool {
    let word = word.strip_prefix("0x").unwrap_or(word);
    word.len() >= 7
        && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_table() {
        let source = "edited ./src/store/sqlite.rs:120:7 and `crate::pack::Chunk`; commit 3F2A9B1c77 took 1,250 ms, \
                      v1.4.2 of serde@1.0.9, limit 512 MB, ticket ABC-17, {\"path\":\"a\\nlib/b.ts\"}, utils.parseConfig(x), \
                      /home/u/proj/main.go exit code 101 https://example.com/a/b?c=1 port 8080 took 1500ms \
                      in 30 minutes; create_call(x) of Session and SessionId; red, green \n   265→fn a()";
        let table = [
            ("src/store/sqlite.rs", true, "without ./ and place"),
            ("sqlite.rs", true, "the last step"),
            ("src/store", true, "the first steps"),
            ("src/store/", true, "with a slash"),
            ("src/store/sqlite.rs:120", true, "with its line"),
            ("src/store/sqlite.rs:121", false, "with another line"),
            ("src/sqlite.rs", false, "steps left out in the middle"),
            ("store/sqlite", true, "without its extension"),
            ("store/sql", false, "a step cut in the middle"),
            ("crate::pack", true, "a scope"),
            ("Chunk", true, "a name in a scope"),
            ("pack::Chunker", false, "a longer name"),
            ("3f2a9b1c77", true, "hex in other case"),
            ("3f2a9b1", true, "a shortened hash"),
            ("3f2a9b2", false, "another hash"),
            ("1250ms", true, "digit groups, and a blank before the unit"),
            ("500ms", false, "the end of a longer number"),
            ("1.4.2", true, "without v"),
            ("v1.4.3", false, "another version"),
            ("1.0.9", true, "behind @"),
            ("512MB", true, "a blank before the unit"),
            ("ABC-1", false, "the start of a ticket"),
            ("lib/b.ts", true, "behind an escaped line end"),
            ("parseConfig", true, "a method"),
            ("/home/u/proj/main.go", true, "rooted"),
            ("proj/main.go", true, "the end of a rooted path"),
            ("101", true, "a number"),
            ("10", false, "the start of a number"),
            ("https://example.com/a/b?c", true, "a URL up to a gap"),
            ("8081", false, "another port"),
            ("30min", true, "a long unit"),
            ("sqlite.rs:265", true, "a file, and a line that a tool numbered"),
            ("sqlite.rs:266", false, "a line that stands nowhere"),
            ("create_call/2", true, "an arity"),
            ("create_calls/2", false, "an arity of another name"),
            ("Session.SessionId", true, "a member"),
            ("Session.SessionKey", false, "a member that is not there"),
            ("Session.rs", false, "a file that is not there"),
            ("red/green", true, "a list of words"),
            ("src/green", false, "a path made of words"),
            ("src/store/sql…", true, "cut off"),
            ("src/store/pg…", false, "cut off, from elsewhere"),
        ];
        let known = Known::of(source);
        for (id, want, why) in table {
            assert_eq!(known.has(id), want, "{why}: {id}");
        }
    }

    #[test]
    fn a_path_of_very_many_steps_is_read_in_bounded_time() {
        let text = "a/".repeat(200_000);
        let known = Known::of(&text);
        assert!(known.has("a/a/a") && !known.has("a/b"));
    }

    #[test]
    fn identifier_table() {
        let table: [(&str, &[&str], &str); 11] = [
            ("all is well", &[], "words"),
            ("see `retry` now", &["retry"], "code"),
            ("see `cargo test` now", &[], "a command is judged by its words"),
            ("calls flush() first", &["flush"], "a function"),
            ("calls parseConfig first", &["parseConfig"], "a name by its case"),
            ("the file(s) of the iPad", &[], "prose"),
            ("it ended with exit code 101", &["101"], "a code"),
            ("took 250 ms", &["250ms"], "a blank before the unit"),
            ("has 250 files", &[], "a count is no identifier"),
            ("Read /w/session/phase_test…: ok", &["/w/session/phase_test…"], "a path that was cut off"),
            ("- Grep a|b in /w/session/phase_test…: ok (960,962)", &["/w/session/phase_test…"], "the same"),
        ];
        for (text, want, why) in table {
            assert_eq!(identifiers(text), want, "{why}: {text}");
        }
    }
}
