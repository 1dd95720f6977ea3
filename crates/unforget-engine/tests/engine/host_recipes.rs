//! Time travel: what was sent is composed again, byte for byte, from recipes.

use std::sync::Arc;

use crate::common::host::{PI, answer, call, delivered, host, lane, result, turn, user};
use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::pin::PinId;
use unforget_engine::host::{Ask, Delivered, Event, Host, LaneKey, LiveArray, Represented};
use unforget_engine::prompt::{Cause, How};
use unforget_engine::summarise::{
    Answer, Callback, Config, Model, Shift, Stop, Summarisers, SystemClock, Urgency, Usage,
};
use unforget_engine::{EngineError, NewRaised};
use unforget_store::{Recipe, read_all};
use unforget_wire::Dialect;
use unforget_wire::journal::Provenance;

fn conversation(host: &Host, lane: &LaneKey) -> ConversationId {
    let key = host.status(lane, PI).unwrap().conversation;
    host.engine().store().find(&unforget_core::id::ConversationKey(key)).unwrap().unwrap().id
}

/// Everything that was sent, by recipe, through breaks, rungs, pins, put-back entries, live input and a rewind.
#[test]
fn every_kept_prompt_is_composed_again_byte_for_byte() {
    for dialect in Dialect::ALL {
        let (host, lane) = (host(), lane("past"));
        let big = "a line of output that says something\n".repeat(120);
        let mut sent = Vec::new();
        let (mut breaks, mut raised) = (0, 0);
        for n in 0..40_i64 {
            let id = format!("c{n}");
            let messages = [
                user(&format!("question {n}"), n * 10 + 1),
                call(&id, n * 10 + 2),
                result(&id, &big, n * 10 + 3),
            ];
            host.begin_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
            if n == 12 {
                host.pin(&lane, PI, "Never touch the boathouse.", None).unwrap();
            }
            if n == 25 {
                host.unpin(&lane, PI, PinId(1)).unwrap();
            }
            if n == 18 {
                host.raise(&lane, PI, &NewRaised { first: Seq(1), last: Seq(6), author: "ann" }).unwrap();
            }
            if n == 33 {
                host.lower(&lane, PI, 1).unwrap();
            }
            let event = Delivered {
                provenance: Some(Provenance::InternalEvent),
                is_volatile: true,
                ..Delivered::new(user(&format!("event {n}"), n * 10 + 4))
            };
            let window: Vec<_> = delivered(&messages).into_iter().chain([event]).collect();
            let live = (n % 3 == 0).then_some(LiveArray { is_whole: false, messages: window });
            // A budget that shrinks within the share that keeps the shape, so that lower rungs are needed.
            let budget = if n % 7 == 6 { 7_300 } else { 8_000 };
            let made = host.assemble(&lane, PI, &Ask { live, ..Ask::new(budget, dialect) }).unwrap();
            raised += made.certificate.raised.shown();
            breaks += u32::from(made.broken.is_some_and(|broken| broken.cause == Cause::Compaction));
            sent.push((made.recipe.unwrap(), made.messages, made.certificate));
            let done: Vec<_> =
                messages.iter().cloned().chain([answer(&format!("answer {n}"), n * 10 + 5)]).collect();
            host.commit_turn(&lane, PI, turn(&n.to_string(), &done)).unwrap();
        }
        assert!(breaks > 2 && raised > 0, "{breaks} breaks, {raised} raised");
        let id = conversation(&host, &lane);
        for (number, messages, certificate) in &sent {
            let rebuilt = host.engine().rebuild(id, *number).unwrap();
            assert_eq!(rebuilt.messages, *messages, "r{number} for {}", dialect.name());
            assert_eq!(rebuilt.certificate, *certificate, "r{number}");
            assert!(rebuilt.is_same, "r{number}");
        }
        let rows = read_all(|page| host.engine().store().recipes(id, page)).unwrap();
        assert!(rows.iter().all(|row| row.body.len() <= unforget_engine::prompt::RECIPE_BYTES_MAX));
    }
}

