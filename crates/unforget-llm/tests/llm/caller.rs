//! Retries, the chain, breakers and limits, without waiting for any of them.
use crate::common;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use unforget_core::id::Timestamp;
use unforget_llm::{
    Answer, Breaker, Call, CallPolicy, Callback, Caller, Cancel, Cause, Clock, Model, OpenAi, Outcome,
    Request, Scripted, Stop, SystemClock, Urgency,
};
use unforget_testkit::provider::{Act, Provider, openai};

/// A clock whose time passes only through waiting, or by a test's order.
#[derive(Default)]
struct Virtual {
    ms: AtomicU64,
    waits: Mutex<Vec<u64>>,
    /// Cancelled at the first wait, if set.
    cancels: Mutex<Option<Cancel>>,
}

impl Virtual {
    fn pass(&self, time: Duration) {
        self.ms.fetch_add(u64::try_from(time.as_millis()).unwrap(), Ordering::SeqCst);
    }

    fn waits(&self) -> Vec<u64> {
        self.waits.lock().unwrap().clone()
    }
}

impl Clock for Virtual {
    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.ms.load(Ordering::SeqCst))
    }

    fn time(&self) -> Timestamp {
        Timestamp(1_000_000 + i64::try_from(self.ms.load(Ordering::SeqCst)).unwrap())
    }

    fn wait(&self, time: Duration, _cancel: &Cancel) {
        self.waits.lock().unwrap().push(u64::try_from(time.as_millis()).unwrap());
        self.pass(time);
        if let Some(cancel) = &*self.cancels.lock().unwrap() {
            cancel.cancel();
        }
    }

    fn chance(&self) -> f64 {
        0.5
    }
}

struct Stage {
    clock: Arc<Virtual>,
    models: Vec<Arc<Scripted>>,
    caller: Caller,
    cancel: Cancel,
}

type Lines = Vec<Result<Answer, Cause>>;

fn stage(scripts: Vec<(&str, Lines)>) -> Stage {
    let clock = Arc::new(Virtual::default());
    let models: Vec<Arc<Scripted>> =
        scripts.into_iter().map(|(provider, lines)| Arc::new(Scripted::new(provider, "m", lines))).collect();
    let mut chain: Vec<Arc<dyn Model>> =
        models.iter().map(|model| Arc::clone(model) as Arc<dyn Model>).collect();
    let first = chain.remove(0);
    let caller = Caller::new(first, chain, CallPolicy::default(), Arc::clone(&clock) as Arc<dyn Clock>);
    Stage { clock, models, caller, cancel: Cancel::default() }
}

impl Stage {
    fn call(&self, within_s: u64) -> Outcome {
        self.call_as(within_s, Urgency::Normal, 0)
    }

    fn call_as(&self, within_s: u64, urgency: Urgency, from: usize) -> Outcome {
        let within = Duration::from_secs(within_s);
        let request = Request { system: "s", user: "u", output_tokens_max: 9, within, temperature: None };
        self.caller.call(&Call { request, from, urgency, cancel: &self.cancel })
    }

    fn heard(&self) -> Vec<usize> {
        self.models.iter().map(|model| model.heard().len()).collect()
    }

    fn breaker(&self) -> Breaker {
        self.caller.breakers().get(self.models[0].account()).copied().unwrap_or_default()
    }
}

fn server() -> Result<Answer, Cause> {
    Err(Cause::Server { retry_after: None })
}

fn limited(seconds: u64) -> Result<Answer, Cause> {
    Err(Cause::RateLimited { retry_after: Some(Duration::from_secs(seconds)) })
}

fn fine() -> Result<Answer, Cause> {
    Scripted::text("fine")
}

fn names(outcome: &Outcome) -> Vec<&'static str> {
    let name = |attempt: &unforget_llm::Attempt| match &attempt.end {
        Ok((stop, _)) => stop.name(),
        Err(cause) => cause.name(),
    };
    outcome.attempts.iter().map(name).collect()
}

