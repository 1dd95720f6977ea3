//! What prompts leave, in one round trip.

use tokio_postgres::Row;
use unforget_core::id::ConversationId;
use unforget_store::backend::int;
use unforget_store::{DerivedNumbers, DerivedRows, StoreError};

use crate::at_once::Piece;
use crate::columns::Columns as _;
use crate::conn::Values;
use crate::fault::{Fault, Outcome};
use crate::recipes::{self, DecisionValues, RecipeValues};
use crate::store::PgStore;
use crate::summaries::{PUT_CONTEXTS, SummaryColumns, Table};

impl PgStore {
    /// See [`unforget_store::Summaries::put_derived`].
    pub(crate) fn add_derived(
        &self,
        id: ConversationId,
        rows: DerivedRows<'_>,
    ) -> Result<DerivedNumbers, StoreError> {
        let (tenant, conversation) = (&self.tenant, int(id.0));
        let decision = rows.decision.map(|decision| DecisionValues::new(id, decision));
        let recipe = rows.recipe.map(|recipe| RecipeValues::new(id, recipe));
        let summaries = SummaryColumns::new(id, rows.summaries);
        let threads: Vec<i64> = rows.contexts.iter().map(|context| int(context.thread.0)).collect();
        let budgets: Vec<i64> = rows.contexts.iter().map(|context| int(context.budget)).collect();
        let states: Vec<&[u8]> = rows.contexts.iter().map(|context| context.state.as_slice()).collect();
        let (insert, columns) = (Table::Summary.insert(), summaries.values(tenant));
        let contexts: Values<'_> = &[tenant, &conversation, &threads, &budgets, &states];
        let unused: Values<'_> = &[tenant, &conversation];
        let decided = decision.as_ref().map(|decision| (decision.values(tenant), decision.kept(tenant)));
        let composed = recipe.as_ref().map(|recipe| (recipe.values(tenant), recipe.kept(tenant)));
        // Those with a number first: see `numbers`.
        let mut pieces = Vec::new();
        if let Some((values, kept)) = &composed {
            pieces.push(Piece { sql: recipes::ADD, values });
            pieces.push(Piece { sql: recipes::DROP, values: kept });
            pieces.push(Piece { sql: recipes::DROP_CONTEXTS, values: unused });
        }
        if let Some((values, kept)) = &decided {
            pieces.push(Piece { sql: recipes::DECIDE, values });
            pieces.push(Piece { sql: recipes::DROP_DECISIONS, values: kept });
        }
        if !rows.summaries.is_empty() {
            pieces.push(Piece { sql: &insert, values: &columns });
        }
        if !rows.contexts.is_empty() {
            pieces.push(Piece { sql: PUT_CONTEXTS, values: contexts });
        }
        self.change_at_once("put_derived", id, &pieces, |found| {
            let mut numbers = DerivedNumbers::default();
            if composed.is_some() {
                numbers.recipe = Some(number_of(found, 0)?);
            }
            if decided.is_some() {
                numbers.decision = Some(number_of(found, if composed.is_some() { 3 } else { 0 })?);
            }
            Ok(numbers)
        })
    }
}

/// The number that a statement gave.
fn number_of(found: &[Vec<Row>], at: usize) -> Outcome<u64> {
    found.get(at).and_then(|rows| rows.first()).ok_or(Fault::Column("number"))?.number(0)
}
