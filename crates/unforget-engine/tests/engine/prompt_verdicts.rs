//! A rejected statement of a summary is told to later prompts.
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_engine::Engine;
use unforget_engine::prompt::{Cause, Session, Shape, ThreadRef, Until};
use unforget_engine::recall::{NewVerdict, summary_name};
use unforget_store::Page;
use unforget_wire::Dialect;

use crate::common::asked::import;

const NOW: Timestamp = Timestamp(7);

/// Words of an answer that a summary keeps.
const WORDS: &str = "The parser failed because the header had two lines.";

/// A history of which a small prompt shows the beginning as a summary.
fn history() -> (Engine, ThreadRef) {
    let engine = Engine::in_memory();
    let long = format!("Mend the parser. {}", "Look at every file of it, one by one. ".repeat(240));
    let mut texts = vec!["Why did the parser fail on this file?".to_owned(), WORDS.to_owned()];
    for number in 0..11 {
        texts.push(format!("Now part {number}. {long}"));
        texts
            .push(format!("Part {number} is done in part_{number}.rs. {}", "It was long work. ".repeat(240)));
    }
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    import(&engine, "struck", &texts);
    let key = engine.resolve("struck").unwrap().conversation;
    (engine, ThreadRef { conversation: key.id, thread: Thread(0) })
}

#[test]
fn a_rejected_line_of_a_summary_leaves_the_prompt_with_a_note() {
    let (engine, lane) = history();
    let shape = Shape::new(32_000, None, Dialect::Anthropic);
    let mut session = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    let text = |session: &mut Session| {
        let prompt = session.prompt().unwrap();
        (prompt.render(Dialect::Anthropic), prompt.broken.map(|broken| broken.cause))
    };
    let (before, _) = text(&mut session);
    assert!(before.contains(WORDS) && !before.contains("verdict 1"), "{before}");
    let rows = engine.store().summaries(lane.conversation, Page::first(64)).unwrap();
    let name = summary_name(&rows.iter().find(|row| row.body.contains(WORDS)).unwrap().key);
    let new = |line| NewVerdict { line, why: "it was a tab", instead: None, author: "ann" };
    let bad = [None, Some("nothing of this stands there")];
    for line in bad {
        assert!(engine.reject_named(None, &name, &new(line), NOW).is_err(), "{line:?}");
    }
    let made = engine.reject_named(None, &name, &new(Some(&format!("- {WORDS} (2)"))), NOW).unwrap();
    let row = engine.verdicts(lane.conversation).unwrap().pop().unwrap();
    assert_eq!((row.number, row.seq, row.line.as_deref()), (made.number, Seq(2), Some(WORDS)));
    let (after, cause) = text(&mut session);
    assert!(!after.contains(WORDS) && after.contains("rejected by a reader: verdict 1"), "{after}");
    assert_eq!(cause, Some(Cause::Verdict));
    assert_eq!(text(&mut session), (after.clone(), None), "and once");
    let mut other = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| ()).unwrap();
    assert_eq!(text(&mut other).0, after, "whoever makes the prompt");
    engine.withdraw_verdict(lane.conversation, made.number, NOW).unwrap();
    let (again, cause) = text(&mut session);
    assert_eq!((again, cause), (before, Some(Cause::Verdict)), "as before");
}
