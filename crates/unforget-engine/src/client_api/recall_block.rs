//! A small block of stored text that answers the newest question and is not in the prompt. It is made for one call and
//! never part of the history.

use std::collections::BTreeSet;

use unforget_core::id::{ConversationId, Seq, Timestamp};
use unforget_core::tokens::Ruler;
use unforget_recall::select::Floor;
use unforget_text::{fence_recalled, time_text};

use crate::journal::HostError;
use crate::recall::SearchQuery;
use crate::ruler::ModelRuler;
use crate::{Engine, EngineError};

/// Minimum length of a piece of an excerpt that is looked for in a prompt, in bytes.
const PIECE: usize = 24;

/// Maximum number of pieces of an excerpt that are looked for.
const PIECES: usize = 8;

/// A block of recalled text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// The block, fenced and marked as untrusted.
    pub text: String,
    /// The entries that the block shows.
    pub entries: Vec<Seq>,
}

/// Whether a prompt shows a text, or all pieces of an excerpt.
fn is_shown(text: &str, shown: &[String]) -> bool {
    let has = |piece: &str| {
        let quoted = serde_json::Value::from(piece).to_string();
        shown.iter().any(|message| message.contains(quoted.trim_matches('"')))
    };
    let pieces = text.split(['…', '\n']).map(str::trim).filter(|piece| piece.len() >= PIECE);
    let pieces: Vec<&str> = pieces.take(PIECES).collect();
    has(text) || (!pieces.is_empty() && pieces.into_iter().all(has))
}

/// A question for which a block is made.
pub(crate) struct RecallQuestion<'a> {
    /// The words of the question.
    pub(crate) text: &'a str,
    /// Maximum size of the block, in tokens of the ruler.
    pub(crate) budget: u64,
    /// Counts the block.
    pub(crate) ruler: ModelRuler,
    /// Messages of the prompt, as JSON.
    pub(crate) shown: &'a [String],
    /// For time words in the question.
    pub(crate) now: Timestamp,
}

/// Makes a block of stored texts that answer a question and are not in the prompt. `None` if there are none, or the
/// question has no words to search for.
pub(crate) fn recall_block(
    engine: &Engine,
    conversation: ConversationId,
    question: &RecallQuestion<'_>,
) -> Result<Option<Recalled>, HostError> {
    let query = SearchQuery {
        text: question.text.to_owned(),
        conversation: Some(conversation),
        // Texts are cut to expected tokens; the block holds their upper bound, with lines around them.
        budget_tokens: Some(question.budget * 2 / 3),
        now: Some(question.now),
        is_unasked: true,
        ..SearchQuery::default()
    };
    let found = match engine.search(&query) {
        Ok(found) => found,
        Err(EngineError::Usage { .. }) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let (mut body, mut entries) = (String::new(), Vec::new());
    let mut floor = Floor::new(found.results.first().map_or(0.0, |hit| hit.score));
    let mut told: BTreeSet<String> = BTreeSet::new();
    for hit in found.results {
        if hit.text == question.text {
            continue;
        }
        if is_shown(&hit.text, question.shown) {
            floor.has(hit.score);
            continue;
        }
        let time = hit.time.map(|time| format!(" {}", time_text(time))).unwrap_or_default();
        let line = format!("[s:{}{time} {}] {}\n", hit.seq, hit.role.name(), hit.text);
        let is_worth_it = floor.takes(hit.score) && !told.contains(&hit.text);
        if !is_worth_it || question.ruler.count(&format!("{body}{line}")).upper > question.budget {
            continue;
        }
        body.push_str(&line);
        entries.push(hit.seq);
        told.insert(hit.text);
    }
    let text = fence_recalled(&body);
    Ok((!entries.is_empty()).then_some(Recalled { text, entries }))
}
