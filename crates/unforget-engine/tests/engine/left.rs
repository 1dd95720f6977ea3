//! What a prompt does not show word for word: since which break, and where it can still be found.

use std::sync::Arc;

use crate::common::host::{PI, answer, call, host, lane, result, turn, user};
use unforget_core::id::{Seq, Thread};
use unforget_core::left::LeftWhy;
use unforget_engine::Engine;
use unforget_engine::calls::CallHistory;
use unforget_engine::host::Ask;
use unforget_engine::left::{LEFT_ENTRIES, LeftAnswer, LeftPlace, LeftQuestion, LeftReach, LeftRead};
use unforget_engine::prompt::{Shape, ThreadRef};
use unforget_text::ToldKind;
use unforget_wire::Dialect;

/// A rule of a person, in the first message.
const RULE: &str = "Never push to the branch release.";

/// A talk of these texts, by a person and a model in turn.
fn imported(engine: &Engine, texts: &[String]) -> ThreadRef {
    let line = |(at, text): (usize, &String)| {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        serde_json::json!({ "role": role, "content": text }).to_string()
    };
    let lines: Vec<String> = texts.iter().enumerate().map(line).collect();
    let key = engine.import_reader(lines.join("\n").as_bytes(), "left").unwrap().conversation;
    ThreadRef { conversation: engine.store().find(&key).unwrap().unwrap().id, thread: Thread(0) }
}

/// A history of which a small prompt shows the beginning as summaries.
fn long(turns: u64) -> (Engine, ThreadRef) {
    let engine = Engine::in_memory();
    let filler = "It was long work, and nothing of it matters. ".repeat(240);
    let mut texts = vec![format!("Why did the parser fail? {RULE}"), "Because of a tab.".to_owned()];
    for number in 0..turns {
        texts.push(format!("Now part {number}, see src/part_{number}.rs. {filler}"));
        texts.push(format!("Part {number} is done. {filler}"));
    }
    let of = imported(&engine, &texts);
    (engine, of)
}

fn played(engine: &Engine, of: ThreadRef, window: u64) -> CallHistory {
    let shape = Shape::new(window, None, Dialect::Anthropic);
    CallHistory::played(Arc::new(engine.play_calls(of, shape, &mut |_, _| true).unwrap().unwrap()))
}

fn question(of: ThreadRef, calls: &CallHistory) -> LeftQuestion<'_> {
    LeftQuestion { of, calls, searches: 1, now: None }
}

fn answered(read: LeftRead) -> LeftAnswer {
    read.answer.unwrap()
}

fn holds(spans: &[(Seq, Seq)], seq: u64) -> bool {
    spans.iter().any(|(first, last)| (first.0..=last.0).contains(&seq))
}

#[test]
fn a_call_tells_what_it_does_not_show_and_since_when() {
    let (engine, of) = long(24);
    let calls = played(&engine, of, 32_000);
    let newest = engine.left(question(of, &calls), &LeftPlace::Newest).unwrap();
    assert_eq!((newest.at, newest.before), (calls.points.len() - 1, None));
    let answer = answered(newest);
    assert!(holds(&answer.spans, 1), "the second entry is behind summaries: {:?}", answer.spans);
    let shown = calls.call(&engine, of.conversation, calls.points.last().unwrap()).unwrap().unwrap();
    let cover = shown.certificate.cover;
    assert_eq!(answer.entries, cover.stubbed + cover.summarised + cover.elided);
    let numbers: Vec<Option<u32>> = answer.groups.iter().map(|group| group.why.number()).collect();
    assert!(numbers.len() > 1 && numbers.is_sorted_by(|a, b| a >= b), "the newest break first: {numbers:?}");
    for group in &answer.groups {
        let LeftWhy::Summarised(number) = group.why else { continue };
        let at = group.call.unwrap();
        assert_eq!(calls.points[at].epoch, Some(number), "the first call after the break");
        assert!(calls.points[at].is_break(), "{number}");
        // What came after the call before stood in no prompt, and cannot have left one.
        let head = calls.points[at - 1].head.unwrap();
        let last = group.spans.last().unwrap().1.min(head);
        let label = calls.points[at - 1].label.clone();
        let before = answered(engine.left(question(of, &calls), &LeftPlace::Call(label)).unwrap());
        assert!(!holds(&before.spans, last.0), "{last:?} stood there one call earlier: {:?}", before.spans);
        let at_break = answered(engine.left(question(of, &calls), &LeftPlace::Break(number)).unwrap());
        assert!(holds(&at_break.spans, last.0), "{last:?} left at break {number}: {:?}", at_break.spans);
    }
    let paths: Vec<&str> = answer.of_kind(ToldKind::Path).map(|thing| thing.text.as_str()).collect();
    assert!(paths.contains(&"src/part_0.rs"), "{paths:?}");
    assert!(answer.things.iter().all(|thing| holds(&answer.spans, thing.seq.0) && thing.why.is_some()));
    let words = shown.words.split_whitespace().collect::<Vec<_>>().join(" ");
    for thing in &answer.things {
        let text = thing.text.trim_end_matches('…');
        assert_eq!(thing.reach == LeftReach::Prompt, words.contains(text), "{thing:?}");
    }
    assert!(answer.of_kind(ToldKind::Rule).any(|thing| thing.text == RULE && thing.seq == Seq(0)));
}

