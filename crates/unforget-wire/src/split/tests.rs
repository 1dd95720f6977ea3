//! Limits, set low so that the tests are fast.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use super::*;

/// Cuts a file with at most 16 bytes per record. Returns the pieces as text, and proves the partition.
fn cut(file: &str) -> (Vec<String>, String) {
    let mut splitter = FileSplitter::new(file.as_bytes(), 16);
    let (mut pieces, mut again) = (Vec::new(), Vec::new());
    while let Some(piece) = splitter.next_piece().unwrap() {
        again.extend_from_slice(&piece.lead);
        again.extend_from_slice(&piece.body);
        assert!(piece.body.len() <= 4096, "{piece:?}");
        pieces.push(String::from_utf8(piece.body).unwrap());
    }
    again.extend_from_slice(&splitter.trailer);
    assert_eq!(String::from_utf8(again).unwrap(), file);
    (pieces, String::from_utf8(splitter.trailer).unwrap())
}

#[test]
fn f093_a_line_without_end_is_cut() {
    let (pieces, trailer) = cut(&format!("{{\"a\":1}}\n{}\n{{\"b\":2}}\n", "x".repeat(40)));
    assert_eq!(pieces, ["{\"a\":1}", &"x".repeat(16), &"x".repeat(16), &"x".repeat(8), "{\"b\":2}"]);
    assert_eq!(trailer, "\n");
}

#[test]
fn f093_a_line_without_newline_is_cut_and_its_rest_may_grow() {
    let (pieces, trailer) = cut(&format!("{{\"a\":1}}\n{}", "x".repeat(40)));
    assert_eq!(pieces, ["{\"a\":1}", &"x".repeat(16), &"x".repeat(16)]);
    assert_eq!(trailer, "x".repeat(8));
}

#[test]
fn blank_lines_without_end_are_cut() {
    let (pieces, _) = cut(&format!("{{\"a\":1}}\n{}{{\"b\":2}}\n", "\n".repeat(40)));
    assert_eq!(pieces.first().map(String::as_str), Some("{\"a\":1}"));
    assert_eq!(pieces.last().map(String::as_str), Some("{\"b\":2}"));
    assert!(pieces.len() > 2, "{pieces:?}");
}

#[test]
fn a_document_with_a_part_too_long_goes_on_behind_it() {
    let (pieces, _) = cut(&format!("[{{\"a\":1}},{{\"b\":\"{}\"}},{{\"c\":3}}]", "x".repeat(100)));
    assert_eq!(pieces.first().map(String::as_str), Some("{\"a\":1}"));
    assert_eq!(pieces.last().map(String::as_str), Some("{\"c\":3}"));
}
