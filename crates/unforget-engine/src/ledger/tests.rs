//! A ledger folded in steps, saved and read again equals the ledger of the whole path.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use unforget_core::digest::Digest;
use unforget_core::id::{ConversationKey, Timestamp};
use unforget_core::ledger::{
    Called, Command, CommandPurpose, CommandReach, CommandRow, CommandTarget, Commit, CommitRow, Deed,
    Failure, FailureKind, FaultPlace, FileChange, FileRow, Lines, Look, Outcome, Put, Rows, ShownOutput,
    SimpleCommand, Subject, TaskDeed, TaskRow, TaskState, Telling, Tells, TestCounts, UrlRow, WorkPlace,
};
use unforget_wire::Format;

use super::*;
use crate::host::{Delivered, Event, Host, LaneKey, Turn};

fn pi(role: &str, content: &Value, time: i64) -> String {
    let stop = if role == "assistant" { "toolUse" } else { "" };
    json!({ "role": role, "content": content, "stopReason": stop, "model": "m", "timestamp": time })
        .to_string()
}

/// A call and its result, delivered by a host with ids.
fn exchange(kind: u64, aim: u64, time: i64) -> Vec<Delivered> {
    let id = format!("c{time}");
    let path = format!("src/part_{aim}.rs");
    let (name, arguments) = match kind % 6 {
        0 => ("read", json!({ "path": path })),
        1 => ("edit", json!({ "path": path, "oldText": "a", "newText": "b" })),
        2 => ("bash", json!({ "command": format!("cargo test part_{aim}") })),
        3 => ("web_fetch", json!({ "url": format!("https://example.com/{aim}") })),
        4 => ("bash", json!({ "command": format!("git commit -m part_{aim}") })),
        _ => ("write", json!({ "path": path, "content": "c" })),
    };
    let text = match kind % 12 {
        2 => "test result: FAILED. 3 passed; 1 failed; 0 ignored".to_owned(),
        4 | 10 => format!("[main {time:07x}] part {aim}"),
        _ => "done".to_owned(),
    };
    let call = json!([{ "type": "toolCall", "id": id, "name": name, "arguments": arguments }]);
    let result = json!({ "role": "toolResult", "toolCallId": id, "toolName": name, "isError": kind % 12 == 2,
        "content": [{ "type": "text", "text": text }], "timestamp": time + 2 });
    let delivered =
        |text: String, n: i64| Delivered { id: Some(format!("e{}", time + n)), ..Delivered::new(text) };
    vec![
        delivered(pi("user", &json!("go on"), time), 0),
        delivered(pi("assistant", &call, time + 1), 1),
        delivered(result.to_string(), 2),
    ]
}

struct Lived {
    host: Host,
    lane: LaneKey,
    /// Ids of the entries of the path.
    ids: Vec<String>,
}

impl Lived {
    fn new() -> Self {
        let host = Host::new(Engine::in_memory(), || Timestamp(7));
        Self { host, lane: LaneKey("agent:ledger".into()), ids: Vec::new() }
    }

    fn step(&mut self, at: usize, (op, kind, aim): (u8, u64, u64)) {
        let time = at as i64 * 10 + 1;
        match op {
            0 if !self.ids.is_empty() => {
                let keep = aim as usize % self.ids.len();
                let event = Event::Rewind { to: self.ids[keep].clone() };
                self.host.event(&self.lane, Format::Pi, &event).unwrap();
                self.ids.truncate(keep + 1);
            }
            1 if kind % 7 == 0 => {
                self.host.event(&self.lane, Format::Pi, &Event::Reset).unwrap();
                self.ids.clear();
            }
            _ => {
                let messages = exchange(kind, aim, time);
                self.ids.extend(messages.iter().filter_map(|one| one.id.clone()));
                let turn = Turn { key: time.to_string(), messages };
                self.host.commit_turn(&self.lane, Format::Pi, turn).unwrap();
            }
        }
    }

    fn conversation(&self) -> Option<ConversationId> {
        let key = self.host.status(&self.lane, Format::Pi).unwrap().conversation;
        Some(self.host.engine().store().find(&ConversationKey(key)).unwrap()?.id)
    }
}

/// Folded from the first entry, regardless of saved ledgers.
fn whole(engine: &Engine, lane: ThreadRef) -> Ledger {
    let stored = engine.store().conversation(lane.conversation).unwrap();
    let mut folded = Folded::default();
    assert!(engine.extend(&stored, lane, None, &mut folded).unwrap());
    folded.ledger
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Through turns, rewinds and resets: within one process, after a restart, and up to any entry.
    #[test]
    fn a_little_at_a_time_is_all_at_once(
        steps in prop::collection::vec((0_u8..8, 0_u64..12, 0_u64..5), 1..24),
        keep in prop::collection::vec(any::<bool>(), 24),
    ) {
        let mut lived = Lived::new();
        let mut running = Folded::default();
        for (at, step) in steps.into_iter().enumerate() {
            lived.step(at, step);
            let Some(conversation) = lived.conversation() else { continue };
            let (engine, lane) = (lived.host.engine(), ThreadRef { conversation, thread: Thread(0) });
            let want = whole(engine, lane);
            // Pretend that enough entries came to save it, or that none did.
            running.behind = if keep[at] { u64::MAX / 2 } else { 0 };
            engine.fold_ledger(conversation, Thread(0), &mut running).unwrap();
            prop_assert_eq!(&running.ledger, &want, "in one process");
            let mut started = Folded::default();
            engine.fold_ledger(conversation, Thread(0), &mut started).unwrap();
            prop_assert_eq!(&started.ledger, &want, "from what was kept");
            if let Some(head) = running.head() {
                let until = engine.ledger_until(lane, head, 9).unwrap();
                prop_assert_eq!(&until.ledger, &want, "up to the newest");
            }
        }
    }

    #[test]
    fn a_ledger_comes_back_and_a_damaged_one_does_not(
        steps in prop::collection::vec((2_u8..8, 0_u64..12, 0_u64..9), 1..16), cut in 0.0..1.0,
    ) {
        let mut lived = Lived::new();
        steps.into_iter().enumerate().for_each(|(at, step)| lived.step(at, step));
        let lane = ThreadRef { conversation: lived.conversation().unwrap(), thread: Thread(0) };
        let ledger = whole(lived.host.engine(), lane);
        let bytes = codec::encode(ledger.rows(), Seq(9));
        prop_assert_eq!(codec::decode(&bytes), Some((ledger.rows().clone(), Seq(9))));
        let half = &bytes[..(bytes.len() as f64 * cut) as usize];
        prop_assert_eq!(codec::decode(half), None);
    }

    #[test]
    fn other_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Some((rows, head)) = codec::decode(&bytes) {
            prop_assert_eq!(codec::decode(&codec::encode(&rows, head)), Some((rows, head)));
        }
    }
}

