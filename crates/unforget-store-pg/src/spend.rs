//! Costs of models, their breakers, and grants for reading.

use std::collections::BTreeMap;

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::int;
use unforget_store::{BreakerRow, GrantRow, Reading, SPEND_HOURS, Spend, SpendHour, SpendKind};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// The stored number of what calls were for.
const fn kind(of: SpendHour) -> i32 {
    match of.kind {
        SpendKind::Summaries => 0,
        SpendKind::Meaning => 1,
    }
}

/// See [`unforget_store::Jobs::spent`].
pub(crate) async fn spent(conn: &Conn, tenant: i32, id: ConversationId, of: SpendHour) -> Outcome<Spend> {
    let sql = "SELECT calls, input, output, micros FROM unforget.spend
        WHERE tenant = $1 AND conversation = $2 AND kind = $3 AND hour = $4";
    let Some(row) = conn.row(sql, &[&tenant, &int(id.0), &kind(of), &of.hour]).await? else {
        return Ok(Spend::default());
    };
    Ok(Spend { calls: row.number(0)?, input: row.number(1)?, output: row.number(2)?, micros: row.number(3)? })
}

async fn put(conn: &Conn, tenant: i32, id: ConversationId, of: SpendHour, sum: Spend) -> Outcome<()> {
    let sql = "INSERT INTO unforget.spend VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        ON CONFLICT (tenant, conversation, kind, hour) DO UPDATE SET calls = excluded.calls, input = excluded.input,
          output = excluded.output, micros = excluded.micros";
    let [calls, input, output, micros] = [sum.calls, sum.input, sum.output, sum.micros].map(int);
    conn.run(sql, &[&tenant, &int(id.0), &kind(of), &of.hour, &calls, &input, &output, &micros]).await?;
    Ok(())
}

/// A charge of an hour and its limit.
#[derive(Clone, Copy)]
pub(crate) struct Charge {
    pub(crate) hour: SpendHour,
    pub(crate) spend: Spend,
    pub(crate) caps: Spend,
}

/// See [`unforget_store::Jobs::charge`].
pub(crate) async fn charge(conn: &Conn, tenant: i32, id: ConversationId, charge: Charge) -> Outcome<bool> {
    let Charge { hour, spend, caps } = charge;
    let sum = spent(conn, tenant, id, hour).await?.plus(spend);
    if !sum.is_within(caps) {
        return Ok(false);
    }
    let sql = "DELETE FROM unforget.spend WHERE tenant = $1 AND conversation = $2 AND hour <= $3";
    conn.run(sql, &[&tenant, &int(id.0), &hour.hour.saturating_sub(SPEND_HOURS)]).await?;
    put(conn, tenant, id, hour, sum).await?;
    Ok(true)
}

/// See [`unforget_store::Jobs::refund`].
pub(crate) async fn refund(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    hour: SpendHour,
    spend: Spend,
) -> Outcome<()> {
    let sum = spent(conn, tenant, id, hour).await?;
    if sum == Spend::default() { Ok(()) } else { put(conn, tenant, id, hour, sum.less(spend)).await }
}

/// See [`unforget_store::Jobs::breakers`].
pub(crate) async fn breakers(conn: &Conn, tenant: i32) -> Outcome<Vec<BreakerRow>> {
    let sql = "SELECT provider, credential, state FROM unforget.breaker WHERE tenant = $1
        ORDER BY provider, credential";
    let breaker = |row: &Row| {
        Ok(BreakerRow { provider: row.words(0)?, credential: row.words(1)?, state: row.words(2)? })
    };
    conn.rows(sql, &[&tenant]).await?.iter().map(breaker).collect()
}

/// See [`unforget_store::Jobs::put_breakers`].
pub(crate) async fn put_breakers(conn: &Conn, tenant: i32, rows: &[BreakerRow]) -> Outcome<()> {
    let sql = "INSERT INTO unforget.breaker SELECT $1::int, u.* FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) u
        ON CONFLICT (tenant, provider, credential) DO UPDATE SET state = excluded.state";
    // One statement writes a row once; the last of equal accounts counts.
    let last: BTreeMap<[&str; 2], &BreakerRow> =
        rows.iter().map(|row| ([row.provider.as_str(), row.credential.as_str()], row)).collect();
    let column =
        |of: fn(&BreakerRow) -> &str| last.values().map(|row| of(row).as_bytes()).collect::<Vec<_>>();
    let providers = column(|row| &row.provider);
    let credentials = column(|row| &row.credential);
    let states = column(|row| &row.state);
    conn.run(sql, &[&tenant, &providers, &credentials, &states]).await?;
    Ok(())
}

