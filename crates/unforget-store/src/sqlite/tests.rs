//! The conformance suite on SQLite, and equality with the memory store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod damage;
mod durability;
mod files;
mod seals;

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use unforget_core::digest::Digest;
use unforget_core::id::Timestamp;

use super::{OpenOptions, SqliteStore};

use crate::conformance::{Step, Tape, check_all, observe, play, steps, summary};
use crate::memory::MemoryStore;
use crate::port::{JobEnd, JobState, Jobs as _, Log as _, NewJob, Upkeep as _, read_all};
use crate::watched::WatchedStore;

/// Opens a store with the filter of the suite's tapes.
fn open(folder: &Path) -> SqliteStore {
    SqliteStore::open(folder.join("store.sqlite"), &options()).unwrap()
}

fn options() -> OpenOptions {
    OpenOptions { filter: Some(Arc::new(|bytes| Digest::of(bytes).0.to_vec())), ..OpenOptions::default() }
}

#[test]
fn sqlite_keeps_the_contract() {
    let folder = tempfile::tempdir().unwrap();
    let number = std::cell::Cell::new(0);
    check_all(&|| {
        number.set(number.get() + 1);
        let path = folder.path().join(format!("{}.sqlite", number.get()));
        Box::new(SqliteStore::open(path, &options()).unwrap())
    });
}

/// A layer passes every method on.
#[test]
fn layers_keep_the_contract() {
    check_all(&|| Box::new(WatchedStore::new(Arc::new(MemoryStore::new()), Arc::new(|_, _| {}))));
}

#[test]
fn memory_keeps_the_contract() {
    check_all(&|| Box::new(MemoryStore::new()));
}

/// The holder of a lease is gone when the store has another owner: the job is due at once, and a late end of the lease
/// is ignored.
#[test]
fn i19_leases_end_with_their_owner() {
    let folder = tempfile::tempdir().unwrap();
    let (one, at) = (summary(1, 1), Timestamp);
    let store = open(folder.path());
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["a", "b", "c"]);
    let id = tape.id;
    store.put_jobs(id, &[NewJob { key: one.key, span: one.span }], at(10)).unwrap();
    let dead = store.take_job(id, at(10), at(900), false).unwrap().unwrap();
    drop(store);
    let reader = SqliteStore::open_reader(folder.path().join("store.sqlite"), &options()).unwrap();
    assert_eq!(
        read_all(|page| reader.jobs(id, page)).unwrap()[0].state,
        JobState::Leased { until: at(900) },
        "readers own nothing"
    );
    drop(reader);
    let store = open(folder.path());
    assert_eq!(read_all(|page| store.due(at(11), page)).unwrap(), [id]);
    let end = JobEnd::Done(Box::new(one.clone()));
    assert!(!store.end_job(id, dead.lease(), &end, at(11)).unwrap());
    let again = store.take_job(id, at(11), at(900), false).unwrap().unwrap();
    assert_eq!((again.key, again.attempts), (one.key, 2), "the attempt of the one who is gone counts");
}

/// A number from the environment, for campaigns.
fn told(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// Noise of a number. `UNFORGET_TEST_SEED` gives campaigns other noise each time.
fn noise(of: &str) -> [u8; 32] {
    let seed = told("UNFORGET_TEST_SEED", 0);
    *blake3::hash(format!("{seed} {of}").as_bytes()).as_bytes()
}

/// `PROPTEST_CASES`, otherwise few: each case opens a database.
fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(24),
    }
}

proptest! {
    #![proptest_config(cases())]

    /// For any steps, both stores give equal answers and show equal content, even after closing and opening.
    #[test]
    fn sqlite_equals_memory(steps in steps(24)) {
        let folder = tempfile::tempdir().unwrap();
        let memory = MemoryStore::new();
        let mut sqlite = Some(open(folder.path()));
        for step in &steps {
            if matches!(step, Step::Reopen) {
                drop(sqlite.take());
                sqlite = Some(open(folder.path()));
            }
            let store = sqlite.as_ref().unwrap();
            prop_assert_eq!(play(store, step), play(&memory, step), "{:?}", step);
        }
        drop(sqlite.take());
        let store = open(folder.path());
        // SQLite makes new filters for rewritten chunks; memory leaves them empty.
        let purged = steps.iter().any(|step| matches!(step, Step::Purge(..)));
        if !purged {
            prop_assert_eq!(observe(&store), observe(&memory));
        }
        for conversation in read_all(|page| store.conversations(page)).unwrap() {
            prop_assert_eq!(store.rows(conversation.id, 0..u64::MAX).unwrap(), memory.rows(conversation.id, 0..u64::MAX).unwrap());
            prop_assert_eq!(store.raw(conversation.id, 0..u64::MAX).unwrap(), memory.raw(conversation.id, 0..u64::MAX).unwrap());
            prop_assert_eq!(read_all(|page| store.snapshots(conversation.id, page)).unwrap(), read_all(|page| memory.snapshots(conversation.id, page)).unwrap());
        }
        prop_assert_eq!(store.verify(&mut |_, _| {}).unwrap(), vec![]);
        prop_assert_eq!(memory.verify(&mut |_, _| {}).unwrap(), vec![]);
    }
}
