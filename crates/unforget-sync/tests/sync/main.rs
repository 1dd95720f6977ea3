//! Histories on several machines: by a folder, and by a pipe.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod folder;
mod machine;
mod pipe;
mod random;
mod sayings;