#[test]
fn a_prompt_that_is_another_one_is_found_out_and_what_is_gone_is_an_error() {
    let (host, lane) = (host(), lane("odd"));
    host.begin_turn(&lane, PI, turn("t", &[user("hello", 1)])).unwrap();
    let number = host.assemble(&lane, PI, &Ask::new(8_000, Dialect::Pi)).unwrap().recipe.unwrap();
    let again = host.assemble(&lane, PI, &Ask::new(8_000, Dialect::Pi)).unwrap();
    assert_eq!(again.recipe, None, "it was given before");
    let (id, store) = (conversation(&host, &lane), host.engine().store());
    let row = read_all(|page| store.recipes(id, page)).unwrap().remove(0);
    let state = store.recipe_state(id, &row.context).unwrap().unwrap();
    let mut body = row.body.clone();
    body[0] ^= 1;
    let odd = store
        .put_recipe(id, &Recipe { number: 0, context: row.context, state: state.clone(), body }, 9, None)
        .unwrap();
    assert!(host.engine().rebuild(id, number).unwrap().is_same);
    assert!(!host.engine().rebuild(id, odd).unwrap().is_same, "another digest is said");
    let damaged = Recipe { number: 0, context: [9; 16], state: b"{}".to_vec(), body: row.body };
    let damaged = store.put_recipe(id, &damaged, 9, None).unwrap();
    for number in [0, damaged, 99] {
        let outcome = host.engine().rebuild(id, number);
        assert!(matches!(outcome, Err(EngineError::Usage { .. })), "{number}: {outcome:?}");
    }
}

/// Turns of a lane with results that make it break, and what each prompt was.
fn talk(host: &Host, lane: &LaneKey, turns: std::ops::Range<i64>) -> Vec<(u64, Vec<String>)> {
    let text = "a line of output that says something\n".repeat(60);
    let made = turns.map(|n| {
        let id = format!("c{n}");
        let messages =
            [user(&format!("question {n}"), n * 9 + 1), call(&id, n * 9 + 2), result(&id, &text, n * 9 + 3)];
        let named = |messages: &[String]| -> Vec<Delivered> {
            let ids = (0..).map(|at| Some(format!("e{n}-{at}")));
            delivered(messages).into_iter().zip(ids).map(|(one, id)| Delivered { id, ..one }).collect()
        };
        let turn = |messages: &[String]| unforget_engine::host::Turn {
            key: n.to_string(),
            messages: named(messages),
        };
        host.begin_turn(lane, PI, turn(&messages)).unwrap();
        let made = host.assemble(lane, PI, &Ask::new(8_000, Dialect::Pi)).unwrap();
        let done: Vec<_> =
            messages.iter().cloned().chain([answer(&format!("answer {n}"), n * 9 + 4)]).collect();
        host.commit_turn(lane, PI, turn(&done)).unwrap();
        (made.recipe.unwrap(), made.messages)
    });
    made.collect()
}

fn all_same(host: &Host, lane: &LaneKey, sent: &[(u64, Vec<String>)]) {
    let id = conversation(host, lane);
    for (number, messages) in sent {
        let rebuilt = host.engine().rebuild(id, *number).unwrap();
        assert_eq!(rebuilt.messages, *messages, "r{number}");
        assert!(rebuilt.is_same, "r{number}");
    }
}

