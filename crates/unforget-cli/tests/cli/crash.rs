//! Kills at random moments: the next run continues and ends with an equal store.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use unforget_store::read_all;

use crate::support::{Place, lines, messages, text};
use unforget_engine::Engine;

const EXAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/long-session.jsonl");

/// Kills per sweep: `UNFORGET_KILLS`, or few enough for every build.
fn kills() -> u64 {
    std::env::var("UNFORGET_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(12)
}

fn unforget(db: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin!("unforget"));
    command.arg("--db").arg(db).args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Starts the command repeatedly, killing it later and later, until it ends by itself; then until there were `kills`
/// kills. Returns their number.
fn sweep(db: &Path, arguments: &[&str]) -> u64 {
    let begun = Instant::now();
    let whole = tempfile::tempdir().unwrap();
    assert!(unforget(&whole.path().join("t.sqlite"), arguments).status().unwrap().success());
    let length = begun.elapsed();
    let mut killed = 0;
    for n in 0..kills() {
        let mut child = unforget(db, arguments).spawn().unwrap();
        // A fraction of the whole run; the fractions visit every part of it, in every sweep alike.
        let until = Instant::now() + length.mul_f64((n * 7919 % 1000) as f64 / 1000.0);
        while Instant::now() < until && child.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        killed += u64::from(child.kill().is_ok() && !child.wait().unwrap().success());
    }
    killed
}

/// * `kept` - of the transcript's bytes, and of those that the store exports: what has to be equal.
fn ends_the_same(arguments: &[&str], kept: fn(&[u8]) -> Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let (killed, whole) = (folder.path().join("killed.sqlite"), folder.path().join("whole.sqlite"));
    assert!(sweep(&killed, arguments) > 0, "nothing was killed");
    for db in [&killed, &whole] {
        assert!(unforget(db, arguments).status().unwrap().success(), "the run after the kills ends");
        assert!(unforget(db, &["verify"]).status().unwrap().success(), "I5, I21");
    }
    let digest = |db: &Path| Engine::open_reader(db).unwrap().digest().unwrap();
    assert_eq!(digest(&killed), digest(&whole), "I3");
    let engine = Engine::open_reader(&killed).unwrap();
    let conversation = read_all(|page| engine.store().conversations(page)).unwrap().pop().unwrap();
    let mut exported = Vec::new();
    engine.export(conversation.id, None, &mut exported).unwrap();
    assert!(kept(&exported) == kept(&std::fs::read(EXAMPLE).unwrap()), "I1");
}

#[test]
fn f044_a_killed_import_goes_on() {
    ends_the_same(&["import", EXAMPLE], lines);
}

#[test]
fn f015_a_killed_replay_goes_on() {
    ends_the_same(&["replay", EXAMPLE, "--window", "16k", "--no-validate"], messages);
}

/// A folder that a machine with the example has left its sessions in.
fn shared(folder: &Path) -> String {
    let share = folder.join("share").to_str().unwrap().to_owned();
    let db = folder.join("other.sqlite");
    for arguments in [&["import", EXAMPLE][..], &["sync", &share]] {
        assert!(unforget(&db, arguments).status().unwrap().success());
    }
    share
}

#[test]
fn killed_while_taking_from_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let share = shared(folder.path());
    ends_the_same(&["sync", &share], lines);
}

#[test]
fn killed_while_writing_to_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let (db, new) = (folder.path().join("killed.sqlite"), folder.path().join("new.sqlite"));
    let share = folder.path().join("share").to_str().unwrap().to_owned();
    assert!(unforget(&db, &["import", EXAMPLE]).status().unwrap().success());
    assert!(sweep(&db, &["sync", &share]) > 0, "nothing was killed");
    for db in [&db, &new] {
        assert!(unforget(db, &["sync", &share]).status().unwrap().success(), "the run after the kills ends");
    }
    let digest = |db: &Path| Engine::open_reader(db).unwrap().digest().unwrap();
    assert_eq!(digest(&db), digest(&new));
}

/// A person who interrupts an import is told that its entries are kept. Until all entries are stored, commands call the
/// conversation a part of its file.
#[cfg(unix)]
#[test]
fn f044_an_interrupted_import_tells_what_was_kept_and_goes_on() {
    let place = Place::new();
    let file = place.path("long.jsonl");
    let mut transcript = Vec::new();
    unforget_bench::write_workload(&mut transcript, 20_000, 7).unwrap();
    std::fs::write(&file, &transcript).unwrap();
    let db = place.path("store.sqlite");
    let mut child = unforget(&db, &["import", "long.jsonl"])
        .current_dir(place.path("."))
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let has_begun = || {
        let Ok(engine) = Engine::open_reader(&db) else { return false };
        read_all(|page| engine.store().conversations(page))
            .is_ok_and(|all| all.iter().any(|one| one.entries > 0))
    };
    while child.try_wait().unwrap().is_none() && !has_begun() {
        std::thread::yield_now();
    }
    let pid = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let told = child.wait_with_output().unwrap();
    let said = text(&told.stderr);
    assert_eq!(told.status.code(), Some(130), "{said}");
    assert!(
        said.contains("interrupted in long.jsonl") && said.contains("the same command goes on"),
        "{said}"
    );
    let list = place.json(&["list"], 0);
    let key = list[0]["conversation"].as_str().unwrap();
    assert_eq!(list[0]["unfinished"], true, "{list}");
    assert!(text(&place.run(&["list"], 0).stderr).contains("not read to its end"));
    assert!(text(&place.run(&["export", key, "-o", "part.jsonl"], 0).stderr).contains("not read to its end"));
    assert_eq!(place.json(&["verify"], 0)["unfinished"][0], key);
    assert!(place.json(&["doctor"], 1).to_string().contains("an import was interrupted"));
    place.run(&["import", "-q", "long.jsonl"], 0);
    assert_eq!(place.json(&["list"], 0)[0]["unfinished"], false);
    assert!(place.run(&["export", key], 0).stdout == transcript, "byte for byte");
}
