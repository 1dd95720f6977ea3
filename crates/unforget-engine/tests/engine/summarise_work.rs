//! Jobs, leases, breakers, and the prompts made while models write.
use crate::summarise_common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::summarise_common::{Play, TestClock, models, transcript};
use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::gate::Flaw;
use unforget_core::id::{Seq, Timestamp};
use unforget_engine::Engine;
use unforget_engine::prompt::{Cause as BreakCause, Region};
use unforget_engine::recall::summary_name;
use unforget_engine::summarise::{
    Background, BackgroundCallbacks, Cancel, Current, Held, JobOutcome, News, Shift, Urgency, Writer,
};
use unforget_llm::{Account, Answer, Callback, Cause, Fault, Model, Request, Stop, Usage};
use unforget_store::{JobEnd, JobState, NewJob, Spend, SpendHour, SummaryKey, SummaryRow, read_all};
use unforget_wire::Reader;

const GOOD: &str = "The parser kept the last line again";

fn answer(text: &str) -> Result<Answer, Cause> {
    Ok(Answer { text: text.to_owned(), stop: Stop::End, usage: Usage::default(), model: None })
}

fn good() -> Result<Answer, Cause> {
    answer(&format!(r#"{{"title":"{GOOD}"}}"#))
}

fn model(act: impl Fn(&Request<'_>) -> Result<Answer, Cause> + Send + Sync + 'static) -> Arc<dyn Model> {
    Arc::new(Callback::new("host:test", "m", act))
}

fn played(turns: u64) -> (Play, Arc<TestClock>) {
    let (mut play, clock) = (Play::new(Engine::in_memory().with_models(), turns, 2_048), Arc::default());
    for _ in 0..turns * 2 - 40 {
        play.step(TestClock::now(&clock)).unwrap();
        clock.pass(Duration::from_secs(5));
    }
    (play, clock)
}

#[test]
fn i14_what_is_shown_changes_at_breaks_only() {
    let (mut play, clock) = played(60);
    let models = models(&play.engine, model(|_| good()), &clock);
    let engine = play.engine.clone();
    assert!(play.session.context().epoch > 0, "there are summaries");
    play.session.prompt().unwrap();
    let epoch = play.session.context().epoch;
    let reports =
        engine.work(play.id, &models, clock.now(), Shift { limit: 99, urgency: Urgency::Normal }).unwrap();
    assert!(reports.iter().any(|report| report.ended == JobOutcome::Written), "{reports:?}");
    let prompt = play.session.prompt().unwrap();
    assert!(prompt.broken.is_none() && prompt.epoch == epoch, "a rewrite alone breaks nothing");
    assert!(!prompt.render(play.shape.target()).contains(GOOD));
    let mut shown = false;
    while let Some(prompt) = play.step(clock.now()) {
        let Some(prompt) = prompt else { continue };
        let has = prompt.render(play.shape.target()).contains(GOOD);
        assert!(!has || prompt.epoch > epoch, "not before the break");
        shown |= has;
    }
    assert!(shown, "the break shows it");
    assert!(engine.store().decisions(play.id).unwrap().iter().any(|row| row.decided == "break"));
}

#[test]
fn what_models_wrote_is_shown_when_the_cache_has_run_out() {
    let (mut play, clock) = played(60);
    let models = models(&play.engine, model(|_| good()), &clock);
    let shift = Shift { limit: 99, urgency: Urgency::Normal };
    play.engine.work(play.id, &models, clock.now(), shift).unwrap();
    let before = play.session.prompt().unwrap();
    assert!(!before.render(play.shape.target()).contains(GOOD), "not before a break");
    let later = |minutes: i64| {
        let time = Timestamp(1_767_225_600_000 + 3_600_000 + minutes * 60_000);
        let parts = vec![Part::Text("And now?".to_owned())];
        Arc::new(Entry { role: Role::User, parts, time: Some(time), ..Entry::bare(Origin::Human) })
    };
    let head = Seq(play.pushed - 1);
    play.session.push(Seq(play.pushed), Some(head), &later(0), 4).unwrap();
    let prompt = play.session.prompt().unwrap();
    let broken = prompt.broken.map(|broken| (broken.cause, broken.region, broken.rebilled));
    assert_eq!(broken, Some((BreakCause::Compaction, Region::Summaries, 0)), "for nothing, after an hour");
    assert!(prompt.render(play.shape.target()).contains(GOOD));
    assert_eq!(prompt.epoch, before.epoch + 1);
    assert_eq!(play.session.prompt().unwrap().broken, None, "once");
}

#[test]
fn f032_a_fallback_is_written_again_when_a_model_is_back() {
    let (play, clock) = played(60);
    let is_back = Arc::new(AtomicU64::new(0));
    let asked = Arc::clone(&is_back);
    let models = models(
        &play.engine,
        model(move |_| match asked.load(Ordering::SeqCst) {
            0 => Err(Cause::Connect),
            _ => good(),
        }),
        &clock,
    );
    for _ in 0..5 {
        let reports = play
            .engine
            .work(play.id, &models, clock.now(), Shift { limit: 3, urgency: Urgency::Normal })
            .unwrap();
        assert!(reports.iter().all(|report| matches!(report.ended, JobOutcome::Later(_))), "{reports:?}");
    }
    assert!(play.rewrites().is_empty());
    is_back.store(1, Ordering::SeqCst);
    clock.pass(Duration::from_hours(3));
    let reports = play
        .engine
        .work(play.id, &models, clock.now(), Shift { limit: 99, urgency: Urgency::Normal })
        .unwrap();
    assert!(reports.iter().filter(|report| report.ended == JobOutcome::Written).count() > 1, "{reports:?}");
}

#[test]
fn f018_a_refused_credential_writes_nothing_and_is_remembered() {
    let (play, clock) = played(60);
    let calls = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&calls);
    let refuses = model(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        Err(Cause::Auth)
    });
    let engine = play.engine.clone();
    let first = models(&engine, Arc::clone(&refuses), &clock);
    let reports =
        engine.work(play.id, &first, clock.now(), Shift { limit: 99, urgency: Urgency::Normal }).unwrap();
    assert_eq!(
        (reports.len(), calls.load(Ordering::SeqCst)),
        (1, 1),
        "one call, and no other job: {reports:?}"
    );
    assert!(play.rewrites().is_empty());
    assert!(engine.store().breakers().unwrap()[0].state.starts_with("blocked"), "durable");
    clock.pass(Duration::from_hours(9));
    let second = models(&engine, Arc::clone(&refuses), &clock);
    engine.work(play.id, &second, clock.now(), Shift { limit: 99, urgency: Urgency::Normal }).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 1, "another process does not ask again");
    engine.work(play.id, &second, clock.now(), Shift { limit: 99, urgency: Urgency::Manual }).unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2, "a person may");
}

