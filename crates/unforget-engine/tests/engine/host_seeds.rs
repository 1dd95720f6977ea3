//! The five seed reports: their failures cannot happen here.
use crate::common;

use crate::common::host::{PI, answer, call, delivered, host, result, turn, usage, user};
use serde_json::{Value, json};
use unforget_core::deliver::DeliveryOutcome;
use unforget_core::id::Timestamp;
use unforget_core::loop_view::Stale;
use unforget_engine::host::{
    Ask, Assembled, BodyDigest, Delivered, Event, Host, HostError, LaneKey, LiveArray, Receipt, body_digest,
};
use unforget_store::read_all;
use unforget_wire::journal::Provenance;
use unforget_wire::{Dialect, validate};

fn lane() -> LaneKey {
    common::host::lane("main")
}

fn window(messages: Vec<Delivered>) -> LiveArray {
    LiveArray { is_whole: false, messages }
}

fn ask(budget: u64, live: Vec<Delivered>) -> Ask {
    Ask { live: Some(window(live)), ..Ask::new(budget, Dialect::Pi) }
}

fn texts(assembled: &Assembled) -> Vec<String> {
    let text = |message: &String| {
        let message: Value = serde_json::from_str(message).unwrap();
        match &message["content"] {
            Value::String(text) => text.clone(),
            blocks => {
                blocks.as_array().unwrap().iter().map(|block| block["text"].as_str().unwrap_or("?")).collect()
            }
        }
    };
    assembled.messages.iter().map(text).collect()
}

fn is_valid(assembled: &Assembled) {
    let mut messages = assembled.messages.clone();
    messages.push(user("go on", 1));
    let body = format!("{{\"messages\":[{}]}}", messages.join(","));
    assert_eq!(validate(&body, Dialect::Pi).map_err(|found| format!("{:?}", &found[..1])), Ok(()));
}

/// Seed 000: the view of a loop was cached for ever, through resets and errors.
#[test]
fn f074_seed_000_nothing_of_an_earlier_generation_is_served() {
    let host = host();
    let mut time = 0;
    for generation in 0..3 {
        let mut shown: Vec<String> = Vec::new();
        for n in 0..4 {
            let said = format!("g{generation} turn {n}");
            time += 10;
            let live = delivered(&shown);
            let first = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
            assert!(
                texts(&first).iter().all(|text| text.starts_with(&format!("g{generation}"))),
                "{:?}",
                texts(&first)
            );
            assert_eq!(texts(&first).len(), shown.len());
            let again = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
            assert_eq!(
                (again.remade, &again.messages),
                (None, &first.messages),
                "the same question is served"
            );
            if generation == 1 && n == 2 {
                // One assembly fails: the earlier view must not be served again.
                assert!(matches!(
                    host.assemble(&lane(), PI, &ask(1, live.clone())),
                    Err(HostError::Engine(_))
                ));
                let after = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
                assert_eq!(
                    (after.remade, after.messages),
                    (Some(Stale::Error), first.messages),
                    "made again"
                );
            }
            let messages = [user(&said, time), answer(&format!("{said} answered"), time + 1)];
            let key = format!("{generation}/{n}");
            assert_eq!(host.commit_turn(&lane(), PI, turn(&key, &messages)).unwrap().receipt.added, 2);
            shown.extend(messages);
        }
        host.event(&lane(), PI, &Event::Reset).unwrap();
        let empty = host.assemble(&lane(), PI, &ask(9_000, Vec::new())).unwrap();
        assert_eq!(empty.messages, Vec::<String>::new(), "after a reset nothing is left in the prompt");
    }
    let kept = host.engine().clone();
    let id = read_all(|page| kept.store().conversations(page)).unwrap()[0].id;
    let mut out = Vec::new();
    kept.export(id, None, &mut out).unwrap();
    assert_eq!(
        String::from_utf8(out).unwrap().matches("answered").count(),
        12,
        "and everything is in the store"
    );
}

