//! Seals of derived rows: the one place that writes such rows and reads them.
//!
//! Nothing but this module makes a [`SealedRow`], and what a table holds is decoded from that type alone. A row whose
//! columns are not those that were written is left out of every answer, noted, and dropped by the next chance to write:
//! derived data is made again from the log. A broken verdict stays where it is, since nothing can make it again.

mod check;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::types::{FromSql, FromSqlError, ToSqlOutput, Value, ValueRef};
use rusqlite::{CachedStatement, Connection, Row, ToSql, params_from_iter};
use unforget_core::id::ConversationId;

use super::derived::SEGMENT;
use super::fault::Outcome;
use crate::codes::{int, uint};
use crate::port::BrokenRows;

pub(super) use check::{BrokenOf, check_all, seal_all};

/// A table of derived rows.
#[derive(Debug)]
pub(super) struct SealedTable {
    /// Its name.
    pub(super) name: &'static str,
    /// The kind of problem that a broken row is, as `verify` spells it.
    pub(super) kind: &'static str,
    /// What a row is, and what becomes of a broken one, for people.
    pub(super) what: &'static str,
    /// The stored columns, in the order in which the seal covers them.
    pub(super) columns: &'static [&'static str],
    /// The columns that name a row: no two rows have equal ones.
    pub(super) key: &'static [&'static str],
    /// The row that this one was made from, by its columns: the seal covers these too.
    pub(super) source: Option<SealSource>,
    pub(super) when_broken: WhenBroken,
}

/// The row that a derived row was made from.
#[derive(Debug)]
pub(super) struct SealSource {
    /// Its table.
    pub(super) table: &'static str,
    /// The column of the derived row that holds the source's `id`.
    pub(super) by: &'static str,
    /// The columns that the seal covers.
    pub(super) columns: &'static [&'static str],
}

/// What becomes of a broken row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WhenBroken {
    /// It is dropped by the next chance to write: what it said is made again.
    Dropped,
    /// It stays, left out and named, until a person takes it away: nothing can make it again.
    Stays,
}

/// What happens to a sound row of the same name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SameName {
    /// It stays, and nothing is written.
    Stays,
    /// It is replaced.
    Goes,
}

impl SealedTable {
    /// Number of values that a seal covers.
    const fn values(&self) -> usize {
        self.columns.len()
            + match &self.source {
                Some(source) => source.columns.len(),
                None => 0,
            }
    }

    /// What [`Seals::look`] expects a row to begin with: the columns, those of the source, the seal.
    pub(super) fn selected(&self) -> String {
        let own = self.columns.iter().map(|column| format!("{}.{column}", self.name));
        let source = self.source.iter();
        let of = source.flat_map(|from| from.columns.iter().map(|column| format!("{}.{column}", from.table)));
        let mut all: Vec<String> = own.chain(of).collect();
        all.push(format!("{}.seal", self.name));
        all.join(", ")
    }

    fn joined(&self) -> String {
        match &self.source {
            None => self.name.to_owned(),
            Some(SealSource { table, by, .. }) => {
                format!("{0} LEFT JOIN {table} ON {table}.id = {0}.{by}", self.name)
            }
        }
    }

