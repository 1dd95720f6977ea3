//! Conversations go from one store to another one and are equal there, whatever came before and wherever it stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use proptest::prelude::*;
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationId, ConversationKey, Generation, Seq, Thread, Timestamp};
use unforget_core::pin::{Pin, PinId, PinState};
use unforget_engine::migrate::{ConversationPart, Migration, MigrationState};
use unforget_store::conformance::{Step, Tape, opening, play, snapshot, steps, summary};
use unforget_store::{
    ContextRow, DecisionRow, LabelRow, Log as _, MemoryStore, Name, NamedEntry, NewConversation, NewDecision,
    NewJob, OpenOptions, PinRow, RaisedRow, Recipe, SayingRow, SqliteStore, Store, StoreError, StoreLayer,
    Summaries as _, THREAD_MAX, Target, Upkeep as _, VerdictRow, WriteLatency, read_all,
};

const NOW: Timestamp = Timestamp(7);

/// A store in a file that goes with the test.
struct FileStore {
    store: SqliteStore,
    _folder: tempfile::TempDir,
}

impl FileStore {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(folder.path().join("u.sqlite"), &OpenOptions::default()).unwrap();
        Self { store, _folder: folder }
    }
}

/// Everything that stands beside entries, with numbers that have gaps.
fn decorate(store: &dyn Store, id: ConversationId) {
    let head = store.conversation(id).unwrap();
    let Some(last) = head.entries.checked_sub(1) else { return };
    let names: Vec<NamedEntry> =
        (0..=last).map(|seq| NamedEntry::new(Name([seq as u8 % 3; 16]), Seq(seq))).collect();
    store.put_names(id, &names, WriteLatency::Now).unwrap();
    let verdict = VerdictRow {
        number: 0,
        seq: Seq(last),
        line: None,
        why: "measured again".into(),
        instead: None,
        author: "ann".into(),
        made: Timestamp(1),
        withdrawn: None,
    };
    for number in [2, 5, 6] {
        store.put_verdict(id, &VerdictRow { number, ..verdict.clone() }).unwrap();
    }
    store.withdraw_verdict(id, 5, Timestamp(3)).unwrap();
    let span = (Seq(last), Seq(last));
    let raised = RaisedRow { number: 4, span, author: "ann".into(), made: Timestamp(2), withdrawn: None };
    store.put_raised(id, &raised).unwrap();
    store.withdraw_raised(id, 4, Timestamp(9)).unwrap();
    let label = LabelRow { is_starred: true, changed: Timestamp(4), ..LabelRow::blank(id) };
    store.put_label(id, &LabelRow::blank(id), &label).unwrap();
    let saying =
        SayingRow { number: 1, digest: Digest::of(b"starred"), span: None, body: b"starred".to_vec() };
    assert_eq!(store.put_sayings(id, &[saying]).unwrap(), 1);
    let pin = |number: u64, state| PinRow {
        pin: Pin { id: PinId(number), text: format!("rule {number}"), source: None, state, order: number },
        made: Timestamp(1),
        changed: Timestamp(number as i64),
    };
    store.put_pins(id, &[], &[pin(1, PinState::Retired), pin(2, PinState::Active)], &[]).unwrap();
    let rows = [summary(0, last), summary(last, last)];
    store.put_summaries(id, &rows, None).unwrap();
    for thread in [0, 7, THREAD_MAX.0] {
        for budget in [0, 1, 900] {
            let state = vec![thread as u8, budget as u8];
            store
                .put_summaries(id, &[], Some(&ContextRow { thread: Thread(thread), budget, state }))
                .unwrap();
        }
    }
    store.put_rewrites(id, &rows[..1], NOW).unwrap();
    store.put_jobs(id, &rows.each_ref().map(|row| NewJob { key: row.key, span: row.span }), NOW).unwrap();
    let decision = |number| DecisionRow {
        number,
        seq: Seq(last),
        time: Timestamp(5),
        looked: "all".into(),
        decided: "break".into(),
        why: "hard".into(),
    };
    for number in 3..8 {
        let recipe =
            Recipe { number, context: [number as u8 / 2; 16], state: vec![1], body: vec![number as u8] };
        let decision = decision(number);
        let turn = Some(NewDecision { row: &decision, keep: 3 });
        store.put_recipe(id, &recipe, 3, turn).unwrap();
    }
}

