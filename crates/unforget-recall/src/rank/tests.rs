#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::prelude::*;
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;

use super::*;
use crate::fields::{DocTerms, author_term, role_term};
use crate::segment::{Segment, SegmentBuilder, SegmentError, SegmentReader};
use crate::select::sketch;
use crate::source::{MemoryIndex, SegmentIndex};
use crate::terms::Analyser;

const DAY: i64 = 86_400_000;

/// One entry per line, `author: text`, one per day from 2023-05-01; without an author alternately of user and assistant.
fn docs(lines: &[&str]) -> Vec<DocTerms> {
    let mut analyser = Analyser::new();
    let docs = (0_i64..).zip(lines).map(|(day, line)| {
        let (author, text) = line.split_once(": ").unwrap_or(("", line));
        let mut doc = DocTerms::new();
        doc.text(&mut analyser, text);
        doc.author(&mut analyser, author);
        doc.role(match (author, day % 2) {
            ("", 0) => Role::User,
            ("", _) => Role::Assistant,
            _ => Role::None,
        });
        doc.time(Timestamp(19_478 * DAY + day * DAY));
        doc
    });
    docs.collect()
}

fn memory(lines: &[&str]) -> MemoryIndex {
    let mut index = MemoryIndex::new();
    for (seq, doc) in (0..).zip(docs(lines)) {
        index.add(seq, &doc).unwrap();
    }
    index
}

fn query(text: &str) -> Query {
    Query::parse(&mut Analyser::new(), text, Some(Timestamp(19_486 * DAY))).unwrap()
}

fn order(lines: &[&str], text: &str) -> Vec<u64> {
    let Ok(ranked) = search(&query(text), &mut memory(lines), &Limits::default());
    ranked.hits.iter().map(|hit| hit.seq).collect()
}

const TALK: [&str; 8] = [
    "Ann: I planted roses in the garden",
    "Bob: Nice. How is the dog?",
    "Ann: Lovely weather for it",
    "Bob: The build of src/main.rs fails with E0308",
    "Ann: Did you see the garden of Bob?",
    "Bob: A dog dug up my garden",
    "Ann: Poor roses",
    "Bob: We adopted a cat",
];

#[test]
fn first_hit_table() {
    let table = [
        ("planting roses", 0, "stems"),
        ("src/main.rs", 3, "identifier"),
        ("error E0308", 3, "a word that nobody said does no harm"),
        ("what did Bob say about his garden", 5, "who is named is likelier to have said it"),
        ("what did we say yesterday", 7, "a day"),
        ("cats", 7, "plural"),
    ];
    for (text, want, why) in table {
        assert_eq!(order(&TALK, text).first(), Some(&want), "{why}: {text}");
    }
}

#[test]
fn neighbours_of_words_follow_but_not_of_identifiers() {
    assert_eq!(order(&TALK, "adopt")[..2], [7, 6]);
    assert_eq!(order(&TALK, "\"adopt\""), [7], "quoted");
    assert_eq!(order(&TALK, "E0308"), [3], "identifier");
}

#[test]
fn receipts_count_what_was_searched() {
    let mut index = memory(&TALK);
    let limits = Limits { hits: 1, accept: &|seq| seq < 6, ..Limits::default() };
    let Ok(ranked) = search(&query("garden zebra"), &mut index, &limits);
    assert_eq!((ranked.hits.len(), ranked.searched, ranked.total, ranked.unknown.len()), (1, 6, 8, 1));
    assert!(ranked.matched > 1, "what is not shown is counted");
    let Ok(none) = search(&query("zebra"), &mut index, &Limits::default());
    assert_eq!((none.hits.len(), none.matched, none.searched), (0, 0, 8), "evidence of absence");
    let Ok(empty) = search(&query("zebra"), &mut MemoryIndex::new(), &Limits::default());
    assert_eq!((empty.hits.len(), empty.total), (0, 0));
}

#[test]
fn an_entry_matches_by_a_word_of_the_query_only() {
    // Query, hits with a term, others, reason.
    let table = [
        ("E0308", 1, 0, "an identifier lends nothing to its neighbours"),
        ("weather", 1, 7, "neighbours of the word"),
        ("zebra", 0, 0, "nobody said so"),
    ];
    for (text, with_term, others, why) in table {
        let Ok(ranked) = search(&query(text), &mut memory(&TALK), &Limits::default());
        let has_term = ranked.hits.iter().filter(|hit| hit.has_term).count() as u64;
        assert_eq!((ranked.matched, has_term), (with_term, with_term), "{why}: {text}");
        assert!(
            ranked.nearby <= others && (ranked.nearby > 0) == (others > 0),
            "{why}: {text}: {}",
            ranked.nearby
        );
    }
}