fn at() -> WorkPlace {
    WorkPlace { call: Seq(0), answer: Seq(u64::MAX) }
}

fn part() -> SimpleCommand {
    let digest = Digest::of(b"d");
    let target = CommandTarget { name: digest, above: vec![digest], is_root: false };
    SimpleCommand {
        program: digest,
        kin: digest,
        compiles: Some(digest),
        folder: Some(target.clone()),
        targets: vec![target],
        purpose: CommandPurpose::Check,
        reach: CommandReach::More,
        hides: true,
        shown: ShownOutput::Mixed,
    }
}

fn failure() -> Failure {
    let (at, part, kind) = (at(), Some(part()), FailureKind::Line(Digest::of(b"f")));
    Failure {
        what: "x".into(),
        tool: Digest::of(b"t"),
        told: "ü".into(),
        kind,
        place: FaultPlace { file: "f".into(), package: "p".into() },
        part,
        times: u32::MAX,
        first: at,
        last: at,
        cleared: Some(at),
    }
}

/// A call with a deed of every kind.
fn called() -> Called {
    let digest = Digest::of(b"d");
    let tells = Tells { asks: true, hides: false };
    let command = Command {
        text: "c".into(),
        same: digest,
        work: digest,
        tests: true,
        commits: false,
        tells,
        parts: vec![part()],
        fails: Some(0),
    };
    let tasks = [
        TaskDeed::List(vec![("a".into(), TaskState::Dropped)]),
        TaskDeed::Open("b".into()),
        TaskDeed::Mark { id: "1".into(), text: None, state: Some(TaskState::Active) },
    ];
    let deeds = [
        Deed::Read { path: "p".into(), lines: Lines::ending(3) },
        Deed::Wrote { path: "p".into(), change: FileChange::Gone, content: Some(digest) },
        Deed::Ran(command),
        Deed::Fetched("u".into()),
    ];
    let deeds = deeds.into_iter().chain(tasks.into_iter().map(Deed::Tasks)).collect();
    Called { id: "i".into(), what: "w".into(), tool: digest, print: digest, telling: Telling::Shows, deeds }
}

/// Commands with extreme exit codes, and one without an exit code.
fn commands() -> BTreeMap<Digest, CommandRow> {
    let row = |exit| CommandRow {
        text: "c".into(),
        runs: 1,
        outcome: Outcome::NotRun,
        exit,
        tests: Some(TestCounts { passed: 1, failed: 2, skipped: 3 }),
        is_test: true,
        is_look: false,
        at: at(),
    };
    let exits = [i64::MIN, -1, 0, 1, i64::MAX].map(Some).into_iter().chain([None]);
    exits.enumerate().map(|(n, exit)| (Digest::of(&[n as u8]), row(exit))).collect()
}

/// Every kind of row and deed, with extreme numbers.
#[test]
fn every_row_comes_back() {
    let (at, digest) = (at(), Digest::of(b"d"));
    let subjects = [Subject::Write("w".into()), Subject::Work(digest), Subject::Call(digest)];
    let file = FileRow {
        looks: vec![Look { lines: Lines { first: 1, last: Some(2) }, content: digest, at }],
        put: Some(Put { change: FileChange::Part, content: None, at }),
        reads: 1,
        writes: 2,
    };
    let task =
        TaskRow { id: Some("1".into()), text: "t".into(), state: TaskState::Done, opened: at, changed: at };
    let rows = Rows {
        files: BTreeMap::from([("p".into(), file)]),
        commands: commands(),
        failing: subjects.into_iter().map(|subject| (subject, failure())).collect(),
        cleared: vec![failure()],
        urls: BTreeMap::from([("u".into(), UrlRow { times: 1, outcome: Outcome::Failed, at })]),
        commits: vec![CommitRow { commit: Commit { hash: "h".into(), subject: "s".into() }, at }],
        tasks: vec![task],
        pending: BTreeMap::from([("i".into(), (Seq(4), called()))]),
        dropped: 7,
        asked: vec![Seq(1), Seq(3)],
    };
    let bytes = codec::encode(&rows, Seq(u64::MAX));
    assert_eq!(codec::decode(&bytes), Some((rows, Seq(u64::MAX))));
}
