//! The parts of a prompt that no later entry changes between two breaks: instructions, pins, reading guide, headline,
//! ledger and raised entries.

use std::sync::Arc;

use unforget_core::assemble::ours;
use unforget_core::compact::Context;
use unforget_core::entry::Entry;
use unforget_core::id::Seq;
use unforget_core::media::Limit;
use unforget_core::pin::{Followed, Pins};
use unforget_core::policy::GUIDE_BUDGET_MIN;
use unforget_core::tokens::Tokens;
use unforget_text::proposals;

use super::Shape;
use super::headline::Headline;
use super::ledger_view::LedgerView;
use super::pieces::{PromptPiece, weigh};
use super::pins::PinBlock;
use super::raised::RaisedBlock;
use super::source::Source;
use super::system::RecordedSystem;
use super::window::Window;
use crate::error::EngineError;
use crate::ledger::Folded;

/// Explains summaries to the model. Stands before the first one.
const GUIDE: &str = "[What follows, up to the newest messages, is the record of this conversation so far. Each \
    history-summary stands for the entries that it names; a number in brackets behind a line is the entry that the line \
    comes from. s:12 is entry 12, s:3-9 entries 3 to 9, and sum:… a summary: all are stored word for word. A tool that expands such ids, if one \
    is offered, gives them back; without one, read the file or run the command again.]";

/// A text that an entry proposes to pin.
pub(super) struct PinProposal {
    pub(super) seq: Seq,
    pub(super) text: String,
}

/// The fixed parts of a session's prompts.
pub(super) struct Fixed {
    system: RecordedSystem,
    pins: PinBlock,
    /// Texts that the caller sends beside prompts.
    texts_beside: Vec<Arc<str>>,
    /// Changes of pinned files that the caller was not told yet.
    followed: Vec<Followed>,
    /// Proposals that were not looked at yet; only where they are accepted.
    proposals: Vec<PinProposal>,
    /// `None` in windows without room for it.
    guide: Option<PromptPiece>,
    headline: Headline,
    ledger: LedgerView,
    raised: RaisedBlock,
    /// Images and documents that may be sent.
    media: Limit,
}

impl Fixed {
    pub(super) fn new(shape: &Shape) -> Self {
        let has_room = shape.policy.budget() >= GUIDE_BUDGET_MIN;
        Self {
            system: RecordedSystem::default(),
            pins: PinBlock::default(),
            texts_beside: Vec::new(),
            followed: Vec::new(),
            proposals: Vec::new(),
            guide: has_room.then(|| weigh(vec![ours(GUIDE)], Vec::new(), false, shape)),
            headline: Headline::default(),
            ledger: LedgerView::new(),
            raised: RaisedBlock::default(),
            media: Limit::default(),
        }
    }

    /// The fixed parts of a prompt of the past, with its pins.
    pub(super) fn with_pins(pins: PinBlock, shape: &Shape) -> Self {
        Self { pins, ..Self::new(shape) }
    }

    /// Moves pins and their news into the fixed parts of a session that starts again.
    pub(super) fn again(&mut self, shape: &Shape) -> Self {
        Self {
            pins: self.pins.clone(),
            texts_beside: std::mem::take(&mut self.texts_beside),
            followed: std::mem::take(&mut self.followed),
            ..Self::new(shape)
        }
    }

    pub(super) const fn system(&self) -> &RecordedSystem {
        &self.system
    }

    pub(super) const fn pins(&self) -> &PinBlock {
        &self.pins
    }

    pub(super) const fn ledger(&self) -> &LedgerView {
        &self.ledger
    }

    pub(super) const fn raised(&self) -> &RaisedBlock {
        &self.raised
    }

    pub(super) const fn media(&self) -> &Limit {
        &self.media
    }

    /// Recorded instructions changed.
    pub(super) fn set_system(&mut self, recorded: &[(Seq, String)], shape: &Shape) {
        self.system = RecordedSystem::of(recorded, shape);
    }

    /// Limits images and documents. Returns whether the limit changed.
    pub(super) fn limit_media(&mut self, limit: &Limit) -> bool {
        let is_new = self.media != *limit;
        if is_new {
            self.media = limit.clone();
        }
        is_new
    }

    /// Size of instructions and pins.
    pub(super) fn tokens(&self) -> Tokens {
        self.system.tokens + self.pins.tokens()
    }

    /// Size of the fixed parts of a prompt of this context, with full rooms for headline and ledger.
    pub(super) fn standing(&self, context: &Context, shape: &Shape) -> Tokens {
        let summarised = !context.roots.is_empty();
        let guide = if summarised { self.guide_tokens() } else { Tokens::default() };
        let headline = Tokens::exact(if summarised { shape.policy.headline() } else { 0 });
        self.tokens() + guide + headline + LedgerView::room(context, shape) + self.raised.tokens()
    }

