//! Integration tests of `unforget-wire`, one binary: each module is one subject.

#![allow(
    clippy::format_push_string,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::too_many_lines,
    clippy::unwrap_used,
    reason = "tests"
)]

mod dialect_limits;
mod dialect_models;
mod dialect_real;
mod dialect_render;
mod dialect_strings;
mod dialect_validate;
mod exchange_annotations;
mod exchange_answer;
mod exchange_call;
mod exchange_fault;
mod exchange_join;
mod exchange_sse;
mod exchange_standing;
mod format_responses;
mod formats_data;
mod formats_hostile;
mod formats_hosts;
mod formats_rows;
mod formats_sdks;
mod formats_table;
mod reader_claude;
mod reader_pi;
mod reader_pieces;
mod reader_properties;
mod reader_real;
mod refusals;
mod refusals_real;
mod resumable;
mod support;
mod wire_rules;
