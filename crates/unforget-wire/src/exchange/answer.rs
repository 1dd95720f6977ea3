//! Reads an answer, streamed or whole, into the messages that the client will send back.
//!
//! | dialect | messages |
//! |---|---|
//! | Anthropic | one assistant message with the blocks in order; blocks whose content does not come in deltas byte for byte |
//! | OpenAI Chat | one assistant message, of choice 0 |
//! | OpenAI Responses | the output items, each by itself, byte for byte where they are done |
//!
//! Total on events in any order, repeated or missing. Fields and deltas of unknown kinds are kept where they are text.
//! A cut-off call is marked: Anthropic's by a field `partial_json`, a Responses item by its status; a Chat call's
//! arguments are no JSON.

mod anthropic;
pub(in crate::exchange) mod chat;
mod merge;
mod responses;

use crate::Dialect;
use crate::json::{Object, Tape, Value};

use merge::Room;

/// Most bytes kept of one answer.
pub const ANSWER_MAX: usize = 64 << 20;

/// Most blocks, calls or items in one answer.
pub const BLOCKS_MAX: usize = 4_096;

/// An answer while being read.
#[derive(Debug)]
pub struct Answer {
    kind: Kind,
    facts: AnswerFacts,
}

#[derive(Debug)]
enum Kind {
    Anthropic(anthropic::Blocks),
    Chat(chat::Choice),
    Responses(responses::Items),
}

/// Facts about an answer beside its content.
#[derive(Debug, Default)]
struct AnswerFacts {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    stop: Option<String>,
    /// Whether the provider announced the end.
    is_done: bool,
    /// The provider's reason for an early end.
    cut: Option<String>,
    /// The provider's error, unchanged.
    error: Option<String>,
    choices: usize,
    unread: usize,
    room: Room,
}

/// An answer after reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The messages that the client will send back, in order. Empty if the model said nothing.
    pub messages: Vec<String>,
    /// The provider's id of the response.
    pub id: Option<String>,
    /// The model, by the provider's name.
    pub model: Option<String>,
    /// The provider's token counts, if reported.
    pub usage: Option<Usage>,
    /// The provider's stop reason, unchanged.
    pub stop: Option<String>,
    /// Whether the answer is complete.
    pub ended: Ended,
    /// Number of answers: with `n` > 1, only choice 0 is in `messages`.
    pub choices: usize,
    /// Number of events or bodies that were no JSON.
    pub unread: usize,
}

/// The end of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Complete, according to the provider.
    Complete,
    /// Ended too early.
    Interrupted(Why),
    /// Ended by the provider's error, here unchanged. Content may precede it.
    Error(String),
}

/// Why an answer is incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The stream or the body ended early.
    Cut,
    /// The answer exceeds [`ANSWER_MAX`] or [`BLOCKS_MAX`]; the rest is missing from `messages`.
    TooLarge,
    /// The provider's own reason, unchanged.
    Told(String),
}

