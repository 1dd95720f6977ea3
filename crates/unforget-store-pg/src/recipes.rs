//! Recipes of prompts, and decisions.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::{after, int, limit};
use unforget_store::{DecisionRow, NewDecision, Page, Recipe, RecipeRow};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// See [`unforget_store::Summaries::put_recipe`].
pub(crate) async fn put(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    recipe: &Recipe,
    keep: u64,
) -> Outcome<u64> {
    let conversation = int(id.0);
    let sql = "WITH x AS (INSERT INTO unforget.recipe_context VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING)
        INSERT INTO unforget.recipe SELECT $1, $2, coalesce(max(number), 0) + 1, $3, $5 FROM unforget.recipe
        WHERE tenant = $1 AND conversation = $2 RETURNING number";
    let context = recipe.context.as_slice();
    let row = conn.row(sql, &[&tenant, &conversation, &context, &recipe.state, &recipe.body]).await?;
    let number = row.ok_or(Fault::Column("recipe"))?.number(0)?;
    let old = int(number.saturating_sub(keep.max(1)));
    let sql = "DELETE FROM unforget.recipe WHERE tenant = $1 AND conversation = $2 AND number <= $3";
    if conn.run(sql, &[&tenant, &conversation, &old]).await? > 0 {
        let sql = "DELETE FROM unforget.recipe_context c WHERE tenant = $1 AND conversation = $2
            AND NOT EXISTS (SELECT 1 FROM unforget.recipe r
              WHERE r.tenant = $1 AND r.conversation = $2 AND r.context = c.name)";
        conn.run(sql, &[&tenant, &conversation]).await?;
    }
    Ok(number)
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

/// See [`unforget_store::Summaries::decide`].
pub(crate) async fn decide(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    decision: NewDecision<'_>,
) -> Outcome<u64> {
    let NewDecision { row, keep } = decision;
    let conversation = int(id.0);
    let sql = "INSERT INTO unforget.decision
        SELECT $1::int, $2::bigint, coalesce(max(number), 0) + 1, $3::bigint, $4::bigint, $5::bytea, $6::bytea, $7::bytea
        FROM unforget.decision WHERE tenant = $1 AND conversation = $2 RETURNING number";
    let (looked, decided, why) = (row.looked.as_bytes(), row.decided.as_bytes(), row.why.as_bytes());
    let (seq, time) = (int(row.seq.0), row.time.0);
    let made = conn.row(sql, &[&tenant, &conversation, &seq, &time, &looked, &decided, &why]).await?;
    let number = made.ok_or(Fault::Column("decision"))?.number(0)?;
    let old = int(number.saturating_sub(keep.max(1)));
    let sql = "DELETE FROM unforget.decision WHERE tenant = $1 AND conversation = $2 AND number <= $3";
    conn.run(sql, &[&tenant, &conversation, &old]).await?;
    Ok(number)
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
