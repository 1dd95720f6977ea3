//! What people say of conversations.

use std::collections::BTreeSet;

use unforget_core::id::{ConversationId, Timestamp};

/// What a person says of a conversation: a title of their own, a star, tags. Without a row, nothing was said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The conversation.
    pub conversation: ConversationId,
    /// A title that stands before every other one.
    pub title: Option<String>,
    /// Whether it has a star.
    pub is_starred: bool,
    /// Its tags; none is empty or has a space.
    pub tags: BTreeSet<String>,
    /// When the label changed last.
    pub changed: Timestamp,
}

impl LabelRow {
    /// A label that says nothing.
    pub const fn blank(conversation: ConversationId) -> Self {
        Self { conversation, title: None, is_starred: false, tags: BTreeSet::new(), changed: Timestamp(0) }
    }

    /// Whether it says nothing.
    pub fn is_blank(&self) -> bool {
        self.title.is_none() && !self.is_starred && self.tags.is_empty()
    }

    /// The tags as one text, for a column.
    pub fn tags_text(&self) -> String {
        self.tags.iter().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// The tags in a column's text.
    pub fn tags_of(text: &str) -> BTreeSet<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }
}
