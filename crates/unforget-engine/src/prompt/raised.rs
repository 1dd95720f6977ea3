//! Entries that people put back, as a block behind the summaries. They are quoted: a call stands there as text with its
//! result, so that no rule of a dialect depends on them.

use std::collections::BTreeSet;
use std::ops::Range;

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::group::{Group, Item};
use unforget_core::id::Seq;
use unforget_core::message::{Block, Message, Speaker};
use unforget_core::raised::{RaisedCount, RaisedSpan, newest_within, wanted};
use unforget_core::tokens::Tokens;
use unforget_text::{excerpt, fence_passage, media_stub, redact};

use super::Shape;
use super::cover::Cover;
use super::pieces::{PromptPiece, handle, result_cap, weigh};
use super::source::Source;
use crate::error::EngineError;

/// First words of the block.
const HEAD: &str = "[A person put these entries of the record back: they stand here as they were, in their order, and \
    outside the summaries. Their calls were carried out then.]";

/// Number of entries on both sides of a span that are looked through for the other half of a call and its result.
const BESIDE: usize = 64;

/// An entry that the block shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RaisedEntry {
    pub(super) seq: Seq,
    /// Whether a text of it is cut.
    pub(super) is_short: bool,
    /// Its part of the expected tokens of its group.
    pub(super) tokens: u64,
}

/// The raised entries of a session's prompts.
#[derive(Clone, Debug, Default)]
pub(super) struct RaisedBlock {
    spans: Vec<RaisedSpan>,
    /// The end of the summaries and the carried message for which it was made.
    of: (Option<Seq>, Option<Seq>),
    /// `None` if nothing is shown.
    piece: Option<PromptPiece>,
    /// Ascending.
    shown: Vec<RaisedEntry>,
    left_out: u64,
}

/// A group in quotes.
struct QuotedGroup {
    texts: Vec<String>,
    entries: Vec<RaisedEntry>,
    upper: u64,
}

/// What of the wanted entries fits.
#[derive(Default)]
struct Fitted {
    groups: Vec<QuotedGroup>,
    /// Entries without room.
    left_out: Vec<Seq>,
}

impl RaisedBlock {
    /// The block of these spans behind the summaries of a cover.
    ///
    /// Cost: O(rows between the first raised entry and the end of the summaries), and reading the entries that fit.
    pub(super) fn new(spans: Vec<RaisedSpan>, cover: &Cover, source: &Source) -> Result<Self, EngineError> {
        Self::behind(spans, cover.boundary(), cover.context().carried, source)
    }

    /// The block of these spans behind summaries that end at an entry and carry a message.
    pub(super) fn behind(
        spans: Vec<RaisedSpan>,
        end: Option<Seq>,
        carried: Option<Seq>,
        source: &Source,
    ) -> Result<Self, EngineError> {
        let of = (end, carried);
        let ranges = wanted(&spans, of.0, of.1);
        let (Some(from), Some(covered)) = (ranges.iter().map(|range| range.start).min(), of.0) else {
            return Ok(Self { spans, of, ..Self::default() });
        };
        let path = source.covered_path(from, covered, BESIDE)?;
        let shape = source.shape();
        let head = weigh(
            vec![message(vec![HEAD.to_owned(), rest(&[Seq(from), covered])])],
            Vec::new(),
            false,
            shape,
        );
        let mut room = shape.policy.raised.saturating_sub(head.tokens.upper);
        let mut fitted = Fitted::default();
        let mut seen: BTreeSet<Seq> = of.1.into_iter().collect();
        for range in ranges {
            fitted.take(&path, range, &mut RoomLeft { room: &mut room, seen: &mut seen }, source)?;
        }
        Ok(Self { spans, of, ..fitted.block(shape) })
    }

    /// Whether the block is that of these spans and this cover.
    pub(super) fn is_of(&self, spans: &[RaisedSpan], cover: &Cover) -> bool {
        self.spans == spans && (spans.is_empty() || self.of == place(cover))
    }

    pub(super) fn spans(&self) -> &[RaisedSpan] {
        &self.spans
    }

    pub(super) const fn piece(&self) -> Option<&PromptPiece> {
        self.piece.as_ref()
    }

    pub(super) fn shown(&self) -> &[RaisedEntry] {
        &self.shown
    }

