//! Splits prose into lines and sentences.

/// The kind of a line of prose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    /// Marked as a heading, by `#` or by being bold as a whole.
    Heading,
    /// An item of a list, and its depth.
    Bullet {
        /// Whether it belongs to an item above it.
        inner: bool,
    },
    /// Anything else.
    Prose,
}

/// A line of prose without its marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    /// Its kind.
    pub(crate) kind: LineKind,
    /// Its text, never empty.
    pub(crate) text: &'a str,
}

/// The lines of prose in `text`: non-empty lines outside code fences, tables and tags. Cost: linear.
pub(crate) fn prose(text: &str) -> Vec<Line<'_>> {
    let mut found = Vec::new();
    let mut in_code = false;
    for line in text.lines() {
        let indent = line.len() - line.trim_start().len();
        let line = line.trim();
        if is_code_fence(line) {
            in_code = !in_code;
        } else if !in_code && !line.starts_with('|') && !line.starts_with('<') {
            let text = strip_mark(line);
            let kind = if line.starts_with('#') || is_bold(text) {
                LineKind::Heading
            } else if text.len() < line.len() && !line.starts_with('>') {
                LineKind::Bullet { inner: indent > 1 }
            } else {
                LineKind::Prose
            };
            if text.chars().any(char::is_alphanumeric) {
                found.push(Line { kind, text });
            }
        }
    }
    found
}

/// Fewest lines of prose in a document, their least share in percent of its lines, and most lines that are looked at.
const DOCUMENT_LINES_MIN: usize = 5;
const DOCUMENT_PERCENT: usize = 60;
const DOCUMENT_LOOK: usize = 200;
/// Fewest whole sentences of a document without headings, and fewest words of one.
const DOCUMENT_SENTENCES_MIN: usize = 3;
const SENTENCE_WORDS_MIN: usize = 5;

/// Whether a text is written for people: most of its lines are sentences, headings and items of lists. Cost: linear.
pub(crate) fn is_document(text: &str) -> bool {
    let lines = prose(text);
    let lines = lines.get(..lines.len().min(DOCUMENT_LOOK)).unwrap_or_default();
    let told = lines.iter().filter(|line| is_of_words(line)).count();
    let mut sentences = Vec::new();
    for line in lines.iter().filter(|line| is_of_words(line)) {
        split_line(line.text, &mut sentences);
    }
    let is_whole = |sentence: &&&str| {
        sentence.ends_with(['.', '!', '?', '。', '！', '？', ':'])
            && (!sentence.is_ascii() || sentence.split_whitespace().count() >= SENTENCE_WORDS_MIN)
    };
    let has_parts = lines.iter().filter(|line| line.kind == LineKind::Heading).count() > 1;
    let is_prose = has_parts || sentences.iter().filter(is_whole).count() >= DOCUMENT_SENTENCES_MIN;
    told >= DOCUMENT_LINES_MIN && told * 100 >= lines.len() * DOCUMENT_PERCENT && is_prose
}

/// Whether most of a line are words, and more than one in a heading or an item, more than three elsewhere.
fn is_of_words(line: &Line<'_>) -> bool {
    let is_word = |word: &&str| {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
        !word.is_empty() && word.chars().all(|c| c.is_alphabetic() || matches!(c, '\'' | '’' | '-'))
    };
    if line.text.starts_with(['/', '*', '@']) || line.text.ends_with([';', '{', '}']) {
        return false;
    }
    let all = line.text.split_whitespace().count();
    let words = line.text.split_whitespace().filter(is_word).count();
    let fewest = if line.kind == LineKind::Prose { 4 } else { 2 };
    let unspaced = line.text.chars().filter(|c| c.is_alphabetic() && !c.is_ascii()).count();
    unspaced > 8 || words >= fewest && words * 4 >= all * 3
}

/// Whether a line, without surrounding blanks, opens or closes a block of code.
pub(crate) fn is_code_fence(line: &str) -> bool {
    line.starts_with("```") || line.starts_with("~~~")
}

/// Whether the whole line is bold, except for a colon behind it.
fn is_bold(line: &str) -> bool {
    let inside = line.trim_end_matches(':').strip_prefix("**").and_then(|rest| rest.strip_suffix("**"));
    inside.is_some_and(|inside| !inside.contains("**"))
}

/// The sentences of `text` outside code fences, without list marks, otherwise verbatim. Cost: linear.
pub(crate) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in prose(text) {
        split_line(line.text, &mut found);
    }
    found
}

fn strip_mark(line: &str) -> &str {
    let line = line.trim_start_matches(['#', '>', ' ']);
    let bullet = line.trim_start_matches(['-', '*', '•', '+']);
    if bullet.len() < line.len() && bullet.starts_with(' ') {
        return bullet.trim_start();
    }
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    match digits.strip_prefix(['.', ')']) {
        Some(rest) if digits.len() < line.len() && rest.starts_with(' ') => rest.trim_start(),
        _ => line,
    }
}

/// Lower-case words after which a full stop does not end a sentence.
const SHORTENED: [&str; 16] = [
    "e.g", "i.e", "eg", "ie", "vs", "cf", "approx", "resp", "dr", "mr", "mrs", "ms", "st", "z.b", "d.h",
    "bzw",
];

/// Whether the full stop at the end of `before` belongs to a word or to a row of dots.
///
/// * `next` - the first letter behind the following blank.
fn is_inside(before: &str, next: Option<char>) -> bool {
    let word = before.trim_end_matches('.').rsplit(|c: char| c.is_whitespace() || c == '(').next();
    let word = word.unwrap_or_default().to_lowercase();
    let goes_on = next.is_some_and(char::is_lowercase);
    SHORTENED.contains(&word.as_str())
        || (goes_on && (before.ends_with("..") || word == "etc" || word == "no"))
}

