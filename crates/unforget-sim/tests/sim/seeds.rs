//! The seeds of every build, overridden by `UNFORGET_CASES` and `UNFORGET_SEED`.
use unforget_sim::{all_broken, run};

/// Number of failures reported in full.
const TOLD: usize = 40;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn no_seed_breaks_a_promise() {
    let from = number("UNFORGET_SEED").unwrap_or(0);
    let count = number("UNFORGET_CASES").unwrap_or(20_000);
    let stop = number("UNFORGET_STOP").unwrap_or(1) as usize;
    let start = std::time::Instant::now();
    let found = all_broken(from..from + count, stop);
    println!("{count} seeds from {from} in {:.1} s", start.elapsed().as_secs_f64());
    println!("broken: {:?}", found.keys().collect::<Vec<_>>());
    for failure in found.keys().take(TOLD).filter_map(|seed| run(*seed)) {
        println!("\nseed {}: {failure}", failure.seed);
    }
    assert!(found.is_empty(), "{} seeds break a promise", found.len());
}
