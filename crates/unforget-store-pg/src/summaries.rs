//! Summaries and states of prompts.

use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_store::backend::{after, decode_sources, encode_sources, int, limit};
use unforget_store::{ContextRow, Page, SummaryKey, SummaryPlace, SummaryRow};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};

/// One of the two tables of summaries, which have equal columns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Table {
    Summary,
    Rewrite,
}

impl Table {
    const fn name(self) -> &'static str {
        match self {
            Self::Summary => "unforget.summary",
            Self::Rewrite => "unforget.rewrite",
        }
    }

    /// Writes summaries; a stored one of the same key stays.
    pub(crate) fn insert(self) -> String {
        format!(
            "INSERT INTO {} SELECT $1::int, $2::bigint, u.* FROM unnest($3::bigint[], $4::bigint[], $5::bigint[],
               $6::bytea[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bytea[], $11::bytea[], $12::bytea[],
               $13::bigint[], $14::bigint[], $15::bigint[]) u ON CONFLICT DO NOTHING",
            self.name()
        )
    }

    fn select(self) -> String {
        format!(
            "SELECT thread, grain, level, \"end\", first_seq, last_seq, count, sources, writer, body, tokens_source,
               tokens_body, time_ms FROM {}",
            self.name()
        )
    }
}

/// Columns of summaries to write.
pub(crate) struct SummaryColumns<'a> {
    conversation: i64,
    /// Thread, grain and level of the key; span; count; tokens; time.
    numbers: [Vec<i64>; 9],
    /// End of the key, writer, body.
    words: [Vec<&'a [u8]>; 3],
    sources: Vec<Vec<u8>>,
}

impl<'a> SummaryColumns<'a> {
    pub(crate) fn new(id: ConversationId, rows: &'a [SummaryRow]) -> Self {
        let numbers = |of: fn(&SummaryRow) -> i64| rows.iter().map(of).collect::<Vec<i64>>();
        let words = |of: fn(&SummaryRow) -> &[u8]| rows.iter().map(of).collect::<Vec<&[u8]>>();
        Self {
            conversation: int(id.0),
            numbers: [
                numbers(|row| int(row.key.thread.0)),
                numbers(|row| i64::from(row.key.grain)),
                numbers(|row| i64::from(row.key.level)),
                numbers(|row| int(row.span.0.0)),
                numbers(|row| int(row.span.1.0)),
                numbers(|row| int(row.count)),
                numbers(|row| int(row.tokens.0)),
                numbers(|row| int(row.tokens.1)),
                numbers(|row| row.time.0),
            ],
            words: [
                words(|row| row.key.end.0.as_slice()),
                words(|row| row.writer.as_bytes()),
                words(|row| row.body.as_bytes()),
            ],
            sources: rows.iter().map(|row| encode_sources(&row.sources)).collect(),
        }
    }

    /// The values of [`Table::insert`].
    pub(crate) fn values<'v>(&'v self, tenant: &'v i32) -> [&'v (dyn ToSql + Sync); 15] {
        let [thread, grain, level, first, last, count, source, body_tokens, time] = &self.numbers;
        let [end, writer, body] = &self.words;
        [
            tenant,
            &self.conversation,
            thread,
            grain,
            level,
            end,
            first,
            last,
            count,
            &self.sources,
            writer,
            body,
            source,
            body_tokens,
            time,
        ]
    }
}

/// Writes summaries; a stored one of the same key stays.
pub(crate) async fn put(
    conn: &Conn,
    tenant: i32,
    table: Table,
    id: ConversationId,
    rows: &[SummaryRow],
) -> Outcome<()> {
    if !rows.is_empty() {
        conn.run(&table.insert(), &SummaryColumns::new(id, rows).values(&tenant)).await?;
    }
    Ok(())
}

/// Thread, grain and level of a key.
pub(crate) fn key_numbers(key: &SummaryKey) -> [i64; 3] {
    [int(key.thread.0), i64::from(key.grain), i64::from(key.level)]
}

/// Writes states of prompts of different views over the existing ones.
pub(crate) const PUT_CONTEXTS: &str = "INSERT INTO unforget.context SELECT $1::int, $2::bigint, u.*
    FROM unnest($3::bigint[], $4::bigint[], $5::bytea[]) u
    ON CONFLICT (tenant, conversation, thread, budget) DO UPDATE SET state = excluded.state";

/// See [`unforget_store::Summaries::context`].
pub(crate) async fn context(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    thread: Thread,
    budget: u64,
) -> Outcome<Option<ContextRow>> {
    let sql = "SELECT state FROM unforget.context
        WHERE tenant = $1 AND conversation = $2 AND thread = $3 AND budget = $4";
    let row = conn.row(sql, &[&tenant, &int(id.0), &int(thread.0), &int(budget)]).await?;
    let context = |row: Row| Ok(ContextRow { thread, budget, state: row.at(0)? });
    row.map(context).transpose()
}

/// See [`unforget_store::Summaries::contexts`].
pub(crate) async fn contexts(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    thread: Thread,
    page: Page<u64>,
) -> Outcome<Vec<ContextRow>> {
    let sql = "SELECT budget, state FROM unforget.context
        WHERE tenant = $1 AND conversation = $2 AND thread = $3 AND budget > $4 ORDER BY budget LIMIT $5";
    let (from, most) = (after(page.after), limit(page.limit));
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &int(thread.0), &from, &most]).await?;
    let context = |row: &Row| Ok(ContextRow { thread, budget: row.number(0)?, state: row.at(1)? });
    rows.iter().map(context).collect()
}

