//! A conversation as a person reads it: turns of words, thoughts and work with tools.

use unforget_core::entry::{Entry, Origin, Part, Role, Status, ToolResult};
use unforget_core::id::{Seq, Timestamp};
use unforget_core::ledger::{Fact, Outcome};
use unforget_text::{facts, host_text, typed};

use crate::recall::TurnEntry;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speaker {
    /// A person.
    Person,
    /// The model.
    Model,
    /// The host: its summaries, and what it injects.
    Host,
}

impl Speaker {
    /// The name for people and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Person => "you",
            Self::Model => "model",
            Self::Host => "host",
        }
    }
}

/// One thing in a turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// Words.
    Said(Speaker, String),
    /// Reasoning of the model.
    Thought(String),
    /// A call of a tool with its result.
    Tool(ToolUse),
}

/// A call of a tool with its result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The call's id.
    id: String,
    /// Name of the tool.
    pub name: String,
    /// Name and aim in a few words.
    pub what: String,
    /// How it ended; `None` without a result.
    pub outcome: Option<Outcome>,
    /// The first words about a failure.
    pub error: Option<String>,
    /// Its arguments as JSON.
    pub arguments: String,
    /// Its result as text.
    pub result: String,
}

/// A turn: from a person's message up to the next one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadTurn {
    /// Its number from 1; 0 for what came before the first one.
    pub number: u64,
    /// When it began.
    pub time: Option<Timestamp>,
    /// What is in it, in order.
    pub blocks: Vec<Block>,
    /// For each block, the entry that begins it.
    pub places: Vec<Seq>,
}

/// What of a conversation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether work with tools is shown.
    pub tools: bool,
    /// Whether entries without words for a person are shown too.
    pub all: bool,
}

impl ReadTurn {
    /// Takes the next entry of the turn.
    pub fn take(&mut self, read: &TurnEntry, options: ReadOptions) {
        self.time = self.time.or(read.time);
        self.show(read, options);
        // Blocks that this entry added begin at it.
        self.places.resize(self.blocks.len(), read.seq);
    }

    fn show(&mut self, read: &TurnEntry, options: ReadOptions) {
        if read.purged {
            self.blocks.push(Block::Said(Speaker::Host, "[purged]".to_owned()));
            return;
        }
        let entry = &read.entry;
        match entry.origin {
            Origin::Human | Origin::Model | Origin::Tool => self.spoken(entry, options),
            Origin::HostSummary => {
                let text = format!("[the host's summary of what was before]\n{}", host_text(entry));
                self.blocks.push(Block::Said(Speaker::Host, text));
            }
            _ if options.all => self.spoken(entry, options),
            _ => {}
        }
    }

    fn spoken(&mut self, entry: &Entry, options: ReadOptions) {
        let speaker = match (entry.origin, entry.role) {
            (Origin::Human, _) => Speaker::Person,
            (Origin::Model, _) => Speaker::Model,
            _ => Speaker::Host,
        };
        let mut facts = facts(entry).into_iter();
        for part in &entry.parts {
            match part {
                Part::Text(text) if options.all => self.say(speaker, text),
                Part::Text(text) => self.say(speaker, &typed(text)),
                Part::Thinking { text, .. } if !text.trim().is_empty() => {
                    self.blocks.push(Block::Thought(text.trim().to_owned()));
                }
                Part::Media(media) => self.say(speaker, &format!("[{}]", media.mime)),
                Part::ToolCall(call) if options.tools => {
                    let live = entry.status == Status::Complete && call.complete;
                    let what = match live.then(|| facts.next()).flatten() {
                        Some(Fact::Called(called)) => called.what,
                        _ => call.name.clone(),
                    };
                    self.blocks.push(Block::Tool(ToolUse {
                        id: call.id.clone(),
                        name: call.name.clone(),
                        what,
                        outcome: (!live).then_some(Outcome::NotRun),
                        arguments: call.arguments.clone(),
                        ..ToolUse::default()
                    }));
                }
                Part::ToolResult(result) if options.tools => {
                    self.answer(result, facts.find(|fact| matches!(fact, Fact::Answered(_))));
                }
                _ => {}
            }
        }
        if options.all && entry.parts.is_empty() {
            let role = if entry.role == Role::None { "entry without words" } else { entry.role.name() };
            self.blocks.push(Block::Said(Speaker::Host, format!("[{role}]")));
        }
    }

    fn say(&mut self, speaker: Speaker, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(Block::Said(last, said)) if *last == speaker => {
                said.push_str("\n\n");
                said.push_str(text);
            }
            _ => self.blocks.push(Block::Said(speaker, text.to_owned())),
        }
    }

    /// Gives a result to its call; a result without its call is shown for itself.
    fn answer(&mut self, result: &ToolResult, fact: Option<Fact>) {
        let open = self.blocks.iter_mut().rev().find_map(|block| match block {
            Block::Tool(tool) if tool.id == result.call_id && tool.outcome.is_none() => Some(tool),
            _ => None,
        });
        let mut own = None;
        let tool = match open {
            Some(tool) => tool,
            None => own.insert(ToolUse { what: format!("result of {}", result.name), ..ToolUse::default() }),
        };
        let texts = result.content.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        tool.result = texts.collect::<Vec<_>>().join("\n");
        tool.outcome = Some(if result.is_error { Outcome::Failed } else { Outcome::Done });
        if let Some(Fact::Answered(answered)) = fact {
            tool.outcome = Some(answered.outcome);
            tool.error = answered.error.filter(|_| answered.outcome != Outcome::Done);
        }
        self.blocks.extend(own.map(Block::Tool));
    }
}

/// The outcome of a tool as a mark and a word.
pub const fn outcome_of(outcome: Option<Outcome>) -> (&'static str, &'static str) {
    match outcome {
        Some(Outcome::Done) => ("✓", "done"),
        Some(Outcome::Failed) => ("✗", "failed"),
        Some(Outcome::NotRun) => ("–", "not run"),
        None => ("…", "no result"),
    }
}

/// Collects entries into turns, and hands each turn over when it is complete.
pub struct TurnReader<'a> {
    options: ReadOptions,
    open: ReadTurn,
    each: &'a mut dyn FnMut(ReadTurn),
}

impl<'a> TurnReader<'a> {
    /// * `each` - called with every turn that shows something.
    pub fn new(options: ReadOptions, each: &'a mut dyn FnMut(ReadTurn)) -> Self {
        Self { options, open: ReadTurn::default(), each }
    }

    /// Takes the next entry.
    pub fn take(&mut self, read: &TurnEntry) {
        if read.turn != self.open.number {
            self.finish();
            self.open.number = read.turn;
        }
        self.open.take(read, self.options);
    }

    /// Hands the last turn over.
    pub fn finish(&mut self) {
        let turn = std::mem::take(&mut self.open);
        if !turn.blocks.is_empty() {
            (self.each)(turn);
        }
    }
}
