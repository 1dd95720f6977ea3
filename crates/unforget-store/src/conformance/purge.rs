//! Checks of the only deletion.

use unforget_core::digest::Digest;
use unforget_core::id::Thread;

use super::tape::{Tape, opening, snapshot, summary};
use crate::port::{ContextRow, FilterOf, Segment, Store, read_all};

pub(super) fn purge_takes(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(
        None,
        &["keep 0", "secret 1 #####", "secret 2 ******", "keep 3 #####", "gone $$ ######", "keep 5"],
    );
    let segment = |seqs| Segment { seqs, header: vec![], blocks: vec![vec![1]] };
    store.put_segment(tape.id, &segment(0..3), &[]).unwrap();
    store.put_segment(tape.id, &segment(5..6), &[]).unwrap();
    let context = ContextRow { thread: Thread(0), budget: 1, state: b"secret".to_vec() };
    store.put_summaries(tape.id, &[summary(0, 1), summary(3, 3), summary(5, 5)], Some(&context)).unwrap();
    let before = store.rows(tape.id, 0..9).unwrap();
    let sizes: Vec<u64> = store
        .raw(tape.id, 0..9)
        .unwrap()
        .iter()
        .map(|raw| (raw.lead.len() + raw.body.len()) as u64)
        .collect();
    let plan = store.purge_plan(tape.id, 1..3).unwrap();
    let revision = store.conversation(tape.id).unwrap().revision;
    let done = store.purge(tape.id, 1..3).unwrap();
    assert_eq!(plan, done);
    assert_eq!((done.entries, done.bytes, done.blobs, done.summaries), (2, sizes[1] + sizes[2], 0, 1));
    assert_eq!(store.purge(tape.id, 4..5).unwrap().blobs, 1, "a blob that nobody else holds");
    assert_eq!(tape.read(0, 9), ["keep 0", "", "", "keep 3 #####", "", "keep 5"]);
    let after = store.rows(tape.id, 0..9).unwrap();
    for (before, after) in before.into_iter().zip(after) {
        let purged = [1, 2, 4].contains(&before.seq.0);
        assert_eq!(after, crate::port::EntryRow { purged, ..before }, "rows stay as tombstones");
    }
    assert_eq!(read_all(|page| store.segments(tape.id, page)).unwrap().len(), 1);
    assert_eq!(read_all(|page| store.summaries(tape.id, page)).unwrap().len(), 2);
    assert_eq!(store.context(tape.id, Thread(0), 1).unwrap(), None);
    assert_eq!(store.conversation(tape.id).unwrap().revision, revision + 2);
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty(), "the chain verifies around the tombstones");
    for filter in read_all(|page| store.filters(tape.id, page)).unwrap() {
        if let FilterOf::Chunk(number) = filter.of {
            let chunk = store.chunk(tape.id, number).unwrap();
            let text = String::from_utf8_lossy(&chunk.bytes).into_owned();
            assert!(!text.contains("secret") && !text.contains("gone"));
            assert!(filter.bytes.is_empty() || filter.bytes == Digest::of(&chunk.bytes).0);
        }
    }
    tape.append(tape.end(0), &["after"]);
    assert_eq!(tape.read(0, 9).last().map(String::as_str), Some("after"));
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty());
}

pub(super) fn purge_twice(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let mut append = tape.plan(opening(None), &[b"secret".to_vec()]);
    append.snapshot = Some(snapshot(1, "a"));
    store.append(append).unwrap();
    tape.append(tape.end(0), &["{\"half a line\"}"]);
    assert_eq!(store.purge(tape.id, 0..2).unwrap().entries, 2);
    assert!(
        read_all(|page| store.snapshots(tape.id, page)).unwrap()[0].trailer.is_empty(),
        "the half line was the second entry"
    );
    let once = super::observe(store);
    assert_eq!(store.purge(tape.id, 0..2).unwrap(), crate::port::Purged::default());
    assert_eq!(super::observe(store), once);
    assert_eq!(store.purge(tape.id, 0..0).unwrap(), crate::port::Purged::default());
}
