//! Work of models: jobs under leases, their results, their costs, decisions.

use rusqlite::{Connection, OptionalExtension, Row, params};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};

use super::codes::{after, digest, int, limit, uint};
use super::fault::Outcome;
use super::summaries::{self, Table};
use super::{SqliteStore, conversations, grants};
use crate::port::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobPlace, JobRow, JobState, Jobs, Lease, NewDecision, NewJob,
    Page, Reading, Result, SPEND_HOURS, Spend, SummaryKey, SummaryRow,
};

/// Drops everything derived from purged entries.
///
/// * `ours` - conversation, first seq, and the seq after the last.
pub(super) fn purge(tx: &Connection, ours: [i64; 3]) -> Outcome<()> {
    for table in ["job", "rewrite"] {
        let sql =
            format!("DELETE FROM {table} WHERE conversation = ?1 AND first_seq < ?3 AND last_seq >= ?2");
        tx.execute(&sql, ours)?;
    }
    let [conversation, ..] = ours;
    tx.execute("DELETE FROM decision WHERE conversation = ?", [conversation])?;
    Ok(())
}

/// Ends all leases: a store opened for writing has one owner, so all earlier holders are gone. Their jobs are due
/// again; the attempts count, and their cost stays charged.
pub(super) fn end_leases(conn: &Connection) -> Outcome<()> {
    conn.execute("UPDATE job SET state = 0, due_ms = 0 WHERE state = 1", [])?;
    Ok(())
}

const COLUMNS: &str = "thread, grain, level, end, first_seq, last_seq, state, due_ms, attempts, why";
const ORDER: &str = "level, first_seq, last_seq, thread, grain, end";

fn read(row: &Row<'_>) -> rusqlite::Result<JobRow> {
    let wrong = |at, why: &str| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Blob, why.to_owned().into())
    };
    let end =
        digest(row.get_ref(3)?.as_bytes()?).ok_or_else(|| wrong(3, "a job's key has a wrong length"))?;
    let time = Timestamp(row.get(7)?);
    let state = match row.get::<_, i64>(6)? {
        0 => JobState::Waiting { due: time },
        1 => JobState::Leased { until: time },
        2 => JobState::Done { at: time },
        3 => JobState::GivenUp { at: time },
        _ => return Err(wrong(6, "a job's state is not known")),
    };
    Ok(JobRow {
        key: SummaryKey { thread: Thread(uint(row.get(0)?)), grain: row.get(1)?, level: row.get(2)?, end },
        span: (Seq(uint(row.get(4)?)), Seq(uint(row.get(5)?))),
        state,
        attempts: row.get(8)?,
        why: row.get(9)?,
    })
}

const fn code(state: JobState) -> i64 {
    match state {
        JobState::Waiting { .. } => 0,
        JobState::Leased { .. } => 1,
        JobState::Done { .. } => 2,
        JobState::GivenUp { .. } => 3,
    }
}

fn put(tx: &Connection, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Outcome<u64> {
    let mut insert = tx.prepare_cached(
        "INSERT OR IGNORE INTO job (conversation, thread, grain, level, end, first_seq, last_seq, state, due_ms, attempts, why)
         VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, 0, '')",
    )?;
    let mut new = 0;
    for NewJob { key, span } in jobs {
        new += insert.execute(params![
            int(id.0),
            int(key.thread.0),
            key.grain,
            key.level,
            key.end.0,
            int(span.0.0),
            int(span.1.0),
            now.0
        ])?;
    }
    Ok(new as u64)
}

