//! The list of checks, and the checks of received data: conversations, paths, bytes.

use unforget_core::digest::{Chain, Digest};
use unforget_core::id::{ConversationId, ConversationKey, Generation, Position, Seq, Thread, Timestamp};

use super::tape::{Tape, entry, opening, snapshot};
use super::{derived, desk, pages, purge, together};
use crate::error::StoreError;
use crate::pack::{CHUNK_BYTES, Packed, pack};
use crate::port::{
    Append, Durability, FilterOf, FoundSnapshot, LabelRow, LaneLook, Name, NamedEntry, NewConversation, Page,
    Segment, Store, Target, WriteLatency, read_all,
};

/// A named check on an empty store.
pub(super) type Check = (&'static str, fn(&dyn Store));

/// All of them.
pub(super) const ALL: &[Check] = &[
    ("ensure finds or makes", ensure_finds_or_makes),
    ("unknown conversations are errors", unknown_conversations),
    ("append is dense and counts", append_counts),
    ("a stale append changes nothing", stale_append),
    ("paths share their prefix", paths_share),
    ("current follows snapshots and the live end", current_follows),
    ("snapshots are numbered and found by path", snapshots_found),
    ("chains find entries", chains_find),
    ("names find entries", names_find),
    ("ranges are clamped", ranges_clamped),
    ("bytes come back as received", bytes_come_back),
    ("f096 equal large parts are stored once", large_parts_once),
    ("chunks and filters cover all bytes", chunks_cover),
    ("segments replace each other", derived::segments_replace),
    ("summaries stay as first written", derived::summaries_stay),
    ("contexts go with their append", derived::contexts_kept),
    ("jobs are leased to one worker", desk::jobs_leased),
    ("rewrites of another conversation are taken over", desk::rewrites_taken_over),
    ("purge takes jobs and rewrites", desk::purge_takes_jobs),
    ("spend stays within its caps", desk::spend_capped),
    ("breakers and decisions are kept", desk::breakers_and_decisions),
    ("grants bound what is read, and end", desk::grants_bounded),
    ("the summary before an entry is found", desk::summaries_beside),
    ("pins are written over what was seen", derived::pins_compare_and_set),
    ("files of pins stay with their places", derived::pin_files_by_place),
    ("verdicts are kept, taken back, and purged with their entry", derived::verdicts_kept),
    ("raised spans are kept, taken back, and purged with their entries", derived::raised_kept),
    ("sayings are kept once, and purged with their entries", derived::sayings_kept),
    ("labels are written over what was seen", derived::labels_compare_and_set),
    ("recipes are bounded", derived::recipes_bounded),
    ("what prompts leave is written together", together::derived_written_together),
    ("summaries are found by a list of keys", together::summaries_found_by_keys),
    ("what people said is read together", together::said_read_together),
    ("purge takes bytes and leaves tombstones", purge::purge_takes),
    ("purge is idempotent", purge::purge_twice),
    ("purged entries arrive as tombstones", purge::tombstones_arrive),
    ("lists are read in pages", pages::lists_in_pages),
    ("verify finds nothing wrong", verify_clean),
];

fn names_find(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let other = Tape::new(store, "t:2");
    let name = |n: u8| Name([n; 16]);
    let of = |n: u8, seq: u64| NamedEntry { name: name(n), seq: Seq(seq) };
    let mut append = tape.plan(opening(None), &[b"a".to_vec(), b"b".to_vec()]);
    append.names = vec![of(1, 0), of(2, 1), of(1, 1)];
    store.append(append).unwrap();
    let both = vec![of(1, 0), of(1, 1)];
    assert_eq!(
        store.named(tape.id, &[name(9), name(1), name(1)]).unwrap(),
        both,
        "each once, by name, then seq"
    );
    let count = |id| store.conversation(id).unwrap().names;
    assert_eq!(count(tape.id), 0, "the revision counts names that come with entries");
    assert_eq!(store.put_names(tape.id, &[of(1, 0), of(9, 0)], WriteLatency::Soon).unwrap(), 1);
    assert_eq!(store.put_names(tape.id, &[], WriteLatency::Now).unwrap(), 1, "nothing was added");
    assert_eq!(
        store.put_names(tape.id, &[of(9, 0)], WriteLatency::Now).unwrap(),
        2,
        "the name may be new to the caller"
    );
    assert_eq!((count(tape.id), count(other.id)), (2, 0));
    assert_eq!(store.conversation(tape.id).unwrap().revision, 1);
    assert_eq!(store.named(tape.id, &[name(1), name(9)]).unwrap(), [both, vec![of(9, 0)]].concat());
    assert_eq!(store.named(other.id, &[name(1)]).unwrap(), [], "a name belongs to its conversation");
    let many: Vec<Name> = (0..5_000_u32).map(|n| Name(blake3_16(n))).chain([name(2), name(1)]).collect();
    let found = store.named(tape.id, &many).unwrap();
    assert_eq!(found, [of(1, 0), of(1, 1), of(2, 1)], "many at once");
    store.purge(tape.id, 1..2).unwrap();
    assert_eq!(store.named(tape.id, &[name(1), name(2)]).unwrap(), [of(1, 0)], "purge takes names");
}

fn blake3_16(n: u32) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&Digest::of(&n.to_le_bytes()).0[..16]);
    bytes
}

