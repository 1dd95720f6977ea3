//! Gemini's sessions in lines: a rewind takes messages back, but the store keeps them.
use crate::common;

use std::fs;

use crate::common::{engine, exported};
use unforget_core::id::Thread;
use unforget_engine::Engine;
use unforget_engine::import::Imported;
use unforget_engine::prompt::{Session, Shape, ThreadRef, Until};
use unforget_wire::Dialect;

const HEADER: &str = r#"{"sessionId":"s","projectHash":"p","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z"}"#;

/// A file: `u1 g2` are messages of a person and the model with these ids, `i3` is a note to the person, `<2` a rewind,
/// and `g2+` message 2 with more words.
fn session(script: &str) -> String {
    let line = |word: &str| {
        let (kind, rest) = word.split_at(1);
        let (id, more) = rest.strip_suffix('+').map_or((rest, ""), |id| (id, " and more"));
        let kind = match kind {
            "<" => return format!(r#"{{"$rewindTo":"{id}"}}"#),
            "u" => "user",
            "g" => "gemini",
            _ => "info",
        };
        format!(
            r#"{{"id":"{id}","timestamp":"2026-01-01T00:00:00.000Z","type":"{kind}","content":"says {id}{more}"}}"#
        )
    };
    let lines: Vec<String> =
        std::iter::once(HEADER.to_owned()).chain(script.split_whitespace().map(line)).collect();
    lines.join("\n") + "\n"
}

fn import(engine: &Engine, file: &std::path::Path, text: &str) -> Imported {
    fs::write(file, text).unwrap();
    let done = engine.import_file_anyway(file, &mut |_| ()).unwrap();
    assert_eq!(String::from_utf8(exported(engine, &done.conversation)).unwrap(), text);
    done
}

/// The words of a prompt of the session, in order.
fn said(engine: &Engine, done: &Imported) -> Vec<String> {
    let conversation = engine.store().find(&done.conversation).unwrap().unwrap().id;
    let lane = ThreadRef { conversation, thread: Thread(0) };
    let shape = Shape::new(32_000, None, Dialect::Gemini);
    let mut session = Session::open(engine, lane, shape, Until::Now, &mut |_, _| {}).unwrap();
    let body: serde_json::Value =
        serde_json::from_str(&session.prompt().unwrap().render(Dialect::Gemini)).unwrap();
    let parts =
        body["contents"].as_array().unwrap().iter().flat_map(|content| content["parts"].as_array().unwrap());
    parts.filter_map(|part| part["text"].as_str()?.strip_prefix("says ").map(str::to_owned)).collect()
}

#[test]
fn f100_a_rewind_takes_back_the_message_and_all_behind_it() {
    let table = [
        // file, words of the prompt, reason
        ("u1 g2 u3 g4", "1 2 3 4", "no rewind"),
        ("u1 g2 u3 g4 <3 u5 g6", "1 2 5 6", "the message that it names goes too"),
        ("u1 g2 u3 g4 <1 u5 g6", "5 6", "back to the first: nothing is left"),
        ("u1 g2 u3 g4 <9 u5 g6", "5 6", "a message that is not there: Gemini CLI drops all"),
        ("u1 g2 u3 g4 <3 i5 u6 g7", "1 2 6 7", "a note to the person in between"),
        ("u1 g2 i3 u4 g5 <4 u6", "1 2 6", "a note before it"),
        ("u1 g2 u3 g4 <3 u5 g6 <5 u7 g8", "1 2 7 8", "twice"),
        ("u1 g2 u3 g4 <3 u5 g6 u7 <2 u8", "1 8", "and once more, further back"),
        ("u1 g2 g2+ u3 g4 g4+ <3 u5", "1 2 and more 5", "what is written again keeps its place"),
        ("u1 g2 u3 <3 u3 g4", "1 2 3 4", "the same id again is a new message"),
    ];
    for (script, want, why) in table {
        let (engine, folder) = engine();
        let done = import(&engine, &folder.path().join("session.jsonl"), &session(script));
        assert_eq!(said(&engine, &done).join(" "), want, "{why}: {script}");
    }
}

#[test]
fn f100_a_rewind_in_a_file_that_grows_is_the_same_as_in_one_that_is_whole() {
    let script = ["u1", "g2", "u3", "g4", "<3", "u5", "g6", "<2", "u7"];
    let (engine, folder) = engine();
    let file = folder.path().join("session.jsonl");
    for count in 1..=script.len() {
        let text = session(&script[..count].join(" "));
        let done = import(&engine, &file, &text);
        if script[count - 1].starts_with('<') {
            continue;
        }
        let (fresh, other) = common::engine();
        let whole = import(&fresh, &other.path().join("session.jsonl"), &text);
        assert_eq!(said(&engine, &done), said(&fresh, &whole), "{count} records");
    }
}
