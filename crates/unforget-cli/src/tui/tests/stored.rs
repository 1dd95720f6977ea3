//! What the store says, as rows and lines: from an engine in memory.

use std::collections::BTreeMap;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Duration;

use serde_json::json;
use unforget_core::id::Timestamp;
use unforget_engine::Engine;

use crate::picker::PickerFilter;
use crate::recognised::{RecognisedConversation, everything};
use crate::tui::calls::{CallSeries, CallTarget, SeriesWanted};
use crate::tui::load::{self, TuiQuestion, picker_rows};
use crate::tui::rows::{LineKind, RowTarget, TuiLine, TuiRow};
use crate::tui::state::{CallFace, MiddleKind, PageWanted, TuiAsk, TuiTold};
use crate::tui::worker::{KnownRows, RowsVersion, TuiWorkers, WorkerParts};
use crate::tui::{entry_text, tables};

const HOSTILE: &str = "a\u{1b}[2J\u{9b}31m\u{202e}b\tc";

/// An engine with one conversation, and its key.
fn stored(messages: &[serde_json::Value]) -> (Engine, String) {
    let engine = Engine::in_memory();
    let text: Vec<String> = messages.iter().map(ToString::to_string).collect();
    let imported = engine.import_reader(text.join("\n").as_bytes(), "test").unwrap();
    (engine, imported.conversation.0)
}

