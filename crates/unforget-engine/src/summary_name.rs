//! The names of summaries.

use unforget_store::SummaryKey;

/// The name of a summary in prompts: `sum:`, grain, level and 12 hex digits of its end.
pub fn summary_name(key: &SummaryKey) -> String {
    let end = key.end.hex();
    format!("sum:{}.{}.{}", key.grain, key.level, end.get(..12).unwrap_or_default())
}
