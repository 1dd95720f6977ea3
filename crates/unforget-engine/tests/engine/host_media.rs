//! Images refused by a provider: left out of the one retry, oldest first, and never removed from the store.
use crate::common;

use crate::common::host::{delivered, host, lane};
use serde_json::{Value, json};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::recover::{Reason, Refused, Unit, Why};
use unforget_engine::Engine;
use unforget_engine::host::{Ask, Assembled, Delivered, Event, Host, LaneKey, LiveArray, Recovered, Turn};
use unforget_store::read_all;
use unforget_wire::{Dialect, Format};

/// Hosts by the form of their messages and the dialect of their prompts.
const HOSTS: [(Format, Dialect); 5] = [
    (Format::Pi, Dialect::Pi),
    (Format::Pi, Dialect::Anthropic),
    (Format::AnthropicMessages, Dialect::Anthropic),
    (Format::OpenAiChat, Dialect::OpenAiChat),
    (Format::AnthropicMessages, Dialect::OpenAiResponses),
];

/// The base64 text of a unique picture.
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

/// A host that sent `count` pictures.
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
        let (retry, cause) = retried(host.refused(&lane, form, too_many(4), 0).unwrap());
        assert_eq!((pictures(&retry), cause), (vec![2, 3, 4, 5], Why::Media), "{why}");
        assert!(retry.tokens.upper < first.tokens.upper, "{why}: the certificate is of what is sent");
        assert_eq!(retry.certificate.cover.stubbed, 2, "{why}");
        let all = retry.messages.join("\n");
        assert_eq!(all.matches("[image/png left out, stored whole: expand s:").count(), 2, "{why}: {all}");
        for said in 0..6 {
            assert!(all.contains(&format!("what is {said}")), "{why}: the words stay");
        }
        let second = host.refused(&lane, form, too_many(4), 0).unwrap();
        assert!(matches!(second, Recovered::Surface(Reason::Tried)), "{why}: {second:?}");
        // From now on the limit is known, after a restart too, and no call is wasted on it.
        host.answered(&lane, form, retry.tokens.expected).unwrap();
        let host = Host::new(host.engine().clone(), || Timestamp(7));
        shows(&host, &lane, form, 6);
        let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(pictures(&next), [3, 4, 5, 6], "{why}");
        // The limit belonged to the other model.
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
        let (retry, _) = retried(host.refused(&lane, form, too_many(1), 0).unwrap());
        let all = retry.messages.join("\n");
        let named: Vec<u64> = all
            .split("stored whole: expand s:")
            .skip(1)
            .map(|rest| rest.split(']').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(named.len(), 2, "{all}");
        let id = read_all(|page| host.engine().store().conversations(page)).unwrap()[0].id;
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
    let (retry, _) = retried(host.refused(&lane, form, bad, 0).unwrap());
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
        let (retry, _) = retried(host.refused(&lane, form, Refused::Media { place }, 0).unwrap());
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
        let (retry, _) = retried(host.refused(&lane, form, bytes, 0).unwrap());
        assert_eq!(pictures(&retry), [3], "{why}");
        host.answered(&lane, form, retry.tokens.expected).unwrap();
        let next = host.assemble(&lane, form, &asked(dialect)).unwrap();
        assert_eq!(next.messages, first.messages, "{why}: the figure was of that request");
    }
}

/// A picture of 640x480 with the given number of base64 bytes, a multiple of four.
fn large(bytes: usize) -> String {
    format!("iVBORw0KGgoAAAANSUhEUgAAAoAAAAHg{}", "QUJD".repeat(bytes / 4 - 8))
}

fn with_image(data: &str, time: i64) -> String {
    json!({ "role": "user", "content": [{ "type": "text", "text": "look" },
        { "type": "image", "mimeType": "image/png", "data": data }], "timestamp": time })
    .to_string()
}

#[test]
fn f069_an_image_weighs_the_same_however_it_is_encoded() {
    let weight = |images: usize, bytes: usize, live: bool| {
        let (host, lane) = (host(), lane("x"));
        let all: Vec<String> = (0..images).map(|n| with_image(&large(bytes), 1_000 + n as i64)).collect();
        let live = live.then(|| {
            let volatile = |message: Delivered| Delivered { is_volatile: true, ..message };
            LiveArray { is_whole: false, messages: delivered(&all).into_iter().map(volatile).collect() }
        });
        if live.is_none() {
            host.sync(&lane, Format::Pi, delivered(&all)).unwrap();
        }
        let ask = Ask { live, ..Ask::new(100_000, Dialect::Pi) };
        let assembled = host.assemble(&lane, Format::Pi, &ask).unwrap();
        assert_eq!(assembled.media.len(), images);
        assembled.tokens
    };
    for live in [false, true] {
        let small = weight(1, 10_000, live);
        assert_eq!(weight(1, 2_000_000, live), small, "200 times the bytes");
        assert!((1_600..1_800).contains(&small.expected), "{small:?}");
        let four = weight(4, 10_000, live);
        assert_eq!(
            four.expected - weight(3, 10_000, live).expected,
            weight(2, 10_000, live).expected - small.expected
        );
        assert!(four.expected > 4 * 1_600, "each counts");
    }
}

