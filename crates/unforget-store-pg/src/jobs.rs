//! Jobs for models, under leases.

use tokio_postgres::Row;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_store::backend::{after, int, job_state, job_state_code, limit};
use unforget_store::{JobEnd, JobPlace, JobRow, Lease, NewJob, Page, SummaryKey, SummaryRow};

use crate::columns::Columns as _;
use crate::conn::Conn;
use crate::fault::{Fault, Outcome};
use crate::store::NOW_MS;
use crate::summaries::{self, Table, key_numbers, read_key};

const SELECT: &str = "SELECT thread, grain, level, \"end\", first_seq, last_seq, state, due_ms, attempts, why \
    FROM unforget.job WHERE tenant = $1 AND conversation = $2";

const ORDER: &str = "level, first_seq, last_seq, thread, grain, \"end\"";

fn read(row: &Row) -> Outcome<JobRow> {
    let time = Timestamp(row.at(7)?);
    let state = job_state(row.at(6)?, time).ok_or(Fault::Column("state"))?;
    Ok(JobRow {
        key: read_key(row)?,
        span: (row.seq(4)?, row.seq(5)?),
        state,
        attempts: u32::try_from(row.number(8)?).map_err(|_| Fault::Column("attempts"))?,
        why: row.words(9)?,
    })
}

/// See [`unforget_store::Jobs::put_jobs`].
pub(crate) async fn put(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    jobs: &[NewJob],
    now: Timestamp,
) -> Outcome<u64> {
    if jobs.is_empty() {
        return Ok(0);
    }
    let sql = "INSERT INTO unforget.job SELECT $1::int, $2::bigint, u.*, 0, $9::bigint, 0, ''::bytea
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[], $7::bigint[], $8::bigint[]) u
        ON CONFLICT DO NOTHING";
    let numbers = |of: fn(&NewJob) -> i64| jobs.iter().map(of).collect::<Vec<i64>>();
    let ends: Vec<&[u8]> = jobs.iter().map(|job| job.key.end.0.as_slice()).collect();
    conn.run(
        sql,
        &[
            &tenant,
            &int(id.0),
            &numbers(|job| int(job.key.thread.0)),
            &numbers(|job| i64::from(job.key.grain)),
            &numbers(|job| i64::from(job.key.level)),
            &ends,
            &numbers(|job| int(job.span.0.0)),
            &numbers(|job| int(job.span.1.0)),
            &now.0,
        ],
    )
    .await
}

/// The server's time.
pub(crate) async fn servers_time(conn: &Conn) -> Outcome<Timestamp> {
    let row = conn.row(&format!("SELECT {NOW_MS}"), &[]).await?;
    row.map_or(Err(Fault::Column("time")), |row| Ok(Timestamp(row.at(0)?)))
}

/// The times of a lease, and whether a person asked for it.
#[derive(Clone, Copy)]
pub(crate) struct Taking {
    pub(crate) now: Timestamp,
    pub(crate) until: Timestamp,
    pub(crate) all: bool,
}

/// See [`unforget_store::Jobs::take_job`].
pub(crate) async fn take(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    taking: Taking,
) -> Outcome<Option<JobRow>> {
    let Taking { now, until, all } = taking;
    let leased = format!("{SELECT} AND state = 1 AND due_ms > $3 LIMIT 1");
    if conn.row(&leased, &[&tenant, &int(id.0), &now.0]).await?.is_some() {
        return Ok(None);
    }
    let free = format!(
        "{SELECT} AND (state = 1 OR state = 0 AND ($4 OR due_ms <= $3) OR state = 3 AND $4) ORDER BY {ORDER} LIMIT 1"
    );
    let Some(row) = conn.row(&free, &[&tenant, &int(id.0), &now.0, &all]).await? else { return Ok(None) };
    let job = read(&row)?.taken(until);
    write(conn, tenant, id, &job).await?;
    Ok(Some(job))
}

async fn write(conn: &Conn, tenant: i32, id: ConversationId, job: &JobRow) -> Outcome<()> {
    let sql = "UPDATE unforget.job SET state = $7, due_ms = $8, attempts = $9, why = $10
        WHERE tenant = $1 AND conversation = $2 AND \"end\" = $3 AND level = $4 AND grain = $5 AND thread = $6";
    let [thread, grain, level] = key_numbers(&job.key);
    let (end, why) = (job.key.end.0.as_slice(), job.why.as_bytes());
    let (state, time, attempts) = (job_state_code(job.state), job.state.time().0, i64::from(job.attempts));
    conn.run(sql, &[&tenant, &int(id.0), &end, &level, &grain, &thread, &state, &time, &attempts, &why])
        .await?;
    Ok(())
}

