//! Runs seeds, and minimises failures.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::step::{Plan, plan};
use crate::world::World;

/// Most runs for minimising a failure.
const TRIES: usize = 400;

/// A seed that breaks a promise.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The seed.
    pub seed: u64,
    /// The broken promise, and its step.
    pub what: String,
    /// The steps in words, as few as possible.
    pub story: Vec<String>,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.what)?;
        for line in &self.story {
            writeln!(f, "  {line}")?;
        }
        write!(
            f,
            "UNFORGET_SEED={} UNFORGET_CASES=1 cargo test -p unforget-sim --test sim seeds -- --nocapture",
            self.seed
        )
    }
}

/// Runs one seed. `None` if all promises hold.
pub fn run(seed: u64) -> Option<Failure> {
    let mut plan = plan(seed);
    let mut found = play(&plan)?;
    let mut tries = 0;
    let mut size = plan.steps.len();
    while size > 0 && tries < TRIES {
        let mut at = 0;
        while at < plan.steps.len() && tries < TRIES {
            let mut shorter = plan.clone();
            shorter.steps.drain(at..(at + size).min(plan.steps.len()));
            tries += 1;
            match play(&shorter) {
                Some(same) if kind(&same.0) == kind(&found.0) => (plan, found) = (shorter, same),
                _ => at += size,
            }
        }
        size /= 2;
    }
    Some(Failure { seed, what: found.0, story: found.1 })
}

/// The promise that one seed breaks, without minimising.
pub fn broken(seed: u64) -> Option<String> {
    play(&plan(seed)).map(|(what, _)| what)
}

/// The failing seeds of a range with their broken promises, until `stop` are found.
pub fn all_broken(seeds: std::ops::Range<u64>, stop: usize) -> BTreeMap<u64, String> {
    let next = AtomicU64::new(seeds.start);
    let found: Mutex<BTreeMap<u64, String>> = Mutex::default();
    everywhere(&|| {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.end || found.lock().unwrap().len() >= stop {
            return false;
        }
        if let Some(what) = broken(seed) {
            found.lock().unwrap().insert(seed, what);
        }
        true
    });
    found.into_inner().unwrap()
}

/// Runs a function on all processors until it returns false.
fn everywhere(act: &(dyn Fn() -> bool + Sync)) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| while act() {});
        }
    });
}

/// Runs seeds on all processors until `stop` failures are found. Returns them, by seed.
pub fn seeds(from: u64, count: u64, stop: usize) -> Vec<Failure> {
    let next = AtomicU64::new(from);
    let found: Mutex<Vec<Failure>> = Mutex::default();
    everywhere(&|| {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= from + count || found.lock().unwrap().len() >= stop {
            return false;
        }
        if let Some(failure) = run(seed) {
            found.lock().unwrap().push(failure);
        }
        true
    });
    let mut found = found.into_inner().unwrap();
    found.sort_by_key(|failure| failure.seed);
    found
}

/// The broken promise: the text before the first colon.
fn kind(what: &str) -> &str {
    what.split(':').next().unwrap_or_default()
}

fn play(plan: &Plan) -> Option<(String, Vec<String>)> {
    let mut world = World::new(plan);
    for step in &plan.steps {
        let outcome = catch_unwind(AssertUnwindSafe(|| world.step(*step)));
        let what = match outcome {
            Ok(Ok(())) => continue,
            Ok(Err(what)) => what,
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
                format!("panic: {}", text.unwrap_or_default())
            }
        };
        return Some((what, std::mem::take(&mut world.story)));
    }
    None
}
