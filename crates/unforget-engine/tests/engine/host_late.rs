//! Messages that come late, changed, under another name, or by digest only.
use crate::common::host::{PI, answer, call, delivered, host, lane, page, result, turn, user};
use unforget_core::deliver::DeliveryOutcome;
use unforget_engine::host::{
    Array, Ask, Brings, Counted, Delivered, DeliveredArray, Event, Host, LaneKey, LiveArray, TakenArray,
    body_digest,
};
use unforget_wire::{Dialect, Format};

fn digest(text: &String) -> Delivered {
    Delivered { body: None, digest: Some(body_digest(text.as_bytes())), ..Delivered::default() }
}

fn volatile(text: &str) -> Delivered {
    Delivered { is_volatile: true, ..Delivered::new(text) }
}

/// A window of the host with input that the host does not store.
fn live(host: &Host, lane: &LaneKey, messages: Vec<Delivered>) {
    let live = LiveArray { is_whole: false, messages };
    host.assemble(lane, PI, &Ask { live: Some(live), ..Ask::new(32_000, Dialect::Pi) }).unwrap();
}

/// A window may clip a message, so it changes nothing. If the whole history then has the other words, that is an edit,
/// even though those bytes were seen before.
#[test]
fn f038_an_edit_that_a_window_showed_first_is_one() {
    let [old, said, new] = [user("old words", 1), answer("yes", 2), user("new words", 1)];
    for by_digest in [false, true] {
        let (host, lane) = (host(), lane("x"));
        host.sync(&lane, PI, delivered(&[old.clone(), said.clone()])).unwrap();
        host.catch_up(&lane, PI, page(std::slice::from_ref(&new), "1")).unwrap();
        assert_eq!(host.path(&lane, PI).unwrap(), [old.clone(), said.clone()]);
        let same = if by_digest { digest(&new) } else { Delivered::new(new.as_str()) };
        live(&host, &lane, vec![same.clone(), Delivered::new(said.as_str())]);
        assert_eq!(host.path(&lane, PI).unwrap(), [old.clone(), said.clone()], "by digest: {by_digest}");
        assert_eq!(host.sync(&lane, PI, vec![same.clone()]).unwrap().why, DeliveryOutcome::Branch);
        assert_eq!(host.path(&lane, PI).unwrap(), std::slice::from_ref(&new), "by digest: {by_digest}");
        assert_eq!(host.sync(&lane, PI, vec![same]).unwrap().why, DeliveryOutcome::UpToDate);
    }
}

#[test]
fn f100_an_id_of_an_entry_that_was_left_says_nothing() {
    let (host, lane) = (host(), lane("x"));
    let with_id = |text: String, id: &str| Delivered::new(text).with_id(id);
    host.sync(&lane, PI, vec![with_id(user("before", 1), "e1")]).unwrap();
    host.event(&lane, PI, &Event::Reset).unwrap();
    host.begin_turn(&lane, PI, turn("t", &[user("after", 2)])).unwrap();
    host.sync(&lane, PI, vec![with_id(user("edited", 2), "e1")]).unwrap();
    assert_eq!(host.path(&lane, PI).unwrap(), [user("edited", 2)]);
}

#[test]
fn f098_of_two_entries_with_one_id_the_newest_is_meant() {
    let (host, lane) = (host(), lane("x"));
    let with_ids = |from: i64| {
        let named = |at: i64| Delivered::new(user(&format!("words {}", from + at), from + at));
        vec![named(1).with_id("e1"), named(2).with_id("e2")]
    };
    // The host started again, and its call was lost.
    host.sync(&lane, PI, with_ids(0)).unwrap();
    host.commit_turn(&lane, PI, turn("t", &[user("words 11", 11), user("words 12", 12)])).unwrap();
    host.sync(&lane, PI, with_ids(10)).unwrap();
    host.event(&lane, PI, &Event::Rewind { to: "e1".to_owned() }).unwrap();
    let path = host.path(&lane, PI).unwrap();
    assert_eq!(path, [user("words 1", 1), user("words 2", 2), user("words 11", 11)]);
}

/// The host's own input stands at changing places: messages inserted between others stay with their neighbours.
#[test]
fn f037_what_is_put_between_others_keeps_to_the_transcript() {
    let (host, lane) = (host(), lane("x"));
    let [first, called, came] = [user("go", 1), call("c", 3), result("c", "done", 6)];
    let event = user("an event", 7);
    let with = |order: &[&String]| {
        let message = |text: &&String| {
            if **text == event { volatile(text) } else { Delivered::new(text.as_str()) }
        };
        order.iter().map(message).collect::<Vec<_>>()
    };
    live(&host, &lane, with(&[&first, &came, &event]));
    live(&host, &lane, with(&[&first, &event, &called, &came]));
    let path = host.path(&lane, PI).unwrap();
    let firm: Vec<&String> = path.iter().filter(|text| **text != event).collect();
    assert_eq!(firm, [&first, &called, &came]);
    assert_eq!(path.len(), 4, "the event is there once");
}

