//! The engine for other processes: calls in, answers out.
//!
//! [`rpc`] is the contract of [`unforget_engine::host`] as JSON-RPC 2.0, described in `docs/protocol.md`. [`api`] is
//! the HTTP API, described in `docs/http-api.md`. [`mcp`] is recall for MCP clients, described in `docs/mcp.md`. This
//! crate decides nothing about histories: it reads calls, keeps their order, and writes answers.
//!
//! # Modules
//!
//! The engine contract as JSON-RPC 2.0, described in docs/protocol.md. `rpc/protocol/*` (what goes over the wire, as
//! types; the JSON Schema is made from them), `rpc/frame` (bounded lines, one call each), `rpc/queue` (calls of one lane in order,
//! lanes beside each other, deadlines, cancellation), `rpc/array` (message arrays as deltas), `rpc/verbs`, `rpc/recall`, `rpc/file` (verbs carried
//! out), `rpc/own` (the host's own model, asked over its connection), `rpc/spelling` (shared answers in camelCase), `rpc/connection`, `rpc/socket` (stdio and Unix sockets). It decides nothing about histories.
//!
//! `serve/*`: the daemon, and who may ask.
//!
//! Recall for MCP clients, described in docs/mcp.md: `mcp/tools` (one table: what clients are told, and what checks their arguments),
//! `mcp/calls` (carried out), `mcp/page`, `mcp/show` (as text and JSON, a page at a time), `mcp/resources` (conversations and entries by address),
//! `mcp/scope` (what a client may read), `mcp/trouble` (failures for a model), `mcp/handler` (the protocol, by the official SDK).
//!
//! The HTTP API, described in docs/http-api.md and docs/openapi.json, which is made from its types: `api/conversations`, `api/prompts`, `api/pins`, `api/recall`, `api/whole`,
//! `api/purge` (routes, by what they are about), `api/imports`, `api/tasks` (uploads, and work that outlives its request), `api/events` (what changes, as it changes), `api/scope` (whose
//! request it is), `api/problem`, `api/asked`, `api/page`, `api/tag`, `api/metrics`. Shared by all protocols and the command line: `json/*` (the shape of every
//! answer, once), `when` (times as people write and read them), `failed` (the kinds of failures, with status, advice and who has to fix them) `play_cache` (played sessions, kept for the next question) and `work` (what models are asked to do for a person, its figures and log).

pub mod api;
pub mod failed;
pub mod json;
pub mod mcp;
pub mod play_cache;
pub mod price;
pub mod rpc;
pub mod serve;
pub mod when;
pub mod work;
