//! Calls that continue an answer by its id, or a conversation by its name, when calls cross, fail and are repeated.
use crate::common::host::lane;
use serde_json::{Value, json};
use unforget_core::deliver::DeliveryOutcome;
use unforget_core::entry::Role;
use unforget_core::id::{Seq, Timestamp};
use unforget_engine::Engine;
use unforget_engine::host::{
    Array, Ask, Brings, DeliveredAnswer, DeliveredArray, Host, HostError, LaneKey, Receipt, TakenArray,
    WriteLatency,
};
use unforget_engine::recall::SearchQuery;
use unforget_store::read_all;
use unforget_wire::{Dialect, Format};

const FORM: Format = Format::OpenAiResponses;

struct World {
    host: Host,
    lane: LaneKey,
}

impl World {
    fn new() -> Self {
        Self { host: Host::new(Engine::in_memory(), || Timestamp(7)), lane: lane("chained") }
    }

    /// Makes a call with these words of the user. Returns the place of its answer.
    fn take(&self, brings: Brings<'_>, words: &str) -> Receipt {
        let item = user(words).to_string();
        let array = Array::read(FORM, [item.as_bytes()], &Array::default()).unwrap();
        self.host.take(&self.lane, FORM, DeliveredArray { brings, array: &array }, None).unwrap()
    }

    fn answer(&self, asked_at: Option<Seq>, id: &str, items: &[Value]) -> Receipt {
        let messages = items.iter().map(|item| item.to_string().into_bytes()).collect();
        let answered = DeliveredAnswer {
            asked_at,
            messages,
            id: Some(id.to_owned()),
            interrupted: None,
            latency: WriteLatency::Soon,
            is_late: false,
        };
        self.host.take_answer(&self.lane, FORM, &answered).unwrap()
    }

    /// The words on the path.
    fn path(&self) -> String {
        let path = self.host.path(&self.lane, FORM).unwrap();
        let words = path.iter().map(|item| {
            let item: Value = serde_json::from_str(item).unwrap();
            item["content"][0]["text"].as_str().unwrap().to_owned()
        });
        words.collect::<Vec<_>>().join(" ")
    }
}

fn user(words: &str) -> Value {
    json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": words }] })
}

fn says(words: &str) -> Value {
    json!({ "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": words }] })
}

/// Two calls continue one answer at the same time. Each is answered, and later calls continue either answer.
#[test]
fn answers_that_cross_are_both_there_for_later_calls() {
    let world = World::new();
    let first = world.take(Brings::All, "u1").head;
    world.answer(first, "r1", &[says("a1")]);
    let a = world.take(Brings::Rest(Some("r1")), "uA").head;
    let b = world.take(Brings::Rest(Some("r1")), "uB").head;
    let crossed = world.answer(a, "rA", &[says("aA")]);
    assert_eq!((crossed.added, crossed.off_path, crossed.head), (0, 1, b), "the path is another's now");
    world.answer(b, "rB", &[says("aB")]);
    assert_eq!(world.path(), "u1 a1 uB aB");
    // The answers once more, as after a restart, change nothing.
    for (at, id, words) in [(a, "rA", "aA"), (b, "rB", "aB"), (first, "r1", "a1")] {
        let again = world.answer(at, id, &[says(words)]);
        assert_eq!((again.why, again.added + again.off_path), (DeliveryOutcome::UpToDate, 0), "{id}");
    }
    world.take(Brings::Rest(Some("rA")), "more");
    assert_eq!(world.path(), "u1 a1 uA aA more");
    world.take(Brings::Rest(Some("rB")), "more");
    assert_eq!(world.path(), "u1 a1 uB aB more");
}

