//! Checks of derived data: segments, summaries, contexts.

use unforget_core::digest::Digest;
use unforget_core::id::{Generation, Seq, Thread, Timestamp};
use unforget_core::pin::{PinId, PinState, Pins, Reading, Trouble};

use super::tape::{Tape, opening, summary};
use crate::error::StoreError;
use crate::port::{
    ContextRow, Conversation, DecisionRow, LabelRow, LaneLook, LaneRows, Name, NamedEntry, NewDecision,
    PinFileRow, PinRow, RaisedRow, Recipe, SayingRow, Segment, Store, THREAD_MAX, Target, VerdictRow,
    WriteLatency, read_all,
};

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
        let heads = read_all(|page| store.segments(tape.id, page)).unwrap();
        heads.into_iter().map(|head| (head.number, head.seqs, head.header)).collect()
    };
    assert_eq!(heads(store), [(0, 10..20, vec![10]), (1, 0..10, vec![0])]);
    let merged = store.put_segment(tape.id, &make(0..20), &[0, 1, 55]).unwrap();
    assert_eq!(heads(store), [(merged, 0..20, vec![0])]);
    assert_eq!(store.block(tape.id, merged, 0).unwrap(), [20]);
    assert_eq!(store.block(tape.id, merged, 1).unwrap(), [] as [u8; 0]);
    assert_eq!(store.block(tape.id, merged, 2).unwrap().len(), 9000);
    for (segment, block) in [(merged, 3), (0, 0), (77, 0)] {
        assert!(matches!(store.block(tape.id, segment, block), Err(StoreError::Missing { .. })));
    }
    store.drop_segments(tape.id).unwrap();
    assert!(read_all(|page| store.segments(tape.id, page)).unwrap().is_empty());
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
    assert_eq!(read_all(|page| store.summaries(tape.id, page)).unwrap(), [merged, leaf.clone()], "by span");
    let unknown = crate::port::SummaryKey { grain: 7, ..leaf.key };
    assert_eq!(store.summary(tape.id, &unknown).unwrap(), None);
}

pub(super) fn contexts_kept(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let context = |budget, state: &[u8]| ContextRow { thread: Thread(2), budget, state: state.to_vec() };
    let mut append = tape.plan(opening(None), &[]);
    append.contexts = vec![context(5, b"one"), context(6, b"beside")];
    store.append(append).unwrap();
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"one")));
    store.put_summaries(tape.id, &[], Some(&context(5, b"two"))).unwrap();
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"two")));
    assert_eq!(store.context(tape.id, Thread(1), 5).unwrap(), None);
    store.put_summaries(tape.id, &[], Some(&context(9, b"nine"))).unwrap();
    let other = ContextRow { thread: Thread(3), ..context(5, b"of another view") };
    store.put_summaries(tape.id, &[], Some(&other)).unwrap();
    let of_view = read_all(|page| store.contexts(tape.id, Thread(2), page)).unwrap();
    assert_eq!(of_view, [context(5, b"two"), context(6, b"beside"), context(9, b"nine")], "by budget");
    let page = crate::port::Page { after: Some(5), limit: 1 };
    assert_eq!(store.contexts(tape.id, Thread(2), page).unwrap(), [context(6, b"beside")]);
    assert!(store.contexts(tape.id, Thread(1), crate::port::Page::first(9)).unwrap().is_empty());
    let head = store.conversation(tape.id).unwrap();
    let look = |budget, names| LaneLook {
        conversation: tape.id,
        thread: Thread(2),
        budget,
        names,
        reads_said: false,
    };
    let looked = |looks: &[LaneLook<'_>]| store.lane_rows(looks).unwrap();
    let named = NamedEntry::new(Name([3; 16]), Seq(0));
    store.put_names(tape.id, &[named], WriteLatency::Now).unwrap();
    let conversation = Conversation { names: head.names + 1, ..head };
    let rows = |context, named| LaneRows { conversation: conversation.clone(), context, named, said: None };
    assert_eq!(looked(&[look(5, &[])]), [rows(Some(context(5, b"two")), vec![])]);
    let names = [Name([9; 16]), Name([3; 16])];
    assert_eq!(looked(&[look(7, &names)]), [rows(None, vec![named])]);
    let beside = Tape::new(store, "t:2");
    let of_beside = LaneLook { conversation: beside.id, ..look(5, &names) };
    let together = looked(&[of_beside, look(7, &names), look(5, &[])]);
    let of_beside = LaneRows {
        conversation: store.conversation(beside.id).unwrap(),
        ..LaneRows { context: None, named: vec![], ..rows(None, vec![]) }
    };
    assert_eq!(
        together,
        [of_beside, rows(None, vec![named]), rows(Some(context(5, b"two")), vec![])],
        "in the order of the looks"
    );
    assert_eq!(looked(&[]), []);
    let before_last = Thread(THREAD_MAX.0 - 1);
    let of_lane = ContextRow { thread: THREAD_MAX, ..context(1, b"of the lane") };
    let of_ledger = ContextRow { thread: before_last, ..context(1, b"of the ledger") };
    for row in [&of_lane, &of_ledger] {
        store.put_summaries(tape.id, &[], Some(row)).unwrap();
    }
    for row in [of_lane, of_ledger] {
        assert_eq!(
            store.context(tape.id, row.thread, 1).unwrap(),
            Some(row),
            "neither takes the other's place"
        );
    }
    let threads = read_all(|page| store.context_threads(tape.id, page)).unwrap();
    assert_eq!(threads, [Thread(2), Thread(3), before_last, THREAD_MAX]);
    let page = crate::port::Page { after: Some(Thread(2)), limit: 1 };
    assert_eq!(store.context_threads(tape.id, page).unwrap(), [Thread(3)]);
    let mut stale = tape.plan(Target::Extend(Generation(0), 3), &[]);
    stale.contexts = vec![context(5, b"three"), context(6, b"three")];
    assert!(store.append(stale).is_err());
    assert_eq!(store.context(tape.id, Thread(2), 5).unwrap(), Some(context(5, b"two")), "one transaction");
    assert_eq!(store.context(tape.id, Thread(2), 6).unwrap(), Some(context(6, b"beside")));
}

