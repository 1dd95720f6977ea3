//! A full disk: the command reports it and keeps its acknowledged work; with room it continues to the end.

use std::fs;
use std::path::Path;
use std::process::Command;
use unforget_store::read_all;

use crate::support::{Place, lines, messages, text};
use serde_json::Value;
use unforget_bench::write_workload;
use unforget_engine::Engine;

/// Messages of the generated transcript: 4.5 MB, in several commits of an import.
const MESSAGES: usize = 2400;

/// How much of the transcript fits on a disk.
#[derive(Clone, Copy)]
enum Fits {
    /// Not even the first commit.
    Nothing,
    /// At least this many entries, but not all.
    Some(u64),
    /// All entries, but not the upkeep after an import.
    Entries,
}

/// A small file system that disappears with the value.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// `None`, with a message, where mounting is not permitted.
    fn mount(folder: &'a Path, size: &str) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], folder);
        if !mounted {
            println!("skipped: mounting a tmpfs needs root");
        }
        mounted.then_some(Self(folder))
    }

    /// Makes it read-only.
    fn freeze(&self) {
        assert!(mount(&["-o", "remount,ro"], self.0), "root may mount again");
    }

    /// Enlarges the file system.
    fn grow(&self) {
        assert!(mount(&["-o", "remount,size=64m"], self.0), "root may mount again");
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        Command::new("umount").arg(self.0).output().ok();
    }
}

fn mount(arguments: &[&str], folder: &Path) -> bool {
    Command::new("mount").args(arguments).arg(folder).output().is_ok_and(|output| output.status.success())
}

/// What reads needs no room: neither after a clean end, nor after a crash that left the log.
#[test]
fn f088_readers_need_no_room_and_no_permission_to_write() {
    let place = Place::new();
    let folder = place.path("disk");
    let Some(disk) = SmallDisk::mount(&folder, "16m") else { return };
    let mut transcript = Vec::new();
    write_workload(&mut transcript, 600, 7).unwrap();
    fs::write(place.path("in.jsonl"), &transcript).unwrap();
    let db = folder.join("store.sqlite");
    place.run(&with_db(&db, &["import", "in.jsonl"]), 0);
    let key = read_all(|page| Engine::open_reader(&db).unwrap().store().conversations(page)).unwrap()[0]
        .key
        .0
        .clone();
    let readers: [&[&str]; 8] = [
        &["verify"],
        &["list"],
        &["search", "the"],
        &["grep", "the"],
        &["show", &key],
        &["export", &key],
        &["prompt", &key, "--window", "16k"],
        &["stats"],
    ];
    let outputs = || readers.map(|command| text(&place.run(&with_db(&db, command), 0).stdout));
    // The first prompt makes summaries, which later readers count.
    outputs();
    let before = outputs();
    let reads = |why: &str| {
        for (command, before) in readers.iter().zip(&before) {
            let now = text(&place.run(&with_db(&db, command), 0).stdout);
            // A prompt's summaries carry no time and no order of their own: the same entries give the same bytes.
            assert!(now == *before || command[0] == "stats", "{why}: {command:?}");
        }
    };
    let fill = folder.join("fill");
    fs::write(&fill, vec![1; 32 << 20]).unwrap_err();
    reads("full");
    // A crash leaves the log, and nobody has the index of it.
    fs::remove_file(&fill).unwrap();
    let (wal, copy) = (folder.join("store.sqlite-wal"), folder.join("copy"));
    let engine = Engine::open(&db).unwrap();
    engine.import_reader(crate::support::PI.as_bytes(), "pi").unwrap();
    fs::create_dir(&copy).unwrap();
    for file in ["store.sqlite", "store.sqlite-wal"] {
        fs::copy(folder.join(file), copy.join(file)).unwrap();
    }
    drop(engine);
    assert!(!wal.exists(), "a clean end");
    fs::write(&fill, vec![1; 32 << 20]).unwrap_err();
    let crashed = copy.join("store.sqlite");
    let listed = text(&place.run(&with_db(&crashed, &["list", "--json"]), 0).stdout);
    assert!(listed.contains(crate::support::PI_KEY), "what stands in the log is read: {listed}");
    place.run(&with_db(&crashed, &["verify"]), 0);
    fs::remove_file(&fill).unwrap();
    disk.freeze();
    let listed = text(&place.run(&with_db(&db, &["list", "--json"]), 0).stdout);
    assert!(listed.contains(crate::support::PI_KEY), "{listed}");
    for command in readers
        .iter()
        .filter(|command| !matches!(command[0], "list" | "stats" | "search" | "grep" | "verify"))
    {
        let at = readers.iter().position(|one| one == command).unwrap();
        assert_eq!(text(&place.run(&with_db(&db, command), 0).stdout), before[at], "read-only: {command:?}");
    }
    for command in [&["verify"][..], &["search", "the"], &["grep", "the"]] {
        place.run(&with_db(&db, command), 0);
    }
}

