//! A fork that is cut off at any write, by an error or by the end of the process: it is finished, and shows what it would have shown.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::json;
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_engine::Engine;
use unforget_engine::host::{
    Array, Ask, Asking, Brings, Delivered, DeliveredArray, Event, Host, HostError, LaneKey, RegisterAnswer,
    TakenArray, Turn, WriteLatency,
};
use unforget_sim::fault::{FaultStore, Mode};
use unforget_store::{Log as _, MemoryStore, Store};
use unforget_wire::{Dialect, Format};

const PI: Format = Format::Pi;
/// Turns of the parent: more lines than are copied in one transaction.
const TURNS: i64 = 220;
const UNTIL: &str = "e218-1";

fn lane(name: &str) -> LaneKey {
    LaneKey(format!("agent:{name}"))
}

fn said(role: &str, words: &str, time: i64) -> Delivered {
    let content = json!([{ "type": "text", "text": words }]);
    Delivered::new(json!({ "role": role, "content": content, "timestamp": time }).to_string())
}

fn host(store: &Arc<FaultStore>) -> Host {
    let store: Arc<dyn Store> = Arc::clone(store) as Arc<dyn Store>;
    Host::new(Engine::on(store), || Timestamp(7))
}

fn prompt(host: &Host, lane: &LaneKey) -> Vec<String> {
    host.assemble(lane, PI, &Ask::new(4_000, Dialect::Pi)).unwrap().messages
}

/// A store with a parent whose prompt broke.
fn parent() -> Arc<FaultStore> {
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let host = host(&store);
    let words = "the gauge at the jetty was read and written down ".repeat(6);
    for n in 0..TURNS {
        let asked = said("user", &format!("question {n}: {words}"), n * 10 + 1).with_id(&format!("e{n}-0"));
        let answer =
            said("assistant", &format!("answer {n}: {words}"), n * 10 + 2).with_id(&format!("e{n}-1"));
        let turn = |messages| Turn { key: n.to_string(), messages };
        host.begin_turn(&lane("parent"), PI, turn(vec![asked.clone()])).unwrap();
        prompt(&host, &lane("parent"));
        host.commit_turn(&lane("parent"), PI, turn(vec![asked, answer])).unwrap();
    }
    store
}

fn fork() -> Event {
    Event::Fork { from: lane("parent"), until: Some(UNTIL.to_owned()) }
}

#[test]
fn a_fork_that_is_cut_off_is_finished() {
    let store = parent();
    let whole = {
        let host = host(&store);
        host.event(&lane("child"), PI, &fork()).unwrap();
        prompt(&host, &lane("child"))
    };
    assert!(whole.concat().contains("history-summary"));
    let path = host(&store).path(&lane("parent"), PI).unwrap();
    let taken = path.get(..438).unwrap();
    for mode in Mode::ALL {
        for nth in 1.. {
            let child = lane(&format!("{mode:?}-{nth}"));
            store.arm(nth, mode);
            let first = catch_unwind(AssertUnwindSafe(|| host(&store).event(&child, PI, &fork())));
            if !store.disarm() {
                assert!(first.is_ok_and(|outcome| outcome.is_ok()) && nth > 6, "{nth} writes");
                break;
            }
            // Another process finds what is stored, and the host says it again.
            let host = host(&store);
            let found = host.path(&child, PI).unwrap();
            assert!(found.is_empty() || found == taken, "{mode:?} at {nth}: {} entries", found.len());
            host.event(&child, PI, &fork()).unwrap();
            assert_eq!(prompt(&host, &child), whole, "{mode:?} at {nth}");
            assert_eq!(host.path(&child, PI).unwrap(), taken, "{mode:?} at {nth}");
            let key = ConversationKey(format!("journal:{}", child.0));
            let lines = store.find(&key).unwrap().unwrap().entries;
            assert_eq!(lines, 219 * 3 + 1, "{mode:?} at {nth}: nothing is there twice");
        }
    }
    let problems = host(&store).engine().verify(&mut |_, _| {}).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

const CHAT: Format = Format::OpenAiChat;

/// A client's call: the messages of its prompt.
fn ask(host: &Host, bodies: &[Vec<u8>]) -> Result<Vec<String>, HostError> {
    let array = Array::read(CHAT, bodies.iter().map(Vec::as_slice), &Array::default())?;
    let asking = Asking {
        tenant: "default",
        session: None,
        is_named: false,
        user: None,
        kind: "k",
        is_bare: false,
        form: CHAT,
    };
    let lane = host.recognise(&asking, &array)?;
    let receipt = host.take(&lane.lane, CHAT, DeliveredArray { brings: Brings::All, array: &array }, None)?;
    let ask = Ask::new(6_000, Dialect::OpenAiChat);
    let (made, _) = host.assemble_at(
        &lane.lane,
        CHAT,
        TakenArray { brings: Brings::All, array: &array, head: receipt.head },
        &ask,
    )?;
    host.remember(&asking, &lane, &array.said(), RegisterAnswer { id: None, latency: WriteLatency::Now })?;
    Ok(made.messages)
}

/// Forks at a gateway, where a client announces no fork and repeats its call.
#[test]
fn a_client_whose_fork_was_cut_off_gets_the_same_prompt() {
    let say = |role: &str, words: &str| json!({ "role": role, "content": words }).to_string().into_bytes();
    let words = "the gauge at the jetty was read and written down ".repeat(12);
    let turn = |n| {
        [say("user", &format!("question {n}: {words}")), say("assistant", &format!("answer {n}: {words}"))]
    };
    let talk = |turns: u32, last: &str| -> Vec<Vec<u8>> {
        (0..turns).flat_map(turn).chain([say("user", last)]).collect()
    };
    let store = Arc::new(FaultStore::new(Arc::new(MemoryStore::new())));
    let parent = ask(&host(&store), &talk(80, "and now?")).unwrap();
    for mode in Mode::ALL {
        for nth in 1.. {
            let fork = talk(78, &format!("{mode:?} {nth}, or else?"));
            store.arm(nth, mode);
            let first = catch_unwind(AssertUnwindSafe(|| ask(&host(&store), &fork)));
            let is_cut_off = store.disarm();
            let shown = ask(&host(&store), &fork).unwrap();
            let common = parent.iter().zip(&shown).take_while(|(one, other)| one == other).count();
            assert_eq!(common + 1, shown.len(), "{mode:?} at {nth}: all but its own question");
            assert!(shown.concat().contains("history-summary"));
            if !is_cut_off {
                assert!(first.is_ok_and(|outcome| outcome.is_ok()) && nth > 8, "{nth} writes");
                break;
            }
        }
    }
    let problems = host(&store).engine().verify(&mut |_, _| {}).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}