fn pin_rows(pins: &Pins, changed: i64) -> Vec<PinRow> {
    let row = |pin: &unforget_core::pin::Pin| PinRow {
        pin: pin.clone(),
        made: Timestamp(5),
        changed: Timestamp(changed),
    };
    pins.all().iter().map(row).collect()
}

pub(super) fn pins_compare_and_set(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c"]);
    assert_eq!(store.said(tape.id).unwrap().pins, []);
    let mut pins = Pins::default();
    pins.pin("never push\n  to main", Some(Seq(1))).unwrap();
    pins.pin("be brief", None).unwrap();
    let one = pin_rows(&pins, 5);
    store.put_pins(tape.id, &[], &one, &[]).unwrap();
    assert_eq!(store.said(tape.id).unwrap().pins, one, "verbatim");
    assert_eq!(store.said(other.id).unwrap().pins, [], "a pin belongs to its conversation");
    pins.supersede(PinId(2), "be very brief", Some(Seq(2))).unwrap();
    pins.pin("ask first", Some(Seq(2))).unwrap();
    pins.unpin(PinId(4)).unwrap();
    let two = pin_rows(&pins, 9);
    let stale = store.put_pins(tape.id, &[], &two, &[]);
    assert!(matches!(stale, Err(StoreError::PinsMoved { .. })), "{stale:?}");
    assert_eq!(store.said(tape.id).unwrap().pins, one, "nothing was written");
    store.put_pins(tape.id, &one, &two, &[]).unwrap();
    let stored = store.said(tape.id).unwrap().pins;
    assert_eq!(stored, two, "states, successors, sources, times");
    assert_eq!(Pins::restore(stored.into_iter().map(|row| row.pin).collect(), vec![]).unwrap(), pins);
    assert_eq!(store.conversation(tape.id).unwrap().revision, 1, "pins do not count");
    store.purge(tape.id, 1..2).unwrap();
    let first = &store.said(tape.id).unwrap().pins[0].pin;
    assert_eq!(
        (first.text.as_str(), first.state),
        (PinRow::PURGED, PinState::Retired),
        "words of purged entries"
    );
    assert_eq!(store.said(tape.id).unwrap().pins[1..], two[1..], "others stay");
}

