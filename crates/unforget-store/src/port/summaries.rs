//! The part of the port for what prompts are made of: summaries, contexts, pins, recipes, decisions.

use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::pin::PinId;

use super::{
    ContextRow, Conversation, DecisionRow, Name, NamedEntry, Page, PinFileRow, PinRow, RaisedRow, Recipe,
    RecipeRow, Result, SayingRow, SummaryKey, SummaryPlace, SummaryRow, VerdictRow,
};

/// A decision to store, and how many to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewDecision<'a> {
    /// The decision; with number 0 it gets the next one.
    pub row: &'a DecisionRow,
    /// Number of the newest decisions to keep.
    pub keep: u64,
}

/// What a lane in memory is compared with.
#[derive(Clone, Copy, Debug)]
pub struct LaneLook<'a> {
    /// The view of the state.
    pub thread: Thread,
    /// The budget of the state.
    pub budget: u64,
    /// Names to look up; see [`Log::named`](super::Log::named).
    pub names: &'a [Name],
}

/// The answer to a [`LaneLook`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaneRows {
    /// The conversation.
    pub conversation: Conversation,
    /// The state, if there is one.
    pub context: Option<ContextRow>,
    /// The entries under the names, ordered by name, then seq.
    pub named: Vec<NamedEntry>,
}

/// What prompts are made of. None of it counts as a change of the conversation.
pub trait Summaries {
    /// Writes summaries and, with them, the state of a prompt. A summary with an existing key is not replaced. Derived.
    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()>;

    /// One summary.
    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>>;

    /// The last summary that ends before an entry, with the thread, grain and level of `key`. It may belong to another
    /// path.
    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>>;

    /// Summaries of a conversation, ordered by span, then level, then the rest of the key.
    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>>;

    /// Number of summaries of a conversation.
    fn count_summaries(&self, id: ConversationId) -> Result<u64>;

    /// State of the prompt of one view.
    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>>;

    /// A conversation, the state of one of its views, and the entries under some names, read together: none of them is
    /// older than the conversation's row.
    fn lane_rows(&self, id: ConversationId, look: LaneLook<'_>) -> Result<LaneRows>;

    /// States of the prompts of one view, by budget.
    fn contexts(&self, id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>>;

    /// Threads of which there are states of prompts, ascending.
    fn context_threads(&self, id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>>;

    /// Pins of a conversation, by number.
    fn pins(&self, id: ConversationId, page: Page<PinId>) -> Result<Vec<PinRow>>;

    /// Files that are or were pinned in a conversation, by place.
    fn pin_files(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<PinFileRow>>;

    /// Writes pins over the stored ones with equal numbers, and files over those of equal places.
    ///
    /// * `before` - all pins, as [`Summaries::pins`] gave them.
    /// * `after` - all pins after the change.
    /// * `files` - changed and new files; the others stay.
    ///
    /// # Errors
    /// [`StoreError::PinsMoved`](crate::StoreError::PinsMoved) if the stored pins are not `before`.
    fn put_pins(
        &self,
        id: ConversationId,
        before: &[PinRow],
        after: &[PinRow],
        files: &[PinFileRow],
    ) -> Result<()>;

    /// Verdicts on entries of a conversation, by number, also those that were taken back.
    fn verdicts(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<VerdictRow>>;

    /// Stores a verdict that stands, and returns its number: the given one if that is greater than all stored ones,
    /// otherwise the next. A purge of its entry deletes the verdict.
    fn put_verdict(&self, id: ConversationId, verdict: &VerdictRow) -> Result<u64>;

    /// Takes a verdict back. Returns false if there is none with this number, or it was taken back before.
    fn withdraw_verdict(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool>;

    /// Spans that people put back in a conversation, by number, also those that were taken back.
    fn raised(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RaisedRow>>;

    /// Stores a raised span that counts, and returns its number: the given one if that is greater than all stored ones,
    /// otherwise the next. A purge of all its entries deletes it.
    fn put_raised(&self, id: ConversationId, raised: &RaisedRow) -> Result<u64>;

    /// Takes a raised span back. Returns false if there is none with this number, or it was taken back before.
    fn withdraw_raised(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool>;

    /// What people said of a conversation, by number.
    fn sayings(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SayingRow>>;

    /// Stores sayings under the next numbers; one with a stored digest is passed over. Returns the number of new ones. A purge of
    /// all entries of a saying deletes it.
    fn put_sayings(&self, id: ConversationId, sayings: &[SayingRow]) -> Result<u64>;

    /// Stores how a prompt was composed, and drops all but the newest `keep` recipes together with the contexts that
    /// only they used. Returns its number: the given one if that is greater than all stored ones, otherwise the next.
    /// Derived.
    ///
    /// * `turn` - the decision about the turn that begins with this prompt; see [`Summaries::decide`].
    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<NewDecision<'_>>,
    ) -> Result<u64>;

    /// Recipes of a conversation, by number.
    fn recipes(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>>;

    /// The context that recipes refer to by this name.
    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>>;

    /// Adds a decision and drops older ones. Returns its number: the given one if that is greater than all stored ones,
    /// otherwise the next. Counts as derived: it is removed with the prompt state that it led to.
    fn decide(&self, id: ConversationId, decision: NewDecision<'_>) -> Result<u64>;

    /// The kept decisions, oldest first: at most [`NewDecision::keep`].
    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>>;
}
