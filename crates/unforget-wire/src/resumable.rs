//! A conversation as a transcript that a host resumes: records of the host's own shape, from our messages.
//!
//! | host | what is written | a summary of what came before |
//! |---|---|---|
//! | Claude Code | lines of a session, chained by `parentUuid` | `compact_boundary` and `isCompactSummary` |
//! | Codex | lines of a rollout | `compacted` with its `replacement_history` |
//! | opencode | the document of `opencode export` | a message with a `compaction` part, and its `summary` |
//! | pi | lines of a session, chained by `parentId` | `compaction` that keeps no entry before it |
//!
//! Pure: the same parts give the same bytes, ids and times included; other parts, even another folder, give other ids. What a
//! host cannot take is left out and counted. Our own readers read what is written here as the same conversation.

mod claude_code;
mod codex;
mod ids;
mod opencode;
mod pi;

use std::collections::BTreeMap;

use unforget_core::assemble::with_unique_ids;
use unforget_core::digest::Digest;
use unforget_core::entry::{Origin, Part};
use unforget_core::id::Timestamp;
use unforget_core::message::{Block, Message, Request, Speaker};

use crate::dialect::Dialect;
use crate::error::ReadError;
use crate::format::{self, Format};
use crate::reader::Reader;
use crate::render::losses;
use crate::target::{Family, Target};

/// Instructions that the new host gives itself.
const INSTRUCTIONS: &str = "instructions of the host before: the new one has its own";

/// A host that resumes transcripts that it did not write itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResumingHost {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
    /// opencode.
    Opencode,
    /// pi.
    Pi,
}

impl ResumingHost {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Opencode, Self::Pi];

    /// The format of its transcripts.
    pub const fn format(self) -> Format {
        match self {
            Self::ClaudeCode => Format::ClaudeCode,
            Self::Codex => Format::Codex,
            Self::Opencode => Format::Opencode,
            Self::Pi => Format::Pi,
        }
    }

    /// Name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Opencode => "opencode",
            Self::Pi => "pi",
        }
    }

    /// The host that writes a format.
    pub fn of_format(format: Format) -> Option<Self> {
        Self::ALL.into_iter().find(|host| host.format() == format)
    }

    /// The target of its messages: opencode and pi replay the reasoning of every provider.
    pub const fn target(self) -> Target {
        let (dialect, family) = match self {
            Self::ClaudeCode => (Dialect::Anthropic, Some(Family::Claude)),
            Self::Codex => (Dialect::OpenAiResponses, Some(Family::OpenAi)),
            Self::Opencode | Self::Pi => (Dialect::Pi, None),
        };
        Target { dialect, family, is_own: false }
    }
}

/// A message of a conversation, with what its entry says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SaidMessage {
    /// The message. Calls and their results are neighbours, as in a request.
    pub message: Message,
    /// Origin of its first entry.
    pub origin: Origin,
    /// The host's time of its first entry.
    pub time: Option<Timestamp>,
}

/// The parts of a conversation that a host is to resume.
#[derive(Clone, Copy, Debug)]
pub struct SessionParts<'a> {
    /// What tells the session from others that say the same. Ids are made from the seed and everything that is written.
    pub seed: Digest,
    /// The folder in which the host works.
    pub folder: &'a str,
    /// What a person reads in the host's list of sessions.
    pub title: &'a str,
    /// Time of the messages if none of them has one.
    pub undated: Timestamp,
    /// What stands for everything before the messages.
    pub summary: Option<&'a str>,
    /// Oldest first.
    pub said: &'a [SaidMessage],
}

/// A transcript that its host resumes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResumableTranscript {
    /// The host's id of the session.
    pub session: String,
    /// Its time for the host: that of the newest message, so that it is the newest session of its folder.
    pub begun: Timestamp,
    /// The host's file.
    pub text: String,
    /// What could not be carried, by kind.
    pub not_carried: Vec<NotCarried>,
}

/// Something that a host cannot take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCarried {
    /// What, and why: lower case, no full stop.
    pub what: &'static str,
    /// How often.
    pub count: u64,
}

/// A transcript that is not what it should be: a defect of ours. The host would lose what it cannot read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the transcript for {} cannot be read back: line {line}: {what}", host.name())]
pub struct UnreadableTranscript {
    /// The host that would have got it.
    pub host: ResumingHost,
    /// Line, from 1.
    pub line: u64,
    /// The irregularity.
    pub what: String,
}

/// A message ready to be written.
struct ReadyMessage {
    message: Message,
    /// Whether a host put it in, in a user's name.
    is_injected: bool,
    /// Never before the message in front of it.
    time: Timestamp,
}

/// A session ready to be written.
struct ReadySession<'a> {
    parts: &'a SessionParts<'a>,
    /// What ids are made from: equal seeds give equal ids.
    seed: Digest,
    said: Vec<ReadyMessage>,
    /// Time of the first message.
    first: Timestamp,
    /// Time of the newest message.
    newest: Timestamp,
}

