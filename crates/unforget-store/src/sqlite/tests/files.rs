//! Files: ours, foreign, older, newer, locked, replaced, copied.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use unforget_core::id::ConversationId;

use super::{open, options};
use crate::conformance::{Tape, observe, opening, snapshot, summary};
use crate::error::StoreError;
use crate::pack::SMALL_CHUNK_BYTES;
use crate::port::{Index as _, Log as _, Segment, Summaries as _, Upkeep as _, read_all};
use crate::sqlite::migrate::{MigrationStep, STEPS, migrate};
use crate::sqlite::open::check_version;
use crate::sqlite::sync::Syncs;
use crate::sqlite::{OpenOptions, SqliteStore, checkpoint};

#[test]
fn f081_an_unsafe_sqlite_is_refused() {
    let table = [
        ("3.40.1", 3_040_001, false),
        ("3.51.2", 3_051_002, false),
        ("3.51.3", 3_051_003, true),
        ("3.54.1", 3_054_001, true),
    ];
    for (version, number, safe) in table {
        match check_version(version, number) {
            Ok(()) => assert!(safe, "{version}"),
            Err(StoreError::UnsafeSqlite { version: named }) => assert!(!safe && named == version),
            Err(other) => panic!("{other}"),
        }
    }
    check_version(rusqlite::version(), rusqlite::version_number()).unwrap();
}

#[test]
fn a_second_opener_is_told_who_owns_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let path = folder.path().join("store.sqlite");
    let link = folder.path().join("link.sqlite");
    #[cfg(unix)]
    std::os::unix::fs::symlink(&path, &link).unwrap();
    for name in [path.as_path(), link.as_path()] {
        match SqliteStore::open(name, &options()) {
            Err(StoreError::Busy { pid, .. }) => assert_eq!(pid, std::process::id()),
            other => panic!("{other:?}"),
        }
    }
    drop(store);
    std::fs::write(folder.path().join("store.sqlite.lock"), "999999999").unwrap();
    open(folder.path());
}