/// See [`unforget_store::Summaries::context_threads`].
pub(crate) async fn context_threads(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<Thread>,
) -> Outcome<Vec<Thread>> {
    let sql = "SELECT DISTINCT thread FROM unforget.context
        WHERE tenant = $1 AND conversation = $2 AND thread > $3 ORDER BY thread LIMIT $4";
    let from = after(page.after.map(|thread| thread.0));
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &from, &limit(page.limit)]).await?;
    rows.iter().map(|row| row.number(0).map(Thread)).collect()
}

/// The summaries with these keys, ordered by key. See [`unforget_store::Summaries::summaries_of`].
pub(crate) async fn of(
    conn: &Conn,
    tenant: i32,
    table: Table,
    id: ConversationId,
    keys: &[SummaryKey],
) -> Outcome<Vec<SummaryRow>> {
    if keys.is_empty() {
        return Ok(Vec::new());
    }
    let sql = format!(
        "{} WHERE tenant = $1 AND conversation = $2 AND (\"end\", level, grain, thread) IN
           (SELECT u.* FROM unnest($3::bytea[], $4::bigint[], $5::bigint[], $6::bigint[]) u)",
        table.select()
    );
    let column = |of: fn(&SummaryKey) -> i64| keys.iter().map(of).collect::<Vec<i64>>();
    let ends: Vec<&[u8]> = keys.iter().map(|key| key.end.0.as_slice()).collect();
    let levels = column(|key| i64::from(key.level));
    let grains = column(|key| i64::from(key.grain));
    let threads = column(|key| int(key.thread.0));
    let rows = conn.rows(&sql, &[&tenant, &int(id.0), &ends, &levels, &grains, &threads]).await?;
    let mut found = rows.iter().map(read).collect::<Outcome<Vec<_>>>()?;
    found.sort_unstable_by_key(|row| row.key);
    Ok(found)
}

/// See [`unforget_store::Summaries::summaries`].
pub(crate) async fn page(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<SummaryPlace>,
) -> Outcome<Vec<SummaryRow>> {
    let sql = format!(
        "{} WHERE tenant = $1 AND conversation = $2
           AND (first_seq, last_seq, level, thread, grain, \"end\") > ($3, $4, $5, $6, $7, $8)
         ORDER BY first_seq, last_seq, level, thread, grain, \"end\" LIMIT $9",
        Table::Summary.select()
    );
    let [first, last] = page.after.map_or([-1, -1], |place| [int(place.span.0.0), int(place.span.1.0)]);
    let key = page.after.map_or(SummaryKey::FIRST, |place| place.key);
    let [thread, grain, level] = key_numbers(&key);
    let (end, most) = (key.end.0.as_slice(), limit(page.limit));
    let rows =
        conn.rows(&sql, &[&tenant, &int(id.0), &first, &last, &level, &thread, &grain, &end, &most]).await?;
    rows.iter().map(read).collect()
}

/// See [`unforget_store::Summaries::count_summaries`].
pub(crate) async fn count(conn: &Conn, tenant: i32, id: ConversationId) -> Outcome<u64> {
    let sql = "SELECT count(*) FROM unforget.summary WHERE tenant = $1 AND conversation = $2";
    let row = conn.row(sql, &[&tenant, &int(id.0)]).await?;
    row.map_or(Ok(0), |row| row.number(0))
}

/// See [`unforget_store::Jobs::rewrites`].
pub(crate) async fn rewrite_keys(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<SummaryKey>,
) -> Outcome<Vec<SummaryKey>> {
    let sql =
        "SELECT thread, grain, level, \"end\" FROM unforget.rewrite WHERE tenant = $1 AND conversation = $2
          AND (thread, grain, level, \"end\") > ($3, $4, $5, $6)
        ORDER BY thread, grain, level, \"end\" LIMIT $7";
    let from = after(page.after.map(|key| key.thread.0));
    let key = page.after.unwrap_or(SummaryKey::FIRST);
    let [_, grain, level] = key_numbers(&key);
    let (end, most) = (key.end.0.as_slice(), limit(page.limit));
    let rows = conn.rows(sql, &[&tenant, &int(id.0), &from, &grain, &level, &end, &most]).await?;
    rows.iter().map(read_key).collect()
}

/// See [`unforget_store::Summaries::summary_before`].
pub(crate) async fn before(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    key: &SummaryKey,
    seq: Seq,
) -> Outcome<Option<SummaryRow>> {
    let sql = format!(
        "{} WHERE tenant = $1 AND conversation = $2 AND level = $3 AND grain = $4 AND thread = $5 AND last_seq < $6
         ORDER BY last_seq DESC, \"end\" LIMIT 1",
        Table::Summary.select()
    );
    let [thread, grain, level] = key_numbers(key);
    let row = conn.row(&sql, &[&tenant, &int(id.0), &level, &grain, &thread, &int(seq.0)]).await?;
    row.as_ref().map(read).transpose()
}

/// A key from the first four columns: thread, grain, level, end.
pub(crate) fn read_key(row: &Row) -> Outcome<SummaryKey> {
    let grain = u32::try_from(row.number(1)?).map_err(|_| Fault::Column("grain"))?;
    let level = u8::try_from(row.number(2)?).map_err(|_| Fault::Column("level"))?;
    Ok(SummaryKey { thread: Thread(row.number(0)?), grain, level, end: row.digest(3)? })
}

fn read(row: &Row) -> Outcome<SummaryRow> {
    Ok(SummaryRow {
        key: read_key(row)?,
        span: (row.seq(4)?, row.seq(5)?),
        count: row.number(6)?,
        sources: decode_sources(row.at(7)?).ok_or(Fault::Column("sources"))?,
        writer: row.words(8)?,
        body: row.words(9)?,
        tokens: (row.number(10)?, row.number(11)?),
        time: Timestamp(row.at(12)?),
    })
}
