//! One thread of a conversation as a prompt: the order of the steps. Each step is a method of one of the five states.

use std::sync::Arc;

use unforget_core::admit::{Rung, admit};
use unforget_core::compact::Cache;
use unforget_core::entry::Entry;
use unforget_core::id::Seq;
use unforget_core::policy::Policy;

use super::account::Account;
use super::compose::{ComposeParts, Composer};
use super::cover::Cover;
use super::fixed::Fixed;
use super::headline::Headline;
use super::source::Source;
use super::window::{PathEntry, Window};
use super::{Prompt, Shape};
use crate::Engine;
use crate::error::EngineError;
use crate::thread::ThreadRef;
use crate::view::Shown;

/// One thread of a conversation as a prompt.
pub struct Session {
    pub(super) source: Source,
    pub(super) window: Window,
    pub(super) cover: Cover,
    pub(super) fixed: Fixed,
    pub(super) account: Account,
}

impl Session {
    /// A session on an empty thread.
    ///
    /// * `persist` - whether summaries and contexts are written to the store.
    pub fn new(engine: &Engine, of: ThreadRef, shape: Shape, persist: bool) -> Self {
        Self {
            source: Source::new(engine, of, shape, persist),
            window: Window::new(),
            cover: Cover::default(),
            fixed: Fixed::new(&shape),
            account: Account::new(),
        }
    }

    /// Adds the next stored entry of the thread.
    ///
    /// * `parent` - the entry that it follows. If that is not the newest one, the transcript went back.
    /// * `source` - its expected tokens as the store counts them, the same for every model.
    ///
    /// Returns whether a model sees the entry.
    pub fn push(
        &mut self,
        seq: Seq,
        parent: Option<Seq>,
        entry: &Arc<Entry>,
        source: u64,
    ) -> Result<bool, EngineError> {
        if self.window.leaves_path(parent) {
            self.go_back(parent)?;
        }
        self.window.note_parent(seq, parent);
        Ok(self.add(PathEntry::new(seq, entry, source)))
    }

    /// Adds the next entry of the path. Returns whether a model sees it.
    pub(super) fn add(&mut self, new: PathEntry) -> bool {
        let (seq, entry) = (new.seq, Arc::clone(&new.entry));
        let shown = self.window.push(new);
        if shown == Shown::Hidden {
            return false;
        }
        if self.source.accepts_proposals() {
            self.fixed.note_proposals(seq, &entry);
        }
        if shown == Shown::System {
            self.fixed.set_system(self.window.instructions(), self.source.shape());
        }
        true
    }

    /// The prompt that would be sent now. Breaks the context first if that is due.
    ///
    /// # Errors
    /// [`EngineError::Irreducible`] if not even the newest message fits; store errors from committing a break.
    ///
    /// Cost: O(what the prompt shows), independent of the history.
    pub fn prompt(&mut self) -> Result<Prompt, EngineError> {
        self.update(None)?;
        self.compose(*self.source.policy())
    }

    /// The prompt for a call with its own budget. The context keeps its thresholds, and also breaks if the prompt exceeds
    /// this budget.
    ///
    /// # Errors
    /// See [`Session::prompt`].
    pub fn prompt_within(&mut self, budget: u64) -> Result<Prompt, EngineError> {
        self.update(Some(budget))?;
        let policy = *self.source.policy();
        self.compose(Policy { window: budget.saturating_add(policy.reserve), ..policy })
    }

    /// Composes the prompt and compares it with the one before.
    fn compose(&mut self, policy: Policy) -> Result<Prompt, EngineError> {
        self.show_fixed()?;
        let mut composer = Composer::new(self.parts_within(policy));
        let admitted = admit(&mut composer, &policy)?;
        let rung = admitted.certificate().rung;
        // No longer prompt begins with a shortened one.
        let print = (rung == Rung::Assembled).then(|| composer.beginning());
        let pieces = composer.outline();
        let is_shortened = rung != Rung::Assembled || !self.fixed.media().is_all();
        let change = self.account.take_sent(pieces, is_shortened, self.cache());
        Ok(Prompt {
            reused: change.reused,
            broken: change.broken,
            idle_ms: self.window.idle_ms(),
            epoch: self.cover.context().epoch,
            leading: self.account.leading_blocks(),
            short_pins: self.fixed.pins().short().to_vec(),
            weighed: print
                .map(|print| self.account.weight(admitted.certificate().total, self.total(), print)),
            admitted,
        })
    }

    /// Shows ledger and headline of the present context, unless they are shown already.
    ///
    /// Cost: O(rows of the ledger and items of the shown summaries), once after a break.
    pub(super) fn show_fixed(&mut self) -> Result<(), EngineError> {
        if self.fixed.ledger().is_behind(self.cover.context()) {
            let context = self.cover.context().clone();
            self.fold_ledger(&context)?;
            self.fixed.show_ledger(&context, self.source.shape());
        }
        self.show_headline();
        Ok(())
    }

    /// Shows the headline of the present context, unless it is shown already.
    pub(super) fn show_headline(&mut self) {
        let asked = self.window.asked_until(self.cover.as_of());
        if !self.fixed.shown_headline().is_of(self.cover.context(), asked.as_ref()) {
            self.fixed.show_headline(Headline::of(&self.cover, asked, self.source.shape()));
        }
    }

    /// The inputs of a request with these limits.
    pub(super) fn parts_within(&self, policy: Policy) -> ComposeParts<'_> {
        ComposeParts {
            cover: &self.cover,
            window: &self.window,
            fixed: &self.fixed,
            counts: self.account.counts(),
            shape: self.source.shape(),
            policy,
        }
    }

    /// The expected state of the provider's cache.
    pub(super) fn cache(&self) -> Cache {
        Cache::after(self.window.idle_ms(), self.source.policy().cache_ttl_ms)
    }
}
