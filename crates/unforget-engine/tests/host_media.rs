//! Images that a provider does not take: out of the one retry, oldest first, and never out of the store.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests")]

mod common;

use common::host::{delivered, host, lane};
use serde_json::{Value, json};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::recover::{Reason, Refused, Unit, Why};
use unforget_engine::host::{Ask, Assembled, Event, Host, LaneKey, Recovered, Turn};
use unforget_wire::{Dialect, Format};

/// Hosts by what they deliver and what they are given.
const HOSTS: [(Format, Dialect); 5] = [
    (Format::Pi, Dialect::Pi),
    (Format::Pi, Dialect::Anthropic),
    (Format::AnthropicMessages, Dialect::Anthropic),
    (Format::OpenAiChat, Dialect::OpenAiChat),
    (Format::AnthropicMessages, Dialect::OpenAiResponses),
];

/// The base64 text of a picture of its own.
fn picture(n: u32) -> String {
    format!("iVBORw0KGgo{n:05}")
}

fn image(form: Format, n: u32) -> Value {
    let data = picture(n);
    match form {
        Format::Pi => json!({ "type": "image", "mimeType": "image/png", "data": data }),
        Format::OpenAiChat => {
            json!({ "type": "image_url", "image_url": { "url": format!("data:image/png;base64,{data}") } })
        }
        _ => {
            json!({ "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": data } })
        }
    }
}

/// A turn about one picture.
fn shows(host: &Host, lane: &LaneKey, form: Format, n: u32) {
    let asked = json!({ "role": "user", "content": [{ "type": "text", "text": format!("what is {n}") }, image(form, n)],
        "timestamp": n * 10 });
    let answered = match form {
        Format::Pi => common::host::answer(&format!("it is {n}"), i64::from(n) * 10 + 1),
        _ => json!({ "role": "assistant", "content": format!("it is {n}") }).to_string(),
    };
    let messages = delivered(&[asked.to_string(), answered]);
    host.commit_turn(lane, form, Turn { key: n.to_string(), messages }).unwrap();
}

/// A host that showed so many pictures.
fn album(form: Format, count: u32) -> (Host, LaneKey) {
    let (host, lane) = (host(), lane("x"));
    for n in 0..count {
        shows(&host, &lane, form, n);
    }
    (host, lane)
}

/// The pictures in a prompt.
fn pictures(assembled: &Assembled) -> Vec<u32> {
    let all = assembled.messages.join("\n");
    (0..99).filter(|n| all.contains(&picture(*n))).collect()
}

const fn too_many(limit: u64) -> Refused {
    Refused::Overflow { unit: Unit::Media, limit: Some(limit), sent: None, output: None }
}

fn asked(dialect: Dialect) -> Ask {
    Ask { output: 1_000, ..Ask::new(60_000, dialect) }
}

fn retried(recovered: Recovered) -> (Assembled, Why) {
    match recovered {
        Recovered::Retry { assembled, why, .. } => (*assembled, why),
        Recovered::Surface(reason) => panic!("{reason:?}"),
    }
}

#[test]
fn f064_too_many_images_are_dropped_oldest_first() {
    for (form, dialect) in HOSTS {
        let why = format!("{} to {}", form.name(), dialect.name());
        let (host, lane) = album(form, 6);
        let first = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(pictures(&first), [0, 1, 2, 3, 4, 5], "{why}");
        let (retry, cause) = retried(host.refused(&lane, form, too_many(4)).unwrap());
        assert_eq!((pictures(&retry), cause), (vec![2, 3, 4, 5], Why::Media), "{why}");
        assert!(retry.tokens.upper < first.tokens.upper, "{why}: the certificate is of what is sent");
        assert_eq!(retry.certificate.cover.stubbed, 2, "{why}");
        let all = retry.messages.join("\n");
        assert_eq!(all.matches("[image/png left out, stored whole: expand s:").count(), 2, "{why}: {all}");
        for said in 0..6 {
            assert!(all.contains(&format!("what is {said}")), "{why}: the words stay");
        }
        let second = host.refused(&lane, form, too_many(4)).unwrap();
        assert!(matches!(second, Recovered::Surface(Reason::Tried)), "{why}: {second:?}");
        // The limit is known from now on: no call is wasted on it.
        host.answered(&lane, form, retry.tokens.expected).unwrap();
        shows(&host, &lane, form, 6);
        let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(pictures(&next), [3, 4, 5, 6], "{why}");
        // It was the other model's.
        host.event(&lane, form, &Event::Model { name: "m2".into() }).unwrap();
        let other = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(pictures(&other), [0, 1, 2, 3, 4, 5, 6], "{why}");
    }
}