fn file_rows(pins: &Pins, read: i64) -> Vec<PinFileRow> {
    pins.files().iter().map(|file| PinFileRow { file: file.clone(), read: Timestamp(read) }).collect()
}

pub(super) fn pin_files_by_place(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c"]);
    assert_eq!(store.said(tape.id).unwrap().files, []);
    let mut pins = Pins::default();
    pins.pin("be brief", Some(Seq(1))).unwrap();
    pins.pin_file("/w/CLAUDE.md", "never push\n", None).unwrap();
    let (one, files) = (pin_rows(&pins, 5), file_rows(&pins, 5));
    store.put_pins(tape.id, &[], &one, &files).unwrap();
    assert_eq!(
        (store.said(tape.id).unwrap().pins, store.said(tape.id).unwrap().files),
        (one.clone(), files.clone())
    );
    assert_eq!(store.said(other.id).unwrap().files, [], "a file belongs to its conversation");
    pins.follow("/w/CLAUDE.md", &Reading::Words("push on Fridays\n".to_owned())).unwrap();
    pins.pin_file("/w/MORE.md", "more", None).unwrap();
    let two = pin_rows(&pins, 9);
    let stale = store.put_pins(tape.id, &[], &two, &file_rows(&pins, 9));
    assert!(matches!(stale, Err(StoreError::PinsMoved { .. })), "{stale:?}");
    assert_eq!(store.said(tape.id).unwrap().files, files, "one transaction: nothing was written");
    store.put_pins(tape.id, &one, &two, &file_rows(&pins, 9)).unwrap();
    assert_eq!(store.said(tape.id).unwrap().files, file_rows(&pins, 9), "over those of the same places");
    for trouble in Trouble::ALL {
        pins.follow("/w/MORE.md", &Reading::Trouble(trouble));
        let changed = file_rows(&pins, 9).split_off(1);
        store.put_pins(tape.id, &two, &two, &changed).unwrap();
        assert_eq!(store.said(tape.id).unwrap().files, file_rows(&pins, 9), "{trouble:?}; others stay");
    }
    let stored = store.said(tape.id).unwrap().pins.into_iter().map(|row| row.pin).collect();
    let files = store.said(tape.id).unwrap().files;
    assert_eq!(Pins::restore(stored, files.iter().map(|row| row.file.clone()).collect()).unwrap(), pins);
    store.purge(tape.id, 0..3).unwrap();
    assert_eq!(store.said(tape.id).unwrap().files, files, "no entry has the words of a file");
    assert_eq!(store.said(tape.id).unwrap().pins[1..], two[1..], "nor takes them along");
}

pub(super) fn recipes_bounded(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b"]);
    let put = |context: u8, body: &[u8]| {
        let recipe =
            Recipe { number: 0, context: [context; 16], state: vec![context, 1], body: body.to_vec() };
        let row = DecisionRow {
            number: 0,
            seq: Seq(1),
            time: Timestamp(9),
            looked: "all".into(),
            decided: "calm".into(),
            why: String::new(),
        };
        store
            .put_recipe(tape.id, &recipe, 3, (context == 2).then_some(NewDecision { row: &row, keep: 2 }))
            .unwrap()
    };
    let numbers = [put(1, b"a"), put(1, b"b"), put(2, b"c"), put(2, b"d"), put(2, b"e")];
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let rows = read_all(|page| store.recipes(tape.id, page)).unwrap();
    let seen: Vec<_> = rows.iter().map(|row| (row.number, row.context[0], row.body.as_slice())).collect();
    assert_eq!(seen, [(3, 2, &b"c"[..]), (4, 2, b"d"), (5, 2, b"e")], "the newest stay");
    assert_eq!(store.recipe_state(tape.id, &[1; 16]).unwrap(), None, "a context goes with its last recipe");
    assert_eq!(store.recipe_state(tape.id, &[2; 16]).unwrap(), Some(vec![2, 1]));
    let decisions: Vec<_> = store.decisions(tape.id).unwrap().into_iter().map(|row| row.number).collect();
    assert_eq!(decisions, [2, 3], "decisions of turns, as many as are wanted");
    store.purge(tape.id, 0..1).unwrap();
    assert_eq!(read_all(|page| store.recipes(tape.id, page)).unwrap(), [], "purge takes them");
    assert_eq!(store.recipe_state(tape.id, &[2; 16]).unwrap(), None);
}

