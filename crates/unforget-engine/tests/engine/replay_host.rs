//! A replay does what a live host does: equal deliveries give equal journals and equal prompts.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::{Value, json};
use unforget_core::id::Timestamp;
use unforget_core::policy::Policy;
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Delivered, Event, Host, LaneKey, Page};
use unforget_engine::prompt::Shape;
use unforget_engine::replay::RecordedHost;
use unforget_engine::view::Answers;
use unforget_wire::{Dialect, Format, Reader};

use crate::common::host::{answer, call, result, user};

const WINDOW: u64 = 8_192;

/// A message of a pi session with the id of its record and that of the record before it.
struct Said {
    id: String,
    parent: Option<String>,
    message: String,
}

impl Said {
    fn line(&self) -> String {
        let message: Value = serde_json::from_str(&self.message).unwrap();
        let head = json!({ "type": "message", "id": self.id, "parentId": self.parent, "timestamp": message["timestamp"] });
        let head = head.to_string();
        format!(r#"{},"message":{}}}"#, head.strip_suffix('}').unwrap(), self.message)
    }

    fn time(&self) -> i64 {
        let message: Value = serde_json::from_str(&self.message).unwrap();
        message["timestamp"].as_i64().unwrap()
    }
}

/// A session of turns with a tool, several breaks long at the window. The person goes back once.
fn session(turns: usize, back_at: usize) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut time = 1_795_292_714_000;
    for turn in 0..turns {
        let text = format!("line of part {turn} of the parser\n").repeat(40);
        let messages = [
            user(&format!("Please look at part {turn} of the parser."), time),
            call(&format!("call_{turn}"), time + 2_000),
            result(&format!("call_{turn}"), &text, time + 3_000),
            answer(&format!("Part {turn} is done. {}", "It reads the input. ".repeat(20)), time + 9_000),
        ];
        for message in messages {
            let parent = if turn == back_at && said.len() == 4 * back_at {
                // Four turns are taken back.
                said.get(4 * (back_at - 4) - 1)
            } else {
                said.last()
            };
            let parent = parent.map(|said| said.id.clone());
            said.push(Said { id: format!("{:08x}", said.len()), parent, message });
        }
        // Now and then the provider's cache expires.
        time += if turn % 7 == 6 { 900_000 } else { 60_000 };
    }
    said
}

/// The prompts of a replay: system and messages, one per call.
fn replayed(session: &[Said], engine: &Engine, key: &str, shape: Shape) -> Vec<Vec<String>> {
    let head = format!(
        r#"{{"type":"session","version":3,"id":"{key}","timestamp":{},"cwd":"/w"}}"#,
        json!("2026-11-21T20:25:14.000Z")
    );
    let lines: String =
        std::iter::once(head).chain(session.iter().map(Said::line)).map(|line| line + "\n").collect();
    let mut reader = Reader::open(lines.as_bytes()).unwrap();
    let mut host = RecordedHost::begin(engine, reader.source(), Some(shape));
    let (mut answers, mut waiting, mut prompts) = (Answers::default(), Vec::new(), Vec::new());
    while let Some(record) = reader.next_record().unwrap() {
        if answers.is_call(&record.entry) {
            host.deliver(std::mem::take(&mut waiting)).unwrap();
            let assembled = host.prompt_before(&record).unwrap().assembled;
            prompts.push([assembled.system, assembled.messages].concat());
        }
        waiting.push(record);
    }
    host.deliver(waiting).unwrap();
    prompts
}

/// The prompts of a live host with the same deliveries.
fn lived(session: &[Said], engine: &Engine, lane: &LaneKey, dialect: Dialect) -> Vec<Vec<String>> {
    let clock = Arc::new(AtomicI64::new(session[0].time()));
    let now = Arc::clone(&clock);
    let host = Host::new(engine.clone(), move || Timestamp(now.load(Ordering::Relaxed)));
    let mut prompts = Vec::new();
    let mut page = Page::default();
    for (index, said) in session.iter().enumerate() {
        let before = index.checked_sub(1).map(|before| session[before].id.clone());
        if said.parent != before {
            host.catch_up(lane, Format::Pi, std::mem::take(&mut page)).unwrap();
            clock.store(said.time(), Ordering::Relaxed);
            let to = said.parent.clone().unwrap();
            host.event(lane, Format::Pi, &Event::Rewind { to }).unwrap();
        }
        if said.message.contains(r#""role":"assistant""#) {
            host.catch_up(lane, Format::Pi, std::mem::take(&mut page)).unwrap();
            let assembled = host.assemble(lane, Format::Pi, &Ask::new(WINDOW, dialect)).unwrap();
            prompts.push([assembled.system, assembled.messages].concat());
        }
        if page.messages.is_empty() {
            clock.store(said.time(), Ordering::Relaxed);
        }
        page.messages.push(Delivered::new(said.message.as_str()).with_id(&said.id));
    }
    host.catch_up(lane, Format::Pi, page).unwrap();
    prompts
}

fn shape(dialect: Dialect) -> Shape {
    let policy = Policy { cache_ttl_ms: dialect.cache_ttl_ms(), ..Policy::with_reserve(WINDOW, 0) };
    Shape { policy, ..Shape::new(WINDOW, None, dialect) }
}

#[test]
fn a_replay_gives_the_prompts_of_a_live_host() {
    let session = session(60, 40);
    for dialect in Dialect::ALL {
        let (ours, theirs) = (Engine::in_memory(), Engine::in_memory());
        let replayed = replayed(&session, &ours, "s", shape(dialect));
        let lived = lived(&session, &theirs, &LaneKey("pi:s".to_owned()), dialect);
        assert_eq!((replayed.len(), lived.len()), (120, 120));
        for (index, (ours, theirs)) in replayed.iter().zip(&lived).enumerate() {
            assert_eq!(ours, theirs, "{}, call {index}", dialect.name());
        }
        let said = replayed.last().unwrap().concat();
        assert!(said.contains("history-summary"), "{}: nothing broke, so little is compared", dialect.name());
        assert!(!said.contains("of part 38 "), "{}: those turns were taken back", dialect.name());
    }
}

#[test]
fn a_replay_writes_the_journal_of_a_live_host() {
    let session = session(20, 60);
    let (ours, theirs) = (Engine::in_memory(), Engine::in_memory());
    replayed(&session, &ours, "s", shape(Dialect::Anthropic));
    lived(&session, &theirs, &LaneKey("pi:s".to_owned()), Dialect::Anthropic);
    assert_eq!(ours.digest().unwrap(), theirs.digest().unwrap(), "line by line");
}

#[test]
fn a_replay_that_is_repeated_stores_nothing_twice() {
    let whole = session(30, 20);
    let engine = Engine::in_memory();
    replayed(&whole[..50], &engine, "s", shape(Dialect::Anthropic));
    let again = replayed(&whole, &engine, "s", shape(Dialect::Anthropic));
    let fresh = Engine::in_memory();
    assert_eq!(again, replayed(&whole, &fresh, "s", shape(Dialect::Anthropic)));
    assert_eq!(engine.digest().unwrap(), fresh.digest().unwrap());
}
