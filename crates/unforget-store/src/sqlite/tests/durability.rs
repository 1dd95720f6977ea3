//! Crashes, full disks, many writers.

use std::io::{BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{noise, open, told};
use crate::conformance::{Tape, opening};
use crate::error::StoreError;
use crate::port::{Append, Durability, Index as _, Log as _, Segment, Upkeep as _, WriteLatency, read_all};
use crate::sqlite::{OpenOptions, SqliteStore, checkpoint};

/// Passes the path of the database to a child of this test executable.
const CHILD_DB: &str = "UNFORGET_TEST_CHILD_DB";

/// Runs one test of this executable in a separate process.
fn child(test: &str, db: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(CHILD_DB, db);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    command
}

fn body(number: u64) -> Vec<u8> {
    let noise = blake3::hash(&number.to_le_bytes()).to_hex();
    format!("{number} {}{}", noise.repeat(number as usize % 40), "#".repeat(number as usize % 7 * 2000))
        .into_bytes()
}

/// The process to kill: appends for ever, and reports acknowledged writes. Does nothing in a normal run.
#[test]
fn child_that_appends() {
    let Some(db) = std::env::var_os(CHILD_DB) else { return };
    let store = SqliteStore::open(PathBuf::from(db), &OpenOptions::default()).unwrap();
    let tape = Tape::new(&store, "t:1");
    let mut next = store.conversation(tape.id).unwrap().entries;
    loop {
        let bodies: Vec<_> = (next..next + 1 + next % 5).map(body).collect();
        let target = if next == 0 { opening(None) } else { tape.end(0) };
        store.append(tape.plan(target, &bodies)).unwrap();
        next += bodies.len() as u64;
        println!("ack {next}");
        if next.is_multiple_of(7) {
            let segment = Segment { seqs: next - 1..next, header: vec![1], blocks: vec![vec![0; 20_000]] };
            store.put_segment(tape.id, &segment, &[next / 14]).unwrap();
            store.maintain().unwrap();
        }
    }
}

/// `UNFORGET_TEST_KILLS` sets the number of kills.
#[test]
fn killed_at_any_moment_nothing_acknowledged_is_lost() {
    let kills = told("UNFORGET_TEST_KILLS", 30);
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("store.sqlite");
    let mut safe = 0;
    for round in 0..kills {
        let patience = usize::from(noise(&format!("kill {round}"))[0]) % 24;
        let mut process = child("sqlite::tests::durability::child_that_appends", &db).spawn().unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        let mut acks = 0;
        while acks < patience && output.read_line(&mut line).unwrap() > 0 {
            if let Some(number) = line.trim().rsplit_once("ack ").and_then(|(_, number)| number.parse().ok())
            {
                safe = number;
                acks += 1;
            }
            line.clear();
        }
        // It is in the middle of an append now; its remaining output was written before its death.
        process.kill().unwrap();
        while output.read_line(&mut line).unwrap() > 0 {
            if line.ends_with('\n')
                && let Some((_, number)) = line.trim().rsplit_once("ack ")
            {
                safe = number.parse().unwrap();
            }
            line.clear();
        }
        process.wait().unwrap();
        let store = SqliteStore::open(&db, &OpenOptions::default()).unwrap();
        assert_eq!(store.verify(&mut |_, _| {}).unwrap(), [], "round {round}");
        let tape = Tape::new(&store, "t:1");
        let entries = store.conversation(tape.id).unwrap().entries;
        assert!(entries >= safe, "round {round}: {entries} of {safe} acknowledged entries");
        let from = entries.saturating_sub(200);
        for raw in store.raw(tape.id, from..entries).unwrap() {
            assert!(raw.body == body(raw.seq.0), "round {round}: entry {}", raw.seq);
        }
    }
    assert!(safe > 0, "the child never got to append");
    println!("torture: {kills} kills of an appending process");
}

/// A log that is cut or damaged says nothing of what it had: the file beside the database does.
#[cfg(unix)]
#[test]
fn a_lost_end_of_the_log_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let db = folder.path().join("store.sqlite");
    let mut losses = 0;
    let rounds = told("UNFORGET_TEST_LOSSES", 24);
    for round in 0..rounds {
        for end in ["", "-wal", "-shm", ".acknowledged"] {
            std::fs::remove_file(folder.path().join(format!("store.sqlite{end}"))).ok();
        }
        let safe = killed_after(&db, 5 + 2 * round);
        damage_log(&folder.path().join("store.sqlite-wal"), round);
        let reader = SqliteStore::open_reader(&db, &OpenOptions::default());
        let opened = reader.and_then(|reader| Ok((reader.verify(&mut |_, _| {})?, entries_in(&reader))));
        let (problems, entries) = match opened {
            Ok(opened) => opened,
            // Even the tables were in the log only.
            Err(StoreError::NotAStore { .. }) => continue,
            Err(error) => panic!("{round}: {error:?}"),
        };
        let named = problems.iter().any(|problem| problem.kind == "lost");
        assert!(entries >= safe || named, "{round}: {entries} of {safe}: {problems:?}");
        losses += u32::from(entries < safe);
        let store = SqliteStore::open(&db, &OpenOptions::default()).unwrap();
        let lost = || store.lost_entries().unwrap().iter().map(|lost| lost.entries).sum::<u64>();
        let first = lost();
        assert!(entries + first >= safe, "{round}: {entries} and {first} of {safe}");
        if entries > 0 {
            let tape = Tape::new(&store, "t:1");
            store.append(tape.plan(tape.end(0), &[b"one more".to_vec()])).unwrap();
        }
        assert_eq!(lost(), first, "{round}: what is gone stays named");
    }
    assert!(losses > 1, "{losses}");
    println!("torture: {rounds} damages of a log");
    println!("torture: {losses} losses that were named");
}