    /// Size of the fixed parts of a prompt that has summaries.
    pub(super) fn planned(&self, shape: &Shape) -> Tokens {
        let state = Tokens::exact(shape.policy.headline() + shape.policy.ledger);
        self.tokens() + self.guide_tokens() + state + self.raised.planned(shape)
    }

    fn guide_tokens(&self) -> Tokens {
        self.guide.as_ref().map(|guide| guide.tokens).unwrap_or_default()
    }

    /// Guide and headline before the summaries of a cover.
    pub(super) fn before_summaries(&self, context: &Context) -> impl Iterator<Item = &PromptPiece> {
        let guide = self.guide.as_ref().filter(|_| !context.roots.is_empty());
        guide.into_iter().chain(self.headline(context).and_then(|headline| headline.state.as_ref()))
    }

    /// The last summary of a cover, where it stands behind a state that tells part of it.
    pub(super) fn last_summary(&self, context: &Context) -> Option<&PromptPiece> {
        self.headline(context).and_then(|headline| headline.last.as_ref())
    }

    fn headline(&self, context: &Context) -> Option<&Headline> {
        Some(&self.headline).filter(|headline| headline.epoch == context.epoch)
    }

    /// Takes over the ledger of a stored context.
    pub(super) fn restore_ledger(&mut self, context: &Context, text: String, shape: &Shape) {
        self.ledger = LedgerView::restored(context, text, shape);
    }

    /// Begins with a ledger that no prompt showed yet.
    pub(super) fn begin_ledger(&mut self, folded: Folded) {
        self.ledger = LedgerView::begun(folded);
    }

    /// Loads the ledger up to a context, unless it is at hand.
    pub(super) fn load_ledger(
        &mut self,
        before: &Context,
        next: &Context,
        source: &Source,
    ) -> Result<(), EngineError> {
        self.ledger.load(before, next, source)
    }

    /// Folds the ledger up to the next context. Returns whether there was anything to fold.
    pub(super) fn fold_ledger(&mut self, before: &Context, next: &Context, window: &Window) -> bool {
        self.ledger.fold(before, next, window)
    }

    /// The text of a context's ledger, which is shown from now on.
    pub(super) fn show_ledger(&mut self, context: &Context, shape: &Shape) -> &str {
        self.ledger.show(context, shape);
        self.ledger.text()
    }

    /// Saves the ledger if that pays off.
    pub(super) fn keep_ledger(&mut self, source: &Source) {
        self.ledger.keep(source);
    }

    /// The headline shown last.
    pub(super) const fn shown_headline(&self) -> &Headline {
        &self.headline
    }

    pub(super) fn show_headline(&mut self, headline: Headline) {
        self.headline = headline;
    }

    /// Shows other raised entries. Returns whether the block changed.
    pub(super) fn show_raised(&mut self, block: RaisedBlock) -> bool {
        let is_other = !block.is_same_text(&self.raised);
        self.raised = block;
        is_other
    }

    /// A break changed the summaries: the headline has to be made again.
    pub(super) fn drop_headline(&mut self) {
        self.headline = Headline::default();
    }

    /// Keeps the proposals of an entry until the next prompt.
    pub(super) fn note_proposals(&mut self, seq: Seq, entry: &Entry) {
        let found = proposals(entry).into_iter();
        self.proposals.extend(found.map(|found| PinProposal { seq, text: found.text.to_owned() }));
    }

    pub(super) fn take_proposals(&mut self) -> Vec<PinProposal> {
        std::mem::take(&mut self.proposals)
    }

    /// Sets the texts that the caller sends beside prompts. A pinned file in one of them is not shown twice.
    pub(super) fn set_texts_beside(&mut self, texts: &[Arc<str>]) {
        self.texts_beside = texts.to_vec();
    }

    /// Keeps changes of pinned files for the caller.
    pub(super) fn note_followed(&mut self, followed: Vec<Followed>) {
        self.followed.extend(followed);
    }

    pub(super) fn take_followed(&mut self) -> Vec<Followed> {
        std::mem::take(&mut self.followed)
    }

    /// Shows changed pins. Changes of files only wait for a break. Returns whether the block changed.
    pub(super) fn update_pins(&mut self, pins: Pins, shape: &Shape) -> bool {
        let pins = (!self.pins.differs_in_files_only(&pins)).then_some(pins);
        self.show_pins(pins, false, shape)
    }

    /// Shows pins with the present texts of their files. Returns whether the block changed.
    pub(super) fn renew_pins(&mut self, pins: Pins, shape: &Shape) -> bool {
        self.show_pins(Some(pins), true, shape)
    }

    fn show_pins(&mut self, pins: Option<Pins>, breaks: bool, shape: &Shape) -> bool {
        let Some(block) = self.pins.changed(pins, &self.texts_beside, breaks, shape) else { return false };
        let is_other = !block.is_same_text(&self.pins);
        self.pins = block;
        is_other
    }
}