fn ensure_finds_or_makes(store: &dyn Store) {
    let new = NewConversation {
        key: ConversationKey("pi:x".into()),
        format: "pi".into(),
        title: None,
        parent: Some(ConversationKey("pi:p".into())),
    };
    assert_eq!(store.find(&new.key).unwrap(), None);
    let made = store.ensure(&new).unwrap();
    assert_eq!((made.revision, made.entries, made.length, made.time), (0, 0, 0, None));
    assert_eq!((made.parent.clone(), made.format.as_str()), (new.parent.clone(), "pi"));
    let again = store.ensure(&NewConversation { format: "other".into(), ..new.clone() }).unwrap();
    assert_eq!(again, made, "what is there stays as it is");
    assert_eq!(store.find(&new.key).unwrap(), Some(made.clone()));
    let other = Tape::new(store, "pi:y");
    let ids: Vec<_> = read_all(|page| store.conversations(page))
        .unwrap()
        .into_iter()
        .map(|conversation| conversation.id)
        .collect();
    assert_eq!(ids, [made.id, other.id], "by id");
}

fn unknown_conversations(store: &dyn Store) {
    let id = ConversationId(77);
    let key = super::tape::summary(0, 0).key;
    let segment = Segment { seqs: 0..0, header: vec![], blocks: vec![] };
    let packed = || pack(Vec::new(), &|_| Vec::new(), None);
    let append = Append {
        conversation: id,
        entries: 0,
        target: opening(None),
        packed: packed(),
        snapshot: None,
        contexts: Vec::new(),
        names: Vec::new(),
        durability: Durability::OnReturn,
        latency: WriteLatency::Now,
    };
    let look = LaneLook { conversation: id, thread: Thread(0), budget: 1, names: &[], reads_said: false };
    let errors = [
        store.conversation(id).err(),
        store.generations(id, Page::first(1)).err(),
        store.snapshots(id, Page::first(1)).err(),
        store.latest_snapshot(id).err(),
        store.count_summaries(id).err(),
        store.said(id).err(),
        store.lane_rows(&[look]).err(),
        store.withdraw_verdict(id, 1, Timestamp(1)).err(),
        store.withdraw_raised(id, 1, Timestamp(1)).err(),
        store.sayings(id, Page::first(1)).err(),
        store.put_sayings(id, &[]).err(),
        store.put_label(id, &LabelRow::blank(id), &LabelRow::blank(id)).err(),
        store.recipes(id, Page::first(1)).err(),
        store.jobs(id, Page::first(1)).err(),
        store.rewrites(id, Page::first(1)).err(),
        store.append(append).err(),
        store.by_chain(id, Chain::root()).err(),
        store.named(id, &[Name([0; 16])]).err(),
        store.put_names(id, &[], WriteLatency::Now).err(),
        store.chains(id, Generation(0), 0..1).err(),
        store.path(id, Generation(0), 1).err(),
        store.rows(id, 0..1).err(),
        store.raw(id, 0..1).err(),
        store.filters(id, Page::first(1)).err(),
        store.chunk(id, 0).err(),
        store.blob(id, Digest([0; 32])).err(),
        store.put_segment(id, &segment, &[]).err(),
        store.segments(id, Page::first(1)).err(),
        store.block(id, 0, 0).err(),
        store.drop_segments(id).err(),
        store.put_summaries(id, &[], None).err(),
        store.summary(id, &key).err(),
        store.rewrite(id, &key).err(),
        store.summaries(id, Page::first(1)).err(),
        store.context(id, Thread(0), 1).err(),
        store.contexts(id, Thread(0), Page::first(1)).err(),
        store.purge_plan(id, 0..1).err(),
        store.purge(id, 0..1).err(),
    ];
    for (number, error) in errors.into_iter().enumerate() {
        let right = matches!(error, Some(StoreError::NoConversation { id: ConversationId(77) }));
        assert!(right, "method {number}: {error:?}");
    }
    assert!(read_all(|page| store.conversations(page)).unwrap().is_empty());
}