/// Lines, time in seconds, names of the attempts, waits in milliseconds, why.
type RetryRow = (Lines, u64, Vec<&'static str>, Vec<u64>, &'static str);

#[test]
fn f017_retry_table() {
    let bad = || Err(Cause::BadAnswer { place: "x".into() });
    let long = || Err(Cause::TooLong { limit: None, sent: None });
    let table: Vec<RetryRow> = vec![
        (vec![fine()], 60, vec!["end"], vec![], "an answer"),
        (vec![server(), fine()], 60, vec!["server", "end"], vec![750], "one retry"),
        (
            vec![server(), Err(Cause::Broken), fine()],
            60,
            vec!["server", "broken", "end"],
            vec![750, 1_500],
            "each wait is longer",
        ),
        (
            vec![server(), server(), server()],
            60,
            vec!["server"; 3],
            vec![750, 1_500],
            "three attempts at most",
        ),
        (vec![bad(), fine()], 60, vec!["bad-answer", "end"], vec![750], "a garbled answer"),
        (
            vec![limited(20), fine()],
            60,
            vec!["rate-limited", "end"],
            vec![20_187],
            "what the provider asks for",
        ),
        (vec![limited(90)], 60, vec!["rate-limited"], vec![], "a wait beyond the time is not begun"),
        (vec![server()], 0, vec!["timeout"], vec![], "no time at all: nothing is sent"),
        (vec![long()], 60, vec!["too-long"], vec![], "the same call would fail again"),
        (vec![Err(Cause::Auth)], 60, vec!["auth"], vec![], "so would this"),
        (vec![Err(Cause::Policy)], 60, vec!["policy"], vec![], "and this"),
        (vec![Scripted::stopped("", Stop::Refusal)], 60, vec!["refusal"], vec![], "a refusal is an answer"),
    ];
    for (lines, within, ends, waits, why) in table {
        let stage = stage(vec![("a", lines)]);
        let outcome = stage.call(within);
        assert_eq!(names(&outcome), ends, "{why}");
        assert_eq!(stage.clock.waits(), waits, "{why}");
        assert_eq!(outcome.result.is_ok(), matches!(ends.last(), Some(&"end" | &"refusal")), "{why}");
    }
}

#[test]
fn the_chain_goes_on_where_one_model_does_not() {
    let stage = stage(vec![("a", vec![Err(Cause::NotFound)]), ("b", vec![server(); 3]), ("c", vec![fine()])]);
    let outcome = stage.call(60);
    assert_eq!(names(&outcome), ["not-found", "server", "server", "server", "end"]);
    let (answer, model) = outcome.result.unwrap();
    assert_eq!((answer.text.as_str(), model), ("fine", 2));
    assert_eq!(outcome.attempts.iter().map(|attempt| attempt.model).collect::<Vec<_>>(), [0, 1, 1, 1, 2]);
}

#[test]
fn a_draft_that_was_no_good_is_asked_of_the_next_model() {
    let stage = stage(vec![("a", vec![]), ("b", vec![fine(), fine()])]);
    for from in [1, 9] {
        assert_eq!(stage.call_as(60, Urgency::Normal, from).result.unwrap().1, 1);
    }
    assert_eq!(stage.heard(), [0, 2]);
}

#[test]
fn each_attempt_has_the_time_that_is_left() {
    let stage = stage(vec![("a", vec![limited(30), fine()]), ("b", vec![])]);
    stage.call(400).result.unwrap();
    let within: Vec<u64> = stage.models[0].heard().iter().map(|heard| heard.within.as_secs()).collect();
    assert_eq!(within, [120, 120], "the longest attempt");
    let stage = self::stage(vec![("a", vec![limited(30), fine()])]);
    stage.call(60).result.unwrap();
    let within: Vec<u64> = stage.models[0].heard().iter().map(|heard| heard.within.as_secs()).collect();
    assert_eq!(within, [60, 29], "what is left");
}

