//! The calls for summaries of real transcripts, and through a real client to misbehaving providers.
use crate::common;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unforget_core::entry::{Entry, Origin, Part};
use unforget_core::estimate::ClassEstimate;
use unforget_core::id::Seq;
use unforget_core::tokens::Ruler;
use unforget_llm::{
    Brief, Call, CallPolicy, Caller, Cancel, Made, OpenAi, Request, Stop, SystemClock, Task, Urgency, Work,
};
use unforget_testkit::provider::{Act, Provider, Reply, openai};
use unforget_text::{Source, summarise};
use unforget_wire::Reader;

/// The folder of real transcripts; `None`, with a message, if it is missing.
fn data() -> Option<PathBuf> {
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("UNFORGET_DATA").map_or(usual, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("skipped: no real transcripts in {}", folder.display());
    None
}

fn entries(path: &Path) -> Vec<Entry> {
    let file = std::io::BufReader::new(std::fs::File::open(path).unwrap());
    let mut reader = Reader::open(file).unwrap();
    let mut entries = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        entries.push(record.entry);
    }
    entries
}

fn brief(task: Task<'_>, window: u64) -> Brief<'_> {
    Brief {
        task,
        previous: "alice had asked for a parser",
        wishes: "",
        tokens: 800,
        window,
        output_tokens_max: 1_500,
        tool_output_tokens_max: 1_000,
    }
}

#[test]
fn f003_calls_over_real_histories_fit_every_window() {
    let Some(data) = data() else { return };
    let files = ["pi-mono/large-session.v1.jsonl", "codex-agentv/4f-7325a9ab13-0.jsonl"];
    for name in files {
        let path = data.join(name);
        if !path.is_file() {
            println!("skipped: no {name}");
            continue;
        }
        let entries = entries(&path);
        let sources: Vec<Source<'_>> =
            entries.iter().enumerate().map(|(at, entry)| Source { seq: Seq(at as u64), entry }).collect();
        for window in [4_000, 16_000, 128_000] {
            let (mut leaves, mut calls) = (Vec::new(), 0);
            for span in sources.chunks(60) {
                let made = walk(brief(Task::Leaf(span), window), &mut calls);
                leaves.push(made.summary);
            }
            let merged: Vec<_> = leaves
                .chunks(4)
                .map(|parts| walk(brief(Task::Merge { parts, level: 1 }, window), &mut calls).summary)
                .collect();
            assert_eq!(merged.len(), leaves.len().div_ceil(4));
            println!("{name}: window {window}, {} leaves, {calls} calls", leaves.len());
            assert!(
                calls >= leaves.iter().filter(|leaf| !leaf.is_blank()).count(),
                "{name}: a span was not asked for"
            );
        }
    }
}

/// Answers every call with the least that the form allows, and checks that each call fits.
fn walk(brief: Brief<'_>, calls: &mut usize) -> Made {
    let mut work = Work::new(brief, &ClassEstimate).unwrap();
    while let Some(ask) = work.ask() {
        let sent = ClassEstimate.count(&ask.system).upper + ClassEstimate.count(&ask.user).upper;
        assert!(sent + brief.output_tokens_max <= brief.window, "{sent} tokens in {}", brief.window);
        work.answer(r#"{"title":"t"}"#).unwrap();
        *calls += 1;
    }
    let made = work.finish();
    assert_eq!((made.skipped, made.refused.len()), (0, 0));
    made
}

fn said(origin: Origin, text: &str) -> Entry {
    Entry { parts: vec![Part::Text(text.into())], ..Entry::bare(origin) }
}

#[test]
fn f026_no_bad_answer_becomes_a_record() {
    let entries = [said(Origin::Human, "Build it. Never push to main."), said(Origin::Model, "It is built.")];
    let sources: Vec<Source<'_>> =
        entries.iter().enumerate().map(|(at, entry)| Source { seq: Seq(at as u64), entry }).collect();
    let record = r#"{"title":"the build","goal":[{"text":"a build was asked for","seqs":[0]}]}"#;
    let table = [
        (openai::text(record), true, "a record"),
        (openai::text(&format!("```json\n{record}\n```")), true, "a record in a fence"),
        (openai::text(&format!("<think>hm</think>{record}")), true, "a record behind reasoning"),
        (openai::text(record.get(..40).unwrap()), false, "half a record"),
        (openai::cut_off(record), false, "a record that was cut off, though it reads well"),
        (openai::echo(), false, "what it was asked"),
        (openai::text(""), false, "nothing"),
        (openai::text("I'm sorry, but I can't help with that."), false, "a refusal in words"),
        (openai::text("Continue with the next step and push to main."), false, "an order"),
        (openai::text(r#"{"error":{"message":"overloaded"}}"#), false, "an error as text"),
        (openai::refusal("I can't"), false, "a refusal"),
        (openai::tool_call(), false, "a tool call"),
        (openai::thinking_only(), false, "reasoning"),
        (Act::Reply(Reply::new(401, "{}")), false, "a refused key"),
        (Act::Reply(Reply::new(200, "not json")), false, "no answer"),
    ];
    for (act, is_taken, why) in table {
        let provider = Provider::always(act);
        let model = Arc::new(OpenAi::new(common::endpoint(&provider)).unwrap());
        let policy = CallPolicy { attempts_max: 1, ..CallPolicy::default() };
        let caller = Caller::new(model, Vec::new(), policy, Arc::new(SystemClock::new()));
        let mut work = Work::new(brief(Task::Leaf(&sources), 16_000), &ClassEstimate).unwrap();
        while let Some(ask) = work.ask() {
            let request = Request { system: &ask.system, user: &ask.user, ..common::request(20_000) };
            let call = Call { request, from: 0, urgency: Urgency::Normal, cancel: &Cancel::default() };
            match caller.call(&call).result {
                Ok((answer, _)) if answer.stop == Stop::End && work.answer(&answer.text).is_ok() => {}
                _ => work.skip(),
            }
        }
        let made = work.finish();
        let without = summarise(&sources);
        assert_eq!(made.answered, usize::from(is_taken), "{why}");
        assert_eq!(made.summary == without, !is_taken, "{why}");
    }
}
