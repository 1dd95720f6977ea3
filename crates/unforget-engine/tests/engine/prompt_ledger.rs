//! Work with tools in prompts: the ledger of summarised entries, and results superseded by later ones.
use std::sync::Arc;

use serde_json::{Value, json};
use unforget_core::id::Thread;
use unforget_core::message::{Block, Request};
use unforget_engine::prompt::{Prompt, Session, Shape, ThreadRef, TurnPlace, Until};
use unforget_engine::replay::RecordedHost;
use unforget_engine::{Engine, Folded};
use unforget_wire::{Dialect, Reader};

/// A pi session, entry by entry.
struct Story {
    lines: Vec<String>,
}

impl Story {
    fn new() -> Self {
        let head = json!({ "type": "session", "version": 3, "id": "s", "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/w" });
        Self { lines: vec![head.to_string()] }
    }

    fn say(&mut self, message: &Value) {
        let at = self.lines.len();
        let parent = if at == 1 { Value::Null } else { json!(format!("{:08x}", at - 1)) };
        let line = json!({ "type": "message", "id": format!("{at:08x}"), "parentId": parent,
            "timestamp": "2026-01-01T00:00:01.000Z", "message": message });
        self.lines.push(line.to_string());
    }

    fn user(&mut self, text: &str) {
        self.say(&json!({ "role": "user", "content": text }));
    }

    fn tool(&mut self, name: &str, arguments: &Value, text: &str, is_error: bool) {
        let id = format!("call{}", self.lines.len());
        let call = json!({ "type": "toolCall", "id": id, "name": name, "arguments": arguments });
        self.say(&json!({ "role": "assistant", "content": [call], "stopReason": "toolUse", "model": "m" }));
        let content = json!([{ "type": "text", "text": text }]);
        self.say(&json!({ "role": "toolResult", "toolCallId": id, "toolName": name, "content": content, "isError": is_error }));
    }
}

/// Turns that read, run and edit repeatedly.
fn work(turns: usize) -> String {
    let mut story = Story::new();
    for n in 0..turns {
        story.user(&format!("Please look at part {n} of the parser."));
        let text = format!("fn part_{}() {{ body }}\n", n % 2).repeat(20);
        story.tool("read", &json!({ "path": format!("src/part_{}.rs", n % 2) }), &text, false);
        let failed = n % 4 == 1;
        let result =
            if failed { "error: part is missing" } else { "test result: ok. 3 passed; 0 failed; 0 ignored" };
        story.tool(
            "bash",
            &json!({ "command": "cargo test" }),
            &format!("{}\n{result}", "running\n".repeat(40)),
            failed,
        );
        story.tool(
            "edit",
            &json!({ "path": format!("src/made_{n}.rs"), "oldText": "a", "newText": "b" }),
            "done",
            false,
        );
        story.say(&json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("Part {n} is done.") }],
            "stopReason": "stop", "model": "m" }));
    }
    story.lines.join("\n") + "\n"
}

struct Played {
    engine: Engine,
    lane: ThreadRef,
    /// All prompts.
    prompts: Vec<Prompt>,
    session: Session,
}

fn play(text: &str, shape: Shape) -> Played {
    let engine = Engine::in_memory();
    let mut reader = Reader::open(text.as_bytes()).unwrap();
    let mut host = RecordedHost::begin(&engine, reader.source(), None);
    let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
    let mut session = Session::new(&engine, lane, shape, true);
    let mut prompts = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        let is_answer = record.entry.role == unforget_core::entry::Role::Assistant;
        if is_answer {
            prompts.push(session.prompt().unwrap());
        }
        for stored in host.deliver(vec![record]).unwrap() {
            session.push(stored.seq, stored.parent, &Arc::clone(&stored.entry), stored.tokens).unwrap();
        }
    }
    Played { engine, lane, prompts, session }
}

fn shape(window: u64) -> Shape {
    Shape::new(window, None, Dialect::Anthropic)
}

/// The ledger block, without its wrapper.
fn block(request: &Request) -> Option<String> {
    let mut ours =
        request.messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
            Block::Ours(text) => Some(text.as_str()),
            _ => None,
        });
    let text = ours.find(|text| text.starts_with("<history-ledger"))?;
    let (_, body) = text.split_once('\n').unwrap();
    Some(body.trim_end().strip_suffix("</history-ledger>").unwrap().to_owned())
}

