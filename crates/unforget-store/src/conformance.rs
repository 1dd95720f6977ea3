//! The suite that every implementation of the port passes: one check per sentence of the contract.
//!
//! ```ignore
//! unforget_store::conformance::check_all(&|| Box::new(MyStore::new()));
//! ```
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::single_range_in_vec_init,
    reason = "a suite of assertions: it may only be used by tests"
)]

mod checks;
mod derived;
mod desk;
mod observe;
mod pages;
mod purge;
mod scans;
mod tape;
mod together;

pub use observe::observe;
pub use tape::{Step, Tape, entry, opening, play, snapshot, steps, summary};

use crate::port::Store;

/// Runs every check, each on a fresh store.
///
/// * `make` - creates an empty store.
pub fn check_all(make: &dyn Fn() -> Box<dyn Store>) {
    let scans: checks::Check = ("a scan sees all bytes", scans::scans_see_all);
    for (name, check) in checks::ALL.iter().chain([&scans]) {
        println!("conformance: {name}");
        check(make().as_ref());
    }
}
