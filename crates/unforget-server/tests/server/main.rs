//! Integration tests of `unforget-server`, one binary: each module is one subject.

#![allow(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests"
)]

mod api;
mod api_models;
mod mcp;
mod mcp_common;
mod mcp_http;
mod mcp_scope;
mod own_model;
mod protocol_doc;
mod rpc;
mod support;
