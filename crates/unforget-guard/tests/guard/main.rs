//! Integration tests of `unforget-guard`, one binary: each module is one subject.

#![allow(
    clippy::format_push_string,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests"
)]

mod crash;
mod data;
mod files;
mod guard_common;
