//! Checks of what is derived from the log: segments, summaries, contexts.

use unforget_core::id::{Generation, Thread};

use super::tape::{Tape, opening, summary};
use crate::error::StoreError;
use crate::port::{ContextRow, Segment, Store, Target};

pub(super) fn segments_replace(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let make = |seqs: std::ops::Range<u64>| Segment {
        header: vec![seqs.start as u8],
        blocks: vec![vec![seqs.end as u8], vec![], vec![9; 9000]],
        seqs,
    };
    let first = store.put_segment(tape.id, &make(10..20), &[]).unwrap();
    let second = store.put_segment(tape.id, &make(0..10), &[]).unwrap();
    assert_eq!((first, second), (0, 1));
    let heads = |store: &dyn Store| -> Vec<_> {
        store
            .segments(tape.id)
            .unwrap()
            .into_iter()
            .map(|head| (head.number, head.seqs, head.header))
            .collect()
    };
    assert_eq!(heads(store), [(1, 0..10, vec![0]), (0, 10..20, vec![10])]);
    let merged = store.put_segment(tape.id, &make(0..20), &[0, 1, 55]).unwrap();
    assert_eq!(heads(store), [(merged, 0..20, vec![0])]);
    assert_eq!(store.block(tape.id, merged, 0).unwrap(), [20]);
    assert_eq!(store.block(tape.id, merged, 1).unwrap(), [] as [u8; 0]);
    assert_eq!(store.block(tape.id, merged, 2).unwrap().len(), 9000);
    for (segment, block) in [(merged, 3), (0, 0), (77, 0)] {
        assert!(matches!(store.block(tape.id, segment, block), Err(StoreError::Missing { .. })));
    }
    store.drop_segments(tape.id).unwrap();
    assert!(store.segments(tape.id).unwrap().is_empty());
    assert_eq!(store.put_segment(tape.id, &make(0..1), &[]).unwrap(), 3, "numbers are never used twice");
    assert_eq!(store.conversation(tape.id).unwrap().revision, 0, "derived things do not count");
}

pub(super) fn summaries_stay(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c", "d"]);
    let (leaf, merged) = (summary(2, 2), summary(0, 3));
    store.put_summaries(tape.id, &[merged.clone(), leaf.clone()], None).unwrap();
    let other = crate::port::SummaryRow { body: "other".into(), ..leaf.clone() };
    store.put_summaries(tape.id, &[other], None).unwrap();
    assert_eq!(store.summary(tape.id, &leaf.key).unwrap(), Some(leaf.clone()), "the first stays");
    assert_eq!(store.summaries(tape.id).unwrap(), [merged, leaf.clone()], "by span");
    let unknown = crate::port::SummaryKey { grain: 7, ..leaf.key };
    assert_eq!(store.summary(tape.id, &unknown).unwrap(), None);
}

pub(super) fn contexts_kept(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let context = |budget, state: &[u8]| ContextRow { thread: Thread(2), budget, state: state.to_vec() };
    let mut append = tape.plan(opening(None), &[]);
    append.context = Some(context(5, b"one"));
    store.append(append).unwrap();
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"one")));
    store.put_summaries(tape.id, &[], Some(&context(5, b"two"))).unwrap();
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"two")));
    assert_eq!(store.context(tape.id, Thread(1), 5).unwrap(), None);
    let mut stale = tape.plan(Target::Extend(Generation(0), 3), &[]);
    stale.context = Some(context(5, b"three"));
    assert!(store.append(stale).is_err());
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"two")), "one transaction");
}