/// Seed 001: the size of the raw history, not of the prompt, decided, and the session was reset although its prompt
/// fitted.
#[test]
fn f001_seed_001_raw_history_is_debt_and_nothing_else() {
    let host = host();
    let big = "the quick brown fox jumps over it ".repeat(100);
    for n in 0..480 {
        let id = format!("c{n}");
        let messages = [
            user(&format!("do {n}"), n * 10 + 1),
            call(&id, n * 10 + 2),
            result(&id, &big, n * 10 + 3),
            answer(&format!("done {n}"), n * 10 + 4),
        ];
        host.commit_turn(&lane(), PI, turn(&n.to_string(), &messages)).unwrap();
    }
    for budget in [208_000, 8_000, 128_000, 32_000, 983_616] {
        let assembled = host.assemble(&lane(), PI, &ask(budget, Vec::new())).unwrap();
        assert!(assembled.tokens.upper <= budget);
        assert!(assembled.debt.stored > 284_165, "more than the seed's estimate: {}", assembled.debt.stored);
        assert_eq!(assembled.certificate.authority.name(), "assembled", "{budget}");
        assert_eq!(
            assembled.tokens,
            assembled.certificate.sections.total() + assembled.live,
            "the report sums"
        );
        is_valid(&assembled);
    }
    let status = host.status(&lane(), PI).unwrap();
    assert_eq!((status.generation, status.path), (0, 480 * 4), "nothing was reset");
}

/// Each of three refusals is answered with a smaller, different prompt; then the refusal is passed on. Nothing is
/// reset.
#[test]
fn f004_f005_a_refusal_gets_a_smaller_prompt() {
    use unforget_core::recover::{RETRIES_MAX, Reason, Refused, Unit};
    use unforget_engine::host::Recovered;
    let host = host();
    for n in 0..60 {
        let messages =
            [user(&format!("do {n}"), n * 10 + 1), answer(&"words and words ".repeat(60), n * 10 + 4)];
        host.commit_turn(&lane(), PI, turn(&n.to_string(), &messages)).unwrap();
    }
    let overflow =
        Refused::Overflow { unit: Unit::Input, limit: Some(5_000), sent: Some(9_000), output: None };
    assert!(host.refused(&lane(), PI, overflow, 0).is_err(), "nothing was sent");
    let asked = Ask { output: 1_000, ..Ask::new(20_000, Dialect::Pi) };
    for _ in 0..2 {
        let first = host.assemble(&lane(), PI, &asked).unwrap();
        let Recovered::Retry { assembled, output, .. } = host.refused(&lane(), PI, overflow, 0).unwrap()
        else {
            panic!("one retry");
        };
        assert!(assembled.tokens.expected <= first.tokens.expected * 5 / 9, "{:?}", assembled.tokens);
        assert_ne!(assembled.messages, first.messages);
        assert_eq!(output, 1_000);
        is_valid(&assembled);
        let again = host.assemble(&lane(), PI, &asked).unwrap();
        assert_eq!(again.messages, assembled.messages, "until it is answered, no prompt is larger");
        let mut sizes = vec![first.tokens.expected, again.tokens.expected];
        let reason = loop {
            match host.refused(&lane(), PI, overflow, 0).unwrap() {
                Recovered::Retry { assembled, .. } => {
                    is_valid(&assembled);
                    sizes.push(assembled.tokens.expected);
                }
                Recovered::Surface(reason) => break reason,
            }
        };
        assert!(sizes[1..].windows(2).all(|pair| pair[1] <= pair[0] / 2), "{sizes:?}");
        assert!(
            matches!(reason, Reason::Tried | Reason::NothingLeft) && sizes.len() > 2,
            "{sizes:?} {reason:?}"
        );
        assert!(sizes.len() <= 1 + usize::from(RETRIES_MAX), "{sizes:?}");
        let counted = sizes[sizes.len() - 1];
        assert_eq!(host.answered(&lane(), PI, counted).unwrap(), None, "the provider counted what was sent");
    }
    // A server that truncates the prompt and answers all the same.
    let sent = host.assemble(&lane(), PI, &asked).unwrap();
    for _ in 0..2 {
        let sent = host.assemble(&lane(), PI, &asked).unwrap();
        let alarm = host.answered(&lane(), PI, sent.tokens.expected / 3).unwrap();
        assert!(alarm.is_some(), "f006");
    }
    let next = host.assemble(&lane(), PI, &asked).unwrap();
    assert!(next.tokens.upper <= sent.tokens.expected / 3);
    assert_eq!(host.status(&lane(), PI).unwrap().generation, 0);
}

