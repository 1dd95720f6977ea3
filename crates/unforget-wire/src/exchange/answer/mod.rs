//! An answer: from the events of a stream or from one body, to what the client will send back of it.
//!
//! | dialect | messages |
//! |---|---|
//! | Anthropic | one assistant message with the blocks in order; blocks whose content does not come in deltas byte for byte |
//! | OpenAI Chat | one assistant message, of choice 0 |
//! | OpenAI Responses | the output items, each by itself, byte for byte where they are done |
//!
//! Total on any events in any order, twice or never. Fields and deltas of kinds that are not known are kept where they are
//! text. A call that was cut off says so: Anthropic's in a field `partial_json`, a Responses item by its status; of a Chat
//! call the arguments are no JSON.

mod anthropic;
pub(in crate::exchange) mod chat;
mod merge;
mod responses;

use crate::Dialect;
use crate::json::{Object, Tape, Value};

use merge::Room;

/// Most bytes of one answer that are kept.
pub const ANSWER_MAX: usize = 64 << 20;

/// Most blocks, calls or items of one answer.
pub const BLOCKS_MAX: usize = 4_096;

/// An answer that is being read.
#[derive(Debug)]
pub struct Answer {
    kind: Kind,
    facts: Facts,
}

#[derive(Debug)]
enum Kind {
    Anthropic(anthropic::Blocks),
    Chat(chat::Choice),
    Responses(responses::Items),
}

/// What is known of an answer beside its content.
#[derive(Debug, Default)]
struct Facts {
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    stop: Option<String>,
    /// Whether the provider said that this is all.
    is_done: bool,
    /// Why it is not all, if the provider said so.
    cut: Option<String>,
    /// The provider's error as it stands.
    error: Option<String>,
    choices: usize,
    unread: usize,
    room: Room,
}

/// An answer that is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    /// What the client will send back, in order. Empty if the model said nothing.
    pub messages: Vec<String>,
    /// The provider's name of the response.
    pub id: Option<String>,
    /// The model, as the provider names it.
    pub model: Option<String>,
    /// What was counted, if the provider told.
    pub usage: Option<Usage>,
    /// Why the model stopped, in the provider's word.
    pub stop: Option<String>,
    /// Whether this is all of it.
    pub ended: Ended,
    /// How many answers there were: of `n` > 1 only choice 0 is in `messages`.
    pub choices: usize,
    /// Events or bodies that were no JSON.
    pub unread: usize,
}

/// How an answer ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As the provider meant it to.
    Complete,
    /// Before that.
    Interrupted(Why),
    /// By an error of the provider's; what it said, as it stands. There may be content in front of it.
    Error(String),
}

/// Why an answer is not whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The stream or the body ended early.
    Cut,
    /// More than [`ANSWER_MAX`] or [`BLOCKS_MAX`]; the rest is not in `messages`.
    TooLarge,
    /// The provider says so, in its word.
    Told(String),
}

/// Tokens as the provider counted them. The same meaning for every dialect.
///
/// Source: F071; Anthropic counts cached input beside `input_tokens`, OpenAI within it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input, whatever the cache did with it.
    pub input: u64,
    /// Input read from the cache.
    pub cached: u64,
    /// Input written to the cache.
    pub cache_written: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl Answer {
    /// An answer of which nothing has come. Other dialects than the three are read as Chat.
    pub fn new(dialect: Dialect) -> Self {
        let kind = match dialect {
            Dialect::Anthropic => Kind::Anthropic(anthropic::Blocks::default()),
            Dialect::OpenAiResponses => Kind::Responses(responses::Items::default()),
            _ => Kind::Chat(chat::Choice::default()),
        };
        Self { kind, facts: Facts::default() }
    }

    /// Takes an event of the stream.
    ///
    /// * `name` - its `event` field; counts where the data has no `type`.
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

    /// An event that was too large to be read: [`super::sse::Event::TooLarge`].
    pub fn lost(&mut self) {
        self.facts.room.is_full = true;
    }

    /// Bytes of it that are kept in memory, about.
    pub const fn kept(&self) -> usize {
        self.facts.room.kept()
    }

    /// Reads a body that is the whole answer.
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

    /// Whether the provider said how it ended: nothing that matters comes behind, but a count in some dialects.
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

impl Facts {
    /// Takes the names that a response has at its top; the first of each counts.
    fn named(&mut self, response: Object<'_>) {
        let text = |key: &str| response.string(key).filter(|text| !text.is_empty());
        self.id = self.id.take().or_else(|| text("id"));
        self.model = self.model.take().or_else(|| text("model"));
    }

    /// Takes why the model stopped.
    fn stopped(&mut self, reason: Option<String>) {
        if let Some(reason) = reason {
            self.is_done = true;
            self.stop = Some(reason);
        }
    }
}

/// Reads text as one object and gives it; tells whether it is one.
fn with_object(text: &str, then: impl FnOnce(Object<'_>)) -> bool {
    let mut tape = Tape::default();
    let is_whole = tape.read(text.as_bytes()).is_ok();
    let object = tape.value(text).and_then(Value::obj).filter(|_| is_whole);
    object.is_some_and(|object| {
        then(object);
        true
    })
}

/// The error that a document is, as it stands: an `error` that says something, or an `error` event.
///
/// The end of a Responses stream that failed has its error inside its response and is not meant here.
fn error_of(object: Object<'_>, name: &str) -> Option<String> {
    let error = object.get("error").filter(|error| !error.is_null());
    let is_response = object.has("output") || name.starts_with("response.");
    match error {
        Some(error) if !is_response => Some(error.raw().to_owned()),
        None if name == "error" => Some(object.raw_text().to_owned()),
        _ => None,
    }
}

/// A count; 0 if it is none.
fn count(object: Option<Object<'_>>, key: &str) -> Option<u64> {
    object?.i64(key).map(|count| u64::try_from(count).unwrap_or_default())
}
