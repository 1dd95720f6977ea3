#![allow(clippy::unwrap_used, reason = "tests")]

use proptest::prelude::*;

use super::*;
use crate::calendar::Day;
use crate::query::dates::{Span, spans};

fn parse(text: &str) -> Result<Query, QueryError> {
    Query::parse(&mut Analyser::new(), text, None)
}

#[test]
fn f104_ordinary_queries_are_never_refused() {
    for text in [
        "it's",
        "a/b",
        "POL-358",
        "TODO:",
        "foo AND",
        "\"unbalanced",
        "NEAR(",
        "col:val",
        "*",
        "a*b",
        "-x",
        "(",
        "^$ x",
        "'",
        "好",
        "what?",
        "SELECT * FROM t; --",
        "key=\"value\"",
        "C++",
        "🙂",
        "who are you",
        "2023-05-07",
        "\\",
        "\0x",
    ] {
        let has_words = text.chars().any(|c| c.is_alphanumeric() || c == '🙂');
        assert_eq!(parse(text).is_ok(), has_words, "{text:?}");
    }
}

#[test]
fn kinds_table() {
    let table = [
        ("the", Kind::Stop, 1.0, "says little"),
        ("garden", Kind::Word, 1.0, "plain"),
        ("\"garden\"", Kind::Exact, 1.5, "quoted"),
        ("`garden`", Kind::Exact, 1.5, "quoted as code"),
        ("“garden”", Kind::Exact, 1.5, "typographic quotes"),
        ("main.rs", Kind::Exact, 2.0, "identifier"),
        ("404", Kind::Exact, 1.0, "number"),
        ("好", Kind::Word, 0.3, "single ideograph"),
    ];
    for (text, kind, weight, why) in table {
        let query = parse(text).unwrap();
        let best = query.terms.iter().map(|term| (term.kind, term.weight)).max_by(|a, b| a.1.total_cmp(&b.1));
        assert_eq!(best, Some((kind, weight)), "{why}");
    }
}

#[test]
fn time_words_table() {
    let today = Day { year: 2023, month: 5, day: 10 }; // a Wednesday
    let day = |year, month, day| Day { year, month, day };
    let table: [(&str, &[Span], &str); 20] = [
        ("what did we do yesterday", &[Span::Days(day(2023, 5, 9), 1)], "the day before"),
        ("today", &[Span::Days(today, 1)], "today"),
        ("last week", &[Span::Days(day(2023, 5, 1), 7)], "Monday to Sunday before"),
        ("this week", &[Span::Days(day(2023, 5, 8), 3)], "since Monday"),
        ("last weekend", &[Span::Days(day(2023, 5, 6), 2)], "Saturday and Sunday"),
        ("last month", &[Span::Month(day(2023, 4, 30))], "April"),
        ("last year", &[Span::Year(2022)], "year"),
        ("last Wednesday", &[Span::Days(day(2023, 5, 3), 1)], "not today"),
        ("last tuesday?", &[Span::Days(day(2023, 5, 9), 1)], "yesterday"),
        ("three days ago", &[Span::Days(day(2023, 5, 7), 1)], "number in words"),
        ("2 weeks ago", &[Span::Days(day(2023, 4, 23), 7)], "around that day"),
        ("6 months ago", &[Span::Month(day(2022, 11, 1))], "over the new year"),
        ("in May 2023", &[Span::Month(day(2023, 5, 1))], "month and year"),
        ("in May", &[Span::MonthName(5)], "month alone, said as one"),
        ("it may work", &[], "may is a verb here"),
        ("7 May 2023", &[Span::Days(day(2023, 5, 7), 1)], "British"),
        ("May 7th, 2023", &[Span::Days(day(2023, 5, 7), 1)], "American"),
        ("on 2023-05-07", &[Span::Days(day(2023, 5, 7), 1)], "ISO"),
        ("in 2022", &[Span::Year(2022)], "year alone"),
        ("port 8080 on 0000-99-99", &[], "no dates"),
    ];
    for (text, want, why) in table {
        let got: Vec<Span> = spans(text, Some(today)).into_iter().map(|(span, _)| span).collect();
        assert_eq!(got, want, "{why}: {text:?}");
    }
    assert!(spans("yesterday", None).is_empty(), "relative to nothing");
}

#[test]
fn a_giant_query_says_what_it_ignores() {
    let text: Vec<String> = (0..1000).map(|number| format!("word{number}")).collect();
    let query = parse(&text.join(" ")).unwrap();
    assert_eq!((query.terms.len(), query.ignored), (TERMS_MAX, 1000 - TERMS_MAX));
}

proptest! {
    /// Any text with a letter or digit is a query, and dates never overflow.
    #[test]
    fn f104_any_text_is_a_query(text in "\\PC{0,60}", now: i64) {
        let query = Query::parse(&mut Analyser::new(), &text, Some(Timestamp(now)));
        if text.chars().any(|c| c.is_ascii_alphanumeric()) {
            prop_assert!(query.is_ok());
        }
    }

    #[test]
    fn any_time_words_at_any_time(words in prop::collection::vec(
        "last|week|month|year|ago|[0-9]{1,4}|days|years|may|7th|monday|2023-1-1|9999-12-31|in", 0..8), now: i64) {
        let _query = Query::parse(&mut Analyser::new(), &words.join(" "), Some(Timestamp(now)));
    }
}

#[test]
fn time_range_table() {
    let day = |year, month, day| Day { year, month, day };
    // A Friday.
    let now = day(2026, 11, 27).start();
    let table = [
        ("what did we change yesterday?", Some((day(2026, 11, 26), day(2026, 11, 27)))),
        ("what did we change last week", Some((day(2026, 11, 16), day(2026, 11, 23)))),
        ("commits of this month", Some((day(2026, 11, 1), day(2026, 12, 1)))),
        ("what failed in December 2025?", Some((day(2025, 12, 1), day(2026, 1, 1)))),
        ("2026-02-28", Some((day(2026, 2, 28), day(2026, 3, 1)))),
        ("what failed in May?", None),
        ("what failed?", None),
    ];
    for (text, want) in table {
        let want = want.map(|(first, end)| first.start()..end.start());
        assert_eq!(time_range(text, now), want, "{text}");
    }
}