#[test]
fn nothing_leaves_a_large_window_and_unknown_calls_are_told() {
    let (engine, of) = long(3);
    let calls = played(&engine, of, 1_000_000);
    let answer = answered(engine.left(question(of, &calls), &LeftPlace::Newest).unwrap());
    assert!(answer.is_nothing() && answer.things.is_empty() && answer.groups.is_empty(), "{answer:?}");
    let told = |place: LeftPlace| match engine.left(question(of, &calls), &place) {
        Err(error) => error.to_string(),
        Ok(read) => panic!("{place:?} is call {}", read.at),
    };
    assert!(told(LeftPlace::Call("120".to_owned())).contains("there is no call 120"));
    assert!(told(LeftPlace::Break(1)).contains("there is no break 1"));
    assert!(
        told(LeftPlace::Break(0)).contains("there is no break 0"),
        "a prompt before the first break is none"
    );
}

#[test]
fn at_most_so_many_entries_are_looked_through_and_the_newest_first() {
    let engine = Engine::in_memory();
    let filler = "word ".repeat(60);
    let texts: Vec<String> =
        (0..2_400).map(|at| format!("look at /home/ann/loop/f{at}.py {filler}")).collect();
    let of = imported(&engine, &texts);
    let calls = played(&engine, of, 16_000);
    let answer = answered(engine.left(question(of, &calls), &LeftPlace::Newest).unwrap());
    let all: u64 = answer.spans.iter().map(|(first, last)| last.0 - first.0 + 1).sum();
    assert!(all > LEFT_ENTRIES as u64, "{all}");
    assert_eq!(all - answer.unread, LEFT_ENTRIES as u64, "the others are counted");
    let paths: Vec<u64> = answer.of_kind(ToldKind::Path).map(|thing| thing.seq.0).collect();
    assert_eq!(paths.len(), LEFT_ENTRIES);
    let last = answer.spans.last().unwrap().1.0;
    assert_eq!(paths.first(), Some(&last), "the newest first");
}

#[test]
fn purged_entries_cannot_be_reached() {
    let (engine, of) = long(24);
    engine.purge(&engine.store().conversation(of.conversation).unwrap(), 2..4).unwrap();
    let calls = played(&engine, of, 32_000);
    let answer = answered(engine.left(question(of, &calls), &LeftPlace::Newest).unwrap());
    assert!(answer.things.iter().all(|thing| !(2..4).contains(&thing.seq.0)), "nothing of them is told");
    assert_eq!(answer.purged, [Seq(2), Seq(3)]);
}

#[test]
fn a_sent_prompt_tells_what_it_did_not_show() {
    let (host, lane) = (host(), lane("left"));
    let big = "a line of output that says something\n".repeat(120);
    for n in 0..30_i64 {
        let id = format!("c{n}");
        let messages = [
            user(&format!("look at src/part_{n}.rs"), n * 10 + 1),
            call(&id, n * 10 + 2),
            result(&id, &big, n * 10 + 3),
        ];
        host.begin_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
        host.assemble(&lane, PI, &Ask::new(8_000, Dialect::Anthropic)).unwrap();
        let done: Vec<_> =
            messages.iter().cloned().chain([answer(&format!("answer {n}"), n * 10 + 5)]).collect();
        host.commit_turn(&lane, PI, turn(&n.to_string(), &done)).unwrap();
    }
    let key = host.status(&lane, PI).unwrap().conversation;
    let engine = host.engine();
    let of = ThreadRef { conversation: engine.resolve(&key).unwrap().conversation.id, thread: Thread(0) };
    let calls = CallHistory::sent(engine, of.conversation).unwrap().unwrap();
    let label = calls.points.last().unwrap().label.clone();
    let bare = label.trim_start_matches('r').to_owned();
    let read = engine.left(question(of, &calls), &LeftPlace::Call(bare)).unwrap();
    assert_eq!((calls.label(read.at), read.is_same), (label.as_str(), Some(true)));
    let answer = answered(read);
    assert!(answer.of_kind(ToldKind::Path).any(|thing| thing.text == "src/part_0.rs"), "{answer:?}");
    assert!(
        answer.groups.iter().any(|group| matches!(group.why, LeftWhy::Summarised(_))),
        "{:?}",
        answer.groups
    );
}
