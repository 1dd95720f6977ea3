#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

#[derive(Default)]
struct Terms(HashSet<Term>, usize);

impl Sink for Terms {
    fn term(&mut self, term: Term, shape: Shape, _: &[u8]) {
        self.0.insert(term);
        self.1 += usize::from(shape.counts());
    }
}

fn terms(text: &str) -> HashSet<Term> {
    let mut out = Terms::default();
    Analyser::new().text(text, &mut out);
    out.0
}

/// Whether the query has terms, all of which a text around `text` has.
fn finds(query: &str, text: &str) -> bool {
    let query = terms(query);
    !query.is_empty() && query.is_subset(&terms(text))
}

#[test]
fn f105_words_of_all_scripts_are_found() {
    let table = [
        ("running", "He RAN, then runs", true, "irregular form, stem and case"),
        ("tests", "one test.", true, "plural and full stop"),
        ("it's", "its", true, "apostrophe"),
        ("Caroline", "Caroline’s book", true, "typographic possessive"),
        ("dont", "I don't", true, "contraction"),
        ("cafe", "Café", true, "without the accent"),
        ("café", "CAFÉ", true, "capitals"),
        ("café", "cafe", false, "an accent that is asked for"),
        ("ﬁle", "file", true, "ligature, NFKC"),
        ("Ｔｅｓｔ１", "test1", true, "full-width letters"),
        ("straße", "STRASSE straße", true, "sharp s as written"),
        ("привет", "ПРИВЕТ, мир", true, "Cyrillic"),
        ("мир", "приветмир", false, "no parts of words"),
        ("سلام", "قال سلام له", true, "Arabic"),
        ("שלום", "שלום עולם", true, "Hebrew"),
        ("Ωμέγα", "ωμέγα", true, "Greek"),
        ("नमस्ते", "नमस्ते दुनिया", true, "Devanagari"),
        ("好", "你好世界", true, "one ideograph"),
        ("世界", "你好世界", true, "two ideographs"),
        ("界世", "你好世界", false, "in that order only"),
        ("東京", "私は東京に住む", true, "Japanese, no spaces"),
        ("カタカナ", "これはカタカナです", true, "katakana"),
        ("한국", "한국어를", true, "Korean with a particle"),
        ("น้ำ", "ดื่มน้ำมาก", true, "Thai, no spaces"),
        ("😀", "great😀!", true, "emoji"),
        ("rust好", "I write rust好吗", true, "mixed"),
    ];
    for (query, text, want, why) in table {
        assert_eq!(finds(query, text), want, "{why}: {query:?} in {text:?}");
    }
}

#[test]
fn f104_identifiers_are_found_whole_and_split() {
    let table = [
        ("POL-358", "see POL-358.", true, "ticket"),
        ("pol-358", "(POL-358)", true, "ticket in lower case"),
        ("POL-358", "POL 358", false, "the whole weighs on its own"),
        ("358", "POL-358", true, "number of a ticket"),
        ("a/b", "either a/b or c", true, "slash"),
        ("TODO:", "// TODO: later", true, "colon"),
        ("src/main.rs", "open src/main.rs:12 now", true, "path with a line"),
        ("main.rs", "/home/x/src/main.rs", true, "file name of a path"),
        ("main", "src/main.rs", true, "piece of a path"),
        ("snake_case_name", "let snake_case_name = 1;", true, "snake"),
        ("snake", "snake_case_name", true, "piece of snake"),
        ("camelCase", "fn camelCase()", true, "camel"),
        ("case", "camelCase", true, "piece of camel"),
        ("http server", "HTTPServer", true, "capitals before a word"),
        ("phone", "iPhone", true, "capital after the first letter"),
        ("camelcase", "camelCase", true, "camel in lower case"),
        ("2023-05-07", "on 2023-05-07T12:00:01Z", true, "day of a time stamp"),
        ("v1.2.3", "release v1.2.3!", true, "version"),
        ("user@example.com", "mail user@example.com now", true, "address"),
        ("example", "user@example.com", true, "piece of an address"),
        ("--dry-run", "pass --dry-run", true, "flag"),
        ("c97fc7ef2382", "id=c97fc7ef2382", true, "hash"),
        ("__init__", "def __init__(self)", true, "dunder"),
        ("std::fs::read", "use std::fs::read;", true, "path of a language"),
        ("C:\\temp\\x", "in C:\\temp\\x now", true, "a Windows path"),
    ];
    for (query, text, want, why) in table {
        assert_eq!(finds(query, text), want, "{why}: {query:?} in {text:?}");
    }
}

#[test]
fn lengths_count_words_not_wholes() {
    let table = [
        ("one two three", 3),
        ("src/main.rs", 3),
        ("你好世界", 3),
        ("好", 0),
        ("...", 0),
        ("", 0),
        ("camelCase", 3),
    ];
    for (text, want) in table {
        let mut out = Terms::default();
        Analyser::new().text(text, &mut out);
        assert_eq!(out.1, want, "{text:?}");
    }
}

proptest! {
    /// Any text can be analysed, and equal text gives equal terms wherever it stands between spaces.
    #[test]
    fn terms_do_not_depend_on_what_is_around(text in "\\PC{0,40}", around in "[a-z ]{0,80}") {
        let alone = terms(&text);
        let inside = terms(&format!("{around} {text} {around}"));
        prop_assert!(alone.is_subset(&inside));
    }

    /// F104: a word of a text, asked for alone, is found.
    #[test]
    fn f104_every_word_is_found(words in prop::collection::vec("[a-zA-Z0-9_]{3,12}|[a-z]{3,6}[-./][a-z]{3,6}|[а-я]{3,8}", 1..8)) {
        let text = words.join(" ");
        for word in &words {
            prop_assume!(word.bytes().any(|byte| byte != b'_'));
            prop_assert!(finds(word, &text), "{word:?} in {text:?}");
        }
    }

    /// F105: one or two neighbouring ideographs of a text are found.
    #[test]
    fn f105_one_and_two_ideographs(text in "[一-龥ぁ-んァ-ヴ가-힣]{2,20}", at: prop::sample::Index) {
        let chars: Vec<char> = text.chars().collect();
        let at = at.index(chars.len() - 1);
        for query in [chars.iter().skip(at).take(1).collect::<String>(), chars.iter().skip(at).take(2).collect()] {
            prop_assert!(finds(&query, &text), "{query:?} in {text:?}");
        }
    }
}
