//! Mutants: defects put back one at a time; the simulator has to catch every one of them.
#![cfg(debug_assertions)]

use std::process::Command;

use unforget_core::mutants::{self, Bug};

/// Most seeds until a defect has to show.
const SEEDS: u64 = 3_000;

/// Most seeds until a defect shows that few histories meet.
const SEEDS_SELDOM: u64 = 20_000;

/// Not shown by the simulator: another process never stores a name alone in it. A test of the engine does,
/// `names_that_another_host_added_are_noticed`.
const UNSEEN: [Bug; 1] = [Bug::EmptyNameCached];

/// Set in the process whose rules have defects.
const CHILD: &str = "UNFORGET_TEST_MUTANTS";

/// A defect is active in the whole process, so a process without other tests looks for them.
#[test]
fn every_defect_that_is_put_back_is_caught() {
    if std::env::var_os(CHILD).is_some() {
        return catch_all();
    }
    let this = std::env::current_exe().unwrap();
    let name = "mutants::every_defect_that_is_put_back_is_caught";
    let output = Command::new(this).args(["--exact", name, "--nocapture"]).env(CHILD, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let failed = String::from_utf8_lossy(&output.stderr);
    println!("{said}");
    assert!(output.status.success(), "{said}\n{failed}");
    assert!(said.contains("1 passed"), "the process ran another test: {said}");
}

fn catch_all() {
    let only = std::env::var("UNFORGET_BUG").ok();
    mutants::set(None);
    let clean = unforget_sim::all_broken(0..SEEDS, usize::MAX);
    assert!(clean.is_empty(), "without a defect, these are broken: {clean:#?}");
    let mut missed = Vec::new();
    for bug in Bug::ALL {
        let is_wanted = only.as_ref().is_none_or(|only| *only == format!("{bug:?}"));
        if !is_wanted || UNSEEN.contains(&bug) {
            continue;
        }
        mutants::set(Some(bug));
        let mut found = unforget_sim::all_broken(0..SEEDS, 1);
        if found.is_empty() {
            found = unforget_sim::all_broken(SEEDS..SEEDS_SELDOM, 1);
        }
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
