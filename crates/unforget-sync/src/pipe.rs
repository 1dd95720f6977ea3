//! Another machine at the end of a pipe: what `unforget sync --serve` answers through ssh.
//!
//! One side asks, the other answers, a line of JSON each; records follow their line as bytes. When the asking side has what it needs
//! it says so, and the sides change places on the same pipe.

mod lines;

use std::collections::BTreeSet;
use std::io::{BufRead, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use unforget_core::digest::{Chain, Digest};
use unforget_core::id::ConversationKey;

use crate::error::{Result, SyncError};
use crate::take::TakeReport;
use crate::tip::{HistorySource, KnownSayings, PurgedEntry, SentSaying, TipLayout, TipPart, TranscriptTip};
use lines::{broken, read_bytes, read_line, write_line};

/// The protocol. Both sides say it first.
const PROTOCOL: u64 = 1;

/// Sayings asked for at once.
const SAID_AT_ONCE: usize = 1_000;

/// Lines that a login may print before the program at the other end speaks.
const GREETINGS_MAX: usize = 200;

#[derive(Serialize, Deserialize)]
struct HelloDto {
    #[serde(rename = "unforget-sync")]
    protocol: u64,
    /// Whether sayings can be asked for. Programs that are older do not say it.
    #[serde(default)]
    sayings: bool,
}

impl HelloDto {
    const OURS: Self = Self { protocol: PROTOCOL, sayings: true };

    const fn skills(&self) -> PeerSkills {
        PeerSkills { has_sayings: self.sayings }
    }
}

/// What the program of the other machine can do beyond the first version of the protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerSkills {
    /// It can be asked what people said.
    pub has_sayings: bool,
}

/// What came of answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServedHistory {
    /// What the other side took.
    pub taken: TakeReport,
    /// What the other side can do; nothing if the sides did not greet each other.
    pub peer: PeerSkills,
}

/// A question.
#[derive(Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
enum AskDto {
    Tips,
    Purged,
    /// The digests of all sayings.
    Sayings,
    /// The sayings of these digests, in hex.
    Said {
        digests: Vec<String>,
    },
    Layout {
        tip: TipDto,
    },
    Part {
        tip: TipDto,
        start: u64,
        part: PartDto,
    },
    /// There are no more questions: this was taken.
    End {
        taken: TakeReport,
    },
}

/// An answer. A list ends with `done`.
#[derive(Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
enum AnswerDto {
    Tip {
        tip: TipDto,
    },
    Purged {
        conversation: String,
        chain: String,
    },
    Saying {
        conversation: String,
        digest: String,
    },
    Said {
        conversation: String,
        /// In Base64.
        saying: String,
    },
    Layout {
        parts: Vec<PartDto>,
        trailer: String,
        name: String,
    },
    /// That many bytes follow.
    Bytes {
        bytes: u64,
    },
    Done,
    /// So many entries of the tip were purged.
    Gone {
        purged: u64,
    },
    /// The question cannot be answered, but the next one can.
    Failed {
        why: String,
    },
}

#[derive(Serialize, Deserialize)]
struct TipDto {
    conversation: String,
    chain: String,
    length: u64,
    bytes: u64,
    newest_ms: i64,
}

#[derive(Serialize, Deserialize)]
struct PartDto {
    end: u64,
    chain: String,
    bytes: u64,
}

impl TipDto {
    fn of(tip: &TranscriptTip) -> Self {
        let TranscriptTip { key, chain, length, bytes, newest_ms } = tip;
        let (length, bytes, newest_ms) = (*length, *bytes, *newest_ms);
        Self { conversation: key.0.clone(), chain: chain.0.hex(), length, bytes, newest_ms }
    }

    fn tip(self) -> Result<TranscriptTip> {
        let Self { conversation, chain, length, bytes, newest_ms } = self;
        Ok(TranscriptTip {
            key: ConversationKey(conversation),
            chain: chained(&chain)?,
            length,
            bytes,
            newest_ms,
        })
    }
}

impl PartDto {
    fn of(part: &TipPart) -> Self {
        Self { end: part.end, chain: part.chain.0.hex(), bytes: part.bytes }
    }

    fn part(&self) -> Result<TipPart> {
        Ok(TipPart { end: self.end, chain: chained(&self.chain)?, bytes: self.bytes })
    }
}

fn chained(hex: &str) -> Result<Chain> {
    Digest::from_hex(hex).map(Chain).ok_or_else(|| broken("sent a digest that is none"))
}

/// The histories of another machine.
pub struct PipeHistory<R, W> {
    input: R,
    output: W,
    skills: PeerSkills,
}

