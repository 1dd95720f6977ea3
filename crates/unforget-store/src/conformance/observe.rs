//! Shows the whole observable content of a store as text: equal texts mean equal stores.

use std::fmt::Write;

use super::pages::paged;
use crate::port::{FilterOf, Store};

/// The content of a store, by every reading method.
pub fn observe(store: &dyn Store) -> String {
    let mut text = String::new();
    for conversation in paged(|page| store.conversations(page)) {
        let id = conversation.id;
        writeln!(text, "{conversation:?}").unwrap();
        assert_eq!(store.find(&conversation.key).unwrap().as_ref(), Some(&conversation));
        assert_eq!(store.conversation(id).unwrap(), conversation);
        for generation in paged(|page| store.generations(id, page)) {
            let path = store.path(id, generation.number, u64::MAX).unwrap();
            let chains = store.chains(id, generation.number, 0..u64::MAX).unwrap();
            let middle = generation.length / 3..generation.length / 2;
            let some = store.chains(id, generation.number, middle.clone()).unwrap();
            assert_eq!(some, chains[middle.start as usize..middle.end as usize]);
            assert_eq!(path.iter().map(|run| run.end - run.start).sum::<u64>(), generation.length);
            writeln!(text, "{generation:?} {path:?} {chains:?}").unwrap();
        }
        let snapshots = paged(|page| store.snapshots(id, page));
        assert_eq!(store.latest_snapshot(id).unwrap().as_ref(), snapshots.last());
        writeln!(text, "{snapshots:?}").unwrap();
        for row in store.rows(id, 0..u64::MAX).unwrap() {
            assert_eq!(store.rows(id, row.seq.0..row.seq.0 + 1).unwrap(), std::slice::from_ref(&row));
            let found = store.by_chain(id, row.chain).unwrap().unwrap();
            assert!(found.seq <= row.seq && found.chain == row.chain);
            writeln!(text, "{row:?} {:?}", store.raw(id, row.seq.0..row.seq.0 + 1).unwrap()).unwrap();
        }
        for filter in paged(|page| store.filters(id, page)) {
            match filter.of {
                FilterOf::Chunk(chunk) => writeln!(text, "{filter:?} {:?}", store.chunk(id, chunk).unwrap()),
                FilterOf::Blob(digest) => writeln!(text, "{filter:?} {:?}", store.blob(id, digest).unwrap()),
            }
            .unwrap();
        }
        for segment in paged(|page| store.segments(id, page)) {
            let first = store.block(id, segment.number, 0);
            writeln!(text, "{segment:?} {:?}", first.ok()).unwrap();
        }
        for pin in store.said(id).unwrap().pins {
            writeln!(text, "{pin:?}").unwrap();
        }
        for file in store.said(id).unwrap().files {
            writeln!(text, "{file:?}").unwrap();
        }
        for summary in paged(|page| store.summaries(id, page)) {
            assert_eq!(store.summary(id, &summary.key).unwrap().as_ref(), Some(&summary));
            writeln!(text, "{summary:?}").unwrap();
        }
        for budget in 0..4 {
            writeln!(text, "{:?}", store.context(id, unforget_core::id::Thread(0), budget).unwrap()).unwrap();
        }
    }
    for path in ["a", "b", "c"] {
        writeln!(text, "{path}: {:?}", store.snapshot_of_path(path).unwrap()).unwrap();
    }
    text
}