#[test]
fn f040_live_input_that_is_left_out_stays_where_it_stood() {
    let (host, lane) = (host(), lane("x"));
    let [first, late, last] = [user("go", 1), answer("late", 3), user("more", 5)];
    let [one, two] = [user("event one", 2), user("event two", 6)];
    host.begin_turn(&lane, PI, turn("1", std::slice::from_ref(&first))).unwrap();
    live(&host, &lane, vec![volatile(&one)]);
    host.begin_turn(&lane, PI, turn("2", std::slice::from_ref(&last))).unwrap();
    let mut array = vec![volatile(&two)];
    array.extend(delivered(&[first.clone(), late.clone(), last.clone()]));
    live(&host, &lane, array);
    assert_eq!(host.path(&lane, PI).unwrap(), [two, first, one, late, last]);
}

/// A summary of short messages may be longer than the messages.
#[test]
fn f019_compaction_on_request_never_makes_a_prompt_larger() {
    let mut shrank = 0;
    for budget in [1_100, 1_600, 3_000, 8_000] {
        for length in [1, 10, 60] {
            let (host, lane) = (host(), lane("x"));
            for n in 0..60 {
                let text = "a few words ".repeat(length);
                let messages = [user(&format!("{n} {text}"), n * 2 + 1), answer(&text, n * 2 + 2)];
                host.commit_turn(&lane, PI, turn(&n.to_string(), &messages)).unwrap();
                let ask = Ask::new(budget, Dialect::Pi);
                let done = host.compact(&lane, PI, &ask, true).unwrap();
                assert!(done.after <= done.before, "{budget}, {length}, turn {n}: {done:?}");
                assert_eq!(done.shrank, done.after < done.before);
                shrank += usize::from(done.shrank);
            }
        }
    }
    assert!(shrank > 0, "nothing was compacted");
}

#[test]
fn f006_a_count_is_of_the_prompt_that_it_answers() {
    let (host, lane) = (host(), lane("counts"));
    let message = |role: &str, text: &str| format!(r#"{{"role":"{role}","content":"{text}"}}"#);
    let read = |bodies: &[String]| {
        Array::read(Format::OpenAiChat, bodies.iter().map(String::as_bytes), &Array::default()).unwrap()
    };
    let ask = Ask::new(20_000, Dialect::OpenAiChat);
    let prompt = |bodies: &[String]| {
        let array = read(bodies);
        let head = host
            .take(&lane, Format::OpenAiChat, DeliveredArray { brings: Brings::All, array: &array }, None)
            .unwrap()
            .head;
        host.assemble_at(
            &lane,
            Format::OpenAiChat,
            TakenArray { brings: Brings::All, array: &array, head },
            &ask,
        )
        .unwrap()
    };
    let mut bodies = vec![message("user", "short")];
    let (first, first_head) = prompt(&bodies);
    bodies.extend([message("assistant", "yes"), message("user", &"long words ".repeat(3_000))]);
    let (second, second_head) = prompt(&bodies);
    assert!(second.tokens.expected > 10 * first.tokens.expected);
    // The client sent another call before the first answer was counted: that count says nothing about the second
    // prompt.
    let answered = |head, input: u64| {
        let counted = Counted { head, input, ..Counted::default() };
        host.counted(&lane, Format::OpenAiChat, &counted).unwrap()
    };
    let small = first.tokens.expected;
    assert_eq!(answered(first_head, small), None);
    let large = second.tokens.expected;
    assert!(answered(second_head, large / 3).is_some(), "the second itself was cut");
    assert_eq!(prompt(&bodies).0.tokens, second.tokens, "one count may be wrong");
    assert!(answered(second_head, large / 3).is_some(), "and cut again");
    // From now on prompts fit the count of the provider, until the provider accepts more or counts differently.
    let (third, third_head) = prompt(&bodies);
    assert!(third.tokens.upper <= large / 3, "{:?}", third.tokens);
    assert_eq!(answered(third_head, third.tokens.expected), None);
    let (fourth, fourth_head) = prompt(&bodies);
    assert!(fourth.tokens.upper <= large / 3, "{:?}", fourth.tokens);
    assert_eq!(answered(fourth_head, large), None);
    assert_eq!(prompt(&bodies).0.tokens, second.tokens);
}