/// A host that put a tool loop behind the prompt delivers the loop before it asks again: prompt and loop together were
/// too large. A turn that failed for good leaves the next turn all retries.
#[test]
fn f004_f005_what_was_behind_the_prompt_counts() {
    use unforget_core::recover::{RETRIES_MAX, Reason, Refused, Unit};
    use unforget_engine::host::Recovered;
    let host = host();
    host.commit_turn(&lane(), PI, turn("1", &[user("do it", 1), answer("done", 2)])).unwrap();
    let overflow = Refused::Overflow { unit: Unit::Input, limit: None, sent: None, output: None };
    let asked = Ask { output: 1_000, ..Ask::new(20_000, Dialect::Pi) };
    host.assemble(&lane(), PI, &asked).unwrap();
    let alone = host.refused(&lane(), PI, overflow, 0).unwrap();
    assert!(matches!(alone, Recovered::Surface(Reason::NothingLeft)), "{alone:?}");
    let large = host.refused(&lane(), PI, overflow, 12_000).unwrap();
    assert!(matches!(large, Recovered::Retry { .. }), "{large:?}");
    let loops =
        [user("read much", 3), call("call_1", 4), result("call_1", &"words and words ".repeat(3_000), 5)];
    let again = Ask { is_first: false, ..ask(20_000, delivered(&loops)) };
    let next = host.assemble(&lane(), PI, &again).unwrap();
    assert!(next.tokens.upper <= 12_000 * 3 / 4, "{:?}", next.tokens);
    assert!(texts(&next).iter().any(|said| said.contains("read much")), "{:?}", texts(&next));
    for _ in 1..RETRIES_MAX {
        host.refused(&lane(), PI, overflow, 0).unwrap();
    }
    let last = host.refused(&lane(), PI, overflow, 0).unwrap();
    assert!(matches!(last, Recovered::Surface(Reason::Tried | Reason::NothingLeft)), "{last:?}");
    host.commit_turn(&lane(), PI, turn("2", &[user("something else", 6)])).unwrap();
    host.assemble(&lane(), PI, &asked).unwrap();
    let anew = host.refused(&lane(), PI, overflow, 12_000).unwrap();
    assert!(matches!(anew, Recovered::Retry { .. }), "{anew:?}");
}

/// The limit learned from refusals holds for the turn, not for the next one.
#[test]
fn f004_a_refused_size_does_not_block_a_larger_message() {
    use unforget_core::recover::{Reason, Refused, Unit};
    use unforget_engine::host::Recovered;
    let host = host();
    let filler: Vec<String> =
        (0..60).map(|n| answer(&format!("filler {n} ").repeat(100), 1_000 + n)).collect();
    host.commit_turn(&lane(), PI, turn("f", &filler)).unwrap();
    let overflow = Refused::Overflow { unit: Unit::Input, limit: None, sent: None, output: None };
    let asked = Ask { output: 1_000, ..Ask::new(20_000, Dialect::Pi) };
    host.assemble(&lane(), PI, &asked).unwrap();
    let reason = loop {
        if let Recovered::Surface(reason) = host.refused(&lane(), PI, overflow, 0).unwrap() {
            break reason;
        }
    };
    assert!(matches!(reason, Reason::Tried | Reason::NothingLeft), "{reason:?}");
    let question = "one more question ".repeat(1_000);
    host.commit_turn(&lane(), PI, turn("2", &[user(&question, 5_000)])).unwrap();
    let next = host.assemble(&lane(), PI, &asked).unwrap();
    assert!(texts(&next).contains(&question), "{:?} {:?}", next.tokens, texts(&next));
}

