//! The baseline of the import bench: SQLite and FTS5 storing the same records and text, and nothing else.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use rusqlite::{Connection, params};
use unforget_core::entry::{Entry, Part};
use unforget_wire::Reader;

use crate::failure::{Exit, Failure, Outcome};

/// The records of a transcript with their searchable text.
pub(super) fn records(path: &Path) -> Outcome<Vec<(Vec<u8>, String)>> {
    let file = File::open(path).map_err(|error| Failure::file(path, &error))?;
    let failed = |source| unforget_engine::EngineError::Read { path: path.to_path_buf(), source };
    let mut reader = Reader::open(BufReader::new(file)).map_err(failed)?;
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().map_err(failed)? {
        let text = text_of(&record.entry);
        records.push((record.body, text));
    }
    Ok(records)
}

/// Writes them in one transaction: rows of raw bytes and a contentless FTS5 table.
pub(super) fn import(db: &Path, records: &[(Vec<u8>, String)]) -> Outcome<()> {
    write(db, records).map_err(|error| Failure {
        kind: "bench",
        message: format!("raw SQLite: {error}"),
        hint: String::new(),
        exit: Exit::Store,
    })
}

fn write(db: &Path, records: &[(Vec<u8>, String)]) -> rusqlite::Result<()> {
    let mut connection = Connection::open(db)?;
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch(
        "PRAGMA synchronous = FULL;
         CREATE TABLE entry (seq INTEGER PRIMARY KEY, raw BLOB NOT NULL);
         CREATE VIRTUAL TABLE words USING fts5(text, content='');",
    )?;
    let transaction = connection.transaction()?;
    {
        let mut row = transaction.prepare("INSERT INTO entry (seq, raw) VALUES (?1, ?2)")?;
        let mut words = transaction.prepare("INSERT INTO words (rowid, text) VALUES (?1, ?2)")?;
        for (seq, (raw, text)) in (1i64..).zip(records) {
            row.execute(params![seq, raw])?;
            if !text.is_empty() {
                words.execute(params![seq, text])?;
            }
        }
    }
    transaction.commit()
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