/// Kills a process that appends, and returns the number of entries that it told of.
fn killed_after(db: &Path, entries: u64) -> u64 {
    let mut process = child("sqlite::tests::durability::child_that_appends", db).spawn().unwrap();
    let mut output = BufReader::new(process.stdout.take().unwrap());
    let (mut safe, mut line) = (0, String::new());
    while safe < entries && output.read_line(&mut line).unwrap() > 0 {
        let number = line.trim().rsplit_once("ack ").and_then(|(_, number)| number.parse().ok());
        safe = number.unwrap_or(safe);
        line.clear();
    }
    process.kill().unwrap();
    process.wait().unwrap();
    safe
}

/// Cuts a log or flips a bit, in place: of another file nothing would be known.
#[cfg(unix)]
fn damage_log(wal: &Path, seed: u64) {
    use std::os::unix::fs::FileExt;
    let noise = noise(&format!("log {seed}"));
    let log = std::fs::read(wal).unwrap();
    let share = usize::from(u16::from_le_bytes([noise[0], noise[1]]));
    let at = share * log.len() / 65_536;
    let file = std::fs::File::options().write(true).open(wal).unwrap();
    if seed.is_multiple_of(3) {
        file.set_len(at as u64).unwrap();
    } else {
        file.write_all_at(&[log[at] ^ (1 << (seed % 8))], at as u64).unwrap();
    }
}

fn entries_in(store: &SqliteStore) -> u64 {
    read_all(|page| store.conversations(page)).unwrap().iter().map(|one| one.entries).sum()
}

/// A copy, a backup and an older state in the same place by another file say nothing of losses.
#[test]
fn nothing_is_lost_where_another_file_was_put() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["a", "b"]);
    store.backup(&folder.path().join("copy.sqlite")).unwrap();
    tape.append(tape.end(0), &["c", "d"]);
    let (path, id) = (store.file().to_path_buf(), tape.id);
    assert_eq!(store.lost_entries().unwrap(), []);
    drop(store);
    assert!(super::super::acknowledged::path_of(&path).exists());
    assert_eq!(open(folder.path()).lost_entries().unwrap(), []);
    let copied = folder.path().join("copied.sqlite");
    std::fs::copy(&path, &copied).unwrap();
    std::fs::rename(folder.path().join("copy.sqlite"), &path).unwrap();
    for path in [&path, &copied] {
        let reader = SqliteStore::open_reader(path, &OpenOptions::default()).unwrap();
        assert_eq!(reader.lost_entries().unwrap(), []);
        assert_eq!(reader.verify(&mut |_, _| {}).unwrap(), []);
    }
    let store = open(folder.path());
    assert_eq!(store.conversation(id).unwrap().entries, 2);
    let tape = Tape::new(&store, "t:1");
    tape.append(tape.end(0), &["c"]);
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}

#[test]
fn what_is_no_derived_data_is_synchronous_whatever_came_before() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let strict = SqliteStore::open(path("strict"), &OpenOptions::default()).unwrap();
    let options = OpenOptions { relaxed_durability: true, ..OpenOptions::default() };
    let relaxed = SqliteStore::open(path("relaxed"), &options).unwrap();
    for durability in [Durability::OnReturn, Durability::WithNext, Durability::OnReturn] {
        for (store, is_ever_synced) in [(&strict, true), (&relaxed, false)] {
            let writer = store.writer().unwrap();
            writer.run(durability, |_| Ok(())).unwrap();
            let want = is_ever_synced && durability == Durability::OnReturn;
            assert_eq!(writer.syncs().is_synced(), want, "{durability:?}");
        }
    }
}

