//! Two hosts on one database serve the same lanes, as two processes on one server do.
use std::sync::{Arc, Mutex};

use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_core::recover::{Refused, Unit};
use unforget_engine::Engine;
use unforget_engine::host::{
    Array, Ask, Asking, Brings, Delivered, DeliveredAnswer, DeliveredArray, Event, Host, LiveArray,
    Recognised, Recovered, WriteLatency,
};
use unforget_engine::migrate::{Migration, MigrationState};
use unforget_store::{MemoryStore, Name, NamedEntry, OpenOptions, SqliteStore, Store, StoreLayer, read_all};
use unforget_wire::{Dialect, Format};

use crate::common::host::{PI, answer, call, delivered, lane, page, result, turn, user};

const CHAT: Format = Format::OpenAiChat;

/// Stores that two hosts share, by name.
fn stores() -> Vec<(&'static str, tempfile::TempDir, Arc<dyn Store>)> {
    let folder = || tempfile::tempdir().unwrap();
    let file = folder();
    let sqlite = SqliteStore::open(file.path().join("u.sqlite"), &OpenOptions::default()).unwrap();
    vec![("memory", folder(), Arc::new(MemoryStore::new())), ("sqlite", file, Arc::new(sqlite))]
}

fn hosts(store: &Arc<dyn Store>) -> [Host; 2] {
    [7, 8].map(|time| Host::new(Engine::on(Arc::clone(store)), move || Timestamp(time)))
}

const fn asking() -> Asking<'static> {
    Asking {
        tenant: "default",
        session: None,
        is_named: false,
        user: None,
        kind: "",
        is_bare: false,
        form: CHAT,
    }
}

fn read(messages: &[&str]) -> Array {
    Array::read(CHAT, messages.iter().map(|message| message.as_bytes()), &Array::default()).unwrap()
}