fn append_counts(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let first = store.append(tape.plan(opening(None), &[b"one".to_vec(), b"two".to_vec()])).unwrap();
    assert_eq!((first.generation, first.first_seq.0, first.revision), (Generation(0), 0, 1));
    let second = store.append(tape.plan(tape.end(0), &[b"three".to_vec()])).unwrap();
    assert_eq!((second.generation, second.first_seq.0, second.revision), (Generation(0), 2, 2));
    let empty = store.append(tape.plan(tape.end(0), &[])).unwrap();
    assert_eq!((empty.first_seq.0, empty.revision), (3, 3));
    let head = store.conversation(tape.id).unwrap();
    let rows = store.rows(tape.id, 0..3).unwrap();
    let places: Vec<_> =
        rows.iter().map(|row| (row.seq.0, row.generation.0, row.position.0, row.purged)).collect();
    assert_eq!(places, [(0, 0, 0, false), (1, 0, 1, false), (2, 0, 2, false)]);
    assert_eq!(head.tokens, rows.iter().map(|row| row.tokens.expected).sum::<u64>());
    let raw = store.raw(tape.id, 0..3).unwrap();
    assert_eq!(head.raw_bytes, raw.iter().map(|raw| (raw.lead.len() + raw.body.len()) as u64).sum::<u64>());
    let times: Vec<Timestamp> = rows.iter().filter_map(|row| row.time).collect();
    assert_eq!(head.time, times.iter().min().copied().zip(times.iter().max().copied()));
    assert_eq!((head.entries, head.revision, head.length), (3, 3, 3));
}

