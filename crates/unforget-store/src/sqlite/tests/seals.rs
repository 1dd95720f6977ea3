//! Seals: a derived row with a changed bit is left out, named, and made again.

use std::collections::BTreeSet;
use std::path::Path;

use rusqlite::Connection;
use rusqlite::types::Value;
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, Seq, Thread, Timestamp};
use unforget_core::pin::{Pin, PinFile, PinId, PinState};

use super::{noise, options, told};
use crate::conformance::{Tape, summary};
use crate::port::{
    Append, ContextRow, DecisionRow, Index as _, JobEnd, Jobs as _, LabelRow, Log as _, Name, NamedEntry,
    NewDecision, NewJob, PinFileRow, PinRow, RaisedRow, Recipe, SayingRow, Segment, Summaries as _,
    Upkeep as _, VerdictRow, WriteLatency, read_all,
};
use crate::sqlite::SqliteStore;
use crate::sqlite::derived::SEALED;
use crate::sqlite::seal::WhenBroken;

const ID: ConversationId = ConversationId(1);

fn pin(number: u64, text: &str, state: PinState) -> PinRow {
    let pin = Pin { id: PinId(number), text: text.to_owned(), source: None, state, order: number };
    PinRow { pin, made: Timestamp(5), changed: Timestamp(6) }
}

fn verdict(seq: u64) -> VerdictRow {
    VerdictRow {
        number: 0,
        seq: Seq(seq),
        line: Some("it takes 3 s".to_owned()),
        why: "measured again".to_owned(),
        instead: None,
        author: "ann".to_owned(),
        made: Timestamp(10),
        withdrawn: None,
    }
}

fn raised(first: u64) -> RaisedRow {
    let span = (Seq(first), Seq(first + 1));
    RaisedRow { number: 0, span, author: "ann".to_owned(), made: Timestamp(10), withdrawn: None }
}

/// Writes rows into every table with seals.
fn fill(store: &SqliteStore) {
    let tape = Tape::new(store, "t:1");
    tape.open(None, &["one", "two ######", "three", "four"]);
    let bodies = [b"five".to_vec(), [b"six ".to_vec(), vec![b'#'; 5000]].concat()];
    let state = b"a state of a prompt".to_vec();
    let context = ContextRow { thread: Thread(0), budget: 1, state: state.clone() };
    let names = (0..6).map(|seq| NamedEntry { name: Name([seq as u8; 16]), seq: Seq(seq) }).collect();
    let plan = tape.plan(tape.end(0), &bodies);
    store.append(Append { contexts: vec![context], names, ..plan }).unwrap();
    let rows = [summary(0, 1), summary(2, 3), summary(4, 5)];
    store.put_summaries(ID, &rows, None).unwrap();
    let jobs: Vec<NewJob> = rows.iter().map(|row| NewJob { key: row.key, span: row.span }).collect();
    store.put_jobs(ID, &jobs, Timestamp(1)).unwrap();
    let job = store.take_job(ID, Timestamp(2), Timestamp(900), false).unwrap().unwrap();
    let done = JobEnd::Done(Box::new(rows[0].clone()));
    assert!(store.end_job(ID, job.lease(), &done, Timestamp(3)).unwrap());
    for first in [0, 3] {
        let seqs = first..first + 3;
        let segment = Segment { seqs, header: vec![1, 2, 3], blocks: vec![vec![4; 40], vec![5; 40]] };
        store.put_segment(ID, &segment, &[]).unwrap();
    }
    let pins = [
        pin(1, "rule one", PinState::Active),
        pin(2, "rule two", PinState::SupersededBy(PinId(3))),
        pin(3, "rule three", PinState::Active),
        pin(4, "words of a file", PinState::Active),
    ];
    let file = PinFile {
        place: 4,
        path: "/f".to_owned(),
        pin: PinId(4),
        digest: Digest::of(b"words of a file"),
        trouble: None,
    };
    store.put_pins(ID, &[], &pins, &[PinFileRow { file, read: Timestamp(7) }]).unwrap();
    let decision = DecisionRow {
        number: 0,
        seq: Seq(3),
        time: Timestamp(8),
        looked: "at this".to_owned(),
        decided: "that".to_owned(),
        why: "so".to_owned(),
    };
    let recipe = Recipe { number: 0, context: [7; 16], state, body: b"how it was composed".to_vec() };
    store.put_recipe(ID, &recipe, 9, Some(NewDecision { row: &decision, keep: 9 })).unwrap();
    for seq in [1, 2, 3] {
        store.put_verdict(ID, &verdict(seq)).unwrap();
    }
    assert!(store.withdraw_verdict(ID, 2, Timestamp(11)).unwrap());
    for first in [0, 2, 4] {
        store.put_raised(ID, &raised(first)).unwrap();
    }
    assert!(store.withdraw_raised(ID, 2, Timestamp(12)).unwrap());
    let label = LabelRow {
        title: Some("a title".to_owned()),
        is_starred: true,
        tags: ["one", "two"].map(str::to_owned).into(),
        changed: Timestamp(13),
        ..LabelRow::blank(ID)
    };
    assert!(store.put_label(ID, &LabelRow::blank(ID), &label).unwrap());
    for span in [None, Some((Seq(1), Seq(1))), Some((Seq(0), Seq(3)))] {
        let body = format!("{span:?}").into_bytes();
        store.put_sayings(ID, &[SayingRow { number: 0, digest: Digest::of(&body), span, body }]).unwrap();
    }
}