/// Carries everything, and says what became of each conversation.
fn carried(from: &dyn Store, to: &dyn Store) -> Vec<(u64, MigrationState)> {
    let way = Migration::new(from, to);
    let all = read_all(|page| from.conversations(page)).unwrap();
    let carry = |stored| {
        let done = way.carry(stored, NOW, &mut |_| {}).unwrap();
        (done.added, done.state)
    };
    all.iter().map(carry).collect()
}

fn all_equal(done: &[(u64, MigrationState)]) -> bool {
    done.iter().all(|(_, state)| *state == MigrationState::Equal)
}

fn play_all(store: &dyn Store, steps: &[Step]) {
    steps.iter().filter(|step| !matches!(step, Step::Reopen)).for_each(|step| drop(play(store, step)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if std::env::var_os("PROPTEST_CASES").is_some() { 256 } else { 32 }))]

    /// From memory to a file and back to memory: equal rows and bytes, and nothing to do a second time, also after the source
    /// has gone on.
    #[test]
    fn a_migrated_conversation_is_equal(before in steps(16), after in steps(8), is_decorated in any::<bool>()) {
        let (source, file) = (MemoryStore::new(), FileStore::new());
        play_all(&source, &before);
        let id = Tape::new(&source, "test:1").id;
        if is_decorated {
            decorate(&source, id);
        }
        prop_assert!(all_equal(&carried(&source, &file.store)));
        let again = carried(&source, &file.store);
        prop_assert!(all_equal(&again) && again.iter().all(|(added, _)| *added == 0), "{:?}", again);
        let back = MemoryStore::new();
        prop_assert!(all_equal(&carried(&file.store, &back)));
        let there = back.find(&ConversationKey("test:1".into())).unwrap().unwrap();
        prop_assert_eq!(back.raw(there.id, 0..u64::MAX).unwrap(), source.raw(id, 0..u64::MAX).unwrap());
        prop_assert_eq!(file.store.verify(&mut |_, _| {}).unwrap(), vec![]);
        // The source goes on: only what is new is carried. States of prompts that the target has stay, unless entries came.
        let entries = source.conversation(id).unwrap().entries;
        let is_growth = |step: &Step| matches!(step, Step::Extend(..) | Step::Open(..) | Step::Rewind(..));
        play_all(&source, &after.into_iter().filter(is_growth).collect::<Vec<_>>());
        let added = source.conversation(id).unwrap().entries - entries;
        let done = carried(&source, &file.store);
        prop_assert!(all_equal(&done), "{:?}", done);
        prop_assert_eq!(done[0].0, added);
        prop_assert_eq!(file.store.verify(&mut |_, _| {}).unwrap(), vec![]);
    }
}

/// A store that fails from a write on, as if the process had ended there.
struct Ended {
    inner: Arc<dyn Store>,
    left: AtomicU64,
}

impl StoreLayer for Ended {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn write<T>(
        &self,
        operation: &'static str,
        act: impl FnOnce() -> unforget_store::Result<T>,
    ) -> unforget_store::Result<T> {
        let left = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        left.map_err(|_| StoreError::OutOfScope { operation }).and_then(|_| act())
    }
}

