#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;

#[test]
fn find_table() {
    let body = r#"{"text":"Say \"hi\"\nC:\\temp caf\u00e9 café 好 end"}"#;
    let table: [(&str, &[&str], &str); 8] = [
        ("temp", &["temp"], "plain word"),
        (r#"say "hi""#, &[], "case counts"),
        (r#"(?i)say "hi""#, &[r#"Say \"hi\""#], "quotes are escaped in the body"),
        (r"hi.\nC", &[r#"hi\"\nC"#], "over an escaped newline"),
        (r"C:\\temp", &[r"C:\\temp"], "an escaped backslash"),
        ("café", &[r"caf\u00e9", "café"], "both ways to write a letter"),
        (r"\\u00e9", &[r"\u00e9"], "the escape itself"),
        ("好", &["好"], "one ideograph"),
    ];
    for (pattern, want, why) in table {
        let found = Pattern::new(pattern).unwrap().find(body.as_bytes(), 5, 10);
        let got: Vec<&str> = found.iter().map(|one| &body[one.bytes.clone()]).collect();
        assert_eq!(got, want, "{why}");
        for one in found {
            assert!(
                one.snippet.is_char_boundary(one.shown.start) && one.snippet.is_char_boundary(one.shown.end)
            );
        }
    }
}

#[test]
fn snippets_have_context_on_character_boundaries() {
    let found = Pattern::new("X").unwrap().find("öäüöäüX好好好".as_bytes(), 2, 5);
    assert_eq!(found[0].snippet, "äüX好好");
    assert_eq!(&found[0].snippet[found[0].shown.clone()], "X");
    let found = Pattern::new("b").unwrap().find(b"a\xFF\xFEb\n", 2, 5);
    assert_eq!(found[0].snippet, "\u{FFFD}\u{FFFD}b ", "broken bytes are shown as such");
}

/// Time used by this thread; elapsed time only where the system does not provide that.
fn busy() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let busy = told.split(' ').next().and_then(|nanoseconds| nanoseconds.parse().ok());
    busy.filter(|nanoseconds| *nanoseconds > 0).map_or_else(|| START.elapsed(), Duration::from_nanos)
}

#[test]
fn f107_hostile_patterns_are_refused_or_linear() {
    let text = format!("{}!", "a".repeat(100_000));
    let table = [
        r"(a+)+$",
        r"(a|a)*$",
        r"(a|aa)+$",
        r"(.*a){20}$",
        r"([a-zA-Z]+)*$",
        r"(a*)*b",
        r"^(([a-z])+.)+[A-Z]([a-z])+$",
        r"(x+x+)+y",
        r"a{0,100}a{0,100}b",
        r"(?:a?){50}a{50}b",
        r".*.*=.*",
        r"(\w+\s?)*z",
    ];
    for pattern in table {
        let started = busy();
        match Pattern::new(pattern) {
            Ok(pattern) => drop(pattern.find(text.as_bytes(), 10, 10)),
            Err(error) => assert!(!error.hint().is_empty()),
        }
        let (limit, took) = (if cfg!(debug_assertions) { 5000 } else { 500 }, busy().saturating_sub(started));
        assert!(took.as_millis() < limit, "{pattern} took {took:?}");
    }
}

#[test]
fn f107_refusals_say_why() {
    let table = [
        ("a".repeat(1001), "characters", "too long"),
        ("(".repeat(200), "not a regular expression", "unclosed"),
        (format!("{}a{}", "(".repeat(300), ")".repeat(300)), "not a regular expression", "too deep"),
        (String::new(), "empty string", "nothing to find"),
        ("(?:a*b)?".into(), "empty string", "would look for b from every place"),
        (r"(a)\1".into(), "not a regular expression", "back-reference"),
        (r"a(?=b)".into(), "not a regular expression", "look-ahead"),
        (r"((a{100}){100}){100}".into(), "too large", "a million states"),
        (r"\w{900}".into(), "too large", "large classes repeated"),
    ];
    for (pattern, want, why) in table {
        let error = Pattern::new(&pattern).unwrap_err();
        assert!(error.to_string().contains(want), "{why}: {error}");
        assert!(!error.hint().is_empty(), "{why}");
    }
}

proptest! {
    /// Any stretch of a stored text is found as a literal, raw and in JSON.
    #[test]
    fn f104_any_substring_is_found(text in "\\PC{1,60}[\n\"\\\\é好a]{0,5}", from: prop::sample::Index, len in 1_usize..20) {
        let chars: Vec<char> = text.chars().collect();
        let from = from.index(chars.len());
        let part: String = chars[from..(from + len).min(chars.len())].iter().collect();
        let json = serde_json::to_string(&text).unwrap();
        let pattern = Pattern::literal(&part, false).unwrap();
        for body in [text.as_bytes(), json.as_bytes()] {
            let found = pattern.find(body, 3, usize::MAX);
            prop_assert!(!found.is_empty(), "{part:?} in {json}");
            let all: Vec<_> = std::iter::once(0..body.len()).collect();
            prop_assert!(pattern.is_match(body) && pattern.may_match(body, Some(&all)) == Some(true));
            prop_assert!(pattern.may_match(body, None) != Some(false));
            prop_assert!(crate::filter::matches(&crate::filter::build(body), pattern.need()));
            prop_assert!(found.iter().all(|one| one.bytes.end <= body.len() && one.bytes.start < one.bytes.end));
        }
    }

    /// A run of entries is skipped only if none has a match, even if they are cut off inside an escape and joined end
    /// to end.
    #[test]
    fn f104_no_entry_of_a_run_is_passed_over(
        bodies in prop::collection::vec(
            r#"([a-cA/é\x1b\n]|\\n|\\t|\\u006|\\u00e9|\\u001b|\\u00|\\ud83d|\\/|1|\\|"|\\"){0,8}"#, 1..5,
        ),
        pattern in r#"(\(\?i\))?(\^|\\b)?([a-c]|é|/|\\t|\\n|\\x1b|\\\\|"|\.|\\w|\[\^b\]|\(ab\|"a\)){1,5}(\$|\\b)?"#,
    ) {
        let Ok(pattern) = Pattern::new(&pattern) else { return Ok(()) };
        let mut run = Vec::new();
        let mut ranges = Vec::new();
        for body in &bodies {
            ranges.push(run.len()..run.len() + body.len());
            run.extend_from_slice(body.as_bytes());
        }
        let is_found = |body: &String| !pattern.find(body.as_bytes(), 0, 1).is_empty();
        for body in &bodies {
            prop_assert_eq!(pattern.is_match(body.as_bytes()), is_found(body), "{:?} in {:?}", pattern, body);
        }
        if bodies.iter().any(is_found) {
            prop_assert_eq!(pattern.may_match(&run, Some(&ranges)), Some(true));
            prop_assert!(pattern.may_match(&run, None) != Some(false));
        }
    }

    /// No pattern and no bytes cause a panic.
    #[test]
    fn f107_anything_goes(pattern in "[a-c()|*+?{}\\[\\]\\\\^$.0-9,]{0,20}", body in prop::collection::vec(any::<u8>(), 0..80)) {
        if let Ok(pattern) = Pattern::new(&pattern) {
            prop_assert_eq!(pattern.find(&body, 4, 5).is_empty(), pattern.find(&body, 0, 1).is_empty());
        }
    }
}
