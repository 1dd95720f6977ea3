#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use unforget_core::digest::Chain;
use unforget_wire::Dialect;

use super::super::{Ask, Delivered, Event, Host, LiveArray, Turn};
use super::*;

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

fn open(engine: &Engine) -> Lane {
    Lane::open(engine, &key(), PI, Timestamp(7)).unwrap()
}

fn folded(lane: &Lane) -> Track {
    let mut track = Track::new();
    for row in lane.engine.store().rows(lane.conversation, 0..u64::MAX).unwrap() {
        track.step(&row);
    }
    track
}

#[test]
fn a_lane_is_opened_from_its_stored_state() {
    let engine = Engine::in_memory();
    live(&engine, 400);
    let lane = open(&engine);
    assert_eq!(lane.track, folded(&lane));
    let behind = lane.track.next - lane.stored;
    assert!(lane.track.next > 800 && behind < 100, "{behind} rows of {} were read", lane.track.next);
}

#[test]
fn a_state_of_something_else_is_not_taken() {
    let engine = Engine::in_memory();
    live(&engine, 60);
    let lane = open(&engine);
    let mut other = lane.track.clone();
    other.chain = Chain::root();
    let mut longer = lane.track.clone();
    longer.next += 1;
    let table = [
        (b"not a state".to_vec(), "damage"),
        (other.encode(), "another journal"),
        (longer.encode(), "rows that are not there"),
    ];
    for (state, why) in table {
        let row = ContextRow { thread: STATE, budget: PATH, state };
        engine.store().put_summaries(lane.conversation, &[], Some(&row)).unwrap();
        assert_eq!(open(&engine).track, lane.track, "{why}");
    }
}
