//! The pieces of a request in order.

use unforget_core::admit::{Cover as EntryCover, Sections};
use unforget_core::assemble::ours;
use unforget_core::group::Group;
use unforget_core::ladder::ElidedRun;
use unforget_core::policy::FRAME;
use unforget_core::prefix::{Region, SentPiece};
use unforget_core::tokens::Tokens;

use super::Shape;
use super::pieces::{PromptPiece, handle, weigh};

/// The pieces of a request in order, and how they represent the entries.
#[derive(Clone, Default)]
pub(super) struct PromptLayout {
    pub(super) pins: Option<PromptPiece>,
    pub(super) summaries: Vec<PromptPiece>,
    pub(super) ledger: Option<PromptPiece>,
    pub(super) raised: Option<PromptPiece>,
    pub(super) carried: Option<PromptPiece>,
    pub(super) tail: Vec<PromptPiece>,
    pub(super) cover: EntryCover,
    /// Groups of the tail, by their place there.
    pub(super) placed: Vec<usize>,
}

/// A newest input of a request.
#[derive(Clone, Copy)]
pub(super) enum NewestPlace {
    /// The carried message.
    Carried,
    /// A piece of the tail.
    Tail(usize),
}

impl PromptLayout {
    /// Adds a group at the end.
    ///
    /// * `index` - of the group.
    pub(super) fn push(&mut self, index: usize, group: &Group, piece: PromptPiece) {
        *self.count(piece.replaced) += group.items.len() as u64;
        self.tail.push(piece);
        self.placed.push(index);
    }

    /// The number of entries that are shown whole, or not.
    const fn count(&mut self, is_replaced: bool) -> &mut u64 {
        if is_replaced { &mut self.cover.stubbed } else { &mut self.cover.verbatim }
    }

    pub(super) fn at(&self, place: NewestPlace) -> Option<&PromptPiece> {
        match place {
            NewestPlace::Carried => self.carried.as_ref(),
            NewestPlace::Tail(at) => self.tail.get(at),
        }
    }

    /// Replaces a newest input of so many entries.
    pub(super) fn put(&mut self, place: NewestPlace, piece: PromptPiece, entries: u64) {
        let is_replaced = piece.replaced;
        let shown = match place {
            NewestPlace::Carried => self.carried.as_mut(),
            NewestPlace::Tail(at) => self.tail.get_mut(at),
        };
        let Some(shown) = shown else { return };
        let was_replaced = std::mem::replace(shown, piece).replaced;
        let before = self.count(was_replaced);
        *before = before.saturating_sub(entries);
        *self.count(is_replaced) += entries;
    }

    /// Adds the line that stands for left-out entries.
    pub(super) fn elide(&mut self, run: Option<ElidedRun>, shape: &Shape) {
        let Some(ElidedRun { from, to, count }) = run else { return };
        let at = handle(from, to);
        let text = format!("[{count} stored entries are left out here for room: expand {at}]");
        self.summaries.push(weigh(vec![ours(&text)], Vec::new(), true, shape));
        self.cover.elided += count;
    }

    /// The pieces with their sections, in order.
    pub(super) fn sections(&self) -> impl Iterator<Item = (Region, &PromptPiece)> {
        let pins = self.pins.iter().map(|piece| (Region::Pins, piece));
        let summaries = self.summaries.iter().map(|piece| (Region::Summaries, piece));
        let ledger = self.ledger.iter().map(|piece| (Region::Ledger, piece));
        let raised = self.raised.iter().map(|piece| (Region::Raised, piece));
        let carried = self.carried.iter().map(|piece| (Region::Carried, piece));
        let tail = self.tail.iter().map(|piece| (Region::Tail, piece));
        pins.chain(summaries).chain(ledger).chain(raised).chain(carried).chain(tail)
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &PromptPiece> {
        self.sections().map(|(_, piece)| piece)
    }

    pub(super) fn outline(&self, system: Tokens) -> Vec<SentPiece> {
        let system = SentPiece { print: 0, tokens: system.expected, blocks: 0, region: Region::System };
        let pieces = self.sections().map(|(region, piece)| SentPiece {
            print: piece.print,
            tokens: piece.tokens.expected,
            blocks: piece.messages.iter().map(|message| message.blocks.len()).sum(),
            region,
        });
        std::iter::once(system).chain(pieces).collect()
    }

    pub(super) fn sizes(&self, system: Tokens) -> Sections {
        let mut sizes = Sections { system, frame: FRAME, ..Sections::default() };
        for (region, piece) in self.sections() {
            match region {
                Region::System => sizes.system += piece.tokens,
                Region::Pins => sizes.pins += piece.tokens,
                Region::Summaries => sizes.summaries += piece.tokens,
                Region::Ledger => sizes.ledger += piece.tokens,
                Region::Raised => sizes.raised += piece.tokens,
                Region::Carried => sizes.carried += piece.tokens,
                Region::Tail => sizes.tail += piece.tokens,
            }
        }
        sizes
    }
}
