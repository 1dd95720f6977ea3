//! Damage of every kind: found, located, never passed on as content.

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use unforget_core::id::{ConversationId, ConversationKey};

use super::{noise, told};
use crate::conformance::{Tape, opening, snapshot, summary};
use crate::error::StoreError;
use crate::port::{Append, Log as _, NewConversation, Page, Raw, Summaries as _, Upkeep as _};
use crate::sqlite::{OpenOptions, SqliteStore};

const ID: ConversationId = ConversationId(1);

/// A closed store with chunks, blobs, branches and summaries; and its content.
fn made(folder: &Path) -> (PathBuf, Vec<Raw>) {
    let path = folder.join("whole.sqlite");
    let store = SqliteStore::open(&path, &OpenOptions::default()).unwrap();
    let tape = Tape::new(&store, "t:1");
    for batch in 0..6 {
        let target = if batch == 0 { opening(None) } else { tape.end(0) };
        let line = |number: u64| {
            let noise =
                blake3::hash(&(batch * 100 + number).to_le_bytes()).to_hex().repeat(number as usize % 5);
            let large = if number == 7 { "#".repeat(5000 + batch as usize) } else { String::new() };
            format!("{{\"n\": {number}, \"batch\": {batch}, \"text\": \"{noise}{large}\"}}").into_bytes()
        };
        let mut append = tape.plan(target, &(0..12).map(line).collect::<Vec<_>>());
        append.snapshot = Some(snapshot(12 * (batch + 1), "a"));
        store.append(append).unwrap();
    }
    tape.open(Some((0, 5)), &["x", "y", "z"]);
    store.put_summaries(ID, &[summary(0, 4)], None).unwrap();
    let raw = store.raw(ID, 0..u64::MAX).unwrap();
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty());
    drop(store);
    (path, raw)
}

/// Opens a copy of the store after `change`.
fn changed(whole: &Path, number: usize, change: impl FnOnce(&Path)) -> crate::Result<SqliteStore> {
    let copy = whole.with_file_name(format!("{number}.sqlite"));
    std::fs::copy(whole, &copy).unwrap();
    change(&copy);
    SqliteStore::open(&copy, &OpenOptions::default())
}

fn sql(path: &Path, statement: &str) {
    Connection::open(path).unwrap().execute_batch(statement).unwrap();
}

/// Reads every entry alone and counts the refused ones. Wrong bytes fail the test.
fn refused(store: &SqliteStore, whole: &[Raw], what: &str) -> usize {
    let mut refused = 0;
    for raw in whole {
        match store.raw(ID, raw.seq.0..raw.seq.0 + 1) {
            Ok(found) if found.is_empty() => refused += 1,
            Ok(found) => assert_eq!(found, std::slice::from_ref(raw), "{what}: wrong bytes"),
            Err(_) => refused += 1,
        }
    }
    refused
}

#[test]
fn a_changed_byte_of_a_chunk_or_blob_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, raw) = made(folder.path());
    for number in 0..60_usize {
        let table = if number % 3 == 0 { "blob" } else { "chunk" };
        let store = changed(&whole, number, |path| {
            let conn = Connection::open(path).unwrap();
            let (id, mut data): (i64, Vec<u8>) = conn
                .query_row(
                    &format!("SELECT id, data FROM {table} ORDER BY id LIMIT 1 OFFSET {}", number % 6),
                    [],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap();
            let at = number * 7919 % data.len();
            data[at] ^= 1 << (number % 8);
            conn.execute(&format!("UPDATE {table} SET data = ? WHERE id = ?"), (data, id)).unwrap();
        })
        .unwrap();
        let refused = refused(&store, &raw, table);
        let problems = store.verify(&mut |_, _| {}).unwrap();
        assert_eq!(refused > 0, !problems.is_empty(), "{number} {table}: {problems:?}");
        if let Some(problem) = problems.first() {
            let first = raw.iter().find(|raw| store.raw(ID, raw.seq.0..raw.seq.0 + 1).is_err());
            assert_eq!((problem.kind, problem.seq), (table, first.map(|raw| raw.seq)), "the exact place");
        }
    }
}

