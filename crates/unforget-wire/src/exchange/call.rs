//! Reads a client's request body, and writes it again with other messages.
//!
//! | dialect | history | head | output |
//! |---|---|---|---|
//! | Anthropic | `messages` | `system`, `tools` | `max_tokens` (thinking is within it) |
//! | OpenAI Chat | `messages` | leading system and developer messages, `tools` | `max_completion_tokens`, else `max_tokens` |
//! | OpenAI Responses | `input`, a list or one string | `instructions`, leading system and developer items, `tools` | `max_output_tokens` |
//!
//! Instructions may also stand in the list, behind the first input and before the first answer: Claude Code's
//! environment, developer items of Codex. They are fixed like the head: they are no history, and always stay behind the
//! first input. Later instructions are history. Other standing context is history too; a prompt that leaves it out gets
//! it back: see [`Call::context`].
//!
//! Of a repeated key the last value counts, as in the providers' parsers.

mod head;
mod hints;
mod kept;
mod standing;

use std::borrow::Cow;
use std::ops::Range;

use unforget_core::digest::Digest;

use crate::Dialect;
use crate::annotations;
use crate::edit::{Edit, add_field, cut_fields, edited};
use crate::json::{Broken, Object, Tape, Value, is_space};

pub use hints::Hints;
pub use kept::kept_in;
pub use standing::Context;

/// A request body after reading. Holds places in the body, not copies.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Form of the body.
    pub dialect: Dialect,
    /// The requested model, by the client's name.
    pub model: Option<String>,
    /// Whether the answer is to be streamed as events.
    pub is_streamed: bool,
    /// The client's limit for the answer, in tokens.
    pub output: Option<u64>,
    /// The part of that limit for thinking (Anthropic).
    pub thinking: Option<u64>,
    /// Instructions at the start of the message list: places of its leading system and developer messages.
    pub head: Vec<Range<usize>>,
    /// Instructions between the first input and the first answer: places of these messages.
    pub standing: Vec<Range<usize>>,
    /// The history: places of the other messages behind the head, in order. See [`Call::message`].
    pub messages: Vec<Range<usize>>,
    /// The form of the history.
    pub shape: Shape,
    /// Hints at the conversation.
    pub hints: Hints,
    /// Digest of the sorted names of the tools; `None` without tools.
    pub tools: Option<Digest>,
    /// Whether there are tools, in their own field or as an item of the list.
    pub has_tools: bool,
    /// Digests of the texts of the instructions, in order: `system` or `instructions`, then the head.
    pub system: Vec<Digest>,
    /// Number of cache marks outside the history. They count towards [`annotations::MARKS_MAX`].
    pub marks: usize,
    fixed: Vec<head::Fixed>,
    /// The inside of the message list, without brackets.
    list: Range<usize>,
    text: &'a str,
}

/// The form of a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A list of messages or items.
    List,
    /// One string with a user's text (Responses).
    Text,
    /// Missing (Responses: a stored prompt, or only messages that the provider has).
    Absent,
}

/// Why a body is not a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} (at byte {byte})")]
pub struct CallFault {
    /// The defect.
    pub what: Wrong,
    /// Its offset from the start of the body.
    pub byte: usize,
}

/// The defect of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// Not UTF-8.
    #[error("the body is not UTF-8")]
    NotText,
    /// Not JSON.
    #[error("the body is not JSON")]
    NotJson,
    /// The JSON ends early.
    #[error("the body ends before its JSON does")]
    CutOff,
    /// The body exceeds the limit of bytes or values.
    #[error("the body has too many values")]
    TooLarge,
    /// JSON, but not an object.
    #[error("the body is not a JSON object")]
    NotAnObject,
    /// A required field is missing.
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
    /// A field is not a list of objects.
    #[error("the field `{0}` is not a list of objects")]
    NotMessages(&'static str),
    /// The gateway does not support the dialect.
    #[error("the gateway does not serve this API")]
    Dialect,
}

/// The model that a request of any kind names; `None` if it names none, or is no JSON object.
///
/// Cost: one pass over the body.
pub fn named_model(body: &[u8]) -> Option<String> {
    let mut tape = Tape::default();
    object_of(&mut tape, text_of(body).ok()?).ok()?.string("model")
}