#[test]
fn a_reader_sees_what_the_owner_commits_and_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let missing = SqliteStore::open_reader(folder.path().join("none.sqlite"), &options());
    assert!(missing.is_err() && !folder.path().join("none.sqlite").exists());
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    let reader = SqliteStore::open_reader(store.file(), &options()).unwrap();
    tape.open(None, &["a", "b"]);
    assert_eq!(observe(&reader), observe(&store));
    assert!(matches!(reader.append(tape.plan(tape.end(0), &[])), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.purge(tape.id, 0..1), Err(StoreError::ReadOnly { .. })));
    assert!(matches!(reader.maintain(), Err(StoreError::ReadOnly { .. })));
    let path = store.file().to_path_buf();
    drop((reader, store));
    let alone = SqliteStore::open_reader(&path, &options()).unwrap();
    assert_eq!(read_all(|page| alone.conversations(page)).unwrap().len(), 1, "without an owner");
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    std::fs::write(&text, "a text file, longer than the header of a database would be ".repeat(9)).unwrap();
    let other = folder.path().join("other.sqlite");
    Connection::open(&other).unwrap().execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
    let versioned = folder.path().join("versioned.sqlite");
    Connection::open(&versioned).unwrap().execute_batch("PRAGMA user_version = 1;").unwrap();
    for path in [text, other, versioned] {
        let before = std::fs::read(&path).unwrap();
        let outcome = SqliteStore::open(&path, &options());
        assert!(matches!(outcome, Err(StoreError::NotAStore { .. })), "{}: {outcome:?}", path.display());
        let outcome = SqliteStore::open_reader(&path, &options());
        assert!(matches!(outcome, Err(StoreError::NotAStore { .. })), "{}: {outcome:?}", path.display());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[test]
fn a_folder_is_no_database_and_gets_no_lock() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("histories");
    std::fs::create_dir(&path).unwrap();
    for outcome in [SqliteStore::open(&path, &options()), SqliteStore::open_reader(&path, &options())] {
        assert!(matches!(outcome, Err(StoreError::NotAStore { .. })), "{outcome:?}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// Data of an older program is not read in part: a reading process is told what to do, and nothing is changed.
#[test]
fn an_older_schema_is_read_after_it_was_opened_for_writing() {
    for done in 1..STEPS.len() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let steps = STEPS.get(..done).unwrap();
        migrate(&mut Connection::open(&path).unwrap(), &path, steps).unwrap();
        let before = std::fs::read(&path).unwrap();
        let outcome = SqliteStore::open_reader(&path, &options());
        let Err(StoreError::OlderSchema { found, known, .. }) = outcome else {
            panic!("{done}: {outcome:?}")
        };
        assert_eq!((found as usize, known as usize), (done, STEPS.len()));
        assert!(std::fs::read(&path).unwrap() == before, "{done}: untouched");
        drop(SqliteStore::open(&path, &options()).unwrap());
        let reader = SqliteStore::open_reader(&path, &options()).unwrap();
        assert_eq!(read_all(|page| reader.conversations(page)).unwrap(), []);
    }
}

#[test]
fn f086_a_newer_schema_is_refused_and_untouched() {
    let folder = tempfile::tempdir().unwrap();
    let path = open(folder.path()).file().to_path_buf();
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99;").unwrap();
    let before = std::fs::read(&path).unwrap();
    for outcome in [SqliteStore::open(&path, &options()), SqliteStore::open_reader(&path, &options())] {
        let Err(StoreError::NewerSchema { found: 99, known, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(known as usize, STEPS.len());
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn f086_a_migration_happens_whole_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let with = |sql| [STEPS.as_slice(), &[MigrationStep::of(sql)]].concat();
    let broken = with("CREATE TABLE half (x); INSERT INTO nowhere VALUES (1);");
    let state = |conn: &Connection| -> (i64, i64) {
        let version = conn.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
        (version, conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).unwrap())
    };
    let mut conn = Connection::open(&path).unwrap();
    assert!(migrate(&mut conn, &path, &broken).is_err());
    assert_eq!(state(&conn), (0, 0), "a new file stays empty");
    migrate(&mut conn, &path, &STEPS).unwrap();
    let whole = state(&conn);
    assert!(migrate(&mut conn, &path, &broken).is_err());
    assert_eq!(state(&conn), whole, "an old file stays old");
    migrate(&mut conn, &path, &STEPS).unwrap();
    assert_eq!(state(&conn), whole, "doing it again changes nothing");
    migrate(&mut conn, &path, &with("CREATE TABLE more (x ANY) STRICT;")).unwrap();
    assert_eq!(state(&conn), (whole.0 + 1, whole.1 + 1));
    let edited = with("CREATE TABLE other (x ANY) STRICT;");
    let outcome = migrate(&mut conn, &path, &edited).map_err(|fault| fault.into_store(&path, "open"));
    assert!(matches!(outcome, Err(StoreError::NotAStore { .. })), "{outcome:?}");
}

#[test]
fn f087_opening_again_does_no_work() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["a"; 50]);
    let path = store.file().to_path_buf();
    drop(store);
    let before = std::fs::read(&path).unwrap();
    for _ in 0..3 {
        let store = open(folder.path());
        let log = std::fs::metadata(path.with_extension("sqlite-wal")).map_or(0, |found| found.len());
        assert_eq!(log, 0, "nothing was written");
        drop(store);
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[cfg(unix)]
type Replace = fn(&Path);

#[cfg(unix)]
#[test]
fn f089_a_replaced_file_stops_writing() {
    let table: [(&str, Replace); 4] = [
        ("removed", |path| std::fs::remove_file(path).unwrap()),
        ("renamed", |path| std::fs::rename(path, path.with_extension("old")).unwrap()),
        ("restored over", |path| {
            let copy = path.with_extension("copy");
            std::fs::copy(path, &copy).unwrap();
            std::fs::rename(copy, path).unwrap();
        }),
        ("log removed", |path| std::fs::remove_file(path.with_extension("sqlite-wal")).unwrap()),
    ];
    for (why, replace) in table {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let tape = Tape::new(&store, "t:1");
        tape.open(None, &["a"]);
        replace(store.file());
        for _ in 0..2 {
            let outcome = store.append(
                tape.plan(crate::Target::Extend(unforget_core::id::Generation(0), 1), &[b"b".to_vec()]),
            );
            assert!(matches!(outcome, Err(StoreError::Replaced { .. })), "{why}: {outcome:?}");
        }
        let outcome = store.put_summaries(tape.id, &[], None);
        assert!(matches!(outcome, Err(StoreError::Replaced { .. })), "{why}: {outcome:?}");
    }
}

/// Without the file, the next process that opens the database makes another one and locks that.
#[cfg(unix)]
#[test]
fn f089_an_owner_that_lost_its_lock_file_stops_writing() {
    let table: [(&str, Replace); 2] = [
        ("removed", |lock| std::fs::remove_file(lock).unwrap()),
        ("replaced", |lock| {
            std::fs::write(lock.with_extension("new"), b"1").unwrap();
            std::fs::rename(lock.with_extension("new"), lock).unwrap();
        }),
    ];
    for (why, replace) in table {
        let folder = tempfile::tempdir().unwrap();
        let store = open(folder.path());
        let tape = Tape::new(&store, "t:1");
        tape.open(None, &["a"]);
        replace(&super::super::lock::lock_path(store.file()));
        let second = SqliteStore::open(store.file(), &options()).unwrap();
        for _ in 0..2 {
            let outcome = store.put_summaries(tape.id, &[], None);
            assert!(matches!(outcome, Err(StoreError::LockLost { .. })), "{why}: {outcome:?}");
        }
        assert_eq!(store.conversation(tape.id).unwrap().entries, 1, "{why}: it still reads");
        second.put_summaries(tape.id, &[], None).unwrap();
    }
}

/// A second name has a log and a lock of its own.
#[cfg(unix)]
#[test]
fn f089_a_database_with_two_names_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    Tape::new(&store, "t:1").open(None, &["a"]);
    let path = store.file().to_path_buf();
    let other = folder.path().join("other.sqlite");
    std::fs::hard_link(&path, &other).unwrap();
    let is_refused = |name: &Path| {
        [SqliteStore::open(name, &options()), SqliteStore::open_reader(name, &options())]
            .iter()
            .all(|opened| matches!(opened, Err(StoreError::Linked { names: 2, .. })))
    };
    assert!(is_refused(&other), "beside its owner");
    drop(store);
    assert!(is_refused(&other) && is_refused(&path), "by each of its names");
    std::fs::remove_file(&other).unwrap();
    assert!(SqliteStore::open(&path, &options()).is_ok(), "one name again");
}

#[test]
fn f090_free_pages_go_back_in_slices() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    let blocks =
        (0..900_u32).map(|number| blake3::hash(&number.to_le_bytes()).as_bytes().repeat(250)).collect();
    store.put_segment(tape.id, &Segment { seqs: 0..1, header: vec![], blocks }, &[]).unwrap();
    let size = |store: &SqliteStore| store.sizes().unwrap().iter().map(|table| table.bytes).sum::<u64>();
    let before = size(&store);
    store.drop_segments(tape.id).unwrap();
    for _ in 0..50 {
        store.maintain().unwrap();
    }
    assert!(size(&store) * 2 < before, "{} of {before}", size(&store));
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty());
}

#[test]
fn f091_a_backup_is_proven_and_equal() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    let mut append = tape.plan(opening(None), &[b"one".to_vec(), b"two ######".to_vec()]);
    append.snapshot = Some(snapshot(2, "a"));
    store.append(append).unwrap();
    let copy = folder.path().join("copy.sqlite");
    store.backup(&copy).unwrap();
    assert!(store.backup(&copy).is_err(), "an existing file is never replaced");
    // One that was killed leaves a whole copy, which no purge would find.
    let left = |name: &str| folder.path().join(name);
    for name in ["other.sqlite.4999999.unfinished", "notes.unfinished", "x.y.unfinished"] {
        std::fs::write(left(name), b"secret").unwrap();
    }
    let running = std::fs::File::create(left("running.4999998.unfinished")).unwrap();
    running.lock().unwrap();
    store.backup(&left("second.sqlite")).unwrap();
    assert!(!left("other.sqlite.4999999.unfinished").exists() || cfg!(not(unix)), "nobody works on it");
    for name in ["notes.unfinished", "x.y.unfinished", "running.4999998.unfinished"] {
        assert!(left(name).exists(), "{name} is not ours, or somebody works on it");
    }
    let before = observe(&store);
    tape.append(tape.end(0), &["later"]);
    let restored = SqliteStore::open(&copy, &options()).unwrap();
    assert_eq!(observe(&restored), before);
    drop(restored);

    let path = store.file().to_path_buf();
    drop(store);
    Connection::open(&path)
        .unwrap()
        .execute_batch("UPDATE chunk SET data = zeroblob(30) WHERE number = 1")
        .unwrap();
    let damaged = SqliteStore::open(&path, &options()).unwrap();
    let bad = folder.path().join("bad.sqlite");
    assert!(matches!(damaged.backup(&bad), Err(StoreError::Corrupt { .. })));
    let left = std::fs::read_dir(folder.path())
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok());
    let left: Vec<String> = left.filter(|name| name.starts_with("bad")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_dictionary_is_trained_used_needed_and_retired() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &[]);
    let line = |number: u64| {
        let noise = blake3::hash(&number.to_le_bytes()).to_hex();
        format!(
            "{{\"type\":\"message\",\"role\":\"assistant\",\"timestamp\":{number},\"content\":[{{\"type\":\"text\",\"text\":\"{noise}\"}}]}}"
        )
    };
    for number in 0..150 {
        tape.append(tape.end(0), &[&line(number), &line(number + 1000)]);
    }
    store.maintain().unwrap();
    assert!(store.dictionary().is_none(), "too few to learn from");
    for number in 150..260 {
        tape.append(tape.end(0), &[&line(number), &line(number + 1000)]);
    }
    store.maintain().unwrap();
    assert!(store.dictionary().is_some());
    let packed_with_it = tape.plan(tape.end(0), &[b"packed before the purge".to_vec()]);
    tape.append(tape.end(0), &[&line(7000)]);
    let path = store.file().to_path_buf();
    let newest = store.conversation(tape.id).unwrap().entries - 1;
    drop(store);
    let count =
        |sql: &str| -> i64 { Connection::open(&path).unwrap().query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM chunk WHERE dictionary IS NOT NULL"), 1);
    let (with, without) = (
        count("SELECT length(data) * 1000 / raw_len FROM chunk WHERE dictionary IS NOT NULL"),
        count("SELECT length(data) * 1000 / raw_len FROM chunk WHERE number = 9"),
    );
    assert!(with < without, "{with} ‰ with, {without} ‰ without");

    let lame = folder.path().join("lame.sqlite");
    std::fs::copy(&path, &lame).unwrap();
    Connection::open(&lame).unwrap().execute_batch("DELETE FROM dictionary").unwrap();
    let lame = SqliteStore::open(&lame, &options()).unwrap();
    match lame.raw(ConversationId(1), newest..newest + 1) {
        Err(StoreError::Damaged { detail, .. }) => assert!(detail.contains("dictionary"), "{detail}"),
        other => panic!("{other:?}"),
    }
    assert!(!lame.verify(&mut |_, _| {}).unwrap().is_empty());

    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    assert!(store.dictionary().is_some(), "found again after opening");
    store.purge(tape.id, 0..1).unwrap();
    assert!(store.dictionary().is_none(), "it may hold pieces of what was purged");
    assert_eq!(tape.read(0, u64::MAX).last(), Some(&line(7000)));
    let now = tape.plan(tape.end(0), &[]);
    let late = store.append(crate::Append { target: now.target, entries: now.entries, ..packed_with_it });
    assert!(matches!(late, Err(StoreError::Backend { .. })), "{late:?}");
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty());
    assert!(line(1).len() < SMALL_CHUNK_BYTES);
}