#[test]
fn i19_a_lease_that_is_over_writes_nothing() {
    let (play, clock) = played(60);
    let late = Arc::clone(&clock);
    let slow = model(move |_| {
        late.pass(Duration::from_hours(2));
        good()
    });
    let models = models(&play.engine, slow, &clock);
    let reports = play
        .engine
        .work(play.id, &models, clock.now(), Shift { limit: 1, urgency: Urgency::Normal })
        .unwrap();
    assert_eq!(reports[0].ended, JobOutcome::Lost);
    assert!(play.rewrites().is_empty());
    let jobs = read_all(|page| play.engine.store().jobs(play.id, page)).unwrap();
    assert!(jobs.iter().all(|job| !matches!(job.state, JobState::Done { .. })));
}

#[test]
fn purged_entries_do_not_come_back_as_a_summary() {
    let (play, clock) = played(60);
    let (engine, id) = (play.engine.clone(), play.id);
    let purges = model(move |_| {
        engine.store().purge(id, 0..1_000).unwrap();
        good()
    });
    let models = models(&play.engine, purges, &clock);
    let reports = play
        .engine
        .work(play.id, &models, clock.now(), Shift { limit: 1, urgency: Urgency::Normal })
        .unwrap();
    assert_eq!(reports[0].ended, JobOutcome::Lost);
    assert!(play.rewrites().is_empty());
}

