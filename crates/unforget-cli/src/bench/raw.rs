//! The baseline of the import bench: SQLite and FTS5 storing the same records and text, and nothing else.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rusqlite::{Connection, params};
use unforget_core::entry::{Entry, Part};
use unforget_wire::Reader;

use super::timed;
use crate::failure::{Exit, Failure, Outcome};

/// Bytes of records held at once.
const BATCH_BYTES: usize = 4 << 20;

/// A record and its searchable text.
struct RawRecord {
    body: Vec<u8>,
    text: String,
}

/// Writes the records of a transcript in one transaction: rows of raw bytes and a contentless FTS5 table.
///
/// Returns the time that SQLite took, in microseconds, without reading and parsing the transcript.
///
/// Memory: some megabytes, whatever the transcript.
pub(super) fn import(db: &Path, path: &Path) -> Outcome<u64> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let failed = |source| unforget_engine::EngineError::Read { path: path.to_path_buf(), source };
    let mut reader = Reader::open(BufReader::new(file)).map_err(failed)?;
    let mut spent = 0;
    let (connection, us) = timed(|| begin(db));
    let connection = connection.map_err(|error| failure(&error))?;
    spent += us;
    let mut seq = 0;
    loop {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES
            && let Some(record) = reader.next_record().map_err(failed)?
        {
            let text = text_of(&record.entry);
            bytes += record.body.len() + text.len();
            batch.push(RawRecord { body: record.body, text });
        }
        if batch.is_empty() {
            break;
        }
        let (done, us) = timed(|| write(&connection, seq, &batch));
        done.map_err(|error| failure(&error))?;
        spent += us;
        seq += batch.len() as i64;
    }
    let (done, us) = timed(|| connection.execute_batch("COMMIT"));
    done.map_err(|error| failure(&error))?;
    Ok(spent + us)
}

fn failure(error: &rusqlite::Error) -> Failure {
    let message = format!("raw SQLite: {error}");
    Failure { kind: "bench", message, hint: String::new(), exit: Exit::Store }
}

fn begin(db: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(db)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         CREATE TABLE entry (seq INTEGER PRIMARY KEY, raw BLOB NOT NULL);
         CREATE VIRTUAL TABLE words USING fts5(text, content='');
         BEGIN",
    )?;
    Ok(connection)
}

/// * `before` - number of records written before.
fn write(connection: &Connection, before: i64, records: &[RawRecord]) -> rusqlite::Result<()> {
    let mut row = connection.prepare_cached("INSERT INTO entry (seq, raw) VALUES (?1, ?2)")?;
    let mut words = connection.prepare_cached("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
    for (seq, record) in (before + 1..).zip(records) {
        row.execute(params![seq, record.body])?;
        if !record.text.is_empty() {
            words.execute(params![seq, record.text])?;
        }
    }
    Ok(())
}

fn text_of(entry: &Entry) -> String {
    fn add(text: &mut String, part: &Part) {
        match part {
            Part::Text(words) | Part::Thinking { text: words, .. } => text.push_str(words),
            Part::ToolCall(call) => {
                text.push_str(&call.name);
                text.push(' ');
                text.push_str(&call.arguments);
            }
            Part::ToolResult(result) => {
                for part in &result.content {
                    if let Part::Text(words) = part {
                        text.push_str(words);
                    }
                }
            }
            Part::Media(_) | Part::Opaque { .. } => (),
        }
        text.push('\n');
    }
    let mut text = String::new();
    if entry.origin.is_visible() {
        entry.parts.iter().for_each(|part| add(&mut text, part));
    }
    text
}
