//! Kills at random moments: the next run continues and ends with an equal store.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;
use unforget_store::read_all;

use crate::support::{lines, messages};
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
