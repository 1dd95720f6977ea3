//! Every real transcript is imported once and exported byte for byte.
use std::fs;
use std::path::Path;

use crate::common::{data, engine, exported, files_below};
use unforget_engine::import::Found;

#[test]
fn f034_every_file_round_trips_and_a_second_import_adds_nothing() {
    let Some(data) = data() else { return };
    let (engine, _folder) = engine();
    let mut imported = 0;
    for file in files_below(&data) {
        let done = match Found::of(engine.import_file(&file, &mut |_| ()), false) {
            Found::Imported(done) => done,
            Found::Skipped(_) => continue,
            Found::Failed(error) => panic!("{}: {error:?}", file.display()),
        };
        imported += 1;
        assert!(exported(&engine, &done.conversation) == fs::read(&file).unwrap(), "{}", file.display());
        let again = engine.import_file_anyway(&file, &mut |_| ()).unwrap();
        assert_eq!((again.plan.name(), again.added), ("up-to-date", 0), "{}", file.display());
        assert_eq!(again.snapshot, done.snapshot, "{}", file.display());
    }
    assert!(imported > 90, "only {imported} files were transcripts");
}

#[test]
fn f035_order_and_repetition_do_not_matter() {
    let Some(data) = data() else { return };
    let files = files_below(&data);
    let (forward, _folder_a) = engine();
    let (backward, _folder_b) = engine();
    for file in &files {
        forward.import_file(file, &mut |_| ()).ok();
    }
    for file in files.iter().rev().chain(&files) {
        backward.import_file(file, &mut |_| ()).ok();
    }
    assert_eq!(forward.digest().unwrap(), backward.digest().unwrap());
}

#[test]
fn f095_real_save_points_end_in_the_same_store() {
    let Some(data) = data() else { return };
    let text = fs::read_to_string(data.join("growth-series/series.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut replayed = 0;
    for one in all["series"].as_array().unwrap() {
        let name = one["file"].as_str().unwrap().replace("/dev/", "/");
        let Some(file) = Some(data.join(&name)).filter(|file| file.exists()) else { continue };
        let points = one["byte_prefix_checkpoints"].as_array().unwrap();
        replay_saves(&file, points.iter().map(|point| point["bytes"].as_u64().unwrap() as usize));
        replayed += 1;
    }
    assert!(replayed >= 5, "only {replayed} series were found");
}

/// Imports a copy of `file` at each of its save points, and compares the result with one import of the whole file.
fn replay_saves(file: &Path, points: impl Iterator<Item = usize>) {
    let whole = fs::read(file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("session.jsonl");
    let (grown, _folder_a) = engine();
    let (once, _folder_b) = engine();
    for end in points.map(|end| end.min(whole.len())).chain([whole.len()]) {
        fs::write(&copy, &whole[..end]).unwrap();
        let done = grown.import_file_anyway(&copy, &mut |_| ()).unwrap();
        assert!(exported(&grown, &done.conversation) == whole[..end], "{} at {end}", file.display());
    }
    once.import_file(file, &mut |_| ()).unwrap();
    assert_eq!(grown.digest().unwrap(), once.digest().unwrap(), "{}", file.display());
}

#[test]
fn f095_whole_saves_that_were_rewritten_shorter() {
    let Some(data) = data() else { return };
    let files = files_below(&data.join("growth-series/4fec7ea0"));
    let (forward, _folder_a) = engine();
    let (backward, _folder_b) = engine();
    for file in &files {
        let done = forward.import_file(file, &mut |_| ()).unwrap();
        assert!(exported(&forward, &done.conversation) == fs::read(file).unwrap(), "{}", file.display());
    }
    for file in files.iter().rev().chain(&files) {
        backward.import_file(file, &mut |_| ()).unwrap();
    }
    assert_eq!(forward.digest().unwrap(), backward.digest().unwrap());
}
