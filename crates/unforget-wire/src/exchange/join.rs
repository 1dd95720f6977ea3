//! Joins several answers of a model into one: those that call tools of the gateway's own, and the final one.
//!
//! A client gets the text and reasoning of all answers as they arrive, and the calls of its own tools. It never sees a
//! call of ours: those are withheld, and the rest is numbered as if they had never existed.
//!
//! | dialect | withheld | renumbered | written at the end |
//! |---|---|---|---|
//! | Anthropic | `tool_use` blocks of ours, `message_delta`, `message_stop` | `index` | `stop_reason` without calls: `end_turn` |
//! | OpenAI Chat | entries of `tool_calls` of ours, everything from the `finish_reason` on | `index` of calls, `id` | `finish_reason` without calls: `stop` |
//! | OpenAI Responses | `function_call` items of ours, the end | `output_index`, `sequence_number`, `id` | `output` of all answers |
//!
//! Comments of a stream, and white space between its lines, are dropped.

mod anthropic;
mod back;
mod chat;
mod responses;

use unforget_core::entry::{Part, ToolCall};

use super::answer::{Answer, Answered};
use super::quoted;
use super::sse::{EVENT_MAX, Event, Splitter};
use crate::edit::{Edit, edited};
use crate::json::{Object, Tape, Value};
use crate::{Dialect, Format, Target, decode};

/// Joins the answers of several rounds, as described in the module documentation.
pub struct Join {
    dialect: Dialect,
    /// Names of our tools.
    ours: Vec<String>,
    splitter: Splitter,
    /// The current answer, as the model gave it.
    answer: Answer,
    /// Number of earlier answers.
    before: usize,
    /// Events that end the current answer: name and data.
    held: Vec<(String, String)>,
    is_over: bool,
    is_lost: bool,
    form: JoinForm,
}

enum JoinForm {
    Anthropic(anthropic::JoinedBlocks),
    Chat(chat::JoinedChoice),
    Responses(responses::JoinedItems),
}

/// One answer of several.
#[derive(Clone, Debug)]
pub struct Round {
    /// The model's answer, including calls of ours.
    pub answered: Answered,
    /// Calls of our tools, in order.
    pub ours: Vec<ToolCall>,
    /// Number of calls of other tools.
    pub others: usize,
}

/// The result of a call of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its text.
    pub text: String,
    /// Whether it failed.
    pub is_error: bool,
}

impl Join {
    /// The state before the first answer.
    ///
    /// * `ours` - names of our tools.
    pub fn new(dialect: Dialect, ours: &[&str]) -> Self {
        let form = match dialect {
            Dialect::Anthropic => JoinForm::Anthropic(anthropic::JoinedBlocks::default()),
            Dialect::OpenAiResponses => JoinForm::Responses(responses::JoinedItems::default()),
            _ => JoinForm::Chat(chat::JoinedChoice::default()),
        };
        Self {
            dialect,
            ours: ours.iter().map(|name| (*name).to_owned()).collect(),
            splitter: Splitter::new(EVENT_MAX),
            answer: Answer::new(dialect),
            before: 0,
            held: Vec::new(),
            is_over: false,
            is_lost: false,
            form,
        }
    }

    /// Takes bytes of a stream, in any pieces, and returns the bytes for the client.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut splitter = std::mem::replace(&mut self.splitter, Splitter::new(EVENT_MAX));
        let mut out = String::new();
        splitter.push(bytes, &mut |event| self.take(event, &mut out));
        self.splitter = splitter;
        out.into_bytes()
    }

    fn take(&mut self, event: Event<'_>, out: &mut String) {
        match event {
            Event::Message { name, data } => self.event(name, data, out),
            Event::TooLarge => {
                self.is_lost = true;
                self.answer.lost();
            }
        }
    }

    /// Whether this is the first answer.
    pub const fn is_first(&self) -> bool {
        self.before == 0
    }

    /// Whether the current answer has announced its end.
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Whether an event was too large to be read, so that its content is unknown.
    pub const fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn event(&mut self, name: &str, data: &str, out: &mut String) {
        self.answer.event(name, data);
        let mut tape = Tape::default();
        let is_whole = tape.read(data.as_bytes()).is_ok();
        let Some(object) = tape.value(data).and_then(Value::obj).filter(|_| is_whole) else {
            // The marker behind the end of a Chat stream. An event that cannot be parsed means nothing to a client
            // either.
            if data.trim() == "[DONE]" {
                self.held.push((name.to_owned(), data.to_owned()));
                self.is_over = true;
            }
            return;
        };
        let mut step = JoinStep {
            ours: &self.ours,
            before: self.before,
            held: &mut self.held,
            is_over: &mut self.is_over,
            out,
        };
        match &mut self.form {
            JoinForm::Anthropic(blocks) => blocks.event(name, object, data, &mut step),
            JoinForm::Chat(choice) => choice.event(name, object, data, &mut step),
            JoinForm::Responses(items) => items.event(name, object, data, &mut step),
        }
    }

    /// Takes the end of the answer. Returns the answer and the last bytes for the client. The next answer may follow.
    pub fn round(&mut self) -> (Round, Vec<u8>) {
        // The bytes behind the last empty line are an event too: see `sse`.
        let splitter = std::mem::replace(&mut self.splitter, Splitter::new(EVENT_MAX));
        let mut rest = String::new();
        splitter.finish(&mut |event| self.take(event, &mut rest));
        let answered = std::mem::replace(&mut self.answer, Answer::new(self.dialect)).finish();
        (self.told(answered), rest.into_bytes())
    }

    /// Reads a body that is a whole answer.
    pub fn whole(&mut self, body: &[u8]) -> Round {
        self.held = vec![(String::new(), String::from_utf8_lossy(body).into_owned())];
        let answered = Answer::whole(self.dialect, body);
        self.told(answered)
    }

    fn told(&self, answered: Answered) -> Round {
        let (ours, others) = calls(self.dialect, &self.ours, &answered);
        Round { answered, ours, others }
    }

    /// Prepares for another answer: the end of the previous one is withheld from the client.
    pub fn go_on(&mut self) {
        let held = std::mem::take(&mut self.held);
        for (_, data) in &held {
            with_object(data, |held| match &mut self.form {
                JoinForm::Anthropic(blocks) => blocks.leave(held, &self.ours),
                JoinForm::Chat(choice) => choice.leave(held, &self.ours),
                JoinForm::Responses(items) => items.leave(held, &self.ours),
            });
        }
        match &mut self.form {
            JoinForm::Anthropic(blocks) => blocks.go_on(),
            JoinForm::Chat(choice) => choice.go_on(),
            JoinForm::Responses(items) => items.go_on(),
        }
        self.before += 1;
        self.is_over = false;
    }

    /// The end for the client: the withheld end of a stream, or all of a whole body.
    pub fn close(&mut self, is_streamed: bool) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
        let mut out = String::new();
        for (name, data) in &held {
            let mut edits = Vec::new();
            with_object(data, |held| match &mut self.form {
                JoinForm::Anthropic(blocks) => blocks.last(held, is_streamed, &self.ours, &mut edits),
                JoinForm::Chat(choice) => choice.last(held, is_streamed, &self.ours, &mut edits),
                JoinForm::Responses(items) => items.last(held, &self.ours, &mut edits),
            });
            let text = edited(data, &edits);
            if is_streamed {
                write(&mut out, name, &text);
            } else {
                out.push_str(&text);
            }
        }
        out.into_bytes()
    }
}

