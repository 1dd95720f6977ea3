//! Integration tests of `unforget-recall`, one binary: each module is one subject.

#![allow(clippy::indexing_slicing, clippy::print_stderr, clippy::unwrap_used, reason = "tests")]

mod locomo;
mod support;