#[test]
fn f018_a_refused_key_stops_its_account_and_no_other() {
    let stage = stage(vec![
        ("a", vec![Err(Cause::Auth), fine()]),
        ("a", vec![]),
        ("b", vec![fine(), fine(), fine()]),
    ]);
    assert_eq!(names(&stage.call(60)), ["auth", "breaker-open", "end"]);
    stage.clock.pass(Duration::from_hours(1_000));
    let later = stage.call(60);
    assert_eq!(names(&later), ["breaker-open", "breaker-open", "end"], "for good");
    assert!(!later.attempts[0].was_made() && later.attempts[2].was_made());
    assert_eq!(stage.heard(), [1, 0, 2]);
    stage.caller.reset(stage.models[0].account());
    assert_eq!(names(&stage.call(60)), ["end"], "until somebody resets it");
}

#[test]
fn f018_the_fault_is_that_of_the_call_that_was_made() {
    let stage = stage(vec![("a", vec![Err(Cause::Auth)]), ("a", vec![])]);
    let fault = stage.call(60).result.unwrap_err();
    assert_eq!((fault.cause, fault.account.provider.as_str()), (Cause::Auth, "a"));
    assert_eq!(stage.call(60).result.unwrap_err().cause, Cause::BreakerOpen { blocked: true });
}

#[test]
fn f013_a_breaker_opens_and_tries_again() {
    let mut lines = vec![server(); 9];
    lines.extend([server(), fine(), fine()]);
    let stage = stage(vec![("a", lines)]);
    for _ in 0..3 {
        assert!(stage.call(600).result.is_err());
    }
    assert_eq!(stage.heard(), [9], "three calls of three attempts open it");
    assert_eq!(names(&stage.call(600)), ["breaker-open"]);
    stage.clock.pass(Duration::from_mins(1));
    assert_eq!(names(&stage.call(600)), ["server"], "half open: one attempt");
    stage.clock.pass(Duration::from_mins(1));
    assert_eq!(names(&stage.call(600)), ["breaker-open"], "twice as long");
    stage.clock.pass(Duration::from_mins(1));
    assert_eq!(names(&stage.call(600)), ["end"]);
    assert_eq!(stage.breaker(), Breaker::default());
}

#[test]
fn f013_a_manual_call_is_made_and_teaches_the_breaker() {
    for cause in [Cause::Auth, Cause::Payment] {
        let stage = stage(vec![("a", vec![Err(cause.clone()), Err(cause), fine(), fine()])]);
        assert!(stage.call(60).result.is_err());
        assert_eq!(names(&stage.call(60)), ["breaker-open"]);
        assert!(stage.call_as(60, Urgency::Manual, 0).result.is_err());
        assert_eq!(names(&stage.call_as(60, Urgency::Manual, 0)), ["end"]);
        assert_eq!(names(&stage.call(60)), ["end"], "the answer closed it");
    }
}

#[test]
fn breakers_outlive_the_process() {
    let before = stage(vec![("a", vec![Err(Cause::Auth)])]);
    assert!(before.call(60).result.is_err());
    let stored: Vec<_> = before
        .caller
        .breakers()
        .into_iter()
        .map(|(account, breaker)| (account, breaker.to_string()))
        .collect();
    let after = stage(vec![("a", vec![fine()])]);
    let breakers = stored.into_iter().map(|(account, text)| (account, text.parse().unwrap())).collect();
    let Stage { clock, models, caller, cancel } = after;
    let after = Stage { clock, models, caller: caller.with_breakers(breakers), cancel };
    assert_eq!(names(&after.call(60)), ["breaker-open"]);
}

#[test]
fn a_cancelled_call_makes_no_more_attempts() {
    let stage = stage(vec![("a", vec![server(), fine()]), ("b", vec![fine()])]);
    *stage.clock.cancels.lock().unwrap() = Some(stage.cancel.clone());
    assert_eq!(stage.call(60).result.unwrap_err().cause, Cause::Cancelled);
    assert_eq!(stage.heard(), [1, 0]);
    assert_eq!(stage.call(60).result.unwrap_err().cause, Cause::Cancelled, "for good");
    assert_eq!(stage.heard(), [1, 0]);
}

