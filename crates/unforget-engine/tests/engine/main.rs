//! Integration tests of `unforget-engine`, one binary: each module is one subject.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::option_option,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unnecessary_wraps,
    clippy::unwrap_used,
    reason = "tests"
)]

mod common;
mod host_calls;
mod host_chained;
mod host_clock;
mod host_forks;
mod host_late;
mod host_lifecycle;
mod host_media;
mod host_recipes;
mod host_responses;
mod host_restarts;
mod host_seeds;
mod host_shared;
mod host_signatures;
mod host_traces;
mod import_data;
mod import_databases;
mod import_gemini;
mod import_plans;
mod import_sessions;
mod left;
mod meaning;
mod migrate;
mod prompt_cold;
mod prompt_host_words;
mod prompt_hostile;
mod prompt_ledger;
mod prompt_pin_files;
mod prompt_pins;
mod prompt_provisional;
mod prompt_raised;
mod prompt_room;
mod prompt_verdicts;
mod recall_answer_model;
mod recall_answer_named;
mod recall_answers;
mod recall_copies;
mod replay_data;
mod replay_host;
mod summarise_common;
mod summarise_failures;
mod summarise_providers;
mod summarise_work;
mod trust_purge;
mod trust_seals;
mod trust_store;
