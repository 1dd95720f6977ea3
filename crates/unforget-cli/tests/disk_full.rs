//! A disk that is full: the command says so and keeps what it acknowledged; with room it goes on to the end.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

mod support;

use std::fs;
use std::path::Path;
use std::process::Command;

use support::{Place, text};
use unforget_bench::write_workload;
use unforget_engine::Engine;

/// Messages of the generated transcript: 2.2 MB, in several commits of an import.
const MESSAGES: usize = 1200;

/// A small file system of its own, that goes away with the value.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    /// None, and a line that says so, where mounting is not permitted.
    fn mount(folder: &'a Path, size: &str) -> Option<Self> {
        fs::create_dir(folder).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"], folder);
        if !mounted {
            println!("skipped: mounting a tmpfs needs root");
        }
        mounted.then_some(Self(folder))
    }

    /// Makes room.
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

/// Runs a command on a disk of each size, then with room, and compares with a run that always had room.
///
/// * `command` - its last argument is the transcript.
/// * `sizes` - of the disk, and how many entries fit at least.
fn goes_on_with_room(command: &[&str], sizes: &[(&str, u64)]) {
    let place = Place::new();
    let mut transcript = Vec::new();
    write_workload(&mut transcript, MESSAGES, 7).unwrap();
    fs::write(place.path("in.jsonl"), &transcript).unwrap();
    let whole = place.path("whole.sqlite");
    place.run(&with_db(&whole, command), 0);
    let expected = Engine::open_reader(&whole).unwrap().digest().unwrap();
    for (size, fit) in sizes {
        let folder = place.path(size);
        let Some(disk) = SmallDisk::mount(&folder, size) else { return };
        let db = folder.join("store.sqlite");
        // The second run finds the disk as full as the first one left it.
        for _ in 0..2 {
            let error = text(&place.run(&with_db(&db, command), 4).stderr);
            assert!(
                error.contains("no room left while writing") && error.contains("store.sqlite"),
                "{error}"
            );
            assert!(error.contains("make room and run the same command again"), "{error}");
            let error = place.json(&with_db(&db, command), 4);
            assert_eq!(error["error"]["kind"], "full", "{error}");
        }
        if *fit > 0 {
            place.run(&with_db(&db, &["verify"]), 0);
            let (entries, exported) = stored(&db);
            assert!(entries >= *fit, "{size}: {entries} entries");
            assert!(exported.len() < transcript.len(), "{size} hold all of it: nothing is tested");
            assert!(transcript.starts_with(&exported), "{size}: I1");
            assert_eq!(transcript[exported.len()], b'\n', "{size}: whole lines");
        }
        disk.grow();
        place.run(&with_db(&db, command), 0);
        place.run(&with_db(&db, &["verify"]), 0);
        assert!(stored(&db).1 == transcript, "{size}: I1");
        assert_eq!(Engine::open_reader(&db).unwrap().digest().unwrap(), expected, "{size}: I3");
    }
}

fn with_db<'a>(db: &'a Path, command: &[&'a str]) -> Vec<&'a str> {
    ["--db", db.to_str().unwrap()].into_iter().chain(command.iter().copied()).collect()
}

/// Entries, and the bytes that come back.
fn stored(db: &Path) -> (u64, Vec<u8>) {
    let engine = Engine::open_reader(db).unwrap();
    let conversation = engine.store().conversations().unwrap().pop().unwrap();
    let mut exported = Vec::new();
    engine.export(conversation.id, None, &mut exported).unwrap();
    (conversation.entries, exported)
}

#[test]
fn f088_an_import_onto_a_full_disk_goes_on_when_there_is_room() {
    goes_on_with_room(&["import", "in.jsonl"], &[("16k", 0), ("200k", 0), ("1500k", 100)]);
}

#[test]
fn f088_a_replay_onto_a_full_disk_goes_on_when_there_is_room() {
    let command = ["replay", "--window", "16k", "--no-validate", "in.jsonl"];
    goes_on_with_room(&command, &[("16k", 0), ("1500k", 10)]);
}