#[test]
fn purged_bytes_are_not_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["keep"]);
    // Noise does not compress, so its bytes would be found verbatim.
    let noise = |number: u64| -> Vec<u8> {
        (0..40_u64)
            .flat_map(|block| *blake3::hash(&[number, block].map(u64::to_le_bytes).concat()).as_bytes())
            .collect()
    };
    let large = [b"####".to_vec(), noise(9), b"####".to_vec()].concat();
    store.append(tape.plan(tape.end(0), &[noise(1), noise(2), noise(3), large])).unwrap();
    let mut gone = summary(2, 2);
    gone.body = "CANARY-IN-A-SUMMARY".repeat(3);
    store.put_summaries(tape.id, &[gone], None).unwrap();
    let block = b"CANARY-IN-A-SEGMENT".repeat(30);
    store.put_segment(tape.id, &Segment { seqs: 0..9, header: vec![], blocks: vec![block] }, &[]).unwrap();
    let path = store.file().to_path_buf();
    let holds = |needle: &[u8]| {
        let bytes = [path.clone(), path.with_extension("sqlite-wal")]
            .iter()
            .filter_map(|path| std::fs::read(path).ok())
            .collect::<Vec<_>>()
            .concat();
        bytes.windows(needle.len()).any(|window| window == needle)
    };
    drop(store);
    let needles = [
        noise(2)[64..96].to_vec(),
        noise(9)[64..96].to_vec(),
        b"CANARY-IN-A-SUMMARY".to_vec(),
        b"CANARY-IN-A-SEGMENT".to_vec(),
    ];
    for needle in &needles {
        assert!(holds(needle), "the test would see it");
    }
    let store = open(folder.path());
    store.purge(ConversationId(1), 2..3).unwrap();
    store.purge(ConversationId(1), 4..5).unwrap();
    drop(store);
    for (number, needle) in needles.iter().enumerate() {
        assert!(!holds(needle), "needle {number} is still in the file");
    }
    assert!(holds(&noise(1)[64..96]) && holds(&noise(3)[64..96]), "neighbours stay");
}

