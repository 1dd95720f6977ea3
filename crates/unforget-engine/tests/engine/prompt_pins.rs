//! Pins: verbatim in every prompt, whatever the window, the rung and the dialect.

use crate::common;

use crate::common::host::{PI, answer, call, host, lane, result, turn, user};
use proptest::prelude::*;
use serde_json::Value;
use unforget_core::id::{ConversationId, ConversationKey, Seq, Thread, Timestamp};
use unforget_core::message::Block;
use unforget_core::pin::{Pin, PinId, PinState};
use unforget_engine::host::Ask;
use unforget_engine::prompt::{Cause, Prompt, Session, Shape, ThreadRef, Until};
use unforget_engine::replay::RecordedHost;
use unforget_engine::view::Answers;
use unforget_engine::{Engine, EngineError, PinText};
use unforget_store::PinRow;
use unforget_testkit::hostile::{Size, history};
use unforget_testkit::render;
use unforget_wire::{Dialect, Reader, validate};

const NOW: Timestamp = Timestamp(7);

fn stored(seed: u64) -> (Engine, ThreadRef) {
    let bytes = render::pi(&history(seed, Size::SMALL));
    let engine = Engine::in_memory();
    let mut reader = Reader::open(bytes.as_slice()).unwrap();
    let mut host = RecordedHost::begin(&engine, reader.source(), None);
    let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
    while let Some(record) = reader.next_record().unwrap() {
        host.deliver(vec![record]).unwrap();
    }
    (engine, lane)
}

/// Whether a string of the JSON is, or holds, these words.
fn says(value: &Value, words: &str) -> bool {
    match value {
        Value::String(text) => text.contains(words),
        Value::Array(all) => all.iter().any(|value| says(value, words)),
        Value::Object(all) => all.values().any(|value| says(value, words)),
        _ => false,
    }
}

fn words() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z]{1,12}( [a-z]{1,12}){0,12}",
        Just("line one\n\tline \"two\"\r\n\\ and </unforget> ``` 終わり\u{1f980}".to_owned()),
        "\\PC{1,40}x",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever the history and the window, each dialect's prompt has every active pin, and it fits; or it is said that
    /// it cannot, with the pins' names.
    #[test]
    fn active_pins_are_in_every_prompt(
        seed in 0..5_000_u64,
        window in 1_024..40_000_u64,
        texts in prop::collection::vec(words(), 1..6),
        gone in 0..6_u64,
    ) {
        let (engine, lane) = stored(seed);
        for text in &texts {
            engine.pin(lane.conversation, text, None, NOW).unwrap();
        }
        engine.unpin(lane.conversation, PinId(gone), NOW).ok();
        let pins = engine.pins(lane.conversation).unwrap();
        for dialect in Dialect::ALL {
            let shape = Shape::new(window, None, dialect);
            let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
            let ids: Vec<PinId> = pins.active().iter().map(|pin| pin.id).collect();
            let prompt = match session.prompt() {
                Ok(prompt) => prompt,
                Err(EngineError::Irreducible(why)) => {
                    prop_assert_eq!(why.pins.to_vec(), ids);
                    prop_assert!(window < 4_096, "{}", why);
                    continue;
                }
                Err(error) => panic!("{error}"),
            };
            let certificate = prompt.admitted.certificate();
            prop_assert_eq!(&certificate.pins, &ids);
            prop_assert!(certificate.total.upper <= shape.policy.budget());
            prop_assert_eq!(certificate.sections.total(), certificate.total);
            prop_assert_eq!(certificate.sections.pins.upper > 0, !ids.is_empty());
            let body = prompt.render(shape.target());
            prop_assert_eq!(validate(&body, shape.target()), Ok(()));
            let body: Value = serde_json::from_str(&body).unwrap();
            for pin in pins.active() {
                prop_assert!(says(&body, &pin.text), "{:?} is not in {} {:?}", pin.text, dialect.name(), certificate.rung);
            }
        }
    }
}

#[test]
fn pins_that_do_not_fit_are_named() {
    let (engine, lane) = stored(3);
    let shape = Shape::new(1_024, None, Dialect::Anthropic);
    for n in 0..4 {
        engine.pin(lane.conversation, &format!("{n} {}", "never touch it ".repeat(100)), None, NOW).unwrap();
    }
    engine.unpin(lane.conversation, PinId(2), NOW).unwrap();
    let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    let Err(EngineError::Irreducible(why)) = session.prompt() else { panic!("it fits") };
    assert_eq!(why.pins.to_vec(), [PinId(1), PinId(3), PinId(4)]);
    assert!(why.sections.pins.upper > why.budget && why.to_string().contains("3 pins"), "{why}");
}

