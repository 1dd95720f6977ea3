//! Texts cut into pieces that a small model reads whole.

use unforget_core::estimate::ClassEstimate;
use unforget_core::tokens::Ruler as _;

/// Most tokens of a piece, by our estimate. Small models read 256 pieces of words, of which code and names take more
/// than they take tokens of a large model.
pub const PIECE_TOKENS: u64 = 200;

/// Where a text may be cut, best first.
const SEAMS: [&str; 4] = ["\n\n", "\n", ". ", " "];

/// Cuts a text into pieces of nearly equal length with about [`PIECE_TOKENS`] tokens each, at the ends of paragraphs,
/// lines, sentences or words where there are any. What is behind the piece with number `most` is left out.
///
/// Cost: O(text).
pub fn pieces(text: &str, most: usize) -> Vec<&str> {
    let text = text.trim();
    if text.is_empty() || most == 0 {
        return Vec::new();
    }
    let count = ClassEstimate.count(text).expected.div_ceil(PIECE_TOKENS).max(1) as usize;
    let length = text.len().div_ceil(count).max(1);
    let mut pieces = Vec::with_capacity(count.min(most));
    let mut rest = text;
    while pieces.len() < most && !rest.is_empty() {
        let (piece, after) =
            rest.split_at(if rest.len() <= length + length / 4 { rest.len() } else { seam(rest, length) });
        if !piece.trim().is_empty() {
            pieces.push(piece.trim());
        }
        rest = after.trim_start();
    }
    pieces
}

/// Where a text that is longer than `length` bytes is cut: behind the last seam of the last third, or anywhere.
fn seam(text: &str, length: usize) -> usize {
    let end = (0..=length.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let from = (0..=end - end / 3).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default();
    let part = text.get(from..end).unwrap_or_default();
    let found = SEAMS.iter().find_map(|seam| part.rfind(seam).map(|at| from + at + seam.len()));
    let first = text.chars().next().map_or(1, char::len_utf8);
    found.unwrap_or(end).max(first).min(text.len())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pieces_table() {
        let sentence =
            "The build of the parser failed because the grammar was not regenerated after the merge. ";
        let table = [
            (String::new(), 0, "nothing"),
            (" \n ".to_owned(), 0, "only space"),
            ("short".to_owned(), 1, "a short text is whole"),
            (sentence.repeat(20), 2, "a long one is cut"),
            (sentence.repeat(2000), 8, "a very long one is cut off"),
            ("x".repeat(20_000), 8, "without any seam"),
        ];
        for (text, want, why) in table {
            assert_eq!(pieces(&text, 8).len(), want, "{why}");
        }
        let text = sentence.repeat(20);
        assert!(pieces(&text, 8).iter().all(|piece| piece.ends_with("merge.")), "cut between sentences");
    }

    proptest! {
        #[test]
        fn pieces_are_the_text_without_space_between_them(text in "(\\PC|[ \n.]){0,3000}") {
            let plain = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
            let all = pieces(&text, usize::MAX);
            prop_assert_eq!(plain(&all.concat()), plain(&text));
            prop_assert!(all.iter().all(|piece| !piece.is_empty()));
        }
    }
}
