//! Stored text is found again, by words and by bytes, with receipts.
use std::fs;
use std::time::Duration;
use unforget_store::read_all;

use crate::common::asked::import;
use crate::common::{data, engine, exported, files_below};
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;
use unforget_engine::recall::{GrepQuery, SearchQuery, VERBATIM};
use unforget_engine::{Engine, EngineError};

fn search(text: &str) -> SearchQuery {
    SearchQuery { text: text.to_owned(), ..SearchQuery::default() }
}

fn grep(pattern: &str) -> GrepQuery {
    GrepQuery { pattern: pattern.to_owned(), ..GrepQuery::default() }
}

#[test]
fn search_finds_words_and_says_where() {
    let (engine, _folder) = engine();
    import(&engine, "one", &["please fix the retry limit in src/net/client.rs", "the limit is seven now"]);
    import(&engine, "two", &["what is for lunch", "noodles, 東京の天気は晴れ"]);
    let table = [
        ("retries", "pi:one", 1, "stems"),
        ("client.rs", "pi:one", 1, "an identifier"),
        ("noodle", "pi:two", 2, "the other conversation"),
        ("天気", "pi:two", 2, "a script without spaces"),
    ];
    for (text, key, seq, why) in table {
        let answer = engine.search(&search(text)).unwrap();
        let hit = &answer.results[0];
        assert_eq!((hit.conversation.0.as_str(), hit.seq.0), (key, seq), "{why}");
        assert_eq!((answer.searched, answer.total, answer.is_complete), (4, 4, true), "{why}");
        let file = exported(&engine, &hit.conversation);
        let record = &file[hit.bytes.start as usize..hit.bytes.end as usize];
        assert!(serde_json::from_slice::<serde_json::Value>(record).is_ok(), "{why}: receipts are exact");
    }
}

#[test]
fn f104_no_result_comes_with_evidence() {
    let (engine, _folder) = engine();
    import(&engine, "one", &["alpha beta", "gamma"]);
    let answer = engine.search(&search("zebra alphabetical")).unwrap();
    assert!(answer.results.is_empty());
    assert_eq!(answer.absent, ["zebra", "alphabetical"]);
    assert!(answer.evidence.contains("all 2 entries"), "{}", answer.evidence);
    let scoped = SearchQuery { role: Some(Role::Tool), ..search("alpha") };
    let answer = engine.search(&scoped).unwrap();
    assert!(answer.results.is_empty() && answer.evidence.contains("0 of 2"), "{}", answer.evidence);
    for odd in ["", "  ", "?!", "\"", "(", "\u{0}"] {
        match engine.search(&search(odd)) {
            Err(EngineError::Usage { hint, .. }) => assert!(hint.contains("grep")),
            other => panic!("{odd:?}: {other:?}"),
        }
    }
}