#[test]
fn a_changed_column_of_a_row_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, _) = made(folder.path());
    let columns = [
        "seal = seal + 1",
        "generation = 1",
        "position = position + 1",
        "follows = 3",
        "thread = thread + 1",
        "role = (role + 1) % 5",
        "role = 77",
        "origin = (origin + 1) % 8",
        "status = (status + 1) % 3",
        "host_id = 'other'",
        "time_ms = 5",
        "tokens = tokens + 1",
        "tokens_over = tokens_over + 1",
        "stubbed = 7000, stubbed_over = 0",
        "chain_head = chain_head + 1",
        "chain_rest = zeroblob(28)",
        "chain_rest = zeroblob(3)",
        "content = zeroblob(16)",
        "content = x''",
        "byte_start = byte_start + 1",
        "byte_len = byte_len + 1",
        "chunk = chunk + 1",
        "chunk = NULL",
        "offset = offset + 1",
        "lead_len = lead_len + 1",
        "body_len = body_len - 1",
        "holes = holes + 1",
        "body_len = -5",
        "offset = 9223372036854775807",
    ];
    for (number, column) in columns.iter().enumerate() {
        let statement = format!("UPDATE entry SET {column} WHERE seq = 20");
        let store = changed(&whole, number, |path| sql(path, &statement)).unwrap();
        for outcome in
            [store.rows(ID, 20..21).err(), store.rows(ID, 0..99).err(), store.raw(ID, 18..25).err()]
        {
            let placed = matches!(&outcome, Some(StoreError::Damaged { seq, .. }) if seq.0 == 20);
            assert!(placed, "{column}: {outcome:?}");
        }
        assert!(store.rows(ID, 0..20).is_ok() && store.rows(ID, 21..99).is_ok(), "{column}: others are read");
        let problems = store.verify(&mut |_, _| {}).unwrap();
        let placed =
            problems.iter().any(|problem| problem.kind == "row" && problem.seq.map(|seq| seq.0) == Some(20));
        assert!(placed, "{column}: {problems:?}");
    }
}

#[test]
fn missing_and_disagreeing_rows_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, raw) = made(folder.path());
    let table = [
        ("DELETE FROM entry WHERE seq = 9", "row", "a hole in the order"),
        ("DELETE FROM entry WHERE seq >= 70", "row", "the end is gone"),
        ("UPDATE conversation SET entries = entries - 1", "row", "a row beyond the end"),
        ("UPDATE conversation SET tokens = tokens + 1", "conversation", "a counter"),
        ("UPDATE conversation SET length = 999", "path", "a head beyond its path"),
        ("DELETE FROM chunk WHERE number = 2", "chunk", "a chunk is gone"),
        ("DELETE FROM blob WHERE id = 3", "blob", "a blob is gone"),
        ("DELETE FROM hole WHERE seq = 31", "blob", "a hole is gone"),
        ("UPDATE hole SET at = at + 1 WHERE seq = 31", "chain", "a hole moved inside its body"),
        ("UPDATE hole SET at = 1000000 WHERE seq = 31", "blob", "a hole is out of its body"),
        ("UPDATE chunk SET raw_len = raw_len + 1 WHERE number = 1", "chunk", "a length"),
        ("UPDATE chunk SET raw_len = 9223372036854775807 WHERE number = 1", "chunk", "an absurd length"),
        ("UPDATE extent SET seq = seq + 1 WHERE generation = 1", "path", "an extent moved"),
        ("UPDATE extent SET count = count + 1", "path", "an extent grew"),
        ("DELETE FROM generation WHERE number = 0", "path", "a generation is gone"),
        ("UPDATE generation SET length = length + 1 WHERE number = 1", "path", "a generation grew"),
        ("UPDATE generation SET parent = 1 WHERE number = 1", "path", "a circle"),
        ("DELETE FROM snapshot WHERE number = 2", "snapshot", "a snapshot is gone"),
        ("UPDATE snapshot SET length = 999 WHERE number = 2", "snapshot", "a snapshot grew"),
        ("UPDATE summary SET last_seq = 999", "summary", "a summary of nothing"),
        ("UPDATE summary SET end = x'00'", "summary", "a broken key"),
    ];
    for (number, (statement, kind, why)) in table.into_iter().enumerate() {
        let store = changed(&whole, number, |path| sql(path, statement)).unwrap();
        if kind != "chain" {
            refused(&store, &raw, why);
        }
        let problems = store.verify(&mut |_, _| {}).unwrap();
        assert!(problems.iter().any(|problem| problem.kind == kind), "{why}: {problems:?}");
        for generation in 0..3 {
            // Any answer is fine: no panic, no endless walk.
            store.path(ID, unforget_core::id::Generation(generation), u64::MAX).ok();
            store.chains(ID, unforget_core::id::Generation(generation), 0..u64::MAX).ok();
        }
    }
}