fn worked() -> (Engine, String) {
    let arguments =
        json!({"path": "/home/ann/loop/a.py", "old_string": "x = 1", "new_string": "x = 2\ny = 3"});
    stored(&[
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": format!("Mend the heron counter. {HOSTILE}")}),
        json!({"role": "assistant", "content": "I look.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "edit", "arguments": arguments.to_string()}}]}),
        json!({"role": "tool", "tool_call_id": "c1", "content": "--- a\n+++ b\n@@ -1 +1 @@\n-x = 1\n+x = 2"}),
        json!({"role": "assistant", "content": "# Done\n```rust\nlet herons = 7;\n```\nNever count a heron twice."}),
    ])
}

fn rows(told: TuiTold) -> (Vec<TuiRow>, (bool, bool)) {
    let TuiTold::Page { rows, more, .. } = told else { panic!("{told:?}") };
    (rows, more)
}

fn leads(told: TuiTold) -> Vec<String> {
    rows(told).0.into_iter().map(|row| row.lead).collect()
}

fn lines(told: TuiTold) -> Vec<TuiLine> {
    let TuiTold::Text { lines, .. } = told else { panic!("{told:?}") };
    lines
}

fn is_harmless(text: &str) -> bool {
    !text.contains(unforget_text::is_harmful) && !text.contains(['\t', '\n'])
}

#[test]
fn entries_are_rows_and_lines() {
    let (engine, key) = worked();
    let (rows, more) = rows(load::page(&engine, &key, PageWanted::Newest, 1).unwrap());
    assert_eq!(more, (false, false));
    let who: Vec<&str> = rows.iter().map(|row| row.who.as_str()).collect();
    assert_eq!(who, ["host", "you", "model", "tool", "model"]);
    assert!(
        rows[1].text.starts_with("Mend the heron counter. a␛[2J<U+009B>31m<U+202E>b"),
        "{}",
        rows[1].text
    );
    assert!(rows.iter().all(|row| is_harmless(&row.text)), "{rows:#?}");
    let call = lines(entry_text::entry(&engine, &key, 2).unwrap());
    let of = |kind: LineKind| {
        call.iter().filter(|line| line.kind == kind).map(|line| line.text.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(of(LineKind::Bad), ["-x = 1"], "an edit is a diff");
    assert_eq!(of(LineKind::Good), ["+x = 2", "+y = 3"]);
    assert!(of(LineKind::Code).contains(&"path: /home/ann/loop/a.py"), "{call:#?}");
    let result = lines(entry_text::entry(&engine, &key, 3).unwrap());
    assert_eq!(result[0].text.trim_end(), "✓ done");
    assert!(result.contains(&TuiLine::new(LineKind::Bad, "-x = 1")), "{result:#?}");
    let words = lines(entry_text::entry(&engine, &key, 4).unwrap());
    assert_eq!(words[0], TuiLine::new(LineKind::Head, "# Done"));
    assert_eq!(words[1], TuiLine::new(LineKind::Code, "  let herons = 7;"));
    assert!(entry_text::entry(&engine, "pi:gone", 0).is_err(), "a conversation that is gone");
}

#[test]
fn a_long_argument_on_one_line_is_cut() {
    let long = "heron ".repeat(100_000);
    let arguments = json!({"content": long, "list": [long]});
    let (engine, key) = stored(&[json!({"role": "assistant", "content": "I write.", "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "write", "arguments": arguments.to_string()}}]})]);
    let lines = lines(entry_text::entry(&engine, &key, 0).unwrap());
    assert!(lines.iter().all(|line| line.text.chars().count() <= 200_000), "each text is bounded");
    let cut: Vec<&str> =
        lines.iter().map(|line| line.text.as_str()).filter(|line| line.starts_with("… ")).collect();
    assert_eq!(cut.len(), 2, "and says so: {cut:?}");
    assert!(cut[0].ends_with("more bytes: unforget expand shows all"), "{cut:?}");
}

#[test]
fn pages_are_neighbours() {
    let messages: Vec<_> = (0..500)
        .map(|at| json!({"role": if at % 2 == 0 { "user" } else { "assistant" }, "content": format!("word {at}")}))
        .collect();
    let (engine, key) = stored(&messages);
    let page = |wanted| leads(load::page(&engine, &key, wanted, 1).unwrap());
    let table = [
        (PageWanted::Newest, 380, 120),
        (PageWanted::Before(380), 260, 120),
        (PageWanted::From(0), 0, 120),
        (PageWanted::From(490), 490, 10),
        (PageWanted::Before(3), 0, 3),
        (PageWanted::Around(250), 130, 240),
    ];
    for (wanted, first, count) in table {
        let found = page(wanted);
        assert_eq!((found[0].as_str(), found.len()), (first.to_string().as_str(), count), "{wanted:?}");
    }
    assert!(page(PageWanted::From(500)).is_empty(), "behind the end");
}

#[test]
fn a_search_gives_rows_of_the_conversations_in_scope() {
    let (engine, key) = worked();
    let names = BTreeMap::from([(key.clone(), "4a30".to_owned())]);
    let asked =
        |text, only| load::search(&engine, TuiQuestion { text, only, generation: 7 }, &names).unwrap();
    let TuiTold::Found { generation: 7, rows, keys, about } = asked("heron counter", None) else {
        panic!("found")
    };
    assert_eq!((rows[0].lead.as_str(), rows[0].who.as_str()), ("4a30", "you"));
    assert_eq!(rows[0].target, RowTarget::Entry { key: key.clone(), seq: 1 });
    assert!(keys.contains(&key) && about.contains("searched"), "{about}");
    assert!(rows.iter().all(|row| is_harmless(&row.text)), "{rows:#?}");
    let TuiTold::Found { rows, .. } = asked("heron", Some(std::collections::BTreeSet::new())) else {
        panic!("found")
    };
    assert!(rows.is_empty(), "a filter that takes nothing");
}

#[test]
fn a_filter_takes_the_sub_agents_of_a_conversation_too() {
    let (engine, key) = worked();
    for name in ["child", "grandchild"] {
        let text = json!({"role": "user", "content": format!("I am the {name}.")}).to_string();
        engine.import_reader(text.as_bytes(), name).unwrap();
    }
    let mut all = everything(&engine).unwrap();
    let keys: Vec<_> = all.iter().map(|one| one.stored.key.clone()).collect();
    assert_eq!((keys.len(), &keys[0].0), (3, &key));
    let ids = |filter: &PickerFilter, all: &[RecognisedConversation]| {
        KnownRows::of(all, RowsVersion::default()).only(filter).map(|only| only.len())
    };
    let host = all[0].host().to_owned();
    let of_host = PickerFilter { host: Some(host), ..PickerFilter::default() };
    (all[1].transcript, all[2].transcript) = (Some(keys[0].clone()), Some(keys[1].clone()));
    assert_eq!(ids(&PickerFilter::default(), &all), None, "every conversation");
    assert_eq!(ids(&of_host, &all), Some(3));
    let other = PickerFilter { host: Some("no-host".to_owned()), ..PickerFilter::default() };
    assert_eq!(ids(&other, &all), Some(0));
    all[0].transcript = Some(keys[2].clone());
    assert_eq!(ids(&of_host, &all), Some(0), "a circle has no row, and ends");
}

#[test]
fn ledger_and_pins_lead_to_their_entries() {
    let (engine, key) = worked();
    let id = engine.store().find(&unforget_core::id::ConversationKey(key.clone())).unwrap().unwrap().id;
    engine.pin(id, "Never count a heron twice.", None, Timestamp(0)).unwrap();
    let table = |kind| match tables::table(&engine, kind, &key, 3).unwrap() {
        TuiTold::Table { generation: 3, rows, .. } => rows,
        other => panic!("{other:?}"),
    };
    let ledger = table(MiddleKind::Ledger);
    let file = ledger.iter().find(|row| row.lead == "file").unwrap();
    assert!(file.text.ends_with("a.py") && file.who == "edited", "{file:?}");
    assert_eq!(file.target, RowTarget::Entry { key: key.clone(), seq: 3 });
    let pins = table(MiddleKind::Pins);
    assert_eq!((pins[0].lead.as_str(), pins[0].who.as_str()), ("pin 1", "active"));
    assert!(table(MiddleKind::Calls).is_empty(), "nothing was sent");
}

/// A conversation that breaks in a window of 8,000 tokens.
fn long() -> (Engine, String) {
    let mut messages = vec![json!({"role": "system", "content": "Be brief."})];
    for turn in 0..60 {
        let words = format!("word{turn} ").repeat(120);
        messages.push(json!({"role": "user", "content": format!("Always keep rule {turn}. {words}")}));
        messages.push(json!({"role": "assistant", "content": format!("Answer {turn} is in /home/ann/loop/f{turn}.py. {words}")}));
    }
    stored(&messages)
}

fn target() -> CallTarget {
    CallTarget { window: 8_000, model: None, dialect: None }
}

#[test]
fn calls_are_played_and_one_is_shown_in_full() {
    let (engine, key) = long();
    let target = target();
    let wanted = SeriesWanted { key: &key, window: None, target: &target };
    let series = CallSeries::read(&engine, wanted, &mut |_, _| true).unwrap().unwrap();
    let (rows, about) = series.rows();
    assert_eq!(rows.len(), 61, "one per answer, and the one that comes");
    let at = rows.iter().rposition(|row| row.kind == LineKind::Warn).expect("a break");
    assert!(about.starts_with("61, played for") && about.contains("break"), "{about}");
    let TuiTold::Text { panel: Some(panel), .. } = series.told(&engine, at, CallFace::Gauge).unwrap() else {
        panic!("a gauge")
    };
    let total: u64 = panel.shares.iter().map(|share| share.tokens).sum();
    let says = format!("{} tokens expected", crate::text::count(total));
    assert!(panel.facts.iter().any(|line| line.text.starts_with(&says)), "{total}: {:#?}", panel.facts);
    assert!(panel.facts.iter().any(|line| line.text.starts_with("cover proved")), "{:#?}", panel.facts);
    assert_eq!(panel.cells.len(), 2 * at + 2, "every entry before the call has a cell");
    let prompt = lines(series.told(&engine, at, CallFace::Prompt).unwrap());
    let played =
        engine.play_calls(load::lane(&engine, &key).unwrap(), shape(), &mut |_, _| true).unwrap().unwrap();
    let body = played.prompt(at as u64 + 1).unwrap().unwrap().render();
    let last: String = prompt
        .iter()
        .rev()
        .take_while(|line| !line.text.starts_with("the bytes"))
        .map(|line| line.text.as_str())
        .collect();
    assert_eq!(last, body, "the bytes are the request");
    let left = lines(series.told(&engine, at, CallFace::Left).unwrap());
    assert!(left[0].text.contains("stopped standing word for word"), "{left:#?}");
    assert!(left.iter().any(|line| line.text.starts_with("Paths")), "{left:#?}");
    let diff = lines(series.told(&engine, at, CallFace::Diff).unwrap());
    assert!(
        diff[0].text.starts_with("common beginning") && diff.iter().any(|line| line.kind == LineKind::Bad),
        "{diff:#?}"
    );
    let first = lines(series.told(&engine, 0, CallFace::Diff).unwrap());
    assert_eq!(first[0].text, "There is no prompt before this one.");
    assert!(CallSeries::read(&engine, wanted, &mut |_, _| false).unwrap().is_none(), "ended");
}

fn shape() -> unforget_engine::prompt::Shape {
    unforget_engine::prompt::Shape::new(
        8_000,
        None,
        unforget_wire::Dialect::usual(unforget_wire::Format::OpenAiChat),
    )
}

#[test]
fn the_threads_answer_the_newest_question_and_end() {
    let (engine, key) = long();
    let engines = [engine.clone(), engine.clone(), engine.clone()];
    let db = std::env::temp_dir().join("no-such-database");
    let workers = TuiWorkers::start(WorkerParts {
        engines,
        target: target(),
        db: crate::database::Database::File(db),
        label: std::sync::Arc::new(|_, _| Ok(())),
    })
    .unwrap();
    let wait = Duration::from_secs(20);
    workers.ask(TuiAsk::Conversations);
    let TuiTold::Conversations(rows) = workers.told.recv_timeout(wait).unwrap() else {
        panic!("conversations")
    };
    assert_eq!(rows, picker_rows(&engine).unwrap());
    for (generation, text) in (1..).zip(["r", "ru", "rul", "rule 7"]) {
        workers.ask(TuiAsk::Search { generation, text: text.to_owned(), filter: PickerFilter::default() });
    }
    let TuiTold::Found { generation, rows, .. } = workers.told.recv_timeout(wait).unwrap() else {
        panic!("hits")
    };
    assert!(generation <= 4 && !rows.is_empty());
    let mut newest = generation;
    while newest < 4 {
        let TuiTold::Found { generation, .. } = workers.told.recv_timeout(wait).unwrap() else {
            panic!("hits")
        };
        newest = generation;
    }
    let later = json!({"role": "user", "content": "An osprey came meanwhile."}).to_string();
    let later = engine.import_reader(later.as_bytes(), "later").unwrap().conversation.0;
    let filter = PickerFilter { since_ms: Some(0), ..PickerFilter::default() };
    workers.ask(TuiAsk::Search { generation: 5, text: "osprey".to_owned(), filter });
    let TuiTold::Found { generation: 5, keys, .. } = workers.told.recv_timeout(wait).unwrap() else {
        panic!("hits")
    };
    assert_eq!(keys, [later], "what came after the first search is in scope");
    workers.ask(TuiAsk::Series { generation: 9, key: key.clone(), window: Some(16_000) });
    workers.ask(TuiAsk::Call { key: key.clone(), at: 5, face: CallFace::Gauge });
    let mut came = Vec::new();
    while came.len() < 2 {
        match workers.told.recv_timeout(wait).unwrap() {
            TuiTold::Progress { .. } => {}
            TuiTold::Table { generation: 9, rows, .. } => came.push(rows.len()),
            TuiTold::Text { of: RowTarget::Call(5), .. } => came.push(5),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(came, [61, 5]);
    workers.ask(TuiAsk::Entry { key: "pi:gone".to_owned(), seq: 1 });
    assert!(
        matches!(
            workers.told.recv_timeout(wait),
            Ok(TuiTold::Failed { of: TuiAsk::Entry { seq: 1, .. }, .. })
        ),
        "a failure is told"
    );
    let told = workers.told;
    drop((workers.reads, workers.searches, workers.series));
    assert!(matches!(told.recv_timeout(wait), Err(RecvTimeoutError::Disconnected)), "all three end");
}