#[test]
fn the_ledger_is_bounded_and_changes_at_breaks_only() {
    let shape = shape(8_192);
    let Played { engine, lane, prompts, mut session } = play(&work(120), shape);
    let (mut shown, mut epoch) = (None, 0);
    let mut changed = 0;
    for prompt in &prompts {
        let certificate = prompt.admitted.certificate();
        let block = block(prompt.admitted.request());
        assert_eq!(block.is_some(), certificate.sections.ledger.upper > 0, "it is counted");
        assert!(certificate.sections.ledger.upper <= shape.policy.ledger, "{certificate:?}");
        assert_eq!(certificate.total, certificate.sections.total());
        if prompt.epoch == epoch {
            assert_eq!(block, shown, "I14: between breaks it stays");
            assert!(prompt.broken.is_none() || epoch == 0, "{:?} {certificate:?}", prompt.broken);
        } else {
            changed += u32::from(block != shown);
        }
        (shown, epoch) = (block, prompt.epoch);
    }
    assert!(changed > 5, "{changed} ledgers in {epoch} breaks");
    let shown = shown.unwrap();
    for want in ["Files changed:", "src/made_", "cargo test", "(s:"] {
        assert!(shown.contains(want), "{want} in {shown}");
    }
    let mut again = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| {}).unwrap();
    let (one, other) = (session.prompt().unwrap(), again.prompt().unwrap());
    assert_eq!(one.render(shape.target()), other.render(shape.target()), "I12: from the store");
    // Replayed from the log, as by another process without the contexts.
    let last = session.context().roots.last().unwrap().span.1;
    let mut whole = Folded::default();
    engine.fold_ledger(lane.conversation, lane.thread, &mut whole).unwrap();
    assert!(whole.head() > Some(last), "the ledger of a prompt ends with its summaries");
    let TurnPlace::At(opened) = engine.turn(lane, 120).unwrap() else { panic!("there are 120 turns") };
    let until = Until::Seq(opened);
    let mut past = Session::open(&engine, lane, shape, until, &mut |_, _| {}).unwrap();
    let then = prompts.iter().rev().nth(3).unwrap();
    assert_eq!(
        block(past.prompt().unwrap().admitted.request()),
        block(then.admitted.request()),
        "time travel"
    );
}

/// A session reopened from the store breaks like a session that never ended.
#[test]
fn a_restart_changes_no_later_ledger() {
    let shape = shape(8_192);
    let text = work(120);
    let straight = play(&text, shape);
    let engine = Engine::in_memory();
    let mut reader = Reader::open(text.as_bytes()).unwrap();
    let mut host = RecordedHost::begin(&engine, reader.source(), None);
    let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
    let (mut session, mut at, mut epoch) = (Session::new(&engine, lane, shape, true), 0, 0);
    while let Some(record) = reader.next_record().unwrap() {
        if record.entry.role == unforget_core::entry::Role::Assistant {
            let (prompt, want) = (session.prompt().unwrap(), &straight.prompts[at]);
            assert_eq!(prompt.render(shape.target()), want.render(shape.target()), "prompt {at}");
            at += 1;
            if prompt.epoch > epoch {
                epoch = prompt.epoch;
                session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| {}).unwrap();
            }
        }
        for stored in host.deliver(vec![record]).unwrap() {
            session.push(stored.seq, stored.parent, &Arc::clone(&stored.entry), stored.tokens).unwrap();
        }
    }
    assert!(epoch > 5 && at > 400, "{epoch} restarts, {at} prompts");
}

#[test]
fn without_a_ledger_there_is_none_and_nothing_is_shared() {
    let with = shape(8_192);
    let without = Shape { policy: with.policy.without_ledger(), ..with };
    let played = play(&work(60), without);
    assert!(played.session.context().epoch > 1);
    for prompt in &played.prompts {
        assert_eq!(
            (block(prompt.admitted.request()), prompt.admitted.certificate().sections.ledger.upper),
            (None, 0)
        );
    }
    let mut other = Session::open(&played.engine, played.lane, with, Until::Now, &mut |_, _| {}).unwrap();
    assert!(block(other.prompt().unwrap().admitted.request()).is_some(), "it has a context of its own");
}

/// A superseded result becomes one line at the next break and stays whole until then.
#[test]
fn superseded_results_become_lines_at_breaks() {
    let played = play(&work(300), shape(32_768));
    let (mut lines, mut epoch) = (Vec::new(), 0);
    let (mut seen, mut all) = (0, String::new());
    for prompt in &played.prompts {
        let results = prompt.admitted.request().messages.iter().flat_map(|message| &message.blocks);
        let now: Vec<String> = results
            .filter_map(|block| match block {
                Block::Result(result) => Some(format!("{:?}", result.content)),
                _ => None,
            })
            .filter(|text| text.contains("superseded by"))
            .collect();
        assert!(now.iter().all(|text| !text.contains("\\n")), "one line: {now:?}");
        if prompt.epoch == epoch {
            assert_eq!(now, lines, "between breaks nothing changes its form");
        }
        seen += usize::from(prompt.epoch > epoch && !now.is_empty());
        all.extend(now.iter().map(String::as_str));
        (lines, epoch) = (now, prompt.epoch);
    }
    assert!(seen > 1, "{seen} of {epoch} breaks");
    assert!(all.contains("of bash cargo test: "), "a command that ran again: {all}");
    assert!(all.contains("of read src/part_"), "a file that was read again: {all}");
}
