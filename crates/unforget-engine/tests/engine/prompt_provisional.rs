//! The first prompt of a long history in a window that it was never asked for.

use std::sync::Arc;

use unforget_core::compact::Provisional;
use unforget_core::id::{ConversationId, Seq, Thread};
use unforget_engine::Engine;
use unforget_engine::prompt::{How, Prompt, Session, Shape, ThreadRef, Until};
use unforget_store::read_all;
use unforget_wire::{Dialect, Format, decode, validate};

use crate::common;

const WINDOW: u64 = 8_192;

/// A transcript of questions and answers, each with its number.
///
/// * `humans` - whether a person asks; otherwise only the first message is a person's.
/// * `pause` - the message before which an hour passes, and again before every second one behind.
fn transcript(messages: u64, humans: bool, pause: u64) -> String {
    let mut lines = vec![
        r#"{"type":"session","version":3,"id":"long","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#
            .to_owned(),
    ];
    for number in 1..=messages {
        let role = if number == 1 || (humans && number % 2 == 1) { "user" } else { "assistant" };
        let parent = if number > 1 { format!("\"{:08x}\"", number - 1) } else { "null".to_owned() };
        let words = format!(
            "Message {number}: we looked at src/part_{number}.rs and changed the lighthouse of step {number}."
        );
        let stop = if role == "assistant" { r#","stopReason":"stop""# } else { "" };
        let seconds = number % 60;
        let (minutes, hours) = (number / 60 % 60, number / 3_600 + (number + 2).saturating_sub(pause) / 2);
        lines.push(format!(
            r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T{hours:02}:{minutes:02}:{seconds:02}.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{words}"}}]{stop}}}}}"#,
        ));
    }
    lines.join("\n") + "\n"
}

struct Long {
    engine: Engine,
    lane: ThreadRef,
    _folder: tempfile::TempDir,
}

impl Long {
    fn new(messages: u64, humans: bool) -> Self {
        let (engine, folder) = common::engine();
        let imported =
            engine.import_reader(transcript(messages, humans, u64::MAX).as_bytes(), "long").unwrap();
        let id = engine.store().find(&imported.conversation).unwrap().unwrap().id;
        Self { engine, lane: ThreadRef { conversation: id, thread: Thread(0) }, _folder: folder }
    }

    fn id(&self) -> ConversationId {
        self.lane.conversation
    }

    fn open(&self, shape: Shape) -> Session {
        Session::open(&self.engine, self.lane, shape, Until::Now, &mut |_, _| ()).unwrap()
    }

    fn open_whole(&self, shape: Shape) -> Session {
        Session::open_whole(&self.engine, self.lane, shape, &mut |_, _| true).unwrap()
    }

    /// Stores further messages, and shows them to open prompts.
    fn goes_on(&self, messages: u64, pause: u64, sessions: &mut [&mut Session]) {
        let from = self.engine.store().conversation(self.id()).unwrap().entries;
        self.engine.import_reader(transcript(messages, true, pause).as_bytes(), "long").unwrap();
        let rows = self.engine.store().rows(self.id(), from..messages + 1).unwrap();
        let raw = self.engine.store().raw(self.id(), from..messages + 1).unwrap();
        assert_eq!(rows.len() as u64, messages + 1 - from);
        for (row, raw) in rows.iter().zip(raw) {
            let entry = Arc::new(decode(Format::Pi, &raw.body));
            for session in sessions.iter_mut() {
                session.push(row.seq, row.parent, &entry, row.tokens.expected).unwrap();
            }
        }
    }

    fn make_whole(&self) -> usize {
        let mut made = 0;
        while self.engine.make_whole(&mut |_, _| true, &|news| println!("{news}")) {
            made += 1;
        }
        made
    }
}

fn shape(window: u64) -> Shape {
    Shape::new(window, None, Dialect::Anthropic)
}

/// What holds for every prompt. Returns the body and what is provisional.
fn check(prompt: &Prompt, shape: &Shape, newest_human: u64) -> (String, Provisional) {
    let body = prompt.render(shape.target());
    let certificate = prompt.admitted.certificate();
    assert_eq!(validate(&body, shape.target()), Ok(()), "I9");
    assert_eq!(certificate.proof, Ok(()), "I6");
    assert!(certificate.bound <= shape.policy.budget(), "I10: {certificate:?}");
    assert!(body.contains(&format!("Message {newest_human}:")), "I11");
    (body, certificate.provisional)
}

#[test]
fn a_first_prompt_is_provisional_until_a_break_on_a_cold_cache() {
    let long = Long::new(3_001, true);
    let shape = shape(WINDOW);
    let mut session = long.open(shape);
    let (first, provisional) = check(&session.prompt().unwrap(), &shape, 3_001);
    assert!(provisional.coarse > 500 && provisional.other == 0, "{provisional:?}");
    assert!(
        first.contains("Message 1:") && first.contains("[Coarse:"),
        "the beginning is told, and what it is"
    );
    assert!(first.contains("s:0-"), "the span can be expanded");
    let (opened, _) = check(&long.open(shape).prompt().unwrap(), &shape, 3_001);
    assert_eq!(opened, first, "a restart shows the same bytes");
    assert!(long.engine.has_wanted_histories());
    assert_eq!(long.make_whole(), 1, "asked twice, made once");
    let (warm, provisional) = check(&session.prompt().unwrap(), &shape, 3_001);
    assert_eq!(warm, first, "a warm cache keeps the beginning");
    assert!(provisional.total() > 0);
    let (opened, _) = check(&long.open(shape).prompt().unwrap(), &shape, 3_001);
    assert_eq!(opened, first, "also behind a restart");

    let mut whole = long.open_whole(shape);
    let (of_whole, none) = check(&whole.prompt().unwrap(), &shape, 3_001);
    assert_eq!(none, Provisional::default());
    assert_ne!(of_whole, first);
    long.goes_on(3_003, 3_003, &mut [&mut session, &mut whole]);
    let prompt = session.prompt().unwrap();
    let (cold, provisional) = check(&prompt, &shape, 3_003);
    assert_eq!(provisional, Provisional::default(), "a cold cache shows what was made");
    assert!(prompt.broken.is_some(), "and it is told");
    let (wanted, _) = check(&whole.prompt().unwrap(), &shape, 3_003);
    assert_eq!(cold, wanted, "as if the history had been played");
    assert_eq!(long.make_whole(), 0, "nothing is left to do");
}

#[test]
fn a_full_prompt_shows_what_was_made_without_waiting_for_a_cold_cache() {
    let long = Long::new(3_001, true);
    let shape = shape(WINDOW);
    let mut session = long.open(shape);
    session.prompt().unwrap();
    long.make_whole();
    for messages in (3_003..3_600).step_by(2) {
        long.goes_on(messages, u64::MAX, &mut [&mut session]);
        let prompt = session.prompt().unwrap();
        check(&prompt, &shape, messages);
        if prompt.broken.is_some() {
            assert_eq!(prompt.admitted.certificate().provisional, Provisional::default());
            return;
        }
    }
    panic!("it never broke");
}

#[test]
fn a_short_history_a_past_turn_and_a_whole_one_are_played() {
    let shape = shape(WINDOW);
    let short = Long::new(2_001, true);
    let (_, provisional) = check(&short.open(shape).prompt().unwrap(), &shape, 2_001);
    assert_eq!(provisional, Provisional::default());
    assert!(!short.engine.has_wanted_histories());
    let long = Long::new(3_001, true);
    let until = Until::Seq(Seq(2_999));
    let mut past = Session::open(&long.engine, long.lane, shape, until, &mut |_, _| ()).unwrap();
    let (_, provisional) = check(&past.prompt().unwrap(), &shape, 2_999);
    assert_eq!(provisional, Provisional::default(), "time travel is exact");
    let reader = long.engine.confined([long.id()].into());
    let mut session = Session::open(&reader, long.lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    let (_, provisional) = check(&session.prompt().unwrap(), &shape, 3_001);
    assert!(provisional.coarse > 0, "a reader has no time either");
    assert!(!long.engine.has_wanted_histories(), "and leaves no work");
    let mut whole = long.open_whole(shape);
    let (played, provisional) = check(&whole.prompt().unwrap(), &shape, 3_001);
    assert_eq!(provisional, Provisional::default());
    let (opened, _) = check(&long.open(shape).prompt().unwrap(), &shape, 3_001);
    assert_eq!(opened, played, "and a later prompt begins with it");
}

#[test]
fn a_loop_without_a_person_keeps_the_message_that_began_it() {
    let long = Long::new(3_000, false);
    let shape = shape(WINDOW);
    let (_, provisional) = check(&long.open(shape).prompt().unwrap(), &shape, 1);
    assert!(provisional.coarse > 0);
}

#[test]
fn a_similar_window_shares_the_summaries_of_another_one() {
    let long = Long::new(3_001, true);
    long.open_whole(shape(WINDOW)).prompt().unwrap();
    let before = long.engine.store().count_summaries(long.id()).unwrap();
    // Another dialect and another model, and nearly the same window.
    let other = Shape::new(WINDOW + 200, Some("gpt-5"), Dialect::OpenAiChat);
    let mut session = long.open(other);
    let (body, provisional) = check(&session.prompt().unwrap(), &other, 3_001);
    assert_eq!(provisional, Provisional::default(), "they are its own");
    assert!(session.counters().leaves < 8, "{:?}", session.counters());
    assert!(!long.engine.has_wanted_histories(), "nothing is missing");
    let after = long.engine.store().count_summaries(long.id()).unwrap();
    assert!(after < before + 16, "{before} {after}");
    let (again, _) = check(&long.open(other).prompt().unwrap(), &other, 3_001);
    assert_eq!(again, body);
}

#[test]
fn another_grain_begins_with_the_summaries_that_exist() {
    let long = Long::new(5_001, true);
    long.open_whole(shape(WINDOW)).prompt().unwrap();
    let mut messages = 5_001;
    for window in [2_048, 32_768] {
        let other = shape(window);
        let mut session = long.open(other);
        let (first, provisional) = check(&session.prompt().unwrap(), &other, messages);
        assert!(provisional.other > 1_000 && provisional.coarse == 0, "{window}: {provisional:?}");
        let (again, _) = check(&long.open(other).prompt().unwrap(), &other, messages);
        assert_eq!(again, first, "{window}");
        assert_eq!(long.make_whole(), 1, "{window}");
        messages += 2;
        long.goes_on(messages, 5_003, &mut [&mut session]);
        let (_, provisional) = check(&session.prompt().unwrap(), &other, messages);
        assert_eq!(provisional, Provisional::default(), "{window}");
    }
}

#[test]
fn summaries_of_long_ago_and_a_coarse_one_of_what_came_since() {
    let long = Long::new(3_001, true);
    long.open_whole(shape(WINDOW)).prompt().unwrap();
    long.engine.import_reader(transcript(9_001, true, u64::MAX).as_bytes(), "long").unwrap();
    let other = shape(16_384);
    let mut session = long.open(other);
    let (_, provisional) = check(&session.prompt().unwrap(), &other, 9_001);
    assert!(provisional.other > 1_000 && provisional.coarse > 1_000, "{provisional:?}");
    let represented = long.engine.represented_now(long.id(), Seq(4_500), &mut session).unwrap();
    assert_eq!(represented.part.as_ref().map(|part| part.how.name()), Some(How::Coarse.name()));
}

#[test]
fn what_is_purged_leaves_a_provisional_prompt_too() {
    let long = Long::new(3_001, true);
    let shape = shape(WINDOW);
    let (first, _) = check(&long.open(shape).prompt().unwrap(), &shape, 3_001);
    assert!(first.contains("part_1.rs"));
    let conversation = long.engine.store().conversation(long.id()).unwrap();
    long.engine.purge(&conversation, 1..2).unwrap();
    let (then, provisional) = check(&long.open(shape).prompt().unwrap(), &shape, 3_001);
    assert!(!then.contains("part_1.rs"), "the words are gone");
    assert!(provisional.coarse > 0);
}

#[test]
fn verify_finds_nothing_wrong_with_provisional_prompts() {
    let long = Long::new(3_001, true);
    for window in [WINDOW, 4_096, 32_768] {
        long.open(shape(window)).prompt().unwrap();
    }
    long.make_whole();
    let verified = long.engine.verify(&mut |_, _| ()).unwrap();
    assert_eq!(verified.problems, Vec::new());
    assert!(verified.summaries > 0);
    let rows = read_all(|page| long.engine.store().summaries(long.id(), page)).unwrap();
    assert!(
        rows.iter().all(|row| row.key.grain > 0),
        "a coarse summary is no row: purges and proofs need not know it"
    );
}
