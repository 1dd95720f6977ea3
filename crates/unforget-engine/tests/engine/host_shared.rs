//! Two hosts on one database serve the same lanes, as two processes on one server do.
use std::sync::Arc;

use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;
use unforget_engine::host::{
    Array, Ask, Asking, Brings, DeliveredAnswer, DeliveredArray, Event, Host, WriteLatency,
};
use unforget_store::{MemoryStore, OpenOptions, SqliteStore, Store};
use unforget_wire::{Dialect, Format};

use crate::common::host::{PI, answer, lane, page, turn, user};

const CHAT: Format = Format::OpenAiChat;

/// Stores that two hosts share, by name.
fn stores() -> Vec<(&'static str, tempfile::TempDir, Arc<dyn Store>)> {
    let folder = || tempfile::tempdir().unwrap();
    let file = folder();
    let sqlite = SqliteStore::open(&file.path().join("u.sqlite"), &OpenOptions::default()).unwrap();
    vec![("memory", folder(), Arc::new(MemoryStore::new())), ("sqlite", file, Arc::new(sqlite))]
}

fn hosts(store: &Arc<dyn Store>) -> [Host; 2] {
    [7, 8].map(|time| Host::new(Engine::on(Arc::clone(store)), move || Timestamp(time)))
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
        let asking = Asking {
            tenant: "default",
            session: None,
            is_named: false,
            user: None,
            kind: "",
            is_bare: false,
            form: CHAT,
        };
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
        };
        other.take_answer(&begun.lane, CHAT, &answered).unwrap();
        other.remember_answer("default", begun.line(), "resp_1").unwrap();
        assert_eq!(one.answered_in("default", CHAT, "resp_1").unwrap(), Some(begun), "{name}");
    }
}
