//! Parameters of pins. The list of pins is that of [`crate::json`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Parameters of `pin`: words, an entry, or both.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
pub struct PinParams {
    /// The words, verbatim. Without them, those of the entry.
    #[serde(default)]
    pub text: Option<String>,
    /// The entry that they come from: `s:12`.
    #[serde(default)]
    pub entry: Option<String>,
    /// Number of the pin whose place they take.
    #[serde(default)]
    pub supersedes: Option<u64>,
}

/// Parameters of `unpin`.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub struct UnpinParams {
    /// Number of the pin.
    pub pin: u64,
}

/// Parameters of `pins`.
#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
pub struct PinsParams {
    /// Whether sentences that a person may want to pin are looked for: reads all of the history.
    #[serde(default)]
    pub proposals: bool,
}

/// Answer of `pin` and `unpin`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct PinAnswer {
    /// Number of the pin.
    pub pin: u64,
}
