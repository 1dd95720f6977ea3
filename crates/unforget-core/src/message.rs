//! The request as plain values: made by `assemble`, certified by `admit`, rendered by `wire`.

use crate::entry::{Part, ToolCall, ToolResult};
use crate::id::Seq;

/// Who speaks in a request message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Speaker {
    /// A person, the host, or our own summaries and stubs.
    User,
    /// The model.
    Assistant,
    /// The host, with instructions between the messages. Only in dialects that allow them there: see [`Between`].
    System,
}

/// Where a dialect allows instructions between the messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Between {
    /// Nowhere: they are sent as input.
    #[default]
    AsInput,
    /// Behind input and before an answer, or last (Anthropic).
    BehindInput,
    /// Anywhere (OpenAI).
    Anywhere,
}

/// One block of a request message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Block {
    /// A block of an entry, sent as it is.
    Part(Part),
    /// A call with a mapped id, unique in the request.
    Call(ToolCall),
    /// A result, real or synthetic, with the name of its call and its id in the request.
    Result(ToolResult),
    /// Text of our own: a summary, a stub, an excerpt.
    Ours(String),
}

/// A message of a request.
///
/// Order of blocks in a `User` message: results first, then everything else. An `Assistant` message with calls is
/// followed by one `User` message that begins with exactly their results, in call order. A `System` message holds text
/// only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Who speaks.
    pub speaker: Speaker,
    /// Its blocks, never empty.
    pub blocks: Vec<Block>,
    /// The model that wrote an assistant message, as the host names it.
    pub model: Option<String>,
    /// The entries that it shows; empty for text of our own.
    pub seqs: Vec<Seq>,
}

/// A request's content, before a dialect gives it a form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// System instructions, in order. Empty if the transcript does not record them.
    pub system: Vec<String>,
    /// The conversation.
    pub messages: Vec<Message>,
}

/// Number of images, documents and blocks of unknown types in a part.
pub fn wordless(part: &Part) -> u64 {
    match part {
        Part::Media(_) | Part::Opaque { .. } => 1,
        Part::ToolResult(result) => result.content.iter().map(wordless).sum(),
        Part::Text(_) | Part::Thinking { .. } | Part::ToolCall(_) => 0,
    }
}

impl Request {
    /// Number of its images, documents and blocks of unknown types, which no text represents.
    pub fn wordless(&self) -> u64 {
        let parts = self.messages.iter().flat_map(|message| &message.blocks).map(|block| match block {
            Block::Part(part) => wordless(part),
            Block::Result(result) => result.content.iter().map(wordless).sum(),
            Block::Call(_) | Block::Ours(_) => 0,
        });
        parts.sum()
    }

    /// All text of its messages, a line per block: what a reader of the prompt sees, without reasoning and media.
    pub fn words(&self) -> String {
        let mut text = String::new();
        for block in self.messages.iter().flat_map(|message| &message.blocks) {
            match block {
                Block::Part(Part::Text(part)) | Block::Ours(part) => text.push_str(part),
                Block::Call(call) => text.push_str(&call.arguments),
                Block::Result(result) => {
                    let texts = result.content.iter().filter_map(|part| match part {
                        Part::Text(text) => Some(text.as_str()),
                        _ => None,
                    });
                    text.extend(texts);
                }
                Block::Part(_) => {}
            }
            text.push('\n');
        }
        text
    }
}
