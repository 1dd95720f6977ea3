//! The served APIs, and their paths.

use unforget_wire::Dialect;

/// The API of an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Anthropic's API.
    Anthropic,
    /// OpenAI's API, Chat Completions and Responses.
    OpenAi,
    /// All served APIs: another gateway or router.
    Any,
}

impl Api {
    /// The API of a call.
    pub(super) fn of(dialect: Dialect) -> Self {
        if dialect == Dialect::Anthropic { Self::Anthropic } else { Self::OpenAi }
    }
}

/// A path without its version, which some base URLs contain and some clients add.
pub(super) fn of_api(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.strip_prefix("/v1").filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}