pub(super) fn verdicts_kept(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c"]);
    let verdict = |seq: u64, line: Option<&str>| VerdictRow {
        number: 0,
        seq: Seq(seq),
        line: line.map(str::to_owned),
        why: "measured again".to_owned(),
        instead: line.map(|_| "s:2".to_owned()),
        author: "ann".to_owned(),
        made: Timestamp(5),
        withdrawn: None,
    };
    let (whole, line) = (verdict(0, None), verdict(1, Some("it takes 3 s")));
    assert_eq!(store.put_verdict(tape.id, &whole).unwrap(), 1);
    assert_eq!(store.put_verdict(tape.id, &line).unwrap(), 2);
    let stored = |id| store.said(id).unwrap().verdicts;
    let (whole, mut line) = (VerdictRow { number: 1, ..whole }, VerdictRow { number: 2, ..line });
    assert_eq!(stored(tape.id), [whole.clone(), line.clone()], "verbatim");
    assert_eq!(stored(other.id), [], "a verdict belongs to its conversation");
    assert!(!store.withdraw_verdict(tape.id, 3, Timestamp(9)).unwrap(), "there is no such verdict");
    assert!(store.withdraw_verdict(tape.id, 2, Timestamp(9)).unwrap());
    assert!(!store.withdraw_verdict(tape.id, 2, Timestamp(10)).unwrap(), "taken back before");
    line.withdrawn = Some(Timestamp(9));
    assert_eq!(stored(tape.id), [whole, line.clone()]);
    store.purge(tape.id, 0..1).unwrap();
    assert_eq!(stored(tape.id), [line], "the verdict goes with its entry");
    let numbered = |number, seq| VerdictRow { number, ..verdict(seq, None) };
    assert_eq!(store.put_verdict(tape.id, &numbered(7, 1)).unwrap(), 7, "a greater number stays");
    assert_eq!(store.put_verdict(tape.id, &numbered(3, 2)).unwrap(), 8, "a smaller one becomes the next");
    assert_eq!(stored(tape.id)[1..], [numbered(7, 1), numbered(8, 2)]);
}

pub(super) fn raised_kept(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c", "d"]);
    let row = |number: u64, first: u64, last: u64| RaisedRow {
        number,
        span: (Seq(first), Seq(last)),
        author: "ann".to_owned(),
        made: Timestamp(5),
        withdrawn: None,
    };
    assert_eq!(store.put_raised(tape.id, &row(0, 0, 1)).unwrap(), 1);
    assert_eq!(store.put_raised(tape.id, &row(0, 1, 3)).unwrap(), 2);
    let stored = |id| store.said(id).unwrap().raised;
    assert_eq!(stored(tape.id), [row(1, 0, 1), row(2, 1, 3)]);
    assert_eq!(stored(other.id), [], "a span belongs to its conversation");
    assert!(!store.withdraw_raised(tape.id, 3, Timestamp(9)).unwrap(), "there is no such span");
    assert!(store.withdraw_raised(tape.id, 1, Timestamp(9)).unwrap());
    assert!(!store.withdraw_raised(tape.id, 1, Timestamp(10)).unwrap(), "taken back before");
    let first = RaisedRow { withdrawn: Some(Timestamp(9)), ..row(1, 0, 1) };
    assert_eq!(stored(tape.id), [first.clone(), row(2, 1, 3)]);
    assert!(first.stood_at(Timestamp(5)) && !first.stood_at(Timestamp(9)) && !first.stood_at(Timestamp(4)));
    store.purge(tape.id, 0..1).unwrap();
    assert_eq!(stored(tape.id), [first, row(2, 1, 3)], "an entry of each is left");
    store.purge(tape.id, 0..3).unwrap();
    assert_eq!(stored(tape.id), [row(2, 1, 3)], "a span goes with the last of its entries");
    assert_eq!(store.put_raised(tape.id, &row(5, 3, 3)).unwrap(), 5, "a greater number stays");
    assert_eq!(store.put_raised(tape.id, &row(1, 3, 3)).unwrap(), 6, "a smaller one becomes the next");
}

