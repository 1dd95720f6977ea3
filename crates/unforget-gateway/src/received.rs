//! A call as its client sent it.

use axum::body::Bytes;
use unforget_wire::{Dialect, Format};

/// The relevant parts of a client's request.
#[derive(Clone, Debug)]
pub(super) struct ReceivedCall {
    pub(super) dialect: Dialect,
    pub(super) tenant: String,
    /// The conversation, if the client names one to us.
    pub(super) named: Option<String>,
    /// The client's session, if a header names one.
    pub(super) session: Option<String>,
    /// Digest of the client's key: another key means another caller.
    pub(super) caller: String,
    /// Requested beta features of Anthropic's API, such as larger windows.
    pub(super) betas: String,
    /// The body, uncompressed.
    pub(super) body: Bytes,
}

/// The message form of a dialect.
pub(super) fn form(dialect: Dialect) -> Format {
    dialect.form().unwrap_or(Format::OpenAiChat)
}
