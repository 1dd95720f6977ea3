#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::fields::DocTerms;
use crate::terms::{Analyser, Term};

type Lists = BTreeMap<Term, Vec<(u64, u32)>>;

fn build(docs: &[(u64, String)]) -> Option<Segment> {
    let (mut analyser, mut doc, mut builder) = (Analyser::new(), DocTerms::new(), SegmentBuilder::new());
    for (seq, text) in docs {
        doc.clear();
        doc.text(&mut analyser, text);
        builder.add(*seq, &doc).unwrap();
    }
    builder.finish()
}

fn expected(docs: &[(u64, String)]) -> Lists {
    let (mut analyser, mut doc, mut lists) = (Analyser::new(), DocTerms::new(), Lists::new());
    for (seq, text) in docs {
        doc.clear();
        doc.text(&mut analyser, text);
        for &(term, count) in doc.terms() {
            lists.entry(term).or_default().push((*seq, count.min(15)));
        }
    }
    lists
}

fn lookup(segment: &Segment, term: Term) -> Result<Vec<(u64, u32)>, SegmentError> {
    let reader = SegmentReader::parse(&segment.header)?;
    let mut out = Vec::new();
    for block in reader.blocks_for(term) {
        let bytes = segment.blocks.get(block).map_or(&[][..], Vec::as_slice);
        reader.postings(term, block, bytes, &mut out)?;
    }
    Ok(out.iter().map(|p| (reader.seq(p.doc).unwrap(), p.count)).collect())
}

fn check(segment: &Segment, lists: &Lists) {
    for (&term, list) in lists {
        assert_eq!(&lookup(segment, term).unwrap(), list);
    }
    let reader = SegmentReader::parse(&segment.header).unwrap();
    assert_eq!(reader.terms(), lists.len() as u64);
    assert!(lookup(segment, Term::exact(b"\x01not there")).unwrap().is_empty());
}

fn docs_strategy() -> impl Strategy<Value = Vec<(u64, String)>> {
    prop::collection::vec((1_u64..4, "([a-e]{1,2} ){0,8}"), 1..40).prop_map(|docs| {
        let mut seq = 0;
        docs.into_iter()
            .map(|(gap, text)| {
                seq += gap;
                (seq, text)
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn what_is_built_is_read(docs in docs_strategy()) {
        check(&build(&docs).unwrap(), &expected(&docs));
    }

    /// Merging the segments of a split gives exactly the bytes of the segment of the whole.
    #[test]
    fn merge_equals_building_at_once(docs in docs_strategy(), cut in 0_usize..40, cut2 in 0_usize..40) {
        let (a, b) = (cut.min(cut2).min(docs.len()), cut.max(cut2).min(docs.len()));
        let parts: Vec<Segment> =
            [&docs[..a], &docs[a..b], &docs[b..]].into_iter().filter_map(build).collect();
        prop_assert_eq!(merge(&parts).unwrap(), build(&docs));
    }

    /// Damaged bytes give an error or other postings, never a panic or too many documents.
    #[test]
    fn hostile_bytes_never_panic(
        docs in docs_strategy(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        in_header: bool,
        cut in any::<prop::sample::Index>(),
    ) {
        let mut segment = build(&docs).unwrap();
        // Documents without words have no block.
        let bytes = match segment.blocks.first_mut() {
            Some(block) if !in_header => block,
            _ => &mut segment.header,
        };
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if cut.index(3) == 0 {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(reader) = SegmentReader::parse(&segment.header) {
            for term in expected(&docs).into_keys() {
                let mut out = Vec::new();
                for block in reader.blocks_for(term) {
                    let bytes = segment.blocks.get(block).map_or(&[][..], Vec::as_slice);
                    let _ = reader.postings(term, block, bytes, &mut out);
                }
                prop_assert!(out.iter().all(|p| p.doc < reader.docs() && reader.seq(p.doc).is_some()));
            }
        }
        drop(merge(std::slice::from_ref(&segment)));
    }

    #[test]
    fn random_headers_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let mut header = vec![VERSION];
        header.extend(bytes);
        drop(SegmentReader::parse(&header));
    }

    #[test]
    fn length_classes_round_down_by_an_eighth_at_most(length: u32) {
        let back = class_length(length_class(length));
        prop_assert!(back <= length && u64::from(length) * 8 <= u64::from(back) * 9 + 8);
    }
}

#[test]
fn long_lists_span_blocks_and_merge() {
    let docs: Vec<(u64, String)> = (0..40_000).map(|seq| (seq, format!("common w{}", seq % 7000))).collect();
    let whole = build(&docs).unwrap();
    assert!(whole.blocks.len() > 4);
    assert!(whole.blocks.iter().all(|block| block.len() < 2 * BLOCK_BYTES));
    check(&whole, &expected(&docs));
    let parts = [build(&docs[..100]).unwrap(), build(&docs[100..]).unwrap()];
    let merged = merge(&parts).unwrap().unwrap();
    check(&merged, &expected(&docs));
}

#[test]
fn order_table() {
    let mut builder = SegmentBuilder::new();
    let doc = DocTerms::new();
    builder.add(5, &doc).unwrap();
    for (seq, why) in [(5, "same entry twice"), (4, "an older entry")] {
        assert_eq!(builder.add(seq, &doc), Err(SegmentError::Order { seq, last: 5 }), "{why}");
    }
    builder.add(9, &doc).unwrap();
    let segment = builder.finish().unwrap();
    assert_eq!(segment.seqs, 5..10);
    let reader = SegmentReader::parse(&segment.header).unwrap();
    assert_eq!((reader.doc(5), reader.doc(6), reader.doc(9), reader.doc(4)), (Some(0), None, Some(1), None));
    assert_eq!(merge(&[segment.clone(), segment]), Err(SegmentError::Order { seq: 5, last: 9 }));
    assert_eq!(merge(&[]), Ok(None));
    assert_eq!(SegmentBuilder::new().finish(), None);
}