/// Everything that readers say of derived rows, a line for each fact. None may fail.
fn everything(store: &SqliteStore) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let mut say = |text: String| {
        all.insert(text);
    };
    for filter in read_all(|page| store.filters(ID, page)).unwrap() {
        // Without a filter all bytes are read.
        if !filter.bytes.is_empty() {
            say(format!("{filter:?}"));
        }
    }
    for one in read_all(|page| store.segments(ID, page)).unwrap() {
        let blocks: Vec<_> = (0..2).map(|block| store.block(ID, one.number, block)).collect();
        // A segment without one of its blocks is left out from the next time on.
        if blocks.iter().all(Result::is_ok) {
            say(format!("{one:?} {blocks:?}"));
        } else {
            let left = read_all(|page| store.segments(ID, page)).unwrap();
            assert!(!left.contains(&one), "{one:?}");
        }
    }
    for summary in read_all(|page| store.summaries(ID, page)).unwrap() {
        assert_eq!(store.summary(ID, &summary.key).unwrap().as_ref(), Some(&summary));
        store.summary_before(ID, &summary.key, Seq(9)).unwrap();
        say(format!("{summary:?}"));
    }
    for first in [0, 2, 4] {
        let key = summary(first, first + 1).key;
        let found = [store.summary(ID, &key).unwrap(), store.rewrite(ID, &key).unwrap()];
        found.into_iter().flatten().for_each(|row| say(format!("found {row:?}")));
        store.job(ID, &key).unwrap().into_iter().for_each(|row| say(format!("found {row:?}")));
    }
    for key in read_all(|page| store.rewrites(ID, page)).unwrap() {
        say(format!("{key:?}"));
    }
    for job in read_all(|page| store.jobs(ID, page)).unwrap() {
        say(format!("{job:?}"));
    }
    read_all(|page| store.due(Timestamp(9), page)).unwrap();
    store.context(ID, Thread(0), 1).unwrap().into_iter().for_each(|row| say(format!("{row:?}")));
    let names: Vec<Name> = (0..6).map(|seq| Name([seq; 16])).collect();
    for named in store.named(ID, &names).unwrap() {
        say(format!("{named:?}"));
    }
    for pin in store.said(ID).unwrap().pins {
        if pin.pin.text != PinRow::BROKEN {
            say(format!("{pin:?}"));
        }
    }
    for file in store.said(ID).unwrap().files {
        say(format!("{file:?}"));
    }
    for recipe in read_all(|page| store.recipes(ID, page)).unwrap() {
        let state = store.recipe_state(ID, &recipe.context).unwrap();
        say(format!("{recipe:?}"));
        if let Some(state) = state {
            say(format!("state {state:?}"));
        }
    }
    for verdict in store.said(ID).unwrap().verdicts {
        say(format!("{verdict:?}"));
    }
    for raised in store.said(ID).unwrap().raised {
        say(format!("{raised:?}"));
    }
    for label in read_all(|page| store.labels(page)).unwrap() {
        say(format!("{label:?}"));
    }
    for decision in store.decisions(ID).unwrap() {
        say(format!("{decision:?}"));
    }
    all.extend(read_all(|page| store.sayings(ID, page)).unwrap().iter().map(|row| format!("{row:?}")));
    all
}