fn take(
    tx: &Connection,
    id: ConversationId,
    now: Timestamp,
    until: Timestamp,
    all: bool,
) -> Outcome<Option<JobRow>> {
    let busy: bool = tx
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM job WHERE conversation = ? AND state = 1 AND due_ms > ?)",
        )?
        .query_row([int(id.0), now.0], |row| row.get(0))?;
    if busy {
        return Ok(None);
    }
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE conversation = ?1
           AND (state = 1 OR state = 0 AND (?3 OR due_ms <= ?2) OR state = 3 AND ?3) ORDER BY {ORDER} LIMIT 1"
    );
    let found = tx.prepare_cached(&sql)?.query_row(params![int(id.0), now.0, all], read).optional()?;
    let Some(mut job) = found else { return Ok(None) };
    job.state = JobState::Leased { until };
    job.attempts = job.attempts.saturating_add(1);
    write(tx, id, &job)?;
    Ok(Some(job))
}

fn write(tx: &Connection, id: ConversationId, job: &JobRow) -> Outcome<()> {
    let key = &job.key;
    tx.prepare_cached(
        "UPDATE job SET state = ?, due_ms = ?, attempts = ?, why = ?
         WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ?",
    )?
    .execute(params![
        code(job.state),
        job.state.time().0,
        job.attempts,
        job.why,
        int(id.0),
        key.end.0,
        key.level,
        key.grain,
        int(key.thread.0)
    ])?;
    Ok(())
}

fn end(tx: &Connection, id: ConversationId, lease: Lease, end: &JobEnd, now: Timestamp) -> Outcome<bool> {
    let Lease { key, attempt } = lease;
    let sql = format!(
        "SELECT {COLUMNS} FROM job WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ?
           AND state = 1 AND due_ms > ? AND attempts = ?"
    );
    let found = tx
        .prepare_cached(&sql)?
        .query_row(
            params![int(id.0), key.end.0, key.level, key.grain, int(key.thread.0), now.0, attempt],
            read,
        )
        .optional()?;
    let Some(mut job) = found else { return Ok(false) };
    (job.state, job.why) = match end {
        JobEnd::Done(_) => (JobState::Done { at: now }, String::new()),
        JobEnd::Later { due, why } | JobEnd::NotAsked { due, why } => {
            (JobState::Waiting { due: *due }, why.clone())
        }
        JobEnd::GivenUp { why } => (JobState::GivenUp { at: now }, why.clone()),
    };
    if matches!(end, JobEnd::NotAsked { .. }) {
        // The holder has ended its own lease, so the number identifies no lease any more.
        job.attempts = job.attempts.saturating_sub(1);
    }
    if let JobEnd::Done(row) = end {
        summaries::put(tx, Table::Rewrite, id, std::slice::from_ref(row))?;
    }
    write(tx, id, &job)?;
    Ok(true)
}