/// A source with generations, an empty one among them, saves, purged entries and everything beside.
fn source() -> (MemoryStore, ConversationId) {
    let store = MemoryStore::new();
    let tape = Tape::new(&store, "t:1");
    tape.open(None, &["zero", "one ####", "two", "three"]);
    tape.open(Some((0, 2)), &[]);
    tape.open(Some((0, 3)), &["four"]);
    let mut append = tape.plan(Target::Extend(Generation(0), 4), &[b"five".to_vec()]);
    append.snapshot = Some(snapshot(5, "a"));
    store.append(append).unwrap();
    let mut rewound = tape.plan(tape.end(2), &[]);
    rewound.snapshot = Some(snapshot(2, "b"));
    store.append(rewound).unwrap();
    store.append(tape.plan(opening(None), &[])).unwrap();
    store.purge(tape.id, 1..3).unwrap();
    let id = tape.id;
    decorate(&store, id);
    (store, id)
}

/// Wherever the process ends, the next run goes on and ends with an equal conversation.
#[test]
fn a_migration_that_was_cut_short_goes_on() {
    let (source, _) = source();
    let mut cuts = 0;
    for writes in 0.. {
        let target: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let ended = Ended { inner: Arc::clone(&target), left: AtomicU64::new(writes) };
        let stored = read_all(|page| source.conversations(page)).unwrap().remove(0);
        let cut = Migration::new(&source, &ended).carry(&stored, NOW, &mut |_| {});
        if cut.is_ok() {
            break;
        }
        cuts += 1;
        let done = carried(&source, target.as_ref());
        assert!(all_equal(&done), "{writes} writes, then {done:?}");
    }
    assert!(cuts > 20, "{cuts} places to end at");
}

/// A purge of the source takes the words from the target too, with the next run.
#[test]
fn a_purge_is_carried() {
    let ((source, id), file) = (source(), FileStore::new());
    assert!(all_equal(&carried(&source, &file.store)));
    source.purge(id, 4..5).unwrap();
    assert!(all_equal(&carried(&source, &file.store)));
    let there = file.store.find(&ConversationKey("t:1".into())).unwrap().unwrap().id;
    assert_eq!(file.store.raw(there, 4..5).unwrap()[0].body, b"");
    assert_eq!(file.store.verify(&mut |_, _| {}).unwrap(), []);
}

/// What the target has and the source has not is told, and nothing is written.
#[test]
fn another_conversation_under_the_key_is_refused() {
    type Change = fn(&dyn Store, ConversationId);
    let table: [(&str, Change, &str); 8] = [
        ("it went on", |to, id| tape_append(to, id, "more"), "entries more there"),
        ("a purge", |to, id| purge(to, id), "entry 0 was purged there"),
        ("a save", |to, id| save(to, id), "save"),
        ("a generation", |to, id| open(to, id), "generation"),
        ("a verdict", |to, id| verdict(to, id), "verdict 7"),
        ("a raised span", |to, id| raise(to, id), "raised span 5"),
        ("a pin", |to, id| pin(to, id), "pin 3"),
        ("a label", |to, id| label(to, id), "star or tags"),
    ];
    for (what, change, want) in table {
        let ((source, _), target) = (source(), MemoryStore::new());
        assert!(all_equal(&carried(&source, &target)));
        let id = target.find(&ConversationKey("t:1".into())).unwrap().unwrap().id;
        change(&target, id);
        let before = target.conversation(id).unwrap();
        let stored = read_all(|page| source.conversations(page)).unwrap().remove(0);
        let done = Migration::new(&source, &target).carry(&stored, NOW, &mut |_| {}).unwrap();
        let MigrationState::Refused(why) = &done.state else { panic!("{what}: {done:?}") };
        assert!(why.contains(want), "{what}: {why}");
        assert_eq!(target.conversation(id).unwrap(), before, "{what}: nothing was written");
    }
}

fn tape(store: &dyn Store) -> Tape<'_> {
    Tape::new(store, "t:1")
}

fn tape_append(store: &dyn Store, _: ConversationId, body: &str) {
    let tape = tape(store);
    tape.append(tape.end(0), &[body]);
}