/// `UNFORGET_WRITE_FIXTURE=1` writes the fixture of the current schema.
#[test]
fn a_store_of_every_schema_opens_and_verifies() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/db");
    let fixture = |version: usize| fixtures.join(format!("v{version:04}.sqlite"));
    let newest = fixture(STEPS.len());
    let fill = |store: &SqliteStore| {
        let tape = Tape::new(store, "t:1");
        let mut append =
            tape.plan(opening(None), &[b"one".to_vec(), b"two ######".to_vec(), b"three".to_vec()]);
        append.snapshot = Some(snapshot(3, "a"));
        store.append(append).unwrap();
        tape.open(Some((0, 2)), &["branch"]);
        store.put_summaries(tape.id, &[summary(0, 1)], None).unwrap();
        store
            .put_segment(tape.id, &Segment { seqs: 0..4, header: vec![1], blocks: vec![vec![2]] }, &[])
            .unwrap();
        store.purge(tape.id, 3..4).unwrap();
    };
    let folder = tempfile::tempdir().unwrap();
    let fresh = open(folder.path());
    fill(&fresh);
    if std::env::var_os("UNFORGET_WRITE_FIXTURE").is_some() {
        std::fs::create_dir_all(&fixtures).unwrap();
        std::fs::remove_file(&newest).ok();
        fresh.backup(&newest).unwrap();
    }
    for version in 1..=STEPS.len() {
        let copy = folder.path().join(format!("old{version}.sqlite"));
        std::fs::copy(fixture(version), &copy).unwrap();
        let old = SqliteStore::open(&copy, &OpenOptions::default()).unwrap();
        assert_eq!(old.verify(&mut |_, _| {}).unwrap(), []);
        assert_eq!(observe(&old), observe(&fresh), "what version {version} wrote is read now");
        let tape = Tape::new(&old, "t:1");
        tape.append(tape.end(0), &["and it goes on"]);
        assert_eq!(tape.read(0, 9).join(" "), "one two ###### three and it goes on");
    }
}