impl<R: BufRead, W: Write> PipeHistory<R, W> {
    /// Begins on the side that asks first.
    ///
    /// # Errors
    /// [`SyncError::Pipe`] if the other side is not Unforget, or speaks another protocol.
    pub fn begin(mut input: R, mut output: W) -> Result<Self> {
        // A program that says what is wrong and ends does not hear this; its words are the better message.
        write_line(&mut output, &HelloDto::OURS).ok();
        let mut said = String::new();
        for _ in 0..GREETINGS_MAX {
            let Some(line) = read_line(&mut input)? else { break };
            if let Ok(hello) = serde_json::from_slice::<HelloDto>(&line) {
                return if hello.protocol == PROTOCOL {
                    Ok(Self { input, output, skills: hello.skills() })
                } else {
                    Err(broken(format!("speaks protocol {}, this one {PROTOCOL}", hello.protocol)))
                };
            }
            String::from_utf8_lossy(&line).trim().clone_into(&mut said);
        }
        Err(broken(if said.is_empty() { "said nothing".to_owned() } else { format!("said: {said}") }))
    }

    /// Asks on a pipe on which the other side asked before.
    ///
    /// * `skills` - what the other side said that it can do.
    pub const fn turned(input: R, output: W, skills: PeerSkills) -> Self {
        Self { input, output, skills }
    }

    /// Says that there are no more questions, and gives the pipe back.
    ///
    /// * `taken` - what the answers were good for.
    pub fn end(mut self, taken: TakeReport) -> Result<(R, W)> {
        write_line(&mut self.output, &AskDto::End { taken })?;
        Ok((self.input, self.output))
    }

    fn ask(&mut self, ask: &AskDto) -> Result<()> {
        write_line(&mut self.output, ask)
    }

    /// Digests of the sayings that are not known, in hex.
    fn unknown_sayings(&mut self, known: &KnownSayings) -> Result<Vec<String>> {
        self.ask(&AskDto::Sayings)?;
        let mut wanted = Vec::new();
        loop {
            match self.answer(&ConversationKey("the list".to_owned()))? {
                AnswerDto::Saying { conversation, digest } => {
                    let key = ConversationKey(conversation);
                    let named = chained(&digest)?.0;
                    if !known.get(&key).is_some_and(|digests| digests.contains(&named)) {
                        wanted.push(digest);
                    }
                }
                AnswerDto::Done => return Ok(wanted),
                _ => return Err(broken("answered something else")),
            }
        }
    }

    fn answer(&mut self, key: &ConversationKey) -> Result<AnswerDto> {
        let line = read_line(&mut self.input)?.ok_or_else(|| broken("ended in the middle"))?;
        match serde_json::from_slice(&line) {
            Ok(AnswerDto::Gone { purged }) => Err(SyncError::Purged { purged }),
            Ok(AnswerDto::Failed { why }) => Err(SyncError::Damaged { place: key.0.clone(), what: why }),
            Ok(answer) => Ok(answer),
            Err(_) => Err(broken("sent a line that is no answer")),
        }
    }
}

impl<R: BufRead, W: Write> HistorySource for PipeHistory<R, W> {
    fn tips(&mut self) -> Result<Vec<TranscriptTip>> {
        self.ask(&AskDto::Tips)?;
        let mut tips = Vec::new();
        loop {
            match self.answer(&ConversationKey("the list".to_owned()))? {
                AnswerDto::Tip { tip } => tips.push(tip.tip()?),
                AnswerDto::Done => return Ok(tips),
                _ => return Err(broken("answered something else")),
            }
        }
    }

    fn layout(&mut self, tip: &TranscriptTip) -> Result<TipLayout> {
        self.ask(&AskDto::Layout { tip: TipDto::of(tip) })?;
        let AnswerDto::Layout { parts, trailer, name } = self.answer(&tip.key)? else {
            return Err(broken("answered something else"));
        };
        let trailer = STANDARD.decode(trailer).map_err(|_| broken("sent a trailer that is no Base64"))?;
        Ok(TipLayout { parts: parts.iter().map(PartDto::part).collect::<Result<_>>()?, trailer, name })
    }

    fn part(&mut self, tip: &TranscriptTip, start: u64, part: &TipPart) -> Result<Vec<u8>> {
        self.ask(&AskDto::Part { tip: TipDto::of(tip), start, part: PartDto::of(part) })?;
        let AnswerDto::Bytes { bytes } = self.answer(&tip.key)? else {
            return Err(broken("answered something else"));
        };
        read_bytes(&mut self.input, bytes)
    }

    fn purged(&mut self) -> Result<Vec<PurgedEntry>> {
        self.ask(&AskDto::Purged)?;
        let mut purged = Vec::new();
        loop {
            match self.answer(&ConversationKey("the list".to_owned()))? {
                AnswerDto::Purged { conversation, chain } => {
                    purged.push(PurgedEntry { key: ConversationKey(conversation), chain: chained(&chain)? });
                }
                AnswerDto::Done => return Ok(purged),
                _ => return Err(broken("answered something else")),
            }
        }
    }

