//! Integration tests of `unforget-sim`, one binary: each module is one subject.

#![allow(
    clippy::indexing_slicing,
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests"
)]

mod callers;
mod forks;
mod mutants;
mod seeds;