/// Tokens by the provider's count. All dialects are brought to one meaning.
///
/// Source: F071; Anthropic counts cached input beside `input_tokens`, OpenAI within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, cached or not.
    pub input: u64,
    /// Input read from the cache.
    pub cached: u64,
    /// Input written to the cache.
    pub cache_written: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl Answer {
    /// An empty answer. Dialects other than the three are read as Chat.
    pub fn new(dialect: Dialect) -> Self {
        let kind = match dialect {
            Dialect::Anthropic => Kind::Anthropic(anthropic::Blocks::default()),
            Dialect::OpenAiResponses => Kind::Responses(responses::Items::default()),
            _ => Kind::Chat(chat::Choice::default()),
        };
        Self { kind, facts: AnswerFacts::default() }
    }

    /// Takes an event of the stream.
    ///
    /// * `name` - the event's `event` field, used where the data has no `type`.
    ///
    /// Cost: O(data).
    pub fn event(&mut self, name: &str, data: &str) {
        if data.trim() == "[DONE]" {
            self.facts.is_done = true;
            return;
        }
        let facts = &mut self.facts;
        let kind = &mut self.kind;
        let is_read = with_object(data, |event| {
            let own = event.str("type").filter(|own| !own.is_empty());
            let name = own.as_deref().unwrap_or(name);
            if let Some(error) = error_of(event, name) {
                facts.error.get_or_insert(error);
                return;
            }
            match kind {
                Kind::Anthropic(blocks) => blocks.event(name, event, facts),
                Kind::Chat(choice) => choice.chunk(event, facts),
                Kind::Responses(items) => items.event(name, event, facts),
            }
        });
        self.facts.unread += usize::from(!is_read);
    }

    /// Notes an event that was too large to be read: [`super::sse::Event::TooLarge`].
    pub fn lost(&mut self) {
        self.facts.room.is_full = true;
    }

    /// Approximate number of bytes kept in memory.
    pub const fn kept(&self) -> usize {
        self.facts.room.kept()
    }

    /// Reads a body that is a whole answer.
    pub fn whole(dialect: Dialect, body: &[u8]) -> Answered {
        let mut answer = Self::new(dialect);
        let facts = &mut answer.facts;
        let kind = &mut answer.kind;
        let text = String::from_utf8_lossy(body);
        let is_read = with_object(&text, |body| {
            if let Some(error) = error_of(body, &body.str("type").unwrap_or_default()) {
                facts.error = Some(error);
                return;
            }
            match kind {
                Kind::Anthropic(blocks) => blocks.whole(body, facts),
                Kind::Chat(choice) => choice.whole(body, facts),
                Kind::Responses(items) => items.response(body, facts),
            }
        });
        answer.facts.unread += usize::from(!is_read);
        answer.finish()
    }

    /// Whether the provider announced the end. In some dialects only the token counts still follow.
    pub const fn has_ended(&self) -> bool {
        self.facts.is_done || self.facts.cut.is_some() || self.facts.error.is_some()
    }

    /// Takes the end of the stream.
    pub fn finish(self) -> Answered {
        let facts = self.facts;
        let ended = match (facts.error, facts.cut) {
            (Some(error), _) => Ended::Error(error),
            _ if facts.room.is_full => Ended::Interrupted(Why::TooLarge),
            (None, Some(cut)) => Ended::Interrupted(Why::Told(cut)),
            (None, None) if facts.is_done => Ended::Complete,
            (None, None) => Ended::Interrupted(Why::Cut),
        };
        let messages = match self.kind {
            Kind::Anthropic(blocks) => blocks.message().into_iter().collect(),
            Kind::Chat(choice) => choice.message().into_iter().collect(),
            Kind::Responses(items) => items.items(),
        };
        Answered {
            messages,
            id: facts.id,
            model: facts.model,
            usage: facts.usage,
            stop: facts.stop,
            ended,
            choices: facts.choices,
            unread: facts.unread,
        }
    }
}

impl AnswerFacts {
    /// Takes the top-level names of a response; the first value of each counts.
    fn named(&mut self, response: Object<'_>) {
        let text = |key: &str| response.string(key).filter(|text| !text.is_empty());
        self.id = self.id.take().or_else(|| text("id"));
        self.model = self.model.take().or_else(|| text("model"));
    }

    /// Takes the stop reason.
    fn stopped(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.is_done = true;
            self.stop = Some(reason);
        }
    }
}

/// Reads text as one object and passes it to `then`. Returns whether it is an object.
fn with_object(text: &str, then: impl FnOnce(Object<'_>)) -> bool {
    let mut tape = Tape::default();
    let is_whole = tape.read(text.as_bytes()).is_ok();
    let object = tape.value(text).and_then(Value::obj).filter(|_| is_whole);
    object.is_some_and(|object| {
        then(object);
        true
    })
}

/// The error in a document, unchanged: a non-empty `error`, or an `error` event.
///
/// A failed Responses stream has its error inside the response of its last event; that error is not found here.
fn error_of(object: Object<'_>, name: &str) -> Option<String> {
    let error = object.get("error").filter(|error| !error.is_null());
    let is_response = object.has("output") || name.starts_with("response.");
    match error {
        Some(error) if !is_response => Some(error.raw().to_owned()),
        None if name == "error" => Some(object.raw_text().to_owned()),
        _ => None,
    }
}

/// A count; 0 if the field is missing or no number.
fn count(object: Option<Object<'_>>, key: &str) -> Option<u64> {
    object?.i64(key).map(|count| u64::try_from(count).unwrap_or_default())
}