/// See [`unforget_store::Jobs::put_grant`].
pub(crate) async fn put_grant(conn: &Conn, tenant: i32, grant: &GrantRow, keep: u64) -> Outcome<u64> {
    let sql = "INSERT INTO unforget.answer_grant SELECT $1::int, coalesce(max(number), 0) + 1, $2::bigint, $3::bigint,
          $4::bigint, $5::bigint, $6::bigint, $7::bigint, $8::bigint, $9::bigint, $10::bytea
        FROM unforget.answer_grant WHERE tenant = $1 RETURNING number";
    let scope = grant.scope.map(|scope| int(scope.0));
    let [tokens, calls, used_tokens, used_calls] =
        [grant.most.tokens, grant.most.calls, grant.used.tokens, grant.used.calls].map(int);
    let ended = grant.ended.as_ref().map(|(time, _)| time.0);
    let how = grant.ended.as_ref().map_or(&b""[..], |(_, how)| how.as_bytes());
    let (made, until) = (grant.made.0, grant.until.0);
    let row = conn
        .row(sql, &[&tenant, &scope, &tokens, &calls, &used_tokens, &used_calls, &made, &until, &ended, &how])
        .await?;
    let number = row.ok_or(Fault::Column("grant"))?.number(0)?;
    let old = int(number.saturating_sub(keep.max(1)));
    conn.run("DELETE FROM unforget.answer_grant WHERE tenant = $1 AND number <= $2", &[&tenant, &old])
        .await?;
    Ok(number)
}

/// See [`unforget_store::Jobs::use_grant`].
pub(crate) async fn use_grant(
    conn: &Conn,
    tenant: i32,
    number: u64,
    more: Reading,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "SELECT tokens, calls, used_tokens, used_calls FROM unforget.answer_grant
        WHERE tenant = $1 AND number = $2 AND ended_ms IS NULL AND until_ms > $3";
    let Some(row) = conn.row(sql, &[&tenant, &int(number), &now.0]).await? else { return Ok(false) };
    let (most, used) = readings(&row)?;
    let used = used.plus(more);
    if !used.is_within(most) {
        return Ok(false);
    }
    let sql = "UPDATE unforget.answer_grant SET used_tokens = $3, used_calls = $4
        WHERE tenant = $1 AND number = $2";
    conn.run(sql, &[&tenant, &int(number), &int(used.tokens), &int(used.calls)]).await?;
    Ok(true)
}

/// See [`unforget_store::Jobs::end_grant`].
pub(crate) async fn end_grant(
    conn: &Conn,
    tenant: i32,
    number: u64,
    how: &str,
    now: Timestamp,
) -> Outcome<bool> {
    let sql = "UPDATE unforget.answer_grant SET ended_ms = $3, how = $4
        WHERE tenant = $1 AND number = $2 AND ended_ms IS NULL";
    Ok(conn.run(sql, &[&tenant, &int(number), &now.0, &how.as_bytes()]).await? > 0)
}

/// See [`unforget_store::Jobs::grants`].
pub(crate) async fn grants(conn: &Conn, tenant: i32) -> Outcome<Vec<GrantRow>> {
    let sql = "SELECT tokens, calls, used_tokens, used_calls, number, scope, made_ms, until_ms, ended_ms, how
        FROM unforget.answer_grant WHERE tenant = $1 ORDER BY number";
    let grant = |row: &Row| {
        let (most, used) = readings(row)?;
        let how = row.words(9)?;
        Ok(GrantRow {
            number: row.number(4)?,
            scope: row.number_if(5)?.map(ConversationId),
            most,
            used,
            made: Timestamp(row.at(6)?),
            until: Timestamp(row.at(7)?),
            ended: row.at::<Option<i64>>(8)?.map(|time| (Timestamp(time), how)),
        })
    };
    conn.rows(sql, &[&tenant]).await?.iter().map(grant).collect()
}

/// The limit and the use, from the first four columns.
fn readings(row: &Row) -> Outcome<(Reading, Reading)> {
    let most = Reading { tokens: row.number(0)?, calls: row.number(1)? };
    Ok((most, Reading { tokens: row.number(2)?, calls: row.number(3)? }))
}