/// Adds the sentences of one line.
pub(crate) fn split_line<'a>(line: &'a str, found: &mut Vec<&'a str>) {
    let mut start = 0;
    let mut code = false;
    let mut chars = line.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let end = at + c.len_utf8();
        // An unclosed one is no code.
        code ^= c == '`' && (code || line.get(end..).is_some_and(|rest| rest.contains('`')));
        let ends = match c {
            '.' | '!' | '?' if !code => {
                let rest = line.get(end..).unwrap_or_default();
                // Marks that close a quotation or emphasis belong to the sentence.
                let rest = rest.trim_start_matches(['"', '”', '’', ')', '*', '_']);
                let gap = rest.chars().next().is_none_or(char::is_whitespace);
                let next = rest.trim_start().chars().next();
                gap && !(c == '.' && is_inside(line.get(start..end).unwrap_or_default(), next))
            }
            '。' | '！' | '？' => true,
            _ => false,
        };
        if ends {
            let mut end = end;
            while let Some((at, c)) = chars.next_if(|(_, c)| matches!(c, '"' | '”' | '’' | ')' | '*' | '_'))
            {
                end = at + c.len_utf8();
            }
            push(line.get(start..end), found);
            start = end;
        }
    }
    push(line.get(start..), found);
}

fn push<'a>(sentence: Option<&'a str>, found: &mut Vec<&'a str>) {
    let sentence = sentence.unwrap_or_default().trim();
    if sentence.chars().any(char::is_alphabetic) {
        found.push(sentence);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentence_table() {
        let table: [(&str, &[&str], &str); 14] = [
            ("One. Two! Three?", &["One.", "Two!", "Three?"], "ends"),
            ("Use v1.2.3 of a.rs now", &["Use v1.2.3 of a.rs now"], "a full stop inside a word is none"),
            (
                "- never push\n* always test\n1. must pass",
                &["never push", "always test", "must pass"],
                "list marks",
            ),
            ("a\n```\nmust not count\n```\nb", &["a", "b"], "code is not prose"),
            ("必须用。不要改！", &["必须用。", "不要改！"], "CJK stops"),
            ("| must | never |\n<tag>\n---", &[], "tables, tags and rules are not prose"),
            (
                "Keep the tags, e.g. branch or commit, i.e. all of them. Then stop.",
                &["Keep the tags, e.g. branch or commit, i.e. all of them.", "Then stop."],
                "shortened words",
            ),
            ("Read `a. b` first. Go.", &["Read `a. b` first.", "Go."], "code within a line"),
            ("A lone ` tick. Go.", &["A lone ` tick.", "Go."], "no code"),
            ("Only wait ... then go on. Now.", &["Only wait ... then go on.", "Now."], "a row of dots"),
            ("Files, tests etc. are in. Etc. Done", &["Files, tests etc. are in.", "Etc.", "Done"], "etc."),
            ("again. reda the file", &["again.", "reda the file"], "people write small letters"),
            (
                "**Both fail.** It is \"old.\" (See b.) End",
                &["**Both fail.**", "It is \"old.\"", "(See b.)", "End"],
                "marks that close stay with their sentence",
            ),
            ("Use 3.11. Then 1.0.", &["Use 3.11.", "Then 1.0."], "a number may end a sentence"),
        ];
        for (text, want, why) in table {
            assert_eq!(sentences(text), want, "{why}");
        }
    }

    #[test]
    fn document_table() {
        let issue = "# Add spans to the decoder\n\nThe decoder has no spans yet.\n\n## What to do\n- Wrap each call of the reader\n- Name the span after the file\n- Leave the tests as they are";
        let code = "fn main() {\n    let a = 1;\n    // the sum of all\n    let b = a + 1;\n    println!(\"{b}\");\n    return b;\n}";
        let log = "ok   core  0.1s\nok   text  0.2s\n--- PASS: TestA (0.00s)\n--- PASS: TestB (0.00s)\n--- PASS: TestC (0.00s)\nPASS";
        let table = [
            (issue, true, "an issue"),
            (code, false, "code"),
            (log, false, "a log"),
            ("Done.\nThe file was written.", false, "an acknowledgement"),
            (
                "Options for the build\n--fast  Build without any checks\n--slow  Build with all of the checks\nCommands of the program\nrun the program now\nstop the running program",
                false,
                "a help text",
            ),
            (
                "// The reader reads all of it.\n// It never reads a line twice.\n// The printer prints all of it.\nfn read() {\n}\n// The lexer is in another file.\nfn lex() {}",
                false,
                "code with comments",
            ),
            (
                "src/a.rs:12: the decoder is here\nsrc/b.rs:9: the reader is here\nsrc/c.rs:1: a\nd: e",
                false,
                "a search",
            ),
        ];
        for (text, want, why) in table {
            assert_eq!(is_document(text), want, "{why}");
        }
    }

    #[test]
    fn line_table() {
        use LineKind::{Bullet, Heading, Prose};
        let table = [
            ("## Cause", Heading, "Cause", "a heading"),
            ("**Cause:**", Heading, "**Cause:**", "bold as a whole"),
            ("**Cause**:", Heading, "**Cause**:", "the colon outside"),
            ("**Cause**: the lock", Prose, "**Cause**: the lock", "only its start is bold"),
            ("- one", Bullet { inner: false }, "one", "an item"),
            ("   - one", Bullet { inner: true }, "one", "an item of an item"),
            ("2) two", Bullet { inner: false }, "two", "numbered"),
            ("> said", Prose, "said", "a quotation"),
        ];
        for (text, kind, words, why) in table {
            assert_eq!(prose(text), [Line { kind, text: words }], "{why}");
        }
    }
}