impl Round {
    /// The messages behind the answer in the next request: the answer itself, and the results of our calls.
    ///
    /// * `outcomes` - results of [`Round::ours`], in order.
    ///
    /// Empty if the answer has calls of the client's tools, since those have no results.
    pub fn next(&self, outcomes: &[Outcome], target: Target) -> Vec<String> {
        if self.others > 0 || self.ours.len() != outcomes.len() {
            return Vec::new();
        }
        back::messages(&self.answered.messages, &self.ours, outcomes, target)
    }
}

/// The effects that an event may have.
struct JoinStep<'a> {
    ours: &'a [String],
    before: usize,
    held: &'a mut Vec<(String, String)>,
    is_over: &'a mut bool,
    out: &'a mut String,
}

impl JoinStep<'_> {
    fn write(&mut self, name: &str, data: &str) {
        write(self.out, name, data);
    }

    fn hold(&mut self, name: &str, data: String) {
        self.held.push((name.to_owned(), data));
    }

    fn is_ours(&self, name: &str) -> bool {
        is_ours(self.ours, name)
    }
}

fn is_ours(ours: &[String], name: &str) -> bool {
    ours.iter().any(|own| own == name)
}

/// An event of a stream.
fn write(out: &mut String, name: &str, data: &str) {
    if data.is_empty() {
        return;
    }
    if !name.is_empty() {
        out.extend(["event: ", name, "\n"]);
    }
    for line in data.split('\n') {
        out.extend(["data: ", line, "\n"]);
    }
    out.push('\n');
}

/// Our calls, and the number of all other calls.
fn calls(dialect: Dialect, ours: &[String], answered: &Answered) -> (Vec<ToolCall>, usize) {
    let form = dialect.form().unwrap_or(Format::OpenAiChat);
    let is_own = |call: &ToolCall| {
        // A call of Chat's legacy form has no `function`, and our tools are never offered in that form.
        let is_offered = |call: Object<'_>| {
            is_function(dialect, call) && (form != Format::OpenAiChat || call.has("function"))
        };
        let raw = call.raw.as_deref().and_then(|raw| with_object(raw, is_offered));
        is_ours(ours, &call.name) && raw.unwrap_or(true)
    };
    let mut own = Vec::new();
    let mut others = 0;
    for message in &answered.messages {
        for part in decode(form, message.as_bytes()).parts {
            match part {
                Part::ToolCall(call) if is_own(&call) => own.push(call),
                Part::ToolCall(_) => others += 1,
                _ => {}
            }
        }
    }
    (own, others)
}

/// Whether a call is a function call. Calls with free text as input, or run at the provider, are never ours.
fn is_function(dialect: Dialect, call: Object<'_>) -> bool {
    match dialect {
        Dialect::Anthropic => call.is("type", "tool_use"),
        Dialect::OpenAiResponses => call.is("type", "function_call"),
        _ => !call.has("custom"),
    }
}

/// Reads text as an object.
fn with_object<T>(text: &str, then: impl FnOnce(Object<'_>) -> T) -> Option<T> {
    let mut tape = Tape::default();
    tape.read(text.as_bytes()).ok()?;
    tape.value(text).and_then(Value::obj).map(then)
}

/// Gives a field of an object another value, if the field exists.
fn set(object: Object<'_>, key: &str, text: &str, edits: &mut Vec<Edit>) {
    edits.extend(object.get(key).map(|value| Edit { range: value.range(), text: text.to_owned() }));
}