/// Seed 002: input that the host does not store was missing from the prompt.
#[test]
fn f040_seed_002_volatile_input_is_in_the_prompt_once() {
    let announce = |text: &str, time| Delivered {
        provenance: Some(Provenance::InterSession),
        is_volatile: true,
        ..Delivered::new(user(text, time))
    };
    let host = host();
    let history = [user("start a sub-agent", 1), answer("started", 2)];
    host.commit_turn(&lane(), PI, turn("1", &history)).unwrap();
    let mut live = delivered(&history);
    live.push(announce("the sub-agent is done", 3));
    let count =
        |assembled: &Assembled, text: &str| texts(assembled).iter().filter(|said| *said == text).count();
    for _ in 0..3 {
        let assembled = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
        assert_eq!(texts(&assembled).last().unwrap(), "the sub-agent is done");
        assert_eq!(count(&assembled, "the sub-agent is done"), 1);
    }
    // Between stored messages, in live order.
    live.insert(1, announce("an event in between", 4));
    let assembled = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
    assert_eq!(
        texts(&assembled),
        ["start a sub-agent", "an event in between", "started", "the sub-agent is done"]
    );
    // Equal words later are a new message; without a time only the place tells them apart.
    let untimed = json!({ "role": "user", "content": "retry" }).to_string();
    let retry = Delivered { is_volatile: true, ..Delivered::new(untimed) };
    for n in 1..4 {
        let messages = [answer(&format!("so {n}"), 100 + n)];
        host.commit_turn(&lane(), PI, turn(&format!("r{n}"), &messages)).unwrap();
        live.extend(delivered(&messages));
        live.push(retry.clone());
        for _ in 0..2 {
            let assembled = host.assemble(&lane(), PI, &ask(9_000, live.clone())).unwrap();
            assert_eq!(count(&assembled, "retry"), n as usize, "one for each");
        }
    }
    // With the smallest room: the live input is the lower bound.
    let filler: Vec<String> =
        (0..40).map(|n| answer(&format!("filler {n} ").repeat(40), 1_000 + n)).collect();
    host.commit_turn(&lane(), PI, turn("f", &filler)).unwrap();
    let live = [delivered(&filler), vec![announce("now", 5_000), announce("and now", 5_001)]].concat();
    for budget in [2_000, 1_000, 600, 400] {
        let assembled = host.assemble(&lane(), PI, &ask(budget, live.clone())).unwrap();
        assert!(assembled.tokens.upper <= budget);
        assert_eq!(
            (count(&assembled, "now"), count(&assembled, "and now")),
            (1, 1),
            "{budget}: {:?}",
            texts(&assembled)
        );
        is_valid(&assembled);
    }
}

/// The smaller prompt after a refusal answers the same question, so it contains the live input of that question.
#[test]
fn f004_f040_a_smaller_prompt_keeps_the_live_input() {
    use unforget_core::recover::{Refused, Unit};
    use unforget_engine::host::Recovered;
    let host = host();
    let filler: Vec<String> =
        (0..50).map(|n| answer(&format!("filler {n} ").repeat(120), 1_000 + n)).collect();
    host.commit_turn(&lane(), PI, turn("f", &filler)).unwrap();
    let event = Delivered {
        provenance: Some(Provenance::InternalEvent),
        is_volatile: true,
        ..Delivered::new(user("an early event", 999))
    };
    let live = [vec![event], delivered(&filler), delivered(&[user("and now?", 2_000)])].concat();
    let said = |assembled: &Assembled| {
        let count = |words: &str| texts(assembled).iter().filter(|said| said.contains(words)).count();
        (count("an early event"), count("and now?"))
    };
    let asked = Ask { output: 1_000, ..ask(12_000, live) };
    let first = host.assemble(&lane(), PI, &asked).unwrap();
    assert_eq!(said(&first), (1, 1), "{:?}", texts(&first));
    let overflow =
        Refused::Overflow { unit: Unit::Input, limit: Some(8_000), sent: Some(12_000), output: None };
    let recovered = host.refused(&lane(), PI, overflow, 0).unwrap();
    let Recovered::Retry { assembled, .. } = recovered else { panic!("{recovered:?}") };
    assert!(assembled.tokens.expected < first.tokens.expected);
    assert_eq!(said(&assembled), (1, 1), "{:?}", texts(&assembled));
    is_valid(&assembled);
}

