//! The seeds of every build; `UNFORGET_CASES` and `UNFORGET_SEED` say otherwise.
#![allow(clippy::panic, clippy::print_stdout, reason = "tests")]

use std::collections::BTreeMap;

use unforget_sim::{OPEN, all_broken, run};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|value| value.parse().ok())
}

#[test]
fn no_seed_breaks_a_promise() {
    let one = number("UNFORGET_SEED");
    let (from, count) = (one.unwrap_or(0), number("UNFORGET_CASES").unwrap_or(20_000));
    // A seed that is asked for is told, known or not.
    let open = if one.is_some() { &[][..] } else { OPEN };
    let known: BTreeMap<u64, String> = open.iter().map(|seed| (*seed, String::new())).collect();
    let stop = number("UNFORGET_STOP").unwrap_or(1) as usize;
    let start = std::time::Instant::now();
    let found = all_broken(from..from + count, stop, &known);
    println!(
        "{count} seeds from {from} in {:.1} s; {} known to be broken",
        start.elapsed().as_secs_f64(),
        known.len()
    );
    println!("broken: {:?}", found.keys().collect::<Vec<_>>());
    for failure in found.keys().take(40).filter_map(|seed| run(*seed)) {
        println!("\nseed {}: {failure}", failure.seed);
    }
    assert!(found.is_empty(), "{} seeds break a promise", found.len());
}