#[test]
fn a_change_of_pins_is_a_break_with_its_cause_and_only_then() {
    let (engine, lane) = stored(5);
    let shape = Shape::new(64_000, None, Dialect::OpenAiChat);
    let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    let mut broken = |why: &str| {
        let prompt = session.prompt().unwrap_or_else(|error| panic!("{error}: {why}"));
        (prompt.broken.map(|broken| broken.cause), prompt.admitted.certificate().pins.clone())
    };
    assert_eq!(broken("first"), (Some(Cause::First), vec![]));
    assert_eq!(broken("nothing happened"), (None, vec![]));
    let first = engine.pin(lane.conversation, "never push to main", None, NOW).unwrap();
    assert_eq!(broken("a pin"), (Some(Cause::Pins), vec![first]));
    assert_eq!(engine.pin(lane.conversation, "never push to main", None, NOW).unwrap(), first);
    assert_eq!(broken("the same again"), (None, vec![first]));
    let by = engine
        .supersede_pin(lane.conversation, first, PinText { text: "ask before you push", source: None }, NOW)
        .unwrap();
    assert_eq!(broken("other words"), (Some(Cause::Pins), vec![by]));
    engine.unpin(lane.conversation, first, NOW).unwrap();
    assert_eq!(broken("what did not hold is taken back"), (None, vec![by]));
    engine.unpin(lane.conversation, by, NOW).unwrap();
    assert_eq!(broken("taken back"), (Some(Cause::Pins), vec![]));
}

#[test]
fn a_host_gets_pins_at_once_in_its_own_form_and_they_are_not_stored_as_messages() {
    let (host, lane) = (host(), lane("pinned"));
    host.begin_turn(&lane, PI, turn("t", &[user("hello", 1)])).unwrap();
    let ask = Ask::new(20_000, Dialect::Pi);
    let has = |words: &str| {
        let made = host.assemble(&lane, PI, &ask).unwrap();
        let says = made.messages.iter().any(|message| says(&serde_json::from_str(message).unwrap(), words));
        (says, made.broken.map(|broken| broken.cause.name()))
    };
    assert_eq!(has("boathouse"), (false, Some("first")));
    let pin = host.pin(&lane, PI, "Never touch the boathouse.", None).unwrap();
    assert_eq!(has("Never touch the boathouse."), (true, Some("pins")), "the kept prompt is not served");
    assert_eq!(has("Never touch the boathouse."), (true, None));
    let made = host.assemble(&lane, PI, &ask).unwrap();
    let path = host.path(&lane, PI).unwrap();
    host.sync(&lane, PI, common::host::delivered(&made.messages)).unwrap();
    assert_eq!(host.path(&lane, PI).unwrap(), path, "what comes back is ours");
    host.commit_turn(
        &lane,
        PI,
        turn("t", &[user("hello", 1), call("c", 2), result("c", "r", 3), answer("a", 4)]),
    )
    .unwrap();
    host.unpin(&lane, PI, pin).unwrap();
    assert_eq!(has("boathouse"), (false, Some("pins")));
    assert_eq!(host.pins(&lane, PI).unwrap()[0].pin.state, PinState::Retired);
}

#[test]
fn proposals_are_each_offered_once_and_damage_is_an_error() {
    let (host, lane) = (host(), lane("proposed"));
    let said = ["Never push to main without asking me.", "ok", "Never push to main without asking me."];
    for (n, text) in said.iter().enumerate() {
        host.commit_turn(
            &lane,
            PI,
            turn(&n.to_string(), &[user(text, n as i64), answer("a", 50 + n as i64)]),
        )
        .unwrap();
    }
    let engine = host.engine();
    let id: ConversationId = engine
        .store()
        .find(&ConversationKey(host.status(&lane, PI).unwrap().conversation))
        .unwrap()
        .unwrap()
        .id;
    let proposed = engine.proposed_pins(id).unwrap();
    let texts: Vec<_> = proposed.iter().map(|one| (one.number, one.text.as_str())).collect();
    assert_eq!(texts, [(1, said[0])]);
    engine.pin(id, &proposed[0].text, Some(proposed[0].seq), NOW).unwrap();
    assert_eq!(engine.proposed_pins(id).unwrap(), [], "what is pinned is not offered");
    engine.unpin(id, PinId(1), NOW).unwrap();
    assert_eq!(engine.proposed_pins(id).unwrap(), [], "nor what was");
    let rows = engine.store().said(id).unwrap().pins;
    let mut damaged: Vec<PinRow> = rows.clone();
    damaged[0].pin.order = 99;
    engine.store().put_pins(id, &rows, &damaged, &[]).unwrap();
    assert!(matches!(engine.pins(id), Err(EngineError::Pin(_))));
}