#[test]
fn an_append_that_means_nothing_alone_waits_for_no_disk() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("db"), &OpenOptions::default()).unwrap();
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["first"]);
    for durability in [Durability::WithNext, Durability::OnReturn, Durability::WithNext] {
        store.append(Append { durability, ..tape.plan(tape.end(0), &[body(1)]) }).unwrap();
        assert_eq!(store.writer().unwrap().syncs().is_synced(), durability == Durability::OnReturn);
    }
}

/// Commits that are not on the disk are not shown: a caller that has seen the data would not write it again.
#[test]
fn after_a_sync_that_failed_nothing_is_written_or_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let store = SqliteStore::open(&path, &OpenOptions::default()).unwrap();
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["first"]);
    let [first, second] = [1, 2].map(|number| tape.plan(tape.end(0), &[body(number)]));
    store.writer().unwrap().syncs().fail();
    let names = store.put_names(tape.id, &[], WriteLatency::Now);
    let told = [names.err(), store.append(first).err(), store.append(second).err()];
    assert!(told[0].is_none(), "of what need not be durable nobody is told that it is: {told:?}");
    for told in &told[1..] {
        assert!(format!("{told:?}").contains("disk is gone"), "{told:?}");
    }
    assert!(store.conversation(tape.id).is_err());
    drop(store);
    let store = SqliteStore::open(&path, &OpenOptions::default()).unwrap();
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}

/// A thread beside the writer moves the log into the database, and writing continues all the time.
#[test]
fn the_log_begins_anew_while_it_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("db"), &OpenOptions::default()).unwrap();
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["first"]);
    // The log's number, from its header.
    let log = || std::fs::read(folder.path().join("db-wal")).unwrap().get(12..16).map(<[u8]>::to_vec);
    let (first, mut noise) = (log(), blake3::Hasher::new());
    let many = (0..3_000).position(|number| {
        let mut body = vec![0; 512 * 1024];
        noise.update(b"more").finalize_xof().fill(&mut body);
        store.append(tape.plan(tape.end(0), &[body])).unwrap();
        number % 16 == 0 && log() != first
    });
    assert!(many.is_some(), "it only grows");
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}

/// A small file system that disappears with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=4m", "tmpfs"])
            .arg(folder)
            .output()
            .ok()?;
        mounted.status.success().then(|| Self(folder.to_path_buf()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        Command::new("umount").arg(&self.0).output().ok();
    }
}

#[test]
fn f088_a_full_disk_loses_nothing_and_writing_goes_on_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let Some(_disk) = SmallDisk::mount(folder.path()) else {
        println!("skipped: mounting a tmpfs needs root");
        return;
    };
    let filler = folder.path().join("filler");
    std::fs::write(&filler, vec![1; 1_500_000]).unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    let noise = |number: u64| -> Vec<u8> {
        (0..1500)
            .flat_map(|block: u64| *blake3::hash(&[number, block].map(u64::to_le_bytes).concat()).as_bytes())
            .collect()
    };
    let mut next = 0;
    let failure = loop {
        let target = if next == 0 { opening(None) } else { tape.end(0) };
        match store.append(tape.plan(target, &[noise(next)])) {
            Ok(_) => next += 1,
            Err(error) => break error,
        }
        assert!(next < 200, "4 MB cannot hold that");
    };
    assert!(matches!(failure, StoreError::Full { .. }), "{failure:?}");
    assert!(next > 3);
    for _ in 0..3 {
        assert!(matches!(store.append(tape.plan(tape.end(0), &[noise(next)])), Err(StoreError::Full { .. })));
    }
    let all_there = |store: &SqliteStore, count: u64| {
        let raw = store.raw(tape.id, 0..u64::MAX).unwrap();
        assert_eq!(raw.len() as u64, count);
        assert!(raw.iter().all(|raw| raw.body == noise(raw.seq.0)));
        assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
    };
    all_there(&store, next);
    std::fs::remove_file(&filler).unwrap();
    store.append(tape.plan(tape.end(0), &[noise(next)])).unwrap();
    all_there(&store, next + 1);
    drop(store);
    all_there(&open(folder.path()), next + 1);
}

