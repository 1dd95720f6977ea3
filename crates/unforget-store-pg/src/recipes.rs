//! Recipes of prompts, and decisions.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::{after, int, limit};
use unforget_store::{DecisionRow, NewDecision, NewRecipe, Page, Recipe, RecipeRow};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::Outcome;

/// Adds a recipe and its context; returns its number.
pub(crate) const ADD: &str = "WITH x AS (INSERT INTO unforget.recipe_context VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING)
    INSERT INTO unforget.recipe SELECT $1, $2, greatest(coalesce(max(number), 0) + 1, $6::bigint), $3, $5 FROM unforget.recipe
    WHERE tenant = $1 AND conversation = $2 RETURNING number";

/// Drops all but the newest recipes.
pub(crate) const DROP: &str =
    "DELETE FROM unforget.recipe WHERE tenant = $1 AND conversation = $2 AND number <=
    (SELECT max(number) FROM unforget.recipe WHERE tenant = $1 AND conversation = $2) - $3";

/// Drops the contexts of recipes that are gone.
pub(crate) const DROP_CONTEXTS: &str =
    "DELETE FROM unforget.recipe_context c WHERE tenant = $1 AND conversation = $2
    AND NOT EXISTS (SELECT 1 FROM unforget.recipe r
      WHERE r.tenant = $1 AND r.conversation = $2 AND r.context = c.name)";

/// Adds a decision; returns its number.
pub(crate) const DECIDE: &str = "INSERT INTO unforget.decision SELECT $1::int, $2::bigint,
      greatest(coalesce(max(number), 0) + 1, $8::bigint), $3::bigint, $4::bigint, $5::bytea, $6::bytea, $7::bytea
    FROM unforget.decision WHERE tenant = $1 AND conversation = $2 RETURNING number";

/// Drops all but the newest decisions.
pub(crate) const DROP_DECISIONS: &str =
    "DELETE FROM unforget.decision WHERE tenant = $1 AND conversation = $2 AND number <=
    (SELECT max(number) FROM unforget.decision WHERE tenant = $1 AND conversation = $2) - $3";

/// The values of a recipe's statements.
pub(crate) struct RecipeValues<'a> {
    conversation: i64,
    context: &'a [u8],
    recipe: &'a Recipe,
    number: i64,
    keep: i64,
}

impl<'a> RecipeValues<'a> {
    pub(crate) fn new(id: ConversationId, NewRecipe { row, keep }: NewRecipe<'a>) -> Self {
        let (number, keep) = (int(row.number), int(keep.max(1)));
        Self { conversation: int(id.0), context: row.context.as_slice(), recipe: row, number, keep }
    }

    pub(crate) fn values<'v>(&'v self, tenant: &'v i32) -> [&'v (dyn ToSql + Sync); 6] {
        let Recipe { state, body, .. } = self.recipe;
        [tenant, &self.conversation, &self.context, state, body, &self.number]
    }

    pub(crate) fn kept<'v>(&'v self, tenant: &'v i32) -> [&'v (dyn ToSql + Sync); 3] {
        [tenant, &self.conversation, &self.keep]
    }
}

/// The values of a decision's statements.
pub(crate) struct DecisionValues<'a> {
    conversation: i64,
    seq: i64,
    time: i64,
    words: [&'a [u8]; 3],
    number: i64,
    keep: i64,
}

impl<'a> DecisionValues<'a> {
    pub(crate) fn new(id: ConversationId, NewDecision { row, keep }: NewDecision<'a>) -> Self {
        Self {
            conversation: int(id.0),
            seq: int(row.seq.0),
            time: row.time.0,
            words: [row.looked.as_bytes(), row.decided.as_bytes(), row.why.as_bytes()],
            number: int(row.number),
            keep: int(keep.max(1)),
        }
    }

    pub(crate) fn values<'v>(&'v self, tenant: &'v i32) -> [&'v (dyn ToSql + Sync); 8] {
        let [looked, decided, why] = &self.words;
        [tenant, &self.conversation, &self.seq, &self.time, looked, decided, why, &self.number]
    }

    pub(crate) fn kept<'v>(&'v self, tenant: &'v i32) -> [&'v (dyn ToSql + Sync); 3] {
        [tenant, &self.conversation, &self.keep]
    }
}

/// See [`unforget_store::Summaries::recipes`].
pub(crate) async fn page(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<u64>,
) -> Outcome<Vec<RecipeRow>> {
    let sql = "SELECT number, context, body FROM unforget.recipe
        WHERE tenant = $1 AND conversation = $2 AND number > $3 ORDER BY number LIMIT $4";
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &after(page.after), &limit(page.limit)]).await?;
    let recipe =
        |row: &Row| Ok(RecipeRow { number: row.number(0)?, context: row.half_digest(1)?, body: row.at(2)? });
    rows.iter().map(recipe).collect()
}

/// See [`unforget_store::Summaries::recipe_state`].
pub(crate) async fn state(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    context: &[u8; 16],
) -> Outcome<Option<Vec<u8>>> {
    let sql =
        "SELECT state FROM unforget.recipe_context WHERE tenant = $1 AND conversation = $2 AND name = $3";
    let row = conn.row(sql, &[&tenant, &int(id.0), &context.as_slice()]).await?;
    row.map(|row| row.at(0)).transpose()
}

/// See [`unforget_store::Summaries::decisions`].
pub(crate) async fn decisions(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<Vec<DecisionRow>> {
    let sql = "SELECT number, seq, time_ms, looked, decided, why FROM unforget.decision
        WHERE tenant = $1 AND conversation = $2 ORDER BY number";
    let decision = |row: &Row| {
        Ok(DecisionRow {
            number: row.number(0)?,
            seq: row.seq(1)?,
            time: Timestamp(row.at(2)?),
            looked: row.words(3)?,
            decided: row.words(4)?,
            why: row.words(5)?,
        })
    };
    conn.rows(sql, &[&tenant, &int(id.0)]).await?.iter().map(decision).collect()
}