fn long_history(turns: i64) -> Vec<String> {
    let one = |n: i64| {
        let id = format!("call_{n}");
        [user("ok", n * 10 + 1), call(&id, n * 10 + 2), result(&id, "", n * 10 + 3)]
    };
    (0..turns).flat_map(one).collect()
}

fn stored(host: &Host) -> (u64, u64) {
    let status = host.status(&lane(), PI).unwrap();
    (status.path, status.entries)
}

/// Seed 003: after a restart 2,331 messages were stored a second time.
#[test]
fn f034_seed_003_a_full_replay_stores_nothing() {
    let host = host();
    let history = long_history(777);
    assert_eq!(history.len(), 2_331);
    let first = host.after_turn(&lane(), PI, delivered(&history), 0).unwrap();
    assert_eq!((first.why, first.added), (DeliveryOutcome::Append, 2_331));
    let before = stored(&host);
    let restarted = Host::new(host.engine().clone(), || Timestamp(8));
    // The host counts only its system prompt as known.
    let again = restarted.after_turn(&lane(), PI, delivered(&history), 0).unwrap();
    assert_eq!((again.why, again.added, again.off_path), (DeliveryOutcome::UpToDate, 0, 0));
    assert_eq!(stored(&restarted), before);
    // The replay plus new messages; a slice; an overlap; the host's summary in front.
    let mut grown = history.clone();
    grown.push(user("ok", 90_000));
    let mut cases: Vec<(Vec<String>, u64, &str)> = vec![(grown.clone(), 1, "replay plus one new")];
    grown.push(answer("sure", 90_001));
    cases.push((grown[2_000..].to_vec(), 1, "a slice"));
    let summary = json!({ "role": "compactionSummary", "summary": "what was", "timestamp": 4 }).to_string();
    grown.push(user("ok", 90_002));
    cases.push(([vec![summary], grown[2_300..].to_vec()].concat(), 1, "a summary of the host, then a slice"));
    cases.push((grown.clone(), 0, "all again"));
    for (array, new, why) in cases {
        let host = Host::new(host.engine().clone(), || Timestamp(9));
        let receipt = host.after_turn(&lane(), PI, delivered(&array), 0).unwrap();
        assert_eq!((receipt.added, receipt.generation), (new, 0), "{why}");
    }
    assert_eq!(stored(&Host::new(host.engine().clone(), || Timestamp(9))).0, 2_334);
}

/// Seed 003, the opposite: genuine repetitions are not taken for a replay.
#[test]
fn f035_seed_003_repeats_are_kept() {
    let bare = |text: &str| json!({ "role": "user", "content": text }).to_string();
    let host = host();
    let mut array = Vec::new();
    for n in 1..=40 {
        array.push(bare("ok"));
        let receipt = host.after_turn(&lane(), PI, delivered(&array), array.len() - 1).unwrap();
        assert_eq!((receipt.added, receipt.off_path), (1, 0), "ok number {n}");
    }
    // A batch that begins with the same first message, without any id.
    let receipt = host.after_turn(&lane(), PI, delivered(&[bare("ok"), bare("new")]), 0).unwrap();
    assert_eq!(receipt.added, 2);
    assert_eq!(host.path(&lane(), PI).unwrap().len(), 42);
}

/// Delivery by digest: only bodies that the engine lacks are sent.
#[test]
fn f034_known_messages_travel_as_digests() {
    let host = host();
    let history = long_history(50);
    host.sync(&lane(), PI, delivered(&history)).unwrap();
    let digest = |text: &String| Delivered {
        body: None,
        digest: Some(body_digest(text.as_bytes())),
        ..Delivered::default()
    };
    let mut array: Vec<Delivered> = history.iter().map(digest).collect();
    let receipt = host.sync(&lane(), PI, array.clone()).unwrap();
    assert_eq!((receipt.why, receipt.added), (DeliveryOutcome::UpToDate, 0));
    array.push(digest(&user("new", 77_000)));
    let need = host.sync(&lane(), PI, array.clone()).unwrap_err();
    assert!(matches!(need, HostError::Need { ref indices } if *indices == [150]), "{need}");
    assert_eq!(host.path(&lane(), PI).unwrap().len(), 150, "nothing was stored");
    array.pop();
    array.push(Delivered::new(user("new", 77_000)));
    assert_eq!(host.sync(&lane(), PI, array).unwrap().added, 1);
    let lie = Delivered { digest: Some(BodyDigest([0; 16])), ..Delivered::new(user("x", 1)) };
    assert!(matches!(host.sync(&lane(), PI, vec![lie]), Err(HostError::BadMessage { index: 0, .. })));
}

