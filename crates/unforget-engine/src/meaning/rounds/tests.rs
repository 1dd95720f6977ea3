//! The rounds, driven step by step, and the thread that drives them.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use unforget_llm::embed::{Embedded, Embedder};
use unforget_llm::{Account, Cancel, Cause, Clock, Fault};
use unforget_store::{MemoryStore, Page, Result, SegmentHead, Store, StoreError, StoreLayer, read_all};

use super::*;
use crate::meaning::{Embedding, MeaningConfig};

const LOOK: Duration = Duration::from_secs(5);

/// A clock that goes when it is told to.
#[derive(Default)]
struct SetClock(AtomicU64);

impl SetClock {
    fn pass(&self, ms: i64) {
        self.0.fetch_add(ms as u64, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }

    fn time(&self) -> Timestamp {
        Timestamp(self.0.load(Ordering::Relaxed) as i64)
    }

    fn wait(&self, _: Duration, _: &Cancel) {}

    fn chance(&self) -> f64 {
        0.5
    }
}

/// A model that fails for calls with one of some words.
struct Scripted {
    account: Account,
    length: AtomicU64,
    fails: Mutex<BTreeSet<&'static str>>,
    /// Whether such a call ends the model, so that the next one fails too.
    dies: AtomicBool,
    is_dead: AtomicBool,
    calls: Mutex<Vec<Vec<String>>>,
    called: Condvar,
}

impl Scripted {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            account: Account { provider: "test".to_owned(), credential: "none".to_owned() },
            length: AtomicU64::new(8),
            fails: Mutex::default(),
            dies: AtomicBool::new(false),
            is_dead: AtomicBool::new(false),
            calls: Mutex::default(),
            called: Condvar::new(),
        })
    }

    fn heard(&self) -> Vec<String> {
        std::mem::take(&mut *self.calls.lock().unwrap()).concat()
    }

    fn set_failing(&self, words: &[&'static str]) {
        *self.fails.lock().unwrap() = words.iter().copied().collect();
    }
}

impl Embedder for Scripted {
    fn account(&self) -> &Account {
        &self.account
    }

    fn name(&self) -> &'static str {
        "scripted"
    }

    fn embed(&self, texts: &[&str], _: Duration) -> std::result::Result<Embedded, Fault> {
        self.calls.lock().unwrap().push(texts.iter().map(|text| (*text).to_owned()).collect());
        self.called.notify_all();
        let fails = self.fails.lock().unwrap();
        let is_bad = texts.iter().any(|text| fails.iter().any(|word| text.contains(word)));
        let was_dead = self.is_dead.swap(is_bad && self.dies.load(Ordering::Relaxed), Ordering::Relaxed);
        if is_bad || was_dead {
            return Err(Fault::told(Cause::Server { retry_after: None }, &self.account, "scripted", ""));
        }
        let length = self.length.load(Ordering::Relaxed) as usize;
        Ok(Embedded { vectors: vec![vec![1.0; length]; texts.len()], tokens: None })
    }
}

/// A store that fails for some conversations, and counts pages of the list and reads of segments' heads.
struct Failing {
    inner: Arc<dyn Store>,
    broken: Mutex<BTreeSet<ConversationId>>,
    listed: AtomicU64,
    heads: AtomicU64,
}

impl StoreLayer for Failing {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn conversations(&self, page: Page<ConversationId>) -> Result<Vec<Conversation>> {
        self.listed.fetch_add(1, Ordering::Relaxed);
        self.inner.conversations(page)
    }

    fn segments(&self, id: ConversationId, page: Page<u64>) -> Result<Vec<SegmentHead>> {
        self.heads.fetch_add(1, Ordering::Relaxed);
        if self.broken.lock().unwrap().contains(&id) {
            return Err(StoreError::Backend { operation: "segments", source: "planted".into() });
        }
        self.inner.segments(id, page)
    }
}

/// An engine with conversations, a model and a clock.
struct Scene {
    engine: Engine,
    store: Arc<Failing>,
    scripted: Arc<Scripted>,
    model: Arc<MeaningModel>,
    clock: Arc<SetClock>,
    rounds: Rounds,
    news: Mutex<Vec<String>>,
}

impl Scene {
    /// * `talks` - the lines of each conversation, the newest last.
    fn new(talks: &[&[&str]]) -> Self {
        let inner: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let (broken, listed, heads) = (Mutex::default(), AtomicU64::new(0), AtomicU64::new(0));
        let store = Arc::new(Failing { inner, broken, listed, heads });
        let engine = Engine::on(Arc::clone(&store) as Arc<dyn Store>);
        let (scripted, clock) = (Scripted::new(), Arc::new(SetClock::default()));
        clock.pass(1_000_000);
        let model = Arc::new(MeaningModel::new(
            Arc::clone(&scripted) as Arc<dyn Embedder>,
            MeaningConfig { batch: 4, ..MeaningConfig::default() },
            Arc::clone(&clock) as Arc<dyn Clock>,
        ));
        engine.set_meaning(Some(Arc::clone(&model)));
        let scene =
            Self { engine, store, scripted, model, clock, rounds: Rounds::new(LOOK), news: Mutex::default() };
        for (number, lines) in talks.iter().enumerate() {
            scene.say(number, lines);
        }
        scene.store.heads.store(0, Ordering::Relaxed);
        scene
    }