#[test]
fn a_changed_byte_of_the_file_is_never_wrong_content() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, raw) = made(folder.path());
    let bytes = std::fs::read(&whole).unwrap();
    let mut noticed = 0;
    let count = told("UNFORGET_TEST_BYTES", 120) as usize;
    for number in 0..count {
        let at = number * bytes.len() / count + usize::from(noise(&format!("byte {number}"))[0]) % 61;
        // Most of a small database is empty; the damage must hit a used place.
        let at = bytes.iter().skip(at).position(|byte| *byte != 0).map_or(at, |ahead| at + ahead);
        let outcome = changed(&whole, number, |path| {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x55;
            std::fs::write(path, bytes).unwrap();
        });
        let Ok(store) = outcome else {
            noticed += 1;
            continue;
        };
        let refused = refused(&store, &raw, &format!("byte {at}"));
        match store.verify(&mut |_, _| {}) {
            Ok(problems) => {
                assert!(
                    refused == 0 || !problems.is_empty(),
                    "byte {at}: {refused} entries refused, nothing found"
                );
                noticed += usize::from(!problems.is_empty());
            }
            Err(_) => noticed += 1,
        }
    }
    // Titles and the paths of files carry no seal.
    assert!(noticed > count / 6, "{noticed}");
    println!("torture: {count} bytes of a database");
}

#[test]
fn a_truncated_file_is_never_wrong_content() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, raw) = made(folder.path());
    let bytes = std::fs::read(&whole).unwrap();
    for (number, length) in
        [0, 1, 99, 100, 4096, bytes.len() / 3, bytes.len() / 2, bytes.len() - 8192].into_iter().enumerate()
    {
        let outcome = changed(&whole, number, |path| std::fs::write(path, &bytes[..length]).unwrap());
        let Ok(store) = outcome else { continue };
        refused(&store, &raw, &format!("{length} bytes"));
        let problems = store.verify(&mut |_, _| {});
        assert!(
            length == 0 || problems.map_or(true, |problems| !problems.is_empty()),
            "{length} bytes: not noticed"
        );
    }
}

/// Replaces bytes of the file; they stand in it once or more.
fn replaced(path: &Path, old: &[u8], new: &[u8], places: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    let found: Vec<usize> =
        (0..bytes.len()).filter(|at| bytes[*at..].starts_with(old)).take(places).collect();
    assert!(!found.is_empty());
    for at in found {
        bytes[at..at + new.len()].copy_from_slice(new);
    }
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn a_changed_key_of_a_conversation_is_found_and_locks_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, raw) = made(folder.path());
    let key = |text: &str| ConversationKey(text.to_owned());
    {
        let store = SqliteStore::open(&whole, &OpenOptions::default()).unwrap();
        let tape = Tape::new(&store, "t:unmistakable");
        store.append(tape.plan(opening(None), &[b"hello".to_vec()])).unwrap();
    }
    let table: [(&[u8], &str); 2] =
        [(b"t:unmistakablf", "another letter"), (b"t:unmistakabl\xff", "no UTF-8")];
    for (number, (new, why)) in table.into_iter().enumerate() {
        // The row or the index, whichever page comes first in the file: they are compared.
        let store = changed(&whole, number, |path| replaced(path, b"t:unmistakable", new, 1)).unwrap();
        let seen = store.conversations(Page::first(9)).unwrap();
        assert_eq!(seen.iter().map(|one| &one.key).collect::<Vec<_>>(), [&key("t:1")], "{why}");
        assert_eq!(store.broken_rows().iter().map(|broken| broken.rows).sum::<u64>(), 1, "{why}: told");
        assert_eq!(store.raw(ID, 0..u64::MAX).unwrap(), raw, "{why}: the other is read");
        let found = store.find(&key("t:unmistakable"));
        assert!(matches!(found, Ok(None) | Err(StoreError::DamagedConversation { .. })), "{why}: {found:?}");
        let problems = store.verify(&mut |_, _| {}).unwrap();
        let kinds: Vec<_> = problems.iter().map(|problem| problem.kind).collect();
        assert!(kinds.contains(&"conversation") && kinds.contains(&"sqlite-index"), "{why}: {problems:?}");
        let to = folder.path().join(format!("copy-{number}.sqlite"));
        assert!(store.backup(&to).is_err() && !to.exists(), "{why}: no copy is called verified");
    }
}

