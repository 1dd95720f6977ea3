//! Hostile histories through the whole engine: every prompt fits, is valid, proved, and reproducible.

use std::sync::{Arc, OnceLock};

use tiktoken_rs::CoreBPE;
use unforget_core::entry::{Origin, Part};
use unforget_core::id::{Seq, Thread};
use unforget_core::message::{Block, Message, Request};
use unforget_engine::Engine;
use unforget_engine::prompt::{Prompt, Session, Shape, ThreadRef, Until};
use unforget_engine::view::Answers;
use unforget_testkit::hostile::{Size, history};
use unforget_testkit::render;
use unforget_wire::{Dialect, Reader, render_message, validate};

/// Number of cases: `UNFORGET_CASES`, or few enough for every build.
fn cases() -> u64 {
    std::env::var("UNFORGET_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(240)
}

/// A tokeniser that is not the engine's.
fn oracle() -> &'static CoreBPE {
    static ORACLE: OnceLock<CoreBPE> = OnceLock::new();
    ORACLE.get_or_init(|| tiktoken_rs::o200k_base().unwrap())
}

fn has_media(request: &Request) -> bool {
    let media = |part: &Part| matches!(part, Part::Media(_));
    request.messages.iter().flat_map(|message| &message.blocks).any(|block| match block {
        Block::Part(part) => media(part),
        Block::Result(result) => result.content.iter().any(media),
        _ => false,
    })
}

/// Checks the properties of every prompt.
fn check(prompt: &Prompt, human: Option<Seq>, shape: &Shape, case: &str) -> String {
    let certificate = prompt.admitted.certificate();
    let request = prompt.admitted.request();
    let body = prompt.render(shape.target());
    assert_eq!(validate(&body, shape.target()), Ok(()), "I9: {case}");
    assert_eq!(certificate.proof, Ok(()), "I6: {case}");
    assert!(certificate.total.upper <= shape.policy.budget(), "I10: {case}");
    assert_eq!(certificate.sections.total(), certificate.total, "f068: sections sum exactly: {case}");
    if !has_media(request) {
        let counted = oracle().encode_ordinary(&body).len() as u64;
        assert!(counted <= certificate.total.upper, "f067: {counted} > {:?}: {case}", certificate.total);
    }
    if let Some(human) = human {
        assert!(
            request.messages.iter().any(|message| message.seqs.contains(&human)),
            "I11: {human} on {:?}: {case}",
            certificate.rung
        );
    }
    body
}

fn run(seed: u64) {
    let size = if seed.is_multiple_of(16) { Size::LARGE } else { Size::SMALL };
    let entries = history(seed, size);
    let bytes = match seed % 4 {
        0 => render::pi(&entries),
        1 => render::claude_code(&entries),
        2 => render::openai_chat(&entries),
        _ => render::anthropic(&entries),
    };
    let dialect = Dialect::ALL[(seed / 4 % 6) as usize];
    let window = [2_048, 8_192, 32_768][(seed / 16 % 3) as usize];
    // Models whose requests must have more, or fewer, fields than others.
    let models = [None, Some("deepseek-reasoner"), Some("mistral-large"), Some("claude-opus-4-5")];
    let model = models[(seed / 24 % 4) as usize];
    let shape = Shape::new(window, model, dialect);
    let case = format!("seed {seed}, {window}, {} for {model:?}", dialect.name());
    let Ok(mut reader) = Reader::open(bytes.as_slice()) else { return };
    let engine = Engine::in_memory();
    let Ok(imported) = engine.import_reader(bytes.as_slice(), "hostile") else { return };
    let conversation = engine.store().find(&imported.conversation).unwrap().unwrap();
    let lane = ThreadRef { conversation: conversation.id, thread: Thread(0) };
    let mut rows = engine.store().rows(conversation.id, 0..conversation.entries).unwrap().into_iter();
    let mut session = Session::new(&engine, lane, shape, true);
    let mut answers = Answers::default();
    let (mut human, mut before): (Option<Seq>, Option<Request>) = (None, None);
    while let Some(record) = reader.next_record().unwrap() {
        let main = record.entry.thread.is_none();
        if main && answers.is_call(&record.entry) {
            let prompt = session.prompt().unwrap_or_else(|error| panic!("{error}: {case}"));
            check(&prompt, human, &shape, &case);
            if let (Some(before), None) = (&before, prompt.broken) {
                let stable = before.messages.len() - 1;
                let now = &prompt.admitted.request().messages;
                let text = |messages: &[Message]| {
                    messages.iter().map(|m| render_message(m, shape.target())).collect::<Vec<_>>()
                };
                assert_eq!(
                    text(&before.messages[..stable]),
                    text(&now[..stable.min(now.len())]),
                    "I14: {case}"
                );
            }
            before = Some(prompt.admitted.request().clone());
        }
        let row = rows.next().unwrap();
        if main {
            let entry = Arc::new(record.entry);
            let shown = session.push(row.seq, row.parent, &entry, row.tokens.expected).unwrap();
            // Providers refuse text of only spaces and invisible characters.
            let nothing = |c: char| {
                c.is_whitespace()
                    || c.is_control()
                    || "\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2060}\u{feff}\u{ad}".contains(c)
            };
            let blank = |part: &Part| matches!(part, Part::Text(text) if text.chars().all(nothing));
            if shown && entry.origin == Origin::Human && !entry.parts.iter().all(blank) {
                human = Some(row.seq);
            }
        }
    }
    let body =
        check(&session.prompt().unwrap_or_else(|error| panic!("{error}: {case}")), human, &shape, &case);
    for until in [Until::Now, Until::Seq(Seq(u64::MAX - 1))] {
        let mut again = Session::open(&engine, lane, shape, until, &mut |_, _| ()).unwrap();
        assert_eq!(again.prompt().unwrap().render(shape.target()), body, "I12, f052: {until:?}: {case}");
    }
}

#[test]
fn every_prompt_of_hostile_histories_is_admitted_valid_and_reproducible() {
    let from = std::env::var("UNFORGET_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    for seed in from..from + cases() {
        run(seed);
    }
}