    /// The seal of a row.
    ///
    /// * `values` - of the columns, then of those of the source.
    fn seal<'a>(&self, values: impl Iterator<Item = ValueRef<'a>>) -> i64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(self.name.as_bytes());
        for value in values {
            let number;
            let (kind, bytes): (u8, &[u8]) = match value {
                ValueRef::Null => (0, &[]),
                ValueRef::Integer(value) => {
                    number = value.to_le_bytes();
                    (1, &number)
                }
                ValueRef::Real(value) => {
                    number = value.to_le_bytes();
                    (2, &number)
                }
                ValueRef::Text(bytes) => (3, bytes),
                ValueRef::Blob(bytes) => (4, bytes),
            };
            hasher.update(&[kind]).update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        }
        let hash = hasher.finalize();
        i64::from_le_bytes(hash.as_bytes().first_chunk().copied().unwrap_or_default())
    }

    /// A statement for several rows.
    pub(super) fn writer<'c>(&'static self, tx: &'c Connection, same: SameName) -> Outcome<SealedWriter<'c>> {
        let clash = match same {
            SameName::Stays => "IGNORE",
            SameName::Goes => "REPLACE",
        };
        let marks = vec!["?"; self.columns.len() + 1].join(", ");
        let columns = self.columns.join(", ");
        let sql = format!("INSERT OR {clash} INTO {} ({columns}, seal) VALUES ({marks})", self.name);
        Ok(SealedWriter { table: self, tx, insert: tx.prepare_cached(&sql)? })
    }

    /// Whether a row looked up by [`SealedTable::selected`] has the seal of its columns.
    fn is_sound(&self, row: &Row<'_>) -> rusqlite::Result<bool> {
        let mut values = Vec::with_capacity(self.values());
        for at in 0..self.values() {
            values.push(row.get_ref(at)?);
        }
        let seal = self.seal(values.into_iter());
        Ok(matches!(row.get_ref(self.values())?, ValueRef::Integer(found) if found == seal))
    }

    /// The place of a row in its table.
    fn name_of(&'static self, row: &Row<'_>) -> rusqlite::Result<RowName> {
        let mut key = Vec::with_capacity(self.key.len());
        for column in self.key {
            let at = self.columns.iter().position(|one| one == column).unwrap_or_default();
            key.push(owned(row.get_ref(at)?));
        }
        Ok(RowName { table: self, key })
    }

    /// The conversation that a row says it belongs to.
    fn conversation_of(&self, row: &Row<'_>) -> Option<ConversationId> {
        let sources = self.source.iter().flat_map(|from| from.columns);
        let at = self.columns.iter().chain(sources).position(|column| *column == "conversation")?;
        row.get::<_, i64>(at).ok().map(|id| ConversationId(uint(id)))
    }
}

/// Writes rows with their seals.
pub(super) struct SealedWriter<'c> {
    table: &'static SealedTable,
    tx: &'c Connection,
    insert: CachedStatement<'c>,
}

impl SealedWriter<'_> {
    /// Writes a row; false if one of the same name stays. A broken one never stays.
    ///
    /// * `values` - of the columns, then of those of the source.
    pub(super) fn put(&mut self, values: &[&dyn ToSql]) -> Outcome<bool> {
        debug_assert_eq!(values.len(), self.table.values(), "{}", self.table.name);
        let values: Vec<ToSqlOutput<'_>> =
            values.iter().map(ToSql::to_sql).collect::<rusqlite::Result<_>>()?;
        let seal = self.table.seal(values.iter().map(borrowed));
        if self.write(&values, seal)? {
            return Ok(true);
        }
        let own = self.table.columns.iter().zip(&values);
        let key = own.filter(|(column, _)| self.table.key.contains(column));
        let key = key.map(|(_, value)| owned(borrowed(value))).collect();
        let name = RowName { table: self.table, key };
        Ok(name.drop_broken(self.tx)? && self.write(&values, seal)?)
    }

    fn write(&mut self, values: &[ToSqlOutput<'_>], seal: i64) -> Outcome<bool> {
        let own = values.iter().take(self.table.columns.len());
        let seal = ToSqlOutput::from(seal);
        Ok(self.insert.execute(params_from_iter(own.chain([&seal])))? > 0)
    }
}

/// A copy. Text that is no text is found by nobody: such a row stays, and is left out each time.
fn owned(value: ValueRef<'_>) -> Value {
    Value::try_from(value).unwrap_or(Value::Null)
}

fn borrowed<'a>(value: &'a ToSqlOutput<'_>) -> ValueRef<'a> {
    match value {
        ToSqlOutput::Borrowed(value) => *value,
        ToSqlOutput::Owned(value) => ValueRef::from(value),
        // The other kinds are made by functions of SQL only.
        _ => ValueRef::Null,
    }
}

/// A row by its table and the values of its key, whatever their types.
#[derive(Clone, Debug)]
struct RowName {
    table: &'static SealedTable,
    key: Vec<Value>,
}

impl RowName {
    fn condition(&self) -> String {
        let of = |column: &&str| format!("{}.{column} IS ?", self.table.name);
        self.table.key.iter().map(of).collect::<Vec<_>>().join(" AND ")
    }

    /// Drops the row if it is still broken.
    fn drop_broken(&self, tx: &Connection) -> Outcome<bool> {
        let (table, condition) = (self.table, self.condition());
        let sql = format!("SELECT {} FROM {} WHERE {condition}", table.selected(), table.joined());
        let mut select = tx.prepare_cached(&sql)?;
        let mut rows = select.query(params_from_iter(&self.key))?;
        let Some(row) = rows.next()? else { return Ok(false) };
        if table.is_sound(row)? {
            return Ok(false);
        }
        drop(rows);
        let sql = format!("DELETE FROM {} WHERE {condition}", table.name);
        Ok(tx.prepare_cached(&sql)?.execute(params_from_iter(&self.key))? > 0)
    }

