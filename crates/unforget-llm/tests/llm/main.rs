//! Integration tests of `unforget-llm`, one binary: each module is one subject.

#![allow(clippy::indexing_slicing, clippy::unwrap_used, reason = "tests")]

mod caller;
mod command;
mod common;
mod embed;
mod embed_local;
mod http;
mod work;
