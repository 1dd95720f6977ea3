//! The part of the port for what prompts are made of: summaries, contexts, what people said, recipes, decisions.

use std::slice;

use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};

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

/// A recipe to store, and how many to keep.
#[derive(Clone, Copy, Debug)]
pub struct NewRecipe<'a> {
    /// The recipe. Its number is the given one if that is greater than all stored ones, otherwise the next.
    pub row: &'a Recipe,
    /// Number of the newest recipes to keep. Contexts that only dropped recipes used are dropped too.
    pub keep: u64,
}

/// What prompts leave in the store, written together.
#[derive(Clone, Copy, Debug, Default)]
pub struct DerivedRows<'a> {
    /// Summaries. A stored one with an equal key stays.
    pub summaries: &'a [SummaryRow],
    /// States of different views. Each replaces the stored one of its view.
    pub contexts: &'a [ContextRow],
    /// How a prompt was composed.
    pub recipe: Option<NewRecipe<'a>>,
    /// A decision. It is removed with the prompt state that it led to.
    pub decision: Option<NewDecision<'a>>,
}

/// The numbers of stored rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DerivedNumbers {
    /// Of the recipe, if there was one.
    pub recipe: Option<u64>,
    /// Of the decision, if there was one.
    pub decision: Option<u64>,
}

/// What people said of a conversation, as far as prompts show it. It is read as a whole: each prompt needs all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SaidRows {
    /// Pins, by number.
    pub pins: Vec<PinRow>,
    /// Files that are or were pinned, by place.
    pub files: Vec<PinFileRow>,
    /// Verdicts on entries, by number, also those that were taken back.
    pub verdicts: Vec<VerdictRow>,
    /// Spans that were put back, by number, also those that were taken back.
    pub raised: Vec<RaisedRow>,
}

/// What a lane in memory is compared with.
#[derive(Clone, Copy, Debug)]
pub struct LaneLook<'a> {
    /// The conversation of the lane.
    pub conversation: ConversationId,
    /// The view of the state.
    pub thread: Thread,
    /// The budget of the state.
    pub budget: u64,
    /// Names to look up; see [`Log::named`](super::Log::named).
    pub names: &'a [Name],
    /// Whether to read what people said.
    pub reads_said: bool,
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
    /// What people said, if that was asked for.
    pub said: Option<SaidRows>,
}

/// What prompts are made of. None of it counts as a change of the conversation.
pub trait Summaries {
    /// Writes rows that prompts leave, in one transaction. Derived.
    fn put_derived(&self, id: ConversationId, rows: DerivedRows<'_>) -> Result<DerivedNumbers>;

    /// [`Summaries::put_derived`] with summaries and the state that shows them.
    fn put_summaries(
        &self,
        id: ConversationId,
        rows: &[SummaryRow],
        context: Option<&ContextRow>,
    ) -> Result<()> {
        let contexts = context.map(slice::from_ref).unwrap_or_default();
        self.put_derived(id, DerivedRows { summaries: rows, contexts, ..DerivedRows::default() }).map(drop)
    }

    /// [`Summaries::put_derived`] with a recipe and the decision about the turn that begins with its prompt. Returns the number of
    /// the recipe.
    fn put_recipe(
        &self,
        id: ConversationId,
        recipe: &Recipe,
        keep: u64,
        turn: Option<NewDecision<'_>>,
    ) -> Result<u64> {
        let recipe = Some(NewRecipe { row: recipe, keep });
        let rows = DerivedRows { recipe, decision: turn, ..DerivedRows::default() };
        Ok(self.put_derived(id, rows)?.recipe.unwrap_or_default())
    }

    /// [`Summaries::put_derived`] with a decision. Returns its number: the given one if that is greater than all stored ones,
    /// otherwise the next.
    fn decide(&self, id: ConversationId, decision: NewDecision<'_>) -> Result<u64> {
        let rows = DerivedRows { decision: Some(decision), ..DerivedRows::default() };
        Ok(self.put_derived(id, rows)?.decision.unwrap_or_default())
    }

    /// The summaries with these keys, ordered by key; missing ones are left out.
    fn summaries_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>>;

    /// One summary.
    fn summary(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        Ok(self.summaries_of(id, slice::from_ref(key))?.pop())
    }

    /// The last summary that ends before an entry, with the thread, grain and level of `key`. It may belong to another
    /// path.
    fn summary_before(&self, id: ConversationId, key: &SummaryKey, seq: Seq) -> Result<Option<SummaryRow>>;

    /// Summaries of a conversation, ordered by span, then level, then the rest of the key.
    fn summaries(&self, id: ConversationId, page: Page<SummaryPlace>) -> Result<Vec<SummaryRow>>;

    /// Number of summaries of a conversation.
    fn count_summaries(&self, id: ConversationId) -> Result<u64>;

    /// State of the prompt of one view.
    fn context(&self, id: ConversationId, thread: Thread, budget: u64) -> Result<Option<ContextRow>>;

    /// Conversations with the state of one of their views, the entries under some names and what people said, in the order of
    /// the looks. Read together: nothing is older than its conversation's row.
    fn lane_rows(&self, looks: &[LaneLook<'_>]) -> Result<Vec<LaneRows>>;

    /// States of the prompts of one view, by budget.
    fn contexts(&self, id: ConversationId, thread: Thread, page: Page<u64>) -> Result<Vec<ContextRow>>;

    /// Threads of which there are states of prompts, ascending.
    fn context_threads(&self, id: ConversationId, page: Page<Thread>) -> Result<Vec<Thread>>;

    /// What people said of a conversation, as far as prompts show it.
    fn said(&self, id: ConversationId) -> Result<SaidRows>;

    /// Writes pins over the stored ones with equal numbers, and files over those of equal places.
    ///
    /// * `before` - all pins, as [`Summaries::said`] gave them.
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

    /// Stores a verdict that stands, and returns its number: the given one if that is greater than all stored ones,
    /// otherwise the next. A purge of its entry deletes the verdict.
    fn put_verdict(&self, id: ConversationId, verdict: &VerdictRow) -> Result<u64>;

    /// Takes a verdict back. Returns false if there is none with this number, or it was taken back before.
    fn withdraw_verdict(&self, id: ConversationId, number: u64, now: Timestamp) -> Result<bool>;

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

    /// Recipes of a conversation, by number.
    fn recipes(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<RecipeRow>>;

    /// The context that recipes refer to by this name.
    fn recipe_state(&self, id: ConversationId, context: &[u8; 16]) -> Result<Option<Vec<u8>>>;

    /// The kept decisions, oldest first: at most [`NewDecision::keep`].
    fn decisions(&self, id: ConversationId) -> Result<Vec<DecisionRow>>;
}