    fn sayings(&mut self, known: &KnownSayings) -> Result<Option<Vec<SentSaying>>> {
        if !self.skills.has_sayings {
            return Ok(None);
        }
        let wanted = self.unknown_sayings(known)?;
        let mut sayings = Vec::new();
        for digests in wanted.chunks(SAID_AT_ONCE) {
            self.ask(&AskDto::Said { digests: digests.to_vec() })?;
            loop {
                match self.answer(&ConversationKey("the list".to_owned()))? {
                    AnswerDto::Said { conversation, saying } => {
                        let body = STANDARD.decode(saying);
                        let body = body.map_err(|_| broken("sent a saying that is no Base64"))?;
                        sayings.push(SentSaying { key: ConversationKey(conversation), body });
                    }
                    AnswerDto::Done => break,
                    _ => return Err(broken("answered something else")),
                }
            }
        }
        Ok(Some(sayings))
    }
}

/// Answers the questions of the other side until it has no more.
///
/// * `is_first` - whether the other side asks first on this pipe: then the sides greet each other.
///
/// Returns what the other side took, and what it can do.
///
/// # Errors
/// [`SyncError::Pipe`] if the other side ends early or says something else. What cannot be read here is answered as such.
pub fn serve_history(
    history: &mut dyn HistorySource,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
    is_first: bool,
) -> Result<ServedHistory> {
    let mut peer = PeerSkills::default();
    if is_first {
        write_line(output, &HelloDto::OURS)?;
        let line = read_line(input)?.ok_or_else(|| broken("said nothing"))?;
        let hello: HelloDto = serde_json::from_slice(&line).map_err(|_| broken("is not `unforget sync`"))?;
        if hello.protocol != PROTOCOL {
            return Err(broken(format!("speaks protocol {}, this one {PROTOCOL}", hello.protocol)));
        }
        peer = hello.skills();
    }
    loop {
        let line = read_line(input)?.ok_or_else(|| broken("ended in the middle"))?;
        let ask: AskDto = serde_json::from_slice(&line).map_err(|_| broken("asked something unknown"))?;
        if let AskDto::End { taken } = ask {
            return Ok(ServedHistory { taken, peer });
        }
        let failed = match answer(history, ask, output) {
            Ok(()) => continue,
            Err(SyncError::Pipe { what }) => return Err(SyncError::Pipe { what }),
            Err(SyncError::Purged { purged }) => AnswerDto::Gone { purged },
            Err(error) => AnswerDto::Failed { why: error.to_string() },
        };
        write_line(output, &failed)?;
    }
}

fn answer(history: &mut dyn HistorySource, ask: AskDto, output: &mut dyn Write) -> Result<()> {
    match ask {
        AskDto::Tips => {
            for tip in &history.tips()? {
                write_line(output, &AnswerDto::Tip { tip: TipDto::of(tip) })?;
            }
            write_line(output, &AnswerDto::Done)
        }
        AskDto::Purged => {
            for PurgedEntry { key, chain } in history.purged()? {
                write_line(output, &AnswerDto::Purged { conversation: key.0, chain: chain.0.hex() })?;
            }
            write_line(output, &AnswerDto::Done)
        }
        AskDto::Sayings => {
            for SentSaying { key, body } in history.sayings(&KnownSayings::new())?.unwrap_or_default() {
                let digest = Digest::of(&body).hex();
                write_line(output, &AnswerDto::Saying { conversation: key.0, digest })?;
            }
            write_line(output, &AnswerDto::Done)
        }
        AskDto::Said { digests } => {
            let wanted: BTreeSet<String> = digests.into_iter().collect();
            for SentSaying { key, body } in history.sayings(&KnownSayings::new())?.unwrap_or_default() {
                if wanted.contains(&Digest::of(&body).hex()) {
                    let said = AnswerDto::Said { conversation: key.0, saying: STANDARD.encode(body) };
                    write_line(output, &said)?;
                }
            }
            write_line(output, &AnswerDto::Done)
        }
        AskDto::Layout { tip } => {
            let TipLayout { parts, trailer, name } = history.layout(&tip.tip()?)?;
            let parts = parts.iter().map(PartDto::of).collect();
            write_line(output, &AnswerDto::Layout { parts, trailer: STANDARD.encode(trailer), name })
        }
        AskDto::Part { tip, start, part } => {
            let frames = history.part(&tip.tip()?, start, &part.part()?)?;
            write_line(output, &AnswerDto::Bytes { bytes: frames.len() as u64 })?;
            output.write_all(&frames).and_then(|()| output.flush()).map_err(|error| broken(error.to_string()))
        }
        AskDto::End { .. } => Ok(()),
    }
}