#[test]
fn scope_is_a_filter() {
    let spoken = TALK.map(|line| line.split_once(": ").map_or(line, |(_, text)| text));
    let table = [(role_term(Role::Assistant), &spoken, 1), (author_term("BOB"), &TALK, 1)];
    for (term, lines, odd) in table {
        let Ok(ranked) =
            search(&query("garden roses dog").only([term]), &mut memory(lines), &Limits::default());
        assert!(!ranked.hits.is_empty() && ranked.hits.iter().all(|hit| hit.seq % 2 == odd));
        assert_eq!(ranked.searched, 4);
    }
}

#[test]
fn copies_are_known() {
    let table = [
        (
            "the build failed at step four of nine",
            "The build FAILED at step four of nine!",
            true,
            "case and marks",
        ),
        (
            "the build failed at step four of nine",
            "the tests passed at step one of two",
            false,
            "other words",
        ),
        ("ok", "ok", false, "too short to prove a copy"),
        (
            "staging listens on port 6432 behind the proxy of the second rack",
            "staging listens on port 5432 behind the proxy of the second rack",
            false,
            "another number",
        ),
        (
            "moved from port 6432 to port 5432 behind the proxy of the second rack",
            "moved from port 5432 to port 6432 behind the proxy of the second rack",
            false,
            "numbers in another order",
        ),
        (
            "the tests of src/read.rs failed again and again behind the second gate",
            "the tests of src/write.rs failed again and again behind the second gate",
            false,
            "another path",
        ),
        (
            "call parseHead before the body is read and again behind every later part",
            "call parseTail before the body is read and again behind every later part",
            false,
            "another identifier",
        ),
        (
            "please ask Alice for the key of the staging machine before you deploy there",
            "please ask Robert for the key of the staging machine before you deploy there",
            false,
            "another name",
        ),
        (
            "the second build of src/read.rs took 42 seconds, which is far too long for us",
            "the second build of src/read.rs took 42 seconds, which is much too long for us",
            true,
            "another word, and the facts are the same",
        ),
    ];
    let mut analyser = Analyser::new();
    for (one, two, want, why) in table {
        let sketches = sketch(&mut analyser, one).zip(sketch(&mut analyser, two));
        assert_eq!(sketches.is_some_and(|(one, two)| one.is_near(&two)), want, "{why}");
    }
}

#[test]
fn overlapping_segments_are_refused() {
    let mut builder = SegmentBuilder::new();
    builder.add(3, &DocTerms::new()).unwrap();
    let segment = builder.finish().unwrap();
    let reader = || SegmentReader::parse(&segment.header).unwrap();
    let fetch = |_, _| Ok::<_, SegmentError>(Vec::new());
    let twice = SegmentIndex::new(vec![reader(), reader()], MemoryIndex::new(), fetch);
    assert_eq!(twice.err(), Some(SegmentError::Order { seq: 3, last: 3 }));
    let mut tail = MemoryIndex::new();
    tail.add(2, &DocTerms::new()).unwrap();
    assert!(SegmentIndex::new(vec![reader()], tail, fetch).is_err());
}

#[test]
fn a_failing_fetch_is_an_error_not_a_miss() {
    let mut builder = SegmentBuilder::new();
    builder.add(0, &docs(&["garden"])[0]).unwrap();
    let reader = SegmentReader::parse(&builder.finish().unwrap().header).unwrap();
    let fetch = |_, _| Err::<Vec<u8>, _>(SegmentError::Full);
    let mut index = SegmentIndex::new(vec![reader], MemoryIndex::new(), fetch).unwrap();
    assert_eq!(search(&query("garden"), &mut index, &Limits::default()), Err(SegmentError::Full));
}

proptest! {
    /// Cutting a history into segments and a tail changes neither hits nor scores.
    #[test]
    fn segments_and_memory_agree(
        lines in prop::collection::vec("(Ann|Bob): ([a-d]{3,4} ){1,6}", 1..30),
        cuts in prop::collection::vec(0_usize..30, 2),
        words in "([a-d]{3,4} ){1,4}",
    ) {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let docs = docs(&lines);
        let (a, b) = (cuts[0].min(cuts[1]).min(docs.len()), cuts[0].max(cuts[1]).min(docs.len()));
        let segments: Vec<Segment> = [0..a, a..b].into_iter().filter_map(|range| {
            let mut builder = SegmentBuilder::new();
            for at in range {
                builder.add(at as u64, &docs[at]).unwrap();
            }
            builder.finish()
        }).collect();
        let mut tail = MemoryIndex::new();
        for (at, doc) in docs.iter().enumerate().skip(b) {
            tail.add(at as u64, doc).unwrap();
        }
        let readers = segments.iter().map(|one| SegmentReader::parse(&one.header).unwrap()).collect();
        let fetch = |segment: usize, block: usize| Ok::<_, SegmentError>(segments[segment].blocks[block].clone());
        let mut index = SegmentIndex::new(readers, tail, fetch).unwrap();
        let query = query(&words);
        let Ok(want) = search(&query, &mut memory(&lines), &Limits::default());
        prop_assert_eq!(search(&query, &mut index, &Limits::default()).unwrap(), want);
    }

    /// F104: the entry that holds a rare word is the first hit for it.
    #[test]
    fn f104_a_rare_word_finds_its_entry(at in 0_usize..30, word in "[a-z]{2,8}[0-9]{2}") {
        let mut lines = vec!["Ann: some ordinary words of every day"; 30];
        let rare = format!("Bob: and then {word} again");
        lines[at] = &rare;
        prop_assert_eq!(order(&lines, &word), vec![at as u64]);
    }
}