/// POSIX locks of this process on a file: kind, access and range. While other locks change, the system's list omits
/// some or repeats them, so it is read often.
#[cfg(target_os = "linux")]
fn locks(path: &Path) -> BTreeSet<String> {
    use std::os::linux::fs::MetadataExt;
    let (own, inode) =
        (std::process::id().to_string(), std::fs::metadata(path).unwrap().st_ino().to_string());
    let ours = |line: &str| {
        let (_, lock) = line.split_once("POSIX")?;
        let [kind, access, pid, file, from, to] =
            lock.split_whitespace().collect::<Vec<_>>().try_into().ok()?;
        let is_ours = pid == own && file.rsplit(':').next() == Some(&inode);
        is_ours.then(|| format!("{kind} {access} {from} {to}"))
    };
    let look = |_| {
        let list = std::fs::read_to_string("/proc/locks").unwrap();
        list.lines().filter_map(ours).collect::<Vec<_>>()
    };
    (0..100).flat_map(look).collect()
}

/// Two files are opened beside SQLite: its log, on which it holds no locks, and the database, which is never closed
/// again.
#[cfg(target_os = "linux")]
#[test]
fn f082_syncs_leave_sqlites_locks() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["first"]);
    let held = locks(store.file());
    assert!(!held.is_empty(), "SQLite has locks on it");
    drop(Syncs::of(store.file()).unwrap());
    checkpoint::sync_database(store.file()).unwrap();
    checkpoint::sync_database(store.file()).unwrap();
    assert_eq!(locks(store.file()), held);
    drop(std::fs::File::open(store.file()).unwrap());
    assert_eq!(locks(store.file()), BTreeSet::new(), "what else is closed takes them");
}