/// The other host added an id to a stored entry. No entry came with it.
#[test]
fn names_that_another_host_added_are_noticed() {
    for (name, _folder, store) in stores() {
        let [one, other] = hosts(&store);
        let lane = lane("names");
        let message = user("what is it?", 1);
        one.commit_turn(&lane, PI, turn("t1", std::slice::from_ref(&message))).unwrap();
        let rewind = Event::Rewind { to: "e1".into() };
        assert!(one.event(&lane, PI, &rewind).is_err(), "{name}: nothing is called e1");
        let mut named = page(&[message], "c1");
        named.messages[0].id = Some("e1".into());
        named.cursor = None;
        assert_eq!(other.catch_up(&lane, PI, named).unwrap().why, DeliveryOutcome::UpToDate, "{name}");
        one.event(&lane, PI, &rewind).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

/// A lane in memory is as the store has it, so that no call fails for what was stored before it.
#[test]
fn entries_that_another_host_stored_are_on_the_path() {
    for (name, _folder, store) in stores() {
        let [one, other] = hosts(&store);
        let lane = lane("entries");
        one.commit_turn(&lane, PI, turn("t1", &[user("one", 1), answer("two", 2)])).unwrap();
        let second = turn("t2", &[user("three", 3), answer("four", 4)]);
        other.commit_turn(&lane, PI, second.clone()).unwrap();
        let prompt = one.assemble(&lane, PI, &Ask::new(9_000, Dialect::Pi)).unwrap().messages.concat();
        assert!(prompt.contains("four"), "{name}: {prompt}");
        assert!(one.commit_turn(&lane, PI, second).unwrap().is_duplicate, "{name}");
        one.commit_turn(&lane, PI, turn("t3", &[user("five", 5)])).unwrap();
        assert_eq!(other.path(&lane, PI).unwrap().len(), 5, "{name}");
    }
}

/// A client goes on behind an answer that it got through the other host.
#[test]
fn an_answer_through_another_host_is_found_by_its_id() {
    for (name, _folder, store) in stores() {
        let [one, other] = hosts(&store);
        let asking = asking();
        let array = read(&[r#"{"role":"user","content":"where is the lock taken?"}"#]);
        let begun = one.recognise(&asking, &array).unwrap();
        let brought = DeliveredArray { brings: Brings::All, array: &array };
        let asked_at = one.take(&begun.lane, CHAT, brought, None).unwrap().head;
        assert_eq!(one.answered_in("default", CHAT, "resp_1").unwrap(), None, "{name}");
        assert_eq!(other.recognise(&asking, &array).unwrap(), begun, "{name}: no second lane");
        let answered = DeliveredAnswer {
            asked_at,
            messages: vec![br#"{"role":"assistant","content":"in lane.rs"}"#.to_vec()],
            id: Some("resp_1".into()),
            interrupted: None,
            latency: WriteLatency::Now,
            is_late: false,
        };
        other.take_answer(&begun.lane, CHAT, &answered).unwrap();
        other.remember_answer("default", begun.line(), "resp_1").unwrap();
        assert_eq!(one.answered_in("default", CHAT, "resp_1").unwrap(), Some(begun), "{name}");
    }
}

/// A store that does something else once, right behind a look at names.
struct Interrupted {
    inner: Arc<dyn Store>,
    act: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

impl StoreLayer for Interrupted {
    fn inner(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn named(&self, id: ConversationId, names: &[Name]) -> unforget_store::Result<Vec<NamedEntry>> {
        let found = self.inner.named(id, names);
        let act = self.act.lock().unwrap().take();
        if let Some(act) = act {
            act();
        }
        found
    }
}

/// Two processes get the first call of a conversation at one time: a client tried again at the other one.
#[test]
fn who_loses_the_race_for_a_new_lane_recognises_again() {
    for (name, _folder, store) in stores() {
        for session in [None, Some("s")] {
            let asking = Asking { session, ..asking() };
            let of = session.unwrap_or("nobody");
            let words = format!(r#"{{"role":"user","content":"where is it, {of}?"}}"#);
            let array = read(&[&words]);
            let faster: Arc<Mutex<Option<Recognised>>> = Arc::default();
            let act = {
                let (store, faster, words) = (Arc::clone(&store), Arc::clone(&faster), words.clone());
                move || {
                    let [other, _] = hosts(&store);
                    let lane =
                        other.recognise(&Asking { session, ..self::asking() }, &read(&[&words])).unwrap();
                    let array = read(&[&words]);
                    let brought = DeliveredArray { brings: Brings::All, array: &array };
                    other.take(&lane.lane, CHAT, brought, None).unwrap();
                    *faster.lock().unwrap() = Some(lane);
                }
            };
            let interrupted: Arc<dyn Store> =
                Arc::new(Interrupted { inner: Arc::clone(&store), act: Mutex::new(Some(Box::new(act))) });
            let [one, _] = hosts(&interrupted);
            let lane = one.recognise(&asking, &array).unwrap();
            assert_eq!(Some(lane), faster.lock().unwrap().take(), "{name}, {session:?}");
        }
    }
}

/// Who serves the calls of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Served {
    /// One host.
    Once,
    /// A new host each.
    Anew,
    /// Two hosts in turn.
    ByTwo,
    /// A new host each, on another store to which everything was migrated.
    Moved,
}

/// Calls of the lane of an agent.
struct Calls {
    store: Arc<dyn Store>,
    hosts: [Host; 2],
    served: Served,
    count: usize,
    /// What each call returned.
    came: Vec<String>,
}

/// Another store with everything of one.
fn moved(from: &Arc<dyn Store>) -> Arc<dyn Store> {
    let to = MemoryStore::new();
    let way = Migration::new(from.as_ref(), &to);
    for stored in read_all(|page| from.conversations(page)).unwrap() {
        let done = way.carry(&stored, Timestamp(1), &mut |_| {}).unwrap();
        assert_eq!(done.state, MigrationState::Equal, "{done:?}");
    }
    Arc::new(to)
}

impl Calls {
    fn new(store: &Arc<dyn Store>, served: Served) -> Self {
        Self { store: Arc::clone(store), hosts: hosts(store), served, count: 0, came: Vec::new() }
    }

    /// The host for the next call.
    fn host(&mut self) -> &Host {
        self.count += 1;
        match self.served {
            Served::Once => &self.hosts[0],
            Served::ByTwo => &self.hosts[self.count % 2],
            Served::Moved => {
                self.store = moved(&self.store);
                self.hosts = hosts(&self.store);
                &self.hosts[0]
            }
            Served::Anew => {
                self.hosts = hosts(&self.store);
                &self.hosts[0]
            }
        }
    }

    fn note(&mut self, what: &str, came: impl std::fmt::Debug) {
        self.came.push(format!("{what}: {came:?}"));
    }

    fn ask(&mut self, budget: u64, is_first: bool, live: Option<Vec<Delivered>>) {
        let live = live.map(|messages| LiveArray { is_whole: true, messages });
        let ask = Ask { is_first, live, output: 500, ..Ask::new(budget, Dialect::Pi) };
        let made = self.host().assemble(&lane("turn"), PI, &ask).unwrap();
        self.note("prompt", (made.tokens, made.messages, made.certificate, made.receipt));
    }

    fn refused(&mut self) {
        let refused =
            Refused::Overflow { unit: Unit::Input, limit: Some(1_900), sent: Some(2_600), output: None };
        let recovered = self.host().refused(&lane("turn"), PI, refused, 0).unwrap();
        let Recovered::Retry { assembled, output, why } = recovered else { panic!("{recovered:?}") };
        self.note("smaller", (assembled.tokens, assembled.messages, output, why));
    }
}

/// A turn of an agent with everything whose state a lane has within a turn.
fn turn_of_an_agent(calls: &mut Calls) {
    let lane = lane("turn");
    let mut history = Vec::new();
    for n in 0..6 {
        let long = format!("{n} {}", "a few words that say little ".repeat(40));
        let said = [user(&long, n * 10 + 1), answer(&long, n * 10 + 2)];
        history.extend(said.clone());
        let came = calls.host().commit_turn(&lane, PI, turn(&format!("t{n}"), &said)).unwrap();
        calls.note("commit", came);
    }
    let asked = [history, vec![user("and now?", 100)]].concat();
    let came = calls.host().begin_turn(&lane, PI, turn("t9", &asked[12..])).unwrap();
    calls.note("begin", came);
    calls.ask(2_700, true, None);
    calls.refused();
    calls.ask(9_000, false, None);
    // The host's array does not have the message of the open turn yet.
    let came = calls.host().sync(&lane, PI, delivered(&asked[..12])).unwrap();
    calls.note("sync", came);
    let came = calls.host().answered(&lane, PI, 1_500).unwrap();
    calls.note("answered", came);
    calls.ask(9_000, false, None);
    let round = [asked.clone(), vec![call("c1", 101), result("c1", "found", 102)]].concat();
    calls.ask(9_000, false, Some(delivered(&round)));
    let came = calls.host().sync(&lane, PI, delivered(&asked[..12])).unwrap();
    calls.note("sync", came);
    calls.ask(9_000, false, None);
    let status = calls.host().status(&lane, PI).unwrap();
    calls.note("status", (status.turn, status.path, status.generation));
    let done = [&round[12..], &[answer("done", 103)]].concat();
    let came = calls.host().commit_turn(&lane, PI, turn("t9", &done)).unwrap();
    calls.note("commit", came);
    calls.ask(9_000, true, None);
    let came = calls.host().sync(&lane, PI, delivered(&asked[..12])).unwrap();
    calls.note("a cut", came);
}

#[test]
fn f052_a_turn_goes_on_in_another_host_with_the_same_prompts() {
    let mut all: Vec<Vec<String>> = Vec::new();
    for served in [Served::Once, Served::Anew, Served::ByTwo, Served::Moved] {
        for (name, _folder, store) in stores() {
            let mut calls = Calls::new(&store, served);
            turn_of_an_agent(&mut calls);
            for (one, other) in all.first().unwrap_or(&calls.came).iter().zip(&calls.came) {
                assert_eq!(one, other, "{served:?} on {name}");
            }
            all.push(calls.came);
        }
    }
}