    /// Adds a conversation, or lines to one.
    fn say(&self, number: usize, lines: &[&str]) -> ConversationId {
        let said = lines.iter().enumerate().map(|(at, text)| {
            let time = (number * 1_000 + at) as u64;
            serde_json::json!({"role": "user", "content": text, "timestamp": time}).to_string()
        });
        let said: Vec<String> = said.collect();
        let imported =
            self.engine.import_reader(said.join("\n").as_bytes(), &format!("talk{number}")).unwrap();
        self.engine.store().find(&imported.conversation).unwrap().unwrap().id
    }

    fn ids(&self) -> Vec<ConversationId> {
        let all = read_all(|page| self.store.inner.conversations(page)).unwrap();
        all.into_iter().map(|one| one.id).collect()
    }

    fn step(&mut self) -> bool {
        let news = &self.news;
        self.rounds.step(&self.engine, &self.model, &|one| news.lock().unwrap().push(one.to_string()))
    }

    /// Steps until nothing is left to do now; the number of steps that stored something.
    fn run(&mut self) -> u64 {
        let mut steps = 0;
        while self.step() {
            steps += 1;
            assert!(steps < 1_000, "it does not end");
        }
        steps
    }

    fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news.lock().unwrap())
    }

    /// Entries that wait, by conversation.
    fn left(&self) -> Vec<u64> {
        let all = read_all(|page| self.store.inner.conversations(page)).unwrap();
        all.iter()
            .map(|one| {
                Engine::on(Arc::clone(&self.store.inner)).meaning_state(one, &self.model).unwrap().left
            })
            .collect()
    }
}

#[test]
fn an_error_of_one_conversation_lets_the_others_go_on() {
    let mut scene = Scene::new(&[&["one"], &["two"], &["three"]]);
    let ids = scene.ids();
    scene.store.broken.lock().unwrap().insert(ids[2]);
    scene.run();
    assert_eq!(scene.left(), [0, 0, 1], "the newest one is broken");
    let told = scene.news();
    assert!(told.len() == 1 && told[0].contains("`segments`") && told[0].ends_with("in 1 min"), "{told:?}");
    scene.clock.pass(30_000);
    scene.run();
    assert_eq!(scene.news(), [] as [String; 0], "it waits");
    for minutes in [2, 4, 8, 16, 32, 60, 60] {
        scene.clock.pass(3_600_000);
        scene.run();
        let told = scene.news();
        assert!(told.len() == 1 && told[0].ends_with(&format!("in {minutes} min")), "{minutes}: {told:?}");
    }
    scene.store.broken.lock().unwrap().clear();
    scene.clock.pass(3_600_000);
    scene.run();
    assert_eq!((scene.left(), scene.news().len()), (vec![0, 0, 0], 0));
}

#[test]
fn nothing_is_listed_where_nothing_changed() {
    let mut scene = Scene::new(&[&["one", "two", "three", "four", "five"], &["six"]]);
    let listed = |scene: &Scene| scene.store.listed.swap(0, Ordering::Relaxed);
    assert_eq!(scene.run(), 3);
    assert_eq!(listed(&scene), 1, "once for all steps");
    for _ in 0..10 {
        scene.clock.pass(5_000);
        assert!(!scene.step());
    }
    assert_eq!(listed(&scene), 0, "nothing changed");
    assert_eq!(scene.scripted.heard().last().unwrap(), "one", "newest first, the oldest last");
    scene.say(7, &["seven"]);
    scene.clock.pass(5_000);
    assert_eq!((scene.run(), listed(&scene), scene.left()), (1, 1, vec![0, 0, 0]));
}

