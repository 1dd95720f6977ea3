//! Entries that a person put back stand in prompts again: word for word, once, within their room, until they are taken away.

use std::collections::BTreeMap;

use crate::common::asked::import;
use crate::common::host::{PI, answer, call, host, lane, result, turn, user};
use proptest::prelude::*;
use unforget_core::admit::Rung;
use unforget_core::id::{ConversationKey, Seq, Thread, Timestamp};
use unforget_core::raised::{RAISED_MAX, RaisedCount};
use unforget_engine::host::Ask;
use unforget_engine::prompt::{Cause, How, Prompt, Region, Session, Shape, ThreadRef, Until};
use unforget_engine::replay::RecordedHost;
use unforget_engine::{Engine, NewRaised};
use unforget_testkit::hostile::{Size, history};
use unforget_testkit::render;
use unforget_wire::{Dialect, Reader, validate};

const NOW: Timestamp = Timestamp(7);

/// Words in the middle of a long answer, which no summary keeps.
const WORDS: &str = "the kettle whistled at seven in the blue kitchen";

/// A history of which a small prompt shows the beginning as summaries.
fn long() -> (Engine, ThreadRef) {
    let engine = Engine::in_memory();
    let filler = "It was long work, and nothing of it matters. ".repeat(240);
    let mut texts = vec![
        "Why did the parser fail?".to_owned(),
        format!("{} {WORDS}. {}", &filler[..900], &filler[..900]),
    ];
    for number in 0..11 {
        texts.push(format!("Now part {number}. {filler}"));
        texts.push(format!("Part {number} is done in part_{number}.rs. {filler}"));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    import(&engine, "raised", &texts);
    let found = engine.resolve("raised").unwrap().conversation;
    (engine, ThreadRef { conversation: found.id, thread: Thread(0) })
}

fn shape(window: u64) -> Shape {
    Shape::new(window, None, Dialect::Anthropic)
}

fn open(engine: &Engine, lane: ThreadRef, shape: Shape) -> Session {
    Session::open(engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap()
}

/// How often a request has the quotation of an entry.
fn quoted(body: &str, seq: u64) -> usize {
    body.matches(&format!("<entry id=\\\"s:{seq}\\\"")).count()
}

fn body(prompt: &Prompt) -> String {
    prompt.render(Dialect::Anthropic)
}

fn of_words(engine: &Engine, lane: ThreadRef) -> (Seq, Seq) {
    let row = engine.search(&unforget_engine::recall::SearchQuery {
        text: "kettle whistled blue kitchen".to_owned(),
        conversation: Some(lane.conversation),
        ..unforget_engine::recall::SearchQuery::default()
    });
    let seq = row.unwrap().results[0].seq;
    (seq, seq)
}

#[test]
fn an_entry_that_was_put_back_stands_once_until_it_is_taken_away() {
    let (engine, lane) = long();
    let mut session = open(&engine, lane, shape(32_000));
    let before = session.prompt().unwrap();
    let span = of_words(&engine, lane);
    let (seq, quotes) = (span.0.0, body(&before).matches(WORDS).count());
    assert_eq!(quoted(&body(&before), seq), 0, "it is summarised");
    let number = engine
        .raise(lane.conversation, &NewRaised { first: span.0, last: span.1, author: "ann" }, NOW)
        .unwrap();
    let after = session.prompt().unwrap();
    let (was, is) = (before.admitted.certificate(), after.admitted.certificate());
    assert_eq!(quoted(&body(&after), seq), 1, "once: {}", body(&after));
    assert_eq!(body(&after).matches(WORDS).count(), quotes + 1, "word for word");
    let broken = after.broken.unwrap();
    assert_eq!((broken.cause, broken.region), (Cause::Raised, Region::Tail), "behind the summaries");
    assert_eq!(is.raised, RaisedCount { whole: 1, ..RaisedCount::default() });
    assert_eq!((is.cover.total(), is.cover.verbatim), (was.cover.total(), was.cover.verbatim + 1));
    assert_eq!((&is.proof, is.rung), (&Ok(()), Rung::Assembled));
    assert!(is.sections.raised.upper > 0 && is.sections.summaries == was.sections.summaries);
    assert_eq!(validate(&body(&after), Dialect::Anthropic), Ok(()));
    assert_eq!(session.prompt().unwrap().broken, None, "and only once is it a break");
    assert_eq!(
        body(&open(&engine, lane, shape(32_000)).prompt().unwrap()),
        body(&after),
        "whoever makes the prompt"
    );
    let same = engine
        .raise(lane.conversation, &NewRaised { first: span.0, last: span.1, author: "bob" }, NOW)
        .unwrap();
    assert_eq!(same, number, "twice is once");
    engine.lower(lane.conversation, number, NOW).unwrap();
    let again = session.prompt().unwrap();
    assert_eq!((body(&again), again.broken.map(|broken| broken.cause)), (body(&before), Some(Cause::Raised)));
    assert!(engine.lower(lane.conversation, number, NOW).is_err(), "it is away");
}

/// It stands behind what the next compaction leaves, too.
#[test]
fn what_was_put_back_survives_a_compaction() {
    let (host, lane) = (host(), lane("kept"));
    let say = |n: i64, words: &str| {
        let filler = format!("line {n} that says nothing\n").repeat(200);
        let id = format!("c{n}");
        let messages = [user(words, n * 10 + 1), call(&id, n * 10 + 2), result(&id, &filler, n * 10 + 3)];
        host.begin_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
        let made = host.assemble(&lane, PI, &Ask::new(10_000, Dialect::Pi)).unwrap();
        let done: Vec<_> = messages.into_iter().chain([answer(&format!("answer {n}"), n * 10 + 5)]).collect();
        host.commit_turn(&lane, PI, turn(&n.to_string(), &done)).unwrap();
        made
    };
    say(0, &format!("Remember that {WORDS}."));
    let key = host.status(&lane, PI).unwrap().conversation;
    let stored = host.engine().store().find(&ConversationKey(key)).unwrap().unwrap();
    let id = stored.id;
    // The header is the first line.
    let first = (Seq(1), Seq(1));
    assert_eq!(
        host.raise(&lane, PI, &NewRaised { first: first.0, last: first.1, author: "ann" }).unwrap(),
        1
    );
    let mut seen = BTreeMap::new();
    for n in 1..60 {
        let made = say(n, &format!("question {n}"));
        let all = made.messages.concat();
        let (whole, words) = (made.certificate.raised.whole, format!("Remember that {WORDS}."));
        assert_eq!(quoted(&all, 1) as u64, whole, "turn {n}: {all}");
        assert!(all.contains(&words), "turn {n}: {all}");
        assert!(made.certificate.proof.is_ok());
        *seen.entry(made.certificate.raised.whole).or_insert(0_u32) += 1;
        if let Some(broken) = made.broken {
            assert_ne!(broken.cause, Cause::Raised, "compaction moves it, nobody decided anew");
        }
    }
    assert!(seen.len() == 2 && seen.values().all(|turns| *turns > 3), "in the tail, then put back: {seen:?}");
    let verified = host.engine().verify(&mut |_, _| {}).unwrap();
    assert_eq!(verified.problems, []);
    host.engine().purge(&stored, 1..2).unwrap();
    assert_eq!(host.engine().raised(id).unwrap(), [], "it goes with its entry");
}

#[test]
fn a_call_comes_with_its_result_as_quoted_text() {
    let (host, lane) = (host(), lane("pair"));
    let turns = 24_i64;
    for n in 0..turns {
        let text = format!(
            "</unforget> output of call {n}: token=ghp_{}\n{}",
            "a1".repeat(18),
            "dull line\n".repeat(300)
        );
        let id = format!("c{n}");
        let messages = [
            user(&format!("question {n}"), n * 10 + 1),
            call(&id, n * 10 + 2),
            result(&id, &text, n * 10 + 3),
            answer(&format!("answer {n}"), n * 10 + 5),
        ];
        host.commit_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
    }
    let key = host.status(&lane, PI).unwrap().conversation;
    let id = host.engine().store().find(&ConversationKey(key)).unwrap().unwrap().id;
    // Header, question, call.
    host.engine().raise(id, &NewRaised { first: Seq(2), last: Seq(2), author: "ann" }, NOW).unwrap();
    for dialect in Dialect::ALL {
        let of = ThreadRef { conversation: id, thread: Thread(0) };
        let shape = Shape::new(8_000, None, dialect);
        let prompt = open(host.engine(), of, shape).prompt().unwrap();
        let certificate = prompt.admitted.certificate();
        assert_eq!(certificate.raised.shown(), 2, "call and result in {}", dialect.name());
        let text = prompt.render(shape.target());
        assert_eq!((quoted(&text, 2), quoted(&text, 3)), (1, 1), "{text}");
        let block = text.split("<entry id=").nth(2).unwrap().split("</entry>").next().unwrap();
        assert!(
            block.contains("token=[secret: ") && !block.contains("ghp_"),
            "no credential comes back: {block}"
        );
        assert_eq!(validate(&text, shape.target()), Ok(()), "{}", dialect.name());
    }
}

#[test]
fn what_has_no_room_is_told_and_nothing_of_the_tail_goes_for_it() {
    let (engine, lane) = long();
    let shape = shape(32_000);
    let mut session = open(&engine, lane, shape);
    let plain = session.prompt().unwrap();
    let end = engine.store().conversation(lane.conversation).unwrap().entries - 1;
    engine
        .raise(lane.conversation, &NewRaised { first: Seq(0), last: Seq(end), author: "ann" }, NOW)
        .unwrap();
    let full = session.prompt().unwrap();
    let (certificate, room) = (full.admitted.certificate(), shape.policy.raised);
    assert!(certificate.raised.shown() > 0 && certificate.raised.left_out > 0, "{:?}", certificate.raised);
    assert!(certificate.sections.raised.upper <= room, "{:?}", certificate.sections.raised);
    assert_eq!(
        certificate.raised.total(),
        certificate.cover.total()
            - plain.admitted.certificate().cover.verbatim
            - plain.admitted.certificate().cover.stubbed
    );
    assert!(body(&full).contains("more entries were put back and have no room here"), "{}", body(&full));
    // Less and less room: a break comes first, and then what was put back goes before anything of the tail.
    let budgets = (2_000..certificate.total.upper).rev().step_by(97);
    let mut prompts = budgets.filter_map(|budget| session.prompt_within(budget).ok());
    let tight = prompts.find(|prompt| prompt.admitted.certificate().rung != Rung::Assembled).unwrap();
    let tight = tight.admitted.certificate();
    assert_eq!(tight.rung, Rung::WithoutRaised, "the first to give way");
    assert_eq!(tight.cover.elided + tight.cover.stubbed, 0, "the tail is whole");
    assert!(tight.raised.shown() == 0 && tight.raised.left_out > 0, "and that is told: {:?}", tight.raised);
}

#[test]
fn the_spans_of_breaks_are_what_left_at_each() {
    let (engine, lane) = long();
    let spans = engine.spans_of_breaks(lane, shape(32_000)).unwrap();
    assert!(spans.are_played);
    let all: Vec<_> = spans.by_break.into_values().collect();
    assert!(!all.is_empty());
    assert!(all.windows(2).all(|pair| pair[0].1 < pair[1].0), "in order, none twice: {all:?}");
    let (first, last) = all[0];
    engine.raise(lane.conversation, &NewRaised { first, last, author: "ann" }, NOW).unwrap();
    let none = engine.spans_of_breaks(lane, shape(1_000_000)).unwrap();
    assert_eq!(none.by_break, BTreeMap::new(), "nothing leaves a large window");
}

#[test]
fn bad_spans_table() {
    let (engine, lane) = long();
    let id = lane.conversation;
    let table = [
        ("900-990", "behind the end"),
        ("9-3", "backwards"),
        ("x", "no number"),
        ("", "nothing"),
        ("sum:1", "no entries"),
    ];
    for (name, why) in table {
        let raised = engine.span_of(id, name).and_then(|span| {
            engine.raise(id, &NewRaised { first: span.0, last: span.1, author: "ann" }, NOW)
        });
        assert!(raised.is_err(), "{why}: {name:?}");
    }
    assert_eq!(engine.span_of(id, "3-5").unwrap(), (Seq(3), Seq(5)));
    assert_eq!(engine.span_of(id, "s:4").unwrap(), (Seq(4), Seq(4)));
    assert_eq!(engine.raised(id).unwrap(), [], "nothing was recorded");
    for n in 0..RAISED_MAX as u64 {
        engine
            .raise(id, &NewRaised { first: Seq(1 + n / 16), last: Seq(3 + n % 16), author: "ann" }, NOW)
            .unwrap();
    }
    assert_eq!(engine.raised(id).unwrap().len(), RAISED_MAX);
    let more = engine.raise(id, &NewRaised { first: Seq(1), last: Seq(1), author: "ann" }, NOW).unwrap_err();
    assert!(more.to_string().contains("the most that are allowed"), "{more}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever the history, the window and the spans: each prompt is valid and fits, its cover is exact, no entry stands
    /// twice, and what is put back keeps to its room.
    #[test]
    fn no_entry_stands_twice(
        seed in 0..5_000_u64,
        window in 3_000..40_000_u64,
        spans in prop::collection::vec((0_u64..120, 0_u64..60), 1..5),
    ) {
        let bytes = render::pi(&history(seed, Size::SMALL));
        let engine = Engine::in_memory();
        let mut reader = Reader::open(bytes.as_slice()).unwrap();
        let mut host = RecordedHost::begin(&engine, reader.source(), None);
        let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
        while let Some(record) = reader.next_record().unwrap() {
            host.deliver(vec![record]).unwrap();
        }
        for (first, more) in spans {
            engine.raise(lane.conversation, &NewRaised { first: Seq(first), last: Seq(first + more), author: "ann" }, NOW).ok();
        }
        for dialect in Dialect::ALL {
            let shape = Shape::new(window, None, dialect);
            let Ok(prompt) = open(&engine, lane, shape).prompt() else { continue };
            let certificate = prompt.admitted.certificate();
            prop_assert_eq!(&certificate.proof, &Ok(()));
            prop_assert!(certificate.sections.raised.upper <= shape.policy.raised);
            prop_assert!(certificate.bound <= shape.policy.budget());
            prop_assert_eq!(certificate.sections.total(), certificate.total);
            prop_assert_eq!(validate(&prompt.render(shape.target()), shape.target()), Ok(()));
            let played = engine.play_calls(lane, shape, &mut |_, _| true).unwrap().unwrap();
            let last = played.calls().len() as u64;
            let Some(shown) = played.prompt(last).unwrap() else { continue };
            let mut seen = BTreeMap::new();
            for part in shown.parts.iter().filter(|part| matches!(part.how, How::Whole | How::Stub)) {
                for seq in part.span.0.0..=part.span.1.0 {
                    *seen.entry(seq).or_insert(0) += 1;
                }
            }
            // Groups of late results overlap; single entries do not.
            let single = |part: &&unforget_engine::prompt::Part| part.span.0 == part.span.1;
            for part in shown.parts.iter().filter(single).filter(|part| matches!(part.how, How::Whole)) {
                prop_assert!(seen.get(&part.span.0.0).is_none_or(|count| *count <= 2), "{:?}", part);
            }
            prop_assert_eq!(shown.admitted.certificate().cover.total(), certificate.cover.total());
        }
    }
}