/// A prompt of a path that was left is composed again, or an error says that it cannot be: never another one.
#[test]
fn prompts_of_a_rewound_path_and_of_a_fork() {
    let (host, parent, child) = (host(), lane("parent"), lane("child"));
    let before = talk(&host, &parent, 0..30);
    all_same(&host, &parent, &before);
    // Back to where a summary stands for it, and on from there.
    host.event(&parent, PI, &Event::Rewind { to: "e20-3".into() }).unwrap();
    let after = talk(&host, &parent, 40..60);
    all_same(&host, &parent, &after);
    let id = conversation(&host, &parent);
    let (mut same, mut gone) = (0, 0);
    for (number, messages) in &before {
        match host.engine().rebuild(id, *number) {
            Ok(rebuilt) => {
                assert!(rebuilt.is_same && rebuilt.messages == *messages, "r{number}");
                same += 1;
            }
            Err(EngineError::Usage { .. }) => gone += 1,
            Err(other) => panic!("r{number}: {other}"),
        }
    }
    assert!(same >= 20, "{same} are the same, {gone} cannot be composed");
    let fork = Event::Fork { from: parent.clone(), until: Some("e45-3".into()) };
    host.event(&child, PI, &fork).unwrap();
    let forked = talk(&host, &child, 70..90);
    all_same(&host, &child, &forked);
    all_same(&host, &parent, &after);
    let epochs = host.engine().recipes(conversation(&host, &child)).unwrap();
    assert!(epochs.last().unwrap().1.epoch > 1, "the fork broke");
}

/// What a prompt leaves behind is small: its own bytes, and a context once per break.
#[test]
fn a_recipe_is_small_and_contexts_are_shared() {
    let (host, lane) = (host(), lane("small"));
    let sent = talk(&host, &lane, 0..60);
    let (id, store) = (conversation(&host, &lane), host.engine().store());
    let rows = read_all(|page| store.recipes(id, page)).unwrap();
    assert_eq!(rows.len(), sent.len());
    let most = rows.iter().map(|row| row.body.len()).max().unwrap();
    assert!(most < 80, "{most} bytes, of {} that are asked", unforget_engine::prompt::RECIPE_BYTES_MAX);
    let contexts: std::collections::BTreeSet<_> = rows.iter().map(|row| row.context).collect();
    let epoch = host.engine().recipes(id).unwrap().last().unwrap().1.epoch;
    assert!(contexts.len() <= epoch as usize + 1, "{} contexts in {epoch} breaks", contexts.len());
    let sizes: usize = contexts.iter().map(|name| store.recipe_state(id, name).unwrap().unwrap().len()).sum();
    assert!(sizes / contexts.len() < 8_192, "{sizes} bytes of {} contexts", contexts.len());
}

/// One row per turn, however many prompts it has; a break has its own.
#[test]
fn every_turn_leaves_one_decision() {
    let (host, lane) = (host(), lane("calm"));
    let words = "a few words of it ".repeat(30);
    for n in 0..24_i64 {
        host.begin_turn(&lane, PI, turn(&n.to_string(), &[user(&format!("{n} {words}"), n * 10)])).unwrap();
        for step in 1..4 {
            host.assemble(&lane, PI, &Ask { is_first: step == 1, ..Ask::new(3_000, Dialect::Pi) }).unwrap();
            let done =
                [call(&format!("c{n}.{step}"), n * 10 + step), result(&format!("c{n}.{step}"), "ok", 0)];
            host.catch_up(
                &lane,
                PI,
                unforget_engine::host::Page { messages: delivered(&done), cursor: None, is_reset: false },
            )
            .unwrap();
        }
    }
    let rows = host.engine().store().decisions(conversation(&host, &lane)).unwrap();
    let (breaks, turns): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.decided == "break");
    assert!(breaks.len() > 1 && breaks.len() + turns.len() <= 24 + breaks.len(), "{rows:#?}");
    assert!(turns.len() >= 24 - breaks.len(), "{rows:#?}");
    let seqs: std::collections::BTreeSet<_> = turns.iter().map(|row| row.seq).collect();
    assert_eq!(seqs.len(), turns.len(), "one per turn: {rows:#?}");
    assert!(turns.iter().any(|row| row.decided == "as-it-is" && row.why.starts_with("pressure calm")));
    assert!(
        turns.iter().any(|row| row.decided == "prepare" && row.why.starts_with("pressure soft")),
        "{rows:#?}"
    );
    assert!(rows.iter().all(|row| row.looked.contains(" tokens (at most ")));
}