    /// The name in a set of names.
    fn text(&self) -> String {
        format!("{} {:?}", self.table.name, self.key)
    }
}

/// A row whose columns are those that were written. Only [`Seals`] makes one.
pub(super) struct SealedRow<'a, 's>(&'a Row<'s>);

impl SealedRow<'_, '_> {
    /// A column, by its place.
    pub(super) fn get<T: FromSql>(&self, at: usize) -> rusqlite::Result<T> {
        self.0.get(at)
    }

    /// A column as it is stored.
    pub(super) fn value(&self, at: usize) -> rusqlite::Result<ValueRef<'_>> {
        self.0.get_ref(at)
    }

    /// A column of bytes.
    pub(super) fn bytes(&self, at: usize) -> rusqlite::Result<&[u8]> {
        self.0.get_ref(at)?.as_bytes().map_err(|_| FromSqlError::InvalidType.into())
    }
}

/// The rows that a statement asks for, of one table.
pub(super) struct SealedQuery {
    table: &'static SealedTable,
    sql: String,
    /// Most rows of a page.
    limit: usize,
}

impl SealedQuery {
    /// Bounds the pages of a query.
    pub(super) fn limit(self, rows: usize) -> Self {
        Self { limit: rows, ..self }
    }
}

impl SealedTable {
    /// * `tail` - conditions, order and limit, in SQL. The last value of a statement with `LIMIT ?` is the limit.
    pub(super) fn query(&'static self, tail: &str) -> SealedQuery {
        let sql = format!("SELECT {} FROM {} {tail}", self.selected(), self.joined());
        SealedQuery { table: self, sql, limit: usize::MAX }
    }
}

/// Chunks and blobs whose filters were dropped, by their rows.
#[derive(Debug, Default)]
pub(super) struct Unfiltered {
    pub(super) chunks: Vec<i64>,
    pub(super) blobs: Vec<i64>,
}

/// What is known of broken rows. Shared by all connections of a store.
#[derive(Debug, Default)]
pub(super) struct Seals(Mutex<Broken>);

#[derive(Debug, Default)]
struct Broken {
    /// All that were met, by their text, and how often each was. None counts twice.
    met: BTreeMap<String, u32>,
    /// Those that are still to be dropped.
    waiting: Vec<RowName>,
    /// Number of met rows, by table.
    counts: BTreeMap<&'static str, BrokenRows>,
    /// Segments of the index with a broken or missing block.
    segments: BTreeSet<(ConversationId, u64)>,
    /// Those that are still to be dropped.
    waiting_segments: Vec<(ConversationId, u64)>,
}

/// How often dropping a row is tried.
const TRIES: u32 = 3;

impl Seals {
    /// A row that begins as [`SealedTable::selected`] says; `None` if it is broken, which is noted.
    pub(super) fn look<'a, 's>(
        &self,
        table: &'static SealedTable,
        row: &'a Row<'s>,
    ) -> rusqlite::Result<Option<SealedRow<'a, 's>>> {
        if table.is_sound(row)? {
            return Ok(Some(SealedRow(row)));
        }
        self.note(table.name_of(row)?);
        Ok(None)
    }

