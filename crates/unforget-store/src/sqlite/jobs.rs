//! Work of models: jobs under leases, their results, their costs, decisions.

use std::collections::BTreeMap;

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};

use super::derived::{DECISION, JOB};
use super::fault::Outcome;
use super::seal::{SameName, SealedRow, SealedWriter, Seals};
use super::summaries::{self, Table};
use super::{SqliteStore, conversations, grants};
use crate::codes::{after, digest, int, job_state, job_state_code, uint};
use crate::port::{
    BreakerRow, DecisionRow, GrantRow, JobEnd, JobPlace, JobRow, JobState, Jobs, Lease, NewDecision, NewJob,
    Page, Reading, Result, SPEND_HOURS, Spend, SpendHour, SpendKind, SummaryKey, SummaryRow,
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
pub(super) fn end_leases(conn: &Connection, seals: &Seals) -> Outcome<()> {
    let query = JOB.query("WHERE state = 1");
    let leased = seals.rows(conn, &query, &[], |row| Ok((ConversationId(uint(row.get(0)?)), read(row)?)))?;
    for (id, job) in leased {
        write(conn, id, &JobRow { state: JobState::Waiting { due: Timestamp(0) }, ..job })?;
    }
    Ok(())
}

const ORDER: &str = "level, first_seq, last_seq, thread, grain, end";

fn read(row: &SealedRow<'_, '_>) -> rusqlite::Result<JobRow> {
    let wrong = |at, why: &str| {
        rusqlite::Error::FromSqlConversionFailure(at, rusqlite::types::Type::Blob, why.to_owned().into())
    };
    let end = digest(row.bytes(4)?).ok_or_else(|| wrong(4, "a job's key has a wrong length"))?;
    let time = Timestamp(row.get(8)?);
    let state = job_state(row.get(7)?, time).ok_or_else(|| wrong(7, "a job's state is not known"))?;
    Ok(JobRow {
        key: SummaryKey { thread: Thread(uint(row.get(1)?)), grain: row.get(2)?, level: row.get(3)?, end },
        span: (Seq(uint(row.get(5)?)), Seq(uint(row.get(6)?))),
        state,
        attempts: row.get(9)?,
        why: row.get(10)?,
    })
}

fn put(tx: &Connection, id: ConversationId, jobs: &[NewJob], now: Timestamp) -> Outcome<u64> {
    let mut insert = JOB.writer(tx, SameName::Stays)?;
    let mut new = 0;
    for job in jobs {
        new += u64::from(put_row(&mut insert, id, &JobRow::new(job, now))?);
    }
    Ok(new)
}

/// The times of a lease, and whether a person asked for it.
#[derive(Clone, Copy)]
struct Taking {
    now: Timestamp,
    until: Timestamp,
    all: bool,
}

fn take(tx: &Connection, seals: &Seals, id: ConversationId, taking: Taking) -> Outcome<Option<JobRow>> {
    let Taking { now, until, all } = taking;
    let leased = JOB.query("WHERE conversation = ? AND state = 1 AND due_ms > ?");
    let busy = seals.row(tx, &leased, params![int(id.0), now.0], |_| Ok(()))?;
    if busy.is_some() {
        return Ok(None);
    }
    let free = JOB.query(&format!(
        "WHERE conversation = ?1
           AND (state = 1 OR state = 0 AND (?3 OR due_ms <= ?2) OR state = 3 AND ?3) ORDER BY {ORDER}"
    ));
    let found = seals.row(tx, &free, params![int(id.0), now.0, all], read)?;
    // A broken job would make the conversation due for ever.
    seals.sweep(tx)?;
    let Some(job) = found.map(|job| job.taken(until)) else { return Ok(None) };
    write(tx, id, &job)?;
    Ok(Some(job))
}

fn write(tx: &Connection, id: ConversationId, job: &JobRow) -> Outcome<()> {
    put_row(&mut JOB.writer(tx, SameName::Goes)?, id, job).map(|_| ())
}

fn put_row(writer: &mut SealedWriter<'_>, id: ConversationId, job: &JobRow) -> Outcome<bool> {
    let key = &job.key;
    writer.put(params![
        int(id.0),
        int(key.thread.0),
        key.grain,
        key.level,
        key.end.0,
        int(job.span.0.0),
        int(job.span.1.0),
        job_state_code(job.state),
        job.state.time().0,
        job.attempts,
        job.why
    ])
}

fn one(conn: &Connection, seals: &Seals, id: ConversationId, key: &SummaryKey) -> Outcome<Option<JobRow>> {
    let query = JOB.query("WHERE conversation = ? AND end = ? AND level = ? AND grain = ? AND thread = ?");
    let key = params![int(id.0), key.end.0, key.level, key.grain, int(key.thread.0)];
    seals.row(conn, &query, key, read)
}

/// The job, if this lease of it is the last and not over.
fn held(
    tx: &Connection,
    seals: &Seals,
    id: ConversationId,
    lease: Lease,
    now: Timestamp,
) -> Outcome<Option<JobRow>> {
    Ok(one(tx, seals, id, &lease.key)?.filter(|job| job.is_held(lease, now)))
}

fn end(tx: &Connection, id: ConversationId, job: JobRow, end: &JobEnd, now: Timestamp) -> Outcome<()> {
    let job = job.ended(end, now);
    if let JobEnd::Done(row) = end {
        summaries::put(tx, Table::Rewrite, id, std::slice::from_ref(row))?;
    }
    write(tx, id, &job)
}

const fn kind(of: SpendHour) -> i64 {
    match of.kind {
        SpendKind::Summaries => 0,
        SpendKind::Meaning => 1,
    }
}

fn spent(conn: &Connection, id: ConversationId, hour: SpendHour) -> Outcome<Spend> {
    let found = conn
        .prepare_cached(
            "SELECT calls, input, output, micros FROM spend WHERE conversation = ? AND kind = ? AND hour = ?",
        )?
        .query_row([int(id.0), kind(hour), hour.hour], |row| {
            let [calls, input, output, micros] =
                [row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?].map(uint);
            Ok(Spend { calls, input, output, micros })
        })
        .optional()?;
    Ok(found.unwrap_or_default())
}

fn put_spend(tx: &Connection, id: ConversationId, hour: SpendHour, sum: Spend) -> Outcome<()> {
    let [calls, input, output, micros] = [sum.calls, sum.input, sum.output, sum.micros].map(int);
    tx.prepare_cached("INSERT OR REPLACE INTO spend VALUES (?, ?, ?, ?, ?, ?, ?)")?.execute([
        int(id.0),
        kind(hour),
        hour.hour,
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
    let number = number.max(int(row.number));
    DECISION.writer(tx, SameName::Goes)?.put(params![
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

pub(super) fn decisions(conn: &Connection, seals: &Seals, id: ConversationId) -> Outcome<Vec<DecisionRow>> {
    let query = DECISION.query("WHERE conversation = ? ORDER BY number");
    seals.rows(conn, &query, params![int(id.0)], |row| {
        Ok(DecisionRow {
            number: uint(row.get(1)?),
            seq: Seq(uint(row.get(2)?)),
            time: Timestamp(row.get(3)?),
            looked: row.get(4)?,
            decided: row.get(5)?,
            why: row.get(6)?,
        })
    })
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
        self.put_desk("take_job", id, |tx| take(tx, &self.seals, id, Taking { now, until, all }))
    }

    fn end_job(&self, id: ConversationId, lease: Lease, how: &JobEnd, now: Timestamp) -> Result<bool> {
        self.put_desk("end_job", id, |tx| match held(tx, &self.seals, id, lease, now)? {
            Some(job) => end(tx, id, job, how, now).map(|()| true),
            None => Ok(false),
        })
    }

    fn job(&self, id: ConversationId, key: &SummaryKey) -> Result<Option<JobRow>> {
        self.desk("job", id, |conn| one(conn, &self.seals, id, key))
    }

    fn due(&self, now: Timestamp, page: Page<ConversationId>) -> Result<Vec<ConversationId>> {
        self.read("due", |conn| {
            let query = JOB.query("WHERE state IN (0, 1) AND conversation > ?");
            let mut due: BTreeMap<ConversationId, bool> = BTreeMap::new();
            let after = params![after(page.after.map(|id| id.0))];
            let open = self
                .seals
                .rows(conn, &query, after, |row| Ok((ConversationId(uint(row.get(0)?)), read(row)?.state)))?;
            for (id, state) in open {
                let is_held = matches!(state, JobState::Leased { until } if until > now);
                let is_free = *due.get(&id).unwrap_or(&true) && !is_held;
                if is_held || state.time() <= now || due.contains_key(&id) {
                    due.insert(id, is_free);
                }
            }
            let ids = due.into_iter().filter(|(_, is_free)| *is_free).map(|(id, _)| id);
            Ok(ids.take(page.limit).collect())
        })
    }

    fn jobs(&self, id: ConversationId, page: Page<JobPlace>) -> Result<Vec<JobRow>> {
        self.desk("jobs", id, |conn| {
            let query = JOB.query(&format!(
                "WHERE conversation = ? AND ({ORDER}) > (?, ?, ?, ?, ?, ?) ORDER BY {ORDER} LIMIT ?"
            ));
            let level = after(page.after.map(|place| u64::from(place.level)));
            let [first, last] = page.after.map_or([0, 0], |place| [int(place.span.0.0), int(place.span.1.0)]);
            let key = page.after.map_or(SummaryKey::FIRST, |place| place.key);
            let place = params![int(id.0), level, first, last, int(key.thread.0), key.grain, key.end.0];
            self.seals.page(conn, &query.limit(page.limit), place, read)
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
            for NewJob { key, .. } in jobs {
                let job = one(tx, &self.seals, id, &key)?;
                if let Some(job) = job.filter(|job| !matches!(job.state, JobState::Done { .. })) {
                    let state = JobState::Done { at: now };
                    write(tx, id, &JobRow { state, why: String::new(), ..job })?;
                }
            }
            summaries::put(tx, Table::Rewrite, id, rows)
        })
    }

    fn rewrites_of(&self, id: ConversationId, keys: &[SummaryKey]) -> Result<Vec<SummaryRow>> {
        self.desk("rewrites_of", id, |conn| summaries::of(conn, &self.seals, Table::Rewrite, id, keys))
    }

    fn rewrites(&self, id: ConversationId, page: Page<SummaryKey>) -> Result<Vec<SummaryKey>> {
        self.desk("rewrites", id, |conn| summaries::rewrite_keys(conn, &self.seals, id, page))
    }

    fn charge(&self, id: ConversationId, hour: SpendHour, spend: Spend, caps: Spend) -> Result<bool> {
        self.put_desk("charge", id, |tx| {
            let sum = spent(tx, id, hour)?.plus(spend);
            if !sum.is_within(caps) {
                return Ok(false);
            }
            tx.prepare_cached("DELETE FROM spend WHERE conversation = ? AND hour <= ?")?
                .execute([int(id.0), hour.hour.saturating_sub(SPEND_HOURS)])?;
            put_spend(tx, id, hour, sum)?;
            Ok(true)
        })
    }

    fn refund(&self, id: ConversationId, hour: SpendHour, spend: Spend) -> Result<()> {
        self.put_desk("refund", id, |tx| {
            let sum = spent(tx, id, hour)?;
            if sum == Spend::default() { Ok(()) } else { put_spend(tx, id, hour, sum.less(spend)) }
        })
    }

    fn spent(&self, id: ConversationId, hour: SpendHour) -> Result<Spend> {
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