fn stale_append(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b"]);
    let before = super::observe(store);
    let too_long = |target: Target| {
        let mut append = tape.plan(target, &[b"x".to_vec()]);
        append.snapshot = Some(snapshot(9, "a"));
        append
    };
    let open = |generation, fork| opening(Some((generation, fork)));
    let table = [
        (tape.plan(Target::Extend(Generation(0), 1), &[b"x".to_vec()]), (0, 1, 2), "shorter than it is"),
        (tape.plan(Target::Extend(Generation(0), 3), &[b"x".to_vec()]), (0, 3, 2), "longer than it is"),
        (tape.plan(Target::Extend(Generation(5), 0), &[]), (5, 0, 0), "no such generation"),
        (tape.plan(open(0, 3), &[]), (0, 3, 2), "fork beyond the end"),
        (tape.plan(open(4, 0), &[]), (4, 0, 0), "fork from nothing"),
        (too_long(Target::Extend(Generation(0), 2)), (0, 9, 3), "snapshot longer than the path"),
        (too_long(opening(None)), (1, 9, 1), "snapshot longer than the new path"),
    ];
    for (append, want, why) in table {
        match store.append(append) {
            Err(StoreError::Moved { generation, expected, found }) => {
                assert_eq!((generation.0, expected, found), want, "{why}");
            }
            other => panic!("{why}: {other:?}"),
        }
        assert_eq!(super::observe(store), before, "{why}: nothing was written");
    }
    for (entries, target) in [(1, tape.end(0)), (3, tape.end(0)), (1, opening(None)), (0, open(0, 1))] {
        let late = Append { entries, ..tape.plan(target, &[b"x".to_vec()]) };
        let result = store.append(late);
        let right = |id, expected, found| id == tape.id && expected == entries && found == 2;
        assert!(
            matches!(result, Err(StoreError::Overtaken { id, expected, found }) if right(id, expected, found)),
            "{entries} {target:?}: {result:?}"
        );
        assert_eq!(super::observe(store), before, "{entries} {target:?}: nothing was written");
    }
}

fn paths_share(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c"]);
    let branch = tape.open(Some((0, 2)), &["x", "y"]);
    tape.append(tape.end(0), &["d"]);
    let deep = tape.open(Some((branch, 3)), &["z"]);
    tape.append(tape.end(branch), &["w"]);
    let bare = tape.open(Some((deep, 1)), &[]);
    let table = [
        (0, 9, "a b c d", vec![0..3, 5..6]),
        (0, 2, "a b", vec![0..2]),
        (branch, 9, "a b x y w", vec![0..2, 3..5, 7..8]),
        (branch, 3, "a b x", vec![0..2, 3..4]),
        (deep, 9, "a b x z", vec![0..2, 3..4, 6..7]),
        (bare, 9, "a", vec![0..1]),
        (9, 9, "", vec![]),
    ];
    for (generation, length, want, runs) in table {
        assert_eq!(
            store.path(tape.id, Generation(generation), length).unwrap(),
            runs,
            "{generation} {length}"
        );
        assert_eq!(tape.read(generation, length).join(" "), want);
    }
    let rows = read_all(|page| store.generations(tape.id, page)).unwrap();
    let lengths: Vec<_> = rows.iter().map(|row| (row.number.0, row.length)).collect();
    assert_eq!(lengths, [(0, 4), (1, 5), (2, 4), (3, 1)]);
    assert_eq!(rows[2].parent, Some((Generation(1), Position(3))));
    assert!(store.verify(&mut |_, _| {}).unwrap().is_empty());
}

fn current_follows(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let current = || {
        let head = store.conversation(tape.id).unwrap();
        (head.current.0, head.length)
    };
    let with = |target, bodies: &[&str], length| {
        let bodies: Vec<_> = bodies.iter().map(|body| body.as_bytes().to_vec()).collect();
        let mut append = tape.plan(target, &bodies);
        append.snapshot = Some(snapshot(length, "a"));
        store.append(append).unwrap();
    };
    assert_eq!(current(), (0, 0));
    tape.open(None, &["a", "b"]);
    assert_eq!(current(), (0, 2), "the first generation is current at once");
    tape.append(tape.end(0), &["c"]);
    assert_eq!(current(), (0, 3), "a live host extends the current one");
    let branch = tape.open(Some((0, 1)), &["x"]);
    assert_eq!(current(), (0, 3), "a later generation waits for its snapshot");
    tape.append(tape.end(branch), &["y"]);
    assert_eq!(current(), (0, 3));
    with(tape.end(branch), &["z"], 4);
    assert_eq!(current(), (branch, 4));
    with(tape.end(branch), &[], 2);
    assert_eq!(current(), (branch, 2), "a rewind");
    with(tape.end(0), &[], 3);
    assert_eq!(current(), (0, 3), "back to another generation");
    with(opening(Some((0, 1))), &["q"], 2);
    assert_eq!(current(), (2, 2), "opened with a snapshot");
}