/// Runs a command on a disk of each size, then with room, and compares with a run that always had room.
///
/// * `command` - its last argument is the transcript.
/// * `kept` - of the transcript's bytes, and of those that the store exports: what has to be equal.
fn goes_on_with_room(command: &[&str], sizes: &[(&str, Fits)], kept: fn(&[u8]) -> Vec<String>) {
    let place = Place::new();
    let mut transcript = Vec::new();
    write_workload(&mut transcript, MESSAGES, 7).unwrap();
    fs::write(place.path("in.jsonl"), &transcript).unwrap();
    let whole = place.path("whole.sqlite");
    place.run(&with_db(&whole, command), 0);
    let expected = Engine::open_reader(&whole).unwrap().digest().unwrap();
    for (size, fits) in sizes {
        let folder = place.path(size);
        let Some(disk) = SmallDisk::mount(&folder, size) else { return };
        let db = folder.join("store.sqlite");
        // The second run finds the disk as full as the first one left it.
        for _ in 0..2 {
            let kept = is_full(&place, &with_db(&db, command));
            let whole = matches!(fits, Fits::Entries).then_some(transcript.len() as u64);
            assert!(kept.iter().map(|file| &file["bytes"]).eq(whole.iter()), "{size}: {kept:?}");
        }
        if !matches!(fits, Fits::Nothing) {
            place.run(&with_db(&db, &["verify"]), 0);
        }
        match fits {
            Fits::Nothing => assert_eq!(entries(&db), 0, "{size}"),
            Fits::Some(least) => {
                let (entries, exported) = stored(&db);
                assert!(entries >= *least, "{size}: {entries} entries");
                let (all, exported) = (kept(&transcript), kept(&exported));
                assert!(exported.len() < all.len(), "{size} hold all of it: nothing is tested");
                assert!(all.starts_with(&exported), "{size}: I1");
            }
            Fits::Entries => assert!(kept(&stored(&db).1) == kept(&transcript), "{size}: I1"),
        }
        disk.grow();
        place.run(&with_db(&db, command), 0);
        place.run(&with_db(&db, &["verify"]), 0);
        assert!(kept(&stored(&db).1) == kept(&transcript), "{size}: I1");
        assert_eq!(Engine::open_reader(&db).unwrap().digest().unwrap(), expected, "{size}: I3");
    }
}

/// Runs the command for a person and for a program: both learn that the disk is full and what to do.
///
/// Returns the program's earlier output: files whose entries are kept.
fn is_full(place: &Place, command: &[&str]) -> Vec<Value> {
    let error = text(&place.run(command, 4).stderr);
    assert!(error.contains("no room left while writing") && error.contains("store.sqlite"), "{error}");
    assert!(error.contains("free some space on the disk and run the same command again"), "{error}");
    let mut lines = place.json_lines(command, 4);
    let error = lines.pop().unwrap();
    assert_eq!(error["error"]["kind"], "full", "{error}");
    lines
}

fn with_db<'a>(db: &'a Path, command: &[&'a str]) -> Vec<&'a str> {
    ["--db", db.to_str().unwrap()].into_iter().chain(command.iter().copied()).collect()
}

/// Entries of all conversations, if the disk holds the tables at all.
fn entries(db: &Path) -> u64 {
    let conversations =
        Engine::open_reader(db).and_then(|engine| Ok(read_all(|page| engine.store().conversations(page))?));
    conversations.unwrap_or_default().iter().map(|one| one.entries).sum()
}

/// The entries, and the exported bytes.
fn stored(db: &Path) -> (u64, Vec<u8>) {
    let engine = Engine::open_reader(db).unwrap();
    let conversation = read_all(|page| engine.store().conversations(page)).unwrap().pop().unwrap();
    let mut exported = Vec::new();
    engine.export(conversation.id, None, &mut exported).unwrap();
    (conversation.entries, exported)
}

#[test]
fn f088_an_import_onto_a_full_disk_goes_on_when_there_is_room() {
    let sizes = [
        ("16k", Fits::Nothing),
        ("200k", Fits::Nothing),
        ("1800k", Fits::Some(100)),
        ("4500k", Fits::Entries),
    ];
    goes_on_with_room(&["import", "in.jsonl"], &sizes, lines);
}

#[test]
fn f088_a_replay_onto_a_full_disk_goes_on_when_there_is_room() {
    let command = ["replay", "--window", "16k", "--no-validate", "in.jsonl"];
    goes_on_with_room(&command, &[("16k", Fits::Nothing), ("1500k", Fits::Some(10))], messages);
}

#[test]
fn a_handoff_without_room_leaves_no_file() {
    let place = Place::imported();
    let folder = place.path("disk");
    let Some(_disk) = SmallDisk::mount(&folder, "64k") else { return };
    fs::write(folder.join("fill"), vec![1; 1 << 20]).unwrap_err();
    let path = folder.join("HANDOFF.md");
    place.run(&["handoff", "pi:", "-o", path.to_str().unwrap()], 3);
    assert!(!path.exists());
}

/// The disk of the copy is full, not that of the database.
#[test]
fn f088_a_backup_names_the_full_disk_and_leaves_nothing_on_it() {
    let place = Place::imported();
    let folder = place.path("disk");
    let Some(_disk) = SmallDisk::mount(&folder, "64k") else { return };
    let told = place.json(&["backup", "disk/copy.sqlite"], 4);
    let what = told["error"]["message"].as_str().unwrap();
    assert!(what.contains("copy.sqlite") && !what.contains("store.sqlite"), "{told}");
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}
