//! Failures seen in the compaction of other systems (classes B and C), each where it could recur.
use std::sync::{Arc, Mutex};

use crate::common::host::{PI, answer, call, host, lane, result, turn, user};
use crate::summarise_common::{Play, TestClock, config, models, said, transcript};
use proptest::prelude::*;
use unforget_core::admit::Rung;
use unforget_core::entry::Part;
use unforget_core::id::{Seq, Thread};
use unforget_core::message::{Block, Message, Request, Speaker};
use unforget_engine::Engine;
use unforget_engine::host::Ask;
use unforget_engine::prompt::{Session, ThreadRef, Until};
use unforget_engine::summarise::{Config, JobOutcome, Shift, Summarisers, Urgency};
use unforget_llm::{Answer, Callback, Cause, Clock, Model, Request as Question, Stop, Usage};
use unforget_wire::Dialect;

fn model(act: impl Fn(&Question<'_>) -> Result<Answer, Cause> + Send + Sync + 'static) -> Arc<dyn Model> {
    Arc::new(Callback::new("host:test", "m", act))
}

fn says(text: &str) -> Answer {
    Answer { text: text.to_owned(), stop: Stop::End, usage: Usage::default(), model: None }
}

const ALL: Shift = Shift { limit: 99, urgency: Urgency::Normal };

/// Whatever a host leaves out of its requests, its history is compacted, and every prompt reports the checks and the
/// decision.
#[test]
fn f014_compaction_runs_whatever_a_host_leaves_out() {
    let plain = Ask::new(8_000, Dialect::Pi);
    let asks = [
        ("nothing but a budget", plain.clone()),
        ("the first of a turn", Ask { is_first: true, ..plain.clone() }),
        ("a model", Ask { model: Some("claude-x".into()), ..plain.clone() }),
        ("a model that nobody knows", Ask { model: Some(String::new()), ..plain.clone() }),
        ("words behind the messages", Ask { prompt: Some("go on".into()), ..plain }),
        ("the smallest budget", Ask::new(1_500, Dialect::Pi)),
    ];
    for (name, ask) in asks {
        let (host, lane) = (host(), lane("never"));
        let text = "the parser loses the last line of the file ".repeat(30);
        let (mut prompts, mut kept) = (0, Vec::new());
        for n in 0..80_i64 {
            let id = format!("c{n}");
            let turn_of = |last: &[String]| {
                let first = [
                    user(&format!("question {n}"), n * 9),
                    call(&id, n * 9 + 1),
                    result(&id, &text, n * 9 + 2),
                ];
                turn(&n.to_string(), &first.into_iter().chain(last.iter().cloned()).collect::<Vec<_>>())
            };
            host.begin_turn(&lane, PI, turn_of(&[])).unwrap();
            let made = host.assemble(&lane, PI, &ask).unwrap();
            prompts += 1;
            assert!(made.tokens.upper <= ask.budget, "{name}: I10");
            kept.push((
                made.recipe.unwrap(),
                made.certificate.total,
                made.broken.map(|broken| broken.cause.name()),
            ));
            host.commit_turn(&lane, PI, turn_of(&[answer("done", n * 9 + 3)])).unwrap();
        }
        let status = host.status(&lane, PI).unwrap();
        let id =
            host.engine().store().find(&unforget_core::id::ConversationKey(status.conversation)).unwrap();
        let recipes = host.engine().recipes(id.unwrap().id).unwrap();
        assert_eq!(recipes.len(), prompts, "{name}: a record of every prompt");
        for ((number, recipe), (of, total, broken)) in recipes.iter().zip(&kept) {
            let decided = (recipe.tokens, recipe.broken.map(|broken| broken.cause.name()));
            assert_eq!((number, decided), (of, (*total, *broken)), "{name}");
        }
        let (_, last) = recipes.last().unwrap();
        assert!(last.epoch >= 3, "{name}: {} breaks", last.epoch);
        let degraded = recipes.iter().filter(|(_, recipe)| recipe.rung != Rung::Assembled).count();
        assert!(
            degraded < prompts / 4,
            "{name}: the ladder is for what no break can help: {degraded} of {prompts}"
        );
    }
}

/// Entries and prompts arrive while a model is asked, breaks included: all of them are kept, and the model's text
/// stands for the requested entries only.
#[test]
fn f016_what_arrives_while_a_summary_is_written_stays() {
    const TURNS: u64 = 80;
    let clock = Arc::new(TestClock::default());
    let mut play = Play::new(Engine::in_memory().with_models(), TURNS, 2_048);
    while play.session.context().epoch == 0 {
        play.step(clock.now()).unwrap();
    }
    let (engine, id, shape) = (play.engine.clone(), play.id, play.shape);
    let held = Arc::new(Mutex::new(play));
    let (inside, time) = (Arc::clone(&held), Arc::clone(&clock));
    let slow = model(move |_| {
        let mut play = inside.lock().unwrap();
        let epoch = play.session.context().epoch;
        while play.session.context().epoch < epoch + 2 && play.step(time.now()).is_some() {}
        Ok(says(r#"{"title":"The parser kept the last line again"}"#))
    });
    let models = models(&engine, slow, &clock);
    let mut written = 0;
    for _ in 0..8 {
        let reports = engine.work(id, &models, clock.now(), Shift { limit: 2, ..ALL }).unwrap();
        written += reports.iter().filter(|report| report.ended == JobOutcome::Written).count();
        if held.lock().unwrap().step(clock.now()).is_none() {
            break;
        }
    }
    assert!(written > 3, "{written}");
    let mut play = held.lock().unwrap();
    while play.step(clock.now()).is_some() {}
    assert_eq!((play.pushed, play.prompts), (engine.store().conversation(id).unwrap().entries, TURNS));
    let mut export = Vec::new();
    engine.export(id, None, &mut export).unwrap();
    assert_eq!(said(&export), said(transcript(TURNS).as_bytes()), "I1: every byte that arrived");
    for row in play.rewrites() {
        let plain = engine.store().summary(id, &row.key).unwrap().unwrap();
        assert_eq!((row.span, row.count), (plain.span, plain.count), "it stands for what it was asked about");
    }
    let target = shape.target();
    let lane = ThreadRef { conversation: id, thread: Thread(0) };
    let mut again = Session::open(&engine, lane, shape, Until::Now, &mut |_, _| {}).unwrap();
    assert_eq!(again.prompt().unwrap().render(target), play.session.prompt().unwrap().render(target), "I12");
}

/// A break replaces the beginning of a prompt and leaves the end, byte for byte.
#[test]
fn f021_a_break_leaves_what_is_behind_the_cut() {
    let mut play = Play::new(Engine::in_memory(), 120, 4_096);
    let clock = TestClock::default();
    let (mut before, mut breaks, mut epoch) = (Vec::new(), 0, 0);
    while let Some(prompt) = play.step(clock.now()) {
        let Some(prompt) = prompt else { continue };
        let messages: Vec<(Vec<Seq>, Message)> = theirs(prompt.admitted.request());
        if prompt.epoch > epoch {
            breaks += 1;
            let kept: Vec<_> = before.iter().filter(|one| messages.contains(one)).collect();
            let first = before.iter().position(|one| messages.contains(one)).unwrap();
            assert_eq!(kept.len(), before.len() - first, "from the cut on, nothing is missing");
            assert!(first > 0, "something was summarised");
            let kept: u64 = play.session.group_sizes().sum();
            assert!(kept >= play.shape.policy.fresh_tail / 2, "a tail stays: {kept} tokens");
        }
        (before, epoch) = (messages, prompt.epoch);
    }
    assert!(breaks > 4, "{breaks}");
}

/// Messages with the entries that they show.
fn theirs(request: &Request) -> Vec<(Vec<Seq>, Message)> {
    let shown = request.messages.iter().filter(|message| !message.seqs.is_empty());
    let parts = |message: &Message| {
        let mut message = message.clone();
        message.blocks.retain(|block| !matches!(block, Block::Ours(_)));
        message
    };
    shown.map(|message| (message.seqs.clone(), parts(message))).collect()
}

/// Jobs contain no settings: each job is done with the current settings.
#[test]
fn f025_a_job_is_done_by_the_settings_of_now() {
    let clock = Arc::new(TestClock::default());
    let mut play = Play::new(Engine::in_memory().with_models(), 60, 2_048);
    while play.step(clock.now()).is_some() {}
    let (engine, id) = (play.engine.clone(), play.id);
    let asked: Arc<Mutex<Vec<(String, u64)>>> = Arc::default();
    let heard = Arc::clone(&asked);
    let refuses = model(move |question| {
        let all = format!("{}{}", question.system, question.user);
        heard.lock().unwrap().push((all, question.output_tokens_max));
        Ok(says("I'm sorry, but I cannot help with that."))
    });
    let with = |config: Config| {
        let time = Arc::clone(&clock) as Arc<dyn Clock>;
        Summarisers::new(&engine, Arc::clone(&refuses).into(), vec![], config, time).unwrap()
    };
    let then =
        with(Config { wishes: "Keep all ports.".into(), tries_max: 9, output_tokens_max: 700, ..config() });
    let reports = engine.work(id, &then, clock.now(), Shift { limit: 1, ..ALL }).unwrap();
    assert!(matches!(reports[0].ended, JobOutcome::Later(_)), "another try is left: {reports:?}");
    let before = std::mem::take(&mut *asked.lock().unwrap());
    assert!(before.iter().all(|(text, max)| text.contains("Keep all ports.") && *max == 700), "{before:?}");
    clock.pass(std::time::Duration::from_hours(2));
    let now =
        with(Config { wishes: "Keep all names.".into(), tries_max: 1, output_tokens_max: 300, ..config() });
    let reports = engine.work(id, &now, clock.now(), Shift { limit: 1, ..ALL }).unwrap();
    assert_eq!(reports[0].ended, JobOutcome::GivenUp, "no try is left by the settings of now");
    let after = std::mem::take(&mut *asked.lock().unwrap());
    assert!(!after.is_empty());
    for (text, max) in after {
        assert!(
            text.contains("Keep all names.") && !text.contains("Keep all ports.") && max == 300,
            "{text}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Our words are never taken for a person's: they are labelled, and the prompt has exactly the messages of people
    /// that are behind the summaries, with the newest one.
    #[test]
    fn f029_our_words_are_no_message_of_a_person(turns in 1_u64..90, window in 1_024_u64..8_192) {
        let mut play = Play::new(Engine::in_memory(), turns, window);
        let clock = TestClock::default();
        let mut last = None;
        while let Some(prompt) = play.step(clock.now()) {
            last = prompt.or(last);
        }
        let prompt = last.unwrap();
        let request = prompt.admitted.request();
        let mut genuine = 0;
        for message in request.messages.iter().filter(|message| message.speaker == Speaker::User) {
            for block in &message.blocks {
                match block {
                    Block::Part(Part::Text(text)) => {
                        prop_assert!(text.starts_with("Please look at src/part_"), "{}", text);
                        genuine += 1;
                    }
                    Block::Ours(text) => {
                        prop_assert!(text.starts_with("<history-") || text.starts_with('['), "{}", text);
                    }
                    other => prop_assert!(false, "{:?}", other),
                }
            }
        }
        let cover = prompt.admitted.certificate().cover;
        if prompt.admitted.certificate().rung == Rung::Assembled {
            // Person and model alternate, and the person is last.
            let shown = cover.verbatim + cover.stubbed;
            prop_assert!(genuine == shown.div_ceil(2), "{} of {}", genuine, shown);
        }
        prop_assert!(genuine >= 1);
        let ends = request.messages.last().unwrap();
        prop_assert!(matches!(ends.blocks.last(), Some(Block::Part(Part::Text(_)))), "the person speaks last");
    }
}