/// Clients that send the whole history make calls of one conversation at the same time. The slower answer stands on no
/// path; searches find it all the same, as an answer and not as a copy of the question.
#[test]
fn an_overtaken_answer_is_found_and_not_shown() {
    let world = World::new();
    let take = |words: &[Value]| {
        let items: Vec<String> = words.iter().map(Value::to_string).collect();
        let array = Array::read(FORM, items.iter().map(String::as_bytes), &Array::default()).unwrap();
        let array = DeliveredArray { brings: Brings::All, array: &array };
        world.host.take(&world.lane, FORM, array, None).unwrap()
    };
    let base = [user("u1"), says("a1")];
    let slow = take(&[&base[..], &[user("which lantern")]].concat()).head;
    let fast = take(&[&base[..], &[user("which kettle")]].concat()).head;
    world.answer(fast, "fast", &[says("the copper kettle")]);
    let crossed = world.answer(slow, "slow", &[says("the green lantern")]);
    assert_eq!((crossed.added, crossed.off_path), (0, 1));
    assert_eq!(world.path(), "u1 a1 which kettle the copper kettle");
    let engine = world.host.engine();
    let id = read_all(|page| engine.store().conversations(page)).unwrap()[0].id;
    let found = |text: &str| {
        let query = SearchQuery { text: text.to_owned(), ..SearchQuery::default() };
        let hits = engine.search(&query).unwrap().results;
        let first = &hits[0];
        (first.role, first.text.clone(), first.also.len())
    };
    assert_eq!(found("green lantern"), (Role::Assistant, "the green lantern".to_owned(), 0));
    assert_eq!(engine.describe(Some(id), &format!("s:{}", slow.unwrap())).unwrap().copies, []);
    // The slower client goes on: its branch becomes the path, and each of its messages is found once.
    let items = [user("which lantern"), says("the green lantern"), user("and its price")];
    take(&[&base[..], &items].concat());
    assert_eq!(world.path(), "u1 a1 which lantern the green lantern and its price");
    assert_eq!(found("green lantern"), (Role::Assistant, "the green lantern".to_owned(), 1));
}

/// One call is made twice at the same time: later calls can continue either answer.
#[test]
fn two_answers_to_one_call_are_both_there() {
    let world = World::new();
    let at = world.take(Brings::All, "u1").head;
    assert_eq!(world.take(Brings::All, "u1").head, at);
    world.answer(at, "r1", &[says("a1")]);
    world.answer(at, "r2", &[says("a2")]);
    for (id, path) in [("r2", "u1 a2 more"), ("r1", "u1 a1 more"), ("r2", "u1 a2 more")] {
        world.take(Brings::Rest(Some(id)), "more");
        assert_eq!(world.path(), path);
    }
}

/// An answer still to come has no words yet, but calls can already continue it.
#[test]
fn an_answer_without_words_has_a_place() {
    let world = World::new();
    let at = world.take(Brings::All, "u1").head;
    world.answer(at, "queued", &[]);
    world.take(Brings::Rest(Some("queued")), "more");
    assert_eq!(world.path(), "u1 more");
}

/// Input refused by the provider and sent again by the client is stored once.
#[test]
fn a_conversation_whose_call_failed_has_its_input_once() {
    let world = World::new();
    for _ in 0..3 {
        world.take(Brings::Rest(None), "u1");
    }
    let at = world.take(Brings::Rest(None), "u1").head;
    world.answer(at, "r1", &[says("a1")]);
    // Equal words after the answer are a new message.
    let at = world.take(Brings::Rest(None), "u1").head;
    world.answer(at, "r2", &[says("a1")]);
    world.take(Brings::Rest(None), "u2");
    let at = world.take(Brings::Rest(None), "u3").head;
    assert_eq!(world.take(Brings::Rest(None), "u3").head, at);
    assert_eq!(world.path(), "u1 a1 u1 a1 u2 u3");
    // Another call came in between: its answer must not take that call off the path.
    let other = world.take(Brings::Rest(None), "u4").head;
    world.answer(at, "r3", &[says("a3")]);
    world.answer(other, "r4", &[says("a4")]);
    assert_eq!(world.path(), "u1 a1 u1 a1 u2 u3 u4 a4");
    world.take(Brings::Rest(Some("r3")), "u5");
    assert_eq!(world.path(), "u1 a1 u1 a1 u2 u3 a3 u5");
    world.host.assemble(&world.lane, FORM, &Ask::new(4_000, Dialect::OpenAiResponses)).unwrap();
}

#[test]
fn an_answer_that_nobody_gave_is_refused() {
    let world = World::new();
    world.take(Brings::All, "u1");
    let array = Array::read(FORM, [user("x").to_string().as_bytes()], &Array::default()).unwrap();
    let refused = world.host.take(
        &world.lane,
        FORM,
        DeliveredArray { brings: Brings::Rest(Some("none")), array: &array },
        None,
    );
    assert!(matches!(refused, Err(HostError::Refused { .. })), "{refused:?}");
    assert_eq!(world.path(), "u1");
}

