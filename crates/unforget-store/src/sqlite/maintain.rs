//! Housekeeping: the dictionary, checkpoints, free pages, sizes.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use unforget_core::id::ConversationId;

use super::bytes::ChunkAt;
use super::fault::Outcome;
use super::{Dictionaries, SqliteStore, bytes};
use crate::codes::uint;
use crate::pack::Dictionary;
use crate::port::Result;
use crate::port::TableSize;

/// Least number of small chunks for which a dictionary is worth its space.
const SAMPLES_MIN: usize = 200;

/// Most small chunks for training the dictionary, newest first, and their most raw bytes.
const SAMPLES_MAX: usize = 1000;
const SAMPLE_BYTES_MAX: usize = 4 << 20;

/// Largest dictionary in bytes.
const DICTIONARY_BYTES: usize = 112 * 1024;

/// Most time per call for releasing free pages.
const VACUUM_SLICE: Duration = Duration::from_millis(20);

/// See [`crate::Upkeep::maintain`].
pub(super) fn maintain(store: &SqliteStore) -> Result<()> {
    let writer = store.writer()?;
    if store.dictionaries.current().is_none() {
        train(store)?;
    }
    writer
        .bare(|conn| {
            shrink(conn)?;
            // PASSIVE waits for no reader; pages that readers still need stay for the next time.
            conn.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))?;
            Ok(())
        })
        .map_err(|fault| fault.into_store(&store.path, "maintain"))
}

/// Releases free pages to the file system, for one slice of time at most.
fn shrink(conn: &Connection) -> Outcome<()> {
    let started = Instant::now();
    loop {
        let free: i64 = conn.query_row("PRAGMA freelist_count", [], |row| row.get(0))?;
        let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
        // Some free pages will soon be used again.
        if free < 256 || free < pages / 8 || started.elapsed() > VACUUM_SLICE {
            return Ok(());
        }
        vacuum_pages(conn, "PRAGMA incremental_vacuum(128)")?;
    }
}

/// Runs an incremental vacuum; each row that it returns is a released page.
pub(super) fn vacuum_pages(conn: &Connection, pragma: &str) -> Outcome<()> {
    let mut vacuum = conn.prepare(pragma)?;
    let mut rows = vacuum.query([])?;
    while rows.next()?.is_some() {}
    Ok(())
}

/// Trains the dictionary if there are enough samples.
fn train(store: &SqliteStore) -> Result<()> {
    let samples = store.read("maintain", |conn| samples(conn, &store.dictionaries))?;
    if samples.len() < SAMPLES_MIN {
        return Ok(());
    }
    // Training fails on samples that are too uniform; there is nothing to gain from them either.
    let Ok(data) = zstd::dict::from_samples(&samples, DICTIONARY_BYTES) else { return Ok(()) };
    let id = store.write("maintain", |tx| {
        let digest = blake3::hash(&data);
        let added = tx
            .query_row(
                "INSERT INTO dictionary (digest, data) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 FROM dictionary)
                 RETURNING id",
                params![digest.as_bytes(), data],
                |row| row.get(0),
            )
            .optional()?;
        Ok(added)
    })?;
    if let Some(Ok(dictionary)) = id.map(|id| Dictionary::new(id, &data)) {
        store.dictionaries.set_current(Some(Arc::new(dictionary)));
    }
    Ok(())
}

/// Raw bytes of the newest small chunks; damaged ones are skipped.
fn samples(conn: &Connection, dictionaries: &Dictionaries) -> Outcome<Vec<Vec<u8>>> {
    let mut select = conn.prepare(
        "SELECT conversation, number FROM chunk WHERE raw_len < 16384 AND dictionary IS NULL
         ORDER BY id DESC LIMIT ?",
    )?;
    let mut rows = select.query([SAMPLES_MAX as i64])?;
    let (mut all, mut total) = (Vec::new(), 0);
    while let Some(row) = rows.next()? {
        let of = ChunkAt { id: ConversationId(uint(row.get(0)?)), number: uint(row.get(1)?) };
        if let Ok(sample) = bytes::read_chunk(conn, dictionaries, of)? {
            total += sample.len();
            all.push(sample);
        }
        if total > SAMPLE_BYTES_MAX {
            break;
        }
    }
    Ok(all)
}

/// Makes the newest dictionary ready for use, if there is one.
pub(super) fn load_newest(conn: &Connection, dictionaries: &Dictionaries) -> Outcome<()> {
    let newest: Option<u32> = conn.query_row("SELECT max(id) FROM dictionary", [], |row| row.get(0))?;
    if let Some(id) = newest {
        // Every chunk that needs a damaged dictionary reports it; opening must not fail for it.
        dictionaries.set_current(dictionaries.get(conn, id)?.ok());
    }
    Ok(())
}

/// A dictionary from the database; `Err` describes why it is unusable.
pub(super) fn load_dictionary(
    conn: &Connection,
    id: u32,
) -> Outcome<std::result::Result<Arc<Dictionary>, String>> {
    let found: Option<(Vec<u8>, Vec<u8>)> = conn
        .query_row("SELECT digest, data FROM dictionary WHERE id = ?", [id], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })
        .optional()?;
    let Some((digest, data)) = found else {
        return Ok(Err(format!("dictionary {id} is missing")));
    };
    if blake3::hash(&data).as_bytes().as_slice() != digest {
        return Ok(Err(format!("dictionary {id} has other content")));
    }
    Ok(Dictionary::new(id, &data).map(Arc::new).map_err(|error| format!("dictionary {id}: {error}")))
}

/// See [`crate::Upkeep::sizes`].
pub(super) fn sizes(conn: &Connection) -> Outcome<Vec<TableSize>> {
    let mut select = conn.prepare("SELECT name, pgsize FROM dbstat WHERE aggregate = TRUE")?;
    let mut rows = select.query([])?;
    let mut groups: BTreeMap<&str, u64> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let name: String = row.get(0)?;
        *groups.entry(group(&name)).or_default() += uint(row.get(1)?);
    }
    let free: i64 = conn.query_row(
        "SELECT freelist_count * page_size FROM pragma_freelist_count, pragma_page_size",
        [],
        |row| row.get(0),
    )?;
    groups.insert("free", uint(free));
    let mut all: Vec<_> =
        groups.into_iter().map(|(name, bytes)| TableSize { name: name.to_owned(), bytes }).collect();
    // Stable: equal sizes stay in order of their names.
    all.sort_by_key(|size| Reverse(size.bytes));
    Ok(all)
}

/// The size group of a table or index.
fn group(name: &str) -> &'static str {
    const GROUPS: [(&str, &str); 16] = [
        ("chunk_filter", "filters"),
        ("blob_filter", "filters"),
        ("chunk", "chunks"),
        ("blob", "blobs"),
        ("hole", "blobs"),
        ("entry", "entries"),
        ("extent", "entries"),
        ("generation", "entries"),
        ("segment", "search index"),
        ("summary", "summaries"),
        ("context", "summaries"),
        ("rewrite", "summaries"),
        ("job", "summaries"),
        ("pin", "pins"),
        ("recipe", "summaries"),
        ("dictionary", "chunks"),
    ];
    let table = name.strip_prefix("sqlite_autoindex_").unwrap_or(name);
    GROUPS.iter().find(|(prefix, _)| table.starts_with(prefix)).map_or("other", |(_, group)| group)
}
