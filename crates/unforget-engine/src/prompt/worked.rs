//! What was done with tools, as far as a prompt is concerned: a ledger of what its summaries stand for, and which
//! results behind them later ones make worthless. Both change at breaks only.

use std::collections::{BTreeMap, BTreeSet};

use unforget_core::assemble::ours;
use unforget_core::compact::{Context, Sizes};
use unforget_core::id::Seq;
use unforget_core::ledger::{self, Fact};
use unforget_core::tokens::Tokens;
use unforget_text::{fence_ledger, render_ledger};

use super::pieces::{Piece, fitted, weigh};
use super::state::{self, Kept};
use super::{Lane, Session, pieces};
use crate::EngineError;
use crate::ledger::Folded;

/// Results that later ones make worthless: entry and call of the result, and the entry of the later one.
pub(super) type Superseded = BTreeMap<(Seq, String), Seq>;

/// Tokens that the wrapper of a ledger takes at most.
const FENCE_TOKENS: u64 = 40;

/// What was done with tools.
#[derive(Clone, Debug)]
pub(super) struct Worked {
    /// The ledger of the entries that the summaries stand for; `None` until a break needs it.
    folded: Option<Folded>,
    /// What the entries behind the summaries tell.
    facts: BTreeMap<Seq, Vec<Fact>>,
    superseded: Superseded,
    /// How the ledger is shown.
    shown: Shown,
}

/// A ledger as it is shown.
#[derive(Clone, Debug, Default)]
struct Shown {
    /// The last entry that it is of.
    until: Option<Seq>,
    /// Empty if nothing is shown.
    text: String,
    piece: Option<Piece>,
}

impl Worked {
    /// Before the first entry.
    pub(super) fn new() -> Self {
        Self {
            folded: Some(Folded::default()),
            facts: BTreeMap::new(),
            superseded: Superseded::new(),
            shown: Shown::default(),
        }
    }

    /// Takes in what an entry tells.
    pub(super) fn note(&mut self, seq: Seq, facts: Vec<Fact>) {
        if !facts.is_empty() {
            self.facts.insert(seq, facts);
        }
    }

    /// The path goes on behind this entry: what came after it is not part of it any more.
    pub(super) fn cut_after(&mut self, seq: Seq) {
        self.facts.retain(|at, _| *at <= seq);
        self.superseded.retain(|_, by| *by <= seq);
    }

    /// The later result that makes this one worthless.
    pub(super) fn superseded(&self, answer: Seq, call: &str) -> Option<Seq> {
        self.superseded.get(&(answer, call.to_owned())).copied()
    }

    /// The block of the ledger.
    pub(super) const fn piece(&self) -> Option<&Piece> {
        self.shown.piece.as_ref()
    }
}

impl Session {
    /// Sizes of the groups as a break now would find them: with what it makes worthless in one line each.
    pub(super) fn planned_sizes(&self) -> Vec<Sizes> {
        let facts = self.worked.facts.iter().map(|(seq, facts)| (*seq, facts.as_slice()));
        let found = ledger::superseded(facts).into_iter().map(|found| (found.answer, found.call_id));
        // What is a line already has the size of one.
        let found: BTreeSet<_> = found.filter(|found| !self.worked.superseded.contains_key(found)).collect();
        let is_worthless = |seq: Seq, call: &str| found.contains(&(seq, call.to_owned()));
        let groups = self.view.groups.iter().zip(&self.sizes);
        groups.map(|(group, sizes)| pieces::without(group, *sizes, &is_worthless, &self.shape)).collect()
    }

    /// What a break makes worthless among the results that it leaves.
    ///
    /// * `as_of` - the newest entry at the break.
    pub(super) fn supersede(&self, context: &Context, as_of: Seq) -> Superseded {
        let boundary = end_of(context);
        let behind = self.worked.facts.iter().filter(|(seq, _)| **seq <= as_of && Some(**seq) > boundary);
        let found = ledger::superseded(behind.map(|(seq, facts)| (*seq, facts.as_slice())));
        // The open loop is sent as it came.
        let is_old = |answer: &Seq| *answer < context.settled_below;
        let found = found.into_iter().filter(|found| is_old(&found.answer));
        found.map(|found| ((found.answer, found.call_id), found.by)).collect()
    }

    /// Takes over what a break decided about results, as far as it stands on the path.
    ///
    /// * `path` - seqs behind the summaries, ascending.
    pub(super) fn take_back(&mut self, mut superseded: Superseded, path: &[u64]) {
        superseded.retain(|_, by| path.binary_search(&by.0).is_ok());
        self.worked.superseded = superseded;
    }

    /// The same for the session that made the break.
    pub(super) fn set_superseded(&mut self, superseded: Superseded) {
        self.worked.superseded = superseded;
    }

    /// What stands in the stored state.
    pub(super) const fn kept_superseded(&self) -> &Superseded {
        &self.worked.superseded
    }