#[test]
fn f015_entries_that_arrive_during_a_call_stay() {
    let (play, clock) = played(60);
    let more = transcript(60);
    let mut reader = Reader::open(more.as_bytes()).unwrap();
    let mut records = Vec::new();
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record);
    }
    let rest = Mutex::new(records.split_off(100).into_iter());
    let host = Arc::clone(&play.host);
    let appended = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&appended);
    let appends = model(move |_| {
        if let Some(record) = rest.lock().unwrap().next() {
            let stored = host.lock().unwrap().deliver(vec![record]).unwrap();
            count.fetch_add(stored.len() as u64, Ordering::SeqCst);
        }
        good()
    });
    let models = models(&play.engine, appends, &clock);
    let reports = play
        .engine
        .work(play.id, &models, clock.now(), Shift { limit: 8, urgency: Urgency::Normal })
        .unwrap();
    assert!(reports.iter().all(|report| report.ended == JobOutcome::Written), "{reports:?}");
    let appended = appended.load(Ordering::SeqCst);
    assert!(appended > 3);
    assert_eq!(play.engine.store().conversation(play.id).unwrap().entries, play.pushed + appended);
    assert_eq!(play.engine.store().verify(&mut |_, _| {}).unwrap(), []);
}

#[test]
fn f023_a_prompt_does_not_wait_for_a_call() {
    let (mut play, clock) = played(60);
    let (entered, wait) = (std::sync::mpsc::channel(), std::sync::mpsc::channel::<()>());
    let (started, gate) = (Mutex::new(entered.0), Mutex::new(wait.1));
    let held = model(move |_| {
        _ = started.lock().unwrap().send(());
        _ = gate.lock().unwrap().recv();
        good()
    });
    let models = Arc::new(models(&play.engine, held, &clock));
    let time = Arc::clone(&clock);
    let every = Duration::from_hours(1);
    let current = Current::default();
    current.set(Some(models));
    let background = Background::start(
        play.engine.clone(),
        current,
        Cancel::default(),
        every,
        BackgroundCallbacks {
            look: || (),
            time: move || time.now(),
            told: |news: News<'_>| assert!(matches!(news, News::Worked(_)), "{news:?}"),
        },
    )
    .unwrap();
    entered.1.recv().unwrap();
    // The call is running and does not end.
    let mut prompts = 0;
    while let Some(prompt) = play.step(clock.now()) {
        prompts += u64::from(prompt.is_some());
    }
    assert!(prompts >= 9, "prompts were made meanwhile");
    assert!(play.rewrites().is_empty(), "it is still under way");
    drop(wait.0);
    drop(background);
}