#[test]
fn an_answer_that_comes_after_the_cancellation_is_dropped() {
    let cancel = Cancel::default();
    let inner = cancel.clone();
    let host = Callback::new("host:test", "m", move |_: &Request<'_>| {
        inner.cancel();
        fine()
    });
    let caller = Caller::new(Arc::new(host), vec![], CallPolicy::default(), Arc::new(Virtual::default()));
    let request = common::request(60_000);
    let outcome = caller.call(&Call { request, from: 0, urgency: Urgency::Normal, cancel: &cancel });
    assert_eq!(outcome.result.unwrap_err().cause, Cause::Cancelled);
}

#[test]
fn calls_at_one_provider_are_limited() {
    let (open, most) = (AtomicU64::new(0), Arc::new(AtomicU64::new(0)));
    let seen = Arc::clone(&most);
    let host = Callback::new("host:test", "m", move |_: &Request<'_>| {
        seen.fetch_max(open.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        for _ in 0..1_000 {
            std::thread::yield_now();
        }
        open.fetch_sub(1, Ordering::SeqCst);
        fine()
    });
    let caller = Caller::new(Arc::new(host), vec![], CallPolicy::default(), Arc::new(SystemClock::new()));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                let (request, cancel) = (common::request(60_000), Cancel::default());
                let call = Call { request, from: 0, urgency: Urgency::Normal, cancel: &cancel };
                caller.call(&call).result.unwrap()
            });
        }
    });
    assert!((1..=2).contains(&most.load(Ordering::SeqCst)), "{most:?} at once");
}

#[test]
fn a_real_provider_that_recovers() {
    let limited = openai::error(429, "requests", "rate_limit_exceeded", "Rate limit reached");
    let provider = Provider::start([Act::Reply(limited.with("retry-after", "30")), openai::text("fine")]);
    let model: Arc<dyn Model> = Arc::new(OpenAi::new(common::endpoint(&provider)).unwrap());
    let clock = Arc::new(Virtual::default());
    let caller = Caller::new(model, vec![], CallPolicy::default(), Arc::clone(&clock) as Arc<dyn Clock>);
    let (request, cancel) = (common::request(300_000), Cancel::default());
    let outcome = caller.call(&Call { request, from: 0, urgency: Urgency::Normal, cancel: &cancel });
    assert_eq!(outcome.result.unwrap().0.text, "fine");
    assert_eq!(clock.waits(), [30_187]);
}

fn any_line() -> impl Strategy<Value = Result<Answer, Cause>> {
    prop_oneof![
        Just(server()),
        (0u64..4_000).prop_map(limited),
        Just(Err(Cause::Timeout)),
        Just(Err(Cause::Auth)),
        Just(Err(Cause::Invalid)),
        Just(fine()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]
    /// For any behaviour of the models, a call waits no longer than its time limit, and calls each model no more often
    /// than allowed.
    #[test]
    fn f012_f017_calls_and_waits_are_bounded(
        scripts in proptest::collection::vec(proptest::collection::vec(any_line(), 0..6), 1..4),
        within in 0u64..300,
        calls in 1usize..5,
    ) {
        let count = scripts.len();
        let stage = stage(scripts.into_iter().map(|lines| ("a", lines)).collect());
        for _ in 0..calls {
            let (start, before) = (stage.clock.elapsed(), stage.heard().iter().sum::<usize>());
            let outcome = stage.call(within);
            prop_assert!(stage.clock.elapsed() <= start + Duration::from_secs(within));
            let made = outcome.attempts.iter().filter(|attempt| attempt.was_made()).count();
            let sent = stage.heard().iter().sum::<usize>() - before;
            // Without time left an attempt ends before anything is sent.
            prop_assert!(sent <= made && made <= 3 * count);
        }
    }
}
