//! Parameters about entries that people put back. The list of spans is that of [`crate::json`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `raise`.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct RaiseParams {
    /// An entry or a span: `120`, or `s:120-130`.
    pub entries: String,
    /// Who decides.
    #[serde(default)]
    pub author: Option<String>,
}

/// Parameters of `lower`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct LowerParams {
    /// Number of the decision.
    pub raised: u64,
}

/// Answer of `raise` and `lower`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct RaisedAnswer {
    /// Number of the decision.
    pub raised: u64,
}