#[test]
fn where_nobody_may_be_called_no_attempt_counts() {
    let (play, clock) = played(60);
    let broken = models(&play.engine, model(|_| Err(Cause::Server { retry_after: None })), &clock);
    let shift = Shift { limit: 99, urgency: Urgency::Normal };
    let reports = play.engine.work(play.id, &broken, clock.now(), shift).unwrap();
    let tries = || {
        read_all(|page| play.engine.store().jobs(play.id, page))
            .unwrap()
            .iter()
            .map(|job| job.attempts)
            .sum::<u32>()
    };
    let (asked, before) = (reports.iter().filter(|report| report.spent.calls > 0).count(), tries());
    assert_eq!((asked, before), (3, 3), "three failures open the breaker, and the round ends: {reports:?}");
    assert!(broken.may_ask().unwrap_err().until.is_some());
    assert_eq!(play.engine.work(play.id, &broken, clock.now(), shift).unwrap(), []);
    let held = || play.engine.held_back(play.id, &broken, clock.now()).unwrap();
    assert!(held().unwrap().to_string().contains("no model is called before"), "{:?}", held());
    clock.pass(Duration::from_mins(2));
    let hour = clock.now().0 / 3_600_000;
    let all = Spend { calls: 40, ..Spend::default() };
    let fresh = models(&play.engine, model(|_| panic!("there is no money left")), &clock);
    play.engine
        .store()
        .charge(play.id, SpendHour::of_summaries(hour), all, Spend { calls: 99, ..summarise_common::CAPS })
        .unwrap();
    assert_eq!(play.engine.held_back(play.id, &fresh, clock.now()).unwrap(), Some(Held::SpentUp));
    assert_eq!(play.engine.work(play.id, &fresh, clock.now(), shift).unwrap(), []);
    assert_eq!(tries(), before, "no job is touched");
    clock.pass(Duration::from_hours(3));
    let full = models(&play.engine, model(|_| Err(Cause::Busy)), &clock);
    let reports = play.engine.work(play.id, &full, clock.now(), shift).unwrap();
    assert_eq!(
        (reports.len(), tries()),
        (1, before),
        "full places end the round, and cost nothing: {reports:?}"
    );
    assert_eq!(reports[0].spent, Spend::default());
    let absent = models(&play.engine, Arc::new(Nobody::new()), &clock);
    clock.pass(Duration::from_hours(3));
    assert_eq!(play.engine.work(play.id, &absent, clock.now(), shift).unwrap(), []);
    assert!(absent.may_ask().unwrap_err().is_absent);
    play.engine.work(play.id, &absent, clock.now(), Shift { urgency: Urgency::Manual, ..shift }).unwrap();
    assert_eq!(tries(), before, "a person finds nobody, either");
}

/// A model that does not exist.
struct Nobody(Account);

impl Nobody {
    fn new() -> Self {
        Self(Account { provider: "nobody".to_owned(), credential: "none".to_owned() })
    }
}

impl Model for Nobody {
    fn account(&self) -> &Account {
        &self.0
    }
    fn name(&self) -> &str {
        &self.0.provider
    }
    fn is_there(&self) -> bool {
        false
    }
    fn call(&self, _: &Request<'_>) -> Result<Answer, Fault> {
        panic!("nobody is called")
    }
}