#[test]
fn what_comes_while_there_is_work_is_next() {
    let lines: Vec<String> = (0..40).map(|at| format!("line {at}")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut scene = Scene::new(&[&lines]);
    assert!(scene.step() && scene.step());
    scene.say(1, &["new words"]);
    scene.scripted.heard();
    assert!(scene.step());
    assert!(scene.scripted.heard()[0].starts_with("line"), "the list was read a moment ago");
    scene.clock.pass(5_000);
    assert!(scene.step());
    assert_eq!(scene.scripted.heard(), ["new words"]);
}

#[test]
fn a_text_that_always_fails_holds_nobody_up() {
    let mut scene = Scene::new(&[&["other", "talk"], &["good", "poison", "fine"]]);
    scene.scripted.set_failing(&["poison"]);
    assert_eq!(scene.run(), 1);
    assert_eq!(scene.left(), [0, 3], "the first failure: its conversation waits, the other one goes on");
    assert_eq!(scene.news().len(), 1);
    scene.clock.pass(60_000);
    assert_eq!(scene.run(), 0, "the second one: one by one, and one fails alone");
    assert_eq!(scene.left(), [0, 3]);
    scene.clock.pass(120_000);
    assert_eq!(scene.run(), 1, "again alone: it is left out");
    assert_eq!(scene.left(), [0, 0]);
    let ids = scene.ids();
    let newest = scene.engine.store().conversation(ids[1]).unwrap();
    let state = scene.engine.meaning_state(&newest, &scene.model).unwrap();
    assert_eq!((state.entries, state.without), (2, 1), "counted");
    let told = scene.news();
    assert!(told.len() == 2 && told[1].contains("1 pieces"), "{told:?}");
}

#[test]
fn a_text_that_ends_the_model_is_left_out_at_last() {
    let mut scene = Scene::new(&[&["good", "poison", "fine"]]);
    scene.scripted.set_failing(&["poison"]);
    scene.scripted.dies.store(true, Ordering::Relaxed);
    let mut minutes = 0;
    while scene.left() != [0] {
        scene.run();
        scene.clock.pass(60_000);
        minutes += 1;
        assert!(minutes < 10, "it is never left out");
    }
    let ids = scene.ids();
    let state = scene.engine.meaning_state(&scene.engine.store().conversation(ids[0]).unwrap(), &scene.model);
    assert_eq!(state.map(|state| (state.entries, state.without)).unwrap(), (2, 1));
}

#[test]
fn an_outage_of_the_model_costs_no_text_its_vector() {
    let mut scene = Scene::new(&[&["one"], &["two"], &["three"], &["four"]]);
    scene.scripted.set_failing(&[""]);
    for _ in 0..50 {
        scene.run();
        scene.clock.pass(60_000);
    }
    assert_eq!(scene.left(), [1, 1, 1, 1]);
    assert_eq!(scene.news().len(), 1, "told once");
    scene.scripted.set_failing(&[]);
    scene.run();
    let all = scene.ids();
    let mut without = 0;
    for id in all {
        let one = scene.engine.store().conversation(id).unwrap();
        without += scene.engine.meaning_state(&one, &scene.model).unwrap().without;
    }
    assert_eq!((scene.left(), without), (vec![0, 0, 0, 0], 0));
}

#[test]
fn another_length_under_the_same_name_replaces_nothing() {
    let mut scene = Scene::new(&[&["one"], &["two"]]);
    scene.run();
    scene.scripted.length.store(16, Ordering::Relaxed);
    scene.say(1, &["two", "more"]);
    scene.clock.pass(5_000);
    scene.run();
    assert_eq!(scene.left(), [0, 1]);
    let told = scene.news();
    assert!(told.len() == 1 && told[0].contains("16 numbers") && told[0].contains("have 8"), "{told:?}");
    let ids = scene.ids();
    let newest = scene.engine.store().conversation(ids[1]).unwrap();
    assert_eq!(scene.engine.meaning_state(&newest, &scene.model).unwrap().entries, 1, "the old one is there");
    scene.scripted.heard();
    scene.clock.pass(3_600_000);
    scene.run();
    assert_eq!(scene.scripted.heard(), [] as [String; 0], "nothing is paid for it again");
    scene.engine.drop_vectors(ids[1]).unwrap();
    scene.clock.pass(3_600_000);
    scene.run();
    assert_eq!(scene.left(), [0, 0], "a person chose the new ones");
}

#[test]
fn heads_are_read_once_before_a_call_and_once_after() {
    let mut scene = Scene::new(&[&["one", "two"]]);
    assert!(scene.step());
    assert_eq!(scene.store.heads.load(Ordering::Relaxed), 2);
}

#[test]
fn the_thread_works_and_ends() {
    let scene = Scene::new(&[&["one", "two"], &["three"]]);
    let embedding = Embedding::start(scene.engine.clone(), Duration::from_millis(1), |_| ()).unwrap();
    let calls = scene.scripted.calls.lock().unwrap();
    let (calls, waited) = scene
        .scripted
        .called
        .wait_timeout_while(calls, Duration::from_mins(1), |calls| calls.len() < 2)
        .unwrap();
    assert!(!waited.timed_out(), "{calls:?}");
    drop(calls);
    // What it was told after the first round is found by its next look.
    scene.say(2, &["four"]);
    let calls = scene.scripted.calls.lock().unwrap();
    let has_new = |calls: &Vec<Vec<String>>| calls.iter().flatten().any(|text| text == "four");
    // Its clock stands still: only an empty list of work makes it look again.
    let (calls, waited) = scene
        .scripted
        .called
        .wait_timeout_while(calls, Duration::from_mins(1), |calls| !has_new(calls))
        .unwrap();
    assert!(!waited.timed_out(), "{calls:?}");
    drop(calls);
    drop(embedding);
    assert_eq!(scene.left(), [0, 0, 0], "a call that was made is stored");
}
