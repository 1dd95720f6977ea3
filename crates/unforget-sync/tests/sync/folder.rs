//! A folder that machines share.

use std::fs;
use std::path::{Path, PathBuf};

use unforget_sync::{HistorySource as _, LocalHistory, SyncError, SyncFolder};

use crate::machine::{Machine, session, words};

/// Every file below a folder.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files.extend(self::files(&path)) } else { files.push(path) }
    }
    files.sort();
    files
}

fn with_ending<'a>(files: &'a [PathBuf], ending: &str) -> Vec<&'a PathBuf> {
    files.iter().filter(|file| file.extension().is_some_and(|found| found == ending)).collect()
}

#[test]
fn a_session_arrives_as_it_was_and_once() {
    let folder = tempfile::tempdir().unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    let said = session("s1", &words(40, "the tide table"));
    ann.has(&said);
    ann.has(&session("s2", &words(3, "another session")));
    let (put, told) = ann.put(&mut SyncFolder::open(folder.path(), None, false).unwrap());
    assert_eq!((put.conversations, put.left, told.len()), (2, 0, 0));
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (taken, told) = bea.take(&mut shared, false);
    assert_eq!((taken.conversations, taken.grown, taken.entries, taken.left), (2, 2, 45, 0));
    assert_eq!(told, ["taken pi:s1 41", "taken pi:s2 4"]);
    assert_eq!(bea.export("s1"), said);
    assert_eq!(bea.tips(), ann.tips());
    let before = files(folder.path());
    assert_eq!(bea.sync(&mut shared).entries, 0, "nothing is taken twice");
    assert_eq!(ann.sync(&mut shared).entries, 0, "nothing comes back");
    assert_eq!(files(folder.path()), before, "nothing is written twice");
    bea.is_sound();
}

#[test]
fn only_what_grew_is_written_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    // Five whole parts of a mebibyte, and a rest.
    let long: Vec<String> = (0..56).map(|number| format!("{number} {}", "y".repeat(100_000))).collect();
    ann.has(&session("s1", &long[..50]));
    ann.put(&mut shared);
    bea.take(&mut shared, false);
    let before = files(folder.path());
    assert_eq!(with_ending(&before, "part").len(), 5);
    ann.has(&session("s1", &long));
    let (put, _) = ann.put(&mut shared);
    assert!(put.bytes < 10_000, "the records compress well, and most are there: {}", put.bytes);
    let now = files(folder.path());
    assert_eq!(with_ending(&now, "tip").len(), 1, "the longer tip takes the place of the shorter one");
    assert_eq!(with_ending(&now, "part").len(), 6, "the last part was filled and another one begun");
    // Parts that the other machine has are not read again.
    let old: Vec<_> = with_ending(&now, "part").into_iter().filter(|part| before.contains(part)).collect();
    assert_eq!(old.len(), 4);
    for part in old {
        fs::write(part, b"gone").unwrap();
    }
    let (taken, told) = bea.take(&mut shared, false);
    assert_eq!((taken.entries, taken.left), (6, 0), "{told:?}");
    assert_eq!(bea.export("s1"), session("s1", &long));
}

#[test]
fn two_machines_that_go_on_with_one_session_keep_both_paths() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    ann.has(&session("s1", &words(10, "together")));
    ann.sync(&mut shared);
    bea.sync(&mut shared);
    let anns = session("s1", &[words(10, "together"), words(2, "of ann")].concat());
    let beas = session("s1", &[words(10, "together"), words(5, "of bea")].concat());
    ann.has(&anns);
    bea.has(&beas);
    for machine in [&ann, &bea, &ann, &bea] {
        machine.sync(&mut shared);
    }
    assert_eq!(ann.tips(), bea.tips());
    assert_eq!(ann.tips().len(), 2);
    assert_eq!(ann.export("s1"), beas, "the later one is current");
    assert_eq!(bea.export("s1"), beas, "and stays so where it was");
    ann.has(
        &[
            anns.trim_end(),
            &session("s1", &words(20, "x")).lines().last().unwrap().replace("x 19", "more of ann"),
            "",
        ]
        .join("\n"),
    );
    ann.sync(&mut shared);
    bea.sync(&mut shared);
    assert_eq!(ann.tips(), bea.tips(), "either path may grow");
    ann.is_sound();
    bea.is_sound();
}

