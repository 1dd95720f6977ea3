//! An outline of many entries within few tokens: what each of them says, in its own words.
//!
//! A span of entries is often ten times as long as a page. Reading it page by page costs ten calls; the outline costs
//! one, and says which entry to read whole. Each entry is cut into pieces, the most telling first ([`pieces`]). The
//! budget fills all entries evenly, like water: the next piece is always one of the entry that has the fewest tokens so
//! far. Nothing is reworded, so that no identifier is invented here.

mod pieces;
mod statements;
#[cfg(test)]
mod tests;
mod words;

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Role};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler as _;

use crate::anchors::{CUT, anchors};
use crate::clip::one_line;
use crate::discourse::is_intention;
use crate::secret::redact;
use crate::sections::Item;
use pieces::pieces;
use statements::{is_telling, recurring, shape, statement};
pub(crate) use words::words;

/// Stands between two pieces that are not neighbours.
pub(crate) const GAP: &str = " … ";

/// Tokens of a gap.
const GAP_TOKENS: u64 = 2;

/// Tokens of an entry's number and role.
const LABEL_TOKENS: u64 = 5;

/// Most excerpts of one shape from an entry.
const ALIKE_MAX: usize = 2;

/// Ends of sentences, and the mark of a cut.
const ENDS: [char; 8] = ['.', '!', '?', ':', ';', '。', '！', '？'];

/// An entry to be outlined.
#[derive(Clone, Copy, Debug)]
pub struct OutlineEntry<'a> {
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

/// What entries say, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outline {
    /// In order.
    pub lines: Vec<OutlineLine>,
    /// Number of entries with words that no line had room for.
    pub left_out: u64,
}

/// An entry's text, and how much of it is taken.
pub(crate) struct Cut {
    seq: Seq,
    origin: Origin,
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

/// Whole lines or sentences of entries in the order in which an outline would take their pieces, each once, and none
/// that says nothing by itself or recurs in several entries: at most half of all words.
///
/// * `most` - tokens of all.
///
/// Cost: O(text + pieces × log pieces).
pub(crate) fn excerpts(cuts: &[Cut], most: u64) -> Vec<Item> {
    let mut found = Vec::new();
    let words: u64 = cuts.iter().map(|cut| ClassEstimate.count(&cut.text).expected).sum();
    let budget = most.min(words / 2);
    let recurring = recurring(cuts);
    let mut seen = HashSet::new();
    let mut alike: HashMap<(usize, String), usize> = HashMap::new();
    let mut left = budget;
    for offer in offers(cuts, &mut HashSet::new(), budget) {
        let Some(cut) = cuts.get(offer.of) else { continue };
        let text = cut.excerpt(&statement(&cut.text, &offer.piece));
        let intends = cut.origin == Origin::Model && is_intention(&text);
        if intends || !is_telling(&text) || recurring.contains(&shape(&text)) || seen.contains(&text) {
            continue;
        }
        let tokens = ClassEstimate.count(&text).expected + GAP_TOKENS;
        // The rows of a table say little one by one.
        let alike = alike.entry((offer.of, shape(&text))).or_default();
        if tokens <= left && *alike < ALIKE_MAX {
            *alike += 1;
            left -= tokens;
            found.push(Item::new(text.clone(), cut.seq));
            seen.insert(text);
        }
    }
    found
}

/// Outlines entries within a budget. An entry without words has no line. Of more entries than lines fit, those at even
/// distances have one.
///
/// * `told` - text that the reader has already: its identifiers are not repeated.
/// * `budget` - tokens of all lines, their numbers and roles included.
///
/// Cost: O(text + pieces × log pieces).
pub fn outline(entries: &[OutlineEntry<'_>], told: &str, budget: u64) -> Outline {
    let mut seen: HashSet<String> = anchors(told).map(|anchor| anchor.text.to_owned()).collect();
    let cut = |one: &OutlineEntry<'_>| {
        let words = words(&one.entry.parts, |text| redact(text).into_owned());
        Cut::new(one.seq, one.entry.origin, words)
    };
    let mut cuts: Vec<Cut> = entries.iter().map(cut).collect();
    let mut left = budget;
    for offer in offers(&cuts, &mut seen, budget) {
        if let Some(cut) = cuts.get_mut(offer.of).filter(|_| offer.tokens <= left) {
            left -= offer.tokens;
            cut.taken.push(offer.piece);
        }
    }
    let speaking = cuts.iter().filter(|cut| !cut.text.trim().is_empty()).count();
    let role = |of: usize| entries.get(of).map(|one| one.entry.role);
    let lines: Vec<OutlineLine> =
        cuts.into_iter().enumerate().filter_map(|(of, cut)| cut.line(role(of)?)).collect();
    Outline { left_out: speaking.saturating_sub(lines.len()) as u64, lines }
}

/// The pieces of all texts, those first whose entry has the fewest tokens with them.
///
/// * `seen` - identifiers that are shown already; those of the texts are added.
/// * `budget` - tokens of all; an entry's pieces beyond that are left out.
fn offers(cuts: &[Cut], seen: &mut HashSet<String>, budget: u64) -> Vec<Offer> {
    let mut offers = Vec::new();
    for (of, cut) in cuts.iter().enumerate() {
        let mut level = LABEL_TOKENS;
        for piece in pieces(cut.origin, &cut.text, seen) {
            if level > budget {
                break;
            }
            let words = cut.text.get(piece.clone()).unwrap_or_default();
            let label = if level == LABEL_TOKENS { LABEL_TOKENS } else { 0 };
            let tokens = ClassEstimate.count(words).expected + GAP_TOKENS + label;
            level += tokens;
            offers.push(Offer { level, of, piece, tokens });
        }
    }
    let first: Vec<&Offer> =
        offers.iter().filter(|offer| offer.level == LABEL_TOKENS + offer.tokens).collect();
    let wanted: u64 = first.iter().map(|offer| offer.tokens).sum();
    if wanted > budget {
        // Entries at even distances, so that the span is told to its end.
        let (count, fitting) = (first.len() as u64, first.len() as u64 * budget / wanted);
        let is_kept = |at: u64| (at + 1) * fitting / count > at * fitting / count;
        let kept = first.iter().zip(0..).filter(|(_, at)| is_kept(*at));
        let kept: HashSet<usize> = kept.map(|(offer, _)| offer.of).collect();
        offers.retain(|offer| kept.contains(&offer.of));
    }
    offers.sort_by_key(|offer| (offer.level, offer.of));
    offers
}

impl Cut {
    /// * `text` - what the entry says, as [`words`] puts it.
    pub(crate) const fn new(seq: Seq, origin: Origin, text: String) -> Self {
        Self { seq, origin, text, taken: Vec::new() }
    }

    /// A piece on one line, with a mark where its sentence goes on.
    fn excerpt(&self, piece: &Range<usize>) -> String {
        let words = self.text.get(piece.clone()).unwrap_or_default().trim();
        let rest = self.text.get(piece.end..).unwrap_or_default().lines().next().unwrap_or_default();
        let is_cut = words.contains(' ') && !words.ends_with(ENDS) && !rest.trim().is_empty();
        let mut text = one_line(words);
        text.extend(is_cut.then_some(CUT));
        text
    }

    /// Place of the entry.
    pub(crate) const fn seq(&self) -> Seq {
        self.seq
    }

    fn line(mut self, role: Role) -> Option<OutlineLine> {
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
        (!text.is_empty()).then_some(OutlineLine { seq: self.seq, role, text })
    }
}