fn text_of(body: &[u8]) -> Result<&str, CallFault> {
    std::str::from_utf8(body).map_err(|error| CallFault { what: Wrong::NotText, byte: error.valid_up_to() })
}

/// The one object that a body is.
fn object_of<'t>(tape: &'t mut Tape, text: &'t str) -> Result<Object<'t>, CallFault> {
    let fault = |what, byte| CallFault { what, byte };
    let end = tape.read(text.as_bytes()).map_err(|broken| match broken {
        Broken::Early => fault(Wrong::CutOff, text.len()),
        Broken::At(at) => fault(Wrong::NotJson, at),
        Broken::TooLarge => fault(Wrong::TooLarge, 0),
    })?;
    let behind = text.bytes().skip(end).position(|byte| !is_space(byte));
    if let Some(at) = behind {
        return Err(fault(Wrong::NotJson, end + at));
    }
    tape.value(text).and_then(Value::obj).ok_or(fault(Wrong::NotAnObject, 0))
}

impl<'a> Call<'a> {
    /// Reads a body.
    ///
    /// # Errors
    /// [`CallFault`] if the body is not JSON or lacks the history that its dialect requires. All other defects are left
    /// for the provider to refuse.
    ///
    /// Cost: one pass over the body, then O(fields and messages).
    pub fn read(dialect: Dialect, body: &'a [u8]) -> Result<Self, CallFault> {
        let (mut tape, text) = (Tape::default(), text_of(body)?);
        let object = object_of(&mut tape, text)?;
        Self::of(dialect, object, text)
    }

    fn of(dialect: Dialect, object: Object<'_>, text: &'a str) -> Result<Self, CallFault> {
        let (shape, list, messages) = find_history(dialect, object)?;
        let mut call = Self {
            dialect,
            model: object.string("model"),
            is_streamed: object.bool("stream") == Some(true),
            output: output(dialect, object).map(|(_, tokens)| tokens),
            thinking: object.obj("thinking").and_then(|thinking| count(thinking, "budget_tokens")),
            head: Vec::new(),
            standing: Vec::new(),
            messages: messages.iter().map(|message| message.range()).collect(),
            shape,
            hints: Hints::of(dialect, object),
            tools: head::tools(object),
            has_tools: false,
            system: Vec::new(),
            marks: 0,
            fixed: Vec::new(),
            list,
            text,
        };
        let leading = messages.iter().take_while(|message| is_instruction(**message)).count();
        call.head = call.messages.drain(..leading).collect();
        let (leading, history) = messages.split_at_checked(leading).unwrap_or_default();
        let standing = if call.hints.is_partial() { Vec::new() } else { standing::find(history) };
        call.standing = standing.iter().map(|message| message.range()).collect();
        call.messages.retain(|message| !call.standing.contains(message));
        let mut fixed = head::RequestHead::of(object, leading);
        fixed.stand(&standing);
        (call.fixed, call.system) = (fixed.fixed, fixed.system);
        let in_list = leading.iter().chain(&standing).filter_map(|message| message.obj());
        call.has_tools = call.tools.is_some() || in_list.into_iter().any(|item| item.is("type", TOOLS_ITEM));
        call.marks = annotations::count_outside(object, leading.iter().chain(&standing));
        Ok(call)
    }