#[test]
fn purged_text_leaves_the_folder_and_stays_away() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (ann, bea, cleo) = (Machine::new(), Machine::new(), Machine::new());
    ann.has(&session("s1", &words(30, "heron")));
    ann.has(&session("s2", &words(3, "bakery")));
    ann.sync(&mut shared);
    bea.sync(&mut shared);
    ann.purge("s1", 5..8);
    let (put, told) = ann.put(&mut shared);
    assert_eq!((put.purged, put.left), (1, 1));
    assert_eq!(told, ["left pi:s1: 3 entries of it were purged"]);
    let now = files(folder.path());
    assert_eq!((with_ending(&now, "part").len(), with_ending(&now, "tip").len()), (1, 1), "only s2 is there");
    assert_eq!(with_ending(&now, "purged").len(), 3);
    let (taken, told) = bea.take(&mut shared, false);
    assert_eq!((taken.kept, taken.purged), (3, 0));
    assert_eq!(told, ["purged pi:s1 3 false"], "nothing is purged without a word");
    let (put, told) = bea.put(&mut shared);
    assert_eq!((put.bytes, told.len()), (0, 1), "and nobody brings it back: {told:?}");
    let (taken, _) = bea.take(&mut shared, true);
    assert_eq!((taken.kept, taken.purged), (0, 3));
    assert!(!bea.export("s1").contains("heron 5"));
    assert_eq!(bea.take(&mut shared, true).0.purged, 0, "once");
    assert_eq!(cleo.take(&mut shared, true).0.entries, 4, "a new machine has the other session");
    ann.is_sound();
    bea.is_sound();
}

/// A drive brings back what was removed: nobody takes it, and the next machine that knows removes it again.
#[test]
fn purged_text_that_comes_back_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (ann, bea, cleo) = (Machine::new(), Machine::new(), Machine::new());
    ann.has(&session("s1", &words(30, "heron")));
    ann.sync(&mut shared);
    let before: Vec<_> =
        files(folder.path()).into_iter().map(|file| (fs::read(&file).unwrap(), file)).collect();
    ann.purge("s1", 5..8);
    ann.put(&mut shared);
    for (content, file) in &before {
        fs::write(file, content).unwrap();
    }
    let (taken, told) = cleo.take(&mut shared, true);
    assert_eq!((taken.entries, taken.left), (0, 1), "{told:?}");
    assert!(cleo.tips().is_empty());
    // A machine that never had the session removes it too: it reads what it does not know.
    bea.put(&mut shared);
    let now = files(folder.path());
    assert_eq!((with_ending(&now, "tip").len(), with_ending(&now, "part").len()), (0, 0));
    assert_eq!(with_ending(&now, "purged").len(), 3);
}

#[test]
fn an_older_path_does_not_make_a_hole_of_a_newer_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    bea.has(&session("s1", &[words(10, "together"), words(2, "of bea")].concat()));
    bea.put(&mut shared);
    ann.has(&session("s1", &[words(10, "together"), words(6, "of ann")].concat()));
    ann.purge("s1", 13..14);
    let before = (ann.entries(), ann.export("s1"));
    let (taken, told) = ann.take(&mut shared, false);
    assert_eq!(taken.left, 1, "{told:?}");
    assert_eq!((ann.entries(), ann.export("s1")), before);
    ann.is_sound();
}

#[test]
fn an_encrypted_folder_tells_nothing_without_its_passphrase() {
    let folder = tempfile::tempdir().unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    ann.has(&session("s1", &words(30, "heron")));
    ann.put(&mut SyncFolder::open(folder.path(), Some("nine blue herons"), false).unwrap());
    for file in files(folder.path()) {
        let content = fs::read(&file).unwrap();
        for word in ["heron", "pi:s1", "session.jsonl", "conversation"] {
            assert!(
                !content.windows(word.len()).any(|window| window == word.as_bytes()),
                "{word} in {}",
                file.display()
            );
        }
    }
    let table = [
        (None, "the folder is encrypted"),
        (Some(""), "this is another passphrase"),
        (Some("nine blue heron"), "this is another passphrase"),
    ];
    for (passphrase, want) in table {
        match SyncFolder::open(folder.path(), passphrase, false) {
            Err(SyncError::Passphrase { what, .. }) => assert_eq!(what, want),
            other => panic!("{passphrase:?}: {:?}", other.map(|_| "opened")),
        }
    }
    let mut shared = SyncFolder::open(folder.path(), Some("nine blue herons"), false).unwrap();
    bea.take(&mut shared, false);
    assert_eq!(bea.tips(), ann.tips());
    let open = tempfile::tempdir().unwrap();
    SyncFolder::open(open.path(), None, false).unwrap();
    assert!(matches!(SyncFolder::open(open.path(), Some("x"), false), Err(SyncError::Passphrase { .. })));
}