    /// Size of the block.
    pub(super) fn tokens(&self) -> Tokens {
        self.piece.as_ref().map(|piece| piece.tokens).unwrap_or_default()
    }

    /// Room for the block at a break: all of it if a span has entries that the break may cover.
    pub(super) fn planned(&self, shape: &Shape) -> Tokens {
        let grows = self.spans.iter().any(|raised| Some(raised.span.1) > self.of.0);
        if grows { Tokens::exact(shape.policy.raised) } else { self.tokens() }
    }

    /// What a prompt with the block shows of the raised entries.
    pub(super) fn count(&self) -> RaisedCount {
        let short = self.shown.iter().filter(|entry| entry.is_short).count() as u64;
        RaisedCount { whole: self.shown.len() as u64 - short, short, left_out: self.left_out }
    }

    /// What a prompt without the block shows of them.
    pub(super) fn count_without(&self) -> RaisedCount {
        RaisedCount { left_out: self.count().total(), ..RaisedCount::default() }
    }

    /// Whether another block has the same bytes.
    pub(super) fn is_same_text(&self, other: &Self) -> bool {
        self.piece.as_ref().map(|piece| piece.print) == other.piece.as_ref().map(|piece| piece.print)
    }
}

/// What decides which entries are covered.
fn place(cover: &Cover) -> (Option<Seq>, Option<Seq>) {
    (cover.boundary(), cover.context().carried)
}

/// What is left for further groups.
struct RoomLeft<'a> {
    /// In tokens.
    room: &'a mut u64,
    /// Entries that stand in the prompt already.
    seen: &'a mut BTreeSet<Seq>,
}

impl Fitted {
    /// Takes the newest groups of a range that fit.
    fn take(
        &mut self,
        path: &[CoveredRow],
        range: Range<u64>,
        left: &mut RoomLeft<'_>,
        source: &Source,
    ) -> Result<(), EngineError> {
        let shape = source.shape();
        let first = path.partition_point(|row| row.seq.0 < range.start);
        let end = path.partition_point(|row| row.seq.0 < range.end);
        let asked = path.get(first..end).unwrap_or_default();
        // No entry takes less than it weighs, up to the largest cut, so more cannot fit than are read.
        let mut most = *left.room;
        let read = newest_within(&mut most, asked.iter().rev().map(|row| row.least(shape)));
        let from = end - (read + 1).min(asked.len());
        let unread = path.get(first..from).unwrap_or_default().iter().filter(|row| row.is_visible);
        self.left_out.extend(unread.map(|row| row.seq));
        let beside =
            path.get(from.saturating_sub(BESIDE)..(end + BESIDE).min(path.len())).unwrap_or_default();
        let wanted = Seq(asked.get(from - first).map_or(range.end, |row| row.seq.0))..Seq(range.end);
        let mut quoted: Vec<QuotedGroup> = Vec::new();
        for group in source.covered_groups(beside)? {
            if group.items.iter().any(|item| wanted.contains(&item.seq)) {
                quoted.extend(quote(&group, left.seen, shape));
            }
        }
        let kept = newest_within(left.room, quoted.iter().rev().map(|group| group.upper));
        let kept = quoted.split_off(quoted.len() - kept);
        self.left_out.extend(quoted.iter().flat_map(|group| &group.entries).map(|entry| entry.seq));
        self.groups.extend(kept);
        Ok(())
    }

    /// The block, its groups in order. Tokens of a whole message may differ from those of its parts: what is too much goes,
    /// the oldest first.
    fn block(mut self, shape: &Shape) -> RaisedBlock {
        self.groups.sort_by_key(|group| group.entries.first().map(|entry| entry.seq));
        while !self.groups.is_empty() {
            let shown: Vec<RaisedEntry> =
                self.groups.iter().flat_map(|group| group.entries.iter().copied()).collect();
            self.left_out.retain(|seq| shown.iter().all(|entry| entry.seq != *seq));
            self.left_out.sort_unstable();
            self.left_out.dedup();
            let texts = self.groups.iter().flat_map(|group| group.texts.iter().cloned());
            let rest = Some(rest(&self.left_out)).filter(|_| !self.left_out.is_empty());
            let texts = std::iter::once(HEAD.to_owned()).chain(texts).chain(rest).collect();
            let is_short = shown.iter().any(|entry| entry.is_short);
            let piece = weigh(vec![message(texts)], Vec::new(), is_short, shape);
            if piece.tokens.upper <= shape.policy.raised {
                let left_out = self.left_out.len() as u64;
                return RaisedBlock { piece: Some(piece), shown, left_out, ..RaisedBlock::default() };
            }
            let gone = self.groups.remove(0);
            self.left_out.extend(gone.entries.iter().map(|entry| entry.seq));
        }
        RaisedBlock { left_out: self.left_out.len() as u64, ..RaisedBlock::default() }
    }
}