    /// The body.
    pub(super) const fn text(&self) -> &'a str {
        self.text
    }

    /// A message of the history as an object of the dialect: its own bytes, or an item made from the string.
    pub fn message(&self, index: usize) -> Option<Cow<'a, str>> {
        let raw = self.text.get(self.messages.get(index)?.clone())?;
        Some(match self.shape {
            Shape::Text => Cow::Owned(format!(r#"{{"role":"user","content":{raw}}}"#)),
            Shape::List | Shape::Absent => Cow::Borrowed(raw),
        })
    }

    /// All messages of the history. See [`Call::message`].
    pub fn history(&self) -> impl Iterator<Item = Cow<'a, str>> {
        (0..self.messages.len()).filter_map(|index| self.message(index))
    }

    /// Standing context in the history: content meant for every call, such as project instructions. Empty for a call
    /// that sends only the messages behind a state that the provider keeps.
    ///
    /// Cost: reads the messages before the first answer, and later ones that contain a mark of the client.
    pub fn context(&self) -> Context {
        Context::of(self)
    }

    /// Texts of the instructions beside the history.
    fn instructions(&self) -> Vec<Cow<'_, str>> {
        let texts = self.fixed.iter().filter(|fixed| matches!(fixed, head::Fixed::Text(_)));
        texts.map(|fixed| fixed.text(self.text)).collect()
    }

    /// Passes all text outside the history that counts as input to `each`, in logical order: instructions, head, tools,
    /// the schema of the answer.
    pub fn fixed_text(&self, each: &mut dyn FnMut(&str)) {
        for fixed in &self.fixed {
            each(&fixed.text(self.text));
        }
    }

    /// The body with other messages in place of the history. Everything else, including the head and the space between
    /// messages, stays byte for byte.
    ///
    /// * `messages` - objects of the dialect.
    pub fn with_messages(&self, messages: &[String]) -> Vec<u8> {
        edited(self.text, &self.message_edits(messages)).into_bytes()
    }

    /// The body without its history: instructions, tools and parameters unchanged. It also lacks `client_metadata`, in
    /// which Codex numbers its turns: these are no part of the question, and would make every request different.
    pub fn without_messages(&self) -> String {
        let mut edits = self.message_edits(&[]);
        edits.extend(self.field_edits("client_metadata", None));
        edited(self.text, &edits)
    }

    /// The body after several edits: [`Call::message_edits`], [`Call::field_edits`].
    pub fn with_edits(&self, edits: &[Edit]) -> Vec<u8> {
        edited(self.text, edits).into_bytes()
    }

    /// The edits that replace the history by other messages.
    pub fn message_edits(&self, messages: &[String]) -> Vec<Edit> {
        match self.shape {
            Shape::List if !self.standing.is_empty() => vec![self.around_standing(messages)],
            Shape::List => self.list_edits(messages),
            Shape::Text => {
                vec![Edit { range: self.list.clone(), text: format!("[{}]", messages.join(",")) }]
            }
            Shape::Absent => self.field_edits("input", Some(&format!("[{}]", messages.join(",")))),
        }
    }

    /// Replaces the old messages one by one, so that the space between them stays.
    fn list_edits(&self, messages: &[String]) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self
            .messages
            .iter()
            .zip(messages)
            .map(|(range, text)| Edit { range: range.clone(), text: text.clone() })
            .collect();
        let kept = self.messages.get(..messages.len()).unwrap_or(&self.messages);
        let before = kept.last().or(self.head.last());
        if let (Some(first), Some(last)) = (self.messages.get(kept.len()), self.messages.last()) {
            edits.push(Edit::cut(before.map_or(first.start, |range| range.end)..last.end));
        } else {
            let at = before.map_or(self.list.start, |range| range.end);
            let more = messages.get(kept.len()..).unwrap_or_default();
            let comma = if before.is_some() && !more.is_empty() { "," } else { "" };
            edits.push(Edit { range: at..at, text: format!("{comma}{}", more.join(",")) });
        }
        edits
    }

    /// Rewrites the list behind the head, with its standing instructions again behind the first input.
    fn around_standing(&self, messages: &[String]) -> Edit {
        let places = || self.messages.iter().chain(&self.standing);
        let start = places().map(|place| place.start).min().unwrap_or(self.list.start);
        let end = places().map(|place| place.end).max().unwrap_or(start);
        let first = messages.iter().take_while(|message| standing::is_words_of_user(message)).count();
        let (before, mut behind) = messages.split_at_checked(first).unwrap_or((messages, &[]));
        let mut stand: Vec<&str> =
            self.standing.iter().filter_map(|place| self.text.get(place.clone())).collect();
        if self.dialect == Dialect::Anthropic {
            // The dialect accepts only one message of instructions at a place.
            let also = behind.iter().take_while(|message| standing::is_instruction_text(message)).count();
            stand.extend(behind.iter().take(also).map(String::as_str));
            behind = behind.get(also..).unwrap_or_default();
        }
        let is_sent = self.dialect == Dialect::Anthropic && !messages.is_empty();
        let joined = is_sent.then(|| standing::joined(&stand)).flatten();
        let stand = joined.as_ref().map_or(stand, |joined| vec![joined]);
        let all: Vec<&str> =
            before.iter().map(String::as_str).chain(stand).chain(behind.iter().map(String::as_str)).collect();
        Edit { range: start..end, text: all.join(",") }
    }

    /// The edits that lower the limit of the answer. None if the client sets no limit.
    pub fn output_edits(&self, tokens: u64) -> Vec<Edit> {
        let mut tape = Tape::default();
        tape.read(self.text.as_bytes()).ok();
        let object = tape.value(self.text).and_then(Value::obj);
        let field = object.and_then(|object| output(self.dialect, object));
        field.map_or_else(Vec::new, |(key, _)| self.field_edits(key, Some(&tokens.to_string())))
    }

    /// The edits that change a top-level field of the body, add it, or remove it (`None`).
    ///
    /// Of several combined calls, at most one may add a field.
    ///
    /// Cost: reads the body again.
    pub fn field_edits(&self, name: &str, value: Option<&str>) -> Vec<Edit> {
        let mut tape = Tape::default();
        tape.read(self.text.as_bytes()).ok();
        let Some(object) = tape.value(self.text).and_then(Value::obj) else { return Vec::new() };
        let mut edits = Vec::new();
        match (object.get(name), value) {
            (Some(old), Some(new)) => edits.push(Edit { range: old.range(), text: new.to_owned() }),
            (None, Some(new)) => edits.push(add_field(object, object.members().count(), name, new)),
            (_, None) => cut_fields(object, &|key| key == name, &mut edits),
        }
        edits
    }
}

