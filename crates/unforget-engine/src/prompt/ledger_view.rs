//! The ledger of tool work in a prompt: a block behind the summaries, for the entries that they stand for. It changes
//! at breaks only.

use unforget_core::assemble::ours;
use unforget_core::compact::{Context, end_of, provisional_end};
use unforget_core::id::Seq;
use unforget_core::message::Message;
use unforget_core::policy::STATE_FENCE;
use unforget_core::tokens::Tokens;
use unforget_text::{fence_ledger, render_ledger};

use super::Shape;
use super::pieces::{OwnText, PromptPiece, fitted, weigh};
use super::source::Source;
use super::window::Window;
use crate::EngineError;
use crate::ledger::Folded;

/// The ledger of a session.
#[derive(Clone, Debug)]
pub(super) struct LedgerView {
    /// The ledger of the summarised entries; `None` until a break needs it.
    folded: Option<Folded>,
    /// The last entry of the shown ledger.
    until: Option<Seq>,
    /// The shown text; empty if none is shown.
    text: String,
    piece: Option<PromptPiece>,
}

impl LedgerView {
    /// Before the first entry.
    pub(super) fn new() -> Self {
        Self { folded: Some(Folded::default()), until: None, text: String::new(), piece: None }
    }

    /// A ledger that is not shown yet.
    pub(super) const fn begun(folded: Folded) -> Self {
        Self { folded: Some(folded), until: None, text: String::new(), piece: None }
    }

    /// A ledger as it was shown by a stored context.
    pub(super) fn restored(context: &Context, text: String, shape: &Shape) -> Self {
        let until = end_of(context);
        let piece = until
            .filter(|_| !text.is_empty())
            .map(|until| weigh(block(until, &text), Vec::new(), false, shape));
        Self { folded: until.is_none().then(Folded::default), until, text, piece }
    }

    /// The block in the prompt.
    pub(super) const fn piece(&self) -> Option<&PromptPiece> {
        self.piece.as_ref()
    }

    /// The shown text; empty if none is shown.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Room for the ledger beside these summaries. Thresholds count all of it, so they need not render it.
    pub(super) fn room(context: &Context, shape: &Shape) -> Tokens {
        Tokens::exact(if context.roots.is_empty() { 0 } else { shape.policy.ledger })
    }

    /// Loads the ledger up to a context, unless it is at hand, so that it can be folded up to the next one.
    ///
    /// Cost: nothing after the first time; for a session that was just opened, see [`Folded`].
    pub(super) fn load(
        &mut self,
        before: &Context,
        next: &Context,
        source: &Source,
    ) -> Result<(), EngineError> {
        let (from, Some(until)) = (end_of(before), end_of(next)) else { return Ok(()) };
        // A break that was not written may have folded further.
        let is_usable = |folded: &Folded| folded.head() == from || folded.head() == Some(until);
        if !self.folded.as_ref().is_some_and(is_usable) {
            self.folded = Some(match (from, provisional_end(before)) {
                (Some(until), Some(from)) => source.ledger_between(from, until)?,
                (Some(until), None) => source.ledger_until(until)?,
                (None, _) => Folded::default(),
            });
        }
        Ok(())
    }

    /// Folds the facts of the entries that a context summarises beyond another context. Returns whether there are any.
    ///
    /// Cost: O(entries since the last break).
    pub(super) fn fold(&mut self, before: &Context, next: &Context, window: &Window) -> bool {
        let Some(until) = end_of(next) else { return false };
        let Some(folded) = self.folded.as_mut().filter(|folded| folded.head() != Some(until)) else {
            return false;
        };
        for (seq, facts) in window.facts_until(until) {
            folded.take(seq, facts);
        }
        folded.reach(until, next.covered.saturating_sub(before.covered));
        true
    }

    /// Saves the ledger if that pays off. That of a provisional context lacks the entries before.
    pub(super) fn keep(&mut self, source: &Source) {
        if let Some(folded) = &mut self.folded {
            source.keep_ledger(folded);
        }
    }

    /// Whether the shown ledger ends elsewhere than a context.
    pub(super) fn is_behind(&self, context: &Context) -> bool {
        self.until != end_of(context)
    }

    /// Shows the ledger of a context, in at most the policy's tokens. It has to be folded up to there.
    ///
    /// Cost: O(rows of the ledger).
    pub(super) fn show(&mut self, context: &Context, shape: &Shape) {
        if self.is_behind(context) {
            self.until = end_of(context);
            let shown = self.until.and_then(|until| self.rendered(until, shape));
            (self.text, self.piece) = shown.map(|shown| (shown.text, Some(shown.piece))).unwrap_or_default();
        }
    }

    fn rendered(&self, until: Seq, shape: &Shape) -> Option<OwnText> {
        let ledger = &self.folded.as_ref()?.ledger;
        let render = |room| Some(render_ledger(ledger, room, &shape.ruler)).filter(|text| !text.is_empty());
        fitted(shape.policy.ledger, STATE_FENCE, &render, &|text| block(until, text), shape)
    }
}

fn block(until: Seq, text: &str) -> Vec<Message> {
    vec![ours(&fence_ledger(until, text))]
}