#[test]
fn a_model_reads_what_came_before_and_may_not_repeat_it() {
    let (play, clock) = played(60);
    let heard = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&heard);
    let repeats = model(move |request| {
        hears.lock().unwrap().push(request.user.to_owned());
        let earlier = request.user.split("</earlier").next().filter(|text| text.contains("<earlier"));
        // The path of the previous summary is not the path of the source.
        let path =
            earlier.and_then(|text| text.split_whitespace().find(|word| word.starts_with("src/part_")));
        path.map_or_else(good, |path| answer(&format!(r#"{{"title":"It was {path} again"}}"#)))
    });
    let models = models(&play.engine, repeats, &clock);
    let reports = play
        .engine
        .work(play.id, &models, clock.now(), Shift { limit: 6, urgency: Urgency::Normal })
        .unwrap();
    let heard = heard.lock().unwrap();
    let with: Vec<_> = heard.iter().filter(|text| text.contains("<earlier")).collect();
    assert!(with.len() >= 2 && !heard[0].contains("<earlier"), "{heard:?}");
    assert!(with.iter().all(|text| text.contains("src/part_")), "{with:?}");
    let invented = reports.iter().filter(|report| report.refused.contains(&Flaw::Invented)).count();
    assert!(invented >= 1, "{reports:?}");
    assert_eq!(play.rewrites().len(), reports.len() - invented, "{reports:?}");
}

#[test]
fn f032_a_fallback_says_so_until_a_model_is_back() {
    let (play, clock) = played(60);
    let store = play.engine.store();
    let job = read_all(|page| store.jobs(play.id, page)).unwrap().remove(0);
    let writer = || play.engine.writer(play.id, &job.key).unwrap();
    let Writer::Fallback { state, why } = writer() else { panic!("{:?}", writer()) };
    assert_eq!((state.name(), why.as_str()), ("waiting", ""));
    let shift = Shift { limit: 1, urgency: Urgency::Normal };
    let down = models(&play.engine, model(|_| Err(Cause::Connect)), &clock);
    play.engine.work(play.id, &down, clock.now(), shift).unwrap();
    let Writer::Fallback { why, .. } = writer() else { panic!("{:?}", writer()) };
    assert!(why.contains("no connection"), "{why}");
    let name = summary_name(&job.key);
    let described = || play.engine.describe(Some(play.id), &name).unwrap();
    assert_eq!(described().writer.map(|writer| writer.name()), Some("fallback"));
    clock.pass(Duration::from_hours(3));
    let up = models(&play.engine, model(|_| good()), &clock);
    play.engine.work(play.id, &up, clock.now(), shift).unwrap();
    assert_eq!(writer(), Writer::Model("m".to_owned()));
    assert!(described().preview.contains(GOOD));
    let plain = Play::new(Engine::in_memory(), 4, 2_048);
    assert_eq!(plain.engine.writer(plain.id, &job.key).unwrap(), Writer::Deterministic);
}

type Change = fn(&mut SummaryRow);

#[test]
fn verify_looks_at_what_models_wrote_and_at_jobs() {
    let (play, clock) = played(60);
    let up = models(&play.engine, model(|_| good()), &clock);
    let shift = Shift { limit: 3, urgency: Urgency::Normal };
    play.engine.work(play.id, &up, clock.now(), shift).unwrap();
    let (engine, store) = (&play.engine, play.engine.store());
    let sound = engine.verify(&mut |_, _| {}).unwrap();
    assert_eq!(sound.problems, []);
    assert!(sound.rewrites > 6, "{sound:?}");
    let bad = |change: &dyn Fn(&mut SummaryRow)| {
        let now = clock.now();
        let job = store.take_job(play.id, now, Timestamp(now.0 + 9), true).unwrap().unwrap();
        let mut row = store.summary(play.id, &job.key).unwrap().unwrap();
        row.writer = "model/1 m".to_owned();
        change(&mut row);
        let done = JobEnd::Done(Box::new(row));
        assert!(store.end_job(play.id, job.lease(), &done, now).unwrap());
    };
    let table: [(Change, &str, &str); 4] = [
        (|_| {}, "", "a sound one"),
        (|row| row.body = "no sections".to_owned(), "is no summary", "its text"),
        (|row| row.span.1 = Seq(9_999), "stands for other entries", "its entries"),
        (|row| row.writer = "somebody".to_owned(), "was written by", "its writer"),
    ];
    let mut known = 0;
    for (change, want, why) in table {
        bad(&change);
        let problems = engine.verify(&mut |_, _| {}).unwrap().problems;
        known += usize::from(!want.is_empty());
        assert_eq!(problems.len(), known, "{why}: {problems:?}");
        assert!(
            want.is_empty() || problems.iter().any(|one| one.detail.contains(want)),
            "{why}: {problems:?}"
        );
    }
    let nobody = SummaryKey { level: 9, ..read_all(|page| store.jobs(play.id, page)).unwrap()[0].key };
    store.put_jobs(play.id, &[NewJob { key: nobody, span: (Seq(0), Seq(1)) }], clock.now()).unwrap();
    let last = engine.verify(&mut |_, _| {}).unwrap().problems.pop().unwrap();
    assert_eq!((last.kind, last.detail.contains("missing summary")), ("job", true), "{last:?}");
}
