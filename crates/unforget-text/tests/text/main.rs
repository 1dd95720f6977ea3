//! Integration tests of `unforget-text`, one binary: each module is one subject.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "tests"
)]

mod common;
mod describe;
mod gate;
mod gate_data;
mod ledger_data;
mod person;
mod reading;
mod state;
mod story;
