//! Mutants: defects put back one at a time; the simulator has to catch every one of them.
#![cfg(feature = "mutants")]
use unforget_core::mutants::{self, Bug};

/// Most seeds until a defect has to show.
const SEEDS: u64 = 3_000;

#[test]
fn every_defect_that_is_put_back_is_caught() {
    let only = std::env::var("UNFORGET_BUG").ok();
    mutants::set(None);
    let clean = unforget_sim::all_broken(0..SEEDS, usize::MAX);
    assert!(clean.is_empty(), "without a defect, these are broken: {clean:#?}");
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        if only.as_ref().is_some_and(|only| *only != format!("{bug:?}")) {
            continue;
        }
        mutants::set(Some(bug));
        let found = unforget_sim::all_broken(0..SEEDS, 1);
        mutants::set(None);
        match found.first_key_value() {
            Some((seed, what)) => {
                let what: String = what.chars().take(60).filter(|c| !c.is_control()).collect();
                println!("{bug:?}: seed {seed} says {what}");
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "nothing catches {missed:?}");
}
