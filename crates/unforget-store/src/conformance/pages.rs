//! Checks of lists that are read in pages.

use std::fmt::Debug;

use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::pin::{Pin, PinFile, PinId, PinState};

use super::tape::{Tape, opening, snapshot, summary};
use crate::port::{
    Name, NamedEntry, NewJob, Page, PageRow, PinFileRow, PinRow, Recipe, Result, Segment, Store, SummaryKey,
    SummaryRow, WriteLatency,
};

/// All rows of a list, after checking that pages of any size lead through it in order.
pub(super) fn paged<R: PageRow + PartialEq + Debug>(read: impl Fn(Page<R::Key>) -> Result<Vec<R>>) -> Vec<R> {
    let whole = read(Page::first(usize::MAX)).unwrap();
    assert!(whole.is_sorted_by(|one, next| one.page_key() < next.page_key()), "in order of keys: {whole:?}");
    for limit in [1, 2, whole.len().max(1)] {
        let mut all: Vec<R> = Vec::new();
        loop {
            let after = all.last().map(R::page_key);
            let page = read(Page { after, limit }).unwrap();
            assert!(page.len() <= limit, "{page:?}");
            let is_last = page.len() < limit;
            all.extend(page);
            if is_last {
                break;
            }
        }
        assert_eq!(all, whole, "pages of {limit}");
    }
    whole
}

/// Pages of every list hold the rows of their conversation only, although other conversations have rows too.
pub(super) fn lists_in_pages(store: &dyn Store) {
    let tapes = ["t:1", "t:2", "t:3"].map(|key| Tape::new(store, key));
    for tape in &tapes {
        fill(store, tape);
    }
    assert_eq!(paged(|page| store.conversations(page)).len(), 3);
    for Tape { id, .. } in &tapes {
        let id = *id;
        assert_eq!(paged(|page| store.generations(id, page)).len(), 2);
        let snapshots = paged(|page| store.snapshots(id, page));
        assert_eq!(snapshots.len(), 3);
        assert_eq!(store.latest_snapshot(id).unwrap().as_ref(), snapshots.last());
        assert_eq!(paged(|page| store.filters(id, page)).len(), 6, "three chunks, three blobs");
        let segments = paged(|page| store.segments(id, page));
        let firsts: Vec<_> = segments.iter().map(|head| (head.number, head.seqs.start)).collect();
        assert_eq!(firsts, [(0, 2), (1, 0), (2, 1)], "by number");
        let summaries = paged(|page| store.summaries(id, page));
        assert_eq!(store.count_summaries(id).unwrap(), summaries.len() as u64);
        assert_eq!(summaries.len(), 6);
        let rewrites: Vec<SummaryKey> = paged(|page| store.rewrites(id, page));
        assert!(rewrites.iter().all(|key| summaries.iter().any(|row| row.key == *key)));
        assert_eq!(rewrites.len(), 6);
        assert_eq!(store.said(id).unwrap().pins.len(), 3);
        assert_eq!(store.said(id).unwrap().files.len(), 3);
        assert_eq!(paged(|page| store.recipes(id, page)).len(), 3);
        assert_eq!(paged(|page| store.jobs(id, page)).len(), 7);
        assert_eq!(paged(|page| store.names(id, page)).len(), 5);
    }
    assert_eq!(paged(|page| store.due(Timestamp(1), page)), tapes.map(|tape| tape.id), "by id");
    assert_eq!(paged(|page| store.due(Timestamp(0), page)), [] as [ConversationId; 0]);
}

fn fill(store: &dyn Store, tape: &Tape<'_>) {
    let id = tape.id;
    let large = ["####a", "#####b", "######c"];
    for (number, body) in large.iter().enumerate() {
        let target = if number < 2 { opening(None) } else { tape.end(1) };
        let mut append = tape.plan(target, &[body.as_bytes().to_vec()]);
        append.snapshot = Some(snapshot(1, "a"));
        store.append(append).unwrap();
    }
    for first in [2, 0, 1] {
        let segment = Segment { seqs: first..first + 1, header: vec![first as u8], blocks: Vec::new() };
        store.put_segment(id, &segment, &[]).unwrap();
    }
    // Rows that differ in one part of the key each.
    let one = summary(1, 1);
    let with = |key: SummaryKey, last: u64| SummaryRow { key, ..summary(1, last) };
    let end = Digest::of(b"z");
    let rows = [
        one.clone(),
        with(SummaryKey { thread: Thread(7), ..one.key }, 1),
        with(SummaryKey { grain: 9, ..one.key }, 1),
        with(SummaryKey { level: 3, ..one.key }, 1),
        with(SummaryKey { end, ..one.key }, 1),
        with(SummaryKey { end, level: 5, ..one.key }, 2),
    ];
    store.put_summaries(id, &rows, None).unwrap();
    let jobs = rows.each_ref().map(|row| NewJob { key: row.key, span: row.span });
    store.put_jobs(id, &jobs, Timestamp(0)).unwrap();
    store.put_rewrites(id, &rows, Timestamp(0)).unwrap();
    let waiting = NewJob { key: summary(0, 2).key, span: summary(0, 2).span };
    store.put_jobs(id, &[waiting], Timestamp(1)).unwrap();
    let pin = |number: u64| PinRow {
        pin: Pin {
            id: PinId(number),
            text: "words".into(),
            source: None,
            state: PinState::Active,
            order: 9 - number,
        },
        made: Timestamp(1),
        changed: Timestamp(1),
    };
    let file = |place: u64| PinFileRow {
        file: PinFile {
            place,
            path: "a.md".into(),
            pin: PinId(place),
            digest: Digest::of(b"a"),
            trouble: None,
        },
        read: Timestamp(1),
    };
    store.put_pins(id, &[], &[pin(3), pin(1), pin(2)], &[file(2), file(1), file(3)]).unwrap();
    let named = |name: u8, seq: u64| NamedEntry::new(Name([name; 16]), Seq(seq));
    let names = [named(0, 0), named(255, 1), named(7, 2), named(7, 0), named(7, 1)];
    store.put_names(id, &names, WriteLatency::Now).unwrap();
    for context in 0..3 {
        let recipe = Recipe { number: 0, context: [context; 16], state: Vec::new(), body: vec![context] };
        store.put_recipe(id, &recipe, 9, None).unwrap();
    }
}
