//! What stands beside the results of a search.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_engine::recall::{Clue, Clues};
use utoipa::ToSchema;

/// What stands beside the results: rows that lead to entries. They take no place among the results.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct CluesJson<'a> {
    /// Best first; at most three.
    found: Vec<ClueJson<'a>>,
    /// Number of rows that were weighed.
    rows: u64,
    /// Number of conversations whose pins, summaries and ledger were asked.
    conversations: u64,
    /// Whether every row in scope was weighed. Otherwise the absence of a clue proves nothing.
    #[schemars(rename = "isComplete")]
    complete: bool,
}

/// A row that holds much of the query.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct ClueJson<'a> {
    /// `pin`, `title`, `summary` or `ledger`.
    from: &'static str,
    /// The row: `pin:3`, the name of a summary, the key of a conversation for its title, of the ledger
    /// `command`, `file`, `failure`, `commit`, `task`.
    row: &'a str,
    /// Key of its conversation.
    conversation: &'a str,
    /// Its words.
    text: &'a str,
    /// Names for `expand` of the entries that it leads to; none for a pin that was typed by hand.
    pub(crate) entries: Vec<String>,
    /// Share of the query that it holds, from 0 to 1.
    share: f32,
}

impl<'a> From<&'a Clues> for CluesJson<'a> {
    fn from(clues: &'a Clues) -> Self {
        Self {
            found: clues.found.iter().map(ClueJson::from).collect(),
            rows: clues.rows,
            conversations: clues.conversations,
            complete: clues.is_complete,
        }
    }
}

impl<'a> From<&'a Clue> for ClueJson<'a> {
    fn from(clue: &'a Clue) -> Self {
        Self {
            from: clue.kind.name(),
            row: &clue.row,
            conversation: &clue.conversation.0,
            text: &clue.text,
            entries: clue.names(),
            share: clue.share,
        }
    }
}