pub(super) fn sayings_kept(store: &dyn Store) {
    let (tape, other) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    tape.open(None, &["a", "b", "c", "d"]);
    let row = |number: u64, span: Option<(u64, u64)>, body: &str| SayingRow {
        number,
        digest: Digest::of(body.as_bytes()),
        span: span.map(|(first, last)| (Seq(first), Seq(last))),
        body: body.as_bytes().to_vec(),
    };
    let all = [
        row(1, None, "starred"),
        row(2, Some((1, 1)), "wrong"),
        row(3, Some((0, 3)), "put back \u{0}\u{1f980}"),
    ];
    assert_eq!(store.put_sayings(tape.id, all.get(..2).unwrap_or_default()).unwrap(), 2);
    assert_eq!(store.put_sayings(tape.id, &all).unwrap(), 1, "each once");
    assert_eq!(store.put_sayings(tape.id, &all).unwrap(), 0);
    let stored = |id| read_all(|page| store.sayings(id, page)).unwrap();
    assert_eq!(stored(tape.id), all, "verbatim, in the order of arrival");
    let page = crate::port::Page { after: Some(1), limit: 1 };
    assert_eq!(store.sayings(tape.id, page).unwrap().as_slice(), all.get(1..2).unwrap_or_default());
    assert_eq!(stored(other.id), [], "a saying belongs to its conversation");
    assert_eq!(store.put_sayings(other.id, &all).unwrap(), 3, "the digest names one of a conversation");
    assert_eq!(store.conversation(tape.id).unwrap().revision, 1, "sayings do not count");
    store.purge(tape.id, 1..2).unwrap();
    let [starred, _, back] = all;
    assert_eq!(stored(tape.id), [starred.clone(), back], "a saying goes with its entry");
    store.purge(tape.id, 0..4).unwrap();
    assert_eq!(stored(tape.id), [starred], "one about the conversation stays");
}

pub(super) fn labels_compare_and_set(store: &dyn Store) {
    let tapes = ["t:1", "t:2", "t:3"].map(|key| Tape::new(store, key));
    let [first, second, third] = tapes.each_ref().map(|tape| tape.id);
    tapes[0].open(None, &["a", "b"]);
    let all = || read_all(|page| store.labels(page)).unwrap();
    assert_eq!(all(), [], "nobody said anything");
    let blank = LabelRow::blank;
    let said = |id| LabelRow {
        title: Some("the parser \u{1f980}".to_owned()),
        is_starred: true,
        tags: ["a", "later"].map(str::to_owned).into(),
        changed: Timestamp(7),
        ..blank(id)
    };
    assert!(store.put_label(third, &blank(third), &said(third)).unwrap());
    assert!(store.put_label(first, &blank(first), &said(first)).unwrap());
    assert_eq!(all(), [said(first), said(third)], "verbatim, by conversation");
    let page = crate::port::Page { after: Some(first), limit: 1 };
    assert_eq!(store.labels(page).unwrap(), [said(third)]);
    let tagged = LabelRow { title: None, is_starred: false, changed: Timestamp(9), ..said(first) };
    assert!(!store.put_label(first, &blank(first), &tagged).unwrap(), "somebody was faster");
    assert_eq!(all(), [said(first), said(third)], "nothing was written");
    assert!(store.put_label(first, &said(first), &tagged).unwrap());
    let star = LabelRow { is_starred: true, changed: Timestamp(9), ..blank(second) };
    assert!(store.put_label(second, &blank(second), &star).unwrap());
    assert_eq!(all(), [tagged.clone(), star.clone(), said(third)]);
    let taken = LabelRow { changed: Timestamp(11), ..blank(second) };
    assert!(store.put_label(second, &star, &taken).unwrap());
    assert!(store.put_label(second, &blank(second), &star).unwrap(), "a blank label is none");
    assert_eq!(store.conversation(first).unwrap().revision, 1, "labels do not count");
    store.purge(first, 0..2).unwrap();
    assert_eq!(all().first(), Some(&tagged), "the words are not the conversation's");
}
