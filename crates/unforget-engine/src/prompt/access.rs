//! Inputs and figures of a session for its callers.

use std::sync::Arc;

use unforget_core::compact::{self, Context, Pressure};
use unforget_core::id::Timestamp;
use unforget_core::media::Limit;
use unforget_core::pin::Followed;
use unforget_core::prefix::Cause;
use unforget_core::reported::Reported;
use unforget_core::tokens::Tokens;
use unforget_store::SaidRows;

use super::account::Counters;
use super::compose::Composer;
use super::counts::{PromptWeight, StoredCount};
use super::pieces::GroupPieces;
use super::{Session, Shape};
use crate::error::EngineError;

impl Session {
    /// The work done so far.
    pub const fn counters(&self) -> Counters {
        self.account.counters()
    }

    /// The shape of the prompts.
    pub const fn shape(&self) -> &Shape {
        self.source.shape()
    }

    /// The state of the context.
    pub const fn context(&self) -> &Context {
        self.cover.context()
    }

    /// Size of the recorded instructions.
    pub const fn system_tokens(&self) -> Tokens {
        self.fixed.system().tokens
    }

    /// Expected whole sizes of the groups behind the summaries, oldest first.
    pub fn group_sizes(&self) -> impl Iterator<Item = u64> {
        self.window.pieces().iter().map(GroupPieces::whole)
    }

    /// Whether the newest message is a person's.
    pub fn is_at_turn(&self) -> bool {
        self.window.sizes().last().is_some_and(|sizes| sizes.human.is_some())
    }

    /// Expected whole sizes of the groups that were summarised since the last call.
    pub fn take_passed(&mut self) -> Vec<u64> {
        self.account.take_passed()
    }

    /// Says what people said of the conversation, which the caller read: the next prompt shows it.
    pub(crate) fn tell(&mut self, said: SaidRows) {
        self.source.tell(said);
    }

    /// What people said, as the last prompt shows it.
    pub(crate) const fn said(&self) -> &SaidRows {
        self.source.said()
    }

    /// Looks at what people said before the summaries are changed without a prompt.
    pub(crate) fn look_at_said(&mut self) -> Result<(), EngineError> {
        self.source.look()
    }

    /// Sets the time of new summaries and decisions. No rule depends on it.
    pub const fn at(&mut self, now: Timestamp) {
        self.source.set_now(now);
    }

    /// Size of the prompt as the context prescribes it, with the newest entries.
    pub fn measure(&mut self) -> Tokens {
        self.prepare();
        self.total()
    }

    /// Prepares the groups that are new or changed.
    pub(super) fn prepare(&mut self) {
        self.window.prepare(&self.cover, self.source.shape());
    }

    /// Size of the prompt as the context prescribed it when the groups were last prepared.
    ///
    /// Cost: O(1), whatever the window.
    pub fn total(&self) -> Tokens {
        let context = self.cover.context();
        self.standing(context) + self.cover.tokens() + self.window.sent(context)
    }

    /// Size of the parts that no break changes in a prompt of this context.
    pub(super) fn standing(&self, context: &Context) -> Tokens {
        self.fixed.standing(context, self.source.shape()) + self.window.frame()
    }

    /// Size of the next prompt in the provider's tokens, if a count is known.
    pub(super) fn weight(&self) -> Tokens {
        self.account.counts().view(self.total())
    }

    /// The pressure of the prompt.
    pub fn pressure(&self) -> Pressure {
        self.pressure_within(None)
    }

    /// The pressure of the prompt in a call.
    ///
    /// * `budget` - the call's own budget, if it has one.
    pub(super) fn pressure_within(&self, budget: Option<u64>) -> Pressure {
        compact::pressure_within(self.weight(), budget, self.source.policy())
    }

    /// Limits images and documents from now on; the others are sent as stubs. Summaries and thresholds do not depend on
    /// the limit.
    pub fn limit_media(&mut self, limit: &Limit) {
        if self.fixed.limit_media(limit) {
            self.account.changes(Cause::Ladder);
        }
    }

    /// Sets the texts that the caller sends beside prompts. A pinned file in one of them is not shown twice.
    pub(crate) fn bring_beside(&mut self, texts: &[Arc<str>]) {
        self.fixed.set_texts_beside(texts);
    }

    /// Changes of pinned files since the last call.
    pub(crate) fn take_followed(&mut self) -> Vec<Followed> {
        self.fixed.take_followed()
    }

    /// The newest count of the session's prompts, for the store.
    ///
    /// Cost: O(pieces before the newest messages).
    pub(crate) fn count_to_store(&mut self) -> Result<Option<StoredCount>, EngineError> {
        let beginning = self.beginning()?;
        Ok(self.account.counts().to_store(beginning))
    }

    /// Takes a stored count of the prompts of an earlier session of this shape.
    pub(crate) fn restore_count(&mut self, stored: &StoredCount) -> Result<(), EngineError> {
        let present = self.beginning()?;
        self.account.restore_count(stored, present);
        Ok(())
    }

    /// Digest of the beginning of the next prompt, if nothing breaks it.
    fn beginning(&mut self) -> Result<u64, EngineError> {
        self.show_fixed()?;
        Ok(Composer::new(self.parts_within(*self.source.policy())).beginning())
    }

    /// Sets the bound of instructions and tools beside the next prompt. It is taken off the prompt's budget.
    pub const fn stands_beside(&mut self, beside: Tokens) {
        self.account.set_beside(beside);
    }

    /// Takes the provider's count of a prompt of this session, with the content beside it. The prompt may be of an earlier
    /// session of the same shape.
    pub fn reported(&mut self, weight: &PromptWeight, counted: u64) -> Result<(), EngineError> {
        if self.account.counts().is_of_before(weight) {
            let present = self.beginning()?;
            let adopted = self.account.counts().adopted(weight, present);
            self.account.reported(&adopted, counted);
        } else {
            self.account.reported(weight, counted);
        }
        Ok(())
    }

    /// Takes the count of a call that was not made here. Its rate holds until a call of this session is counted.
    pub fn learn(&mut self, reported: Reported) {
        self.account.learn(reported);
    }
}