/// Seed 004: an aborted call with an invented result made every later request fail.
#[test]
fn f046_seed_004_aborted_calls_go_with_their_results() {
    let partial = json!({ "role": "assistant", "content": [
            { "type": "text", "text": "let me" },
            { "type": "toolCall", "id": "x1", "name": "read", "arguments": {}, "partialJson": "{\"pa" }],
        "api": "a", "provider": "p", "model": "m", "usage": usage(), "stopReason": "aborted", "timestamp": 2 })
    .to_string();
    let synthetic =
        result("x1", "[openclaw] missing tool result in session history; inserted synthetic error result", 3);
    let history =
        [user("read it", 1), partial, synthetic, user("again", 4), call("x2", 5), result("x2", "text", 6)];
    let host = host();
    host.sync(&lane(), PI, delivered(&history)).unwrap();
    for dialect in [Dialect::Pi, Dialect::Anthropic, Dialect::OpenAiChat, Dialect::OpenAiResponses] {
        let assembled = host.assemble(&lane(), PI, &Ask::new(9_000, dialect)).unwrap();
        let all = assembled.messages.join("\n");
        assert!(!all.contains("x1") && !all.contains("synthetic"), "{}: {all}", dialect.name());
        assert!(all.contains("x2") && all.contains("let me"), "{}: {all}", dialect.name());
    }
    is_valid(&host.assemble(&lane(), PI, &Ask::new(9_000, Dialect::Pi)).unwrap());
    assert_eq!(host.path(&lane(), PI).unwrap(), history, "the log keeps what happened");
}

/// Lifecycle: what is cut from the path stays stored, and a fork begins with what it takes.
#[test]
fn f100_lifecycle_events_move_the_path() {
    let host = host();
    let named = |text: &str, time: i64, id: &str| Delivered::new(user(text, time)).with_id(id);
    let page =
        |messages| unforget_engine::host::Page { messages, cursor: Some("c1".into()), is_reset: false };
    let three = vec![named("a", 1, "e1"), named("b", 2, "e2"), named("c", 3, "e3")];
    let receipt = host.catch_up(&lane(), PI, page(three.clone())).unwrap();
    assert_eq!((receipt.added, host.status(&lane(), PI).unwrap().cursor.as_deref()), (3, Some("c1")));
    let entries = stored(&host).1;
    host.catch_up(&lane(), PI, page(three.clone())).unwrap();
    assert_eq!(stored(&host), (3, entries), "the same page again");
    let fork = LaneKey("agent:other".into());
    host.event(&fork, PI, &Event::Fork { from: lane(), until: Some("e2".into()) }).unwrap();
    assert_eq!(host.path(&fork, PI).unwrap().len(), 2);
    let receipt: Receipt = host.event(&lane(), PI, &Event::Rewind { to: "e1".into() }).unwrap();
    assert_eq!(receipt.generation, 1);
    assert_eq!(host.path(&lane(), PI).unwrap().len(), 1);
    assert!(host.event(&lane(), PI, &Event::Rewind { to: "e9".into() }).is_err());
    host.event(&lane(), PI, &Event::Reset).unwrap();
    let reopened = Host::new(host.engine().clone(), || Timestamp(9));
    assert_eq!(reopened.path(&lane(), PI).unwrap(), Vec::<String>::new(), "a reset outlives a restart");
    let all = host.assemble(&lane(), PI, &Ask::new(9_000, Dialect::Pi)).unwrap();
    assert_eq!(all.messages, Vec::<String>::new());
    assert!(stored(&reopened).1 > entries, "and took nothing");
}
