//! The seeds of every build; `UNFORGET_CASES` and `UNFORGET_SEED` say otherwise.
#![allow(clippy::panic, clippy::print_stdout, reason = "tests")]

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn no_seed_breaks_a_promise() {
    let (from, count) = (number("UNFORGET_SEED").unwrap_or(0), number("UNFORGET_CASES").unwrap_or(20_000));
    let stop = number("UNFORGET_STOP").unwrap_or(1) as usize;
    let start = std::time::Instant::now();
    let found = unforget_sim::seeds(from, count, stop);
    println!("{count} seeds from {from} in {:.1} s", start.elapsed().as_secs_f64());
    for failure in &found {
        println!("\nseed {}: {failure}", failure.seed);
    }
    assert!(found.is_empty(), "{} seeds break a promise", found.len());
}
