//! Breaks happen when they cost nothing: after the provider's cache has expired.
use crate::common;

use std::sync::Arc;

use unforget_core::compact::Pressure;
use unforget_core::entry::{Entry, Origin, Part, Role};
use unforget_core::id::{Seq, Thread, Timestamp};
use unforget_core::policy::Policy;
use unforget_engine::Engine;
use unforget_engine::prompt::{Cause, Prompt, Region, Session, Shape, ThreadRef};
use unforget_engine::replay::{Prices, RecordedHost, ReplayOptions, Report, replay};
use unforget_wire::{Dialect, Reader};

const MINUTE: i64 = 60_000;

/// A conversation of questions and answers, with a clock under the control of the test.
struct Talk {
    session: Session,
    now: i64,
    seq: u64,
}

impl Talk {
    fn new(dialect: Dialect) -> Self {
        Self::within(8_192, dialect, false)
    }

    fn within(window: u64, dialect: Dialect, persist: bool) -> Self {
        let engine = Engine::in_memory();
        let text = common::Session::new("cold").says("a").text();
        let mut host = RecordedHost::begin(&engine, Reader::open(text.as_bytes()).unwrap().source(), None);
        let lane = ThreadRef { conversation: host.open().unwrap(), thread: Thread(0) };
        let shape = Shape::new(window, None, dialect);
        Self { session: Session::new(&engine, lane, shape, persist), now: 0, seq: 0 }
    }

    fn say(&mut self, role: Role) {
        let origin = if role == Role::User { Origin::Human } else { Origin::Model };
        let words = format!("words of entry {} about the lighthouse ", self.seq).repeat(12);
        let time = Some(Timestamp(self.now));
        let entry = Entry { role, parts: vec![Part::Text(words)], time, ..Entry::bare(origin) };
        let parent = self.seq.checked_sub(1).map(Seq);
        self.session.push(Seq(self.seq), parent, &Arc::new(entry), 140).unwrap();
        self.seq += 1;
    }

    /// A person speaks `after` the last answer, and the model answers at once. Returns the prompt in between.
    fn turn(&mut self, after: i64) -> Prompt {
        self.now += after;
        self.say(Role::User);
        let prompt = self.session.prompt().unwrap();
        self.say(Role::Assistant);
        prompt
    }

    /// Continues with one turn per minute until the prompt begins to fill up.
    fn until_soft(&mut self) {
        while self.session.pressure() < Pressure::Soft {
            let prompt = self.turn(MINUTE);
            assert!(prompt.epoch == 0, "nothing breaks yet");
        }
    }
}

#[test]
fn a_prompt_that_fills_up_breaks_when_the_cache_has_run_out() {
    let table = [
        // dialect, minutes, breaks, reason
        (Dialect::Anthropic, 4, false, "five minutes are not over"),
        (Dialect::Anthropic, 6, true, "five minutes are over"),
        (Dialect::OpenAiChat, 6, false, "an hour is not over"),
        (Dialect::OpenAiChat, 61, true, "an hour is over"),
        (Dialect::Anthropic, -600, false, "a clock that goes back: no time passed"),
    ];
    for (dialect, minutes, breaks, why) in table {
        let mut talk = Talk::new(dialect);
        talk.until_soft();
        let before = talk.session.measure().expected;
        let prompt = talk.turn(minutes * MINUTE);
        let broken = prompt.broken.map(|broken| (broken.cause, broken.region, broken.rebilled, broken.hit));
        assert_eq!(broken, breaks.then_some((Cause::Compaction, Region::Tail, 0, 0)), "{why}");
        assert_eq!(talk.session.pressure() == Pressure::Calm, breaks, "{why}");
        assert_eq!(prompt.admitted.certificate().total.expected < before, breaks, "{why}");
        if breaks {
            assert_eq!(talk.turn(MINUTE).broken, None, "and then it only grows: {why}");
        }
    }
}

#[test]
fn a_warm_cache_waits_until_the_prompt_is_full_and_then_says_what_it_costs() {
    let mut talk = Talk::new(Dialect::Anthropic);
    talk.until_soft();
    let broken = loop {
        let before = talk.session.measure();
        let prompt = talk.turn(MINUTE);
        if let Some(broken) = prompt.broken {
            let policy = talk.session.shape().policy;
            let hard = policy.share(policy.hard_permille);
            let is_full = before.expected + 400 > hard || before.upper + 500 > policy.budget();
            assert!(is_full, "not before it is full: {before:?} of {policy:?}: {broken:?}");
            break broken;
        }
    };
    assert_eq!(broken.cause, Cause::Compaction);
    assert!(broken.rebilled > 4_000 && broken.hit < 100, "{broken:?}");
}

#[test]
fn a_break_finds_its_summaries_made() {
    let table = [(1, "it breaks when it is full"), (6, "it breaks when the cache has run out")];
    for (minutes, why) in table {
        let mut talk = Talk::within(32_768, Dialect::Anthropic, true);
        let mut breaks = 0;
        while breaks < 4 {
            let before = talk.session.counters();
            talk.turn(minutes * MINUTE);
            let after = talk.session.counters();
            let made = after.leaves + after.merges - before.leaves - before.merges;
            if after.breaks > before.breaks {
                breaks += 1;
                // A leaf that became due with the break itself, and its merge.
                assert!(made <= 2, "{why}: break {breaks} makes {made}");
            } else {
                assert!(made <= 1, "one before each prompt, not {made}: {why}");
            }
            assert_eq!(after.summaries_reused, 0, "none is made twice: {why}");
        }
    }
}

/// Replays a recorded session of the data folder, with and without regard to the cache.
fn replayed(path: &std::path::Path, window: u64, ttl: u64) -> Option<Report> {
    let mut shape = Shape::new(window, None, Dialect::Anthropic);
    shape.policy = Policy { cache_ttl_ms: ttl, ..shape.policy };
    let prices = Prices { input: 3.0, write: 1.25, read: 0.1, cache_ttl_ms: 300_000 };
    let options = ReplayOptions { shape, model: None, prices, provider: None, validate: false, facts: 0 };
    replay(&Engine::in_memory(), path, &options, &mut |_, _, _| ()).ok()
}

#[test]
fn looking_at_the_cache_does_not_cost_more_on_recorded_sessions() {
    let Some(folder) = common::data() else { return };
    let (mut looking, mut blind, mut cold) = (0.0, 0.0, 0);
    let is_large = |path: &std::path::PathBuf| path.metadata().is_ok_and(|meta| meta.len() > 900_000);
    for path in
        common::files_below(&folder.join("claude-code-entire-cli")).iter().filter(|path| is_large(path))
    {
        let (Some(with), Some(without)) = (replayed(path, 32_768, 300_000), replayed(path, 32_768, u64::MAX))
        else {
            continue;
        };
        looking += with.ours.cost;
        blind += without.ours.cost;
        let of_cause = |report: &Report| {
            report.breaks.iter().filter(|b| b.cause == Cause::Compaction).map(|b| b.cold).sum::<u64>()
        };
        cold += of_cause(&with);
    }
    eprintln!("cost {looking:.2} looking at the cache, {blind:.2} without; {cold} breaks with a cold cache");
    assert!(cold > 0 && looking <= blind * 1.01, "{looking} {blind} {cold}");
}