fn purge(store: &dyn Store, id: ConversationId) {
    store.purge(id, 0..1).unwrap();
}

fn save(store: &dyn Store, _: ConversationId) {
    let mut append = tape(store).plan(tape(store).end(0), &[]);
    append.snapshot = Some(snapshot(1, "elsewhere"));
    store.append(append).unwrap();
}

fn open(store: &dyn Store, _: ConversationId) {
    store.append(tape(store).plan(opening(None), &[])).unwrap();
}

fn verdict(store: &dyn Store, id: ConversationId) {
    let of = store.said(id).unwrap().verdicts.remove(0);
    store.put_verdict(id, &of).unwrap();
}

fn raise(store: &dyn Store, id: ConversationId) {
    let of = store.said(id).unwrap().raised.remove(0);
    store.put_raised(id, &of).unwrap();
}

fn pin(store: &dyn Store, id: ConversationId) {
    let before = store.said(id).unwrap().pins;
    let mut after = before.clone();
    let third = PinRow { pin: Pin { id: PinId(3), ..before[1].pin.clone() }, ..before[1].clone() };
    after.push(third);
    store.put_pins(id, &before, &after, &[]).unwrap();
}

fn label(store: &dyn Store, id: ConversationId) {
    let before = store.labels(unforget_store::Page::first(1)).unwrap().remove(0);
    let after = LabelRow { title: Some("mine".into()), changed: Timestamp(99), ..before.clone() };
    assert!(store.put_label(id, &before, &after).unwrap());
}

/// A check tells every part that differs, and the bytes of every entry are among them.
#[test]
fn a_check_tells_what_differs() {
    let ((source, _), target) = (source(), MemoryStore::new());
    let stored = read_all(|page| source.conversations(page)).unwrap().remove(0);
    let check = || Migration::new(&source, &target).check(&stored, &mut |_| {}).unwrap().state;
    assert_eq!(check(), MigrationState::Missing);
    target
        .ensure(&NewConversation {
            key: stored.key.clone(),
            format: "test".into(),
            title: None,
            parent: None,
        })
        .unwrap();
    assert_eq!(check(), MigrationState::Different(vec![ConversationPart::Entries]));
    let target = MemoryStore::new();
    assert!(all_equal(&carried(&source, &target)));
    let id = target.find(&stored.key).unwrap().unwrap().id;
    verdict(&target, id);
    let other = ContextRow { thread: Thread(7), budget: 1, state: b"newer".to_vec() };
    target.put_summaries(id, &[], Some(&other)).unwrap();
    let check = || Migration::new(&source, &target).check(&stored, &mut |_| {}).unwrap().state;
    let want = vec![ConversationPart::Verdicts, ConversationPart::Contexts];
    assert_eq!(check(), MigrationState::Different(want));
}

/// A state of a prompt that the target made by itself is not replaced by the source's.
#[test]
fn a_state_that_the_target_made_stays() {
    let ((source, _), target) = (source(), MemoryStore::new());
    assert!(all_equal(&carried(&source, &target)));
    let id = target.find(&ConversationKey("t:1".into())).unwrap().unwrap().id;
    let newer = ContextRow { thread: Thread(7), budget: 1, state: b"newer".to_vec() };
    target.put_summaries(id, &[], Some(&newer)).unwrap();
    let done = carried(&source, &target);
    assert_eq!(done, [(0, MigrationState::Different(vec![ConversationPart::Contexts]))]);
    assert_eq!(target.context(id, Thread(7), 1).unwrap(), Some(newer.clone()));
    // With new entries of the source, its states are those of the history as it is now.
    let tape = Tape::new(&source, "t:1");
    tape.append(tape.end(0), &["six"]);
    assert_eq!(carried(&source, &target), [(1, MigrationState::Equal)]);
    assert_ne!(target.context(id, Thread(7), 1).unwrap(), Some(newer));
}