/// An entry of the path that summaries cover.
#[derive(Clone, Copy, Debug)]
pub(super) struct CoveredRow {
    pub(super) seq: Seq,
    /// Expected tokens as the store counts them.
    pub(super) tokens: u64,
    pub(super) is_visible: bool,
}

impl CoveredRow {
    /// What the entry takes at least in a block: a part of its tokens if they were estimated too high, or of its cut.
    fn least(&self, shape: &Shape) -> u64 {
        (self.tokens / 4).min(shape.policy.result_share_min() / 4).max(1)
    }
}

/// A message of ours, without entries of its own: they are counted with the summaries.
fn message(texts: Vec<String>) -> Message {
    let blocks = texts.into_iter().map(Block::Ours).collect();
    Message { speaker: Speaker::User, blocks, model: None, seqs: Vec::new() }
}

/// The line that tells what has no room.
fn rest(left_out: &[Seq]) -> String {
    let (first, last) = (left_out.iter().min(), left_out.iter().max());
    let at = first.zip(last).map(|(first, last)| handle(*first, *last)).unwrap_or_default();
    format!("[{} more entries were put back and have no room here: expand {at}]", left_out.len())
}

/// A group in quotes, without the entries that were seen before.
fn quote(group: &Group, seen: &mut BTreeSet<Seq>, shape: &Shape) -> Option<QuotedGroup> {
    let cap = result_cap(group, shape);
    let (mut texts, mut entries) = (Vec::new(), Vec::new());
    for Item { seq, entry } in &group.items {
        // A host brings volatile input again itself as long as it counts.
        if entry.origin == Origin::Volatile || !seen.insert(*seq) {
            continue;
        }
        let (said, is_short) = quoted_entry(*seq, entry, cap, shape);
        if !said.is_empty() {
            texts.push(said);
            entries.push(RaisedEntry { seq: *seq, is_short, tokens: 0 });
        }
    }
    if texts.is_empty() {
        return None;
    }
    let weight = weigh(vec![message(texts.clone())], Vec::new(), false, shape).tokens;
    let each = weight.expected / entries.len() as u64;
    for entry in &mut entries {
        entry.tokens = each;
    }
    Some(QuotedGroup { texts, entries, upper: weight.upper })
}

/// An entry in quotes, and whether a text of it is cut. Empty if it says nothing.
fn quoted_entry(seq: Seq, entry: &Entry, cap: u64, shape: &Shape) -> (String, bool) {
    let at = handle(seq, seq);
    let (mut said, mut is_short) = (Vec::new(), false);
    for part in &entry.parts {
        let text = match part {
            Part::Text(text) => text.clone(),
            Part::ToolCall(call) => format!("calls {} {}", call.name, call.arguments),
            Part::ToolResult(result) => {
                format!("result of {}: {}", result.name, text_of(&result.content))
            }
            Part::Media(media) => media_stub(media, &at),
            Part::Thinking { .. } | Part::Opaque { .. } => continue,
        };
        if text.trim().is_empty() {
            continue;
        }
        let text = redact(&text);
        let short = excerpt(&text, cap, &shape.ruler, &at);
        is_short |= short != *text;
        said.push(short);
    }
    if said.is_empty() {
        return (String::new(), false);
    }
    (fence_passage("entry", &[("id", &at), ("role", entry.role.name())], &said.join("\n")), is_short)
}

/// The text of a result.
fn text_of(content: &[Part]) -> String {
    let texts = content.iter().filter_map(|part| match part {
        Part::Text(text) => Some(text.as_str()),
        Part::Opaque { raw, .. } => Some(raw),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