/// A Chat client, which sends the complete history with every call.
struct Chat {
    host: Host,
    lane: LaneKey,
    said: Vec<String>,
}

impl Chat {
    fn message(at: usize, words: &str) -> String {
        json!({ "role": if at.is_multiple_of(2) { "user" } else { "assistant" }, "content": words })
            .to_string()
    }

    /// Makes a call with alternating words and its answer. Returns the prompt of a small budget.
    fn call(&self, words: &[String], answer: &str) -> String {
        let bodies: Vec<String> =
            words.iter().enumerate().map(|(at, words)| Self::message(at, words)).collect();
        let array =
            Array::read(Format::OpenAiChat, bodies.iter().map(String::as_bytes), &Array::default()).unwrap();
        let form = Format::OpenAiChat;
        let receipt = self
            .host
            .take(&self.lane, form, DeliveredArray { brings: Brings::All, array: &array }, None)
            .unwrap();
        let ask = Ask::new(2_000, Dialect::OpenAiChat);
        let at = TakenArray { brings: Brings::All, array: &array, head: receipt.head };
        let (assembled, asked_at) = self.host.assemble_at(&self.lane, form, at, &ask).unwrap();
        let messages = vec![Self::message(1, answer).into_bytes()];
        let answered = DeliveredAnswer { asked_at, messages, ..DeliveredAnswer::default() };
        self.host.take_answer(&self.lane, form, &answered).unwrap();
        assembled.messages.join("\n")
    }

    fn with(&self, more: &[&str]) -> Vec<String> {
        self.said.iter().cloned().chain(more.iter().map(|words| (*words).to_owned())).collect()
    }
}

/// The model reads the words that the client sent last: equal answers do not merge two questions, and an edit in place
/// counts.
#[test]
fn f042_a_prompt_has_the_words_that_were_sent_now() {
    let mut chat =
        Chat { host: Host::new(Engine::in_memory(), || Timestamp(7)), lane: lane("chat"), said: vec![] };
    for n in 0..30 {
        chat.said.push(format!("question {n}, {}", "with words that take room ".repeat(8)));
        chat.call(&chat.said, &format!("answer {n}"));
        chat.said.push(format!("answer {n}"));
    }
    let check = |sent: &[&str], gone: &[&str]| {
        let prompt = chat.call(&chat.with(sent), "const");
        for words in sent {
            assert!(prompt.contains(words), "{words} is not in {prompt}");
        }
        for words in gone {
            assert!(!prompt.contains(words), "{words} is in {prompt}");
        }
    };
    check(&["ALPHA"], &[]);
    check(&["BETA"], &["ALPHA"]);
    check(&["ALPHA", "const", "go on"], &["BETA"]);
    check(&["BETA", "const", "go on"], &["ALPHA"]);
    check(&["DELETE", "const", "do it"], &["BETA", "ALPHA"]);
    check(&["LIST", "const", "do it"], &["DELETE"]);
    check(&["LIST", "RIGHT", "do it", "const", "more"], &["DELETE"]);
    check(&["LIST", "WRONG", "do it", "const", "more"], &["RIGHT"]);
    check(&["PRINT", "WRONG", "do it", "const", "more", "const", "and more"], &["LIST"]);
}

/// Codex returns sealed reasoning with an additional field; this is no edit.
#[test]
fn reasoning_that_comes_back_with_other_bytes_makes_no_branch() {
    let world = World::new();
    let at = world.take(Brings::All, "u1").head;
    let sealed = json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed" });
    world.answer(at, "r1", &[sealed.clone(), says("a1")]);
    let mut back = sealed;
    back["content"] = Value::Null;
    let items = [user("u1"), back, says("a1"), user("u2")].map(|item| item.to_string());
    let array = Array::read(FORM, items.iter().map(String::as_bytes), &Array::default()).unwrap();
    let receipt = world
        .host
        .take(&world.lane, FORM, DeliveredArray { brings: Brings::All, array: &array }, None)
        .unwrap();
    assert_eq!((receipt.why, receipt.added), (DeliveryOutcome::Append, 1));
}