fn snapshots_found(store: &dyn Store) {
    let (one, two) = (Tape::new(store, "t:1"), Tape::new(store, "t:2"));
    let add = |tape: &Tape<'_>, target, length, path| {
        let mut append = tape.plan(target, &[b"x".to_vec()]);
        append.snapshot = Some(snapshot(length, path));
        store.append(append).unwrap();
    };
    add(&one, opening(None), 1, "a");
    add(&two, opening(None), 1, "a");
    add(&one, one.end(0), 2, "b");
    let numbers: Vec<_> = read_all(|page| store.snapshots(one.id, page))
        .unwrap()
        .iter()
        .map(|found| (found.number, found.length))
        .collect();
    assert_eq!(numbers, [(1, 1), (2, 2)]);
    assert_eq!(store.latest_snapshot(one.id).unwrap().map(|found| found.number), Some(2));
    let FoundSnapshot { conversation, snapshot: found } = store.snapshot_of_path("a").unwrap().unwrap();
    assert_eq!((conversation, found.number), (two.id, 1), "the latest, in any conversation");
    let want = crate::port::Snapshot { number: 2, ..snapshot(2, "b") };
    assert_eq!(
        store.snapshot_of_path("b").unwrap(),
        Some(FoundSnapshot { conversation: one.id, snapshot: want }),
        "as it was given"
    );
    assert_eq!(store.snapshot_of_path("c").unwrap(), None);
}

fn chains_find(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b", "c"]);
    tape.open(Some((0, 1)), &["x", "y"]);
    for row in store.rows(tape.id, 0..9).unwrap() {
        assert_eq!(store.by_chain(tape.id, row.chain).unwrap(), Some(row));
    }
    let chains = store.chains(tape.id, Generation(1), 0..9).unwrap();
    let rows = store.rows(tape.id, 0..9).unwrap();
    assert_eq!(chains, [rows[0].chain, rows[3].chain, rows[4].chain]);
    assert_eq!(store.chains(tape.id, Generation(1), 1..2).unwrap(), [rows[3].chain]);
    assert_eq!(store.chains(tape.id, Generation(7), 0..9).unwrap(), []);
    let mut near = rows[0].chain;
    near.0.0[31] ^= 1;
    assert_eq!(store.by_chain(tape.id, near).unwrap(), None, "only whole digests count");
    let other = Tape::new(store, "t:2");
    assert_eq!(store.by_chain(other.id, rows[0].chain).unwrap(), None, "conversations cannot see each other");
}

fn ranges_clamped(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["a", "b"]);
    let table = [(0..u64::MAX, 2), (1..9, 1), (2..9, 0), (7..9, 0), (1..1, 0)];
    for (seqs, want) in table {
        assert_eq!(store.rows(tape.id, seqs.clone()).unwrap().len(), want, "{seqs:?}");
        assert_eq!(store.raw(tape.id, seqs.clone()).unwrap().len(), want, "{seqs:?}");
        assert_eq!(store.chains(tape.id, Generation(0), seqs.clone()).unwrap().len(), want, "{seqs:?}");
        assert_eq!(store.purge_plan(tape.id, seqs.clone()).unwrap().entries, want as u64, "{seqs:?}");
    }
}

fn bytes_come_back(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let bodies: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"{\"a\": 1e5, \"b\": \"\\ud800\"}".to_vec(),
        vec![0, 255, 254, 10, 13],
        vec![b'#'; 5000],
        b"a#####b#####c".to_vec(),
        vec![b'x'; CHUNK_BYTES],
        (0..3 * CHUNK_BYTES).map(|number| ((number * number) >> 7) as u8).collect(),
        b"end".to_vec(),
    ];
    store.append(tape.plan(opening(None), &bodies)).unwrap();
    let raw = store.raw(tape.id, 0..99).unwrap();
    for (number, (raw, body)) in raw.iter().zip(&bodies).enumerate() {
        let mut chain = Chain::root();
        assert_eq!(raw.seq.0, number as u64);
        assert!(raw.body == *body, "body {number}");
        assert_eq!(raw.lead, entry(body, &mut chain).lead);
    }
    for number in (0..bodies.len() as u64).rev() {
        let one = store.raw(tape.id, number..number + 1).unwrap();
        assert!(one[0].body == bodies[number as usize], "alone, backwards");
    }
}