/// Only SQLite may open the database, its log or its shared memory. The listed files open other files on purpose; two
/// of them open these, as [`f082_syncs_leave_sqlites_locks`] shows.
#[test]
fn f082_nothing_else_opens_the_database() {
    let allowed = ["acknowledged.rs", "lock.rs", "mount.rs", "backup.rs", "sync.rs", "checkpoint.rs"];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/sqlite");
    let mut seen = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !path.is_file() || name == "tests.rs" {
            continue;
        }
        seen += 1;
        let text = std::fs::read_to_string(&path).unwrap();
        for call in ["File::open", "File::options", "fs::read", "fs::copy", "fs::write", "File::create"] {
            assert!(!text.contains(call) || allowed.contains(&name.as_str()), "{name} calls {call}");
        }
    }
    assert!(seen > 15);
}

#[cfg(unix)]
#[test]
fn f112_what_is_made_is_for_its_owner_only() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.db");
    let store = SqliteStore::open(&path, &OpenOptions::default()).unwrap();
    Tape::new(&store, "t:1").open(None, &["first"]);
    let mode = |name: &str| std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    store.backup(&folder.path().join("copy.db")).unwrap();
    for name in ["a.db", "a.db-wal", "a.db.lock", "a.db.acknowledged", "copy.db"] {
        assert_eq!(mode(name), 0o600, "{name}");
    }
    drop(store);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    drop(SqliteStore::open(&path, &OpenOptions::default()).unwrap());
    assert_eq!(mode("a.db"), 0o640, "rights that a person gave stay");
}