#[test]
fn scopes_limits_and_budgets_hold() {
    let (engine, _folder) = engine();
    let texts: Vec<String> =
        (0..20).map(|n| format!("apple number {n} {}", "filler ".repeat(n * 3))).collect();
    import(&engine, "one", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let all = engine.search(&SearchQuery { limit: Some(100), ..search("apple") }).unwrap();
    assert_eq!((all.results.len(), all.matched, all.is_complete), (20, 20, true));
    let few = engine.search(&SearchQuery { limit: Some(3), ..search("apple") }).unwrap();
    assert_eq!((few.results.len(), few.matched, few.is_complete), (3, 20, false));
    for budget in [0, 5, 40, 200, 10_000] {
        let query = SearchQuery { budget_tokens: Some(budget), ..search("apple") };
        let answer = engine.search(&query).unwrap();
        assert!(answer.results.iter().map(|hit| hit.tokens).sum::<u64>() <= budget);
        assert_eq!(answer.results.is_empty(), budget == 0, "{budget}");
    }
    let user = engine.search(&SearchQuery { role: Some(Role::User), ..search("apple") }).unwrap();
    assert!(user.searched == 10 && user.results.iter().all(|hit| hit.role == Role::User));
    let start = 1_767_225_600_000; // 2026-01-01
    let timed = SearchQuery {
        since: Some(Timestamp(start + 5000)),
        until: Some(Timestamp(start + 9000)),
        ..search("apple")
    };
    let answer = engine.search(&timed).unwrap();
    assert_eq!((answer.searched, answer.results.len()), (4, 4), "{answer:?}");
}

#[test]
fn sentences_with_other_facts_are_results_of_their_own() {
    let said =
        |fact: &str| format!("the staging machine behind the second rack listens on {fact} since the move");
    let table = [
        ("port 6432", "port 6432", 1, "copies"),
        ("port 6432", "port 5432", 2, "another number"),
        ("src/a.rs", "src/b.rs", 2, "another path"),
        ("Heron", "Otter", 2, "another name"),
    ];
    for (one, two, want, why) in table {
        let (engine, _folder) = engine();
        // People and a model speak in turn.
        import(&engine, "one", &[&said(one), "I see, thank you.", &said(two)]);
        let people = SearchQuery { role: Some(Role::User), ..search("staging machine") };
        let answer = engine.search(&people).unwrap();
        let shown: Vec<_> = answer.results.iter().map(|hit| hit.text.as_str()).collect();
        assert_eq!(shown.len(), want, "{why}: {shown:?}");
    }
}

#[test]
fn a_small_budget_gives_no_hit_without_a_word_of_the_query() {
    let (engine, _folder) = engine();
    let long = format!("the heron nests {}", "behind the old weir ".repeat(60));
    import(&engine, "one", &[&long, "ok", "and then", "yes"]);
    let of = |budget| engine.search(&SearchQuery { budget_tokens: Some(budget), ..search("heron") }).unwrap();
    let none = of(12);
    assert_eq!((none.results.len(), none.matched, none.is_complete), (0, 1, false), "{none:?}");
    assert!(none.nearby > 0 && none.evidence.contains("none of them fits the budget"), "{none:?}");
    let all = of(10_000);
    assert_eq!((all.matched, all.results.len() as u64), (1, 1 + all.nearby), "neighbours beside it: {all:?}");
    assert!(all.results[0].text.contains("heron"));
}

#[test]
fn f084_index_in_pieces_or_rebuilt_or_missing_gives_the_same_answers() {
    let texts: Vec<String> = (0..26).map(|n| format!("pear {} grape{}", n % 5, n % 3)).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (whole, _folder_a) = engine();
    import(&whole, "s", &texts);
    let (pieces, _folder_b) = engine();
    for end in 1..=texts.len() {
        import(&pieces, "s", &texts[..end]);
    }
    let ask = |engine: &Engine| {
        let query = SearchQuery { limit: Some(100), ..search("pear grape1 3") };
        let answer = engine.search(&query).unwrap();
        answer.results.into_iter().map(|hit| (hit.seq, hit.score.to_bits())).collect::<Vec<_>>()
    };
    let want = ask(&whole);
    assert_eq!(want.len(), 26);
    assert_eq!(ask(&pieces), want, "grown turn by turn");
    let id = pieces.resolve("pi:s").unwrap().conversation.id;
    assert!(
        read_all(|page| pieces.store().segments(id, page)).unwrap().len() < 20,
        "small segments are merged"
    );
    pieces.store().drop_segments(id).unwrap();
    assert_eq!(ask(&pieces), want, "without an index");
    pieces.maintain_index(id).unwrap();
    assert_eq!(
        read_all(|page| pieces.store().segments(id, page)).unwrap(),
        [],
        "too few entries for a segment"
    );
    pieces.reindex(id).unwrap();
    assert_eq!(ask(&pieces), want, "built again");
    assert_eq!(pieces.verify(&mut |_, _| ()).unwrap().problems, []);
}

#[test]
fn grep_finds_bytes_escaped_and_not() {
    let (engine, _folder) = engine();
    let big = format!("{} NEEDLE-42 {}", "hay ".repeat(8000), "stack ".repeat(8000));
    import(&engine, "one", &["first line\nsecond \"quoted\" line", &big, "Straße ÄÖÜ"]);
    let table = [
        ("line\\nsecond", 1, "across an escaped newline"),
        ("\"quoted\"", 1, "an escaped quote"),
        (r#"\\"quoted\\""#, 1, "as it stands in the file"),
        ("NEEDLE-[0-9]+", 1, "inside a large part that is stored apart"),
        ("\"user\".*NEEDLE", 0, "the needle is the model's"),
        ("\"assistant\".*NEEDLE.*stopReason", 1, "into a large part and out of it"),
        ("text\":\"hay hay", 1, "across the edge of a large part"),
        ("stack \"}", 1, "across its other edge"),
        ("ÄÖ", 1, "not ASCII"),
        ("needle", 0, "case counts"),
        ("\"type\":\"session\"", 1, "the header, which no model sees"),
    ];
    for (pattern, want, why) in table {
        let answer = engine.grep(&grep(pattern)).unwrap();
        assert_eq!(answer.matches.len(), want, "{why}: {pattern}");
        assert_eq!((answer.entries_searched, answer.entries_total), (4, 4), "{why}");
        assert!(!answer.stopped_at_limit && !answer.stopped_at_deadline, "{why}");
    }
    let found = engine.grep(&GrepQuery { ignore_case: true, ..grep("needle-42") }).unwrap().matches.remove(0);
    let file = exported(&engine, &found.conversation);
    assert_eq!(&file[found.bytes.start as usize..found.bytes.end as usize], b"NEEDLE-42");
    assert_eq!(&found.snippet[found.shown.clone()], "NEEDLE-42");
    let absent = engine.grep(&grep("Xylophone-9000")).unwrap();
    assert_eq!((absent.chunks_scanned, absent.entries_searched), (0, 4), "filters prove that it is nowhere");
    assert!(absent.chunks_total > 1);
    let literal = engine.grep(&GrepQuery { is_literal: true, ..grep("[0-9]+") }).unwrap();
    assert_eq!(literal.matches.len(), 0);
}

#[test]
fn f104_large_parts_are_searched_like_whole_entries() {
    let (engine, _folder) = engine();
    let filler = ["hay ".repeat(5000), "rye \n".repeat(4000), "oat\\ ".repeat(4500)];
    let ends = ["timeout", "zzz", "x", "zz\n", "\"timeout\"", "é", ""];
    let texts: Vec<String> = (0..42)
        .map(|n| format!("{}{}{}", ends[n % 7], filler[n % 3], ends[(n / 7 + n) % 7]))
        .chain(ends.iter().map(|end| format!("{end} short {end}")))
        .collect();
    import(&engine, "one", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let id = engine.resolve("one").unwrap().conversation.id;
    let raw = engine.store().raw(id, 0..u64::MAX).unwrap();
    let patterns = [
        r#"timeout"}"#,
        r#"timeout"}z"#,
        "timeout.{0,3}zzz",
        "timeout.{0,3}]",
        "timeout.*[a-z]{4}.*zzz",
        r#":"zz\n"#,
        r#"zzz"}.,".*timeout"#,
        r#""text":"é"#,
        r#"é"}"#,
        r#"\"timeout\"."#,
        r#"timeout\""}"#,
        r#"."x"#,
        r"(?i)TIMEOUT\W+STOP",
        "short.{1,4}timeout",
    ];
    for pattern in patterns {
        let found = engine.grep(&GrepQuery { limit: Some(10_000), ..grep(pattern) }).unwrap();
        assert!(!found.stopped_at_limit && found.entries_searched == found.entries_total, "{pattern}");
        let mut found: Vec<u64> = found.matches.iter().map(|one| one.seq.0).collect();
        found.dedup();
        let compiled = unforget_recall::grep::Pattern::new(pattern).unwrap();
        let matching = raw.iter().rev().filter(|entry| compiled.is_match(&entry.body));
        let want: Vec<u64> = matching.map(|entry| entry.seq.0).collect();
        assert_eq!(found, want, "{pattern}");
    }
}

#[test]
fn f104_grep_says_when_it_stopped() {
    let (engine, _folder) = engine();
    let texts: Vec<String> = (0..26).map(|n| format!("apple {n}")).collect();
    import(&engine, "one", &texts.iter().map(String::as_str).collect::<Vec<_>>());
    let few = engine.grep(&GrepQuery { limit: Some(5), ..grep("apple") }).unwrap();
    assert_eq!((few.matches.len(), few.stopped_at_limit), (5, true));
    assert!(few.matches.windows(2).all(|pair| pair[0].seq > pair[1].seq), "newest first");
    let exact = engine.grep(&GrepQuery { limit: Some(26), ..grep("apple") }).unwrap();
    assert_eq!((exact.matches.len(), exact.stopped_at_limit), (26, false));
    let late = engine.grep(&GrepQuery { deadline: Some(Duration::ZERO), ..grep("apple") }).unwrap();
    assert!(late.stopped_at_deadline && late.entries_searched < late.entries_total);
    for bad in ["(", "a**", "(?=x)", "x*", ""] {
        assert!(matches!(engine.grep(&grep(bad)), Err(EngineError::Usage { .. })), "{bad}");
    }
}

#[test]
fn expand_gives_every_byte_in_pages() {
    let (engine, _folder) = engine();
    let long = "word ".repeat(3000);
    import(&engine, "one", &["short", &long, "short again", "and the end"]);
    let id = engine.resolve("one").unwrap().conversation.id;
    for page_tokens in [1, 100, 1000, 100_000] {
        let (mut cursor, mut texts) = (None, std::collections::BTreeMap::<u64, String>::new());
        for pages in 0.. {
            assert!(pages < 1000, "pages end");
            let page = engine.expand(Some(id), "s:1-4", page_tokens, cursor.as_deref()).unwrap();
            assert!(page.tokens <= page_tokens.max(64), "a page of {page_tokens} has {}", page.tokens);
            for item in page.items {
                texts.entry(item.seq.0).or_default().push_str(&item.text);
            }
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let got: Vec<&str> = texts.values().map(String::as_str).collect();
        assert_eq!(got, ["short", long.as_str(), "short again", "and the end"], "{page_tokens}");
    }
    let one = engine.describe(None, "e:pi:one:2").unwrap();
    assert_eq!((one.kind, one.entries, one.span.0.0), ("entry", 1, 2));
    let raw = engine.expand_raw(Some(id), "s:1", 1).unwrap();
    assert!(raw[0].body.starts_with(b"{\"type\":\"message\""));
    for bad in ["", "s:", "s:9", "s:2-1", "e:nobody:1", "sum:1.2.3", "x:1", "s:1"] {
        assert!(engine.expand(None, bad, 100, None).is_err(), "{bad}");
    }
}

#[test]
fn many_entries_begin_with_an_outline() {
    let (engine, _folder) = engine();
    let long = format!("Never deploy on a Friday.\n{}", "some words more\n".repeat(1000));
    import(&engine, "one", &["The key is in src/vault.rs", &long, &long, "and the end"]);
    let page = |name: &str, tokens, cursor| engine.expand(None, name, tokens, cursor).unwrap();
    let first = page("e:pi:one:1-4", 300, None);
    let outline = first.outline.unwrap();
    let said: Vec<_> = outline.lines.iter().map(|line| (line.seq.0, line.text.as_str())).collect();
    assert_eq!(said.len(), 4, "an entry each: {said:?}");
    assert_eq!((said[0], said[3]), ((1, "The key is in src/vault.rs"), (4, "and the end")));
    assert!(said[1].1.starts_with("Never deploy on a Friday."), "{said:?}");
    assert_eq!((outline.entries, first.entries, first.items.len()), (4, 4, 0));
    assert_eq!(first.next.as_deref(), Some(VERBATIM));
    let words = page("e:pi:one:1-4", 300, Some(VERBATIM));
    assert_eq!((words.outline, words.items[0].text.as_str()), (None, "The key is in src/vault.rs"));
    let table = [
        ("e:pi:one:2", 300, "one entry"),
        ("e:pi:one:1-4", 200, "a page too small for an outline"),
        ("e:pi:one:1-4", 100_000, "all fit the page"),
    ];
    for (name, tokens, why) in table {
        assert_eq!(page(name, tokens, None).outline, None, "{why}");
    }
}

#[test]
fn grep_takes_any_deadline() {
    let (engine, _folder) = engine();
    import(&engine, "one", &["alpha", "beta"]);
    for deadline in [Duration::MAX, Duration::from_secs(u64::MAX / 2)] {
        let found = engine.grep(&GrepQuery { deadline: Some(deadline), ..grep("alpha") }).unwrap();
        assert_eq!((found.matches.len(), found.stopped_at_deadline), (1, false));
    }
}

#[test]
fn resolve_takes_what_people_write() {
    let (engine, _folder) = engine();
    for id in ["abc-1", "abc-2", "xyz", "of/call-1", "of/call-10"] {
        import(&engine, id, &["hello"]);
    }
    for (name, want) in [
        ("pi:abc-1", "pi:abc-1"),
        ("abc-2", "pi:abc-2"),
        ("xy", "pi:xyz"),
        ("pi:x", "pi:xyz"),
        ("call-1", "pi:of/call-1"),
    ] {
        assert_eq!(engine.resolve(name).unwrap().conversation.key.0, want, "{name}");
    }
    let both = engine.resolve("xyz#2@1").unwrap();
    assert_eq!((both.thread.0, both.snapshot), (2, Some(1)));
    assert!(
        matches!(engine.resolve("abc"), Err(EngineError::Ambiguous { candidates, .. }) if candidates.len() == 2)
    );
    let near = |name: &str| match engine.resolve(name) {
        Err(EngineError::NoConversation { near, .. }) => near,
        other => panic!("{other:?}"),
    };
    assert_eq!(near("abc-9"), ["pi:abc-1", "pi:abc-2"]);
    assert_eq!(near(""), Vec::<String>::new());
}

#[test]
fn real_sessions_are_searched_and_grepped_like_their_files() {
    let Some(data) = data() else { return };
    let (engine, _folder) = engine();
    let mut files = Vec::new();
    for file in
        files_below(&data.join("claude-code-viewer")).into_iter().chain(files_below(&data.join("pi-mono")))
    {
        if let Ok(done) = engine.import_file(&file, &mut |_| ()) {
            files.push((done.conversation, fs::read(&file).unwrap()));
        }
    }
    files.dedup_by(|a, b| a.0 == b.0);
    let all = GrepQuery { limit: Some(1_000_000), ..grep("permission") };
    let answer = engine.grep(&all).unwrap();
    let in_stores: usize = answer.matches.len();
    assert!(in_stores > 0 && answer.entries_searched == answer.entries_total);
    for found in &answer.matches {
        let Some((_, file)) = files.iter().find(|(key, _)| *key == found.conversation) else { continue };
        if file.len() as u64 >= found.bytes.end {
            let bytes = &file[found.bytes.start as usize..found.bytes.end as usize];
            if bytes == b"permission" {
                continue;
            }
        }
        // The other version of the session contains it.
        let stored = engine.expand_raw(None, &format!("e:{}:{}", found.conversation, found.seq), 1).unwrap();
        assert!(stored[0].body.windows(10).any(|window| window == b"permission"), "{found:?}");
    }
}