    /// The sound rows of a query.
    pub(super) fn rows<T>(
        &self,
        conn: &Connection,
        query: &SealedQuery,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&SealedRow<'_, '_>) -> rusqlite::Result<T>,
    ) -> Outcome<Vec<T>> {
        let mut select = conn.prepare_cached(&query.sql)?;
        let mut rows = select.query(values)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next()? {
            if let Some(row) = self.look(query.table, row)? {
                all.push(read(&row)?);
            }
        }
        Ok(all)
    }

    /// The first sound row of a query.
    pub(super) fn row<T>(
        &self,
        conn: &Connection,
        query: &SealedQuery,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&SealedRow<'_, '_>) -> rusqlite::Result<T>,
    ) -> Outcome<Option<T>> {
        let mut select = conn.prepare_cached(&query.sql)?;
        let mut rows = select.query(values)?;
        while let Some(row) = rows.next()? {
            if let Some(row) = self.look(query.table, row)? {
                return Ok(Some(read(&row)?));
            }
        }
        Ok(None)
    }

    /// A page of sound rows. A short page ends a list, so broken rows make room for others.
    ///
    /// * `query` - ends with `LIMIT ?`.
    /// * `values` - without the limit.
    pub(super) fn page<T>(
        &self,
        conn: &Connection,
        query: &SealedQuery,
        values: &[&dyn ToSql],
        mut read: impl FnMut(&SealedRow<'_, '_>) -> rusqlite::Result<T>,
    ) -> Outcome<Vec<T>> {
        let (limit, mut broken) = (query.limit, 0);
        loop {
            let most = crate::codes::limit(limit.saturating_add(broken));
            let all = [values, &[&most]].concat();
            let mut met = 0;
            let mut select = conn.prepare_cached(&query.sql)?;
            let mut rows = select.query(all.as_slice())?;
            let mut page = Vec::new();
            while let Some(row) = rows.next()? {
                match self.look(query.table, row)? {
                    Some(row) => page.push(read(&row)?),
                    None => met += 1,
                }
            }
            if met <= broken {
                page.truncate(limit);
                return Ok(page);
            }
            broken = met;
        }
    }

    /// Drops the broken rows of a query. Returns their number.
    pub(super) fn drop_broken(
        &self,
        tx: &Connection,
        query: &SealedQuery,
        values: &[&dyn ToSql],
    ) -> Outcome<u64> {
        let mut select = tx.prepare_cached(&query.sql)?;
        let mut rows = select.query(values)?;
        let mut broken = Vec::new();
        while let Some(row) = rows.next()? {
            if self.look(query.table, row)?.is_none() {
                broken.push(query.table.name_of(row)?);
            }
        }
        drop(rows);
        let mut dropped = 0;
        for name in broken {
            dropped += u64::from(name.drop_broken(tx)?);
        }
        Ok(dropped)
    }

    fn note(&self, name: RowName) {
        let mut broken = self.state();
        let times = broken.met.entry(name.text()).or_default();
        *times = times.saturating_add(1);
        let times = *times;
        if times == 1 {
            let SealedTable { name: table, kind, what, .. } = *name.table;
            broken.counts.entry(table).or_insert(BrokenRows { kind, what, rows: 0 }).rows += 1;
        }
        if times <= TRIES && name.table.when_broken == WhenBroken::Dropped {
            broken.waiting.push(name);
        }
    }

    /// Notes a damaged row of a table without seals.
    pub(super) fn note_row(&self, kind: BrokenRows, number: u64) {
        let mut broken = self.state();
        if broken.met.insert(format!("{} {number}", kind.kind), 1).is_none() {
            broken.counts.entry(kind.kind).or_insert(kind).rows += 1;
        }
    }

    /// Notes that a segment of the index has a broken or missing block: from now on the segment is left out.
    pub(super) fn note_segment(&self, id: ConversationId, number: u64) {
        let mut broken = self.state();
        if broken.segments.insert((id, number)) {
            broken.waiting_segments.push((id, number));
            let SealedTable { name, kind, what, .. } = SEGMENT;
            broken.counts.entry(name).or_insert(BrokenRows { kind, what, rows: 0 }).rows += 1;
        }
    }

    /// Whether a segment of the index has a broken or missing block.
    pub(super) fn is_left_out(&self, id: ConversationId, number: u64) -> bool {
        self.state().segments.contains(&(id, number))
    }

    /// The broken rows that were met, by table.
    pub(super) fn counts(&self) -> Vec<BrokenRows> {
        self.state().counts.values().cloned().collect()
    }

    /// Whether broken rows wait to be dropped.
    pub(super) fn has_waiting(&self) -> bool {
        let broken = self.state();
        !(broken.waiting.is_empty() && broken.waiting_segments.is_empty())
    }

    /// Drops the noted rows that are still broken. Returns the rows of chunks and blobs that lost their filters.
    pub(super) fn sweep(&self, tx: &Connection) -> Outcome<Unfiltered> {
        let (waiting, segments) = {
            let mut broken = self.state();
            (std::mem::take(&mut broken.waiting), std::mem::take(&mut broken.waiting_segments))
        };
        let mut unfiltered = Unfiltered::default();
        for name in waiting {
            let is_dropped = name.drop_broken(tx)?;
            match (name.table.name, name.key.as_slice()) {
                ("chunk_filter", [Value::Integer(row)]) if is_dropped => unfiltered.chunks.push(*row),
                ("blob_filter", [Value::Integer(row)]) if is_dropped => unfiltered.blobs.push(*row),
                _ => {}
            }
        }
        for (id, number) in segments {
            super::segments::drop_where(tx, "conversation = ? AND number = ?", &[int(id.0), int(number)])?;
        }
        Ok(unfiltered)
    }

    fn state(&self) -> MutexGuard<'_, Broken> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