/// Flips a bit of a value. `None` if SQLite cannot hold the result in that column.
fn flipped(value: Value, bit: usize) -> Option<Value> {
    let flip = |mut bytes: Vec<u8>| {
        let at = bit / 8 % bytes.len().max(1);
        *bytes.get_mut(at)? ^= 1 << (bit % 8);
        Some(bytes)
    };
    match value {
        Value::Integer(number) => Some(Value::Integer(number ^ (1 << (bit % 62)))),
        Value::Text(text) => Some(Value::Blob(flip(text.into_bytes())?)),
        Value::Blob(bytes) => Some(Value::Blob(flip(bytes)?)),
        other => Some(if bit.is_multiple_of(2) { other } else { Value::Integer(1) }),
    }
}

/// Changes a bit of one column of one row; false if nothing changed.
fn damage(path: &Path, table: &str, column: &str, number: usize) -> bool {
    let conn = Connection::open(path).unwrap();
    let rows: i64 = conn.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
    assert!(rows > 0, "{table} is empty");
    let key = SEALED.iter().find(|one| one.name == table).unwrap().key;
    let columns = key.join(", ");
    let sql = format!(
        "SELECT {column}, {columns} FROM {table} ORDER BY {columns} LIMIT 1 OFFSET {}",
        number as i64 % rows
    );
    let values: Vec<Value> =
        conn.query_row(&sql, [], |row| (0..=key.len()).map(|at| row.get(at)).collect()).unwrap();
    let noise = noise(&format!("{table} {column} {number}"));
    let bit = usize::from(u16::from_le_bytes([noise[0], noise[1]]));
    let is_text = matches!(values[0], Value::Text(_));
    let Some(new) = flipped(values[0].clone(), bit).filter(|new| *new != values[0]) else { return false };
    let set = if is_text { "CAST(? AS TEXT)" } else { "?" };
    let of = key.iter().map(|column| format!("{column} IS ?")).collect::<Vec<_>>().join(" AND ");
    let values = [new].into_iter().chain(values.into_iter().skip(1));
    // A column that may not hold that, or a key that another row has.
    conn.execute(
        &format!("UPDATE {table} SET {column} = {set} WHERE {of}"),
        rusqlite::params_from_iter(values),
    )
    .is_ok()
}

/// `UNFORGET_TEST_FLIPS` sets the number of bits per column.
#[test]
fn a_changed_bit_of_a_derived_row_is_named_and_nobody_fails_for_it() {
    let flips = told("UNFORGET_TEST_FLIPS", 2) as usize;
    let folder = tempfile::tempdir().unwrap();
    let whole = folder.path().join("whole.sqlite");
    let store = SqliteStore::open(&whole, &options()).unwrap();
    fill(&store);
    let sound = everything(&store);
    let raw = store.raw(ID, 0..u64::MAX).unwrap();
    assert_eq!(store.verify(&mut |_, _| {}).unwrap(), []);
    drop(store);
    let mut count = 0;
    for table in SEALED {
        for (column, number) in
            table.columns.iter().flat_map(|one| (0..flips).map(move |number| (one, number)))
        {
            let what = format!("{} {column} {number}", table.name);
            let path = folder.path().join("damaged.sqlite");
            std::fs::copy(&whole, &path).unwrap();
            if !damage(&path, table.name, column, number) {
                continue;
            }
            count += 1;
            let reader = SqliteStore::open_reader(&path, &options()).unwrap();
            let said = everything(&reader);
            assert!(said.is_subset(&sound), "{what}: {:?}", said.difference(&sound));
            let kinds = |store: &SqliteStore| -> Vec<_> {
                store.verify(&mut |_, _| {}).unwrap().into_iter().map(|problem| problem.kind).collect()
            };
            assert!(kinds(&reader).contains(&table.kind), "{what}: verify names it");
            drop(reader);
            let store = SqliteStore::open(&path, &options()).unwrap();
            assert!(everything(&store).is_subset(&sound), "{what}");
            assert!(kinds(&store).contains(&table.kind) || !store.broken_rows().is_empty(), "{what}");
            assert_eq!(store.raw(ID, 0..u64::MAX).unwrap(), raw, "{what}");
            let kinds = kinds(&store);
            match table.when_broken {
                WhenBroken::Dropped => assert!(kinds.is_empty(), "{what}: {kinds:?} after it was dropped"),
                WhenBroken::Stays => assert_eq!(kinds, [table.kind], "{what}: it stays named"),
            }
            fill_again(&store);
            // Without its key, nobody knows whose filter a row was: such a chunk is read whole.
            let filters = read_all(|page| store.filters(ID, page)).unwrap();
            let is_whole = filters.iter().all(|one| !one.bytes.is_empty());
            assert!(is_whole || table.kind == "filter" && *column != "data", "{what}");
            drop(store);
            for file in ["damaged.sqlite-wal", "damaged.sqlite-shm"] {
                std::fs::remove_file(folder.path().join(file)).ok();
            }
        }
    }
    assert!(count > 50 * flips, "{count}");
    println!("torture: {count} bits of derived rows");
}

