//! Questions that name entries: read first, in order, within the grant, with a receipt if not everything was read.
use std::time::Duration;
use unforget_store::read_all;

use crate::common::asked::{asked, import};
use crate::common::engine;
use crate::summarise_common::Play;
use unforget_core::id::{ConversationId, Timestamp};
use unforget_engine::recall::{Answered, Ended, Grant, Question, summary_name};
use unforget_engine::{Engine, EngineError};
use unforget_llm::Scripted;

fn stored() -> (Engine, tempfile::TempDir) {
    let (engine, folder) = engine();
    import_both(&engine);
    (engine, folder)
}

fn import_both(engine: &Engine) {
    import(engine, "one", &["which port has the gateway", "it is 8443", "and its key", "in /etc/gw/key.pem"]);
    import(engine, "two", &["the gateway of the other project", "that gateway has port 9000", "noodles"]);
}

fn id(engine: &Engine, key: &str) -> ConversationId {
    engine.resolve(key).unwrap().conversation.id
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// The passages read without a model.
fn read(engine: &Engine, text: &str, from: &[String], grant: &Grant) -> Result<Answered, EngineError> {
    engine.answer(&Question { text, from, now: None }, grant, None)
}

fn texts(answered: &Answered) -> Vec<&str> {
    answered.evidence.iter().map(|one| one.text.as_str()).collect()
}

/// The receipt of each name: entries, whole, in part, purged.
fn receipts(answered: &Answered) -> Vec<(u64, u64, u64, u64)> {
    answered.named.iter().map(|one| (one.entries, one.read, one.cut, one.purged)).collect()
}

/// A conversation of `turns` turns with summaries, and their names, smallest spans first.
fn summarised(turns: u64) -> (Engine, ConversationId, Vec<String>, tempfile::TempDir) {
    let (engine, folder) = engine();
    let mut play = Play::new(engine, turns, 4_000);
    while play.step(Timestamp(1_763_000_000_000)).is_some() {}
    let mut rows = read_all(|page| play.engine.store().summaries(play.id, page)).unwrap();
    rows.sort_by_key(|row| (row.count, row.span.0));
    let names = rows.iter().map(|row| summary_name(&row.key)).collect();
    (play.engine, play.id, names, folder)
}

#[test]
fn what_is_named_is_read_first_in_the_order_given() {
    let (engine, _folder) = stored();
    let from = names(&["e:pi:two:3", "e:pi:one:3-4", "e:two:2-3"]);
    let answered = read(&engine, "port of the gateway", &from, &Grant::default()).unwrap();
    let first = ["noodles", "and its key", "in /etc/gw/key.pem", "that gateway has port 9000"];
    assert_eq!(texts(&answered)[..4], first);
    assert_eq!(receipts(&answered), [(1, 1, 0, 0), (2, 2, 0, 0), (2, 2, 0, 0)]);
    let rest = &texts(&answered)[4..];
    assert!(rest.contains(&"which port has the gateway"), "words find the rest: {rest:?}");
    assert!(rest.iter().all(|text| !first.contains(text)), "nothing twice: {rest:?}");
    let numbers: Vec<_> = answered.evidence.iter().map(|one| one.number).collect();
    assert_eq!(numbers, (1..=numbers.len() as u32).collect::<Vec<_>>());
    assert_eq!((answered.ended, answered.searched), (Ended::NoModel, (7, 7)));
    let scoped = Grant { scope: Some(id(&engine, "pi:two")), ..Grant::default() };
    let answered = read(&engine, "why?", &names(&["s:3"]), &scoped).unwrap();
    assert_eq!(texts(&answered)[0], "noodles", "names of the conversation at hand");
}

#[test]
fn f110_a_name_of_another_conversation_is_refused_as_if_it_were_not_there() {
    let (engine, _, summaries, _folder) = summarised(40);
    import_both(&engine);
    let scoped = Grant { scope: Some(id(&engine, "pi:one")), ..Grant::default() };
    assert!(read(&engine, "the port", &names(&[&summaries[0]]), &Grant::default()).is_ok());
    let refused =
        |grant: &Grant, name: &str| match read(&engine, "the port", &names(&["e:pi:one:1", name]), grant) {
            Err(EngineError::Usage { what, hint }) => (what, hint),
            other => panic!("{name}: {other:?}"),
        };
    // Refused alike: another conversation's summary and entry, its bare id, entries that never existed, similar names.
    let same = [
        summaries[0].as_str(),
        "e:pi:two:1",
        "e:two:1",
        "e:pi:two:99",
        "e:pi:nobody:1",
        "e:pi:t:1",
        "e:pi::1",
        "sum:1.0.abc",
    ];
    for name in same {
        let (what, hint) = refused(&scoped, name);
        assert_eq!(what, format!("nothing is called {name} in pi:one"));
        assert!(hint.contains("only this conversation") && !hint.contains("two"), "{hint}");
    }
    for name in ["", "s:", "s:2-1", "s:99", "x:1", "e:one", "s:1\u{0}", "s:-1", "S:1"] {
        let (what, _) = refused(&scoped, name);
        assert!(what.contains(name) || what.contains("no entry 99"), "{name:?}: {what}");
    }
    for name in ["s:1", "sum:1.0.abc", "e:pi:two:99", "e:one:"] {
        let (what, _) = refused(&Grant::default(), name);
        assert!(what.contains(name) || what.contains("no entry 99"), "{name:?}: {what}");
    }
    let unknown = read(&engine, "the port", &names(&["e:nobody:1"]), &Grant::default());
    assert!(matches!(unknown, Err(EngineError::NoConversation { name, .. }) if name == "nobody"));
    assert!(engine.store().grants().unwrap().is_empty(), "nothing was read");
}

#[test]
fn a_summary_gives_its_entries() {
    let (engine, id, summaries, _folder) = summarised(40);
    let name = &summaries[0];
    let all = engine.expand(Some(id), name, 1_000_000, None).unwrap();
    let grant = Grant { scope: Some(id), tokens: 20_000, ..Grant::default() };
    let from = names(&[name]);
    let question = Question { text: "what was decided", from: &from, now: None };
    let says = vec![Scripted::text("to compare with the length [2]")];
    let (answered, heard) = asked(&engine, &question, &grant, says);
    let count = all.items.len();
    assert!(count > 2);
    let first: Vec<_> = answered.evidence.iter().take(count).map(|one| (one.seq, one.text.clone())).collect();
    let want: Vec<_> = all.items.into_iter().map(|item| (item.seq, item.text)).collect();
    assert_eq!(first, want);
    assert_eq!(receipts(&answered), [(count as u64, count as u64, 0, 0)]);
    assert!(!heard[0].contains("of them are here"), "all of it is");
    let grants = engine.store().grants().unwrap();
    let sum: u64 = answered.evidence.iter().map(|one| one.tokens).sum();
    assert_eq!((grants[0].used.tokens, grants[0].used.calls), (sum, 1), "counted before it left");
}

#[test]
fn of_what_is_too_large_the_part_is_read_that_the_question_is_about() {
    let (engine, id, summaries, _folder) = summarised(200);
    let described = summaries.iter().map(|name| engine.describe(Some(id), name).unwrap());
    let members = described.max_by_key(|members| members.tokens).unwrap();
    let name = &members.name;
    assert!(members.tokens > 1_500 && members.entries > 20, "{members:?}");
    // A turn near the end of the span.
    let turn = (members.span.1.0 - 3) / 2;
    let text = format!("what did the tests of part_{turn} say");
    let from = names(&[name]);
    for tokens in [0, 40, 200, 700, 1_000] {
        let grant = Grant { scope: Some(id), tokens, ..Grant::default() };
        let answered = read(&engine, &text, &from, &grant).unwrap();
        let sum: u64 = answered.evidence.iter().map(|one| one.tokens).sum();
        assert!(sum <= tokens, "{sum} of {tokens}");
        let found = texts(&answered).iter().any(|text| text.contains(&format!("of part_{turn} passed")));
        assert!(found || tokens < 200, "{tokens}: {:?}", texts(&answered));
        let (entries, whole, cut, purged) = receipts(&answered)[0];
        assert_eq!((entries, purged), (members.entries, 0));
        assert!(whole + cut < entries, "it says that it did not read all");
    }
    let question = Question { text: &text, from: &from, now: None };
    let grant = Grant { scope: Some(id), tokens: 1_000, depth: 1, ..Grant::default() };
    let script = vec![Scripted::text("SEARCH: buffer capacity PAR-1"), Scripted::text("12 passed [1]")];
    let (answered, heard) = asked(&engine, &question, &grant, script);
    assert_eq!((answered.ended, heard.len()), (Ended::Answered, 2), "half is left for what it asks for");
    assert!(heard[0].contains(&format!("The question is about {} entries", members.entries)));
}

#[test]
fn huge_and_purged_entries_are_told() {
    let (engine, _folder) = engine();
    let filler = "nothing of note here. ".repeat(20_000);
    let huge = format!("{filler} the retry limit is seven {filler}");
    import(&engine, "one", &[&huge, "short", "gone forever", "end"]);
    let conversation = engine.resolve("one").unwrap().conversation;
    engine.purge(&conversation, 3..4).unwrap();
    let answered = read(&engine, "retry limit", &names(&["e:one:0-99999"]), &Grant::default()).unwrap();
    let (entries, whole, cut, purged) = receipts(&answered)[0];
    assert_eq!((entries, whole, cut, purged), (5, 3, 1, 1), "{:?}", texts(&answered).len());
    for tokens in [64, 100, 1_000, 6_000] {
        let grant = Grant { tokens, ..Grant::default() };
        let answered =
            read(&engine, "what is the retry limit", &names(&["e:one:1", "e:one:3"]), &grant).unwrap();
        let one = &answered.evidence[0];
        assert!(
            one.text.contains("retry limit is seven") && one.text.starts_with('…'),
            "{tokens}: {}",
            one.text
        );
        let sum: u64 = answered.evidence.iter().map(|one| one.tokens).sum();
        assert!(sum <= tokens && one.tokens * 2 > tokens.min(6_000), "{sum} of {tokens}");
        assert_eq!(receipts(&answered)[0], (1, 0, 1, 0));
    }
    let only_gone = read(&engine, "forever", &names(&["e:one:3"]), &Grant::default()).unwrap();
    assert_eq!((only_gone.ended, only_gone.named[0].purged), (Ended::NothingFound, 1));
    assert!(only_gone.negative.contains("forever"), "{}", only_gone.negative);
    let scripts = ["東京の天気は晴れ。".repeat(9_000), "🚀".repeat(30_000), "\u{130}x".repeat(30_000)];
    import(&engine, "two", &[&scripts[0], &scripts[1], &scripts[2]]);
    for seq in 1..4 {
        let grant = Grant { tokens: 300, ..Grant::default() };
        let answered = read(&engine, "天気 x", &names(&[&format!("e:two:{seq}")]), &grant).unwrap();
        let sum: u64 = answered.evidence.iter().map(|one| one.tokens).sum();
        assert!(sum <= 300 && receipts(&answered)[0].2 == 1, "{seq}: {sum}");
    }
}

#[test]
fn hostile_names_cost_little_and_say_so() {
    let (engine, _folder) = stored();
    for count in [65, 5_000] {
        match read(&engine, "port", &vec!["e:pi:one:1".to_owned(); count], &Grant::default()) {
            Err(EngineError::Usage { what, hint }) => {
                assert!(what.contains(&count.to_string()) && hint.contains("64"), "{what}; {hint}");
            }
            other => panic!("{other:?}"),
        }
    }
    let same = read(&engine, "port", &vec!["e:pi:one:1".to_owned(); 64], &Grant::default()).unwrap();
    let of_one = texts(&same).iter().filter(|text| **text == "which port has the gateway").count();
    assert_eq!((same.named.len(), of_one), (64, 1));
    assert!(same.named.iter().all(|one| one.read == 1));
    let long = "e:".to_owned() + &"x".repeat(1 << 20) + ":1";
    match read(&engine, "port", &[long], &Grant::default()) {
        Err(EngineError::Usage { what, .. }) => assert!(what.len() < 200, "{}", what.len()),
        other => panic!("{other:?}"),
    }
    let all = format!("e:pi:one:0-{}", u64::MAX);
    let answered = read(&engine, "port", &[all], &Grant::default()).unwrap();
    assert_eq!(receipts(&answered), [(5, 5, 0, 0)], "clamped to what is there");
}

#[test]
fn a_question_needs_words_only_to_search_with() {
    let (engine, _folder) = stored();
    let answered = read(&engine, "?!", &names(&["e:pi:one:2"]), &Grant::default()).unwrap();
    assert_eq!((texts(&answered), answered.searched), (vec!["it is 8443"], (0, 0)));
    for (text, from) in [("?!", names(&[])), ("  ", names(&["e:pi:one:2"])), ("", names(&["e:pi:one:2"]))] {
        let asked = read(&engine, text, &from, &Grant::default());
        assert!(matches!(asked, Err(EngineError::Usage { .. })), "{text:?}: {asked:?}");
    }
}

#[test]
fn the_time_counts_from_the_start() {
    let (engine, _folder) = stored();
    let grant = Grant { within: Duration::ZERO, ..Grant::default() };
    let question = Question { text: "port", from: &names(&["e:pi:one:1-4"]), now: None };
    let (answered, heard) = asked(&engine, &question, &grant, vec![Scripted::text("never asked")]);
    assert_eq!((&answered.ended, heard.len()), (&Ended::Partial("the time was over".to_owned()), 0));
    assert_eq!(receipts(&answered), [(4, 0, 0, 0)], "nothing named was reached");
    assert!(matches!(engine.answer(&question, &grant, None).unwrap().ended, Ended::Partial(_)));
}