    /// Takes over a ledger as it was shown.
    pub(super) fn restore_ledger(&mut self, text: String) {
        let until = end_of(&self.context);
        self.worked.folded = until.is_none().then(Folded::default);
        let piece = until.filter(|_| !text.is_empty()).map(|until| self.weigh_ledger(until, &text));
        self.worked.shown = Shown { until, text, piece };
    }

    /// Folds what a context's summaries stand for, and lets go of what it told.
    ///
    /// Cost: O(entries since the last break), and where the session was just opened what [`Folded`] says.
    pub(super) fn fold_until(&mut self, context: &Context) -> Result<(), EngineError> {
        let (before, Some(until)) = (end_of(&self.context), end_of(context)) else { return Ok(()) };
        let lane = Lane { conversation: self.conversation, thread: self.thread };
        // A break that was not written may have folded further.
        let is_of = |folded: &Folded| folded.head() == before || folded.head() == Some(until);
        if !self.worked.folded.as_ref().is_some_and(is_of) {
            let folded = match before {
                Some(before) => self.engine.ledger_until(lane, before, self.shape.key())?,
                None => Folded::default(),
            };
            self.worked.folded = Some(folded);
        }
        let Some(folded) = self.worked.folded.as_mut().filter(|folded| folded.head() != Some(until)) else {
            return Ok(());
        };
        for (seq, facts) in self.worked.facts.iter().filter(|(seq, _)| **seq <= until) {
            folded.take(*seq, facts);
        }
        folded.reach(until, context.covered.saturating_sub(self.context.covered));
        // Nobody needs those of a history that is played before it is.
        if self.persist && self.batch.is_none() {
            self.engine.keep_ledger(lane, self.shape.key(), folded);
        }
        Ok(())
    }

    /// Keeps the ledger of a history that was played.
    pub(super) fn keep_ledger(&mut self) {
        let lane = Lane { conversation: self.conversation, thread: self.thread };
        let key = self.shape.key();
        if let Some(folded) = &mut self.worked.folded {
            self.engine.keep_ledger(lane, key, folded);
        }
    }

    /// Lets go of what the entries that summaries stand for tell.
    pub(super) fn forget_facts(&mut self) {
        if let Some(until) = end_of(&self.context) {
            self.worked.facts = self.worked.facts.split_off(&Seq(until.0 + 1));
        }
    }

    /// The ledger of a context as it is shown, of at most the policy's tokens; empty if it is not.
    ///
    /// Has to be folded until there. Cost: O(rows of the ledger).
    pub(super) fn ledger_text(&mut self, context: &Context) -> String {
        let until = end_of(context);
        if self.worked.shown.until != until {
            let (text, piece) = self.render_until(until).unwrap_or_default();
            self.worked.shown = Shown { until, text, piece };
        }
        self.worked.shown.text.clone()
    }

    /// Renders the ledger of the context as it is, unless it is shown already.
    pub(super) fn show_ledger(&mut self) -> Result<(), EngineError> {
        let context = self.context.clone();
        if self.worked.shown.until != end_of(&context) {
            self.fold_until(&context)?;
            self.ledger_text(&context);
        }
        Ok(())
    }

    /// The stored form of what the last break decided.
    pub(super) fn state(&self) -> Vec<u8> {
        let roots = self.context.roots.iter();
        state::encode(&Kept {
            context: self.context.clone(),
            as_of: self.as_of,
            rewritten: roots.filter(|root| self.is_rewritten(root)).copied().collect(),
            superseded: self.worked.superseded.clone(),
            ledger: self.worked.shown.text.clone(),
        })
    }

    fn render_until(&self, until: Option<Seq>) -> Option<(String, Option<Piece>)> {
        let until = until?;
        let ledger = &self.worked.folded.as_ref()?.ledger;
        let text = |room| render_ledger(ledger, room, &self.shape.ruler);
        let render = |room| Some(text(room)).filter(|text| !text.is_empty());
        let wrap = |text: &str| vec![ours(&fence_ledger(until, text))];
        let (text, piece) = fitted(self.shape.policy.ledger, FENCE_TOKENS, &render, &wrap, &self.shape)?;
        Some((text, Some(piece)))
    }

    fn weigh_ledger(&self, until: Seq, text: &str) -> Piece {
        weigh(vec![ours(&fence_ledger(until, text))], Vec::new(), false, &self.shape)
    }

    /// What a ledger may take beside these summaries. Thresholds count all of it, so that they need not render it.
    fn ledger_room(&self, context: &Context) -> Tokens {
        Tokens::exact(if context.roots.is_empty() { 0 } else { self.shape.policy.ledger })
    }

    /// What no break changes in a prompt of this context.
    pub(super) fn standing(&self, context: &Context) -> Tokens {
        self.fixed()
            + self.frame_room()
            + self.guide_room(context)
            + self.headline_room(context)
            + self.ledger_room(context)
    }
}

/// The last entry that summaries stand for.
fn end_of(context: &Context) -> Option<Seq> {
    context.roots.iter().map(|root| root.span.1).max()
}
