//! What people and agents said of entries.

use schemars::JsonSchema;
use serde::Serialize;
use unforget_store::VerdictRow;
use utoipa::ToSchema;

use super::{id_of, iso};

/// A person's or agent's word on an entry that was found: wrong, or superseded.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename_all = "camelCase")]
pub struct VerdictJson<'a> {
    /// Its number within the conversation.
    number: u64,
    /// The words that are meant; null for the whole entry.
    line: Option<&'a str>,
    /// The reason.
    why: &'a str,
    /// The name of what holds now.
    instead: Option<&'a str>,
    /// The author.
    author: &'a str,
}

impl<'a> From<&'a VerdictRow> for VerdictJson<'a> {
    fn from(verdict: &'a VerdictRow) -> Self {
        Self {
            number: verdict.number,
            line: verdict.line.as_deref(),
            why: &verdict.why,
            instead: verdict.instead.as_deref(),
            author: &verdict.author,
        }
    }
}

/// A stored verdict.
#[derive(Debug, Serialize, ToSchema)]
struct StoredVerdictJson {
    /// Its number within the conversation.
    number: u64,
    /// The entry.
    id: String,
    /// The words that are meant; null for the whole entry.
    line: Option<String>,
    /// The reason.
    why: String,
    /// The name of what holds now.
    instead: Option<String>,
    /// The author.
    author: String,
    /// When it was said, in UTC.
    made: Option<String>,
    /// When it was taken back, in UTC; null while it stands.
    withdrawn: Option<String>,
}

/// The verdicts of a conversation.
#[derive(Debug, Serialize, ToSchema)]
pub struct VerdictsJson {
    /// Key of the conversation.
    conversation: String,
    /// By number.
    verdicts: Vec<StoredVerdictJson>,
}

impl VerdictsJson {
    /// The verdicts of the conversation with this key.
    pub fn new(key: &str, rows: &[VerdictRow]) -> Self {
        let verdict = |row: &VerdictRow| StoredVerdictJson {
            number: row.number,
            id: id_of(key, row.seq.0),
            line: row.line.clone(),
            why: row.why.clone(),
            instead: row.instead.clone(),
            author: row.author.clone(),
            made: iso(row.made),
            withdrawn: row.withdrawn.and_then(iso),
        };
        Self { conversation: key.to_owned(), verdicts: rows.iter().map(verdict).collect() }
    }
}