/// Writes a conversation as a transcript that the host resumes, and reads it back.
///
/// # Errors
/// If a record of the transcript cannot be read.
///
/// Cost: O(bytes), a few copies of the conversation.
pub fn resumable(
    parts: &SessionParts<'_>,
    host: ResumingHost,
) -> Result<ResumableTranscript, UnreadableTranscript> {
    let mut counts: BTreeMap<&'static str, u64> = BTreeMap::new();
    let said: Vec<&SaidMessage> = parts.said.iter().filter(|said| !is_standing(said)).collect();
    let left_out = (parts.said.len() - said.len()) as u64;
    if left_out > 0 {
        counts.insert(INSTRUCTIONS, left_out);
    }
    let mut session = ReadySession::new(parts, &said);
    let messages = session.said.iter().map(|ready| ready.message.clone()).collect();
    let request = Request { system: Vec::new(), messages };
    for dropped in losses(&request, host.target()) {
        *counts.entry(dropped.what).or_default() += 1;
    }
    let (_, draft) = write(&session, host, &mut counts);
    session.seed = Digest::of(draft.as_bytes());
    let (id, text) = write(&session, host, &mut counts);
    read_back(&text, host)?;
    let not_carried = counts.into_iter().map(|(what, count)| NotCarried { what, count }).collect();
    Ok(ResumableTranscript { session: id, begun: session.newest, text, not_carried })
}

/// The session's id and its transcript.
fn write(
    session: &ReadySession<'_>,
    host: ResumingHost,
    counts: &mut BTreeMap<&'static str, u64>,
) -> (String, String) {
    match host {
        ResumingHost::ClaudeCode => claude_code::write(session),
        ResumingHost::Codex => codex::write(session, counts),
        ResumingHost::Opencode => opencode::write(session),
        ResumingHost::Pi => pi::write(session),
    }
}

/// Checks that each record of a transcript can be read.
fn read_back(text: &str, host: ResumingHost) -> Result<(), UnreadableTranscript> {
    let unreadable = |line: u64, what: String| UnreadableTranscript { host, line, what };
    let failed = |error: ReadError| unreadable(1, error.to_string());
    let mut reader = Reader::open(text.as_bytes()).map_err(failed)?;
    while let Some(record) = reader.next_record().map_err(failed)? {
        if let Some(warning) = record.warning {
            return Err(unreadable(warning.place.line, warning.what));
        }
    }
    reader
        .trailer_warning()
        .map_or(Ok(()), |warning| Err(unreadable(warning.place.line, warning.what.clone())))
}

/// Whether a host writes this message anew for every session.
fn is_standing(said: &SaidMessage) -> bool {
    let is_one = |block: &Block| matches!(block, Block::Part(part) if format::codex::is_standing(part));
    said.message.speaker == Speaker::System
        || (said.origin == Origin::Injected && said.message.blocks.iter().all(is_one))
}

impl<'a> ReadySession<'a> {
    fn new(parts: &'a SessionParts<'a>, said: &[&SaidMessage]) -> Self {
        let messages = with_unique_ids(said.iter().map(|said| &said.message));
        let mut newest = said.iter().find_map(|said| said.time).unwrap_or(parts.undated);
        let mut ready: Vec<ReadyMessage> = Vec::with_capacity(messages.len());
        for (message, said) in messages.into_iter().zip(said) {
            newest = said.time.map_or(newest, |time| time.max(newest));
            match ready.last_mut() {
                // Some hosts write an answer in parts, and providers want one message.
                Some(last)
                    if message.speaker == Speaker::Assistant
                        && last.message.speaker == Speaker::Assistant =>
                {
                    last.message.blocks.extend(message.blocks);
                    last.message.model = last.message.model.take().or(message.model);
                }
                _ => {
                    let is_injected = message.speaker == Speaker::User && said.origin != Origin::Human;
                    ready.push(ReadyMessage { message, is_injected, time: newest });
                }
            }
        }
        let said = ready;
        let first = said.first().map_or(newest, |ready| ready.time);
        Self { parts, seed: parts.seed, said, first, newest }
    }
}

/// Text of a message's blocks, where it consists of texts only.
fn plain_text(message: &Message) -> Option<String> {
    let text = |block: &Block| match block {
        Block::Ours(text) | Block::Part(Part::Text(text)) => Some(text.clone()),
        _ => None,
    };
    let texts: Option<Vec<String>> = message.blocks.iter().map(text).collect();
    texts.map(|texts| texts.join("\n\n")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_record_is_an_error_with_its_line() {
        let whole = "{\"type\":\"user\",\"uuid\":\"a\"}\n";
        let table = [
            (whole.to_owned(), None, "whole"),
            (format!("{whole}{{\"a\":{{\n\"b\":1}}}}\n"), Some(2), "a record of two lines"),
            (format!("{whole}{whole}{{\"a\""), Some(3), "cut off"),
            (String::new(), Some(1), "empty"),
        ];
        for (text, want, why) in table {
            let found = read_back(&text, ResumingHost::ClaudeCode);
            assert_eq!(found.err().map(|error| error.line), want, "{why}: {text}");
        }
    }
}
