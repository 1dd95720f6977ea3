//! What people say of conversations.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_store::LabelRow;
use utoipa::ToSchema;

use super::iso;

/// What a person says of a conversation.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct LabelJson {
    /// Key of the conversation.
    conversation: String,
    /// A title that stands before every other one; null if a person gave none.
    title: Option<String>,
    /// Whether it has a star.
    starred: bool,
    /// Its tags, ascending.
    tags: Vec<String>,
    /// When the label changed last, in UTC; null if nobody gave one.
    changed: Option<String>,
}

impl LabelJson {
    /// * `key` - of the conversation.
    pub fn new(key: &str, label: &LabelRow) -> Self {
        let changed = if label.is_blank() { None } else { iso(label.changed) };
        Self {
            conversation: key.to_owned(),
            title: label.title.clone(),
            starred: label.is_starred,
            tags: label.tags.iter().cloned().collect(),
            changed,
        }
    }
}
