//! Other copies of an entry: stored, never shown in prompts, and found through the entry.
use crate::common;

use crate::common::host::{PI, answer, host, lane, page, turn, user};
use unforget_core::id::Seq;
use unforget_engine::host::{Delivered, Page};
use unforget_engine::recall::EntryCopy;
use unforget_store::read_all;

/// The message that the host delivered, from its stored line.
fn message(raw: &[u8]) -> String {
    unforget_wire::journal::read_line(raw).message.unwrap()
}

#[test]
fn f048_what_a_live_host_rewrote_is_found_through_the_entry() {
    let (host, lane) = (host(), lane("x"));
    let said = |text: &str| Page {
        messages: vec![Delivered::new(user(text, 1)).with_id("e1")],
        cursor: None,
        is_reset: false,
    };
    host.catch_up(&lane, PI, said("the first words")).unwrap();
    host.catch_up(&lane, PI, page(&[answer("so", 2)], "c")).unwrap();
    let receipt = host.catch_up(&lane, PI, said("other words")).unwrap();
    assert_eq!((receipt.added, receipt.off_path), (0, 1));
    let engine = host.engine();
    let id = read_all(|page| engine.store().conversations(page)).unwrap()[0].id;
    let of_first = engine.describe(Some(id), "s:1").unwrap().copies;
    let [EntryCopy { name, seq, of, bytes, .. }] = of_first.as_slice() else { unreachable!("{of_first:?}") };
    assert_eq!(*of, Seq(1));
    let raw = engine.expand_raw(None, name, 9).unwrap();
    assert_eq!((raw.len(), raw[0].seq, raw[0].body.len() as u64), (1, *seq, bytes.end - bytes.start));
    assert_eq!(message(&raw[0].body), user("other words", 1));
    let page = engine.expand(Some(id), "s:1-2", 1_000, None).unwrap();
    assert_eq!(page.items[0].copies, of_first);
    assert_eq!(message(&page.items[0].raw), user("the first words", 1), "the entry is as it was");
    assert_eq!(page.items[1].copies, []);
    let copy = engine.expand(None, name, 1_000, None).unwrap();
    assert_eq!(copy.items[0].text, "other words");
    assert_eq!(host.path(&lane, PI).unwrap().len(), 2, "no prompt shows it");
}

#[test]
fn f034_a_possible_replay_is_found_through_the_entry() {
    let (host, lane) = (host(), lane("x"));
    let bare = |text: &str| serde_json::json!({ "role": "user", "content": text }).to_string();
    let all: Vec<String> = ["a", "b", "a", "b"].map(bare).into();
    host.commit_turn(&lane, PI, turn("1", &all)).unwrap();
    let slice = host.catch_up(&lane, PI, page(&all[2..], "c")).unwrap();
    let engine = host.engine();
    let id = read_all(|page| engine.store().conversations(page)).unwrap()[0].id;
    let found = engine.describe(Some(id), "s:1-4").unwrap().copies;
    assert_eq!((slice.off_path, found.len()), (2, 2), "{slice:?} {found:?}");
}

#[test]
fn f034_a_record_that_a_host_wrote_anew_is_found_through_the_last() {
    let (engine, folder) = common::engine();
    let file = folder.path().join("session.jsonl");
    let message = |id: &str, text: &str| {
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","type":"gemini","content":"{text}"}}"#
        )
    };
    let header = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z"}"#;
    let lines = [header.to_owned(), message("1", "half"), message("1", "half and all"), message("2", "next")];
    std::fs::write(&file, lines.join("\n")).unwrap();
    let done = engine.import_file(&file, &mut |_| ()).unwrap();
    let id = engine.store().find(&done.conversation).unwrap().unwrap().id;
    let found = engine.expand(Some(id), "s:2", 1_000, None).unwrap().items.remove(0).copies;
    let seqs: Vec<Seq> = found.iter().map(|copy| copy.seq).collect();
    assert_eq!(seqs, [Seq(1)]);
    assert_eq!(engine.expand_raw(None, &found[0].name, 1).unwrap()[0].body, lines[1].as_bytes());
    assert_eq!(engine.describe(Some(id), "s:1-2").unwrap().copies, [], "both are there already");
    assert_eq!(engine.describe(Some(id), "s:3").unwrap().copies, []);
}