/// See [`unforget_store::Jobs::job`].
pub(crate) async fn one(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    key: &SummaryKey,
) -> Outcome<Option<JobRow>> {
    let sql = format!("{SELECT} AND \"end\" = $3 AND level = $4 AND grain = $5 AND thread = $6");
    let [thread, grain, level] = key_numbers(key);
    let end = key.end.0.as_slice();
    let row = conn.row(&sql, &[&tenant, &int(id.0), &end, &level, &grain, &thread]).await?;
    row.as_ref().map(read).transpose()
}

/// The end of an attempt.
#[derive(Clone, Copy)]
pub(crate) struct Ending<'a> {
    pub(crate) lease: Lease,
    pub(crate) end: &'a JobEnd,
    pub(crate) now: Timestamp,
}

/// See [`unforget_store::Jobs::end_job`].
pub(crate) async fn end(conn: &Conn, tenant: i32, id: ConversationId, ending: Ending<'_>) -> Outcome<bool> {
    let Ending { lease, end: how, now } = ending;
    let held = one(conn, tenant, id, &lease.key).await?.filter(|job| job.is_held(lease, now));
    let Some(job) = held else { return Ok(false) };
    let job = job.ended(how, now);
    if let JobEnd::Done(row) = how {
        summaries::put(conn, tenant, Table::Rewrite, id, std::slice::from_ref(row)).await?;
    }
    write(conn, tenant, id, &job).await?;
    Ok(true)
}

/// See [`unforget_store::Jobs::due`].
pub(crate) async fn due(
    conn: &Conn,
    tenant: i32,
    now: Timestamp,
    page: Page<ConversationId>,
) -> Outcome<Vec<ConversationId>> {
    let sql =
        "SELECT conversation FROM unforget.job WHERE tenant = $1 AND conversation > $2 AND state IN (0, 1)
        GROUP BY conversation HAVING bool_or(due_ms <= $3) AND NOT bool_or(state = 1 AND due_ms > $3)
        ORDER BY conversation LIMIT $4";
    let from = after(page.after.map(|id| id.0));
    let rows = conn.rows(sql, &[&tenant, &from, &now.0, &limit(page.limit)]).await?;
    rows.iter().map(|row| row.number(0).map(ConversationId)).collect()
}

/// See [`unforget_store::Jobs::jobs`].
pub(crate) async fn page(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    page: Page<JobPlace>,
) -> Outcome<Vec<JobRow>> {
    let sql = format!("{SELECT} AND ({ORDER}) > ($3, $4, $5, $6, $7, $8) ORDER BY {ORDER} LIMIT $9");
    let level = after(page.after.map(|place| u64::from(place.level)));
    let [first, last] = page.after.map_or([0, 0], |place| [int(place.span.0.0), int(place.span.1.0)]);
    let key = page.after.map_or(SummaryKey::FIRST, |place| place.key);
    let [thread, grain, _] = key_numbers(&key);
    let (end, most) = (key.end.0.as_slice(), limit(page.limit));
    let rows =
        conn.rows(&sql, &[&tenant, &int(id.0), &level, &first, &last, &thread, &grain, &end, &most]).await?;
    rows.iter().map(read).collect()
}

/// See [`unforget_store::Jobs::drop_jobs`].
pub(crate) async fn drop_all(conn: &Conn, tenant: i32, id: ConversationId, now: Timestamp) -> Outcome<u64> {
    let sql = "DELETE FROM unforget.job WHERE tenant = $1 AND conversation = $2 AND state <> 2
        AND NOT (state = 1 AND due_ms > $3)";
    conn.run(sql, &[&tenant, &int(id.0), &now.0]).await
}

/// See [`unforget_store::Jobs::put_rewrites`].
pub(crate) async fn put_rewrites(
    conn: &Conn,
    tenant: i32,
    id: ConversationId,
    rows: &[SummaryRow],
    now: Timestamp,
) -> Outcome<()> {
    let jobs: Vec<NewJob> = rows.iter().map(|row| NewJob { key: row.key, span: row.span }).collect();
    put(conn, tenant, id, &jobs, now).await?;
    let sql = "UPDATE unforget.job j SET state = 2, due_ms = $7, why = ''
        FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::bytea[]) u(thread, grain, level, \"end\")
        WHERE tenant = $1 AND conversation = $2 AND j.state <> 2
          AND (j.thread, j.grain, j.level, j.\"end\") = (u.thread, u.grain, u.level, u.\"end\")";
    let numbers = |of: fn(&NewJob) -> i64| jobs.iter().map(of).collect::<Vec<i64>>();
    let ends: Vec<&[u8]> = jobs.iter().map(|job| job.key.end.0.as_slice()).collect();
    conn.run(
        sql,
        &[
            &tenant,
            &int(id.0),
            &numbers(|job| int(job.key.thread.0)),
            &numbers(|job| i64::from(job.key.grain)),
            &numbers(|job| i64::from(job.key.level)),
            &ends,
            &now.0,
        ],
    )
    .await?;
    summaries::put(conn, tenant, Table::Rewrite, id, rows).await
}