#[test]
fn f069_a_large_live_image_beside_a_summary_fits() {
    let (host, lane) = (host(), lane("x"));
    let announce = Delivered { is_volatile: true, ..Delivered::new(with_image(&large(2_000_000), 1)) };
    let mut live = vec![announce];
    for n in 0..60 {
        let said = common::host::answer(&"words and words ".repeat(60), 10 + n);
        host.commit_turn(&lane, Format::Pi, common::host::turn(&n.to_string(), std::slice::from_ref(&said)))
            .unwrap();
        live.push(Delivered::new(said));
        if n % 20 == 0 {
            let array = LiveArray { is_whole: false, messages: live.clone() };
            let ask = Ask { live: Some(array), ..Ask::new(8_000, Dialect::Pi) };
            let assembled = host.assemble(&lane, Format::Pi, &ask).unwrap();
            assert!(assembled.tokens.upper <= 8_000);
            assert!(assembled.messages.iter().any(|message| message.contains("iVBORw0KGgo")), "it is there");
        }
    }
}

#[test]
fn f045_a_large_image_is_in_its_turn_and_comes_back_later() {
    let (engine, folder) = common::engine();
    let lane = lane("x");
    let data = large(400_000);
    let result = json!({ "role": "toolResult", "toolCallId": "c", "toolName": "read", "isError": false, "timestamp": 3,
        "content": [{ "type": "image", "mimeType": "image/png", "data": data }] })
    .to_string();
    let turn = [with_image(&data, 1), common::host::call("c", 2), result, common::host::answer("seen", 4)];
    let first = Host::new(engine.clone(), || Timestamp(7));
    first.commit_turn(&lane, Format::Pi, common::host::turn("1", &turn)).unwrap();
    for dialect in [Dialect::Pi, Dialect::Anthropic, Dialect::OpenAiResponses, Dialect::Gemini] {
        let assembled = first.assemble(&lane, Format::Pi, &asked(dialect)).unwrap();
        let count = assembled.messages.join("").matches(data.as_str()).count();
        assert_eq!(count, 2, "{}: a person's and a tool's, as they are", dialect.name());
    }
    for n in 2..60 {
        let said = [common::host::user(&"words ".repeat(80), n * 10), common::host::answer("so", n * 10 + 1)];
        first.commit_turn(&lane, Format::Pi, common::host::turn(&n.to_string(), &said)).unwrap();
    }
    let late = first.assemble(&lane, Format::Pi, &Ask::new(6_000, Dialect::Pi)).unwrap();
    assert!(!late.messages.join("").contains(&data), "it is out of the prompt");
    drop((first, engine));
    // The host's file and the process are long gone.
    let engine = Engine::open(&folder.path().join("unforget.db")).unwrap();
    let id = read_all(|page| engine.store().conversations(page)).unwrap()[0].id;
    for (name, message) in [("s:1", &turn[0]), ("s:3", &turn[2])] {
        let raw = engine.expand_raw(Some(id), name, 1).unwrap();
        let kept = unforget_wire::journal::read_line(&raw[0].body).message.unwrap();
        assert!(kept == *message, "{name}: byte for byte");
    }
    assert!(Host::new(engine, || Timestamp(8)).path(&lane, Format::Pi).unwrap()[..4] == turn);
}

#[test]
fn f064_a_host_without_images_is_told_that_dropping_helps_nothing() {
    let host = Host::new(unforget_engine::Engine::in_memory(), || Timestamp(7));
    let lane = lane("x");
    let turn = common::host::turn("1", &[common::host::user("words", 1)]);
    host.commit_turn(&lane, Format::Pi, turn).unwrap();
    host.assemble(&lane, Format::Pi, &asked(Dialect::Pi)).unwrap();
    let done = host.refused(&lane, Format::Pi, Refused::Media { place: Some((0, 0)) }, 0).unwrap();
    assert!(matches!(done, Recovered::Surface(Reason::NotSize)), "{done:?}");
}
