//! The engine for other processes: calls in, answers out.
//!
//! [`rpc`] is the contract of [`unforget_engine::host`] as JSON-RPC 2.0, described in `docs/protocol.md`. [`api`] is
//! the HTTP API, described in `docs/http-api.md`. [`mcp`] is recall for MCP clients, described in `docs/mcp.md`. This
//! crate decides nothing about histories: it reads calls, keeps their order, and writes answers.

pub mod api;
pub mod failed;
pub mod json;
pub mod mcp;
pub mod rpc;
pub mod serve;
pub mod work;
