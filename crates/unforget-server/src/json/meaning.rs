//! What a search says of meaning.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_engine::meaning::MeaningReceipt;
use utoipa::ToSchema;

/// What a search says of meaning.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct MeaningJson<'a> {
    /// The model.
    model: &'a str,
    /// Entries with words and a vector of the model, in the conversations that were searched.
    entries: u64,
    /// Entries with words in these conversations.
    of: u64,
    /// Why the search ranked by words alone; null if it ranked by meaning too.
    trouble: Option<&'a str>,
}

impl<'a> From<&'a MeaningReceipt> for MeaningJson<'a> {
    fn from(receipt: &'a MeaningReceipt) -> Self {
        let MeaningReceipt { model, entries, of, trouble } = receipt;
        Self { model, entries: *entries, of: *of, trouble: trouble.as_deref() }
    }
}
