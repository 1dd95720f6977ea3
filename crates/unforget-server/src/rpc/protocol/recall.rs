//! Parameters of recall, and `classify`. The answers of recall are those of [`crate::json`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unforget_wire::refusal;

use crate::json::RoleJson;

/// Parameters of `search`. The scope is the call's lane, or else `conversation`, or else everything.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SearchParams {
    /// Words, names, questions: any text.
    pub query: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Only entries of this role.
    #[serde(default)]
    pub role: Option<RoleJson>,
    /// Only calls and results of this tool.
    #[serde(default)]
    pub tool: Option<String>,
    /// Only entries from this time on, in ms since 1970.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// Only entries before this time, in ms since 1970.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Most results; by default 10, or as many as `budget` holds.
    #[serde(default)]
    pub limit: Option<usize>,
    /// Most tokens of all result texts together.
    #[serde(default)]
    pub budget: Option<u64>,
}

/// Parameters of `grep`, with the scope of `search`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GrepParams {
    /// A regular expression; linear time, no look-around.
    pub pattern: String,
    /// Takes the pattern literally.
    #[serde(default)]
    pub is_literal: bool,
    /// Ignores case.
    #[serde(default)]
    pub ignore_case: bool,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Only entries of this role.
    #[serde(default)]
    pub role: Option<RoleJson>,
    /// Only entries from this time on, in ms since 1970.
    #[serde(default)]
    pub since_ms: Option<i64>,
    /// Only entries before this time, in ms since 1970.
    #[serde(default)]
    pub until_ms: Option<i64>,
    /// Most matches; by default 100.
    #[serde(default)]
    pub limit: Option<usize>,
}

/// Parameters of `describe`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DescribeParams {
    /// `s:12`, `s:12-40` in the lane; `e:KEY:12`, of other conversations only without a scope; `sum:…` a summary.
    pub name: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
}

/// Parameters of `expand`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpandParams {
    /// A name as for `describe`.
    pub name: String,
    /// Key of a conversation.
    #[serde(default)]
    pub conversation: Option<String>,
    /// Tokens of a page.
    #[serde(default)]
    pub page_tokens: Option<u64>,
    /// `next` of the previous page.
    #[serde(default)]
    pub cursor: Option<String>,
    /// Whether items include their record as received.
    #[serde(default)]
    pub raw: bool,
}

/// Response headers that describe a refusal.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", default)]
pub struct Headers {
    /// Delay in seconds.
    pub retry_after: Option<String>,
    /// Delay in milliseconds.
    pub retry_after_ms: Option<String>,
    /// Error type of AWS.
    pub x_amzn_errortype: Option<String>,
}

/// Parameters of `classify`.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ClassifyParams {
    /// The HTTP status; none if there was no response.
    pub status: Option<u16>,
    /// The relevant headers.
    pub headers: Headers,
    /// The decompressed body; for a stream, its end.
    pub body: String,
    /// The answering provider.
    pub provider: Option<String>,
}

/// Answer of `classify`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Classified {
    /// Whether the reply is a refusal.
    pub is_refusal: bool,
    /// The kind: `overflow`, `suspected-overflow`, `output`, `rate-limited`, `overloaded`, `auth`, `quota`,
    /// `bad-image`, `tool-pairing`, `invalid`, `not-found`, `policy`, `server`, `network`, `unknown`.
    pub refusal: Option<&'static str>,
    /// The limit that the provider named.
    pub limit: Option<u64>,
    /// The size of the request by the provider's count.
    pub sent: Option<u64>,
    /// Delay that the provider requests.
    pub retry_after_ms: Option<u64>,
    /// Whether a smaller prompt can help.
    pub shrinking_helps: bool,
}

impl From<Option<refusal::Refusal>> for Classified {
    fn from(refusal: Option<refusal::Refusal>) -> Self {
        use refusal::Refusal;
        let Some(refusal) = refusal else { return Self::default() };
        let (limit, sent) = match &refusal {
            Refusal::Overflow(overflow) => (overflow.limit, overflow.sent),
            Refusal::Output { limit, asked } => (*limit, *asked),
            Refusal::RateLimited { largest, .. } => (*largest, None),
            _ => (None, None),
        };
        let wait = match &refusal {
            Refusal::RateLimited { retry_after, .. }
            | Refusal::Overloaded { retry_after }
            | Refusal::Server { retry_after } => *retry_after,
            _ => None,
        };
        Self {
            is_refusal: true,
            refusal: Some(refusal.name()),
            limit,
            sent,
            retry_after_ms: wait.map(|wait| u64::try_from(wait.as_millis()).unwrap_or(u64::MAX)),
            shrinking_helps: matches!(refusal, Refusal::Overflow(_) | Refusal::SuspectedOverflow),
        }
    }
}