type History<'t> = (Shape, Range<usize>, Vec<Value<'t>>);

/// Finds the history and its messages.
fn find_history(dialect: Dialect, object: Object<'_>) -> Result<History<'_>, CallFault> {
    let fault = |what, byte| Err(CallFault { what, byte });
    let key = match dialect {
        Dialect::OpenAiChat | Dialect::Anthropic => "messages",
        Dialect::OpenAiResponses => "input",
        Dialect::Pi | Dialect::Gemini | Dialect::BedrockConverse => return fault(Wrong::Dialect, 0),
    };
    let is_responses = dialect == Dialect::OpenAiResponses;
    let value = match object.get(key) {
        Some(value) if !is_responses || !value.is_null() => value,
        _ if is_responses => return Ok((Shape::Absent, 0..0, Vec::new())),
        _ => return fault(Wrong::Missing(key), object.range().end.saturating_sub(1)),
    };
    if value.is_str() && is_responses {
        return Ok((Shape::Text, value.range(), vec![value]));
    }
    if !value.is_array() {
        return fault(Wrong::NotMessages(key), value.range().start);
    }
    let messages: Vec<Value<'_>> = value.items().collect();
    if let Some(odd) = messages.iter().find(|message| message.obj().is_none()) {
        return fault(Wrong::NotMessages(key), odd.range().start);
    }
    let whole = value.range();
    Ok((Shape::List, whole.start + 1..whole.end.saturating_sub(1), messages))
}

/// The field that limits the answer, and its value.
fn output(dialect: Dialect, object: Object<'_>) -> Option<(&'static str, u64)> {
    let keys: &[&'static str] = match dialect {
        Dialect::OpenAiChat => &["max_completion_tokens", "max_tokens"],
        Dialect::OpenAiResponses => &["max_output_tokens"],
        _ => &["max_tokens"],
    };
    keys.iter().find_map(|key| Some((*key, count(object, key)?)))
}

fn count(object: Object<'_>, key: &str) -> Option<u64> {
    object.i64(key).and_then(|tokens| u64::try_from(tokens).ok())
}

/// The item in which Codex 0.169.0 sends its tools.
pub(super) const TOOLS_ITEM: &str = "additional_tools";

/// Whether a message of the list holds the client's instructions, or its tools: Codex 0.169.0 sends those as an item.
fn is_instruction(message: Value<'_>) -> bool {
    let Some(message) = message.obj() else { return false };
    if message.is("type", TOOLS_ITEM) {
        return true;
    }
    let is_message = message.get("type").is_none() || message.is("type", "message");
    is_message && (message.is("role", "system") || message.is("role", "developer"))
}
