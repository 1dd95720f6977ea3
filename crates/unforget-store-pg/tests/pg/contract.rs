//! The suite that every store passes, and equality with the store in memory.

use proptest::prelude::*;
use unforget_store::conformance::{Step, check_all, observe, play, steps};
use unforget_store::{Log as _, MemoryStore, Upkeep as _, read_all};
use unforget_testkit::Postgres;

use super::{fresh, open};

#[test]
fn postgresql_keeps_the_contract() {
    let Some(server) = Postgres::shared() else { return };
    check_all(&|| Box::new(fresh(&server)));
}

/// `PROPTEST_CASES`, otherwise few: each case makes a database.
fn cases() -> ProptestConfig {
    match std::env::var_os("PROPTEST_CASES") {
        Some(_) => ProptestConfig::default(),
        None => ProptestConfig::with_cases(16),
    }
}

proptest! {
    #![proptest_config(cases())]

    /// For any steps, both stores give equal answers and show equal content, even after closing and opening.
    #[test]
    fn postgresql_equals_memory(steps in steps(24)) {
        let Some(server) = Postgres::shared() else { return Ok(()) };
        let address = server.database();
        let memory = MemoryStore::new();
        let mut store = open(&address);
        for step in &steps {
            if matches!(step, Step::Reopen) {
                store = open(&address);
            }
            prop_assert_eq!(play(&store, step), play(&memory, step), "{:?}", step);
        }
        let store = open(&address);
        // New filters are made for rewritten chunks; memory leaves them empty.
        if !steps.iter().any(|step| matches!(step, Step::Purge(..))) {
            prop_assert_eq!(observe(&store), observe(&memory));
        }
        for conversation in read_all(|page| store.conversations(page)).unwrap() {
            let id = conversation.id;
            prop_assert_eq!(store.rows(id, 0..u64::MAX).unwrap(), memory.rows(id, 0..u64::MAX).unwrap());
            prop_assert_eq!(store.raw(id, 0..u64::MAX).unwrap(), memory.raw(id, 0..u64::MAX).unwrap());
            prop_assert_eq!(read_all(|page| store.snapshots(id, page)).unwrap(), read_all(|page| memory.snapshots(id, page)).unwrap());
        }
        prop_assert_eq!(store.verify(&mut |_, _| {}).unwrap(), vec![]);
    }
}
