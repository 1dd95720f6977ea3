#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use proptest::prelude::*;
use unforget_core::entry::Role;
use unforget_core::id::Timestamp;

use super::*;
use crate::fields::{DocTerms, author_term, role_term};
use crate::segment::{Segment, SegmentBuilder, SegmentError, SegmentReader};
use crate::select::{collapse, sketch, take_within};
use crate::source::{MemoryIndex, SegmentIndex};
use crate::terms::Analyser;

const DAY: i64 = 86_400_000;

/// One entry per line, `author: text`, one per day from 2023-05-01, alternately user and assistant.
fn docs(lines: &[&str]) -> Vec<DocTerms> {
    let mut analyser = Analyser::new();
    let docs = (0_i64..).zip(lines).map(|(day, line)| {
        let (author, text) = line.split_once(": ").unwrap_or(("", line));
        let mut doc = DocTerms::new();
        doc.text(&mut analyser, text);
        doc.author(&mut analyser, author);
        doc.role(if day % 2 == 0 { Role::User } else { Role::Assistant });
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
    assert_eq!(order(&TALK, "cat"), [7, 6, 5, 4, 3]);
    assert_eq!(order(&TALK, "\"cat\""), [7], "quoted");
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
fn scope_is_a_filter() {
    let table = [(role_term(Role::Assistant), 1), (author_term("BOB"), 1)];
    for (term, odd) in table {
        let Ok(ranked) =
            search(&query("garden roses dog").only([term]), &mut memory(&TALK), &Limits::default());
        assert!(!ranked.hits.is_empty() && ranked.hits.iter().all(|hit| hit.seq % 2 == odd));
        assert_eq!(ranked.searched, 4);
    }
}

#[test]
fn budget_and_copies() {
    let hits: Vec<Hit> = (0..4).map(|seq| Hit { seq, score: 4.0 - seq as f32 }).collect();
    let taken = take_within(&hits, |seq| [50, 100, 30, 20][seq as usize], 100);
    assert_eq!((taken.hits.len(), taken.tokens, taken.left_out), (3, 100, 1), "the large one is passed over");
    let texts =
        ["the build failed at step four of nine", "The build FAILED at step four of nine!", "ok", "ok"];
    let mut analyser = Analyser::new();
    let groups = collapse(&hits, |seq| sketch(&mut analyser, texts[seq as usize])).hits;
    let got: Vec<(u64, Vec<u64>)> = groups.into_iter().map(|(hit, copies)| (hit.seq, copies)).collect();
    assert_eq!(got, [(0, vec![1]), (2, vec![]), (3, vec![])], "short texts are not copies");
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