#[test]
fn what_a_person_gives_back_is_first() {
    let lines = [
        "sleep",
        "dude sleep for five seconds, sleep again and sleep once more",
        "Done. I slept for five seconds.",
        "commit this",
        "commit the changes to this branch, then commit the tests and push this commit",
        "Committed.",
    ];
    for (text, want, why) in [
        ("sleep", 0, "the whole message, although others say the word more often"),
        ("commit this", 3, "two common words"),
        ("sleep again once more for five seconds", 1, "the only entry with all words"),
    ] {
        assert_eq!(order(&lines, text).first(), Some(&want), "{why}: {text}");
    }
}

#[test]
fn near_words_find_what_was_said_in_other_words() {
    let lines = [
        "the physician wrote a prescription for the fever",
        "noted",
        "we repaired the motorbike in the garage",
        "noted as well",
    ];
    for (text, want) in [("which doctor did I see", 0), ("fixing the motorcycle", 2)] {
        assert_eq!(order(&lines, text).first(), Some(&want), "{text}");
        assert_ne!(
            order(&lines, &format!("\"{text}\"")).first(),
            Some(&1),
            "quoted words are meant as they are"
        );
    }
    assert_eq!(order(&lines, "\"doctor\""), Vec::<u64>::new(), "quoted");
}

#[test]
fn failures_come_first_where_the_query_asks_for_them() {
    let mut analyser = Analyser::new();
    let mut index = MemoryIndex::new();
    for seq in 0..12 {
        let mut doc = DocTerms::new();
        let is_deploy = [0, 11].contains(&seq);
        doc.text(&mut analyser, if is_deploy { "the deploy of the shop" } else { "something else" });
        doc.role(Role::Tool);
        if seq == 0 {
            doc.failed();
        }
        index.add(seq, &doc).unwrap();
    }
    for (text, want) in [("which deploy failed", 0), ("when was the deploy", 11)] {
        let Ok(ranked) = search(&query(text), &mut index, &Limits::default());
        assert_eq!(ranked.hits.first().map(|hit| hit.seq), Some(want), "{text}");
    }
}

#[test]
fn meaning_finds_what_shares_no_word_and_matches_stay_exact() {
    let near = |document: u32| {
        let mut nearness = Nearness::none(TALK.len() as u32);
        (0..TALK.len() as u32)
            .for_each(|other| nearness.add(other, if other == document { 0.9 } else { 0.1 }));
        nearness
    };
    let found = |text: &str, nearness: Option<&Nearness>| {
        let limits = Limits { nearness, ..Limits::default() };
        let Ok(ranked) = search(&query(text), &mut memory(&TALK), &limits);
        ranked
    };
    let ranked = found("mauzi", Some(&near(7)));
    assert_eq!(ranked.hits.first().map(|hit| hit.seq), Some(7));
    assert_eq!((ranked.matched, ranked.unknown.len()), (0, 1), "no word matches");
    assert!(ranked.meant >= 1 && ranked.meant as usize == ranked.hits.len());
    let (by_words, both) = (found("planting roses", None), found("planting roses", Some(&near(7))));
    assert_eq!(
        (by_words.matched, by_words.nearby, by_words.meant),
        (both.matched, both.nearby, 0),
        "what matches does not depend on meaning"
    );
    assert_eq!(both.hits.first().map(|hit| hit.seq), Some(0), "the words of a good match stay first");
    assert_eq!(both.hits.len() as u64, both.matched + both.nearby + both.meant);
    let none = Nearness::none(TALK.len() as u32);
    assert_eq!(found("planting roses", Some(&none)), by_words, "without vectors nothing changes");
    let off = Limits { nearness: Some(&near(7)), tuning: Tuning::unasked(), ..Limits::default() };
    let Ok(off) = search(&query("mauzi"), &mut memory(&TALK), &off);
    assert_eq!(off.hits, [], "hits that nobody asked for");
}