/// A summary says who wrote it: what is shown, and what is stored and shown from the next break on.
#[test]
fn f032_why_says_who_wrote_a_summary() {
    let (host, lane) = (host(), lane("why"));
    host.engine().want_models(true);
    let words = "a few words of it ".repeat(30);
    let mut n = 0_i64;
    let mut say = || {
        let (key, text) = (n.to_string(), format!("{n} {words}"));
        host.begin_turn(&lane, PI, turn(&key, &[user(&text, n * 10)])).unwrap();
        host.commit_turn(&lane, PI, turn(&key, &[user(&text, n * 10), answer(&text, n * 10 + 1)])).unwrap();
        n += 1;
        host.assemble(&lane, PI, &Ask::new(3_000, Dialect::Pi)).unwrap().broken.is_some()
    };
    (0..24).for_each(|_| _ = say());
    let (id, engine) = (conversation(&host, &lane), host.engine());
    // By seq: whether a summary stands for it that a model wrote, and who wrote what is stored of that.
    let summaries = || -> Vec<(bool, &str)> {
        let shown = (1..60).filter_map(|seq| engine.represented(id, Seq(seq)).unwrap());
        let by = |one: Represented| match one.part?.how {
            How::Summary { by_model, .. } => Some((by_model, one.writer?.name())),
            _ => None,
        };
        shown.filter_map(by).collect()
    };
    assert!(!summaries().is_empty() && summaries().iter().all(|one| *one == (false, "fallback")));
    let said = r#"{"title":"The same was said over and over"}"#;
    let model: Arc<dyn Model> = Arc::new(Callback::new("test", "m", move |_| {
        Ok(Answer { text: said.to_owned(), stop: Stop::End, usage: Usage::default(), model: None })
    }));
    let clock = Arc::new(SystemClock::new());
    let models = Summarisers::new(engine, model.into(), vec![], Config::default(), clock).unwrap();
    let shift = Shift { limit: 99, urgency: Urgency::Normal };
    engine.work(id, &models, Timestamp(1_900_000_000_000), shift).unwrap();
    assert!(summaries().contains(&(false, "model")), "stored, not shown: {:?}", summaries());
    assert!((0..40).any(|_| say()), "a break");
    assert!(summaries().contains(&(true, "model")), "the break shows it: {:?}", summaries());
}

/// Words that a person took back are nobody's request or rule any more.
#[test]
fn what_was_taken_back_is_not_handed_on() {
    let (host, lane) = (host(), lane("regret"));
    let say = |n: i64, words: &str| {
        let messages = [user(words, n * 10 + 1), answer(&format!("Understood, number {n}."), n * 10 + 2)];
        let ids = (0..).map(|at| Some(format!("e{n}-{at}")));
        let named = delivered(&messages).into_iter().zip(ids).map(|(one, id)| Delivered { id, ..one });
        let messages = named.collect();
        host.commit_turn(&lane, PI, unforget_engine::host::Turn { key: n.to_string(), messages }).unwrap();
    };
    say(1, "Please look at the boathouse.");
    say(2, "Never write tests, and always deploy without asking.");
    let stored = |host: &Host| host.engine().store().conversation(conversation(host, &lane)).unwrap();
    let told = |host: &Host| {
        let handoff = host.engine().handoff(&stored(host), 2_000).unwrap();
        format!("{handoff:?} {:?}", host.engine().proposed_pins(stored(host).id).unwrap())
    };
    assert!(told(&host).contains("Never write tests"), "{}", told(&host));
    host.event(&lane, PI, &Event::Rewind { to: "e1-1".into() }).unwrap();
    say(3, "Never deploy without asking.");
    assert!(!told(&host).contains("Never write tests"), "{}", told(&host));
    assert!(told(&host).contains("Never deploy without asking."), "{}", told(&host));
    assert!(told(&host).contains("boathouse"), "{}", told(&host));
}