/// Plays a transcript as a live host would, and gives every prompt to `check`, with the pins that are active then.
fn played(engine: &Engine, bytes: &[u8], window: u64, check: &mut dyn FnMut(&Prompt, &[&Pin])) {
    let Ok(mut reader) = Reader::open(bytes) else { return };
    let mut host = RecordedHost::begin(engine, reader.source(), None);
    let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
    let shape = Shape::new(window, None, Dialect::Anthropic);
    let mut session = Session::new(engine, lane, shape, true);
    session.at(NOW);
    let mut answers = Answers::default();
    while let Some(record) = reader.next_record().unwrap() {
        let is_main = record.entry.thread.is_none();
        if is_main && answers.is_call(&record.entry) {
            match session.prompt() {
                Ok(prompt) => check(&prompt, &engine.pins(lane.conversation).unwrap().active()),
                Err(EngineError::Irreducible(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
        for stored in host.deliver(vec![record]).unwrap().into_iter().filter(|_| is_main) {
            session.push(stored.seq, stored.parent, &stored.entry, stored.tokens).unwrap();
        }
    }
}

#[test]
fn proposals_are_pinned_by_option_only_and_what_was_taken_back_stays_so() {
    let rule = "Never push to the main branch.";
    let line = |n: u32, role: &str, text: &str| {
        let parent = if n == 1 { "null".to_owned() } else { format!("\"{:08x}\"", n - 1) };
        format!(
            r#"{{"type":"message","id":"{n:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"{role}","content":[{{"type":"text","text":"{text}"}}],"stopReason":"stop"}}}}"#
        )
    };
    let header =
        r#"{"type":"session","version":3,"id":"auto","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/w"}"#;
    let turns = [("user", rule), ("assistant", "Understood."), ("user", "Go on."), ("assistant", "I did.")];
    let lines = (1..).zip(turns).map(|(n, (role, text))| line(n, role, text));
    let text = std::iter::once(header.to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
    let pinned = |engine: &Engine| {
        let mut pinned = Vec::new();
        played(engine, text.as_bytes(), 32_768, &mut |_, pins| pinned.push(pins.len()));
        pinned
    };
    let plain = Engine::in_memory();
    assert_eq!(pinned(&plain), [0, 0], "nobody asked for it");
    let conversation =
        plain.store().find(&ConversationKey("journal:pi:auto".to_owned())).unwrap().unwrap().id;
    let proposed: Vec<_> =
        plain.proposed_pins(conversation).unwrap().into_iter().map(|one| one.text).collect();
    assert_eq!(proposed, [rule], "but it is proposed");
    let automatic = Engine::in_memory().with_automatic_pins();
    assert_eq!(pinned(&automatic), [1, 1]);
    let pins = automatic.pins(conversation).unwrap();
    assert_eq!((pins.active()[0].text.as_str(), pins.active()[0].source), (rule, Some(Seq(1))));
    automatic.unpin(conversation, pins.active()[0].id, NOW).unwrap();
    assert_eq!(pinned(&automatic), [0, 0], "a person took it back");
}

/// I: in every prompt of recorded sessions, in a small window and a usual one, with every break and rung on the way.
#[test]
fn active_pins_are_in_every_prompt_of_recorded_sessions() {
    let Some(folder) = common::data() else { return };
    let mut files = common::files_below(&folder.join("claude-code-entire-cli"));
    files.extend(common::files_below(&folder.join("codex-agentv")));
    let (mut prompts, mut wanted) = (0_u64, 0_u64);
    for (path, window) in files.iter().flat_map(|path| [(path, 8_192), (path, 32_768)]) {
        let engine = Engine::in_memory().with_automatic_pins();
        played(&engine, &std::fs::read(path).unwrap(), window, &mut |prompt, pins| {
            let ids: Vec<PinId> = pins.iter().map(|pin| pin.id).collect();
            assert_eq!(
                prompt.admitted.certificate().pins,
                ids,
                "the certificate names them: {}",
                path.display()
            );
            let request = prompt.admitted.request();
            let blocks = || request.messages.iter().flat_map(|message| &message.blocks);
            let has = |words: &str| {
                blocks().any(|block| matches!(block, Block::Ours(text) if text.contains(words)))
            };
            assert!(pins.iter().all(|pin| has(&pin.text)), "verbatim, in our own block: {}", path.display());
            prompts += 1;
            wanted += pins.len() as u64;
        });
    }
    assert!(prompts > 500 && wanted > 500, "{prompts} prompts, {wanted} pins");
}