#[test]
fn folders_of_others_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("photo.jpg"), b"x").unwrap();
    assert!(matches!(SyncFolder::open(folder.path(), None, false), Err(SyncError::OtherFolder { .. })));
    assert_eq!(files(folder.path()).len(), 1);
    // The only file of a folder, whether the folder is new, the reason.
    let table = [
        (".git", false, "a repository"),
        (".bashrc", false, "a home folder"),
        (".env", false, "a project"),
        (".DS_Store", true, "macOS"),
        (".stfolder", true, "Syncthing"),
        ("thumbs.db", true, "Windows, which does not tell cases apart"),
        ("Desktop.ini", true, "Windows"),
    ];
    for (name, is_new, why) in table {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), b"x").unwrap();
        let opened = SyncFolder::open(folder.path(), None, false);
        assert_eq!(opened.is_ok(), is_new, "{why}: {name}");
        assert!(is_new || matches!(opened, Err(SyncError::OtherFolder { .. })), "{why}: {name}");
    }
    let table = [
        ("{}", "another file of this name"),
        ("{\"version\":1,\"salt\":\"%\",\"check\":\"%\"}", "a damaged salt"),
        ("not JSON", "something else"),
    ];
    for (content, why) in table {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("unforget-sync.json"), content).unwrap();
        assert!(
            matches!(SyncFolder::open(folder.path(), Some("x"), false), Err(SyncError::OtherFolder { .. })),
            "{why}"
        );
    }
    fs::write(folder.path().join("unforget-sync.json"), "{\"version\":9}").unwrap();
    let newer = SyncFolder::open(folder.path(), None, false);
    assert!(matches!(newer, Err(SyncError::NewerFolder { version: 9, known: 1, .. })));
}

/// Every file is damaged or taken away in turn: nothing wrong is stored, the other session arrives, and what was damaged is mended
/// once the file is removed.
#[test]
fn damage_is_named_and_mended() {
    for passphrase in [None, Some("nine blue herons")] {
        let made = tempfile::tempdir().unwrap();
        let ann = Machine::new();
        ann.has(&session("s1", &words(30, "heron")));
        ann.has(&session("s2", &words(3, "bakery")));
        ann.put(&mut SyncFolder::open(made.path(), passphrase, false).unwrap());
        let all = with_ending(&files(made.path()), "part").len() * 2;
        assert_eq!(all, 4);
        for file in files(&made.path().join("histories")) {
            let whole = fs::read(&file).unwrap();
            let mut flipped = whole.clone();
            let middle = flipped.len() / 2;
            flipped[middle] ^= 0x10;
            for content in [Some(flipped), Some(whole[..whole.len() / 2].to_vec()), Some(Vec::new()), None] {
                match &content {
                    Some(content) => fs::write(&file, content).unwrap(),
                    None => fs::remove_file(&file).unwrap(),
                }
                let bea = Machine::new();
                let mut shared = SyncFolder::open(made.path(), passphrase, false).unwrap();
                let (taken, told) = bea.take(&mut shared, false);
                let named = taken.left as usize + shared.damaged().len();
                let is_lost_tip = content.is_none() && file.extension().unwrap() == "tip";
                assert!(named == 1 || is_lost_tip || taken.entries == 35, "{}: {told:?}", file.display());
                for (key, chain) in bea.tips() {
                    let known = ann.tips().contains(&(key, chain));
                    assert!(known, "{}: only what was said is stored", file.display());
                }
                bea.is_sound();
                fs::remove_file(&file).ok();
                ann.put(&mut SyncFolder::open(made.path(), passphrase, false).unwrap());
                bea.take(&mut SyncFolder::open(made.path(), passphrase, false).unwrap(), false);
                assert_eq!(bea.tips(), ann.tips(), "{}", file.display());
            }
        }
    }
}

#[test]
fn a_trial_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (ann, bea) = (Machine::new(), Machine::new());
    ann.has(&session("s1", &words(30, "heron")));
    let mut trial = SyncFolder::open(folder.path(), None, true).unwrap();
    let put = trial.put(&mut LocalHistory::new(&ann.engine), &mut |_| ()).unwrap();
    assert_eq!(put.conversations, 1);
    assert_eq!(files(folder.path()).len(), 0);
    let mut shared = SyncFolder::open(folder.path(), None, false).unwrap();
    ann.put(&mut shared);
    let mut told = Vec::new();
    let taken = unforget_sync::take(&bea.engine, &mut shared, None, true, &mut |event| {
        told.push(format!("{event:?}"));
    });
    assert_eq!(taken.unwrap().entries, 0);
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(bea.tips().is_empty());
}

#[test]
fn lanes_stay_on_their_machine() {
    let ann = Machine::new();
    let key = unforget_core::id::ConversationKey("journal:gateway/default/4a36".to_owned());
    let new =
        unforget_store::NewConversation { key, format: "journal".to_owned(), title: None, parent: None };
    ann.engine.store().ensure(&new).unwrap();
    let mut local = LocalHistory::new(&ann.engine);
    assert_eq!(local.lanes().unwrap(), 1);
    assert!(local.tips().unwrap().is_empty());
}
