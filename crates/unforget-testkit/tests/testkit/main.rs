//! Integration tests of `unforget-testkit`, one binary: each module is one subject.

#![allow(clippy::indexing_slicing, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod formats;
