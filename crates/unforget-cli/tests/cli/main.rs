//! Integration tests of `unforget-cli`, one binary: each module is one subject.

#![allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests"
)]

mod bench;
mod crash;
mod daemon;
mod disk_full;
mod engine_rpc;
mod evidence;
mod give_back;
mod guard;
mod hostile;
mod keep;
mod label;
mod ledger;
mod left;
mod look;
mod mcp;
mod meaning;
mod memory;
mod migrate;
mod models;
mod newcomer;
mod nodes;
mod output;
mod pins;
#[cfg(unix)]
mod postgres;
mod prompt;
mod readme;
mod run;
mod serve;
mod serve_full;
mod serve_killed;
mod serve_models;
mod serve_traces;
mod sessions;
mod setup;
mod store;
mod support;
mod sync;
mod travel;
mod tui;
mod uncompact;
mod usage;
