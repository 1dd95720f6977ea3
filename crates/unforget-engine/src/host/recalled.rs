//! What a prompt left out and the newest words ask for: a small block, made for one call and never part of the history.

use std::collections::BTreeSet;

use unforget_core::entry::{Part, Role};
use unforget_core::id::{ConversationId, Seq};
use unforget_core::tokens::Ruler;
use unforget_recall::select::Floor;
use unforget_text::{fence_recalled, time_text};
use unforget_wire::Format;
use unforget_wire::journal::{self, After};

use super::Host;
use super::exact::Array;
use super::lane::{Line, conversation_key};
use super::types::{HostError, LaneKey};
use crate::recall::SearchQuery;
use crate::ruler::ModelRuler;
use crate::{Engine, EngineError};

/// Words of a question that are looked for, in bytes.
const QUESTION: usize = 2_000;

/// Bytes that a piece of an excerpt needs to be looked for, and pieces that are.
const PIECE: usize = 24;
const PIECES: usize = 8;

/// A block of recalled text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recalled {
    /// Fenced, and marked as untrusted.
    pub text: String,
    /// The entries that it shows.
    pub entries: Vec<Seq>,
}

impl Array {
    /// What a person said first: the last text before the first answer. What clients put before it, they put before it.
    pub fn opening(&self) -> Option<&str> {
        let said = self.messages.iter().filter_map(|incoming| incoming.message.as_ref());
        let opening = said.take_while(|message| message.entry.role != Role::Assistant);
        let of_user = opening.filter(|message| message.entry.role == Role::User);
        let texts = of_user.flat_map(|message| &message.entry.parts).filter_map(|part| match part {
            Part::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
            _ => None,
        });
        texts.last()
    }

    /// What a person said last.
    pub fn question(&self) -> Option<String> {
        let said = self.messages.iter().rev().find_map(|incoming| {
            let entry = &incoming.message.as_ref()?.entry;
            let texts = entry.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                _ => None,
            });
            let words: Vec<&str> = texts.collect();
            (entry.role == Role::User && !words.is_empty()).then(|| words.join("\n"))
        })?;
        let cut = said.char_indices().map(|(at, _)| at).find(|at| *at >= QUESTION).unwrap_or(said.len());
        said.get(..cut).map(str::to_owned)
    }
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

impl Host {
    /// What is stored of a lane and answers a question, but is not in its prompt.
    ///
    /// * `budget` - tokens of the block at most, as this ruler counts them.
    /// * `shown` - messages of the prompt, as JSON.
    ///
    /// `None` if there is nothing, or the question has no words to look for. Stores nothing: see [`Host::note_recalled`].
    pub fn recalled(
        &self,
        key: &LaneKey,
        question: &str,
        (budget, ruler): (u64, ModelRuler),
        shown: &[String],
    ) -> Result<Option<Recalled>, HostError> {
        let Some(conversation) = self.indexed(key)? else { return Ok(None) };
        let query = SearchQuery {
            text: question.to_owned(),
            conversation: Some(conversation),
            // Texts are cut to expected tokens; the block has to hold their bound and what stands around them.
            budget_tokens: Some(budget * 2 / 3),
            now: Some((self.clock)()),
            ..SearchQuery::default()
        };
        let found = match self.engine.search(&query) {
            Ok(found) => found,
            Err(EngineError::Usage { .. }) => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let (mut body, mut entries) = (String::new(), Vec::new());
        let mut floor = Floor::new(found.results.first().map_or(0.0, |hit| hit.score));
        let mut told: BTreeSet<String> = BTreeSet::new();
        for hit in found.results {
            if hit.text == question {
                continue;
            }
            if is_shown(&hit.text, shown) {
                floor.has(hit.score);
                continue;
            }
            let time = hit.time.map(|time| format!(" {}", time_text(time))).unwrap_or_default();
            let line = format!("[s:{}{time} {}] {}\n", hit.seq, hit.role.name(), hit.text);
            let is_worth_it = floor.takes(hit.score) && !told.contains(&hit.text);
            if !is_worth_it || ruler.count(&format!("{body}{line}")).upper > budget {
                continue;
            }
            body.push_str(&line);
            entries.push(hit.seq);
            told.insert(hit.text);
        }
        let text = fence_recalled(&body);
        Ok((!entries.is_empty()).then_some(Recalled { text, entries }))
    }

    /// The engine with a lane's own conversation and no other, whose index has all of it; `None` if there is no such lane.
    pub fn memory(&self, key: &LaneKey) -> Result<Option<Engine>, HostError> {
        Ok(self.indexed(key)?.map(|conversation| self.engine.confined(BTreeSet::from([conversation]))))
    }

    /// A lane's conversation, once its index has all of it; `None` if there is no such lane.
    fn indexed(&self, key: &LaneKey) -> Result<Option<ConversationId>, HostError> {
        let Some(conversation) = self.engine.store().find(&conversation_key(key))? else { return Ok(None) };
        self.engine.maintain_index(conversation.id)?;
        Ok(Some(conversation.id))
    }

    /// Writes down that a call was sent with such a block. The block itself is not kept: its entries are.
    pub fn note_recalled(&self, key: &LaneKey, form: Format, recalled: &Recalled) -> Result<(), HostError> {
        let entries: Vec<u64> = recalled.entries.iter().map(|seq| seq.0).collect();
        self.note(key, form, "recalled", &serde_json::json!({ "entries": entries }).to_string())
    }

    /// Writes down what a model looked up by itself within a call. It is no part of the path.
    ///
    /// * `rounds` - JSON.
    pub fn note_rounds(&self, key: &LaneKey, form: Format, rounds: &str) -> Result<(), HostError> {
        self.note(key, form, "recall-rounds", rounds)
    }

    fn note(&self, key: &LaneKey, form: Format, event: &str, detail: &str) -> Result<(), HostError> {
        self.with(key, form, |lane, now| {
            let text = journal::event(event, Some(detail), &After::Newest, now.0);
            lane.write(
                vec![Line { text, parent: lane.head(), names: Vec::new(), is_open: false }],
                Vec::new(),
            )
        })
    }
}