fn large_parts_once(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let large = "#".repeat(40_000);
    let bodies: Vec<String> = (0..85).map(|number| format!("{number}:{large}:end")).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    tape.open(None, &bodies[..40]);
    tape.append(tape.end(0), &bodies[40..]);
    let filters = read_all(|page| store.filters(tape.id, page)).unwrap();
    let blobs: Vec<_> = filters.iter().filter(|filter| matches!(filter.of, FilterOf::Blob(_))).collect();
    assert!(blobs.len() == 1 && blobs[0].seqs.is_empty());
    let mut holders = Vec::new();
    for filter in &filters {
        if let FilterOf::Chunk(number) = filter.of {
            assert_eq!(filter.holders, []);
            let chunk = store.chunk(tape.id, number).unwrap();
            let seqs: Vec<Seq> = chunk.entries.iter().map(|(seq, _)| *seq).collect();
            assert_eq!(seqs, filter.seqs.clone().map(Seq).collect::<Vec<_>>(), "its entries");
            holders.extend(seqs);
        }
    }
    assert!(holders.len() == 85 && blobs[0].holders == holders, "all entries hold it");
    let blob = store.blob(tape.id, Digest::of(large.as_bytes())).unwrap();
    assert_eq!((blob.bytes.len(), blob.holders.len()), (40_000, 85));
    assert_eq!(tape.read(0, 99), bodies);
    let missing = store.blob(tape.id, Digest::of(b"none"));
    assert!(matches!(missing, Err(StoreError::Missing { .. })));
}

fn chunks_cover(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let big = "b".repeat(CHUNK_BYTES - 60_000);
    tape.open(None, &["first", &big, "a#####c", &big, "last"]);
    let mut covered = Vec::new();
    let filters = read_all(|page| store.filters(tape.id, page)).unwrap();
    for filter in &filters {
        let bytes = match filter.of {
            FilterOf::Chunk(number) => {
                let chunk = store.chunk(tape.id, number).unwrap();
                assert!(chunk.bytes.len() <= CHUNK_BYTES);
                covered.extend(
                    chunk.entries.iter().map(|(seq, range)| (seq.0, chunk.bytes[range.clone()].to_vec())),
                );
                chunk.bytes
            }
            FilterOf::Blob(digest) => store.blob(tape.id, digest).unwrap().bytes,
        };
        assert_eq!(filter.bytes, Digest::of(&bytes).0, "made of the uncompressed bytes");
    }
    let seqs: Vec<u64> = covered.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [0, 1, 2, 3, 4]);
    assert_eq!(covered[2].1, b"ac", "holes are closed up");
    assert!(filters.len() > 2 && matches!(store.chunk(tape.id, 99), Err(StoreError::Missing { .. })));
}

fn verify_clean(store: &dyn Store) {
    let tape = Tape::new(store, "t:1");
    let bodies: Vec<String> =
        (0..1500).map(|number| format!("entry {number} #### {}", "x".repeat(number % 90))).collect();
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    tape.open(None, &bodies[..700]);
    tape.open(Some((0, 300)), &bodies[700..]);
    let mut last = (0, 0);
    assert_eq!(store.verify(&mut |done, total| last = (done, total)).unwrap(), []);
    assert_eq!(last, (1500, 1500));
    store.maintain().unwrap();
    assert!(!store.sizes().unwrap().is_empty());
    let empty = Packed::default();
    assert_eq!((empty.len(), empty.raw_bytes()), (0, 0));
}
