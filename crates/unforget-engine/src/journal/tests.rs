#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use unforget_core::digest::Chain;
use unforget_wire::Dialect;

use super::*;
use crate::host::{Ask, Event, Host, LiveArray, Turn};

const PI: Format = Format::Pi;

fn key() -> LaneKey {
    LaneKey("agent:main".to_owned())
}

fn said(role: &str, time: i64) -> Delivered {
    let content = json!([{ "type": "text", "text": format!("{role} says {time}") }]);
    Delivered::new(json!({ "role": role, "content": content, "timestamp": time }).to_string())
}

/// Turns with everything that makes a path: events between messages, volatile input, cuts.
fn live(engine: &Engine, turns: i64) {
    let host = Host::new(engine.clone(), || Timestamp(7));
    for n in 0..turns {
        let messages =
            vec![said("user", n * 10 + 1).with_id(&format!("u{n}")), said("assistant", n * 10 + 2)];
        host.commit_turn(&key(), PI, Turn { key: n.to_string(), messages }).unwrap();
        if n % 5 == 0 {
            let event = Delivered { is_volatile: true, ..said("user", n * 10 + 3) };
            let live = LiveArray { is_whole: false, messages: vec![event] };
            let ask = Ask { live: Some(live), ..Ask::new(8_000, Dialect::Pi) };
            host.assemble(&key(), PI, &ask).unwrap();
        }
        if n % 50 == 30 {
            host.event(&key(), PI, &Event::Rewind { to: format!("u{}", n - 3) }).unwrap();
        }
    }
}

fn open(engine: &Engine) -> Journal {
    Journal::open(engine, &key(), PI, Timestamp(7)).unwrap().journal
}

fn folded(journal: &Journal) -> PathState {
    let mut path = PathState::new();
    for row in journal.engine.store().rows(journal.conversation, 0..u64::MAX).unwrap() {
        path.step(&row);
    }
    path
}

#[test]
fn a_lane_is_opened_from_its_stored_state() {
    let engine = Engine::in_memory();
    live(&engine, 400);
    let journal = open(&engine);
    assert_eq!(journal.path, folded(&journal));
    let behind = journal.path.next - journal.stored;
    assert!(journal.path.next > 800 && behind < 100, "{behind} rows of {} were read", journal.path.next);
}

#[test]
fn a_state_of_something_else_is_not_taken() {
    let engine = Engine::in_memory();
    live(&engine, 60);
    let journal = open(&engine);
    let mut other = journal.path.clone();
    other.chain = Chain::root();
    let mut longer = journal.path.clone();
    longer.next += 1;
    let table = [
        (b"not a state".to_vec(), "damage"),
        (other.encode(), "another journal"),
        (longer.encode(), "rows that are not there"),
    ];
    for (state, why) in table {
        let row = ContextRow { thread: STATE, budget: PATH, state };
        engine.store().put_summaries(journal.conversation, &[], Some(&row)).unwrap();
        assert_eq!(open(&engine).path, journal.path, "{why}");
    }
}
