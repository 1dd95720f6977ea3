//! Grants: the reading allowed for answers.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::id::{ConversationId, Timestamp};

use super::fault::Outcome;
use crate::codes::{int, uint};
use crate::port::{GrantRow, Reading};

/// See [`crate::Jobs::put_grant`].
pub(super) fn put(tx: &Connection, grant: &GrantRow, keep: u64) -> Outcome<u64> {
    let number: i64 = tx
        .prepare_cached("SELECT coalesce(max(number), 0) + 1 FROM answer_grant")?
        .query_row([], |row| row.get(0))?;
    let (ended, how) = grant.ended.clone().unzip();
    tx.prepare_cached("INSERT INTO answer_grant VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?.execute(params![
        number,
        grant.scope.map(|scope| int(scope.0)),
        int(grant.most.tokens),
        int(grant.most.calls),
        int(grant.used.tokens),
        int(grant.used.calls),
        grant.made.0,
        grant.until.0,
        ended.map(|time| time.0),
        how.unwrap_or_default(),
    ])?;
    let old = number.saturating_sub(int(keep.max(1)));
    tx.prepare_cached("DELETE FROM answer_grant WHERE number <= ?")?.execute([old])?;
    Ok(uint(number))
}

/// See [`crate::Jobs::use_grant`].
pub(super) fn spend(tx: &Connection, number: u64, more: Reading, now: Timestamp) -> Outcome<bool> {
    let sql = "SELECT tokens, calls, used_tokens, used_calls FROM answer_grant
               WHERE number = ? AND ended_ms IS NULL AND until_ms > ?";
    let found = tx.prepare_cached(sql)?.query_row([int(number), now.0], read_reading).optional()?;
    let Some((most, used)) = found else { return Ok(false) };
    let used = used.plus(more);
    if !used.is_within(most) {
        return Ok(false);
    }
    tx.prepare_cached("UPDATE answer_grant SET used_tokens = ?, used_calls = ? WHERE number = ?")?
        .execute([int(used.tokens), int(used.calls), int(number)])?;
    Ok(true)
}

/// See [`crate::Jobs::end_grant`].
pub(super) fn end(tx: &Connection, number: u64, how: &str, now: Timestamp) -> Outcome<bool> {
    let sql = "UPDATE answer_grant SET ended_ms = ?, how = ? WHERE number = ? AND ended_ms IS NULL";
    Ok(tx.prepare_cached(sql)?.execute(params![now.0, how, int(number)])? > 0)
}

/// See [`crate::Jobs::grants`].
pub(super) fn all(conn: &Connection) -> Outcome<Vec<GrantRow>> {
    let mut select = conn.prepare_cached(
        "SELECT tokens, calls, used_tokens, used_calls, number, scope, made_ms, until_ms, ended_ms, how
         FROM answer_grant ORDER BY number",
    )?;
    Ok(select.query_map([], grant_row)?.collect::<rusqlite::Result<_>>()?)
}

fn grant_row(row: &Row<'_>) -> rusqlite::Result<GrantRow> {
    let (most, used) = read_reading(row)?;
    let scope: Option<i64> = row.get(5)?;
    let (ended, how): (Option<i64>, String) = (row.get(8)?, row.get(9)?);
    Ok(GrantRow {
        number: uint(row.get(4)?),
        scope: scope.map(|scope| ConversationId(uint(scope))),
        most,
        used,
        made: Timestamp(row.get(6)?),
        until: Timestamp(row.get(7)?),
        ended: ended.map(|time| (Timestamp(time), how)),
    })
}

/// The limit and the use, from the first four columns.
fn read_reading(row: &Row<'_>) -> rusqlite::Result<(Reading, Reading)> {
    let [tokens, calls, used_tokens, used_calls] =
        [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(uint);
    Ok((Reading { tokens, calls }, Reading { tokens: used_tokens, calls: used_calls }))
}
