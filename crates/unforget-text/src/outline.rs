//! An outline of many entries within few tokens: what each of them says, in its own words.
//!
//! A span of entries is often ten times as long as a page. Reading it page by page costs ten calls; the outline costs
//! one, and says which entry to read whole. Each entry is cut into pieces, the most telling first ([`pieces`]). The
//! budget fills all entries evenly, like water: the next piece is always one of the entry that has the fewest tokens so
//! far. Nothing is reworded, so that no identifier is invented here.

mod pieces;
#[cfg(test)]
mod tests;
mod words;

use std::collections::HashSet;
use std::ops::Range;

use unforget_core::entry::{Entry, Role};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler as _;

use crate::anchors::anchors;
use crate::clip::one_line;
use pieces::pieces;
use words::words;

/// Stands between two pieces that are not neighbours.
const GAP: &str = " … ";

/// Tokens of a gap.
const GAP_TOKENS: u64 = 2;

/// Tokens of an entry's number and role.
const LABEL_TOKENS: u64 = 5;

/// An entry to be outlined.
#[derive(Clone, Copy, Debug)]
pub struct Outlined<'a> {
    /// Its place.
    pub seq: Seq,
    /// Its content.
    pub entry: &'a Entry,
}

/// The words of an entry that stand in an outline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineLine {
    /// Place of the entry.
    pub seq: Seq,
    /// Role of its speaker.
    pub role: Role,
    /// Pieces of its text on one line, in order, `…` between those that are not neighbours.
    pub text: String,
}

/// An entry's text, and how much of it is taken.
struct Cut {
    seq: Seq,
    role: Role,
    text: String,
    taken: Vec<Range<usize>>,
}

/// A piece of an entry, with its cost.
struct Offer {
    /// Tokens of the entry's pieces up to this one.
    level: u64,
    /// Index of the entry.
    of: usize,
    piece: Range<usize>,
    tokens: u64,
}

/// Outlines entries within a budget. An entry without words has no line, nor has one whose first piece finds no room.
///
/// * `told` - text that the reader has already: its identifiers are not repeated.
/// * `budget` - tokens of all lines, their numbers and roles included.
///
/// Cost: O(text + pieces × log pieces).
pub fn outline(entries: &[Outlined<'_>], told: &str, budget: u64) -> Vec<OutlineLine> {
    let mut seen: HashSet<String> = anchors(told).map(|anchor| anchor.text.to_owned()).collect();
    let (mut cuts, mut offers) = (Vec::with_capacity(entries.len()), Vec::new());
    for (of, one) in entries.iter().enumerate() {
        let text = words(one.entry);
        let mut level = LABEL_TOKENS;
        for piece in pieces(one.entry.role, &text, &mut seen) {
            if level > budget {
                break;
            }
            let words = text.get(piece.clone()).unwrap_or_default();
            let label = if level == LABEL_TOKENS { LABEL_TOKENS } else { 0 };
            let tokens = ClassEstimate.count(words).expected + GAP_TOKENS + label;
            level += tokens;
            offers.push(Offer { level, of, piece, tokens });
        }
        cuts.push(Cut { seq: one.seq, role: one.entry.role, text, taken: Vec::new() });
    }
    offers.sort_by_key(|offer| (offer.level, offer.of));
    let mut left = budget;
    for offer in offers {
        if let Some(cut) = cuts.get_mut(offer.of).filter(|_| offer.tokens <= left) {
            left -= offer.tokens;
            cut.taken.push(offer.piece);
        }
    }
    cuts.into_iter().filter_map(Cut::line).collect()
}

impl Cut {
    fn line(mut self) -> Option<OutlineLine> {
        self.taken.sort_by_key(|piece| (piece.start, piece.end));
        let mut text = String::new();
        let mut end = 0;
        for piece in self.taken.into_iter().filter(|piece| !piece.is_empty()) {
            let between = self.text.get(end..piece.start);
            let is_next = between.is_none_or(|between| between.chars().all(char::is_whitespace));
            match (text.is_empty(), is_next) {
                (true, _) => {}
                // Blanks that were left out, and nothing where the pieces overlap.
                (false, true) => text += between.unwrap_or_default(),
                (false, false) => text += GAP,
            }
            text += self.text.get(piece.start.max(end)..piece.end).unwrap_or_default();
            end = end.max(piece.end);
        }
        let text = one_line(&text);
        (!text.is_empty()).then_some(OutlineLine { seq: self.seq, role: self.role, text })
    }
}