#[test]
fn f079_many_writers_share_the_writer_fairly() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    std::thread::scope(|scope| {
        for lane in 0..8 {
            let store = &store;
            scope.spawn(move || {
                let tape = Tape::new(store, &format!("t:{lane}"));
                tape.open(None, &["first"]);
                for number in 0..25 {
                    tape.append(tape.end(0), &[&format!("{lane} {number}")]);
                    if number % 8 == 0 {
                        // One failing append must not disturb the others of its transaction.
                        assert!(
                            store
                                .append(
                                    tape.plan(
                                        crate::Target::Extend(unforget_core::id::Generation(9), 1),
                                        &[]
                                    )
                                )
                                .is_err()
                        );
                    }
                    assert_eq!(
                        tape.read(0, 99).last(),
                        Some(&format!("{lane} {number}")),
                        "own writes are seen"
                    );
                }
            });
        }
    });
    for conversation in read_all(|page| store.conversations(page)).unwrap() {
        assert_eq!((conversation.entries, conversation.revision), (26, 26));
    }
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}

/// With the page size of new databases, and with that of older ones; with the thread that moves pages, and without.
#[test]
fn f080_the_log_stays_bounded_under_readers() {
    const ENTRY: u64 = 64_000;
    let table = [
        (4096, false, "new"),
        (8192, false, "older"),
        (4096, true, "starved"),
        (8192, true, "older, starved"),
    ];
    for (page_bytes, is_starved, why) in table {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let empty = rusqlite::Connection::open(&path).unwrap();
        empty
            .execute_batch(&format!("PRAGMA page_size = {page_bytes}; PRAGMA auto_vacuum = 2; VACUUM"))
            .unwrap();
        drop(empty);
        let store = open(folder.path());
        if is_starved {
            store.writer().unwrap().checkpoints().starve();
        }
        let tape = Tape::new(&store, "t:1");
        tape.open(None, &["first"]);
        let wal = folder.path().join("store.sqlite-wal");
        let bound = u64::from(checkpoint::MOST);
        let mut most = 0;
        for number in 0..bound * 3 / 2 / ENTRY {
            let noise: Vec<u8> = (0..ENTRY / 32)
                .flat_map(|block| *blake3::hash(&[number, block].map(u64::to_le_bytes).concat()).as_bytes())
                .collect();
            store.append(tape.plan(tape.end(0), &[noise])).unwrap();
            store.raw(tape.id, number..number + 2).unwrap();
            most = most.max(std::fs::metadata(&wal).unwrap().len());
        }
        let mut header = [0; 32];
        std::fs::File::open(&wal).unwrap().read_exact(&mut header).unwrap();
        assert_eq!(header[8..12], u32::to_be_bytes(page_bytes), "{why}: the pages it was made with");
        // A commit here has the entry, and a few pages of tables.
        assert!(most < bound + 4 * ENTRY, "{why}: {most} bytes of log");
        assert_ne!(header[12..16], [0; 4], "{why}: the log began again");
        assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
    }
}

#[test]
fn f082_another_process_is_refused_whatever_the_owner_does() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["a", "b"]);
    let features: [(&str, &dyn Fn()); 6] = [
        ("nothing", &|| ()),
        ("verify", &|| assert!(store.verify(&mut |_, _| {}).unwrap().is_empty())),
        ("backup", &|| store.backup(&folder.path().join("copy.sqlite")).unwrap()),
        ("maintain", &|| store.maintain().unwrap()),
        ("sizes", &|| assert!(!store.sizes().unwrap().is_empty())),
        ("purge", &|| assert_eq!(store.purge(tape.id, 0..1).unwrap().entries, 1)),
    ];
    for (name, feature) in features {
        feature();
        let output = child("sqlite::tests::durability::child_that_opens", store.file()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(&format!("busy {}", std::process::id())), "after {name}: {text}");
        tape.append(tape.end(0), &["more"]);
    }
    drop(store);
    let output = child("sqlite::tests::durability::child_that_opens", &folder.path().join("store.sqlite"))
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("opened"));
}

/// The other process: reports its result. Does nothing in a normal run.
#[test]
fn child_that_opens() {
    let Some(db) = std::env::var_os(CHILD_DB) else { return };
    match SqliteStore::open(PathBuf::from(db), &OpenOptions::default()) {
        Ok(_) => println!("opened"),
        Err(StoreError::Busy { pid, .. }) => println!("busy {pid}"),
        Err(error) => println!("{error}"),
    }
}

#[cfg(target_os = "linux")]
#[test]
fn f092_descriptors_are_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let ours = || {
        let links = std::fs::read_dir("/proc/self/fd")
            .unwrap()
            .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
        links.filter(|link| link.starts_with(folder.path())).count()
    };
    for _ in 0..200 {
        let store = open(folder.path());
        let tape = Tape::new(&store, "t:1");
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| store.conversation(tape.id).unwrap());
            }
        });
        assert!(ours() < 24, "{} descriptors", ours());
    }
    assert_eq!(ours(), 0);
}