/// What was dropped can be written again.
fn fill_again(store: &SqliteStore) {
    let rows = [summary(0, 1), summary(2, 3), summary(4, 5)];
    store.put_summaries(ID, &rows, None).unwrap();
    store.put_rewrites(ID, &rows[..1], Timestamp(3)).unwrap();
    let named: Vec<NamedEntry> =
        (0..6).map(|seq| NamedEntry { name: Name([seq as u8; 16]), seq: Seq(seq) }).collect();
    store.put_names(ID, &named, WriteLatency::Now).unwrap();
    for row in &rows {
        assert_eq!(store.summary(ID, &row.key).unwrap().as_ref(), Some(row));
    }
    let names: Vec<Name> = (0..6).map(|seq| Name([seq; 16])).collect();
    assert_eq!(store.named(ID, &names).unwrap().len(), 6);
}

/// Nothing can make a verdict again: a damaged one does not count, stays named, and goes when a person says so.
#[test]
fn a_damaged_verdict_stays_named_until_it_is_taken_away() {
    type Away = fn(&SqliteStore);
    let aways: [(Away, &str); 2] = [
        (|store| assert!(store.withdraw_verdict(ID, 3, Timestamp(12)).unwrap()), "taken back by its number"),
        (
            |store| assert_eq!(store.purge(ID, 0..1).unwrap().entries, 1),
            "a purge cannot know that it quotes nothing purged",
        ),
    ];
    for (away, why) in aways {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store.sqlite");
        let store = SqliteStore::open(&path, &options()).unwrap();
        fill(&store);
        let numbers = |store: &SqliteStore| -> Vec<u64> {
            store.said(ID).unwrap().verdicts.iter().map(|row| row.number).collect()
        };
        assert_eq!(numbers(&store), [1, 2, 3]);
        drop(store);
        Connection::open(&path).unwrap().execute("UPDATE verdict SET seq = 2 WHERE number = 3", []).unwrap();
        for _ in 0..2 {
            let store = SqliteStore::open(&path, &options()).unwrap();
            assert_eq!(numbers(&store), [1, 2], "it does not count");
            let [problem] = &store.verify(&mut |_, _| {}).unwrap()[..] else { panic!("{why}: one problem") };
            assert_eq!((problem.kind, problem.is_derived()), ("verdict", false), "{problem:?}");
            assert!(problem.detail.contains("number 3"), "{problem:?}");
        }
        let store = SqliteStore::open(&path, &options()).unwrap();
        assert_eq!(store.put_verdict(ID, &verdict(1)).unwrap(), 4, "its number is not used again");
        away(&store);
        assert_eq!(store.verify(&mut |_, _| {}).unwrap(), [], "{why}");
        assert_eq!(numbers(&store), [1, 2, 4], "{why}");
        assert!(!store.withdraw_verdict(ID, 3, Timestamp(13)).unwrap(), "it is gone");
    }
}

/// Rows of an older program have no seals: they get them when the schema changes, and none is left without.
#[test]
fn a_row_without_its_seal_is_broken_once_there_are_seals() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.sqlite");
    let store = SqliteStore::open(&path, &options()).unwrap();
    fill(&store);
    drop(store);
    for table in SEALED {
        let sql = format!("UPDATE {} SET seal = NULL", table.name);
        Connection::open(&path).unwrap().execute_batch(&sql).unwrap();
    }
    let store = SqliteStore::open_reader(&path, &options()).unwrap();
    assert_eq!(read_all(|page| store.summaries(ID, page)).unwrap(), []);
    let kinds: BTreeSet<_> =
        store.verify(&mut |_, _| {}).unwrap().into_iter().map(|problem| problem.kind).collect();
    assert_eq!(kinds, SEALED.iter().map(|table| table.kind).collect());
}
