//! Entries that people put back.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_engine::RaisedWeight;
use unforget_store::RaisedRow;
use utoipa::ToSchema;

use super::iso;

/// A span of entries that a person put back.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
struct RaisedJson {
    /// Number of the decision within the conversation.
    number: u64,
    /// First entry.
    first: u64,
    /// Last entry.
    last: u64,
    /// Who decided.
    author: String,
    /// When, in UTC.
    made: Option<String>,
    /// When it was taken away again, in UTC; null while it stands.
    withdrawn: Option<String>,
    /// Its entries that a model may see.
    entries: u64,
    /// Tokens that they take whole; prompts cut long texts.
    tokens: u64,
}

/// The spans of a conversation that people put back.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct RaisedSpansJson {
    /// Key of the conversation.
    conversation: String,
    /// By number.
    raised: Vec<RaisedJson>,
}

impl RaisedSpansJson {
    /// * `key` - of the conversation.
    /// * `rows` - each with its weight.
    pub fn new(key: &str, rows: &[(RaisedRow, RaisedWeight)]) -> Self {
        let raised = rows.iter().map(|(row, weight)| RaisedJson {
            number: row.number,
            first: row.span.0.0,
            last: row.span.1.0,
            author: row.author.clone(),
            made: iso(row.made),
            withdrawn: row.withdrawn.and_then(iso),
            entries: weight.entries,
            tokens: weight.tokens,
        });
        Self { conversation: key.to_owned(), raised: raised.collect() }
    }
}