fn spent(conn: &Connection, id: ConversationId, hour: i64) -> Outcome<Spend> {
    let found = conn
        .prepare_cached("SELECT calls, input, output, micros FROM spend WHERE conversation = ? AND hour = ?")?
        .query_row([int(id.0), hour], |row| {
            let [calls, input, output, micros] =
                [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(uint);
            Ok(Spend { calls, input, output, micros })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn put_spend(tx: &Connection, id: ConversationId, hour: i64, sum: Spend) -> Outcome<()> {
    let [calls, input, output, micros] = [sum.calls, sum.input, sum.output, sum.micros].map(int);
    tx.prepare_cached("INSERT OR REPLACE INTO spend VALUES (?, ?, ?, ?, ?, ?)")?.execute([
        int(id.0),
        hour,
        calls,
        input,
        output,
        micros,
    ])?;
    Ok(())
}

pub(super) fn decide(tx: &Connection, id: ConversationId, decision: NewDecision<'_>) -> Outcome<u64> {
    let NewDecision { row, keep } = decision;
    let number: i64 = tx
        .prepare_cached("SELECT coalesce(max(number), 0) + 1 FROM decision WHERE conversation = ?")?
        .query_row([int(id.0)], |row| row.get(0))?;
    tx.prepare_cached("INSERT INTO decision VALUES (?, ?, ?, ?, ?, ?, ?)")?.execute(params![
        int(id.0),
        number,
        int(row.seq.0),
        row.time.0,
        row.looked,
        row.decided,
        row.why
    ])?;
    tx.prepare_cached("DELETE FROM decision WHERE conversation = ? AND number <= ?")?
        .execute([int(id.0), number.saturating_sub(int(keep.max(1)))])?;
    Ok(uint(number))
}

pub(super) fn decisions(conn: &Connection, id: ConversationId) -> Outcome<Vec<DecisionRow>> {
    let mut select = conn.prepare_cached(
        "SELECT number, seq, time_ms, looked, decided, why FROM decision WHERE conversation = ? ORDER BY number",
    )?;
    let rows = select.query_map([int(id.0)], |row| {
        Ok(DecisionRow {
            number: uint(row.get(0)?),
            seq: Seq(uint(row.get(1)?)),
            time: Timestamp(row.get(2)?),
            looked: row.get(3)?,
            decided: row.get(4)?,
            why: row.get(5)?,
        })
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

impl SqliteStore {
    /// Reads from an existing conversation.
    pub(super) fn desk<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Result<T> {
        self.read(operation, |conn| {
            conversations::require(conn, id)?;
            work(conn)
        })
    }

    /// Writes to an existing conversation.
    fn put_desk<T>(
        &self,
        operation: &'static str,
        id: ConversationId,
        work: impl FnOnce(&Connection) -> Outcome<T>,
    ) -> Result<T> {
        self.write(operation, |tx| {
            conversations::require(tx, id)?;
            work(tx)
        })
    }
}

impl Jobs for SqliteStore {
    fn put_jobs(&self, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Result<u64> {
        self.put_desk("put_jobs", id, |tx| put(tx, id, jobs, now))
    }

    fn take_job(
        &self,
        id: ConversationId,
        now: Timestamp,
        until: Timestamp,
        all: bool,
    ) -> Result<Option<JobRow>> {
        self.put_desk("take_job", id, |tx| take(tx, id, now, until, all))
    }

    fn end_job(&self, id: ConversationId, lease: Lease, how: &JobEnd, now: Timestamp) -> Result<bool> {
        self.put_desk("end_job", id, |tx| end(tx, id, lease, how, now))
    }

    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.desk("job", id, |conn| {
            let sql = format!(
                "SELECT {COLUMNS} FROM job WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ?"
            );
            let key = params![int(id.0), key.end.0, key.level, key.grain, int(key.thread.0)];
            Ok(conn.prepare_cached(&sql)?.query_row(key, read).optional()?)
        })
    }

    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>> {
        self.read("due", |conn| {
            let mut select = conn.prepare_cached(
                "SELECT DISTINCT conversation FROM job AS ready
                 WHERE state IN (0, 1) AND due_ms <= ?1 AND conversation > ?2 AND NOT EXISTS
                   (SELECT 1 FROM job WHERE conversation = ready.conversation AND state = 1 AND due_ms > ?1)
                 ORDER BY conversation LIMIT ?3",
            )?;
            let place = [now.0, after(page.after.map(|id| id.0)), limit(page.limit)];
            let ids = select.query_map(place, |row| Ok(ConversationId(uint(row.get(0)?))))?;
            Ok(ids.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn jobs(&self, id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>> {
        self.desk("jobs", id, |conn| {
            let sql = format!(
                "SELECT {COLUMNS} FROM job WHERE conversation = ? AND ({ORDER}) > (?, ?, ?, ?, ?, ?)
                 ORDER BY {ORDER} LIMIT ?"
            );
            let mut select = conn.prepare_cached(&sql)?;
            let level = after(page.after.map(|place| u64::from(place.level)));
            let [first, last] = page.after.map_or([0, 0], |place| [int(place.span.0.0), int(place.span.1.0)]);
            let key = page.after.map_or(SummaryKey::FIRST, |place| place.key);
            let place = params![
                int(id.0),
                level,
                first,
                last,
                int(key.thread.0),
                key.grain,
                key.end.0,
                limit(page.limit)
            ];
            let rows = select.query_map(place, read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn drop_jobs(&self, id: ConversationId, now: Timestamp) -> Result<u64> {
        self.put_desk("drop_jobs", id, |tx| {
            let sql =
                "DELETE FROM job WHERE conversation = ? AND state <> 2 AND NOT (state = 1 AND due_ms > ?)";
            Ok(tx.execute(sql, [int(id.0), now.0])? as u64)
        })
    }

    fn put_rewrites(&self, id: ConversationId, rows: &[SummaryRow], now: Timestamp) -> Result<()> {
        self.put_desk("put_rewrites", id, |tx| {
            let jobs: Vec<_> = rows.iter().map(|row| NewJob { key: row.key, span: row.span }).collect();
            put(tx, id, &jobs, now)?;
            let mut done = tx.prepare_cached(
                "UPDATE job SET state = 2, due_ms = ?, why = ''
                 WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ? AND state <> 2",
            )?;
            for NewJob { key, .. } in jobs {
                done.execute(params![now.0, int(id.0), key.end.0, key.level, key.grain, int(key.thread.0)])?;
            }
            summaries::put(tx, Table::Rewrite, id, rows)
        })
    }

    fn rewrite(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<SummaryRow>> {
        self.desk("rewrite", id, |conn| summaries::get(conn, Table::Rewrite, id, key))
    }

    fn rewrites(&self, id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>> {
        self.desk("rewrites", id, |conn| summaries::rewrite_keys(conn, id, page))
    }

    fn charge(&self, id: ConversationId, hour: i64, spend: Spend, caps: Spend) -> Result<bool> {
        self.put_desk("charge", id, |tx| {
            let sum = spent(tx, id, hour)?.plus(spend);
            if !sum.is_within(caps) {
                return Ok(false);
            }
            tx.prepare_cached("DELETE FROM spend WHERE conversation = ? AND hour <= ?")?
                .execute([int(id.0), hour.saturating_sub(SPEND_HOURS)])?;
            put_spend(tx, id, hour, sum)?;
            Ok(true)
        })
    }

    fn refund(&self, id: ConversationId, hour: i64, spend: Spend) -> Result<()> {
        self.put_desk("refund", id, |tx| {
            let sum = spent(tx, id, hour)?;
            if sum == Spend::default() { Ok(()) } else { put_spend(tx, id, hour, sum.less(spend)) }
        })
    }

    fn spent(&self, id: ConversationId, hour: i64) -> Result<Spend> {
        self.desk("spent", id, |conn| spent(conn, id, hour))
    }

    fn breakers(&self) -> Result<Vec<BreakerRow>> {
        self.read("breakers", |conn| {
            let sql = "SELECT provider, credential, state FROM breaker ORDER BY provider, credential";
            let mut select = conn.prepare_cached(sql)?;
            let rows = select.query_map([], |row| {
                Ok(BreakerRow { provider: row.get(0)?, credential: row.get(1)?, state: row.get(2)? })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    fn put_breakers(&self, rows: &[BreakerRow]) -> Result<()> {
        self.write("put_breakers", |tx| {
            let mut insert = tx.prepare_cached("INSERT OR REPLACE INTO breaker VALUES (?, ?, ?)")?;
            for row in rows {
                insert.execute(params![row.provider, row.credential, row.state])?;
            }
            Ok(())
        })
    }

    fn put_grant(&self, grant: &GrantRow, keep: u64) -> Result<u64> {
        self.write("put_grant", |tx| grants::put(tx, grant, keep))
    }

    fn use_grant(&self, number: u64, more: Reading, now: Timestamp) -> Result<bool> {
        self.write("use_grant", |tx| grants::spend(tx, number, more, now))
    }

    fn end_grant(&self, number: u64, how: &str, now: Timestamp) -> Result<bool> {
        self.write("end_grant", |tx| grants::end(tx, number, how, now))
    }

    fn grants(&self) -> Result<Vec<GrantRow>> {
        self.read("grants", grants::all)
    }
}