/// Overwrites the first page of a table.
fn destroy(path: &Path, table: &str) {
    let conn = Connection::open(path).unwrap();
    let size: u32 = conn.query_row("PRAGMA page_size", [], |row| row.get(0)).unwrap();
    let of = "SELECT rootpage FROM sqlite_master WHERE name = ?";
    let page: u32 = conn.query_row(of, [table], |row| row.get(0)).unwrap();
    drop(conn);
    let (page, size) = (page as usize, size as usize);
    let mut bytes = std::fs::read(path).unwrap();
    bytes[(page - 1) * size..page * size].fill(0xFF);
    std::fs::write(path, bytes).unwrap();
}

/// An operation that notices the damage.
type See = fn(&SqliteStore) -> crate::Result<()>;

#[test]
fn f085_nothing_is_written_to_a_file_that_was_seen_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (whole, _) = made(folder.path());
    let second = NewConversation {
        key: ConversationKey("t:2".to_owned()),
        format: "test".to_owned(),
        title: None,
        parent: None,
    };
    // The damaged table, the noticing operation, and whether an append succeeds before it.
    let table: [(&str, See, bool); 3] = [
        ("chunk", |store| store.append(one_more(store)).map(|_| ()), false),
        ("summary", |store| store.put_summaries(ID, &[summary(5, 9)], None), true),
        ("summary", |store| store.summaries(ID, Page::first(9)).map(|_| ()), true),
    ];
    for (number, (table, see, appends)) in table.into_iter().enumerate() {
        let store = changed(&whole, number, |path| destroy(path, table)).unwrap();
        let files = || {
            let wal = store.file().with_extension("sqlite-wal");
            (std::fs::read(store.file()).unwrap(), std::fs::read(wal).unwrap())
        };
        if appends {
            store.append(one_more(&store)).unwrap();
        }
        let seen = see(&store);
        assert!(matches!(seen, Err(StoreError::Corrupt { .. })), "{number} {table}: {seen:?}");
        let before = files();
        let writes = [
            ("append", store.append(one_more(&store)).map(|_| ())),
            ("put_summaries", store.put_summaries(ID, &[summary(10, 12)], None)),
            ("ensure", store.ensure(&second).map(|_| ())),
            ("maintain", store.maintain()),
        ];
        for (name, outcome) in writes {
            assert!(
                matches!(outcome, Err(StoreError::Corrupt { .. })),
                "{number} {table}, {name}: {outcome:?}"
            );
        }
        assert!(files() == before, "{number} {table}: written to");
        let path = store.file().to_path_buf();
        let entries = store.conversation(ID).unwrap().entries;
        drop(store);
        assert!(std::fs::read(&path).unwrap() == before.0, "{number} {table}: written to when it was closed");
        let reader = SqliteStore::open_reader(&path, &OpenOptions::default()).unwrap();
        assert_eq!(reader.conversation(ID).unwrap().entries, entries, "what was acknowledged is there");
    }
}

fn one_more(store: &SqliteStore) -> Append {
    let tape = Tape::new(store, "t:1");
    tape.plan(tape.end(0), &[b"one more".to_vec()])
}
