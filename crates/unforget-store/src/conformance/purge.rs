//! Checks of the only deletion.

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::Thread;

use super::tape::{Tape, entry, opening, snapshot, summary};
use crate::pack::{Packed, pack};
use crate::port::{Append, ContextRow, FilterOf, NewEntry, Segment, Store, read_all};

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

/// A batch with tombstones, as another store left them: at its ends and between entries of one chunk.
pub(super) fn tombstones_arrive(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let bodies = ["gone 0", "kept 1 ####", "gone 2 ####", "kept 3", "gone 4"];
    let mut chain = Chain::root();
    let mut entries: Vec<NewEntry> = bodies.iter().map(|body| entry(body.as_bytes(), &mut chain)).collect();
    let whole: Vec<_> = entries.iter().map(|entry| entry.row.clone()).collect();
    for gone in entries.iter_mut().step_by(2) {
        gone.row.purged = true;
    }
    let packed = pack(entries, &|bytes| Digest::of(bytes).0.to_vec(), store.dictionary().as_deref());
    let append = Append { packed, ..tape.plan(opening(None), &[]) };
    store.append(append).unwrap();
    assert_eq!(tape.read(0, 9), ["", "kept 1 ####", "", "kept 3", ""]);
    for (row, sent) in store.rows(tape.id, 0..9).unwrap().iter().zip(&whole) {
        assert_eq!((row.purged, row.chain), (row.seq.0 % 2 == 0, sent.chain), "{row:?}");
    }
    let filters = read_all(|page| store.filters(tape.id, page)).unwrap();
    let FilterOf::Chunk(chunk) = filters[0].of else { panic!("{filters:?}") };
    let seqs: Vec<u64> = store.chunk(tape.id, chunk).unwrap().entries.iter().map(|(seq, _)| seq.0).collect();
    assert_eq!((seqs, filters.len()), (vec![1, 3], 2), "one chunk of two entries, one blob");
    let before = store.conversation(tape.id).unwrap();
    assert_eq!(before.tokens, whole.iter().map(|row| row.tokens.expected).sum::<u64>());
    let mut counting = tape.plan(tape.end(0), &[]);
    counting.packed = Packed::of_purged(20);
    store.append(counting).unwrap();
    let after = store.conversation(tape.id).unwrap();
    assert_eq!((after.raw_bytes, after.entries), (before.raw_bytes + 20, 5), "bytes that nobody has");
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
    assert_eq!(store.purge(tape.id, 0..2).unwrap().entries, 1, "tombstones do not count again");
    assert_eq!(tape.read(0, 9), ["", "", "", "kept 3", ""]);
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
}