#[test]
fn f064_what_the_stub_names_expands_to_the_image() {
    for (form, dialect) in HOSTS {
        let (host, lane) = album(form, 3);
        host.assemble(&lane, form, &asked(dialect)).unwrap();
        let (retry, _) = retried(host.refused(&lane, form, too_many(1)).unwrap());
        let all = retry.messages.join("\n");
        let named: Vec<u64> = all
            .split("stored whole: expand s:")
            .skip(1)
            .map(|rest| rest.split(']').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(named.len(), 2, "{all}");
        let id = host.engine().store().conversations().unwrap()[0].id;
        for (n, seq) in (0..).zip(named) {
            let raw = host.engine().store().raw(id, seq..Seq(seq).0 + 1).unwrap();
            let text = String::from_utf8(raw[0].body.clone()).unwrap();
            assert!(text.contains(&picture(n)), "{} to {}: {text}", form.name(), dialect.name());
        }
    }
}

#[test]
fn f064_a_bad_image_is_not_sent_again_and_others_are() {
    let (form, dialect) = (Format::AnthropicMessages, Dialect::Anthropic);
    let (host, lane) = album(form, 3);
    host.assemble(&lane, form, &asked(dialect)).unwrap();
    let bad = Refused::Media { place: Some((2, 1)) };
    let (retry, _) = retried(host.refused(&lane, form, bad).unwrap());
    assert_eq!(pictures(&retry), [0, 2]);
    host.answered(&lane, form, retry.tokens.expected).unwrap();
    shows(&host, &lane, form, 3);
    let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
    assert_eq!(pictures(&next), [0, 2, 3], "only that one, in all calls that follow");
}

#[test]
fn f064_where_it_is_not_known_which_all_that_were_sent_go() {
    let table = [
        (Format::Pi, Dialect::Pi, Some((2, 1)), "the host's own message indices are not ours"),
        (Format::AnthropicMessages, Dialect::Anthropic, None, "the provider did not say"),
        (Format::AnthropicMessages, Dialect::Anthropic, Some((1, 0)), "no image stands there"),
    ];
    for (form, dialect, place, why) in table {
        let (host, lane) = album(form, 3);
        host.assemble(&lane, form, &asked(dialect)).unwrap();
        let (retry, _) = retried(host.refused(&lane, form, Refused::Media { place }).unwrap());
        assert_eq!(pictures(&retry), Vec::<u32>::new(), "{why}");
        host.answered(&lane, form, retry.tokens.expected).unwrap();
        shows(&host, &lane, form, 3);
        let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(pictures(&next), [3], "{why}: a newer one may be sent");
    }
}

#[test]
fn f064_after_too_many_bytes_one_image_is_kept_for_the_call() {
    for (form, dialect) in HOSTS {
        let why = format!("{} to {}", form.name(), dialect.name());
        let (host, lane) = album(form, 4);
        let first = host.assemble(&lane, form, &asked(dialect)).unwrap();
        let bytes = Refused::Overflow { unit: Unit::Bytes, limit: None, sent: None, output: None };
        let (retry, _) = retried(host.refused(&lane, form, bytes).unwrap());
        assert_eq!(pictures(&retry), [3], "{why}");
        host.answered(&lane, form, retry.tokens.expected).unwrap();
        let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(next.messages, first.messages, "{why}: the figure was of that request");
    }
}

#[test]
fn f064_a_host_without_images_is_told_that_dropping_helps_nothing() {
    let host = Host::new(unforget_engine::Engine::in_memory(), || Timestamp(7));
    let lane = lane("x");
    let turn = common::host::turn("1", &[common::host::user("words", 1)]);
    host.commit_turn(&lane, Format::Pi, turn).unwrap();
    host.assemble(&lane, Format::Pi, &asked(Dialect::Pi)).unwrap();
    let done = host.refused(&lane, Format::Pi, Refused::Media { place: Some((0, 0)) }).unwrap();
    assert!(matches!(done, Recovered::Surface(Reason::NotSize)), "{done:?}");
}
