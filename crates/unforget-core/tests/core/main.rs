//! Integration tests of `unforget-core`, one binary: each module is one subject.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests"
)]

mod estimate;
